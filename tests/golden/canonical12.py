"""The canonical12 encoding by python-chess and numpy, and with it canonical12.tsv."""

import sys

import chess
import numpy as np

import canonical19
from canonical19 import index, legal_indices  # noqa: F401, the same in both encodings

SQUARE_PLANES = [*range(12)]
CONSTANT_PLANES = []


def planes(board: chess.Board) -> np.ndarray:
    """The current position, float32 [12, 8, 8] as [plane][rank][file]."""
    return canonical19.planes(board)[:12]


if __name__ == "__main__":
    canonical19.write(sys.modules[__name__])
