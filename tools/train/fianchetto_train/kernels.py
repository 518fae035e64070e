"""The kernels' library, `tools/train/kernels`: found, loaded and called through its C interface.

It is looked for at the path in FIANCHETTO_TRAIN_KERNELS (empty: do without), else among the repository's release builds
(`cargo build --release -p fianchetto-train-kernels`).
"""

import ctypes
import os
import sys
from pathlib import Path

import torch

VARIABLE = "FIANCHETTO_TRAIN_KERNELS"

# The structs of the C interface, field by field; each is a pointer or a size, and `threads` follows.
PASSES = {
    "convolution_forward": "input scale shift weight output sums squares boards inputs outputs",
    "convolution_backward": (
        "input scale shift weight gradient gate output by_gradient by_output offset input_gradient skip_gradient skip_gate "
        "sums products weight_gradient boards inputs outputs"
    ),
    "join_forward": "x scale shift skip output boards channels",
    "join_backward": "gradient output x sums products boards channels",
    "legal_forward": "x weight bias index count output boards width inputs rows",
    "legal_backward": (
        "x weight index count gradient x_gradient weight_gradient bias_gradient boards width inputs rows"
    ),
}


def _path():
    stated = os.environ.get(VARIABLE)
    if stated is not None:
        return Path(stated) if stated else None
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    prefix = "" if sys.platform == "win32" else "lib"
    root = Path(__file__).resolve().parents[3]
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    path = target / "release" / f"{prefix}fianchetto_train_kernels{suffix}"
    return path if path.exists() else None


def _load():
    path = _path()
    if path is None:
        return None
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise RuntimeError(
            f"{VARIABLE}: {path} is no library ({error}); build it with "
            "`cargo build --release -p fianchetto-train-kernels`, or set the variable to nothing to do without"
        ) from error


_library = _load()


def available():
    """Whether the library was found."""
    return _library is not None


def serve(*tensors):
    """Whether the library can work on these tensors: float32 on the CPU, not empty, not under autocast."""
    fit = all(t.device.type == "cpu" and t.dtype == torch.float32 and t.numel() > 0 for t in tensors)
    return available() and fit and not torch.is_autocast_enabled("cpu")


def call(name, **fields):
    """Runs a pass: tensors by name, a missing one or None as a null pointer, whole numbers as sizes."""
    values = []
    for field in PASSES[name].split():
        value = fields.pop(field, None)
        values.append(value.data_ptr() if isinstance(value, torch.Tensor) else value or 0)
    if fields:
        raise TypeError(f"{name} has no {', '.join(fields)}; it has {PASSES[name]}")
    values.append(torch.get_num_threads())
    if getattr(_library, f"fianchetto_{name}")((ctypes.c_size_t * len(values))(*values)) != 0:
        raise RuntimeError(f"{name} refused {dict(zip(PASSES[name].split(), values))}: a pointer or size is missing")
