"""Asks a built `fianchetto` for its probabilities, many positions in one process."""

import json
import subprocess


def predict(binary: str, weights: str, fens: list[str], options: tuple[str, ...] = ()) -> list[dict]:
    """One answer a FEN: `value` and `moves`, the latter as {UCI move: probability}, best first.

    FinishPlies is off, so that the probabilities are the network's own.
    """
    command = [binary, "predict", "--json", "-", "--weights", weights, *options]
    done = subprocess.run(
        [*command, "--option", "FinishPlies=0"],
        input="".join(f"{fen}\n" for fen in fens),
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(fens):
        raise SystemExit(f"{len(answers)} answers to {len(fens)} positions")
    return [
        {"value": answer["value"], "moves": {move["uci"]: move["p"] for move in answer["moves"]}}
        for answer in answers
    ]
