"""Networks of any size with weights made by a formula, so that no weights need to be stored.

The Rust tests generate the same weights: whoever changes the formula changes it in both places and
makes the golden files anew (`network.py`).

    python random_weights.py 128x8r2gs32 OUT.safetensors [--seed 1] [--dtype f16]
    python random_weights.py 256x10a OUT.safetensors        the size of Sigma-Go
    python random_weights.py pair128x1024 OUT.safetensors   the size of the from/to pair
"""

import argparse
import math
import re
from dataclasses import dataclass, replace

import numpy as np

PLANES = {"canonical19": 19, "absolute14": 14}
POLICY_SIZES = {"canonical19": 4096, "absolute14": 4544}
POLICIES = {"canonical19": "from-to-4096", "absolute14": "uci-4544"}


@dataclass(frozen=True)
class Spec:
    """The architecture of a network; `se_width` 0 means no squeeze-and-excitation, `conv_bias` that the
    convolutions before a BatchNorm have biases."""

    channels: int
    blocks: int
    recurrence: int = 1
    gate: bool = False
    se_width: int = 0
    policy_channels: int = 32
    value_channels: int = 16
    value_hidden: int = 128
    encoding: str = "canonical19"
    conv_bias: bool = False
    int8: bool = False
    source: str = "random weights, tests/golden/random_weights.py"
    licence: str = "none"

    @staticmethod
    def from_name(name: str) -> "Spec | PairSpec":
        """`128x8`, and then as wanted `r2` (recurrence), `g` (gate), `s32` (SE width), `a` (encoding, heads
        and biases as Sigma-Go has them). Or `pair128x1024`: filters and hidden."""
        if match := re.fullmatch(r"pair(\d+)x(\d+)", name):
            return PairSpec(*map(int, match.groups()))
        match = re.fullmatch(r"(\d+)x(\d+)(?:r(\d+))?(g?)(?:s(\d+))?(a?)", name)
        if not match:
            raise ValueError(f"{name!r} is not a network size; expected one like 128x8, 128x8r2gs32, 256x10a or pair128x1024")
        channels, blocks, recurrence, gate, se_width, absolute = match.groups()
        spec = Spec(int(channels), int(blocks), int(recurrence or 1), gate == "g", int(se_width or 0))
        return replace(spec, **ABSOLUTE) if absolute else spec

    @staticmethod
    def from_metadata(metadata: dict[str, str]) -> "Spec":
        """Reads the `__metadata__` of a weights file."""
        encoding = metadata.get("encoding")
        if encoding not in PLANES:
            raise ValueError(f"the metadata's encoding is {encoding!r}, expected one of {', '.join(PLANES)}")
        for key, value in {"format_version": "1", "policy": POLICIES[encoding]}.items():
            if metadata.get(key) != value:
                raise ValueError(f"the metadata's {key} is {metadata.get(key)!r}, expected {value!r}")
        sizes = ("channels", "blocks", "recurrence", "se_width")
        heads = ("policy_channels", "value_channels", "value_hidden")
        return Spec(
            gate=metadata["gate"] == "true",
            encoding=encoding,
            conv_bias=metadata.get("conv_bias") == "true",
            int8=metadata.get("quantization") == "int8",
            source=metadata["source"],
            licence=metadata["licence"],
            **{key: int(metadata[key]) for key in sizes + heads},
        )

    def to_metadata(self) -> dict[str, str]:
        biases = {"conv_bias": "true"} if self.conv_bias else {}
        bytes_ = {"quantization": "int8"} if self.int8 else {}
        return biases | bytes_ | {
            "format_version": "1",
            "encoding": self.encoding,
            "policy": POLICIES[self.encoding],
            "channels": str(self.channels),
            "blocks": str(self.blocks),
            "recurrence": str(self.recurrence),
            "gate": "true" if self.gate else "false",
            "se_width": str(self.se_width),
            "policy_channels": str(self.policy_channels),
            "value_channels": str(self.value_channels),
            "value_hidden": str(self.value_hidden),
            "source": self.source,
            "licence": self.licence,
        }

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Every tensor of the weights file with its shape."""
        shapes: dict[str, tuple[int, ...]] = {}

        def convolution(name, norm, *shape):
            shapes[f"{name}.weight"] = shape
            if self.conv_bias:
                shapes[f"{name}.bias"] = shape[:1]
            for part in ("weight", "bias", "running_mean", "running_var"):
                shapes[f"{norm}.{part}"] = shape[:1]

        def linear(name, outputs, inputs):
            shapes[f"{name}.weight"] = (outputs, inputs)
            shapes[f"{name}.bias"] = (outputs,)

        def int8(name, *shape):  # a convolution or a linear layer
            shapes[f"{name}.weight"] = shape
            shapes[f"{name}.scale"] = shapes[f"{name}.bias"] = shape[:1]
            if len(shape) == 4:
                shapes[f"{name}.input_scale"] = shape[1:2]

        c = self.channels
        convolution("stem.0", "stem.1", c, PLANES[self.encoding], 3, 3)
        for i in range(self.blocks):
            for n in (1, 2):
                if self.int8:
                    int8(f"tower.{i}.conv{n}", c, c, 3, 3)
                else:
                    convolution(f"tower.{i}.conv{n}", f"tower.{i}.bn{n}", c, c, 3, 3)
            if self.se_width:
                linear(f"tower.{i}.se.fc1", self.se_width, c)
                linear(f"tower.{i}.se.fc2", 2 * c, self.se_width)
        if self.gate:
            shapes["gate.weight"] = (c, 2 * c, 1, 1)
            shapes["gate.bias"] = (c,)
        convolution("policy_conv", "policy_bn", self.policy_channels, c, 1, 1)
        (int8 if self.int8 else linear)("policy_fc", POLICY_SIZES[self.encoding], 64 * self.policy_channels)
        convolution("value_conv", "value_bn", self.value_channels, c, 1, 1)
        linear("value_fc1", self.value_hidden, 64 * self.value_channels)
        linear("value_fc2", 1, self.value_hidden)
        return shapes


@dataclass(frozen=True)
class PairSpec:
    """The architecture of a pair of networks that score squares."""

    filters: int
    hidden: int
    encoding: str = "canonical12"
    source: str = Spec.source
    licence: str = Spec.licence

    def to_metadata(self) -> dict[str, str]:
        return {
            "format_version": "1",
            "encoding": self.encoding,
            "policy": "from-to-4096",
            "architecture": "square-pair",
            "filters": str(self.filters),
            "hidden": str(self.hidden),
            "source": self.source,
            "licence": self.licence,
        }

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Every tensor of the weights file with its shape."""
        filters, hidden = self.filters, self.hidden
        shapes = {
            "conv1": (filters, 12, 2, 2),
            "conv2": (filters, filters, 2, 2),
            "fc1": (hidden, 36 * filters),
            "fc2": (hidden, hidden),
            "fc3": (64, hidden),
        }
        return {
            f"{network}.{layer}.{part}": shape if part == "weight" else shape[:1]
            for network in ("origin", "target")
            for layer, shape in shapes.items()
            for part in ("weight", "bias")
        }


