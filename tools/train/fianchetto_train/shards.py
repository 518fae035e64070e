"""Training positions: shards on disk, or a stream from `fianchetto-prepare expand --stream`.

A run's order of positions is a function of its seed alone, so a position in it is one number: how many
positions came before. The format is described in tools/prepare/README.md.
"""

import json
import queue
import subprocess
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor


class DataError(Exception):
    """Data that cannot be trained on, in words for the user."""


@dataclass
class Shard:
    """Positions (see tools/prepare/README.md) and, one after the other, their legal policy indices."""

    records: np.ndarray
    legal: np.ndarray

    def __len__(self) -> int:
        return len(self.records)

    def take(self, rows: np.ndarray) -> "Shard":
        """These rows, in this order."""
        records = self.records[rows].copy()
        counts = records["legal_count"].astype(np.int64)
        ends = np.cumsum(counts)
        source = np.repeat(records["legal_start"].astype(np.int64) - (ends - counts), counts)
        legal = self.legal[source + np.arange(ends[-1] if len(ends) else 0)]
        records["legal_start"] = ends - counts
        return Shard(records, legal)

    @staticmethod
    def join(parts: list["Shard"]) -> "Shard":
        """All positions of the parts."""
        if len(parts) == 1:
            return parts[0]
        records = np.concatenate([part.records for part in parts])
        ends = np.cumsum(records["legal_count"].astype(np.int64))
        records["legal_start"] = ends - records["legal_count"]
        return Shard(records, np.concatenate([part.legal for part in parts]))


@dataclass
class Batch:
    """Positions as tensors, still packed: `planes` unpacks them on the device that computes."""

    squares: Tensor  # u8 [batch, square planes, 8], a bit for each file
    constants: Tensor  # u8 [batch, constant planes], in hundredths
    legal: Tensor  # i64 [batch, width], padded with 0
    legal_count: Tensor  # i64 [batch]
    played: Tensor  # i64 [batch], the policy index of the move played
    played_slot: Tensor  # i64 [batch], its place in `legal`
    result: Tensor  # f32 [batch], for the side to move
    white: Tensor  # bool [batch], whether White is to move

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        move = lambda tensor: tensor.to(device, non_blocking=True)  # noqa: E731
        return Batch(*(move(tensor) for tensor in vars(self).values()))

    def pin(self) -> "Batch":
        """The same in memory that a GPU can fetch by itself."""
        return Batch(*(tensor.pin_memory() for tensor in vars(self).values()))

    def planes(self, layout: "Layout") -> Tensor:
        """f32 `[batch, planes, 8, 8]`, channels last."""
        files = torch.arange(8, dtype=torch.uint8, device=self.squares.device)
        bits = (self.squares[..., None] >> files) & 1
        constants = (self.constants.float() / 100)[:, :, None, None].expand(-1, -1, 8, 8)
        planes = torch.cat((bits.float(), constants), 1)[:, layout.order_on(self.squares.device)]
        return planes.contiguous(memory_format=torch.channels_last)


@dataclass(frozen=True)
class Layout:
    """How an encoding's planes are packed."""

    encoding: str
    square_planes: tuple[int, ...]
    constant_planes: tuple[int, ...]

    def order_on(self, device: torch.device) -> Tensor:
        """Where each plane lies among the square planes followed by the constant ones."""
        packed = [*self.square_planes, *self.constant_planes]
        return torch.tensor([packed.index(plane) for plane in range(len(packed))], device=device)

    @staticmethod
    def of(manifest: dict) -> "Layout":
        """The layout that a manifest states."""
        return Layout(
            manifest["encoding"], tuple(manifest["square_planes"]), tuple(manifest["constant_planes"])
        )


LAYOUTS = {
    layout.encoding: layout
    for layout in (
        Layout("canonical19", (*range(12), 16), (12, 13, 14, 15, 17, 18)),
        Layout("absolute14", tuple(range(12)), (12, 13)),
        Layout("canonical12", tuple(range(12)), ()),
    )
}


