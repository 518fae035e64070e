"""The canonical19 encoding by python-chess and numpy, and with it canonical19.tsv.

`planes`, `index` and `legal_indices` are for import by other golden scripts; run as a script, it
writes the cases that the Rust encoding is compared with.
"""

import random
import sys
from pathlib import Path

import chess
import numpy as np

SQUARE_PLANES = [*range(12), 16]
CONSTANT_PLANES = [12, 13, 14, 15, 17, 18]


def canonical(board: chess.Board, square: int) -> int:
    """The square in the mover's frame: mirrored top to bottom for Black."""
    return square if board.turn else chess.square_mirror(square)


def planes(board: chess.Board) -> np.ndarray:
    """The current position with its history, float32 [19, 8, 8] as [plane][rank][file]."""
    result = np.zeros((19, 64), dtype=np.float32)
    sides = [board.turn, not board.turn]
    for square, piece in board.piece_map().items():
        plane = 6 * sides.index(piece.color) + piece.piece_type - 1
        result[plane, canonical(board, square)] = 1
    for plane, side in [(12, sides[0]), (14, sides[1])]:
        result[plane] = board.has_kingside_castling_rights(side)
        result[plane + 1] = board.has_queenside_castling_rights(side)
    if board.ep_square is not None:
        result[16, canonical(board, board.ep_square)] = 1
    result[17] = min(board.halfmove_clock, 100) / 100
    result[18] = board.is_repetition(2)
    return result.reshape(19, 8, 8)


def index(board: chess.Board, move: chess.Move) -> int:
    """The policy index of a move's two squares, whatever it promotes to."""
    return canonical(board, move.from_square) * 64 + canonical(board, move.to_square)


def legal_indices(board: chess.Board) -> list[tuple[str, int]]:
    """Each legal move that has an index, in UCI notation, with it; sorted by index."""
    return sorted(
        (
            (move.uci(), index(board, move))
            for move in board.legal_moves
            if move.promotion in (None, chess.QUEEN)
        ),
        key=lambda pair: pair[1],
    )


# Pairs of a FEN and moves.
HAND_PICKED = [
    (chess.STARTING_FEN, ""),
    (chess.STARTING_FEN, "e2e4"),
    (chess.STARTING_FEN, "e2e4 e7e5"),
    (chess.STARTING_FEN, "e2e4 a7a6 e4e5 d7d5"),
    (chess.STARTING_FEN, "a2a3 d7d5 a3a4 d5d4 e2e4"),
    (chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8"),
    (chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8 g1f3"),
    (chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8 e2e4"),
    (chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8"),
    # The double push lets nothing be captured: a repetition although the en passant square was set.
    ("3b4/rp1r1k2/8/1RP2p1p/p1KP4/P3P2P/5P2/1R2B3 b - - 2 30", "f7f8 f2f4 d7h7 c4d3 h7d7 d3c4"),
    # It lets something be captured: no repetition.
    ("4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1", "e2e4 e8d8 e1d1 d8e8 d1e1"),
    ("r1b1kb1r/ppp3pp/2N2n2/1B4q1/4pP2/8/PPPPQ1PP/R1B1K2R b KQkq f3 0 1", ""),
    # Each castling right alone, seen from both sides.
    *((f"r3k2r/8/8/8/8/8/8/R3K2R {side} {right} - 12 40", "") for side in "wb" for right in "KQkq"),
    ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1"),
    ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1e2"),
    # Castling out of, through and past attacks.
    ("r3k2r/8/8/8/8/8/8/1R2KR1R b kq - 0 1", ""),
    # A king's step and a rook's move beside castling.
    ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", ""),
    # Promotions, straight and by capture.
    ("1n1n3k/P1P5/8/8/8/8/p1p5/1N1N3K w - - 0 1", ""),
    ("1n1n3k/P1P5/8/8/8/8/p1p5/1N1N3K b - - 0 1", ""),
    ("8/2P5/8/8/8/8/4k3/7K w - - 0 1", "c7c8r"),
    # The clock at, before and after its limit.
    ("8/8/8/4k3/8/8/R7/4K3 w - - 99 90", ""),
    ("8/8/8/4k3/8/8/R7/4K3 b - - 100 90", ""),
    ("8/8/8/4k3/8/8/R7/4K3 w - - 137 90", ""),
    ("8/8/8/4k3/8/8/R7/4K3 w - - 137 90", "a2a3 e5e6 a3a2 e6e5"),
    # No legal move.
    ("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", ""),
]


def cases() -> list[tuple[str, str]]:
    """The hand-picked cases, then random games cut off at some ply."""
    source = random.Random(19)
    result = list(HAND_PICKED)
    for number in range(12):
        board = chess.Board()
        for _ in range(5 + 9 * number):
            board.push(source.choice(list(board.legal_moves)))
        result.append((chess.STARTING_FEN, " ".join(move.uci() for move in board.move_stack)))
    return result


def line(encoding, fen: str, moves: str) -> str:
    board = chess.Board(fen)
    assert board.is_valid(), fen
    for move in moves.split():
        board.push_uci(move)
    flat = encoding.planes(board)
    flat = flat.reshape(len(flat), 64)
    squares = [
        f"{sum(1 << int(s) for s in np.flatnonzero(flat[plane])):x}"
        for plane in encoding.SQUARE_PLANES
    ]
    for plane in encoding.CONSTANT_PLANES:
        assert (flat[plane] == flat[plane, 0]).all()
    constants = [f"{float(flat[plane, 0])!r}" for plane in encoding.CONSTANT_PLANES]
    indices = [f"{uci}={index}" for uci, index in encoding.legal_indices(board)]
    return "\t".join([fen, moves, " ".join(squares), " ".join(constants), " ".join(indices)])


def write(encoding) -> None:
    """Writes the cases of a module such as this one into the .tsv file beside it."""
    header = (
        "# FEN, moves, set squares of the planes that hold squares (hexadecimal, bit 0 is a1),"
        " values of the constant planes, policy index of each move that has one\n"
    )
    text = header + "".join(line(encoding, fen, moves) + "\n" for fen, moves in cases())
    Path(encoding.__file__).with_suffix(".tsv").write_text(text)


if __name__ == "__main__":
    write(sys.modules[__name__])
