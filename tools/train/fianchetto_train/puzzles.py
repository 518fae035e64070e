"""Lichess puzzles by the protocol of the published RDTChess card, so that figures can stand beside its own.

Of each cell (solution length in solver moves x rating band) up to a number of puzzles is drawn. The network
is asked at every solver move along the file's line, also after an error, and answers with the legal move of
the highest logit. Right is the file's move; at the last one, where it mates, any mate. An under-promotion
that the encoding cannot express is therefore failed, unless a queen mates as well; puzzles with one are
counted apart.
"""

import csv
import importlib
import io
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType

import chess
import numpy as np
import torch

from .model import Model
from .output import watched
from .shards import DataError

SEED = 4242
LENGTHS = range(1, 6)
RATINGS = {"<1200": 1200, "1200-1599": 1600, "1600-1999": 2000, "2000-2399": 2400, "2400+": 10_000}
KINDS = ["check", "capture", "quiet"]
COLUMNS = ["PuzzleId", "FEN", "Moves", "Rating", "Themes"]

# The encodings by python-chess, which share no code with the trainer and the engine.
GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden"


@dataclass(frozen=True)
class Puzzle:
    """A line of the file: the first of `moves` is the opponent's, then solver and opponent alternate."""

    id: str
    fen: str
    moves: tuple[str, ...]
    rating: int
    themes: frozenset[str]

    @property
    def length(self) -> int:
        """Solver moves."""
        return len(self.moves) // 2

    @property
    def band(self) -> str:
        """The rating band."""
        return next(name for name, above in RATINGS.items() if self.rating < above)

    @property
    def under_promotion(self) -> bool:
        """Whether a solver move promotes to something else than a queen."""
        return any(len(move) == 5 and move[4] != "q" for move in self.moves[1::2])


@dataclass
class Question:
    """A position of a puzzle's line where the solver moves."""

    planes: np.ndarray
    moves: list[str]  # those that have a policy index
    indices: list[int]
    accepted: set[str]
    kind: str  # of the file's move
    legal: int  # legal moves, under-promotions included


@dataclass
class Outcome:
    """A puzzle and how it went."""

    puzzle: Puzzle
    kind: str
    legal: int
    right: list[bool]

    @property
    def first(self) -> bool:
        """Whether the first move was found."""
        return self.right[0]

    @property
    def whole(self) -> bool:
        """Whether every move was."""
        return all(self.right)


@contextmanager
def opened(path: Path) -> Iterator[Iterable[str]]:
    """The text of a file, unpacked by the `zstd` program where its name ends in .zst."""
    if path.suffix != ".zst":
        with open(path, newline="", encoding="utf-8") as file:
            yield file
        return
    try:
        process = subprocess.Popen(["zstd", "-dcq", "--long=27", path], stdout=subprocess.PIPE)
    except FileNotFoundError:
        raise DataError(f"{path}: the zstd program is missing; install it, or unpack the file first") from None
    try:
        yield io.TextIOWrapper(process.stdout, encoding="utf-8", newline="")
        if process.wait():
            raise DataError(f"{path} cannot be unpacked: see what zstd said")
    finally:
        process.kill()
        process.wait()


def parse(row: dict, path: Path, line: int) -> Puzzle:
    """A line of the file."""
    moves = tuple(row["Moves"].split())
    if not row["Rating"].isdecimal() or len(moves) % 2 or not moves:
        found = f"rating {row['Rating']!r}, {len(moves)} moves"
        raise DataError(f"{path}:{line}: {found}; expected a number, and two moves or another even number of them")
    return Puzzle(row["PuzzleId"], row["FEN"], moves, int(row["Rating"]), frozenset(row["Themes"].split()))


def every(path: Path) -> Iterator[Puzzle]:
    """All puzzles of a file."""
    with opened(path) as text:
        try:
            reader = csv.DictReader(text)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or [])]:
                raise DataError(f"{path} has no column {missing[0]}: expected the Lichess puzzle file with its header")
            for row in reader:
                if any(row[name] is None for name in COLUMNS):
                    raise DataError(f"{path}:{reader.line_num}: a line with too few columns: is the file whole?")
                yield parse(row, path, reader.line_num)
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{path} is no text in columns ({error}): expected the Lichess puzzle file") from None


def read(path: Path, per_cell: int) -> list[Puzzle]:
    """Up to `per_cell` puzzles of each cell: all that there are, or as many by a fixed seed (reservoir sampling)."""
    cells: dict[tuple[int, str], list[Puzzle]] = {(length, band): [] for length in LENGTHS for band in RATINGS}
    seen = dict.fromkeys(cells, 0)
    source = random.Random(SEED)
    for puzzle in every(path):
        cell = (puzzle.length, puzzle.band)
        if cell not in cells:
            continue
        seen[cell] += 1
        if seen[cell] <= per_cell:
            cells[cell].append(puzzle)
        elif (place := source.randrange(seen[cell])) < per_cell:
            cells[cell][place] = puzzle
    puzzles = [puzzle for cell in cells.values() for puzzle in cell]
    if not puzzles:
        raise DataError(f"{path} has no puzzle of {LENGTHS.start} to {LENGTHS.stop - 1} solver moves")
    return puzzles


