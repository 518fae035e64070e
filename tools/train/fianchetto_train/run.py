"""One training run: the loop over batches, its checkpoints and its end."""

import contextlib
import signal
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from . import networks, optimiser
from .checkpoint import RunError, atomic_save, read_network
from .distributed import World
from .log import Log
from .losses import losses
from .shards import Batch, Folder, Prefetch, Stream, batch_of, batches

# No position has more than 218 legal moves.
WIDEST = 224


@dataclass
class Settings:
    """Everything that a run's result depends on; kept in its state, so that resuming needs no options."""

    family: str
    sizes: dict
    shards: str | None = None
    held_out: str | None = None
    games: str | None = None
    expander: str | None = None
    expand_options: tuple[str, ...] = ()
    init: str | None = None
    move_kernels: bool = False
    seed: int = 0
    batch: int = 512
    optimiser: str = "adamw"
    lr: float = 1e-3
    weight_decay: float = 1e-4
    clip: float = 1.0
    warmup: float = 0.02
    final_lr: float = 0.02
    minutes: float | None = None
    positions: int | None = None
    precision: str = "fp32"
    compile: bool = False
    validate_positions: int = 20_000
    validate_minutes: float = 10.0
    save_minutes: float = 5.0
    log_positions: int = 20_000
    threads: int | None = None

    def shares(self, seconds: float, seen: int) -> dict[str, float]:
        """Of each budget, by its option, the share that is used up."""
        shares = {}
        if self.minutes:
            shares["--minutes"] = seconds / (60 * self.minutes)
        if self.positions:
            shares["--positions"] = seen / self.positions
        return shares