# What a Sigma-Go network of any size has.
ABSOLUTE = dict(encoding="absolute14", conv_bias=True, policy_channels=2, value_channels=1, value_hidden=256)


def weights(spec: Spec | PairSpec, seed: int) -> dict[str, np.ndarray]:
    """All tensors of a network, float32."""
    shapes = spec.tensors()
    return {name: tensor(name, shape, seed, is_int8(name, shapes)) for name, shape in shapes.items()}


def is_int8(name: str, shapes: dict[str, tuple[int, ...]]) -> bool:
    """Whether a tensor is of whole numbers: the weights that have a scale."""
    return name.endswith(".weight") and f"{name.removesuffix('.weight')}.scale" in shapes


def tensor(name: str, shape: tuple[int, ...], seed: int, int8: bool = False) -> np.ndarray:
    """One tensor: SplitMix64 seeded by the FNV-1a hash of the name, scaled to a range by role."""
    start = 0xCBF29CE484222325
    for byte in name.encode():
        start = ((start ^ byte) * 0x100000001B3) % 2**64
    start ^= seed

    # Unsigned arrays wrap around, as the generator needs.
    i = np.arange(1, math.prod(shape) + 1, dtype=np.uint64)
    z = np.uint64(start) + i * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)

    unit = (z >> np.uint64(40)).astype(np.float64) / 2**24
    if int8:
        return np.floor(-127 + 255 * unit).astype(np.int8).reshape(shape)
    low, high = value_range(name, shape)
    return (low + (high - low) * unit).astype(np.float32).reshape(shape)


def value_range(name: str, shape: tuple[int, ...]) -> tuple[float, float]:
    """Where the values of a tensor lie: `[low, high)`."""
    if name.endswith("running_var"):
        return 0.5, 2.0
    if name.endswith("running_mean"):
        return -0.5, 0.5
    if name.endswith(".input_scale"):
        return 0.01, 0.03
    if name == "policy_fc.scale":
        return 0.0005, 0.002
    if name.endswith(".scale"):  # as the weights of a plain network, for bytes that are inputs divided by 0.02
        middle = 0.02 / 127 * math.sqrt(1 / (3 * shape[0]))
        return 0.5 * middle, 1.5 * middle
    if len(shape) > 1:
        bound = math.sqrt(3 / math.prod(shape[1:]))  # variance 1 / fan-in
        return -bound, bound
    if name.endswith(".weight"):  # of a BatchNorm
        return 0.5, 1.5
    if name == "gate.bias":
        return -2.3, -1.7
    return -0.3, 0.3


def save(path, spec: Spec | PairSpec, seed: int, dtype: str = "f32") -> None:
    """Writes a weights file as the engine reads it."""
    from safetensors.numpy import save_file

    kind = {"f32": np.float32, "f16": np.float16}[dtype]
    tensors = weights(spec, seed)
    tensors = {name: value if value.dtype == np.int8 else value.astype(kind) for name, value in tensors.items()}
    spec = replace(spec, source=f"{spec.source}, seed {seed}")
    save_file(tensors, path, metadata=spec.to_metadata())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", type=Spec.from_name, help="such as 128x8 or 128x8r2gs32")
    parser.add_argument("output", help="the safetensors file to write")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dtype", choices=("f32", "f16"), default="f32")
    arguments = parser.parse_args()
    save(arguments.output, arguments.size, arguments.seed, arguments.dtype)


if __name__ == "__main__":
    main()
