"""How fast python-chess reads the first 1,000 games of a PGN file, .pgn.zst included.

    speed.py FILE [GAMES]

The Rust reader on the same games: cargo run --release --example read_speed FILE [GAMES]
"""

import io
import subprocess
import sys
import time

import chess.pgn


def main(path, wanted=1000):
    command = ["zstd", "-dcq", "--long=30", path] if path.endswith(".zst") else ["cat", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        text = io.TextIOWrapper(process.stdout, encoding="utf-8", errors="replace")
        games = positions = 0
        started = time.perf_counter()
        while games < int(wanted) and (game := chess.pgn.read_game(text)) is not None:
            games += 1
            positions += sum(1 for _ in game.mainline_moves())
        seconds = time.perf_counter() - started
        process.kill()
    print(f"{games} games, {positions} positions")
    print(f"{games / seconds:.0f} games/s, {positions / seconds:.0f} positions/s")


if __name__ == "__main__":
    main(*sys.argv[1:])
