"""Shards as tensors, against NumPy's own unpacking and python-chess."""

import itertools
import json
import zlib

import chess
import numpy as np
import pytest
import torch
from conftest import HERE, expand, program

from fianchetto_train.networks import residual
from fianchetto_train.shards import DataError, Folder, Prefetch, Shard, Stream, batch_of, batches


def positions(shard: Shard) -> list[tuple[int, int]]:
    return list(zip(shard.records["game"].tolist(), shard.records["ply"].tolist()))


def take(shards, count: int) -> list[tuple[int, int]]:
    found = []
    for shard in shards:
        found += positions(shard)
        if len(found) >= count:
            return found[:count]
    return found


@pytest.mark.parametrize("encoding", ["canonical19", "absolute14", "canonical12"])
def test_planes_are_those_of_numpy(encoding, tmp_path):
    folder = Folder(expand(encoding, 100, tmp_path / "shards"))
    shard = folder.first(100)
    planes = batch_of(shard).planes(folder.layout).numpy()
    bits = np.unpackbits(shard.records["squares"], axis=-1, bitorder="little")
    square_planes, constant_planes = list(folder.layout.square_planes), list(folder.layout.constant_planes)
    assert (planes[:, square_planes] == bits.reshape(*bits.shape[:2], 8, 8)).all()
    constants = shard.records["constants"] / np.float32(100)
    assert (planes[:, constant_planes] == constants[:, :, None, None]).all()
    assert planes.shape[1] == len(square_planes) + len(constant_planes)


def test_legal_moves_are_those_of_python_chess(shards):
    """The board is rebuilt from the planes of positions in which White is to move and may not castle."""
    folder = Folder(shards / "train")
    shard = folder.first(2000)
    batch = batch_of(shard)
    planes = batch.planes(folder.layout).numpy()
    checked = 0
    for row in np.flatnonzero(batch.white.numpy() & (planes[:, 12:17].sum((1, 2, 3)) == 0)):
        board = chess.Board(None)
        for plane, rank, file in np.argwhere(planes[row, :12]):
            color = chess.WHITE if plane < 6 else chess.BLACK
            board.set_piece_at(chess.square(file, rank), chess.Piece(plane % 6 + 1, color))
        expected = sorted({64 * move.from_square + move.to_square for move in board.legal_moves})
        count = int(batch.legal_count[row])
        assert batch.legal[row, :count].tolist() == expected
        assert batch.legal[row, batch.played_slot[row]] == batch.played[row]
        checked += 1
    assert checked > 300


def test_every_position_once_an_epoch_and_in_another_order(shards):
    folder = Folder(shards / "train")
    both = take(folder.epochs(7, 0), 4000)
    first, second = both[:2000], both[2000:]
    assert sorted(first) == sorted(second) and first != second
    assert take(folder.epochs(8, 0), 2000) != first


@pytest.mark.parametrize("start", [1, 512, 1999, 2000, 2001, 3500])
def test_the_order_goes_on_where_it_was(shards, start):
    folder = Folder(shards / "train")
    assert take(folder.epochs(7, start), 700) == take(folder.epochs(7, 0), start + 700)[start:]


def test_a_stream_has_the_positions_of_a_folder_and_goes_on(shards):
    stream = Stream(HERE / "games.fgames", "canonical19", program("fianchetto-prepare"), [])
    begun = take(stream.epochs(7, 0), 3000)
    assert take(stream.epochs(7, 1234), 1000) == begun[1234:2234]
    assert len(stream.first(150)) == 150
    trained = set(begun)
    assert not trained & set(positions(Folder(shards / "held").first(200)))


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_share_a_batch(shards, ranks):
    folder = Folder(shards / "train")
    whole = take(folder.epochs(7, 0), 1024)
    parts = [
        [positions(b) for b in itertools.islice(batches(folder.epochs(7, 0), 512, rank, ranks), 2)]
        for rank in range(ranks)
    ]
    assert [p for step in zip(*parts) for part in step for p in part] == whole


def test_batches_over_shard_borders(shards):
    shard = Folder(shards / "train").first(2000)
    pieces = (shard.take(np.arange(a, b)) for a, b in [(0, 7), (7, 8), (8, 300), (300, 2000)])
    found = list(batches(pieces, 100))
    assert [p for batch in found for p in positions(batch)] == positions(shard)
    for batch, start in zip(found, range(0, 2000, 100)):
        alone = batch_of(shard.take(np.arange(start, start + 100)))
        assert all((a == b).all() for a, b in zip(vars(batch_of(batch)).values(), vars(alone).values()))


def test_damaged_data_is_named(shards, tmp_path):
    with pytest.raises(DataError, match="no manifest.json"):
        Folder(tmp_path)
    shard = Folder(shards / "train").first(10)
    shard.records["played"][3] = 4095
    with pytest.raises(DataError, match="ply .* not among"):
        batch_of(shard)
    stream = Stream(HERE / "no-such.fgames", "canonical19", program("fianchetto-prepare"), [])
    with pytest.raises(DataError, match="ended with status"):
        take(stream.epochs(0, 0), 1)


def test_missing_and_cut_shards_are_found_at_once(tmp_path):
    folder = expand("canonical12", 100, tmp_path / "shards")
    shard = folder / "shard-00000.npy"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(DataError, match="shard-00000.npy has .* expected"):
        Folder(folder)
    shard.unlink()
    with pytest.raises(DataError, match="shard-00000.npy is missing"):
        Folder(folder)


def test_a_flipped_byte_is_found(tmp_path):
    path = expand("canonical12", 100, tmp_path / "shards")
    shard, manifest = path / "shard-00000.npy", path / "manifest.json"
    written = shard.read_bytes()
    assert json.loads(manifest.read_text())["shard_crc32"] == [zlib.crc32(written)]
    assert len(Folder(path).first(100)) == 100
    flipped = bytearray(written)
    flipped[len(flipped) // 2] ^= 1
    shard.write_bytes(flipped)
    message = f"shard-00000.npy is damaged: its CRC-32 is {zlib.crc32(flipped):08x}, expected {zlib.crc32(written):08x}; remove"
    with pytest.raises(DataError, match=message):
        Folder(path).first(1)
    with pytest.raises(DataError, match=message):
        next(Folder(path).epochs(0, 0))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"encoding": "canonical12"}'])
def test_a_damaged_manifest_is_named(text, tmp_path):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match="manifest.json is damaged"):
        Folder(tmp_path)


def test_a_folder_without_checksums_is_read(tmp_path):
    path = expand("canonical12", 100, tmp_path / "shards")
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["shard_crc32"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert len(Folder(path).first(100)) == 100


def test_prefetch_hands_errors_over():
    def source():
        yield 1
        raise DataError("cut")

    data = Prefetch(source())
    assert next(data) == 1
    with pytest.raises(DataError, match="cut"):
        next(data)
    data.close()


def test_a_network_reads_a_batch(shards):
    folder = Folder(shards / "train")
    batch = batch_of(folder.first(5))
    network = residual.Residual(residual.Config(channels=8, blocks=1)).eval()
    logits, values = network(batch.planes(folder.layout))
    assert logits.shape == (5, 4096) and values.shape == (5,) and torch.isfinite(logits).all()
