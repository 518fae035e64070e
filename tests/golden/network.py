"""The network that Fianchetto reproduces, in plain PyTorch, and golden outputs of random ones.

This file documents what is matched: every layer is PyTorch's own, BatchNorm included, in float64, but for convolutions
of bytes, which are whole numbers of numpy.
For each configuration below it writes `network/<name>.tsv`: header lines `# key<TAB>value` with
the metadata of the network and the seed of its weights (`random_weights.py`), then one line for
each position of `positions.txt`:

    FEN <TAB> value <TAB> index:logit index:logit ...   (every legal policy index)

A pair of square networks has no value (0 here), the sum of two logits for a move, and those logits
themselves at the indices 4096 + square moved from and 4160 + square moved to (some of them here).

    python network.py            writes the files
    python network.py --check    recomputes and compares; exit status 1 on a difference
    python network.py --only 16x1
"""

import argparse
import sys
from pathlib import Path

try:
    import chess
    import numpy as np
    import torch
    from torch import nn
except ImportError as missing:
    print(f"SKIPPED: {missing}; needs torch, numpy and chess (pip)", flush=True)
    sys.exit(3)

import absolute14
import canonical12
import canonical19
from random_weights import ABSOLUTE, PLANES, POLICY_SIZES, PairSpec, Spec, weights

HERE = Path(__file__).parent
ENCODINGS = {"absolute14": absolute14, "canonical12": canonical12, "canonical19": canonical19}
TOLERANCE = 1e-11  # relative; absolute for numbers below 1

SMALL_HEADS = dict(policy_channels=8, value_channels=4, value_hidden=24)
ODD_HEADS = dict(policy_channels=5, value_channels=3, value_hidden=33)
# Each with the seed of its weights, chosen among the first dozen for a wide range of values.
CONFIGURATIONS = {
    "16x1": (Spec(16, 1, **SMALL_HEADS), 7),
    "16x3-se": (Spec(16, 3, se_width=6, **ODD_HEADS), 2),
    "16x3-r3-gate": (Spec(16, 3, recurrence=3, gate=True, **ODD_HEADS), 6),
    "16x2-r2-gate-se-int8": (Spec(16, 2, recurrence=2, gate=True, se_width=6, int8=True, **ODD_HEADS), 1),
    "64x3-r2": (Spec(64, 3, recurrence=2, **SMALL_HEADS), 10),
    "64x3-r2-se": (Spec(64, 3, recurrence=2, se_width=16, **SMALL_HEADS), 10),
    "64x8-gate-se": (Spec(64, 8, gate=True, se_width=16, **SMALL_HEADS), 2),
    "128x8": (Spec(128, 8), 2),
    "128x8-r2-gate-se": (Spec(128, 8, recurrence=2, gate=True, se_width=32), 6),
    "24x3-absolute": (Spec(24, 3, **ABSOLUTE), 3),
    "20-70-pair": (PairSpec(filters=20, hidden=70), 3),
}


class SqueezeExcitation(nn.Module):
    """Scales and shifts every channel by what the whole board holds."""

    def __init__(self, channels: int, width: int):
        super().__init__()
        self.fc1 = nn.Linear(channels, width)
        self.fc2 = nn.Linear(width, 2 * channels)

    def forward(self, x):  # [batch, channels, 8, 8]
        mean = x.mean(dim=(2, 3))
        scale, shift = self.fc2(torch.relu(self.fc1(mean)))[:, :, None, None].chunk(2, dim=1)
        return x * torch.sigmoid(scale) + shift


class ByteConvolution(nn.Module):
    """A 3x3 convolution in whole numbers, which are numpy's."""

    def __init__(self, channels: int):
        super().__init__()
        self.register_buffer("weight", torch.zeros(channels, channels, 3, 3, dtype=torch.int8))
        for name in ("scale", "bias", "input_scale"):
            self.register_buffer(name, torch.zeros(channels))

    def forward(self, x):  # [batch, channels, 8, 8]
        factor = (np.float32(1) / self.input_scale.numpy().astype(np.float32)).astype(np.float64)
        whole = np.clip(np.rint(x.numpy() * factor[:, None, None]), 0, 127).astype(np.int64)
        bordered = np.pad(whole, ((0, 0), (0, 0), (1, 1), (1, 1)))
        weight = self.weight.numpy().astype(np.int64)
        taps = [(rank, file) for rank in range(3) for file in range(3)]
        sums = sum(
            np.einsum("oi,nirf->norf", weight[:, :, rank, file], bordered[:, :, rank : rank + 8, file : file + 8])
            for rank, file in taps
        )
        return torch.from_numpy(sums) * self.scale[:, None, None] + self.bias[:, None, None]


