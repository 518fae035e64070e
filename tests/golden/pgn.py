"""Checks the games of tests/data/pgn.tsv and pgn_remarks.tsv with python-chess: moves and start; comments, glyphs and variations."""

import io
import pathlib

import chess.pgn


def cases(name):
    """The columns of each line."""
    text = (pathlib.Path(__file__).parent.parent / "data" / name).read_text("utf-8")
    return [line.split("\t") for line in text.split("\n") if line and not line.startswith("#")]


def read(text):
    """The game of a text with escapes."""
    text = text.replace("\\u{feff}", "").encode("ascii").decode("unicode_escape")
    return chess.pgn.read_game(io.StringIO(text))


def tree(node):
    """All that a game says after a node."""
    return [(child.san(), child.comment.strip(), child.nags, tree(child)) for child in node.variations]


for text, *expected in cases("pgn.tsv"):
    if expected[0] == "ERROR":
        continue
    game = read(text)
    moves = " ".join(move.uci() for move in game.mainline_moves()) or "-"
    found = [moves, game.board().fen()]
    assert not game.errors and found == expected, (text, found, game.errors)

for text, written in cases("pgn_remarks.tsv"):
    # python-chess leaves out comments after a semicolon and signs such as ±.
    if ";" not in text and text.isascii():
        one, other = read(text), read(written)
        assert (one.comment.strip(), tree(one)) == (other.comment.strip(), tree(other)), text
