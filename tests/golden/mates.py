"""Makes tests/data/mates.tsv: the shortest mates of some positions, worked out with python-chess.

    python mates.py > ../data/mates.tsv
"""

import chess

POSITIONS = """
rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2
r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4
6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1
k7/8/1K6/8/8/8/8/7R w - - 0 1
7k/8/5KP1/8/8/8/6P1/8 w - - 0 1
k7/2P5/1K6/8/8/8/8/8 w - - 0 1
4r1k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1
1k6/8/2K5/8/8/8/8/7R w - - 0 1
6k1/8/6K1/8/8/8/8/6QR w - - 0 1
5rk1/5ppp/8/6N1/8/1Q6/8/6K1 w - - 0 1
7k/8/8/8/8/8/R7/1R4K1 w - - 0 1
8/8/8/8/8/1k6/7q/K7 b - - 0 1
K7/8/1k6/8/8/8/8/7r w - - 99 80
7k/6pp/8/8/8/8/5R2/5RK1 w - - 0 1
k7/7R/8/2K5/8/8/8/8 w - - 0 1
5k2/R7/4K3/8/8/8/8/8 b - - 0 1
""".split("\n")


def wins(board: chess.Board, moves: int) -> bool:
    """Whether the side to move can mate within so many moves."""
    for move in list(board.legal_moves):
        board.push(move)
        won = board.is_checkmate() or (moves > 1 and loses(board, moves - 1))
        board.pop()
        if won:
            return True
    return False


def loses(board: chess.Board, moves: int) -> bool:
    """Whether the side to move is mated within so many moves whatever it does."""
    if board.is_stalemate() or board.is_insufficient_material() or board.halfmove_clock >= 100:
        return False
    replies = list(board.legal_moves)
    for move in replies:
        board.push(move)
        lost = wins(board, moves) and board.halfmove_clock < 100
        board.pop()
        if not lost:
            return False
    return bool(replies)


def mate(board: chess.Board) -> int | None:
    """In how many moves the side to move mates (or is mated: negative), at most 3."""
    for moves in range(1, 4):
        if wins(board, moves):
            return moves
        if loses(board, moves):
            return -moves
    return None


def main():
    for fen in filter(None, POSITIONS):
        board = chess.Board(fen)
        if not board.is_valid():
            raise SystemExit(f"{fen} is no legal position")
        found = mate(board)
        if found is not None:
            print(f"{fen}\t{found}")


if __name__ == "__main__":
    main()
