"""Files that hold a network: PyTorch checkpoints, and the weights files that Fianchetto plays with."""

import os
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .networks import residual

# Sizes that a weights file states and the networks here have fixed (src/network/spec.rs).
FIXED = {
    "format_version": "1",
    "encoding": "canonical19",
    "policy": "from-to-4096",
    "policy_channels": str(residual.POLICY_CHANNELS),
    "value_channels": str(residual.VALUE_CHANNELS),
    "value_hidden": str(residual.VALUE_HIDDEN),
}


class RunError(Exception):
    """A run that cannot go on, in words for the user."""


def atomic_save(value: dict, path: Path) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        torch.save(value, temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, RuntimeError) as error:  # torch.save raises the latter on a full disk
        temporary.unlink(missing_ok=True)
        raise RunError(f"{path} cannot be written: {first_line(error)}; is there room? An older one is unharmed") from None


def first_line(error: Exception) -> str:
    """The beginning of what PyTorch has to say."""
    return str(error).strip().splitlines()[0][:120]


def load_state(path: Path) -> dict:
    """What a checkpoint or a run's state holds."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise RunError(f"{path} is not there") from None
    except Exception as error:  # torch.load raises whatever its parsers do
        raise RunError(f"{path} cannot be read as a PyTorch checkpoint: {first_line(error)}; it is damaged") from None


def read_network(path: Path) -> tuple[dict, dict[str, Tensor]]:
    """Sizes and tensors of a checkpoint or a weights file."""
    return read_safetensors(path) if path.suffix == ".safetensors" else read_checkpoint(path)


def read_checkpoint(path: Path) -> tuple[dict, dict[str, Tensor]]:
    """Sizes and tensors of a PyTorch checkpoint."""
    state = load_state(path)
    if isinstance(state, dict) and "training_network" in state:
        raise RunError(f"{path} is the state of a run, to resume it: give the network.pt beside it")
    if not isinstance(state, dict) or not {"network_config", "network"} <= state.keys():
        raise RunError(f"{path} holds no network_config and network: expected a checkpoint such as network.pt of a run")
    return state["network_config"], state["network"]


def read_safetensors(path: Path) -> tuple[dict, dict[str, Tensor]]:
    """Sizes and tensors of a weights file."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except FileNotFoundError:
        raise RunError(f"{path} is not there") from None
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path} cannot be read as safetensors: {error}") from None
    fixed = FIXED if metadata.get("se_width") == "0" else FIXED | {"se_width": str(residual.SE_WIDTH)}
    for key, expected in fixed.items():
        if metadata.get(key) != expected:
            raise RunError(f"{path}: its {key} is {metadata.get(key, 'not stated')}, only {expected} can be measured")
    try:
        sizes = {key: int(metadata[key]) for key in ("channels", "blocks", "recurrence")}
        switches = {"gated": metadata["gate"] == "true", "se": metadata["se_width"] != "0"}
    except (KeyError, ValueError) as error:
        raise RunError(f"{path}: its metadata is incomplete ({error}); make it anew with fianchetto-convert") from None
    return sizes | switches, tensors
