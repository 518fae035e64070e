"""Writes positions.txt: 64 varied legal positions, one FEN a line, the same at every run.

Hand-picked positions for what random play rarely shows, then positions from games in which each
move is drawn with captures, checks and promotions three times as likely as quiet moves.
"""

import random
from pathlib import Path

import chess

HAND_PICKED = """\
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1
rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3
r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1
r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 1 1
r3k2r/8/8/8/8/8/8/R3K2R w Kq - 4 30
r3k2r/8/8/8/8/8/8/R3K2R b Qk - 5 30
r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/3P1N2/PPP2PPP/RNBQK2R w KQkq - 1 5
n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1
n1n5/PPPk4/8/8/8/8/4Kppp/5N1N w - - 0 1
8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1
8/8/8/8/8/4k3/4P3/4K3 w - - 10 70
8/8/8/3k4/8/3K4/3R4/8 w - - 40 90
8/8/4k3/8/8/4K3/4Q3/8 b - - 99 120
8/5P1k/8/8/8/8/p4K2/8 w - - 0 55
8/5P1k/8/8/8/8/p4K2/8 b - - 0 55
rnb1kbnr/pppp1ppp/8/4p3/4PP1q/8/PPPP2PP/RNBQKBNR w KQkq - 1 3
6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 30
""".splitlines()


def weight(board: chess.Board, move: chess.Move) -> int:
    return 3 if board.is_capture(move) or board.gives_check(move) or move.promotion else 1


def sampled(random_source: random.Random, ply: int) -> str:
    """A position `ply` plies into a game that is still going on; tries games until one lasts."""
    while True:
        board = chess.Board()
        while len(board.move_stack) < ply and not board.is_game_over(claim_draw=True):
            moves = list(board.legal_moves)
            weights = [weight(board, move) for move in moves]
            board.push(random_source.choices(moves, weights)[0])
        if not board.is_game_over(claim_draw=True):
            return board.fen(en_passant="fen")


def positions() -> list[str]:
    random_source = random.Random(20)
    found = list(HAND_PICKED)
    ply = 3
    while len(found) < 64:
        fen = sampled(random_source, ply)
        if fen not in found:
            found.append(fen)
        ply += 3
    return found


if __name__ == "__main__":
    lines = positions()
    assert all(chess.Board(fen).is_valid() and any(chess.Board(fen).legal_moves) for fen in lines)
    Path(__file__).with_name("positions.txt").write_text("\n".join(lines) + "\n")
