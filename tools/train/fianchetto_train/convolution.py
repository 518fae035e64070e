"""A 3x3 convolution of 8x8 boards that trains fast on a CPU: `torch.nn.Conv2d`, with the kernels' passes where they can serve."""

import torch
from torch import nn
from torch.nn import functional

from . import kernels


def boards_last(x):
    """`x` [batch, channels, 8, 8] with its channels last in memory and without gaps, which is what the kernels read."""
    batch, channels, ranks, files = x.shape
    if x.stride() == (channels * ranks * files, 1, files * channels, channels):
        return x
    return x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


def empty_boards(batch, channels):
    """An unset tensor [batch, channels, 8, 8], channels last in memory."""
    return torch.empty(batch, 8, 8, channels).permute(0, 3, 1, 2)


def sizes(x, weight):
    """The sizes of a convolution's passes."""
    return {"boards": x.shape[0], "inputs": x.shape[1], "outputs": weight.shape[0]}


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        x, weight = boards_last(x), weight.contiguous()
        y = empty_boards(x.shape[0], weight.shape[0])
        kernels.call("convolution_forward", input=x, weight=weight, output=y, **sizes(x, weight))
        ctx.save_for_backward(x, weight)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        dx = empty_boards(x.shape[0], x.shape[1]) if ctx.needs_input_grad[0] else None
        dw = torch.empty_like(weight) if ctx.needs_input_grad[1] else None
        gradient = boards_last(gradient)  # named, to live until the call is over
        kernels.call(
            "convolution_backward",
            input=x,
            weight=weight,
            gradient=gradient,
            input_gradient=dx,
            weight_gradient=dw,
            **sizes(x, weight),
        )
        return dx, dw


def convolve(x, weight):
    """`x` [batch, inputs, 8, 8] by `weight` [outputs, inputs, 3, 3] to [batch, outputs, 8, 8], with a border of zeros.

    The same as `torch.nn.functional.conv2d(x, weight, padding=1)`, rounded otherwise.
    """
    if x.dim() != 4 or x.shape[2:] != (8, 8) or weight.shape[1:] != (x.shape[1], 3, 3):
        raise ValueError(
            f"found boards {list(x.shape)} and a weight {list(weight.shape)}; "
            "expected [batch, inputs, 8, 8] and [outputs, inputs, 3, 3]"
        )
    if x.dtype != weight.dtype:
        raise TypeError(f"found boards of {x.dtype} and a weight of {weight.dtype}; convert one to the other's type")
    if kernels.serve(x, weight):
        return _Convolution.apply(x, weight)
    return functional.conv2d(x, weight, padding=1)


class Conv3x3(nn.Conv2d):
    """`torch.nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)`, same parameter, for boards of 8x8."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs, 3, padding=1, bias=False)

    def forward(self, x):
        return convolve(x, self.weight)