class Run:
    """A network in training, with its data, optimiser and log."""

    def __init__(self, folder: Path, settings: Settings, world: World, state: dict | None = None):
        self.folder, self.settings, self.world = folder, settings, world
        self.seconds = 0.0
        self.seen = 0
        self.stop = False
        torch.manual_seed(settings.seed)
        if settings.batch % world.size:
            raise RunError(f"--batch {settings.batch} does not divide by {world.size} processes")

        network = networks.build(settings.family, settings.sizes, settings.move_kernels)
        if settings.init and state is None:
            self.initialise(network, Path(settings.init))
        network = network.to(world.device, memory_format=torch.channels_last)
        self.network = network
        self.optimiser = optimiser.build(
            settings.optimiser, network, settings.lr, settings.weight_decay
        )
        if state is not None:
            network.load_state_dict(state["training_network"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.seconds, self.seen = state["seconds"], state["seen"]
        trained = torch.compile(network) if settings.compile else network
        self.trained = world.wrap(trained)

        self.source = self.open_source()
        self.layout = self.source.layout
        wanted = networks.ENCODINGS[settings.family]
        if self.layout.encoding != wanted:
            raise RunError(
                f"the positions are in {self.layout.encoding}, {settings.family} wants {wanted}: "
                f"expand them with --encoding {wanted}"
            )
        self.held_out = self.open_held_out()
        self.log = Log(folder, self.seen) if world.rank == 0 else None

    def initialise(self, network: nn.Module, path: Path) -> None:
        """Weights to begin with, from a network of the same sizes; the optimiser begins anew."""
        _, found = read_network(path)
        own = {name: p for name, p in network.state_dict().items() if not name.startswith("move_kernels.")}
        # A weights file has no counters of BatchNorm's steps.
        own = {name: p for name, p in own.items() if not name.endswith("num_batches_tracked")}
        for name, p in own.items():
            if name not in found or found[name].shape != p.shape:
                raise RunError(f"{path} has no {name} of shape {list(p.shape)}: give --sizes as in that file")
        network.load_state_dict({name: found[name] for name in own}, strict=False)
        if kernels := getattr(network, "move_kernels", None):
            # They add to a policy layer that knows the moves already.
            for p in kernels.parameters():
                nn.init.zeros_(p)

    def open_source(self) -> Folder | Stream:
        """Where positions to train on come from."""
        s = self.settings
        if s.shards:
            return Folder(Path(s.shards))
        encoding = networks.ENCODINGS[s.family]
        return Stream(Path(s.games), encoding, Path(s.expander), list(s.expand_options))

    def open_held_out(self) -> list[Batch]:
        """Positions of games that are not trained on; only the first process measures."""
        if self.world.rank != 0 or self.settings.validate_positions == 0:
            return []
        source = Folder(Path(self.settings.held_out)) if self.settings.held_out else self.source
        if isinstance(source, Folder) and not self.settings.held_out:
            return []
        shard = source.first(self.settings.validate_positions)
        starts = range(0, len(shard), 1024)
        return [batch_of(shard.take(np.arange(start, min(start + 1024, len(shard))))) for start in starts]

    def progress(self) -> float:
        """The share of the budget that is used up: of time or of positions, whichever is further."""
        return max(self.settings.shares(self.seconds, self.seen).values(), default=0.0)

    def autocast(self) -> contextlib.AbstractContextManager:
        """The arithmetic of the forward pass."""
        if self.settings.precision == "bf16":
            return torch.autocast(self.world.device.type, torch.bfloat16)
        return contextlib.nullcontext()

    def step(self, batch: Batch, lr: float) -> dict[str, Tensor]:
        """One step of the optimiser; returns what to report."""
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        with self.autocast():
            result = losses(self.settings.family, self.trained, batch.planes(self.layout), batch)
        self.optimiser.zero_grad(set_to_none=True)
        result.total.backward()
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimiser.step()
        return {"loss": result.total.detach(), **result.parts, "gradient": norm.detach()}

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Means over the held-out positions."""
        self.network.eval()
        sums: dict[str, float] = {}
        for batch in self.held_out:
            batch = batch.to(self.world.device)
            with self.autocast():
                result = losses(self.settings.family, self.network, batch.planes(self.layout), batch)
            for name, value in result.parts.items():
                sums[name] = sums.get(name, 0.0) + float(value) * len(batch.result)
        self.network.train()
        count = sum(len(batch.result) for batch in self.held_out)
        return {name: value / count for name, value in sums.items()}

    def state(self) -> dict:
        """All that is needed to go on."""
        return {
            "settings": asdict(self.settings),
            "training_network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "seconds": self.seconds,
            "seen": self.seen,
        }

    def save(self) -> None:
        """Writes `state.pt` (to resume) and `network.pt` (to convert)."""
        if self.world.rank == 0:
            atomic_save(networks.checkpoint(self.network), self.folder / "network.pt")
            atomic_save(self.state(), self.folder / "state.pt")

    def data(self) -> Prefetch:
        """Batches from where the run stands."""
        s, world = self.settings, self.world
        width = WIDEST if s.compile or world.device.type == "cuda" else None
        shards = self.source.epochs(s.seed, self.seen)
        parts = batches(shards, s.batch, world.rank, world.size)
        made = (batch_of(part, width) for part in parts)
        return Prefetch(batch.pin() for batch in made) if world.device.type == "cuda" else Prefetch(made)

    def interrupt(self, *_) -> None:
        """Ctrl-C: stop after this batch; a second time, at once."""
        if self.stop:
            raise KeyboardInterrupt
        self.stop = True

    def finished(self) -> bool:
        """Whether the budget is used up."""
        return self.progress() >= 1.0

    def train(self) -> bool:
        """Trains until the budget is used up (true) or someone interrupts (false)."""
        s = self.settings
        previous = signal.signal(signal.SIGINT, self.interrupt)
        signal.signal(signal.SIGTERM, self.interrupt)
        self.network.train()
        data = self.data()
        clock = time.monotonic()
        base = self.seconds
        saved = validated = clock
        sums: dict[str, Tensor] = {}
        count, logged = 0, self.seen
        try:
            while not self.world.any(self.finished() or self.stop):
                progress = self.world.agree(self.progress())
                lr = optimiser.learning_rate(s.lr, progress, s.warmup, s.final_lr)
                parts = self.step(next(data).to(self.world.device), lr)
                self.seen += s.batch
                count += 1
                for name, value in parts.items():
                    sums[name] = sums[name] + value if name in sums else value
                now = time.monotonic()
                self.seconds = base + now - clock
                if self.seen - logged >= s.log_positions or self.finished():
                    means = {name: float(value) / count for name, value in sums.items()}
                    if not all(map(torch.isfinite, map(torch.tensor, (means["loss"], means["gradient"])))):
                        raise RunError(f"the loss became {means['loss']} after {self.seen} positions: lower --lr, or the data is damaged")
                    if self.log:
                        self.log.training(self.seen, self.seconds, lr, means)
                    sums, count, logged = {}, 0, self.seen
                if self.log:
                    self.log.progress(self.seen, self.seconds, self.progress())
                if now - validated >= 60 * s.validate_minutes and self.held_out:
                    self.log.held_out(self.seen, self.seconds, self.validate())
                    validated = time.monotonic()
                if now - saved >= 60 * s.save_minutes:
                    self.save()
                    saved = time.monotonic()
            if self.held_out:
                self.log.held_out(self.seen, self.seconds, self.validate())
            self.save()
        finally:
            data.close()
            signal.signal(signal.SIGINT, previous)
            if self.log:
                self.log.close()
        return self.finished()


def settings_of(state: dict) -> Settings:
    """The settings in a run's state."""
    known = {field.name for field in fields(Settings)}
    found = {name: value for name, value in state["settings"].items() if name in known}
    found["expand_options"] = tuple(found["expand_options"])
    return Settings(**found)

