"""What the from/to player makes of positions, by python-chess and PyTorch: writes tests/data/from_to.tsv.

Plain minimax, every move and no pruning. Columns: FEN; prediction (ranks or product); plies predicted; depth; every
legal move and what it comes to in points, best first, of equals the one worth most by itself.
"""

from pathlib import Path

import chess
import torch

from network import load
import canonical12
from random_weights import PairSpec, weights

SPEC, SEED = PairSpec(filters=4, hidden=5), 7
NETWORK = load(SPEC, weights(SPEC, SEED))

MATERIAL = {chess.PAWN: 10, chess.KNIGHT: 500, chess.BISHOP: 500, chess.ROOK: 900, chess.QUEEN: 5000}
KING = 50_000

# Openings and middlegames come from positions.txt; these hold mates in one and two, a stalemate to give, promotions
# and captures en passant.
MORE = [
    "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1",
    "k7/8/2K5/8/8/8/8/1R6 w - - 0 1",
    "7k/5Q2/8/6K1/8/8/8/8 w - - 0 1",
    "4k3/P6P/8/8/8/8/p6p/4K3 b - - 0 1",
    "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
    "5rk1/5ppp/8/8/8/8/r7/7K w - - 0 1",
]
CASES = [("ranks", 3, 3), ("product", 3, 3), ("ranks", 1, 3), ("ranks", 3, 2), ("product", 2, 3), ("ranks", 1, 1)]


class Scores:
    """The networks' scores of one position's squares: points of its moves."""

    def __init__(self, board: chess.Board, logits: torch.Tensor, by: str):
        self.mirror, self.by = (0 if board.turn else 56), by
        if by == "ranks":
            self.squares = [sorted(range(64), key=lambda square: -part[square]).index for part in logits.tolist()]
        else:
            self.squares = [part.__getitem__ for part in torch.softmax(logits, 1).tolist()]

    def points(self, move: chess.Move) -> float:
        a, b = self.squares[0](move.from_square ^ self.mirror), self.squares[1](move.to_square ^ self.mirror)
        return 400 - (a + b) if self.by == "ranks" else round(400_000 * a * b) / 1000


def scores(boards: list[chess.Board], by: str) -> list[Scores]:
    planes = torch.stack([torch.from_numpy(canonical12.planes(board)) for board in boards]).double()
    logits = NETWORK(planes)[0][:, 4096:].reshape(-1, 2, 64)
    return [Scores(board, part, by) for board, part in zip(boards, logits)]


def material(board: chess.Board, move: chess.Move) -> int:
    if board.is_en_passant(move):
        return MATERIAL[chess.PAWN]
    return MATERIAL[board.piece_type_at(move.to_square)] if board.is_capture(move) else 0


def after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    return board


def worth(board: chess.Board, score: Scores | None) -> list[tuple[chess.Move, float]]:
    """The legal moves and what they are worth by themselves."""
    predicted = (lambda move: 0) if score is None else score.points
    return [(move, predicted(move) + material(board, move)) for move in board.legal_moves]


def value(board: chess.Board, score, by: str, plies: int, depth: int) -> float:
    """What a position is worth to the side to move; `plies` are still predicted."""
    if board.is_checkmate():
        return -KING * (depth + 1)
    if depth == 0 or board.is_stalemate():
        return 0
    return max(points for _, points in values(board, score, by, plies, depth))


def values(board: chess.Board, score, by: str, plies: int, depth: int) -> list[tuple[chess.Move, float]]:
    """What every move comes to."""
    moves = worth(board, score)
    boards = [after(board, move) for move, _ in moves]
    replies = scores(boards, by) if plies > 1 and depth > 1 else [None] * len(boards)
    return [
        (move, points - value(board, reply, by, plies - 1, depth - 1))
        for (move, points), board, reply in zip(moves, boards, replies)
    ]


def case(fen: str, by: str, plies: int, depth: int) -> str:
    board = chess.Board(fen)
    [score] = scores([board], by)
    own = dict(worth(board, score))
    found = values(board, score, by, plies, depth)
    found.sort(key=lambda pair: (-round(pair[1], 6), -own[pair[0]], (pair[0].promotion or chess.QUEEN) != chess.QUEEN))
    text = " ".join(f"{move.uci()}={points:.3f}" for move, points in found)
    return f"{fen}\t{by}\t{plies}\t{depth}\t{text}\n"


@torch.no_grad()
def main() -> None:
    here = Path(__file__).parent
    fens = (here / "positions.txt").read_text().splitlines()[::5] + MORE
    lines = []
    for i, fen in enumerate(fens):
        if chess.Board(fen).is_game_over():
            continue
        small = chess.Board(fen).legal_moves.count() < 25
        cases = CASES if small else [CASES[i % 3], *CASES[3:]]
        lines += [case(fen, *options) for options in cases]
    (here.parent / "data" / "from_to.tsv").write_text("".join(lines))


if __name__ == "__main__":
    main()
