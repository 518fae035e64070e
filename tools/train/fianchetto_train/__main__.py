"""The command line: `python -m fianchetto_train train|measure|report ...`."""

import argparse
import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from . import measure, networks, report
from .distributed import World
from .checkpoint import RunError, load_state
from .run import Run, Settings, settings_of
from .shards import DataError


def sizes(text: str) -> dict:
    """`channels=64,blocks=6,se` as a dictionary."""
    result: dict[str, int | bool] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        try:
            result[name] = int(value) if equals else True
        except ValueError:
            raise argparse.ArgumentTypeError(f"{part}: expected NAME=NUMBER or NAME") from None
    return result


def parser() -> argparse.ArgumentParser:
    """All options with their help."""
    top = argparse.ArgumentParser(prog="fianchetto_train", description="Trains networks from human games.")
    verbs = top.add_subparsers(dest="verb", required=True)
    train = verbs.add_parser("train", help="train a network, or go on with --resume")
    add = train.add_argument
    add("--out", type=Path, required=True, help="folder of the run: state.pt, network.pt, log.csv, progress.png")
    add("--resume", action="store_true", help="go on with the run in --out, with its settings; only budgets and --threads may change")
    add("--network", choices=networks.FAMILIES, default="residual", dest="family")
    add("--sizes", type=sizes, default={}, metavar="LIST", help="such as channels=64,blocks=6,recurrence=2,gated,se")
    add("--shards", help="folder made by fianchetto-prepare expand --out")
    add("--held-out", help="the same of held-out games (--split held-out), to measure on")
    add("--games", help="game file to expand on the fly, instead of --shards and --held-out")
    add("--expander", default="fianchetto-prepare", help="the program for --games [default: %(default)s]")
    add("--expand-options", default="", help="more options for it, such as '--rate 0.2 --memory 4096'")
    add("--init", help="a checkpoint to begin with")
    add("--move-kernels", action="store_true", help="share what is learned about a move between squares (networks/moves.py)")
    add("--minutes", type=float, help="budget of time")
    add("--positions", type=int, help="budget of positions")
    add("--batch", type=int, default=512, help="positions a step, over all processes [default: %(default)s]")
    add("--optimiser", choices=["adamw", "muon"], default="adamw", help="[default: %(default)s]")
    add("--lr", type=float, default=1e-3, help="highest learning rate [default: %(default)s]")
    add("--weight-decay", type=float, default=1e-4, help="[default: %(default)s]")
    add("--clip", type=float, default=1.0, help="largest norm of the gradient [default: %(default)s]")
    add("--warmup", type=float, default=0.02, help="share of the budget until --lr is reached [default: %(default)s]")
    add("--final-lr", type=float, default=0.02, help="share of --lr at the end [default: %(default)s]")
    add("--precision", choices=["fp32", "bf16"], help="[default: bf16 on a GPU, else fp32]")
    add("--compile", action="store_true", help="use torch.compile")
    add("--device", choices=["auto", "cpu", "cuda"], default="auto", help="[default: %(default)s]")
    add("--threads", type=int, help="processor threads [default: PyTorch's]")
    add("--seed", type=int, default=0, help="of weights and order of positions [default: %(default)s]")
    add("--save-minutes", type=float, default=5.0, help="time between checkpoints [default: %(default)s]")
    add("--validate-minutes", type=float, default=10.0, help="time between measurements [default: %(default)s]")
    add("--validate-positions", type=int, default=20_000, help="held-out positions [default: %(default)s]")
    add("--log-positions", type=int, default=20_000, help="positions between lines of the log [default: %(default)s]")
    measure.add_arguments(verbs)
    report.add_arguments(verbs)
    return top


def settings(a: argparse.Namespace, world: World) -> Settings:
    """The settings of a new run."""
    if bool(a.shards) == bool(a.games):
        raise RunError("give either --shards or --games")
    if not a.minutes and not a.positions:
        raise RunError("give a budget: --minutes, --positions or both")
    names = ["family", "sizes", "shards", "held_out", "games", "expander", "init", "move_kernels", "seed", "batch"]
    names += ["optimiser", "lr", "weight_decay", "clip", "warmup", "final_lr", "minutes", "positions", "compile"]
    names += ["validate_positions", "validate_minutes", "save_minutes", "log_positions"]
    precision = a.precision or ("bf16" if world.device.type == "cuda" else "fp32")
    options = tuple(a.expand_options.split())
    threads = a.threads or torch.get_num_threads()
    return Settings(
        **{n: getattr(a, n) for n in names}, precision=precision, expand_options=options, threads=threads
    )


def keep_out_others(folder: Path) -> int:
    """Locks the folder for as long as this process lives or the handle returned is open."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"another run is at work in {folder}: wait for it, or give another --out") from None
    return handle


@contextlib.contextmanager
def output_folder(folder: Path) -> Iterator[None]:
    """Makes the folder and locks it; a failure leaves none that it made and put nothing into."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        keep_out_others(folder)
        yield
    except BaseException:
        for path in made:
            with contextlib.suppress(OSError):  # it is not empty
                path.rmdir()
        raise


def train(a: argparse.Namespace) -> int:
    """The verb `train`."""
    state_path = a.out / "state.pt"
    world = World.join(a.device)
    state = None
    if a.resume:
        if not state_path.exists():
            raise RunError(f"{a.out} holds no run that has been saved: start it without --resume")
        state = load_state(state_path)
        chosen = settings_of(state)
        chosen.threads = a.threads or chosen.threads
        chosen.minutes = a.minutes or chosen.minutes
        chosen.positions = a.positions or chosen.positions
        shares = chosen.shares(state["seconds"], state["seen"])
        if used_up := [option for option, share in shares.items() if share >= 1]:
            if world.rank == 0:
                had = f"{state['seen']:,} positions in {state['seconds'] / 60:.1f} min"
                print(f"nothing to train: {a.out} has used up its budget, {had}; to go on, give a larger {' and '.join(used_up)}", file=sys.stderr)
            world.leave()
            return 0
    else:
        if state_path.exists():
            raise RunError(f"{a.out} holds a run already: go on with --resume, or give another --out")
        chosen = settings(a, world)
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    with output_folder(a.out) if world.rank == 0 else contextlib.nullcontext():
        run = Run(a.out, chosen, world, state)
        if world.rank == 0:
            count = sum(p.numel() for p in run.network.parameters())
            print(f"{chosen.family} {chosen.sizes}: {count:,} parameters, {world.device}, {world.size} process(es)", file=sys.stderr)
        done = run.train()
    world.leave()
    if world.rank == 0:
        what = "finished" if done else "interrupted, go on with --resume"
        print(f"{what}: {run.seen:,} positions in {run.seconds / 60:.1f} min, {a.out / 'network.pt'}", file=sys.stderr)
    return 0 if done else 1


def main() -> int:
    """Runs a verb; errors are one line."""
    a = parser().parse_args()
    try:
        return {"train": train, "measure": measure.run, "report": report.run}[a.verb](a)
    except (RunError, DataError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    status = main()
    # Background threads of PyTorch may not outlive the interpreter's end.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status) if status else sys.exit(0)
