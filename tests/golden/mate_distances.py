"""Writes mate_distances.tsv: positions in which a mate is forced, and in how many moves: N for the side to move, -N against
it. The distances come from trying every move, nothing left out.
"""

import random
from pathlib import Path

import chess

MATERIAL = ["KQk", "KRk", "KRRk", "KQkr", "KQkp", "KRkp", "KRPk", "KBBk", "KQkb", "KQNkrp", "KRBkpp", "KQPkqp"]
WANTED = {1: 10, 2: 10, 3: 8}


def mated_in(board: chess.Board, moves: int) -> bool:
    """Whether the side to move is mated, or is after any move of its own in so many moves of the other at most."""
    if board.is_checkmate():
        return True
    if moves == 0 or board.is_stalemate() or board.is_insufficient_material():
        return False
    return all(follows(board, move, lambda: mates_in(board, moves)) for move in board.legal_moves)


def mates_in(board: chess.Board, moves: int) -> bool:
    """Whether the side to move can mate in so many moves at most."""
    if board.is_insufficient_material():
        return False
    candidates = list(board.legal_moves)
    if moves == 1:
        candidates = [move for move in candidates if board.gives_check(move)]
    return any(follows(board, move, lambda: mated_in(board, moves - 1)) for move in candidates)


def follows(board: chess.Board, move: chess.Move, claim) -> bool:
    board.push(move)
    holds = claim()
    board.pop()
    return holds


def distance(board: chess.Board, most: int) -> int | None:
    return next((moves for moves in range(1, most + 1) if mates_in(board, moves)), None)


def scattered(random_source: random.Random) -> chess.Board:
    while True:
        letters = random_source.choice(MATERIAL)
        if random_source.random() < 0.5:
            letters = letters.swapcase()
        board = chess.Board(None)
        for square, letter in zip(random_source.sample(range(64), len(letters)), letters):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        board.turn = random_source.random() < 0.5
        if board.is_valid() and not board.is_game_over():
            return board


def main() -> None:
    random_source = random.Random(11)
    left = dict(WANTED)
    lines = []
    while any(left.values()):
        board = scattered(random_source)
        most = max(moves for moves, count in left.items() if count)
        moves = distance(board, most)
        if not left.get(moves):
            continue
        left[moves] -= 1
        lines.append((board.fen(), moves))
        # A move that keeps the mate leaves the other side mated in one less.
        for move in board.legal_moves:
            board.push(move)
            if mated_in(board, moves - 1):
                lines.append((board.fen(), 1 - moves))
                break
            board.pop()
    header = "# FEN, moves to mate: for the side to move, or negative against it; 0 is mate\n"
    text = "".join(f"{fen}\t{moves}\n" for fen, moves in sorted(lines, key=lambda line: (abs(line[1]), line)))
    Path(__file__).with_name("mate_distances.tsv").write_text(header + text)


if __name__ == "__main__":
    main()
