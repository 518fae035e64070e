"""What python-chess reads in the test games; needs python-chess and zstd.

    pgn.py cases                    writes ../data/pgn/games.tsv: the games of each case file
    pgn.py games SHARD.pgn.zst...   writes ../data/games.pgn.zst, annotated.pgn and their .tsv

A line is: file, result and moves (UCI, castling as the king's two squares) of one game. Where
python-chess does not read a case as we mean to, BY_HAND says what is right, and why.
"""

import gzip
import io
import logging
import pathlib
import random
import re
import subprocess
import sys

import chess.pgn

DATA = pathlib.Path(__file__).parent.parent / "data"

NEXT = "1/2-1/2 d2d4 d7d5"
BY_HAND = {
    # It goes on after a broken tag, as if the tag had not been there: it might have been a FEN.
    "bad-tag.pgn": [NEXT],
    # It takes a blank line for the end of a game.
    "blank-lines-in-movetext.pgn": ["1-0 e2e4 e7e5 g1f3 b8c6 f1b5", NEXT],
    # It plays from the start position when SetUp comes without a FEN.
    "fen-start.pgn": ["1-0 c2c4", "1-0 f2f4", NEXT],
    # It does not know the sign for a half.
    "halves-latin-1.pgn": ["1/2-1/2 e2e4 e7e5", "1/2-1/2 c2c4", NEXT],
    "halves.pgn": ["1/2-1/2 e2e4 e7e5", "1/2-1/2 e2e4 d7d5", "1/2-1/2 c2c4", NEXT],
    # It takes the tag's result for the end of the moves.
    "missing-result.pgn": ["1-0 e2e4", NEXT],
    # It skips to the next blank line, or reads on over the end of a game.
    "joined.pgn": ["1-0 e2e4 e7e5", NEXT],
    "no-blank-lines.pgn": ["1-0 e2e4 e7e5", "0-1 d2d4 d7d5", "1-0 c2c4"],
    "no-tags.pgn": [
        "1-0 e2e4 e7e5",
        "0-1 d2d4 d7d5 c2c4",
        "1/2-1/2 c2c4",
        "1-0 f2f4 f7f5",
        "0-1 b1c3 d7d5",
    ],
    # It believes the tag and does not look at the movetext's result.
    "results-disagree.pgn": ["1-0 e2e4 c7c5", "1-0 e2e4 d7d5", "1/2-1/2 e2e4", NEXT],
    # It takes what is left for a whole game.
    "gzip-cut.pgn.gz": [f"1-0 {move} e7e5" for move in "a2a3 b2b3 c2c3 d2d3 e2e3".split()],
    "truncated-between-moves.pgn": ["1-0 e2e4 e7e5"],
    "truncated-in-comment.pgn": ["1-0 e2e4 e7e5"],
    "truncated-in-move.pgn": ["1-0 e2e4 e7e5"],
    "truncated-in-result.pgn": ["1-0 e2e4 e7e5"],
    "truncated-in-variation.pgn": ["1-0 e2e4 e7e5"],
    "zstd-cut.pgn.zst": [
        f"1-0 {move} e7e5" for move in "a2a3 b2b3 c2c3 d2d3 e2e3 f2f3 g2g3".split()
    ],
    # It loses the game after an unclosed comment, and ends a line at a `)` without `(`.
    "unclosed-comment.pgn": [NEXT],
    "unclosed-variation.pgn": [NEXT],
    # It passes over what it cannot read: `Nf Nc6` becomes f3.
    "unreadable-move.pgn": [NEXT],
    "zero-byte-in-game.pgn": [NEXT],
    # It does not know the variant `?`.
    "variants.pgn": ["1-0 c2c4", "1-0 d2d4", "1-0 f2f4", NEXT],
}


