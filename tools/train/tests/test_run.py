"""Whole runs: they learn, stop, go on exactly, and share work between processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from fianchetto_train import __main__, log
from fianchetto_train.distributed import World
from fianchetto_train.log import read
from fianchetto_train.checkpoint import RunError, atomic_save, load_state
from fianchetto_train.run import Run, Settings, settings_of

SMALL = {"channels": 16, "blocks": 1, "se": True}
HERE = Path(__file__).resolve().parent


def settings(shards: Path, **changed) -> Settings:
    base = {"family": "residual", "sizes": SMALL, "shards": str(shards / "train"), "held_out": str(shards / "held")}
    base |= {"batch": 100, "positions": 1000, "validate_positions": 200, "log_positions": 100}
    return Settings(**base | changed)


def run(folder: Path, chosen: Settings, state: dict | None = None) -> Run:
    folder.mkdir(exist_ok=True)
    return Run(folder, chosen, World(0, 1, torch.device("cpu")), state)


def command(*arguments) -> list[str]:
    return [sys.executable, "-m", "fianchetto_train", "train", *map(str, arguments)]


def main(monkeypatch, *arguments) -> int:
    """The same within this process."""
    monkeypatch.setattr(sys, "argv", ["fianchetto_train", "train", *map(str, arguments)])
    return __main__.main()


ENVIRONMENT = os.environ | {"PYTHONPATH": str(HERE.parent), "OMP_NUM_THREADS": "1"}


def losses(folder: Path) -> list[tuple[str, ...]]:
    """The log without its times."""
    return [tuple(v for k, v in row.items() if k != "seconds") for row in read(folder / "log.csv")]


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_learns_two_thousand_positions_by_heart(shards, tmp_path):
    chosen = settings(
        shards, sizes={"channels": 32, "blocks": 2, "se": True}, optimiser="muon", lr=4e-3, batch=250, positions=20_000,
        held_out=str(shards / "train"), validate_positions=2000, move_kernels=True, log_positions=10_000,
    )  # fmt: skip
    learner = run(tmp_path / "run", chosen)
    before = learner.validate()["top1"]
    begun = time.monotonic()
    assert learner.train()
    took = time.monotonic() - begun
    after = learner.validate()["top1"]
    print(f"top-1 on the 2,000 positions: {before:.3f} before, {after:.3f} after {took:.0f} s")
    assert before < 0.2 and after >= 0.95
    assert (tmp_path / "run" / "progress.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_going_on_is_exact(optimiser, shards, tmp_path):
    chosen = settings(shards, optimiser=optimiser, positions=3000)
    whole = run(tmp_path / "whole", chosen)
    whole.train()
    part = run(tmp_path / "part", chosen)
    step, steps = part.step, []

    def interrupted(batch, lr):
        steps.append(lr)
        if len(steps) == 13:
            signal.raise_signal(signal.SIGINT)
        return step(batch, lr)

    part.step = interrupted
    assert part.train() is False
    assert part.seen == 1300
    state = load_state(tmp_path / "part" / "state.pt")
    rest = run(tmp_path / "part", settings_of(state), state)
    assert rest.train()
    assert same(whole.network.state_dict(), rest.network.state_dict())
    at_stop = [row for row in losses(tmp_path / "part") if row[:2] == ("held-out", "1300")]
    assert [row for row in losses(tmp_path / "part") if row not in at_stop] == losses(tmp_path / "whole")


def test_a_killed_run_goes_on_from_its_checkpoint(shards, tmp_path):
    out = tmp_path / "run"
    options = ["--out", out, "--sizes", "channels=16,blocks=1", "--shards", shards / "train", "--batch", "50"]
    options += ["--positions", "1000000", "--save-minutes", "0.02", "--log-positions", "500"]
    process = subprocess.Popen(command(*options), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not (out / "state.pt").exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    seen = load_state(out / "state.pt")["seen"]
    again = subprocess.run(command(*options), env=ENVIRONMENT, capture_output=True, text=True)
    assert again.returncode == 1 and "holds a run already" in again.stderr
    resume = ["--out", out, "--resume", "--positions", str(seen + 1000)]
    done = subprocess.run(command(*resume), env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert load_state(out / "state.pt")["seen"] == seen + 1000
    assert sorted(os.listdir(out)) == ["log.csv", "network.pt", "state.pt"]


def test_one_run_at_a_time_in_a_folder(shards, tmp_path):
    out = tmp_path / "run"
    options = ["--out", out, "--sizes", "channels=16,blocks=1", "--shards", shards / "train", "--positions", "100"]
    assert subprocess.run(command(*options), env=ENVIRONMENT).returncode == 0
    handle = __main__.keep_out_others(out)
    again = [*command("--out", out, "--resume", "--positions", "1000")]
    done = subprocess.run(again, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 1 and "another run is at work" in done.stderr and done.stderr.count("\n") == 1
    os.close(handle)
    assert subprocess.run(again, env=ENVIRONMENT).returncode == 0


def test_a_full_disk_is_told_and_harms_nothing(tmp_path):
    atomic_save({"a": torch.zeros(10)}, tmp_path / "state.pt")
    (tmp_path / "state.pt.tmp").symlink_to("/dev/full")
    with pytest.raises(RunError, match="state.pt cannot be written"):
        atomic_save({"a": torch.zeros(1000)}, tmp_path / "state.pt")
    assert len(load_state(tmp_path / "state.pt")["a"]) == 10
    assert os.listdir(tmp_path) == ["state.pt"]


def test_all_held_out_positions_count(shards, tmp_path):
    """1,500 do not divide by the size of the batches they are measured in."""
    chosen = settings(shards, held_out=str(shards / "train"), validate_positions=1500)
    learner = run(tmp_path / "run", chosen)
    assert sum(len(batch.result) for batch in learner.held_out) == 1500
    assert learner.validate()["top1"] * 1500 == pytest.approx(round(learner.validate()["top1"] * 1500), abs=1e-3)


def test_control_c_saves(shards, tmp_path):
    out = tmp_path / "run"
    options = ["--out", out, "--sizes", "channels=16,blocks=1", "--shards", shards / "train", "--minutes", "10"]
    process = subprocess.Popen(command(*options, "--log-positions", "500"), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while time.monotonic() < until and not ((out / "log.csv").exists() and len(read(out / "log.csv")) > 1):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "--resume" in errors
    assert load_state(out / "state.pt")["seen"] > 0


def test_two_processes_train_one_network(shards, tmp_path):
    """With BatchNorm in each process on its own half; without it the sum would be that of one process."""
    out = tmp_path / "run"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "fianchetto_train"]
    options = ["train", "--out", out, "--sizes", "channels=16,blocks=1", "--shards", shards / "train", "--device", "cpu"]
    options += ["--held-out", shards / "held", "--positions", "6000", "--batch", "200", "--lr", "4e-3", "--log-positions", "2000"]
    done = subprocess.run([*launch, *map(str, options)], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [row for row in read(out / "log.csv") if row["kind"] == "training"]
    assert [row["positions"] for row in rows] == ["2000", "4000", "6000"]
    assert float(rows[-1]["policy"]) < float(rows[0]["policy"]) - 0.1
    assert load_state(out / "state.pt")["seen"] == 6000
    # Its state goes on in one process.
    resume = ["--out", out, "--resume", "--positions", "6200"]
    assert subprocess.run(command(*resume), env=ENVIRONMENT).returncode == 0


@pytest.mark.parametrize("family,encoding,sizes", [("sigma-go", "absolute14", {"channels": 16, "blocks": 1}),
                                                   ("from-to", "canonical12", {"filters": 16, "hidden": 32})])  # fmt: skip
def test_other_families_learn(family, encoding, sizes, tmp_path):
    from conftest import expand

    expand(encoding, 2000, tmp_path / "train")
    chosen = settings(tmp_path, family=family, sizes=sizes, held_out=str(tmp_path / "train"), positions=6000, lr=4e-3)
    learner = run(tmp_path / "run", chosen)
    before = learner.validate()
    learner.train()
    after = learner.validate()
    assert after["top1"] > before["top1"] + 0.02, (before, after)


def test_beginning_with_a_checkpoint(shards, tmp_path):
    first = run(tmp_path / "first", settings(shards))
    first.train()
    chosen = settings(shards, init=str(tmp_path / "first" / "network.pt"), move_kernels=True)
    second = run(tmp_path / "second", chosen)
    a, b = first.validate(), second.validate()
    assert all(a[name] == pytest.approx(b[name], rel=1e-5) for name in a)
    chosen.sizes = {"channels": 24, "blocks": 1}
    with pytest.raises(RunError, match="give --sizes"):
        run(tmp_path / "third", chosen)


@pytest.mark.parametrize("options,message", [
    (["--minutes", "1"], "--shards or --games"),
    (["--shards", "nowhere", "--positions", "10"], "nowhere is no folder"),
    (["--shards", "nowhere"], "budget"),
    (["--resume"], "without --resume"),
    (["--shards", "nowhere", "--positions", "10", "--sizes", "channels,blocks=1"], "channels must be a whole number"),
    (["--shards", "nowhere", "--positions", "10", "--sizes", "channels=0"], "at least 1"),
    (["--shards", "nowhere", "--positions", "10", "--sizes", "se=3"], "se is a switch"),
])  # fmt: skip
def test_mistakes_are_one_line(options, message, tmp_path):
    done = subprocess.run(command("--out", tmp_path / "runs" / "run", *options), env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and message in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_failure_before_the_first_step_leaves_nothing(shards, tmp_path, monkeypatch, capsys):
    """The encoding is another one; a shard is damaged, which the first batch finds."""
    from conftest import expand

    shard = expand("canonical12", 100, tmp_path / "shards") / "shard-00000.npy"
    flipped = bytearray(shard.read_bytes())
    flipped[-1] ^= 1
    shard.write_bytes(flipped)
    options = ["--network", "from-to", "--sizes", "filters=16,hidden=32", "--positions", "100"]
    for data, message in [(shards / "train", "wants canonical12"), (tmp_path / "shards", "is damaged")]:
        assert main(monkeypatch, "--out", tmp_path / "made" / "run", "--shards", data, *options) == 1
        assert message in capsys.readouterr().err
    (tmp_path / "kept").mkdir()
    assert main(monkeypatch, "--out", tmp_path / "kept", "--shards", data, *options) == 1
    assert sorted(os.listdir(tmp_path)) == ["kept", "shards"] and os.listdir(tmp_path / "kept") == []


def test_a_used_up_budget_is_told(shards, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    run(out, settings(shards, positions=200)).train()
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    capsys.readouterr()
    for budget in ([], ["--minutes", "60"], ["--positions", "150"]):
        assert main(monkeypatch, "--out", out, "--resume", *budget) == 0
        told = capsys.readouterr().err
        assert told.startswith(f"nothing to train: {out} has used up its budget, 200 positions in ")
        assert told.endswith("give a larger --positions\n") and told.count("\n") == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_line_comes_early_and_then_every_minute(tmp_path, monkeypatch, capsys):
    second = 1000
    monkeypatch.setattr(log.time, "monotonic", lambda: second)
    written = log.Log(tmp_path, 0)
    told = []
    for second in range(1000, 1200):
        written.progress(10 * (second - 1000), second - 1000, (second - 1000) / 1000)
        if lines := capsys.readouterr().err:
            told.append((second - 1000, lines))
    assert [after for after, _ in told] == [5, 65, 125, 185]
    assert told[0][1] == "50 positions  10/s  0.5 %  17 min left  \n"
