"""Checks the games of tests/data/pgn.tsv with python-chess: moves and start."""

import io
import pathlib

import chess.pgn

cases = pathlib.Path(__file__).parent.parent / "data" / "pgn.tsv"
for line in cases.read_text("utf-8").split("\n"):
    columns = line.split("\t")
    if line.startswith("#") or len(columns) < 3 or columns[1] == "ERROR":
        continue
    text = columns[0].replace("\\u{feff}", "")
    text = text.encode("ascii").decode("unicode_escape")
    game = chess.pgn.read_game(io.StringIO(text))
    moves = " ".join(move.uci() for move in game.mainline_moves()) or "-"
    found = (moves, game.board().fen())
    assert not game.errors and found == tuple(columns[1:]), (line, found, game.errors)
