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


def serves(*tensors):
    """Whether the library can work on these tensors: float32 on the CPU, and the library is there."""
    return available() and all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors)


def call(name, *arguments):
    """Calls `fianchetto_<name>`: tensors as their data, None as a null pointer, whole numbers as sizes; threads come last."""
    converted = []
    for argument in arguments:
        if argument is None:
            converted.append(ctypes.c_void_p(None))
        elif isinstance(argument, torch.Tensor):
            converted.append(ctypes.c_void_p(argument.data_ptr()))
        else:
            converted.append(ctypes.c_size_t(argument))
    code = getattr(_library, f"fianchetto_{name}")(*converted, ctypes.c_size_t(torch.get_num_threads()))
    if code != 0:
        raise RuntimeError(f"fianchetto_{name} refused {arguments}: a tensor or a size was empty")
