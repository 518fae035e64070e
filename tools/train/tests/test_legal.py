"""The policy layer for the legal moves alone against the whole layer in float64."""

import copy

import pytest
import torch
from fianchetto_train import kernels
from fianchetto_train.legal import legal_logits
from torch import nn

needs_kernels = pytest.mark.skipif(
    not kernels.available(), reason="cargo build --release -p fianchetto-train-kernels was not run"
)


def positions(batch, rows, width):
    index = torch.stack([torch.randperm(rows)[:width] for _ in range(batch)])
    return index, torch.randint(1, width + 1, (batch,))


@needs_kernels
@pytest.mark.parametrize("batch, inputs, rows, width", [(1, 1, 1, 1), (7, 37, 50, 9), (33, 2048, 300, 40)])
def test_logits_and_gradients(batch, inputs, rows, width):
    torch.manual_seed(inputs)
    layer, x = nn.Linear(inputs, rows), torch.randn(batch, inputs, requires_grad=True)
    index, count = positions(batch, rows, width)
    inside = torch.arange(width) < count[:, None]
    gradient = torch.randn(batch, width)

    logits = legal_logits(x, layer, index, count)
    assert logits.grad_fn.name().startswith("_"), "the kernels were not used"
    assert (logits[~inside] == -torch.inf).all()
    logits.masked_fill(~inside, 0).backward(gradient)

    right, right_x = copy.deepcopy(layer).double(), x.detach().double().requires_grad_()
    right_logits = right(right_x).gather(1, index)
    right_logits.masked_fill(~inside, 0).backward(gradient.double())
    assert torch.allclose(logits[inside].double(), right_logits[inside], rtol=1e-5, atol=1e-5)
    for found, expected in [
        (x.grad, right_x.grad),
        (layer.weight.grad, right.weight.grad),
        (layer.bias.grad, right.bias.grad),
    ]:
        assert torch.allclose(found.double(), expected, rtol=1e-5, atol=1e-5)


@needs_kernels
def test_what_lies_behind_the_count_is_not_read():
    layer, x = nn.Linear(8, 20), torch.randn(2, 8, requires_grad=True)
    index = torch.tensor([[3, 999, -1], [4, 5, 999]])
    logits = legal_logits(x, layer, index, torch.tensor([1, 2]))
    assert logits.isfinite().tolist() == [[True, False, False], [True, True, False]]
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1])).backward()
    assert layer.weight.grad.isfinite().all() and x.grad.isfinite().all()


@needs_kernels
@pytest.mark.parametrize("index, count", [([[20]], [1]), ([[-1]], [1]), ([[0]], [2]), ([[0]], [-1])])
def test_a_row_that_is_not_there_is_refused(index, count):
    layer = nn.Linear(8, 20)
    with pytest.raises(RuntimeError, match="refused"):
        legal_logits(torch.randn(1, 8), layer, torch.tensor(index), torch.tensor(count))


def test_double_precision_is_left_to_torch():
    torch.manual_seed(0)
    layer, x = nn.Linear(8, 20).double(), torch.randn(3, 8, dtype=torch.float64)
    index, count = positions(3, 20, 5)
    logits = legal_logits(x, layer, index, count)
    inside = torch.arange(5) < count[:, None]
    assert torch.equal(logits[inside], layer(x).gather(1, index)[inside])
    assert (logits[~inside] == -torch.inf).all()
