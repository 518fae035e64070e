"""The verb `measure`: how good a network is, on held-out games and on puzzles."""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch

from . import held_out, puzzles
from .model import Model
from .output import number, percent, table, write_whole
from .checkpoint import RunError
from .shards import Folder

BATCH = 512


def add_arguments(verbs: argparse._SubParsersAction) -> None:
    """Declares the verb."""
    verb = verbs.add_parser("measure", help="measure a network on held-out games and on puzzles")
    add = verb.add_argument
    add("network", type=Path, help="network.pt of a run, or a .safetensors file of fianchetto-convert")
    add("--against", type=Path, metavar="OTHER", help="a second network, compared by McNemar's test")
    add("--held-out", type=Path, metavar="DIR", help="folder made by fianchetto-prepare expand --split held-out")
    add("--positions", type=int, help="the first so many of them [default: all]")
    add("--puzzles", type=Path, metavar="FILE", help="Lichess puzzles, .csv or .csv.zst")
    add("--per-cell", type=int, default=1000, help="at most so many of each length and rating band [default: %(default)s]")
    add("--json", type=Path, metavar="FILE", help="also write the figures here")
    add("--device", choices=["auto", "cpu", "cuda"], default="auto", help="[default: %(default)s]")
    add("--threads", type=int, help="processor threads [default: PyTorch's]")


def mcnemar(first: np.ndarray, second: np.ndarray) -> dict:
    """McNemar's exact test on two networks' successes with the same cases.

    If neither is better, the cases that only one of them gets right fall to either like a coin. `p` is the
    two-sided probability of a split at least as uneven as that found.
    """
    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    trials, fewer = only_first + only_second, min(only_first, only_second)
    log_factorial = [math.lgamma(k + 1) for k in (*range(fewer + 1), trials)]
    tail = (
        math.exp(log_factorial[-1] - log_factorial[k] - math.lgamma(trials - k + 1) - trials * math.log(2))
        for k in range(fewer + 1)
    )
    p = min(1.0, 2 * math.fsum(tail))
    return {"count": len(first), "only_first": only_first, "only_second": only_second, "p": p}


def held_out_table(figures: dict) -> str:
    """The figures on held-out positions."""
    # Of the pair, what it would do without being told what is legal; it has no value.
    is_pair = figures["all"]["legal"] is not None
    last = ["own piece %", "legal %"] if is_pair else ["value error"]

    def row(name: str, f: dict) -> list[str]:
        ends = [percent(f["own"]), percent(f["legal"])] if is_pair else [number(f["value"])]
        return [name, f"{f['count']:,}", percent(f["top1"]), percent(f["top3"]), number(f["policy"]), *ends]

    rows = [row("all", figures["all"])]
    for group, title in (("rating", "mover"), ("phase", "")):
        rows += [row(f"{title} {name}".strip(), f) for name, f in figures[group].items()]
    return table(["held-out positions", "count", "top-1 %", "top-3 %", "policy loss", *last], rows)


def puzzle_tables(figures: dict) -> str:
    """The figures on puzzles."""
    mates, under = figures["mate_in_one"], figures["under_promotion"]
    overall = [
        ["first move", f"{figures['count']:,}", percent(figures["first_move"])],
        ["whole line", f"{figures['count']:,}", percent(figures["whole_line"])],
        [f"random first move, of {figures['legal_moves']:.1f} legal", "", percent(figures["random_first_move"])],
        ["mate in one found", f"{mates['count']:,}", percent(mates["found"])],
        ["whole line with an under-promotion", f"{under['count']:,}", percent(under["whole_line"])],
    ]
    lengths = []
    for length, f in figures["length"].items():
        moves = [percent(share) for share in f["moves"]]
        padding = [""] * (len(puzzles.LENGTHS) - len(moves))
        lengths.append([str(length), f"{f['count']:,}", *moves, *padding, percent(f["whole_line"])])
    kinds = []
    for kind, bands in figures["kind"].items():
        kinds.append([kind, *(percent(f["first_move"]) for f in bands.values())])
        kinds.append(["  count", *(f"{f['count']:,}" for f in bands.values())])
    steps = [f"move {step} %" for step in puzzles.LENGTHS]
    return "\n\n".join([
        table(["puzzles", "count", "%"], overall),
        table(["solver moves", "count", *steps, "whole line %"], lengths),
        table(["first move found, %", *puzzles.RATINGS], kinds),
    ])  # fmt: skip


def mcnemar_table(tests: dict) -> str:
    """What two networks' tests say."""
    rows = [
        [name, f"{t['count']:,}", f"{t['only_first']:,}", f"{t['only_second']:,}", f"{t['p']:.2g}"]
        for name, t in tests.items()
    ]
    return table(["McNemar's test", "count", "only the first", "only the second", "p"], rows)


def device_of(name: str) -> torch.device:
    """The device of this name."""
    if name == "cuda" and not torch.cuda.is_available():
        raise RunError("--device cuda: PyTorch finds no GPU here; leave it out, or give --device cpu")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


class Room:
    """What networks are measured on."""

    def __init__(self, a: argparse.Namespace):
        self.device = device_of(a.device)
        self.folder = self.shard = None
        if a.held_out:
            self.folder = Folder(a.held_out)
            self.shard = self.folder.first(a.positions or self.folder.positions)
        self.puzzles = puzzles.read(a.puzzles, a.per_cell) if a.puzzles else []

    def measure(self, path: Path) -> tuple[dict, dict[str, np.ndarray]]:
        """A network's figures, and its successes case by case, to compare two."""
        model = Model.load(path, self.device)
        size = sum(p.numel() for p in model.network.parameters())
        figures: dict = {"network": str(path), "family": model.family, "parameters": size}
        print(f"{path}: {model.family}, {size:,} parameters\n", flush=True)
        successes = {}
        if self.shard is not None:
            layout = self.folder.layout
            if layout.encoding != model.encoding:
                raise RunError(f"{self.folder.path} is in {layout.encoding}, {path} wants {model.encoding}")
            answers = held_out.ask(model, layout, self.shard, self.device, BATCH)
            figures["held_out"] = held_out.summary(answers, self.shard.records)
            successes["held-out top-1"] = answers.rank < 1
            print(held_out_table(figures["held_out"]) + "\n", flush=True)
        if self.puzzles:
            outcomes = puzzles.solve(model, self.puzzles, self.device, BATCH)
            figures["puzzles"] = puzzles.summary(outcomes)
            successes["puzzles, first move"] = np.array([o.first for o in outcomes])
            successes["puzzles, whole line"] = np.array([o.whole for o in outcomes])
            print(puzzle_tables(figures["puzzles"]) + "\n", flush=True)
        return figures, successes


def run(a: argparse.Namespace) -> int:
    """The verb `measure`."""
    if not a.held_out and not a.puzzles:
        raise RunError("nothing to measure on: give --held-out, --puzzles or both")
    for name in ("positions", "per_cell", "threads"):
        if (value := getattr(a, name)) is not None and value < 1:
            raise RunError(f"--{name.replace('_', '-')} is {value}, expected at least 1")
    if a.threads:
        torch.set_num_threads(a.threads)
    room = Room(a)
    figures, first = room.measure(a.network)
    if a.against:
        figures["against"], second = room.measure(a.against)
        figures["mcnemar"] = {name: mcnemar(first[name], second[name]) for name in first}
        print(mcnemar_table(figures["mcnemar"]))
    if a.json:
        write_whole(a.json, (json.dumps(figures, indent=1) + "\n").encode())
        print(f"figures: {a.json}", file=sys.stderr)
    return 0
