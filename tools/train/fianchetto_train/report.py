"""The verb `report`: runs beside one another and, if asked for, beside what is published."""

import argparse
import io
from pathlib import Path

from . import log
from .output import number, percent, table, write_whole
from .checkpoint import RunError

# Positions seen and top-1 on held-out human moves: RDTChess's card, and this project's first checkpoint.
MARKS = {"RDTChess 128x8, published": (400_581_531, 0.517), "first-64x6r2": (2_340_000, 0.379)}


def add_arguments(verbs: argparse._SubParsersAction) -> None:
    """Declares the verb."""
    verb = verbs.add_parser("report", help="compare runs: a table and a plot of held-out top-1 against positions seen")
    verb.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folder of a run, with its log.csv")
    verb.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for runs.txt and runs.png")
    verb.add_argument("--published", action="store_true", help="add RDTChess's published figure and this project's first checkpoint")


def measurements(run: Path) -> list[dict[str, float]]:
    """What a run's log says of held-out positions, first to last."""
    path = run / "log.csv"
    try:
        lines = [line for line in log.read(path) if line["kind"] == "held-out"]
        found = [{k: float(v) for k, v in line.items() if k != "kind" and v} for line in lines]
        complete = all({"positions", "seconds", "top1", "top3"} <= line.keys() for line in found)
    except FileNotFoundError:
        raise RunError(f"{path} is not there: expected the --out folder of a run") from None
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise RunError(f"{path} cannot be read as the log of a run: {error}") from None
    if not found or not complete:
        raise RunError(f"{path} has no whole line of kind held-out: has the run measured itself yet?")
    return found


def names(runs: list[Path]) -> list[str]:
    """The folders' names, or their paths where two have the same name."""
    short = [run.resolve().name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]


def runs_table(runs: dict[str, list[dict[str, float]]], marks: dict[str, tuple[int, float]]) -> str:
    """One line for each run, as it stood last, and for each mark."""
    rows = []
    for name, lines in runs.items():
        last, best = lines[-1], max(line["top1"] for line in lines)
        losses = [number(last.get("policy")), number(last.get("value"))]
        minutes = f"{last['seconds'] / 60:.0f}"
        rows.append([name, f"{last['positions']:,.0f}", minutes, percent(last["top1"]), percent(best), percent(last["top3"]), *losses])
    for name, (positions, top1) in marks.items():
        rows.append([name, f"{positions:,}", "-", percent(top1), "-", "-", "-", "-"])
    header = ["run", "positions seen", "minutes", "top-1 %", "best %", "top-3 %", "policy loss", "value error"]
    return table(header, rows) + "\n"


def plot(runs: dict[str, list[dict[str, float]]], marks: dict[str, tuple[int, float]]) -> bytes:
    """Held-out top-1 against positions seen, as a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(9, 5.5), layout="constrained")
    for name, lines in runs.items():
        points = [(line["positions"], 100 * line["top1"]) for line in lines if line["positions"] > 0]
        axis.plot(*zip(*points), marker="o", markersize=3, label=name)
    for (name, (positions, top1)), marker in zip(marks.items(), "*D"):
        axis.plot(positions, 100 * top1, marker, color="black", markersize=8)
        text = f"{name}: {100 * top1:.1f} %"
        axis.annotate(text, (positions, 100 * top1), xytext=(-8, 0), textcoords="offset points", ha="right", va="center")
    axis.set(xscale="log", xlabel="positions seen", ylabel="held-out top-1, %")
    axis.grid(which="both", alpha=0.25)
    axis.legend(loc="lower right")
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120, format="png")
    pyplot.close(figure)
    return picture.getvalue()


def run(a: argparse.Namespace) -> int:
    """The verb `report`."""
    runs = dict(zip(names(a.runs), map(measurements, a.runs)))
    marks = MARKS if a.published else {}
    text = runs_table(runs, marks)
    a.out.mkdir(parents=True, exist_ok=True)
    write_whole(a.out / "runs.txt", text.encode())
    write_whole(a.out / "runs.png", plot(runs, marks))
    print(text, end="")
    return 0
