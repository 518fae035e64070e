"""The script for a borrowed GPU, rehearsed on the CPU with a toy network, from end to end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import HERE, ROOT, program

from fianchetto_train.checkpoint import read_network


@pytest.fixture
def clone(tmp_path) -> Path:
    """The repository as it is on the disk, in a place where its weights may be set aside."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    subprocess.run(["git", "clone", "-q", ROOT, tmp_path / "clone"], check=True)
    for name in ("tools/gpu", "tools/train/fianchetto_train"):
        subprocess.run(["cp", "-r", ROOT / name, (tmp_path / "clone" / name).parent], check=True)
    return tmp_path / "clone"


def script(clone: Path, *arguments, **environment) -> subprocess.CompletedProcess:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["tools/gpu/train.sh", *map(str, arguments)],
        cwd=clone, env=os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"} | environment, capture_output=True, text=True,
    )  # fmt: skip


def test_gather_run_collect(clone, tmp_path):
    weights = sorted((clone / "weights").iterdir())
    done = script(clone, "gather", HERE / "games.fgames", EXPANDER=str(program("fianchetto-prepare")))
    assert done.returncode == 0, done.stderr
    assert "MiB to send" in done.stderr and not list((clone / "weights").glob("*.safetensors"))

    options = ["--positions", "2000", "--batch", "100", "--validate-positions", "100", "--device", "cpu"]
    toy = {"SIZES": "channels=16,blocks=1,se", "EXPAND": "--rate 1 --memory 64"}
    done = script(clone, "run", 5, tmp_path / "out", *options, **toy)
    assert done.returncode == 0, done.stdout + done.stderr
    # The policy layer alone is 33 MB: three parts.
    names = {"network.pt.part0", "network.pt.part1", "network.pt.part2", "network.pt.sha256", "log.csv", "train.log"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert all(path.stat().st_size <= 15 << 20 for path in (tmp_path / "out").iterdir())

    done = script(clone, "collect", tmp_path / "out", tmp_path / "joined.pt")
    assert done.returncode == 0, done.stderr
    sizes, tensors = read_network(tmp_path / "joined.pt")
    assert sizes["channels"] == 16 and all(torch.isfinite(t).all() for t in tensors.values())
    assert sorted((clone / "weights").iterdir()) == weights

    part = tmp_path / "out" / "network.pt.part1"
    part.write_bytes(part.read_bytes()[:-1])
    done = script(clone, "collect", tmp_path / "out", tmp_path / "cut.pt")
    assert done.returncode == 1 and "expected" in done.stderr and not (tmp_path / "cut.pt").exists()


def test_usage():
    done = script(ROOT, "train")
    assert done.returncode == 2 and "gather GAMES" in done.stderr
