"""Expected values for the arithmetic of results, by NumPy and SciPy.

    pip install numpy scipy
    python statistics.py        # writes ../data/elo.tsv, llr.tsv and mcnemar.tsv
"""

from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.stats import binomtest, norm

DATA = Path(__file__).resolve().parent.parent / "data"
SCORES = np.arange(5) / 4


def write(name, head, rows):
    lines = [f"# {head}; made by tests/golden/statistics.py", *("\t".join(map(str, row)) for row in rows)]
    (DATA / name).write_text("\n".join(lines) + "\n")


def elo(score):
    return 400 * (np.log10(score) - np.log10(1 - score))


def elo_row(pairs):
    sample = np.repeat(SCORES, pairs)
    error = sample.std() / np.sqrt(len(sample))
    low, high = norm.interval(0.95, sample.mean(), error)
    if error == 0:
        wins = round(sample.mean() * len(sample))
        low, high = binomtest(wins, len(sample)).proportion_ci(0.95, "wilson")
    return [" ".join(map(str, pairs)), sample.mean(), error, elo(low), elo(sample.mean()), elo(high)]


def likelihood(counts, score):
    """The greatest log-likelihood under a mean, by a general optimiser over the five probabilities."""
    best = minimize(
        lambda p: -np.dot(counts, np.log(p)) / counts.sum(),
        np.full(5, 0.2),
        jac=lambda p: -counts / p / counts.sum(),
        bounds=[(1e-12, 1)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(5)},
            {"type": "eq", "fun": lambda p: np.dot(p, SCORES) - score, "jac": lambda p: SCORES},
        ],
        method="trust-constr",
        options={"gtol": 1e-12, "xtol": 1e-14, "barrier_tol": 1e-13, "maxiter": 20000},
    )
    return -best.fun * counts.sum()


def llr_row(pairs, elo0, elo1):
    counts = np.array(pairs, float)
    low, high = (1 / (1 + 10 ** (-e / 400)) for e in (elo0, elo1))
    ratio = likelihood(counts, high) - likelihood(counts, low)
    return [" ".join(map(str, pairs)), elo0, elo1, round(ratio, 4)]


if __name__ == "__main__":
    tallies = [(1, 20, 50, 25, 4), (10, 80, 200, 70, 15), (3, 3, 3, 3, 3), (40, 30, 20, 7, 3), (0, 0, 0, 3, 2), (0, 1, 0, 1, 0)]
    tallies += [(0, 0, 0, 0, 100), (7, 0, 0, 0, 0), (0, 0, 10, 0, 0)]
    write("elo.tsv", "pairs; score; error; Elo low, estimate, high", [elo_row(pairs) for pairs in tallies])
    tests = [
        ((1, 20, 50, 25, 4), 0, 10),
        ((10, 80, 200, 70, 15), -5, 5),
        ((100, 800, 2000, 900, 150), 0, 5),
        ((40, 30, 20, 7, 3), -100, 0),
        ((5, 40, 90, 80, 30), 0, 50),
    ]
    write("llr.tsv", "pairs; Elo under H0; under H1; log-likelihood ratio", [llr_row(*test) for test in tests])
    splits = [(0, 0), (1, 0), (5, 1), (7, 12), (30, 30), (120, 90), (900, 700), (2500, 2501), (40, 900)]
    rows = [[a, b, binomtest(a, a + b).pvalue if a + b else 1.0] for a, b in splits]
    write("mcnemar.tsv", "only the first right; only the second; two-sided p", rows)