def encoder(encoding: str) -> ModuleType:
    """The module that encodes boards."""
    if str(GOLDEN) not in sys.path:
        sys.path.append(str(GOLDEN))
    try:
        return importlib.import_module(encoding)
    except ModuleNotFoundError:
        raise DataError(f"{GOLDEN / encoding}.py is missing: measure puzzles from within the whole repository") from None


def mates(board: chess.Board, move: chess.Move) -> bool:
    """Whether a legal move mates."""
    if not board.gives_check(move):
        return False
    board.push(move)
    mate = board.is_checkmate()
    board.pop()
    return mate


def question(board: chess.Board, wanted: chess.Move, encoding: ModuleType) -> Question:
    """What is asked on this board where the file's line goes on with `wanted`."""
    legal = list(board.legal_moves)
    accepted = {wanted.uci()}
    if mates(board, wanted):  # and so the line ends
        accepted |= {move.uci() for move in legal if mates(board, move)}
    if board.gives_check(wanted):
        kind = "check"
    else:
        kind = "capture" if board.is_capture(wanted) else "quiet"
    moves, indices = zip(*encoding.legal_indices(board))
    return Question(encoding.planes(board), list(moves), list(indices), accepted, kind, len(legal))


def questions(puzzle: Puzzle, encoding: ModuleType) -> Iterator[Question]:
    """One for each solver move."""
    try:
        board = chess.Board(puzzle.fen)
        for number, text in enumerate(puzzle.moves, 1):
            move = board.parse_uci(text)
            if number % 2 == 0:
                yield question(board, move, encoding)
            board.push(move)
    except ValueError as error:
        raise DataError(f"puzzle {puzzle.id}: {error}; is the file damaged?") from None


def choose(model: Model, asked: list[Question], device: torch.device) -> list[str]:
    """The network's move in each position."""
    planes = torch.from_numpy(np.stack([q.planes for q in asked])).to(device, memory_format=torch.channels_last)
    logits = model.evaluate(planes)[0].cpu().numpy()
    return [q.moves[row[q.indices].argmax()] for q, row in zip(asked, logits)]


def solve(model: Model, puzzles: list[Puzzle], device: torch.device, batch_size: int) -> list[Outcome]:
    """Asks the network every question of every puzzle."""
    encoding = encoder(model.encoding)
    outcomes: list[Outcome] = []
    total = sum(puzzle.length for puzzle in puzzles)
    asked = watched(((p, q) for p in puzzles for q in questions(p, encoding)), total, "puzzle moves")
    while batch := list(islice(asked, batch_size)):
        answers = choose(model, [q for _, q in batch], device)
        for (puzzle, q), answer in zip(batch, answers):
            if not outcomes or outcomes[-1].puzzle is not puzzle:
                outcomes.append(Outcome(puzzle, q.kind, q.legal, []))
            outcomes[-1].right.append(answer in q.accepted)
    return outcomes


def mean(values: Iterable[float]) -> float | None:
    """The mean, where there is one."""
    values = list(values)
    return sum(values) / len(values) if values else None


def summary(outcomes: list[Outcome]) -> dict:
    """All figures, as shares."""
    mates_in_one = [o.first for o in outcomes if "mateIn1" in o.puzzle.themes]
    under = [o for o in outcomes if o.puzzle.under_promotion]
    lengths, kinds = {}, {}
    for length in LENGTHS:
        group = [o for o in outcomes if o.puzzle.length == length]
        moves = [mean(o.right[step] for o in group) for step in range(length)] if group else []
        lengths[length] = {"count": len(group), "moves": moves, "whole_line": mean(o.whole for o in group)}
    for kind in KINDS:
        kinds[kind] = {}
        for band in RATINGS:
            group = [o.first for o in outcomes if o.kind == kind and o.puzzle.band == band]
            kinds[kind][band] = {"count": len(group), "first_move": mean(group)}
    return {
        "count": len(outcomes),
        "first_move": mean(o.first for o in outcomes),
        "whole_line": mean(o.whole for o in outcomes),
        "random_first_move": mean(1 / o.legal for o in outcomes),
        "legal_moves": mean(o.legal for o in outcomes),
        "mate_in_one": {"count": len(mates_in_one), "found": mean(mates_in_one)},
        "under_promotion": {"count": len(under), "whole_line": mean(o.whole for o in under)},
        "length": lengths,
        "kind": kinds,
    }
