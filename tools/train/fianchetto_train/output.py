"""How results leave the program: aligned tables, a line of progress, files written whole."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")


def table(header: list[str], rows: list[list[str]]) -> str:
    """Columns as wide as their widest cell: the first to the left, the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    aligned = (
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
        for line in lines
    )
    return "\n".join(line.rstrip() for line in aligned)


def percent(share: float | None) -> str:
    """A share in percent, `-` where there is nothing to share."""
    return "-" if share is None else f"{100 * share:.1f}"


def number(value: float | None) -> str:
    """A loss, `-` where there is none."""
    return "-" if value is None else f"{value:.3f}"


def watched(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """The items, with a line on the terminal that says how many are done."""
    shown = time.monotonic()
    for done, item in enumerate(items):
        if sys.stderr.isatty() and time.monotonic() - shown > 1:
            shown = time.monotonic()
            print(f"\r{what}: {done:,} of {total:,}", end="", file=sys.stderr, flush=True)
        yield item
    if sys.stderr.isatty():
        print("\r" + " " * (len(what) + 30) + "\r", end="", file=sys.stderr, flush=True)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
