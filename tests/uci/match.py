"""Plays the engine through python-chess, a strict and independent UCI client.

    python match.py --binary target/release/fianchetto [--weights FILE] [--games 100]

So many games against itself and as many against a random mover, from random openings, under
several option settings. A fault is anything that the client warns of (illegal or unparsable
output, text on stderr), an illegal move, a missing score or line, a move that takes longer than
`--timeout`, or an exit status other than 0. Exits with status 1 when there was one.
"""

import argparse
import asyncio
import contextlib
import logging
import random
import statistics
import sys
import time
from dataclasses import dataclass, field

try:
    import chess
    import chess.engine
except ImportError as missing:
    print(f"SKIPPED: {missing}; needs chess (pip)", flush=True)
    sys.exit(3)

MAX_PLIES = 300
CLOCK = chess.engine.Limit(white_clock=60, black_clock=60, white_inc=1, black_inc=1)


@dataclass(frozen=True)
class Setting:
    """Options and limits under which games are played."""

    name: str
    limit: chess.engine.Limit
    options: dict = field(default_factory=dict)
    lines: int = 1  # MultiPV, which the client sets itself
    ponder: bool = False


SETTINGS = [
    Setting("defaults", chess.engine.Limit(nodes=1)),
    # What the configuration file that comes with lichess-bot sets.
    Setting(
        "lichess-bot",
        CLOCK,
        {
            "Move Overhead": 100,
            "Threads": 4,
            "Hash": 512,
            "SyzygyPath": "./syzygy/",
            "UCI_ShowWDL": True,
        },
    ),
    Setting("finish 3", chess.engine.Limit(time=0.05), {"Threads": 1, "FinishPlies": 3}),
    Setting("finish 0", chess.engine.Limit(depth=1), {"Threads": 2, "FinishPlies": 0}),
    Setting("temperature", CLOCK, {"Temperature": "0.5"}),
    Setting("multipv", chess.engine.Limit(nodes=1), {"Threads": 1}, lines=4),
    Setting("ponder", CLOCK, ponder=True),
]


class Fault(Exception):
    """The engine did what it may not do; the message says what."""


class Faults(logging.Handler):
    """Collects what went wrong, with where; also whatever the UCI client logs as a warning."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.where = "start"
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.add(record.getMessage())

    def add(self, what: str) -> None:
        self.found.append(f"{self.where}: {what}")
        print(f"FAULT {self.found[-1]}", flush=True)


class Engine:
    """One engine process with the setting it plays under."""

    def __init__(self, protocol: chess.engine.UciProtocol, setting: Setting, timeout: float):
        self.protocol, self.setting, self.timeout = protocol, setting, timeout
        self.milliseconds: list[float] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def run(cls, command: list[str], setting: Setting, timeout: float):
        """Starts and configures the engine; afterwards ends it and looks at its exit status."""
        transport, protocol = await asyncio.wait_for(chess.engine.popen_uci(command), timeout)
        try:
            await asyncio.wait_for(protocol.configure(setting.options), timeout)
            yield cls(protocol, setting, timeout)
            await asyncio.wait_for(protocol.quit(), timeout)
            status = await asyncio.wait_for(protocol.returncode, timeout)
            if status != 0:
                raise Fault(f"exit status {status}")
        finally:
            transport.close()

    async def choose(self, board: chess.Board, game: object) -> chess.Move:
        """The engine's move, checked together with what it reported on the way."""
        started = time.perf_counter()
        ask = self.line if self.setting.lines == 1 else self.several_lines
        move = await asyncio.wait_for(ask(board, game), self.timeout)
        self.milliseconds.append(1000 * (time.perf_counter() - started))
        if move not in board.legal_moves:
            raise Fault(f"illegal move {move}")
        return move

    async def line(self, board: chess.Board, game: object) -> chess.Move:
        result = await self.protocol.play(
            board,
            self.setting.limit,
            game=game,
            info=chess.engine.INFO_ALL,
            ponder=self.setting.ponder,
        )
        if "score" not in result.info:
            raise Fault("no score")
        if result.info.get("pv", [None])[0] != result.move:
            raise Fault(f"played {result.move} but showed {result.info.get('pv')}")
        return result.move

    async def several_lines(self, board: chess.Board, game: object) -> chess.Move:
        lines = self.setting.lines
        infos = await self.protocol.analyse(board, self.setting.limit, multipv=lines, game=game)
        moves = [info["pv"][0] for info in infos if info.get("pv") and "score" in info]
        if len(set(moves)) != min(lines, board.legal_moves.count()):
            raise Fault(f"{lines} lines asked for, shown {moves}")
        return moves[0]


