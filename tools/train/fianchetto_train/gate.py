"""The gate of a recurrent tower as one step of autograd."""

import torch

from . import kernels
from .convolution import boards_last, empty_boards


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, candidate, previous, weight, bias):
        candidate, previous = boards_last(candidate), boards_last(previous)
        opening, output = empty_boards(*candidate.shape[:2]), empty_boards(*candidate.shape[:2])
        kernels.call(
            "gate_forward",
            candidate=candidate,
            previous=previous,
            weight=weight,
            bias=bias,
            opening=opening,
            output=output,
            boards=candidate.shape[0],
            channels=candidate.shape[1],
        )
        ctx.save_for_backward(candidate, previous, weight, bias, opening)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        candidate, previous, weight, bias, opening = ctx.saved_tensors
        gradient = boards_last(gradient)
        gradients = [torch.empty_like(tensor) for tensor in (candidate, previous, weight, bias)]
        kernels.call(
            "gate_backward",
            candidate=candidate,
            previous=previous,
            weight=weight,
            opening=opening,
            gradient=gradient,
            candidate_gradient=gradients[0],
            previous_gradient=gradients[1],
            weight_gradient=gradients[2],
            bias_gradient=gradients[3],
            boards=candidate.shape[0],
            channels=candidate.shape[1],
        )
        return tuple(gradients)


def mix(candidate, previous, gate):
    """`z * candidate + (1 - z) * previous` with `z = sigmoid(gate([candidate; previous]))`, all [batch, channels, 8, 8].

    `gate` is a 1x1 convolution from twice the channels, with a bias.
    """
    if candidate.shape[2:] == (8, 8) and kernels.serve(candidate, previous, gate.weight, gate.bias):
        return _Gate.apply(candidate, previous, gate.weight.contiguous(), gate.bias)
    z = torch.sigmoid(gate(torch.cat((candidate, previous), 1)))
    return torch.lerp(previous, candidate, z)
