"""The absolute14 encoding by python-chess and numpy, and with it absolute14.tsv and the list of its
moves, absolute14_moves.txt."""

import sys
from pathlib import Path

import chess
import numpy as np

import canonical19

SQUARE_PLANES = [*range(12)]
CONSTANT_PLANES = [12, 13]

MOVES = sorted(
    [a + b for a in chess.SQUARE_NAMES for b in chess.SQUARE_NAMES if a != b]
    + [
        f"{a}{ranks[0]}{b}{ranks[1]}{piece}"
        for a in chess.FILE_NAMES
        for b in chess.FILE_NAMES
        for piece in "qrbn"
        for ranks in ("78", "21")
    ]
)
INDEX = {move: index for index, move in enumerate(MOVES)}


def planes(board: chess.Board) -> np.ndarray:
    """The current position, float32 [14, 8, 8] as [plane][rank][file]."""
    result = np.zeros((14, 64), dtype=np.float32)
    for square, piece in board.piece_map().items():
        result[(0 if piece.color else 6) + piece.piece_type - 1, square] = 1
    result[12 if board.turn else 13] = 1
    return result.reshape(14, 8, 8)


def index(board: chess.Board, move: chess.Move) -> int:
    """The policy index of a move."""
    return INDEX[move.uci()]


def legal_indices(board: chess.Board) -> list[tuple[str, int]]:
    """Each legal move in UCI notation with its policy index; sorted by index."""
    return sorted(
        ((move.uci(), index(board, move)) for move in board.legal_moves), key=lambda pair: pair[1]
    )


if __name__ == "__main__":
    canonical19.write(sys.modules[__name__])
    moves = Path(__file__).with_name("absolute14_moves.txt")
    moves.write_text("".join(move + "\n" for move in MOVES))