def opening(source: random.Random) -> chess.Board:
    """A position after 4 to 8 random plies, in half of the cases without its history."""
    board = chess.Board()
    for _ in range(source.randint(4, 8)):
        board.push(source.choice(list(board.legal_moves)))
        if board.is_game_over():
            return opening(source)
    return board if source.random() < 0.5 else chess.Board(board.fen())


def result(board: chess.Board) -> str | None:
    """The result of a game, None while it goes on."""
    if outcome := board.outcome():
        return outcome.result()
    drawn = board.is_repetition(3) or board.halfmove_clock >= 100 or board.ply() >= MAX_PLIES
    return "1/2-1/2" if drawn else None


async def play(
    white: Engine | None, black: Engine | None, game: object, source: random.Random, faults: Faults
) -> tuple[str, int]:
    """One game; a player is an `Engine`, or None for one that moves at random."""
    board, where = opening(source), faults.where
    while (ended := result(board)) is None:
        faults.where = f"{where} at {board.fen()}"
        player = white if board.turn else black
        if player is None:
            board.push(source.choice(list(board.legal_moves)))
        else:
            board.push(await player.choose(board, game))
    faults.where = where
    return ended, len(board.move_stack)


@dataclass
class Score:
    """Results seen from the engine that was started first."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    plies: int = 0

    def add(self, ended: str, plies: int, as_white: bool) -> None:
        self.plies += plies
        if ended == "1/2-1/2":
            self.draws += 1
        elif (ended == "1-0") == as_white:
            self.wins += 1
        else:
            self.losses += 1

    def __str__(self) -> str:
        games = self.wins + self.draws + self.losses
        return f"+{self.wins} ={self.draws} -{self.losses} ({games} games, {self.plies} plies)"


async def match(arguments, setting: Setting, games: int, faults: Faults) -> None:
    """So many games under one setting against itself, and as many against the random mover."""
    command = [arguments.binary, *(["--weights", arguments.weights] if arguments.weights else [])]
    faults.where = setting.name
    before = len(faults.found)
    itself, mover, milliseconds = Score(), Score(), []
    try:
        async with (
            Engine.run(command, setting, arguments.timeout) as first,
            Engine.run(command, setting, arguments.timeout) as second,
        ):
            milliseconds = first.milliseconds
            for number in range(games):
                source = random.Random(f"{arguments.seed} {setting.name} {number}")
                as_white = number % 2 == 0
                for other, score in ((second, itself), (None, mover)):
                    opponent = "itself" if other else "the random mover"
                    faults.where = f"{setting.name}, game {number} against {opponent}"
                    sides = (first, other) if as_white else (other, first)
                    score.add(*await play(*sides, object(), source, faults), as_white)
    except TimeoutError:
        faults.add(f"no answer within {arguments.timeout} s")
    except (Fault, OSError, chess.engine.EngineError) as error:
        faults.add(f"{type(error).__name__}: {error}")

    median = statistics.median(milliseconds or [0])
    worst = max(milliseconds, default=0)
    print(
        f"{setting.name:12} itself {itself}, random mover {mover}, "
        f"{median:.1f} ms a move, at most {worst:.1f}, {len(faults.found) - before} faults",
        flush=True,
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help="the fianchetto program")
    parser.add_argument("--weights", help="a weights file instead of the built-in one")
    parser.add_argument("--games", type=int, default=100, help="against each of the two opponents")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=10, help="seconds a move may take")
    arguments = parser.parse_args()

    faults = Faults()
    logger = logging.getLogger("chess.engine")
    logger.addHandler(faults)
    logger.propagate = False
    for number, setting in enumerate(SETTINGS):
        share = len(range(number, arguments.games, len(SETTINGS)))
        if share:
            await match(arguments, setting, share, faults)
    print(f"{len(faults.found)} faults")
    sys.exit(1 if faults.found else 0)


if __name__ == "__main__":
    asyncio.run(main())
