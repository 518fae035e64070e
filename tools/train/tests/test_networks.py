"""Sizes and names of the networks, and that an exported one plays the same in Fianchetto."""

import importlib
import subprocess

import chess
import numpy as np
import pytest
import torch
from conftest import program

from fianchetto_train import networks
from fianchetto_train.model import Model
from fianchetto_train.networks.moves import MoveKernels, displacements


def parameters(network) -> int:
    return sum(p.numel() for p in network.parameters())


def test_parameter_counts():
    """The published 10,915,809, 11.05 M and about 12.5 M; the pair's counted by hand."""
    assert parameters(networks.build("residual", {})) == 10_915_809
    gated = {"recurrence": 2, "gated": True, "se": True}
    assert parameters(networks.build("residual", gated)) == 11_049_313
    assert 12.4e6 < parameters(networks.build("sigma-go", {})) < 12.6e6
    layers = [(12 * 4, 128), (128 * 4, 128), (36 * 128, 1024), (1024, 1024), (1024, 64)]
    by_hand = 2 * sum(inputs * outputs + outputs for inputs, outputs in layers)
    assert parameters(networks.build("from-to", {})) == by_hand


def test_unknown_sizes_are_named():
    with pytest.raises(ValueError, match="no size named channel: it has channels, blocks"):
        networks.build("residual", {"channel": 64})
    with pytest.raises(ValueError, match="--move-kernels"):
        networks.build("from-to", {}, move_kernels=True)


def test_published_names():
    state = networks.build("residual", {"channels": 8, "blocks": 1, "gated": True, "se": True}).export()
    for name in ("stem.0.weight", "stem.1.running_var", "tower.0.conv1.weight", "tower.0.bn2.bias",
                 "tower.0.se.fc2.weight", "gate.bias", "policy_fc.weight", "value_fc2.bias"):  # fmt: skip
        assert name in state
    state = networks.build("sigma-go", {"channels": 8, "blocks": 1}).export()
    for name in ("conv_input.0.bias", "conv_input.1.running_mean", "res_tower.0.conv1.bias",
                 "policy_head.4.weight", "value_head.4.weight", "value_head.6.bias"):  # fmt: skip
        assert name in state


def test_displacements():
    """From b1 a queen and a knight on an empty board reach 21 + 3 squares; 64 ways to move in all."""
    assert len(displacements()) == 56 + 8
    possible = MoveKernels(1).possible.view(64, 64)
    for square in chess.SQUARES:
        board = chess.BaseBoard.empty()
        board.set_piece_at(square, chess.Piece(chess.QUEEN, chess.WHITE))
        reached = board.attacks(square) | chess.SquareSet(chess.BB_KNIGHT_ATTACKS[square])
        assert possible[square].nonzero().squeeze(1).tolist() == list(reached)


def test_move_kernels_merge_exactly():
    torch.manual_seed(0)
    kernels = MoveKernels(32).double()
    torch.nn.init.normal_(kernels.bias)
    features = torch.randn(4, 32, 8, 8, dtype=torch.float64)
    weight, bias = kernels.as_linear()
    merged = features.flatten(1) @ weight.T + bias
    index = torch.randint(4096, (4, 500))
    assert (kernels(features, index) - merged.gather(1, index)).abs().max() < 1e-12


@pytest.mark.parametrize("family,move_kernels", [("residual", True), ("sigma-go", False)])
def test_logits_of_legal_moves_are_those_of_all(family, move_kernels):
    torch.manual_seed(0)
    network = networks.build(family, {"channels": 16, "blocks": 1}, move_kernels)
    planes = torch.rand(6, network.config.input_planes, 8, 8)
    index, count = torch.randint(4096, (6, 40)), torch.tensor([1, 40, 7, 30, 39, 2])
    logits, values = network(planes)
    among, same_values = network(planes, index, count)
    for row, n in enumerate(count):
        assert torch.allclose(among[row, :n], logits[row, index[row, :n]], atol=1e-5)
        assert (among[row, n:] == -torch.inf).all()
    assert torch.allclose(values, same_values, atol=1e-5)


GATED = {"channels": 16, "blocks": 1, "recurrence": 2, "gated": True, "se": True}


@pytest.mark.parametrize("family,sizes,move_kernels", [("residual", {"channels": 24, "blocks": 2}, False),
                                                       ("residual", {"channels": 24, "blocks": 2}, True),
                                                       ("residual", GATED, False),
                                                       ("residual", GATED, True),
                                                       ("sigma-go", {"channels": 24, "blocks": 2}, False),
                                                       ("from-to", {"filters": 24, "hidden": 40}, False)])  # fmt: skip
def test_exported_network_plays_the_same_in_fianchetto(family, sizes, move_kernels, tmp_path):
    from predict import predict

    encoding = importlib.import_module(networks.ENCODINGS[family])
    torch.manual_seed(3)
    network = networks.build(family, sizes, move_kernels)
    network.train()
    boards = [chess.Board()]
    for uci in "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6 c1g5 e7e6 f2f4 d8b6".split():
        boards.append(boards[-1].copy(stack=False))
        boards[-1].push_uci(uci)
    planes = torch.from_numpy(np.stack([encoding.planes(board) for board in boards]))
    for _ in range(20):  # BatchNorm's running statistics move away from where they start
        network(planes)
    torch.save(networks.checkpoint(network), tmp_path / "net.pt")
    command = [program("fianchetto-convert"), tmp_path / "net.pt", tmp_path / "net.safetensors"]
    subprocess.run([*command, "--source", "a test", "--licence", "none"], check=True, capture_output=True)
    answers = predict(
        str(program("fianchetto")), str(tmp_path / "net.safetensors"), [b.fen(en_passant="fen") for b in boards]
    )
    logits, values = Model(family, network.double().eval()).evaluate(planes.double())
    values = [None] * len(boards) if values is None else values.tolist()
    for board, row, value, answer in zip(boards, logits.double(), values, answers):
        moves = encoding.legal_indices(board)
        p = torch.softmax(row[[index for _, index in moves]], 0)
        for (uci, _), expected in zip(moves, p.tolist()):
            assert answer["moves"][uci] == pytest.approx(expected, abs=2e-6)
        assert answer["value"] == (value if value is None else pytest.approx(value, abs=1e-5))
