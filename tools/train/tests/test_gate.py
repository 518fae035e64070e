"""The gate against torch's layers in float64."""

import copy

import pytest
import torch
from fianchetto_train import kernels
from fianchetto_train.gate import mix
from torch import nn

needs_kernels = pytest.mark.skipif(
    not kernels.available(), reason="cargo build --release -p fianchetto-train-kernels was not run"
)


def right_mix(candidate, previous, gate):
    z = torch.sigmoid(gate(torch.cat((candidate, previous), 1)))
    return z * candidate + (1 - z) * previous


@needs_kernels
@pytest.mark.parametrize("batch, channels, size", [(1, 1, 1), (3, 16, 1), (5, 24, 3), (2, 37, 30), (9, 64, 1)])
def test_values_and_gradients(batch, channels, size):
    """Also for states so large that the sigmoid is flat."""
    torch.manual_seed(channels)
    gate = nn.Conv2d(2 * channels, channels, 1)
    states = [size * torch.randn(batch, channels, 8, 8) for _ in range(2)]
    gradient = torch.randn(batch, channels, 8, 8)
    found_states = [state.clone().requires_grad_() for state in states]
    right_states = [state.double().requires_grad_() for state in states]
    right_gate = copy.deepcopy(gate).double()

    found, right = mix(*found_states, gate), right_mix(*right_states, right_gate)
    assert found.grad_fn.name().startswith("_"), "the kernels were not used"
    found.backward(gradient)
    right.backward(gradient.double())
    found, right = [found, *found_states, *gate.parameters()], [right, *right_states, *right_gate.parameters()]
    for i in range(1, 5):
        found[i], right[i] = found[i].grad, right[i].grad
    for value, expected in zip(found, right, strict=True):
        error = (value.double() - expected).abs().max() / expected.pow(2).mean().sqrt()
        assert error < 2e-5


@needs_kernels
@pytest.mark.parametrize("bias, share", [(200.0, 1.0), (-200.0, 0.0)])
def test_an_open_and_a_closed_gate(bias, share):
    gate = nn.Conv2d(16, 8, 1)
    nn.init.zeros_(gate.weight)
    nn.init.constant_(gate.bias, bias)
    candidate, previous = torch.randn(2, 8, 8, 8), torch.randn(2, 8, 8, 8)
    assert torch.allclose(mix(candidate, previous, gate), share * candidate + (1 - share) * previous, atol=1e-6)


def test_double_precision_is_left_to_torch():
    gate = nn.Conv2d(6, 3, 1).double()
    states = [torch.randn(2, 3, 8, 8, dtype=torch.float64) for _ in range(2)]
    assert torch.allclose(mix(*states, gate), right_mix(*states, gate))
