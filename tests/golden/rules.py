"""Writes ../data/games.tsv, notation.tsv and castling.tsv: the rules as python-chess sees them.

Run it by hand when a case is added; the files are the same at every run.
"""

import random
from pathlib import Path

import chess

DATA = Path(__file__).parent.parent / "data"
START = chess.STARTING_FEN
TRAP = "3b4/rp1r1k2/8/1RP2p1p/p1KP4/P3P2P/5P2/1R2B3 b - - 2 30"

# Positions and moves in which repetition, clocks or the end of the game are easily got wrong.
HAND_PICKED_GAMES = [
    ("knights out and back, twice", START, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8"),
    ("the double push allows no capture", TRAP, "f7f8 f2f4 d7h7 c4d3 h7d7 d3c4"),
    ("the double push allowed a capture", "4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1", "e2e4 e8d8 e1d1 d8e8 d1e1"),
    (
        "the capture was pinned on the diagonal",
        "7k/8/8/8/3p4/8/4P3/B3K3 w - - 0 1",
        "e2e4 h8g8 e1d1 g8h8 d1e1",
    ),
    (
        "the capture was pinned on its file",
        "3k4/8/8/8/3p4/8/4P3/K2R4 w - - 0 1",
        "e2e4 d8d7 a1a2 d7d8 a2a1 d8d7 a1a2 d7d8 a2a1",
    ),
    (
        "the capture would uncover the rank",
        "8/8/8/8/R2p3k/8/4P3/4K3 w - - 0 1",
        "e2e4 h4h5 e1d1 h5h4 d1e1 h4h5 e1d1 h5h4 d1e1",
    ),
    ("en passant on the board, nothing to take", "4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1", "e8d8 e1d1 d8e8 d1e1"),
    ("en passant on the board, something to take", "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", "e8d8 e1d1 d8e8 d1e1"),
    (
        "the king gives up both rights",
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
        "e1e2 e8e7 e2e1 e7e8 e1e2 e8e7 e2e1 e7e8",
    ),
    (
        "a rook gives up one right",
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
        "h1g1 a8b8 g1h1 b8a8 h1g1 a8b8 g1h1 b8a8",
    ),
    ("a rook takes a rook at home", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 3 1", "a1a8 e8e7 a8h8 e7e6"),
    ("castling is no capture", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 7 1", "e1g1 e8c8"),
    ("same pieces, other side to move", "8/8/8/4k3/8/8/R7/4K3 w - - 0 1", "a2a3 e5e6 a3a4 e6e5 a4a2"),
    ("fifty moves", "8/8/8/4k3/8/8/R7/4K3 w - - 98 90", "a2a3 e5e6"),
    ("mate goes before fifty moves", "7k/8/6K1/8/8/8/R7/8 w - - 99 90", "a2a8"),
    ("a capture starts the clock again", "7k/8/6K1/8/r7/8/R7/8 w - - 99 90", "a2a4"),
    ("the clock runs past a hundred", "8/8/8/4k3/8/8/R7/4K3 w - - 148 90", ""),
    ("stalemate", "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1", "g5g6"),
    ("fool's mate", START, "f2f3 e7e5 g2g4 d8h4"),
    ("under-promotion", "8/2P5/8/8/8/8/4k3/7K w - - 0 1", "c7c8r"),
    ("en passant", "4k3/8/8/8/4p3/8/3P4/4K3 w - - 5 1", "d2d4 e4d3"),
]
HAND_PICKED_GAMES += [
    (f"material: {name}", fen, "")
    for name, fen in [
        ("bare kings", "4k3/8/8/8/8/8/8/4K3 w - - 0 1"),
        ("knight", "4k3/8/8/8/8/8/8/4K1N1 w - - 0 1"),
        ("bishop", "4k3/8/8/8/8/8/6b1/4K3 b - - 0 1"),
        ("rook", "4k3/8/8/8/8/8/6R1/4K3 w - - 0 1"),
        ("queen", "4k3/8/8/8/8/8/6Q1/4K3 w - - 0 1"),
        ("pawn", "4k3/8/8/8/8/8/6P1/4K3 w - - 0 1"),
        ("two knights", "4k3/8/8/8/8/8/8/4KNN1 w - - 0 1"),
        ("knight each", "4k1n1/8/8/8/8/8/8/4K1N1 w - - 0 1"),
        ("knight against bishop", "4k1b1/8/8/8/8/8/8/4K1N1 w - - 0 1"),
        ("bishops on one colour", "4kb2/8/8/8/8/8/8/4K1B1 w - - 0 1"),
        ("bishops on both colours", "4kb2/8/8/8/8/8/8/4KB2 w - - 0 1"),
        ("three bishops on one colour", "4kb2/8/7b/8/8/8/8/4K1B1 w - - 0 1"),
        ("own bishops on both colours", "4k3/8/8/8/8/8/8/4KBB1 w - - 0 1"),
        ("knight against queen", "4k3/q7/8/8/8/8/8/4K1N1 w - - 0 1"),
        ("knight and bishop on one side", "4k3/8/8/8/8/8/8/4KBN1 w - - 0 1"),
    ]
]

NOTATION_POSITIONS = [
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "k7/8/8/2R1R3/8/2R5/8/4K3 w - - 0 1",
    "6k1/8/8/Q1Q5/8/Q1Q5/8/6K1 w - - 0 1",
    "4k3/8/2N1N3/1N3N2/8/1N3N2/2N5/4K3 w - - 0 1",
    "4r1k1/8/8/8/8/2N5/4N3/4K3 w - - 0 1",
    "r1bqkb1r/ppp3pp/2N2n2/1B4q1/4pP2/8/PPPPQ1PP/R1B1K2R b KQkq f3 0 1",
    "8/8/8/2k5/3Pp3/8/8/4K2R b - d3 0 1",
    "8/8/8/2kPpP2/8/8/8/4K3 w - e6 0 1",
    "1n1n3k/P1P5/8/8/8/8/p1p5/1N1N3K w - - 0 1",
    "1n1n3k/P1P5/8/8/8/8/p1p5/1N1N3K b - - 0 1",
    "5rk1/5ppp/8/8/8/8/8/R3K2R w KQ - 0 1",
    "3rkr2/8/8/8/8/8/8/R3K2R w KQ - 0 1",
    "5k2/8/8/8/8/8/8/R3K2R w KQ - 0 1",
    "3k4/8/8/8/8/8/8/R3K2R w KQ - 0 1",
    "2Nq4/2K5/1b6/8/7R/3k4/7P/8 w - - 0 1",
]

WHITE_HOME = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1"
BLACK_HOME = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R b KQkq - 0 1"

KING_AND_ROOK_FORMS = [("e1g1", "e1h1"), ("e1c1", "e1a1"), ("e8g8", "e8h8"), ("e8c8", "e8a8")]

# Each is asked for all four.
CASTLING_POSITIONS = [
    (WHITE_HOME, ""),
    (BLACK_HOME, ""),
    (WHITE_HOME.replace("KQkq", "K"), ""),
    (WHITE_HOME.replace("KQkq", "Qkq"), ""),
    (WHITE_HOME.replace("KQkq", "-"), ""),
    (BLACK_HOME.replace("KQkq", "KQk"), ""),
    (BLACK_HOME.replace("KQkq", "q"), ""),
    (BLACK_HOME.replace("KQkq", "-"), ""),
    (START, ""),
    ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1e2 e8e7 e2e1 e7e8"),
    ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "h1h2 a8a7 h2h1 a7a8"),
    ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "h1h2 a8a7 h2h1 a7a8 a1a2"),
    ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "a1a8"),
    ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "h8h1"),
    ("r3k2r/8/8/8/8/8/6p1/R3K2R b KQkq - 0 1", "g2h1q"),
    ("4kr2/8/8/8/8/8/8/R3K2R w KQ - 0 1", ""),
    ("3rk3/8/8/8/8/8/8/R3K2R w KQ - 0 1", ""),
    ("1r2k2r/8/8/8/8/8/8/R3K2R w KQk - 0 1", ""),
    ("4k2r/8/8/8/8/8/8/R3K2R b KQk - 0 1", ""),
    ("1k2r3/8/8/8/8/8/8/R3K2R w KQ - 0 1", ""),
    ("r3k2r/8/8/8/8/8/8/RN2K1NR w KQkq - 0 1", ""),
    ("rn2k1nr/8/8/8/8/8/8/R3K2R b KQkq - 0 1", ""),
    ("r3k2r/8/8/8/8/8/7p/R3K2R w KQkq - 0 1", ""),
    ("r3k2r/3P4/8/8/8/8/8/R3K2R b KQkq - 0 1", ""),
    ("r3k2r/8/1N6/8/8/8/8/R3K2R b KQkq - 0 1", ""),
    ("r3k2r/8/8/B7/8/8/8/R3K2R b KQkq - 0 1", ""),
]


