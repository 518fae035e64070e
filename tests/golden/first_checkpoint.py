"""A converted checkpoint against PyTorch running the original, on positions of human games.

    python first_checkpoint.py --checkpoint first-64x6r2.pt --weights first-64x6r2.safetensors \\
        --games games-00.pgn.zst --binary target/release/fianchetto

Prints how many best moves agree and the largest differences in probability and value, and exits
with status 1 when a difference exceeds `--tolerance`. Both sides see plain FENs, no history.
"""

import argparse
import io
import random
import subprocess
import sys

import numpy as np
from network import Network, canonical19, chess, load, torch
from predict import predict
from random_weights import Spec

import chess.pgn


def network(checkpoint: str) -> Network:
    """The network of a PyTorch checkpoint with the names that Fianchetto's weights files use."""
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    config, tensors = saved["network_config"], saved["network"]
    spec = Spec(
        channels=config["channels"],
        blocks=config["blocks"],
        recurrence=config.get("recurrence", 1),
        gate=config.get("gated", False),
        se_width=len(tensors["tower.0.se.fc1.bias"]) if config.get("se") else 0,
        policy_channels=len(tensors["policy_conv.weight"]),
        value_channels=len(tensors["value_conv.weight"]),
        value_hidden=len(tensors["value_fc1.bias"]),
    )
    return load(spec, tensors)


def sample(games: str, count: int, seed: int) -> list[str]:
    """FENs from `count` random games, at a random ply of each."""
    unpacked = subprocess.run(["zstd", "-dc", "--long=27", games], stdout=subprocess.PIPE, check=True)
    texts = unpacked.stdout.decode().split("\n\n[")
    source = random.Random(seed)
    fens = []
    for text in source.sample(texts, count):
        game = chess.pgn.read_game(io.StringIO("[" + text.removeprefix("[")))
        moves = list(game.mainline_moves())
        board = game.board()
        for move in moves[: source.randrange(len(moves))]:
            board.push(move)
        fens.append(board.fen(en_passant="fen"))
    return fens


@torch.no_grad()
def answers(net: Network, dtype: torch.dtype, fens: list[str]) -> list[dict]:
    """What PyTorch says, in the form of `predict`, with a softmax over the legal moves in f64."""
    net = net.to(dtype)
    boards = [chess.Board(fen) for fen in fens]
    planes = torch.from_numpy(np.stack([canonical19.planes(board) for board in boards])).to(dtype)
    outputs = [net(batch) for batch in planes.split(50)]
    logits, values = (torch.cat(parts).double().numpy() for parts in zip(*outputs))
    result = []
    for board, row, value in zip(boards, logits, values):
        moves, indices = zip(*canonical19.legal_indices(board))
        legal = row[list(indices)]
        weight = np.exp(legal - legal.max())
        result.append({"value": value, "moves": dict(zip(moves, weight / weight.sum()))})
    return result


def best(answer: dict) -> str:
    return max(answer["moves"], key=answer["moves"].get)


def compare(ours: list[dict], theirs: list[dict], fens: list[str]) -> tuple[int, float, float]:
    """Agreeing best moves, largest differences in probability and value; prints disagreements."""
    same, worst_p, worst_value = 0, 0.0, 0.0
    for fen, a, b in zip(fens, ours, theirs):
        moves = a["moves"].keys() | b["moves"].keys()
        # A move that one side does not name (an under-promotion) has no probability there.
        gaps = [abs(a["moves"].get(move, 0.0) - b["moves"].get(move, 0.0)) for move in moves]
        worst_p = max(worst_p, *gaps)
        worst_value = max(worst_value, abs(a["value"] - b["value"]))
        if best(a) == best(b):
            same += 1
        else:
            margin = b["moves"][best(b)] - b["moves"].get(best(a), 0.0)
            print(f"  {fen}: ours {best(a)}, theirs {best(b)}, which they hold {margin:.2e} likelier")
    return same, worst_p, worst_value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="the .pt file")
    parser.add_argument("--weights", required=True, help="the safetensors file made of it")
    parser.add_argument("--games", required=True, help="human games, .pgn.zst")
    parser.add_argument("--binary", required=True, help="the fianchetto program")
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=1e-2, help="1e-5 suits f32 weights")
    arguments = parser.parse_args()

    torch.set_num_threads(1)  # on a busy machine more threads wait for one another
    fens = sample(arguments.games, arguments.positions, arguments.seed)
    net = network(arguments.checkpoint)
    double = answers(net, torch.float64, fens)
    single = answers(net, torch.float32, fens)
    ours = predict(arguments.binary, arguments.weights, fens)

    pairs = [
        ("ours, PyTorch f64", ours, double),
        ("ours, PyTorch f32", ours, single),
        ("PyTorch f32, PyTorch f64", single, double),
    ]
    failed = False
    for name, a, b in pairs:
        same, worst_p, worst_value = compare(a, b, fens)
        print(f"{name:25} best move equal on {same} of {len(fens)}, largest difference: ", end="")
        print(f"probability {worst_p:.2e}, value {worst_value:.2e}")
        failed |= not max(worst_p, worst_value) <= arguments.tolerance
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