class ByteLinear(nn.Module):
    """A fully connected layer whose rows are bytes."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.register_buffer("weight", torch.zeros(outputs, inputs, dtype=torch.int8))
        for name in ("scale", "bias"):
            self.register_buffer(name, torch.zeros(outputs))

    def forward(self, x):  # [batch, inputs]
        return nn.functional.linear(x, self.weight.double()) * self.scale + self.bias


class Block(nn.Module):
    """A residual block. One of bytes has its BatchNorm in the convolutions."""

    def __init__(self, channels: int, se_width: int, bias: bool, int8: bool):
        super().__init__()
        for n in (1, 2):
            plain = nn.Conv2d(channels, channels, 3, padding=1, bias=bias)
            self.add_module(f"conv{n}", ByteConvolution(channels) if int8 else plain)
            self.add_module(f"bn{n}", nn.Identity() if int8 else nn.BatchNorm2d(channels))
        self.se = SqueezeExcitation(channels, se_width) if se_width else nn.Identity()

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.se(self.bn2(self.conv2(y)))
        return torch.relu(x + y)


class Network(nn.Module):
    """Policy and value network; its parameters bear the names of the weights file."""

    def __init__(self, spec: Spec):
        super().__init__()
        c, bias = spec.channels, spec.conv_bias
        self.recurrence = spec.recurrence
        stem = nn.Conv2d(PLANES[spec.encoding], c, 3, padding=1, bias=bias)
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(c), nn.ReLU())
        self.tower = nn.Sequential(*(Block(c, spec.se_width, bias, spec.int8) for _ in range(spec.blocks)))
        self.gate = nn.Conv2d(2 * c, c, 1) if spec.gate else None
        self.policy_conv = nn.Conv2d(c, spec.policy_channels, 1, bias=bias)
        self.policy_bn = nn.BatchNorm2d(spec.policy_channels)
        policy = ByteLinear if spec.int8 else nn.Linear
        self.policy_fc = policy(64 * spec.policy_channels, POLICY_SIZES[spec.encoding])
        self.value_conv = nn.Conv2d(c, spec.value_channels, 1, bias=bias)
        self.value_bn = nn.BatchNorm2d(spec.value_channels)
        self.value_fc1 = nn.Linear(64 * spec.value_channels, spec.value_hidden)
        self.value_fc2 = nn.Linear(spec.value_hidden, 1)

    def forward(self, planes):  # [batch, planes, 8, 8] -> logits [batch, moves], value [batch]
        state = self.stem(planes)
        for _ in range(self.recurrence):
            candidate = self.tower(state)
            if self.gate is None:
                state = candidate
            else:
                z = torch.sigmoid(self.gate(torch.cat((candidate, state), dim=1)))
                state = z * candidate + (1 - z) * state

        policy = torch.relu(self.policy_bn(self.policy_conv(state)))
        logits = self.policy_fc(policy.flatten(1))

        value = torch.relu(self.value_bn(self.value_conv(state)))
        value = torch.relu(self.value_fc1(value.flatten(1)))
        return logits, torch.tanh(self.value_fc2(value)).squeeze(1)


class Squares(nn.Module):
    """Scores the 64 squares."""

    def __init__(self, spec: PairSpec):
        super().__init__()
        self.conv1 = nn.Conv2d(12, spec.filters, 2)
        self.conv2 = nn.Conv2d(spec.filters, spec.filters, 2)
        self.fc1 = nn.Linear(36 * spec.filters, spec.hidden)
        self.fc2 = nn.Linear(spec.hidden, spec.hidden)
        self.fc3 = nn.Linear(spec.hidden, 64)

    def forward(self, planes):  # [batch, 12, 8, 8] -> [batch, 64]
        x = torch.relu(self.conv2(torch.relu(self.conv1(planes))))
        x = torch.relu(self.fc2(torch.relu(self.fc1(x.flatten(1)))))
        return self.fc3(x)


class Pair(nn.Module):
    """Scores the squares moved from and those moved to, and so moves."""

    def __init__(self, spec: PairSpec):
        super().__init__()
        self.origin, self.target = Squares(spec), Squares(spec)

    def forward(self, planes):  # [batch, 12, 8, 8] -> logits [batch, 4096 + 64 + 64], value [batch]
        origin, target = self.origin(planes), self.target(planes)
        moves = (origin[:, :, None] + target[:, None, :]).flatten(1)
        return torch.cat((moves, origin, target), dim=1), torch.zeros(len(planes))


def load(spec: Spec | PairSpec, tensors: dict) -> nn.Module:
    """A network for inference in float64; `tensors` are the weights by name."""
    network = (Pair if isinstance(spec, PairSpec) else Network)(spec).double().eval()
    # BatchNorm's counter of training steps is the one entry that a weights file does not hold.
    state = {name: torch.as_tensor(value) for name, value in tensors.items()}
    counters = {name for name in network.state_dict() if name.endswith("num_batches_tracked")}
    missing, unexpected = network.load_state_dict(state, strict=False)
    if set(missing) - counters or unexpected:
        raise ValueError(f"missing {set(missing) - counters}, unexpected {unexpected}")
    return network


def positions() -> list[chess.Board]:
    """The golden positions."""
    return [chess.Board(fen) for fen in (HERE / "positions.txt").read_text().splitlines()]


def legal(encoding, board: chess.Board) -> list[int]:
    """The distinct policy indices of the legal moves, in the order of the encoding's module."""
    return list(dict.fromkeys(index for _, index in encoding.legal_indices(board)))


