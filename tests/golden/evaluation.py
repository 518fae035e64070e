"""Writes evaluation.tsv: positions and their static score for the side to move, in hundredths of a pawn.

The tables are those of the "simplified evaluation function" by Tomasz Michniewski (Chess Programming Wiki). All
are the same on both wings, so their left halves say everything: files a to d, the eighth rank first. That of the
queen is published with three odd squares (a4, b3, c2), which are taken to be as their mirror images are.
"""

import random
from fractions import Fraction
from pathlib import Path

import chess

HALF_TABLES = {
    "P": "0 0 0 0  50 50 50 50  10 10 20 30  5 5 10 25  0 0 0 20  5 -5 -10 0  5 10 10 -20  0 0 0 0",
    "N": "-50 -40 -30 -30  -40 -20 0 0  -30 0 10 15  -30 5 15 20  -30 0 15 20  -30 5 10 15  -40 -20 0 5  -50 -40 -30 -30",
    "B": "-20 -10 -10 -10  -10 0 0 0  -10 0 5 10  -10 5 5 10  -10 0 10 10  -10 10 10 10  -10 5 0 0  -20 -10 -10 -10",
    "R": "0 0 0 0  5 10 10 10  -5 0 0 0  -5 0 0 0  -5 0 0 0  -5 0 0 0  -5 0 0 0  0 0 0 5",
    "Q": "-20 -10 -10 -5  -10 0 0 0  -10 0 5 5  -5 0 5 5  -5 0 5 5  -10 0 5 5  -10 0 0 0  -20 -10 -10 -5",
    "K": "-30 -40 -40 -50  -30 -40 -40 -50  -30 -40 -40 -50  -30 -40 -40 -50  -20 -30 -30 -40  -10 -20 -20 -20  20 20 0 0  20 30 10 0",
    "endgame K": "-50 -40 -30 -20  -30 -20 -10 0  -30 -10 20 30  -30 -10 30 40  -30 -10 30 40  -30 -10 20 30  -30 -30 0 0  -50 -30 -30 -30",
}
TABLES = {name: [int(number) for number in text.split()] for name, text in HALF_TABLES.items()}
VALUES = {"P": 100, "N": 320, "B": 330, "R": 500, "Q": 900, "K": 0}


def from_table(name: str, square: chess.Square, color: chess.Color) -> int:
    rank, file = chess.square_rank(square), chess.square_file(square)
    row = 7 - rank if color == chess.WHITE else rank
    return TABLES[name][4 * row + min(file, 7 - file)]


def steps_from_centre(square: chess.Square) -> int:
    centre = (chess.D4, chess.E4, chess.D5, chess.E5)
    return min(chess.square_manhattan_distance(square, c) for c in centre)


def evaluation(board: chess.Board) -> int:
    men = board.piece_map().items()
    non_pawns = sum(VALUES[man.symbol().upper()] for _, man in men if man.piece_type != chess.PAWN)
    white = 0
    for square, man in men:
        letter = man.symbol().upper()
        table = "endgame K" if letter == "K" and non_pawns <= 1300 else letter
        worth = VALUES[letter] + from_table(table, square, man.color)
        white += worth if man.color == chess.WHITE else -worth
    for strong, sign in ((chess.WHITE, 1), (chess.BLACK, -1)):
        bare = chess.popcount(board.occupied_co[not strong]) == 1
        if bare and sign * white >= 500:
            weak_king, strong_king = board.king(not strong), board.king(strong)
            cornered = Fraction(steps_from_centre(weak_king), 6)
            close = 1 - Fraction(chess.square_manhattan_distance(weak_king, strong_king), 14)
            white += sign * int(250 * (Fraction(7, 10) * cornered + Fraction(3, 10) * close))
            break
    return white if board.turn == chess.WHITE else -white


def scattered(random_source: random.Random, letters: str) -> chess.Board:
    """A legal position of these men, capital letters White's, on any squares."""
    while True:
        board = chess.Board(None)
        for square, letter in zip(random_source.sample(range(64), len(letters)), letters):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        board.turn = random_source.random() < 0.5
        if board.is_valid():
            return board


def main() -> None:
    random_source = random.Random(7)
    here = Path(__file__).parent
    boards = [chess.Board(line) for line in (here / "positions.txt").read_text().splitlines()]
    # Against a bare king, either side's; around the border of the endgame; around a lead of 500.
    for letters in ("KQk", "Kkq", "KRk", "Kkr", "KRRk", "KBNk", "Kkbb", "KPPPk", "KPPPPPk", "Kkppppp", "KNNk", "KNPPk"):
        boards += [scattered(random_source, letters) for _ in range(6)]
    for letters in ("KQkn", "KQkb", "KQkr", "KRRkn", "KRNkrb", "KRPkrbb", "KBBNkbp", "KQPPkrn", "Kkqr", "Kkqrr", "KQRRk"):
        boards += [scattered(random_source, letters) for _ in range(4)]
    lines = [f"{board.fen(en_passant='fen')}\t{evaluation(board)}\n" for board in boards]
    header = "# FEN, static score for the side to move in hundredths of a pawn\n"
    (here / "evaluation.tsv").write_text(header + "".join(lines))


if __name__ == "__main__":
    main()