def decompressed(path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return subprocess.run(["gzip", "-dcq"], input=data, capture_output=True).stdout
    if data[:4] == b"\x28\xb5\x2f\xfd":
        command = ["zstd", "-dcq", "--long=30"]
        return subprocess.run(command, input=data, capture_output=True).stdout
    return data


def lettered(data):
    """Text as python-chess knows it: figurines as letters, `e8(Q)` as `e8=Q`."""
    for letter, figurine in chess.UNICODE_PIECE_SYMBOLS.items():
        data = data.replace(figurine.encode(), letter.upper().encode())
    return re.sub(rb"\b([a-h]x?[a-h]?[18])\(([QRBN])\)", rb"\1=\2", data)


def games(data):
    """The games that python-chess reads without complaint, and that have moves and a result."""
    text = io.StringIO(lettered(data).decode("latin-1"), newline=None)
    while (game := chess.pgn.read_game(text)) is not None:
        moves = " ".join(move.uci() for move in game.mainline_moves())
        headers = game.headers
        standard = headers.get("Variant", "?").lower() in ("standard", "chess", "normal", "?")
        start = headers.get("FEN", chess.STARTING_FEN) == chess.STARTING_FEN
        null = "0000" in moves.split()
        result = headers["Result"]
        if moves and standard and start and not null and not game.errors and result in (
            "1-0",
            "0-1",
            "1/2-1/2",
        ):
            yield f"{result} {moves}"


def cases():
    folder = DATA / "pgn"
    names = [line.split("\t")[0] for line in (folder / "cases.tsv").open() if line[0] != "#"]
    with (folder / "games.tsv").open("w") as out:
        for name in names:
            read = list(games(decompressed(folder / name)))
            right = BY_HAND.get(name, read)
            if name in BY_HAND and read == right:
                sys.exit(f"{name}: python-chess reads it right, no need of BY_HAND")
            for game in right:
                print(name, game, sep="\t", file=out)


def annotated(game, rng):
    """Adds comments, glyphs and variations to a game; its main line stays as it is."""
    for node in list(game.mainline()):
        if rng.random() < 0.3:
            node.comment = rng.choice(["[%eval 0.21]", "[%clk 0:03:00]", "1. e4 (1-0", "; *", "$1"])
        if rng.random() < 0.2:
            node.nags.add(rng.randrange(1, 20))
        if rng.random() < 0.2 and node.parent is not None:
            side = node.parent
            for _ in range(rng.randrange(1, 5)):
                moves = list(side.board().legal_moves)
                if not moves:
                    break
                side = side.add_variation(
                    chess.Move.null()
                    if rng.random() < 0.1 and not side.board().is_check()
                    else rng.choice(moves),
                    comment=rng.choice(["", "better"]),
                    starting_comment=rng.choice(["", "or"]),
                )
    return game


def fixture(shards):
    """Games at random, each as it is and some of them annotated."""
    rng = random.Random(3)
    plain = []
    for shard in shards:
        text = decompressed(pathlib.Path(shard)).decode()
        plain += rng.sample(text.strip().split("\n\n[Date"), 300 // len(shards))
    plain = ["[Date" + text.removeprefix("[Date") + "\n" for text in plain]
    data = "\n".join(plain).encode()
    command = ["zstd", "-cq", "-19", "--long=27"]
    (DATA / "games.pgn.zst").write_bytes(
        subprocess.run(command, input=data, capture_output=True, check=True).stdout
    )
    (DATA / "games.tsv").write_text("".join(game + "\n" for game in games(data)))
    some = [annotated(chess.pgn.read_game(io.StringIO(text)), rng) for text in plain[::10]]
    data = "\n\n".join(map(str, some)).encode()
    (DATA / "annotated.pgn").write_bytes(data + b"\n")
    (DATA / "annotated.tsv").write_text("".join(game + "\n" for game in games(data)))


if __name__ == "__main__":
    logging.getLogger("chess.pgn").setLevel(logging.CRITICAL)
    match sys.argv[1:]:
        case ["cases"]:
            cases()
        case ["games", *shards] if shards:
            fixture(shards)
        case _:
            sys.exit(__doc__)
