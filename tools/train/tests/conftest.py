"""What the tests share: the built programs, and shards made of the games in games.fgames."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(ROOT / "tests" / "golden"))


def program(name: str) -> Path:
    """A program of a release build; the test is skipped where it is not built."""
    path = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / name
    if not path.exists():
        pytest.skip(f"{path} is not there: cargo build --release --workspace makes it")
    return path


def expand(encoding: str, positions: int, out: Path, split: str = "train") -> Path:
    """Shards of positions of the committed games."""
    command = [program("fianchetto-prepare"), "expand", HERE / "games.fgames", "--encoding", encoding]
    command += ["--positions", str(positions), "--split", split, "--out", out]
    subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.fixture(scope="session")
def shards(tmp_path_factory) -> Path:
    """A folder with `train` (2,000 positions) and `held` (200), in canonical19."""
    folder = tmp_path_factory.mktemp("shards")
    expand("canonical19", 2000, folder / "train")
    expand("canonical19", 200, folder / "held", "held-out")
    return folder


@pytest.fixture(autouse=True)
def few_threads():
    """The networks are too small to share among many threads."""
    import fianchetto_train  # noqa: F401, before torch
    import torch

    torch.set_num_threads(2)