def batch_of(shard: Shard, width: int | None = None) -> Batch:
    """The tensors of a shard. `width` fixes that of `legal`, so that all batches have one shape."""
    records = shard.records
    counts = records["legal_count"].astype(np.int64)
    width = width or int(counts.max())
    slots = np.arange(width)
    inside = slots < counts[:, None]
    at = np.where(inside, records["legal_start"].astype(np.int64)[:, None] + slots, 0)
    legal = np.where(inside, shard.legal[at].astype(np.int64), 0)
    is_played = (legal == records["played"][:, None]) & inside
    if not is_played.any(1).all():
        row = int(np.flatnonzero(~is_played.any(1))[0])
        raise DataError(
            f"game {records['game'][row]:016x} ply {records['ply'][row]}: the move played is not among "
            "the legal ones; the shards are damaged, make them anew"
        )
    tensor = lambda array: torch.from_numpy(np.ascontiguousarray(array))  # noqa: E731
    return Batch(
        squares=tensor(records["squares"]),
        constants=tensor(records["constants"]),
        legal=tensor(legal),
        legal_count=tensor(counts),
        played=tensor(records["played"].astype(np.int64)),
        played_slot=tensor(is_played.argmax(1)),
        result=tensor(records["result"].astype(np.float32)),
        white=tensor(records["ply"] % 2 == 0),
    )


class Folder:
    """Shards that `fianchetto-prepare expand --out` wrote."""

    def __init__(self, path: Path):
        self.path = path
        try:
            manifest = json.loads((path / "manifest.json").read_text())
            self.layout = Layout.of(manifest)
            self.positions = manifest["positions"]
            self.per_shard = manifest["positions_per_shard"]
            self.shards = manifest["shards"]
        except FileNotFoundError:
            what = "has no manifest.json" if path.is_dir() else "is no folder"
            raise DataError(f"{path} {what}: expected a finished folder of fianchetto-prepare expand") from None
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path / 'manifest.json'} is damaged ({error}): remove {path} and expand the games anew") from None
        # Folders of older versions have none.
        self.checksums = dict(enumerate(manifest.get("shard_crc32", ())))
        for number, expected in enumerate(manifest.get("shard_bytes", ())):
            file = self.file(number)
            found = file.stat().st_size if file.exists() else None
            if found != expected:
                what = "is missing" if found is None else f"has {found} bytes, expected {expected}"
                raise DataError(f"{file} {what}: remove {path} and expand the games anew")

    def file(self, number: int) -> Path:
        """Where a shard lies."""
        return self.path / f"shard-{number:05}.npy"

    def read(self, number: int) -> Shard:
        """One shard."""
        path = self.file(number)
        try:
            with open(path, "rb") as file:
                self.check(number, zlib.crc32(file.read()))
                file.seek(0)
                return Shard(np.load(file), np.load(file))
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: {error}; expand the games anew") from None

    def check(self, number: int, found: int) -> None:
        """Makes sure that a shard's CRC-32 is that of what was written."""
        expected = self.checksums.get(number)
        if expected not in (None, found):
            raise DataError(
                f"{self.file(number)} is damaged: its CRC-32 is {found:08x}, expected {expected:08x}; "
                f"remove {self.path} and expand the games anew"
            )

    def size(self, number: int) -> int:
        """How many positions a shard holds."""
        return min(self.per_shard, self.positions - number * self.per_shard)

    def epochs(self, seed: int, start: int) -> Iterator[Shard]:
        """Shuffled shards without end, beginning after the first `start` positions of the run."""
        epoch, skip = divmod(start, self.positions)
        while True:
            for number in np.random.default_rng([seed, epoch]).permutation(self.shards):
                size = self.size(number)
                if skip >= size:
                    skip -= size
                    continue
                order = np.random.default_rng([seed, epoch, number]).permutation(size)
                yield self.read(number).take(order[skip:])
                skip = 0
            epoch += 1

    def first(self, count: int) -> Shard:
        """The first positions, to measure on. Shards are shuffled across all games already."""
        parts, have = [], 0
        for number in range(self.shards):
            if have >= count:
                break
            shard = self.read(number)
            parts.append(shard.take(np.arange(min(len(shard), count - have))))
            have += len(parts[-1])
        return Shard.join(parts)


