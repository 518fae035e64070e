"""What the trainer's `measure` says of a tiny network: the figures that the arena must find, too.

    python measure.py PREPARE       # PREPARE: the program fianchetto-prepare; writes ../data/measure.tsv

It needs PyTorch, NumPy and python-chess (tools/train/requirements.txt). The network is that of
tests/golden/random_weights.py, which the Rust test makes anew.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[4]
DATA = Path(__file__).resolve().parent.parent / "data"
sys.path[:0] = [str(ROOT / "tools" / "train"), str(ROOT / "tests" / "golden")]

import random_weights  # noqa: E402
from fianchetto_train import held_out, puzzles  # noqa: E402
from fianchetto_train.model import Model  # noqa: E402
from fianchetto_train.shards import Folder  # noqa: E402

TINY = random_weights.Spec(channels=4, blocks=2, recurrence=2, gate=True, se_width=32)
PER_CELL = 3


def lines(prefix, value):
    """One line for each number, with the way to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from lines([*prefix, str(key)], inner)
    elif isinstance(value, list):
        for key, inner in enumerate(value):
            yield from lines([*prefix, str(key)], inner)
    elif value is not None:
        yield "/".join(prefix) + f"\t{value}"


def main(prepare):
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "network.safetensors"
        random_weights.save(weights, TINY, 1)
        device = torch.device("cpu")
        model = Model.load(weights, device)
        outcomes = puzzles.solve(model, puzzles.read(DATA / "puzzles.csv", PER_CELL), device, 64)
        text = [*lines(["puzzles"], puzzles.summary(outcomes))]

        games = DATA / "held-out.fgames"
        shards = Path(folder) / "shards"
        command = [prepare, "expand", games, "--encoding", "canonical19", "--split", "held-out", "--out", shards]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        folder = Folder(shards)
        shard = folder.first(folder.positions)
        answers = held_out.ask(model, folder.layout, shard, device, 64)
        text += lines(["agreement"], held_out.summary(answers, shard.records))
    head = "# A figure's name and value, by fianchetto_train; made by tests/golden/measure.py"
    (DATA / "measure.tsv").write_text("\n".join([head, *text]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
