"""Runs the Python of the README as it stands there, on what the program writes.

    readme.py PROGRAM GAMES    PROGRAM: the binary; GAMES: a game file of a few shards

Ends with status 3 when a package is missing. `check_shards.py` takes its readers from here, so that
the README is the only place where they are written.
"""

import ast
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def snippets() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def functions() -> dict:
    """What the snippets import and define, without what they do."""
    body = ast.parse("".join(snippets())).body
    kept = [part for part in body if isinstance(part, (ast.Import, ast.ImportFrom, ast.FunctionDef))]
    names = {}
    exec(compile(ast.Module(kept, []), README, "exec"), names)
    return names


class Dribbling(io.BytesIO):
    """Gives a few bytes at a time, as a pipe may."""

    def readinto(self, buffer):
        return super().readinto(memoryview(buffer)[:1021])

    def read(self, size=-1):
        return super().read(min(size, 7) if size >= 0 else size)


def ends_properly(stream: bytes) -> bool:
    names = functions()
    pipe = Dribbling(stream)
    try:
        names["json"].loads(pipe.readline())
        for _ in names["read_stream"](pipe):
            pass
    except (ValueError, EOFError):
        return False
    return not pipe.read(1)


def main(program: str, games: str) -> None:
    import numpy as np

    program, games = Path(program).resolve(), Path(games).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        shutil.copy(games, "2016.fgames")
        expand = [program, "expand", "2016.fgames", "--encoding", "canonical19"]
        subprocess.run([*expand, "--out", "shards"], check=True, stderr=subprocess.DEVNULL)

        shard, stream = snippets()
        names = {}
        exec(shard, names)
        manifest = names["manifest"]
        assert manifest["shards"] > 1 and len(names["records"]) == 10_000
        assert names["planes"].shape == (256, manifest["planes"], 8, 8)
        assert set(np.unique(names["planes"][:, manifest["square_planes"]])) == {0, 1}

        def keys(records):
            return records[["game", "ply", "played"]].tolist()

        on_disk = []
        for name in Path("shards").glob("shard-*.npy"):
            with open(name, "rb") as file:
                on_disk += keys(np.load(file))
        # As written, then unbuffered.
        unbuffered = stream.replace("stdout=PIPE", "stdout=PIPE, bufsize=0")
        assert unbuffered != stream
        for code in stream, unbuffered:
            # Each pair passes by as `planes` is made of it.
            streamed = []
            planes_of = names["planes_of"]
            seen = names | {"planes_of": lambda *pair: streamed.extend(keys(pair[0])) or planes_of(*pair)}
            exec(code, seen)
            assert sorted(streamed) == sorted(2 * on_disk)
            assert seen["process"].returncode == 0
            assert seen["planes"].shape == (len(seen["records"]), manifest["planes"], 8, 8)
            assert seen["manifest"].items() <= manifest.items()

        whole = subprocess.run([*expand, "--stream"], check=True, capture_output=True).stdout
        assert ends_properly(whole)
        pair = whole.rindex(b"\x93NUMPY", 0, whole.rindex(b"\x93NUMPY"))
        for cut in (0, 10, whole.index(b"\x93NUMPY"), len(whole) // 2, pair, pair + 20, len(whole) - 1):
            assert not ends_properly(whole[:cut]), cut
        damaged = bytearray(games.read_bytes())
        damaged[100] ^= 1
        Path("2016.fgames").write_bytes(damaged)
        failed = subprocess.run([*expand, "--stream"], capture_output=True)
        assert failed.returncode == 1 and not ends_properly(failed.stdout)
    print(f"{len(on_disk)} positions from shards and streams, read by the README")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ModuleNotFoundError as error:
        print(error)
        sys.exit(3)
