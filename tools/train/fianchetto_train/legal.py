"""The policy layer for the legal moves alone: some thirty of its thousands of rows."""

import torch
from torch.nn import functional

from . import kernels


def _sizes(x, weight, index):
    return {"boards": x.shape[0], "width": index.shape[1], "inputs": x.shape[1], "rows": weight.shape[0]}


class _LegalLogits(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, index, count):
        x = x.contiguous()
        output = x.new_empty(index.shape)
        kernels.call(
            "legal_forward",
            x=x,
            weight=weight,
            bias=bias,
            index=index,
            count=count,
            output=output,
            **_sizes(x, weight, index),
        )
        ctx.save_for_backward(x, weight, bias, index, count)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        x, weight, bias, index, count = ctx.saved_tensors
        gradient = gradient.contiguous()
        dx, dw, db = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias)
        kernels.call(
            "legal_backward",
            x=x,
            weight=weight,
            index=index,
            count=count,
            gradient=gradient,
            x_gradient=dx,
            weight_gradient=dw,
            bias_gradient=db,
            **_sizes(x, weight, index),
        )
        return dx, dw, db, None, None


def legal_logits(x, layer, index, count):
    """The rows `index` [batch, width] (int64) of the linear `layer`'s output for features `x` [batch, inputs].

    Of each position's `width` only the first `count` [batch] (int64) are wanted; behind them is minus infinity.
    """
    if kernels.serve(x, layer.weight, layer.bias) and index.numel() > 0:
        weight, bias = layer.weight.contiguous(), layer.bias.contiguous()
        return _LegalLogits.apply(x, weight, bias, index.contiguous(), count.contiguous())
    inside = torch.arange(index.shape[1], device=x.device) < count[:, None]
    logits = functional.linear(x, layer.weight, layer.bias)
    return logits.gather(1, index.where(inside, 0)).masked_fill(~inside, -torch.inf)
