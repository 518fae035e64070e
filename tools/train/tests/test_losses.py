"""Losses against dense float64 arithmetic in NumPy, and optimisers."""

import math

import numpy as np
import pytest
import torch

from fianchetto_train import losses, optimiser
from fianchetto_train.networks import build
from fianchetto_train.shards import Folder, batch_of


@pytest.fixture
def batch(shards):
    return batch_of(Folder(shards / "train").first(64))


def dense_cross_entropy(logits, batch) -> float:
    """Minus the mean log-probability of the move played, among 4096 of which the illegal have none."""
    total = 0.0
    for row, count, legal, played in zip(logits, batch.legal_count, batch.legal, batch.played):
        dense = np.full(4096, -np.inf)
        indices = legal[:count].numpy()
        dense[indices] = row.double().numpy()[indices]
        exponents = np.exp(dense - dense.max())
        total -= math.log(exponents[played] / exponents.sum())
    return total / len(logits)


def among_legal(logits, batch):
    """The logits of the legal moves, as a network gives them."""
    inside = torch.arange(batch.legal.shape[1]) < batch.legal_count[:, None]
    return logits.gather(1, batch.legal).masked_fill(~inside, -torch.inf)


def test_policy_loss_and_its_gradient(batch):
    torch.manual_seed(1)
    logits = (3 * torch.randn(64, 4096)).requires_grad_()
    values = torch.rand(64) * 2 - 1
    result = losses.residual((among_legal(logits, batch), values), batch)
    squared = float(((values.double() - batch.result.double()) ** 2).mean())
    assert float(result.parts["policy"]) == pytest.approx(dense_cross_entropy(logits.detach(), batch), rel=1e-6)
    assert float(result.parts["value"]) == pytest.approx(squared, rel=1e-6)
    assert result.total.item() == pytest.approx(float(result.parts["policy"]) + squared, rel=1e-6)

    result.total.backward()
    for row in range(64):
        legal = batch.legal[row, : batch.legal_count[row]].numpy()
        expected = np.zeros(4096)
        exponents = np.exp(logits[row].detach().double().numpy()[legal])
        expected[legal] = exponents / exponents.sum() / 64
        expected[int(batch.played[row])] -= 1 / 64
        assert np.abs(logits.grad[row].numpy() - expected).max() < 1e-8


def test_accuracy_counts_legal_moves_only(batch):
    logits = torch.full((64, 4096), 100.0)
    logits.scatter_(1, batch.legal, 0.0)
    logits[torch.arange(64), batch.played] = 1.0
    parts = losses.residual((among_legal(logits, batch), torch.zeros(64)), batch).parts
    assert parts["top1"] == 1 and parts["top3"] == 1
    # Three legal moves above the one played.
    for row in range(64):
        others = [i for i in batch.legal[row, : batch.legal_count[row]].tolist() if i != batch.played[row]]
        logits[row, others[:3]] = 2.0
    expected = (batch.legal_count <= 3).float().mean()
    parts = losses.residual((among_legal(logits, batch), torch.zeros(64)), batch).parts
    assert parts["top1"] == (batch.legal_count == 1).float().mean() and parts["top3"] == expected


def test_sigma_go_speaks_for_white_and_halves_the_value(batch):
    logits = among_legal(torch.zeros(64, 4096), batch)
    for_white = torch.where(batch.white, batch.result, -batch.result)
    result = losses.sigma_go((logits, for_white), batch)
    assert result.parts["value"] == 0
    result = losses.sigma_go((logits, torch.zeros(64)), batch)
    expected = float(result.parts["policy"]) + 0.5 * float((batch.result**2).mean())
    assert float(result.total) == pytest.approx(expected, rel=1e-6)


def test_pair_is_two_cross_entropies(batch):
    torch.manual_seed(2)
    origin, target = torch.randn(64, 64), torch.randn(64, 64)
    result = losses.from_to((origin, target), batch)
    expected = 0.0
    for logits, squares in ((origin, batch.played // 64), (target, batch.played % 64)):
        exponents = np.exp(logits.double().numpy())
        expected -= np.log(exponents[np.arange(64), squares] / exponents.sum(1)).mean()
    assert float(result.total) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["adamw", "muon"])
@pytest.mark.parametrize("lr", [1e-8, 1.0, 100.0])
def test_gradients_stay_finite_at_extreme_rates(name, lr, shards, batch):
    torch.manual_seed(0)
    layout = Folder(shards / "train").layout
    network = build("residual", {"channels": 8, "blocks": 2, "se": True, "gated": True, "recurrence": 2}, True)
    chosen = optimiser.build(name, network, lr, 1e-4)
    for _ in range(6):
        loss = losses.losses("residual", network, batch.planes(layout), batch).total
        chosen.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        assert torch.isfinite(loss) and torch.isfinite(norm)
        chosen.step()
    assert all(torch.isfinite(p).all() for p in network.parameters())


def test_our_adamw_is_pytorchs():
    torch.manual_seed(0)
    ours = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
    theirs = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
    theirs.load_state_dict(ours.state_dict())
    a = optimiser.build("muon", ours, 1e-2, 1e-1)
    b = optimiser.build("adamw", theirs, 1e-2, 1e-1)
    for _ in range(10):
        x = torch.randn(16, 5)
        for network, chosen in ((ours, a), (theirs, b)):
            chosen.zero_grad()
            network(x).square().sum().backward()
            chosen.step()
    for p, q in zip(ours.parameters(), theirs.parameters()):
        assert torch.allclose(p, q, rtol=1e-5, atol=1e-7)


def test_orthogonal_brings_singular_values_near_one():
    torch.manual_seed(0)
    for shape in ((16, 144), (144, 16)):
        values = torch.linalg.svdvals(optimiser.orthogonal(torch.randn(shape)))
        assert 0.6 < values.min() and values.max() < 1.3


def test_course_of_the_learning_rate():
    rate = lambda progress: optimiser.learning_rate(1e-3, progress, 0.1, 0.02)  # noqa: E731
    assert rate(0.05) == pytest.approx(5e-4)
    assert rate(0.1) == pytest.approx(1e-3)
    assert rate(0.55) == pytest.approx(1e-3 * 0.51)
    assert rate(1.0) == rate(1.5) == pytest.approx(2e-5)