@torch.no_grad()
def outputs(spec: Spec | PairSpec, seed: int, boards: list[chess.Board]):
    """Logits `[positions, moves]` and values `[positions]` of a random network, float64."""
    network = load(spec, weights(spec, seed))
    planes = np.stack([ENCODINGS[spec.encoding].planes(board) for board in boards])
    logits, values = network(torch.from_numpy(planes).double())
    return logits.numpy(), values.numpy()


def write(path: Path, spec: Spec | PairSpec, seed: int, fens: list[str], indices, logits, values) -> None:
    lines = [f"# {key}\t{value}" for key, value in spec.to_metadata().items()]
    lines.append(f"# seed\t{seed}")
    for fen, legal_indices, row, value in zip(fens, indices, logits, values):
        moves = " ".join(f"{index}:{row[index]:.12g}" for index in legal_indices)
        lines.append(f"{fen}\t{float(value)!r}\t{moves}")
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def differences(
    path: Path, spec: Spec | PairSpec, seed: int, fens: list[str], indices, logits, values
) -> list[str]:
    """What in the committed file is not as computed now."""
    if not path.exists():
        return ["no such file"]
    lines = path.read_text().splitlines()
    found = dict(line[2:].split("\t") for line in lines if line.startswith("# "))
    expected = spec.to_metadata() | {"seed": str(seed)}
    if found != expected:
        return [f"the header holds {found}, expected {expected}"]
    rows = [line.split("\t") for line in lines if not line.startswith("# ")]
    if [row[0] for row in rows] != fens:
        return ["the positions are not those of positions.txt"]

    def far(a, b):
        return not abs(a - b) <= TOLERANCE * max(1.0, abs(b))

    wrong = []
    for (fen, value, moves), legal_indices, row, expected_value in zip(rows, indices, logits, values):
        if far(float(value), expected_value):
            wrong.append(f"{fen}: value {value}, expected {float(expected_value)!r}")
        pairs = [pair.split(":") for pair in moves.split()]
        if [int(index) for index, _ in pairs] != legal_indices:
            wrong.append(f"{fen}: not the legal indices {legal_indices}")
            continue
        for index, logit in pairs:
            if far(float(logit), row[int(index)]):
                wrong.append(f"{fen}: logit {index} is {logit}, expected {float(row[int(index)])!r}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    parser.add_argument("--only", choices=CONFIGURATIONS, help="one configuration")
    arguments = parser.parse_args()

    boards = positions()
    fens = [board.fen(en_passant="fen") for board in boards]
    wrong = 0
    for name, (spec, seed) in CONFIGURATIONS.items():
        if arguments.only not in (None, name):
            continue
        squares = [*range(4096, 4096 + 128, 9)] if isinstance(spec, PairSpec) else []
        indices = [legal(ENCODINGS[spec.encoding], board) + squares for board in boards]
        logits, values = outputs(spec, seed, boards)
        path = HERE / "network" / f"{name}.tsv"
        if arguments.check:
            found = differences(path, spec, seed, fens, indices, logits, values)
            verdict = f"{len(found)} differences" if found else "as committed"
            for line in found:
                print(f"{path}: {line}")
            wrong += len(found)
        else:
            write(path, spec, seed, fens, indices, logits, values)
            verdict = "written"
        spread = np.concatenate([row[i] for row, i in zip(logits, indices)]).std()
        extent = f"logits std {spread:.3f}, values {values.min():+.3f} to {values.max():+.3f}"
        print(f"{name:18} {extent}: {verdict}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
