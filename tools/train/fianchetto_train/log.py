"""What a run leaves to read: log.csv, progress.png and a line on the terminal."""

import csv
import sys
import time
from pathlib import Path

COLUMNS = ["kind", "positions", "seconds", "lr", "loss", "policy", "value", "origin", "target"]
COLUMNS += ["top1", "top3", "origin_top1", "target_top1", "gradient"]


def read(path: Path) -> list[dict[str, str]]:
    """The lines of a log."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Log:
    """Appends to `log.csv`. Going on after `seen` positions, later lines of an earlier try are dropped."""

    def __init__(self, folder: Path, seen: int):
        self.path = folder / "log.csv"
        self.file = None
        self.terminal = sys.stderr.isatty()
        self.started = (time.monotonic(), seen)
        # The first line comes early, to tell that it works and how long it will take.
        self.due = self.started[0] + (1 if self.terminal else 5)
        self.loss = ""

    def open(self) -> None:
        """Opens the file when there is a first line for it: a run that fails before leaves none."""
        seen = self.started[1]
        kept = [row for row in read(self.path) if int(row["positions"]) <= seen] if self.path.exists() and seen else []
        self.file = open(self.path, "w", newline="")
        self.writer = csv.DictWriter(self.file, COLUMNS)
        self.writer.writeheader()
        self.writer.writerows(kept)

    def write(self, kind: str, seen: int, seconds: float, values: dict[str, float]) -> None:
        """One line."""
        if not self.file:
            self.open()
        row = {"kind": kind, "positions": seen, "seconds": f"{seconds:.1f}"}
        row |= {name: f"{value:.6g}" for name, value in values.items()}
        self.writer.writerow(row)
        self.file.flush()

    def training(self, seen: int, seconds: float, lr: float, means: dict[str, float]) -> None:
        """Means over the latest batches."""
        self.loss = f"loss {means['loss']:.3f}  top-1 {100 * means['top1']:.1f} %"
        self.write("training", seen, seconds, {"lr": lr, **means})

    def held_out(self, seen: int, seconds: float, means: dict[str, float]) -> None:
        """Means over the held-out positions; draws the plot."""
        self.write("held-out", seen, seconds, means)
        values = "  ".join(f"{name} {value:.4f}" for name, value in means.items())
        self.line(f"{seen:,} positions, held out: {values}", end="\n")
        plot(self.path, self.path.with_name("progress.png"))

    def progress(self, seen: int, seconds: float, share: float) -> None:
        """A line that says how far the run is."""
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + (1 if self.terminal else 60)
        rate = (seen - self.started[1]) / max(1e-9, now - self.started[0])
        left = seconds * (1 - share) / share if share > 0 else 0
        text = f"{seen:,} positions  {rate:,.0f}/s  {100 * share:.1f} %  {left / 60:.0f} min left  {self.loss}"
        self.line(text, end="" if self.terminal else "\n")

    def line(self, text: str, end: str) -> None:
        """Prints over the progress line."""
        print(f"\r{text:<100}" if self.terminal else text, end=end, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends the progress line and the file."""
        if self.terminal:
            print(file=sys.stderr)
        if self.file:
            self.file.close()


def plot(log: Path, picture: Path) -> None:
    """Loss and accuracy against positions seen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = read(log)
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for kind, style in (("training", {"alpha": 0.5}), ("held-out", {"marker": "o", "markersize": 3})):
        for axis, names in zip(axes, (("policy", "value", "origin", "target"), ("top1", "top3"))):
            for name in names:
                points = [(int(r["positions"]), float(r[name])) for r in rows if r["kind"] == kind and r[name]]
                if points:
                    axis.plot(*zip(*points), label=f"{name}, {kind}", **style)
    for axis, title in zip(axes, ("loss", "share of moves named")):
        axis.set(xlabel="positions seen", title=title)
        axis.grid(alpha=0.3)
        if axis.lines:
            axis.legend(fontsize=8)
    temporary = picture.with_name(picture.name + ".tmp")
    figure.savefig(temporary, dpi=110, format="png")
    pyplot.close(figure)
    temporary.replace(picture)
