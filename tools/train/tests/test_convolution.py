"""The convolution against torch's in float64."""

import pytest
import torch
from fianchetto_train import kernels
from fianchetto_train.convolution import Conv3x3, convolve
from torch.nn import functional

needs_kernels = pytest.mark.skipif(
    not kernels.available(), reason="cargo build --release -p fianchetto-train-kernels was not run"
)

# Largest error over the root mean square of the right values: Winograd's F(4x4, 3x3) in f32 loses about two digits.
BAR = 6e-5


def error(found, right):
    return ((found.double() - right).abs().max() / right.pow(2).mean().sqrt()).item()


def right(x, weight, gradient):
    """Output, gradient by the input and by the weight, in float64."""
    x, weight = (tensor.detach().double().requires_grad_() for tensor in (x, weight))
    y = functional.conv2d(x, weight, padding=1)
    y.backward(gradient.double())
    return y.detach(), x.grad, weight.grad


@needs_kernels
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("batch, inputs, outputs", [(1, 8, 8), (13, 19, 64), (37, 64, 64), (24, 96, 32), (5, 33, 47)])
def test_values_and_gradients(batch, inputs, outputs, threads, request):
    before = torch.get_num_threads()
    request.addfinalizer(lambda: torch.set_num_threads(before))
    torch.set_num_threads(threads)
    torch.manual_seed(batch)
    layer = Conv3x3(inputs, outputs)
    x = torch.randn(batch, inputs, 8, 8, requires_grad=True)
    gradient = torch.randn(batch, outputs, 8, 8)
    y = layer(x)
    y.backward(gradient)
    assert y.is_contiguous(memory_format=torch.channels_last)
    y_right, dx_right, dw_right = right(x, layer.weight, gradient)
    assert error(y.detach(), y_right) < BAR
    assert error(x.grad, dx_right) < BAR
    assert error(layer.weight.grad, dw_right) < BAR


@needs_kernels
def test_the_gradients_are_those_of_the_output():
    """The directional derivative in f32 by differences, which knows nothing of another convolution."""
    torch.manual_seed(0)
    x, weight = torch.randn(3, 16, 8, 8), torch.randn(16, 16, 3, 3)
    for moved, fixed, order in [(x, weight, lambda a, b: (a, b)), (weight, x, lambda a, b: (b, a))]:
        step, gradient = torch.randn_like(moved), torch.randn(3, 16, 8, 8)
        variable = moved.clone().requires_grad_()
        convolve(*order(variable, fixed)).backward(gradient)
        ahead, behind = (convolve(*order(moved + sign * step, fixed)) for sign in (0.5, -0.5))
        difference = ((ahead - behind).double() * gradient).sum()  # exact: the convolution is linear in each
        derivative = (variable.grad.double() * step).sum()
        assert derivative.item() == pytest.approx(difference.item(), rel=1e-4)


@needs_kernels
@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x,
        lambda x: x.to(memory_format=torch.channels_last),
        lambda x: torch.stack((x, x), -1)[..., 0],
        lambda x: torch.cat((x, x))[: len(x)].flip(0).flip(0),
        lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    ],
)
def test_any_layout_of_the_input(layout):
    torch.manual_seed(1)
    x, weight = torch.randn(6, 24, 8, 8), torch.randn(16, 24, 3, 3)
    gradient = layout(torch.randn(6, 16, 8, 8))
    variable, filters = layout(x).requires_grad_(), weight.flip(3).flip(3).requires_grad_()
    y = convolve(variable, filters)
    y.backward(gradient)
    for found, expected in zip((y.detach(), variable.grad, filters.grad), right(x, weight, gradient), strict=True):
        assert error(found, expected) < BAR


@needs_kernels
def test_only_what_is_asked_for():
    x, weight = torch.randn(2, 8, 8, 8), torch.randn(8, 8, 3, 3, requires_grad=True)
    convolve(x, weight).sum().backward()
    assert x.grad is None and weight.grad is not None
    with torch.no_grad():
        assert not convolve(x, weight).requires_grad


@needs_kernels
def test_the_same_result_each_time():
    x, weight = torch.randn(50, 32, 8, 8), torch.randn(32, 32, 3, 3, requires_grad=True)
    gradients = [torch.autograd.grad(convolve(x, weight).pow(2).sum(), weight)[0] for _ in range(2)]
    assert torch.equal(*gradients)


def test_double_precision_is_left_to_torch():
    torch.manual_seed(2)
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(4, 3, 3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(convolve, (x, weight))


def test_an_empty_batch():
    assert convolve(torch.randn(0, 3, 8, 8), torch.randn(4, 3, 3, 3)).shape == (0, 4, 8, 8)


def test_wrong_types_and_shapes_are_named():
    x = torch.randn(2, 3, 8, 8)
    with pytest.raises(TypeError, match="float32.*float64"):
        convolve(x, torch.randn(4, 3, 3, 3).double())
    with pytest.raises(ValueError, match=r"\[2, 3, 8, 8\].*\[4, 5, 3, 3\]"):
        convolve(x, torch.randn(4, 5, 3, 3))
    with pytest.raises(ValueError, match=r"\[2, 3, 9, 9\]"):
        convolve(torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3))


def test_the_parameter_is_that_of_a_torch_layer():
    state = torch.nn.Conv2d(19, 64, 3, padding=1, bias=False).state_dict()
    Conv3x3(19, 64).load_state_dict(state)
