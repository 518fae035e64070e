"""The finishing rule against a bare king, by python-chess: writes tests/data/finish.tsv.

Columns: FEN, plies, the moves that keep a probability when the network holds all moves alike (it
gives nothing to under-promotions).
"""

import random
import sys

import chess


def after(board, move):
    board = board.copy(stack=False)
    board.push(move)
    return board


def forces_mate(board):
    """Whether every reply (there is one) can be answered by mate."""
    replies = [after(board, move) for move in board.legal_moves]
    return bool(replies) and all(
        any(after(reply, move).is_checkmate() for move in reply.legal_moves) for reply in replies
    )


def lets_draw(board):
    return any(after(board, move).is_insufficient_material() for move in board.legal_moves)


def kept(board, plies):
    moves = list(board.legal_moves)
    named = [move for move in moves if move.promotion in (None, chess.QUEEN)]
    if plies == 0 or len(chess.SquareSet(board.occupied_co[not board.turn])) > 1:
        return named
    mates = [move for move in moves if after(board, move).is_checkmate()]
    if not mates and plies >= 3:
        mates = [move for move in moves if forces_mate(after(board, move))]
    if mates:
        return [move for move in mates if move in named] or mates
    open_moves = [move for move in moves if not after(board, move).is_stalemate()]
    if plies >= 2:
        open_moves = [move for move in open_moves if not lets_draw(after(board, move))]
    if not open_moves:
        return named
    return [move for move in open_moves if move in named] or open_moves


def random_position(rng):
    white = rng.random() < 0.5
    pieces = rng.choice(["Q", "R", "P", "BB", "BN", "QP", "RP", "NP", "QQ", "PP"])
    while True:
        board = chess.Board(None)
        board.turn = chess.WHITE if white else chess.BLACK
        squares = rng.sample(range(64), len(pieces) + 2)
        # The bare king stands near the edge, where it can be mated.
        edge = [s for s in range(64) if chess.square_file(s) in (0, 7) or chess.square_rank(s) in (0, 7)]
        squares[1] = rng.choice(edge)
        if len(set(squares)) < len(squares):
            continue
        board.set_piece_at(squares[0], chess.Piece(chess.KING, white))
        board.set_piece_at(squares[1], chess.Piece(chess.KING, not white))
        for square, letter in zip(squares[2:], pieces):
            board.set_piece_at(square, chess.Piece(chess.PIECE_SYMBOLS.index(letter.lower()), white))
        if board.is_valid() and not board.is_game_over():
            return board


def main():
    rng = random.Random(20261129)
    lines = []
    # A position is of use where one more ply makes a difference.
    for plies in (1, 2, 3):
        found = 0
        while found < 12:
            board = random_position(rng)
            if kept(board, plies) != kept(board, plies - 1):
                found += 1
                lines += [(board.fen(), p, kept(board, p)) for p in range(4)]
    extra = [
        "k7/2Q4p/1K6/8/8/8/8/8 w - - 0 1",  # not bare: a mate in one, left to the network
        "k1K5/P7/8/8/8/8/8/8 w - - 0 1",  # every move stalemates or loses the pawn
        "8/5P1k/5K2/6Q1/8/8/8/8 w - - 0 1",
    ]
    for fen in extra:
        lines += [(fen, p, kept(chess.Board(fen), p)) for p in range(4)]
    with open(sys.argv[1] if len(sys.argv) > 1 else "tests/data/finish.tsv", "w") as file:
        for fen, plies, moves in lines:
            print(fen, plies, " ".join(sorted(move.uci() for move in moves)), sep="\t", file=file)


if __name__ == "__main__":
    main()
