"""Fianchetto beside other programs on the same network: milliseconds, ratios, differences.

    python compare.py --binary target/release/fianchetto --random 128x8r2gs32
    python compare.py --binary target/release/fianchetto --weights FILE --json results.json

The programs take turns on the same cores, so that a busy machine slows all alike; a ratio above 1
means that Fianchetto is faster. "cut" is the graph without its last policy layer, of which
Fianchetto computes the legal moves only.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import chess
import numpy as np

from export_onnx import read  # this import also makes tests/golden importable
from peers import PEERS

import absolute14
import canonical19
import random_weights
from predict import predict

ENCODINGS = {"absolute14": absolute14, "canonical19": canonical19}
POSITIONS = Path(canonical19.__file__).with_name("positions.txt")
OURS = "fianchetto"


@dataclass
class Timing:
    """How long a batch took in one round, in milliseconds."""

    median: float
    minimum: float


def measure_ours(arguments, weights: str, threads: int, batch: int) -> tuple[Timing, str]:
    """A round of `fianchetto speed`, and the backend that it ran on."""
    sizes = ["--threads", str(threads), "--batch", str(batch), "--seconds", str(arguments.seconds)]
    command = [arguments.binary, "speed", "--json", "--weights", weights, *sizes]
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    (result,) = report["results"]
    if (report["threads"], result["batch"]) != (threads, batch):
        raise SystemExit(f"asked for {threads} threads and batch {batch}, got {report}")
    return Timing(result["median_ms"], result["min_ms"]), report["backend"]


def measure_theirs(peer, planes: np.ndarray, seconds: float) -> Timing:
    """A round of a peer."""
    for _ in range(2):  # the first runs allocate
        peer(planes)
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        started = time.perf_counter()
        peer(planes)
        times.append(1000 * (time.perf_counter() - started))
    return Timing(statistics.median(times), min(times))


def differences(ours: list[dict], boards: list[chess.Board], peer, encoding: str) -> tuple[float, float]:
    """Largest difference in the probability of a legal move, and in value."""
    logits, values = peer(np.stack([ENCODINGS[encoding].planes(board) for board in boards]))
    worst_p = worst_value = 0.0
    for board, answer, row, value in zip(boards, ours, logits.astype(np.float64), values):
        moves, indices = zip(*ENCODINGS[encoding].legal_indices(board))
        weight = np.exp(row[list(indices)] - row[list(indices)].max())
        for move, p in zip(moves, weight / weight.sum()):
            worst_p = max(worst_p, abs(answer["moves"][move] - p))
        for_white = encoding == "absolute14" and board.turn == chess.BLACK
        worst_value = max(worst_value, abs(answer["value"] - (-value[0] if for_white else value[0])))
    return float(worst_p), float(worst_value)


def measure(arguments, weights: str, tensors, spec, boards) -> tuple[list[dict], str]:
    """All rounds of every number of threads and batch size, and our backend's name."""
    planes = np.stack([ENCODINGS[spec.encoding].planes(board) for board in boards])
    cores, results, backend = sorted(os.sched_getaffinity(0)), [], ""
    for threads in arguments.threads:
        if threads > len(cores):
            raise SystemExit(f"{threads} threads asked for, but there are {len(cores)} cores")
        os.sched_setaffinity(0, cores[:threads])  # the threads and programs started below inherit it
        peers = {name: PEERS[name](tensors, spec, threads) for name in arguments.peers}
        programs = [OURS, *peers]
        for batch in arguments.batch:
            inputs = np.resize(planes, (batch, *planes.shape[1:]))
            rounds = {program: [] for program in programs}
            for number in range(arguments.rounds):
                for program in programs if number % 2 == 0 else reversed(programs):
                    if program == OURS:
                        timing, backend = measure_ours(arguments, weights, threads, batch)
                    else:
                        timing = measure_theirs(peers[program], inputs, arguments.seconds)
                    rounds[program].append(timing)
            results.append({"threads": threads, "batch": batch, "rounds": rounds})
    os.sched_setaffinity(0, cores)
    return results, backend


def table(results: list[dict]) -> str:
    """Medians (of the rounds' medians), minima, and the ratios theirs/ours of both."""
    lines = ["threads  batch  program             median ms   ratio     min ms   ratio"]
    for row in results:
        median = {name: statistics.median(t.median for t in rounds) for name, rounds in row["rounds"].items()}
        least = {name: min(t.minimum for t in rounds) for name, rounds in row["rounds"].items()}
        for name in row["rounds"]:
            title = OURS if name == OURS else PEERS[name].name
            line = f"{row['threads']:7} {row['batch']:6}  {title:18}"
            for figure in (median, least):
                line += f" {figure[name]:10.2f} {figure[name] / figure[OURS]:7.2f}"
            lines.append(line)
    return "\n".join(lines)


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown processor"


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def peer_names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in PEERS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(PEERS)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help="the fianchetto program")
    network = parser.add_mutually_exclusive_group(required=True)
    network.add_argument("--weights", help="a safetensors file")
    network.add_argument("--random", metavar="SIZE", help="random weights, such as 128x8r2gs32")
    parser.add_argument("--ours", metavar="FILE", help="weights for us alone: the same network in int8")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="default 1,2")
    parser.add_argument("--batch", type=numbers, default=[1, 8, 64], help="default 1,8,64")
    parser.add_argument("--peers", type=peer_names, default=list(PEERS), help=f"default {','.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each program in a round")
    parser.add_argument("--json", metavar="FILE", help="write every round here")
    arguments = parser.parse_args()

    load_before = os.getloadavg()[0]
    boards = [chess.Board(fen) for fen in POSITIONS.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        weights = arguments.weights
        if arguments.random:
            weights = str(Path(folder) / "random.safetensors")
            random_weights.save(weights, random_weights.Spec.from_name(arguments.random), seed=1)
        tensors, spec = read(weights)
        weights = arguments.ours or weights
        ours = predict(arguments.binary, weights, [board.fen(en_passant="fen") for board in boards])
        different = {
            name: differences(ours, boards, PEERS[name](tensors, spec, threads=1), spec.encoding)
            for name in arguments.peers
            if name != "cut"  # it has no logits
        }
        results, backend = measure(arguments, weights, tensors, spec, boards)

    versions = {name: version(name) for name in ("onnxruntime", "openvino", "torch")}
    print(f"network {arguments.random or arguments.weights}, our backend {backend}")
    print(", ".join(f"{name} {number}" for name, number in versions.items()))
    print(f"{processor()}, {os.cpu_count()} cores, load {load_before:.1f} before, {os.getloadavg()[0]:.1f} after")
    print(f"{arguments.rounds} rounds of {arguments.seconds} s each\n")
    print(table(results))
    print()
    for name, (worst_p, worst_value) in different.items():
        print(f"largest difference from {PEERS[name].name}: probability {worst_p:.1e}, value {worst_value:.1e}")

    if arguments.json:
        for row in results:
            row["rounds"] = {k: [asdict(timing) for timing in v] for k, v in row["rounds"].items()}
        summary = {
            "network": arguments.random or arguments.weights,
            "backend": backend,
            "versions": versions,
            "processor": processor(),
            "load": [load_before, os.getloadavg()[0]],
            "differences": {k: dict(zip(("probability", "value"), v)) for k, v in different.items()},
            "milliseconds": results,
        }
        half_written = Path(f"{arguments.json}.part")
        half_written.write_text(json.dumps(summary, indent=1) + "\n")
        half_written.replace(arguments.json)


if __name__ == "__main__":
    main()