class Stream:
    """Positions expanded from a game file while they are trained on, by `fianchetto-prepare`."""

    def __init__(self, games: Path, encoding: str, expander: Path, options: list[str]):
        self.layout = LAYOUTS[encoding]
        self.command = [
            str(expander), "expand", str(games), "--encoding", encoding, "--stream", *options
        ]  # fmt: skip

    def epochs(self, seed: int, start: int) -> Iterator[Shard]:
        """Shuffled shards without end, beginning after the first `start` positions of the run."""
        return self.read(["--epochs", "0", "--seed", str(seed)], start)

    def first(self, count: int) -> Shard:
        """The first positions, to measure on."""
        parts = list(self.read(["--positions", str(count), "--split", "held-out"], 0))
        if not parts:
            raise DataError("the game file has no held-out games: give --held-out")
        return Shard.join(parts)

    def read(self, options: list[str], skip: int) -> Iterator[Shard]:
        """What the expander writes, less the first `skip` positions."""
        command = self.command + options
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=1 << 20)
        except OSError as error:
            raise DataError(f"{command[0]}: {error}; build it with cargo build --release") from None
        try:
            process.stdout.readline()  # what a folder has as its manifest
            while len(shard := Shard(read_array(process.stdout), read_array(process.stdout))):
                if skip >= len(shard):
                    skip -= len(shard)
                    continue
                yield shard.take(np.arange(skip, len(shard))) if skip else shard
                skip = 0
        except ValueError as error:
            status = process.wait()
            raise DataError(f"{' '.join(command)} ended with status {status} ({error})") from None
        finally:
            process.kill()
            process.wait()


def read_array(pipe) -> np.ndarray:
    """One array of a stream; `np.load` wants to seek, which a pipe cannot."""
    np.lib.format.read_magic(pipe)
    shape, _, dtype = np.lib.format.read_array_header_1_0(pipe)
    data = pipe.read(shape[0] * dtype.itemsize)
    if len(data) < shape[0] * dtype.itemsize:
        raise ValueError("its output broke off")
    return np.frombuffer(data, dtype)


def batches(shards: Iterator[Shard], size: int, rank: int = 0, ranks: int = 1) -> Iterator[Shard]:
    """Cuts shards into batches of `size` positions and gives each rank its equal part of every batch."""
    mine = np.arange(rank * size // ranks, (rank + 1) * size // ranks)
    pending: list[Shard] = []
    have = 0
    for shard in shards:
        pending.append(shard)
        have += len(shard)
        if have < size:
            continue
        whole = Shard.join(pending)
        for begin in range(0, have - size + 1, size):
            yield whole.take(mine + begin)
        rest = have % size
        pending = [whole.take(np.arange(have - rest, have))] if rest else []
        have = rest


class Prefetch:
    """Makes batches ready in the background, a few ahead. Close it when done."""

    def __init__(self, source: Iterator[Batch], ahead: int = 8):
        self.queue: queue.Queue = queue.Queue(ahead)
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.fill, args=(source,), daemon=True)
        self.thread.start()

    def fill(self, source: Iterator[Batch]) -> None:
        """Runs in the background; an error is raised in `__next__`."""
        try:
            for batch in source:
                while not self.closed.is_set():
                    try:
                        self.queue.put(batch, timeout=0.2)
                        break
                    except queue.Full:
                        continue
                if self.closed.is_set():
                    break
        except Exception as error:  # noqa: BLE001, handed over to the trainer
            self.queue.put(error)
        finally:
            if hasattr(source, "close"):
                source.close()

    def __iter__(self) -> "Prefetch":
        return self

    def __next__(self) -> Batch:
        item = self.queue.get()
        if isinstance(item, Exception):
            raise item
        return item

    def close(self) -> None:
        """Stops the background work."""
        self.closed.set()
        self.thread.join()
