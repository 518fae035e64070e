"""Compares training shards with python-chess and numpy, field by field.

    python check_shards.py SHARDS PGN [PGN ...] [--positions 2000] [--seed 0]

SHARDS is a folder made by `fianchetto-prepare expand`, or a file or pipe with what its `--stream` wrote.
It ends with status 3 when a package is missing. The PGN files (.pgn or .pgn.zst, the latter read with the `zstd` program) hold some or
all of the games that it was made from. A record names its game by a hash of the moves; of the records
whose game is in the PGN files, a random sample is rebuilt from the PGN and compared.
"""

import argparse
import io
import json
import random
import subprocess
import sys
import zlib
from pathlib import Path

try:
    import chess
    import chess.pgn
    import numpy as np
except ModuleNotFoundError as error:
    print(error)
    sys.exit(3)

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tests" / "golden"))
import absolute14
import canonical12
import canonical19
import readme

ENCODINGS = {
    module.__name__: module for module in (canonical19, absolute14, canonical12)
}
README = readme.functions()
RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}


def game_hash(game: chess.pgn.Game) -> int:
    """FNV-1a of the moves: from, to (castling: the rook's square), promotion (knight 1 to queen 4)."""
    value = 0xCBF29CE484222325
    board = game.board()
    for move in game.mainline_moves():
        to = move.to_square
        if board.is_castling(move):
            to = chess.square(7 if chess.square_file(to) == 6 else 0, chess.square_rank(to))
        for byte in (move.from_square, to, move.promotion - 1 if move.promotion else 0):
            value = (value ^ byte) * 0x100000001B3 % 2**64
        board.push(move)
    return value


def read_games(paths: list[Path]) -> dict[int, chess.pgn.Game]:
    games = {}
    for path in paths:
        if path.suffix == ".zst":
            command = ["zstd", "-dc", "--long=27", path]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        else:
            text = path.read_text(encoding="utf-8", errors="replace")
        file = io.StringIO(text)
        while game := chess.pgn.read_game(file):
            games[game_hash(game)] = game
    return games


def read_shards(path: Path) -> tuple[dict, list]:
    """The manifest, and pairs of records and legal indices."""
    if not path.is_dir():
        with open(path, "rb") as pipe:
            manifest = json.loads(pipe.readline())
            shards = list(README["read_stream"](pipe))
            assert not pipe.read(1)
        return manifest, shards
    manifest = json.loads((path / "manifest.json").read_text())
    shards = []
    for name in sorted(path.glob("shard-*.npy")):
        with open(name, "rb") as file:
            shards.append((np.load(file), np.load(file)))
            assert not file.read(1)
    checksums = [zlib.crc32(name.read_bytes()) for name in sorted(path.glob("shard-*.npy"))]
    assert checksums == manifest["shard_crc32"]
    sizes = [len(records) for records, _ in shards]
    assert sum(sizes) == manifest["positions"] and len(sizes) == manifest["shards"]
    return manifest, shards


def band(game: chess.pgn.Game, side: chess.Color) -> int:
    rating = game.headers.get("WhiteElo" if side else "BlackElo", "")
    return int(rating) // 100 if rating.isdigit() else 0


def compare(record, legal, planes, game: chess.pgn.Game, encoding) -> list[str]:
    """The fields in which a record differs from its game."""
    moves = list(game.mainline_moves())
    board = game.board()
    for move in moves[: record["ply"]]:
        board.push(move)
    move = moves[record["ply"]]
    sign = 1 if board.turn else -1
    expected = {
        "planes": encoding.planes(board).tolist(),
        "legal": [index for _, index in encoding.legal_indices(board)],
        "played": encoding.index(board, move),
        "result": sign * RESULTS[game.headers["Result"]],
        "band": [band(game, board.turn), band(game, not board.turn)],
        "promotion": move.promotion - 1 if move.promotion else 0,
    }
    found = {name: record[name].tolist() for name in ("played", "result", "band", "promotion")}
    found |= {"planes": planes.tolist(), "legal": legal.tolist()}
    return [name for name in expected if found[name] != expected[name]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shards", type=Path)
    parser.add_argument("pgn", type=Path, nargs="+")
    parser.add_argument("--positions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    games = read_games(arguments.pgn)
    hashes = np.array(sorted(games), np.uint64)
    candidates = []
    total = 0
    manifest, shards = read_shards(arguments.shards)
    name = manifest["encoding"]
    encoding = ENCODINGS[name]
    for records, legal in shards:
        ends = records["legal_start"] + records["legal_count"]
        assert (records["legal_start"][1:] == ends[:-1]).all() and ends[-1] == len(legal)
        known = np.flatnonzero(np.isin(records["game"], hashes))
        candidates += [(total, records[i], legal[records["legal_start"][i] : ends[i]]) for i in known]
        total += len(records)
    assert all(len(records) == 10_000 for records, _ in shards[:-1])
    print(f"{name}: {total} records, {len(candidates)} of them from the {len(games)} games given")
    if len(candidates) < arguments.positions:
        sys.exit(f"too few to compare {arguments.positions}: give more games")
    wrong = 0
    sample = random.Random(arguments.seed).sample(candidates, arguments.positions)
    for _, record, legal in sample:
        planes = README["planes_of"](np.array([record]), manifest)[0]
        game = games[int(record["game"])]
        if fields := compare(record, legal, planes, game, encoding):
            wrong += 1
            print(f"game {record['game']:016x} ply {record['ply']}: {', '.join(fields)} differ")
    print(f"{arguments.positions} compared in every field, {wrong} differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