def position(fen: str) -> chess.Board:
    board = chess.Board(fen)
    unusual = chess.STATUS_IMPOSSIBLE_CHECK | chess.STATUS_TOO_MANY_CHECKERS
    assert not board.status() & ~unusual, f"{fen}: {board.status()!r}"
    return board


def occurrences(board: chess.Board) -> int:
    count = 1
    while board.is_repetition(count + 1):
        count += 1
    return count


def outcome(board: chess.Board) -> str:
    if board.is_checkmate():
        return "mate by black" if board.turn else "mate by white"
    if board.is_stalemate():
        return "stalemate"
    if board.is_insufficient_material():
        return "insufficient material"
    if board.halfmove_clock >= 100:
        return "fifty moves"
    if board.is_repetition(3):
        return "repetition"
    return "-"


def game_line(name: str, fen: str, moves: str) -> str:
    board = position(fen)
    counts = [occurrences(board)]
    for move in moves.split():
        assert outcome(board) == "-", f"{name}: over before {move}"
        board.push_uci(move)
        counts.append(occurrences(board))
    text = "".join(map(str, counts))
    return "\t".join(
        [name, fen, moves, text, str(board.halfmove_clock), outcome(board), board.fen(en_passant="fen")]
    )


def random_game(source: random.Random, fen: str, shuffle: float) -> str:
    """Random moves to the end of the game; `shuffle` is how often a player takes a move back."""
    board = chess.Board(fen)
    while outcome(board) == "-":
        moves = list(board.legal_moves)
        if len(board.move_stack) > 1:
            last = board.move_stack[-2]
            back = chess.Move(last.to_square, last.from_square)
            if back in moves and source.random() < shuffle:
                moves = [back]
        board.push(source.choice(moves))
    return " ".join(move.uci() for move in board.move_stack)


def games() -> list[str]:
    lines = ["# name, FEN, moves, times each position has occurred, halfmove clock, outcome, FEN at the end"]
    lines += [game_line(*game) for game in HAND_PICKED_GAMES]
    source = random.Random(1)
    starts = [START, WHITE_HOME, "4k3/pppp4/8/8/8/8/4PPPP/4K3 w - - 0 1", "8/4k3/8/3b4/8/2R5/4K3/8 w - - 0 1"]
    for number in range(60):
        fen, shuffle = starts[number % 4], [0.0, 0.4, 0.7][number % 3]
        lines.append(game_line(f"random {number + 1}", fen, random_game(source, fen, shuffle)))
    return lines


def notation() -> list[str]:
    evaluated = Path(__file__).with_name("positions.txt").read_text().splitlines()
    lines = ["# FEN, every legal move as uci=san"]
    for fen in dict.fromkeys(NOTATION_POSITIONS + evaluated):
        board = position(fen)
        moves = sorted(f"{move.uci()}={board.san(move)}" for move in board.legal_moves)
        lines.append(f"{fen}\t{' '.join(moves)}")
    return lines


def castling() -> list[str]:
    lines = ["# FEN, moves before, castling as the king's squares, as king takes rook, FEN after it or illegal"]
    for fen, moves in CASTLING_POSITIONS:
        board = position(fen)
        for move in moves.split():
            board.push_uci(move)
        for king, rook in KING_AND_ROOK_FORMS:
            move = chess.Move.from_uci(king)
            after = "illegal"
            if board.piece_type_at(move.from_square) == chess.KING and move in board.legal_moves:
                played = board.copy()
                played.push(move)
                after = played.fen(en_passant="fen")
            lines.append("\t".join([fen, moves, king, rook, after]))
    return lines


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    for name, lines in [("games", games()), ("notation", notation()), ("castling", castling())]:
        (DATA / f"{name}.tsv").write_text("\n".join(lines) + "\n")
