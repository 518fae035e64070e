"""A residual block, and a convolution with what follows it, as one step of autograd each.

The kernels read and write whole boards as seldom as can be: a convolution's output pass sums what batch normalisation needs to
know, the next convolution's input pass normalises, and the backward pass goes the same way. What is left is algebra of
matrices [batch, channels]: the statistics, the scales and offsets, squeeze-and-excitation. torch does that, gradients
included, for a gradient `ds` by the sums and `dq` by the sums of squares of `y` is one of `ds + 2 dq y` by `y`.
"""

import torch
from torch import nn

from . import kernels
from .convolution import boards_last, empty_boards, sizes

SQUARES = 64


def served(x, norm, *weights):
    """Whether the kernels can do the work of these layers in their present mode."""
    plain = norm.training and norm.affine and norm.momentum is not None and norm.track_running_stats
    return plain and x.shape[2:] == (8, 8) and kernels.serve(x, *weights)


def _scale_and_shift(norm, sums, squares):
    """Batch normalisation as `scale[c] * y + shift[c]`, from the sums [batch, channels] over the squares of `y` and `y * y`."""
    count = SQUARES * sums.shape[0]
    mean = sums.sum(0, dtype=torch.float64) / count
    variance = (squares.sum(0, dtype=torch.float64) / count - mean * mean).clamp_min(0)
    scale = norm.weight * (variance + norm.eps).rsqrt()
    with torch.no_grad():
        norm.num_batches_tracked += 1
        norm.running_mean.lerp_(mean.to(norm.running_mean), norm.momentum)
        norm.running_var.lerp_((variance * (count / max(count - 1, 1))).to(norm.running_var), norm.momentum)
    return scale.float(), (norm.bias - mean * scale).float()


def _convolve(x, weight, scale=None, shift=None):
    """The convolution of `x`, or of `max(0, scale * x + shift)`, and the sums of its output, ready to be differentiated."""
    y = empty_boards(x.shape[0], weight.shape[0])
    sums, squares = torch.empty(2, x.shape[0], weight.shape[0])
    kernels.call(
        "convolution_forward",
        input=x,
        scale=scale,
        shift=shift,
        weight=weight,
        output=y,
        sums=sums,
        squares=squares,
        **sizes(x, weight),
    )
    return y, sums.requires_grad_(), squares.requires_grad_()


def _join(y, scale, shift, skip=None):
    """`max(0, scale[b, c] * y + shift[b, c] + skip)`."""
    out = empty_boards(*y.shape[:2])
    kernels.call(
        "join_forward", x=y, scale=scale, shift=shift, skip=skip, output=out, boards=y.shape[0], channels=y.shape[1]
    )
    return out


def _join_gradients(gradient, out, y):
    """The gradients of `_join` by its scale and shift."""
    sums, products = torch.empty(2, *y.shape[:2])
    kernels.call(
        "join_backward",
        gradient=gradient,
        output=out,
        x=y,
        sums=sums,
        products=products,
        boards=y.shape[0],
        channels=y.shape[1],
    )
    return products, sums


def _through(factor, by_sums, by_squares):
    """How the gradient by a convolution's output comes of that by the normalised output and those by its sums."""
    by_gradient = factor.expand_as(by_sums).contiguous()
    return {"by_gradient": by_gradient, "by_output": 2 * by_squares, "offset": by_sums.contiguous()}


class _ConvolutionNormRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, norm, weight, *affine):
        x = boards_last(x)
        y, sums, squares = _convolve(x, weight)
        with torch.enable_grad():
            ctx.scale_shift = _scale_and_shift(norm, sums, squares)
        rows = [vector.detach().expand_as(sums).contiguous() for vector in ctx.scale_shift]
        out = _join(y, *rows)
        ctx.save_for_backward(x, weight, y, out, sums, squares, *affine)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        x, weight, y, out, sums, squares, *affine = ctx.saved_tensors
        gradient = boards_last(gradient)
        by_scale_shift = [rows.sum(0) for rows in _join_gradients(gradient, out, y)]
        by_sums, by_squares, *by_affine = torch.autograd.grad(
            ctx.scale_shift, (sums, squares, *affine), by_scale_shift
        )
        dx = empty_boards(*x.shape[:2]) if ctx.needs_input_grad[0] else None
        dw = torch.empty_like(weight)
        through = _through(ctx.scale_shift[0].detach(), by_sums, by_squares)
        kernels.call(
            "convolution_backward",
            input=x,
            weight=weight,
            gradient=gradient,
            gate=out,
            output=y,
            **through,
            input_gradient=dx,
            weight_gradient=dw,
            **sizes(x, weight),
        )
        return dx, None, dw, *by_affine


def convolution_norm_relu(x, convolution, norm):
    """`relu(norm(convolution(x)))` of a `Conv3x3` and a `BatchNorm2d`."""
    if not served(x, norm, convolution.weight):
        return torch.relu(norm(convolution(x)))
    return _ConvolutionNormRelu.apply(x, norm, convolution.weight.contiguous(), norm.weight, norm.bias)


def _end(block, sums, squares):
    """What the last convolution's output is multiplied by and what is added, [batch, channels] each."""
    scale, shift = _scale_and_shift(block.bn2, sums, squares)
    if isinstance(block.se, nn.Identity):
        return scale.expand_as(sums).contiguous(), shift.expand_as(sums).contiguous()
    means = sums * (scale / SQUARES) + shift
    excited = block.se.fc2(torch.relu(block.se.fc1(means)))
    gate, offset = excited.chunk(2, 1)
    gate = torch.sigmoid(gate)
    return gate * scale, torch.addcmul(offset, gate, shift)


class _Block(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, block, weight1, weight2, *parameters):
        x = boards_last(x)
        y1, *sums1 = _convolve(x, weight1)
        with torch.enable_grad():
            ctx.start = _scale_and_shift(block.bn1, *sums1)
        y2, *sums2 = _convolve(y1, weight2, *(vector.detach() for vector in ctx.start))
        with torch.enable_grad():
            ctx.end = _end(block, *sums2)
        out = _join(y2, *(rows.detach() for rows in ctx.end), x)
        ctx.save_for_backward(x, weight1, weight2, y1, y2, out, *sums1, *sums2, *parameters)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        x, weight1, weight2, y1, y2, out, *saved = ctx.saved_tensors
        sums1, sums2, parameters1, parameters2 = saved[:2], saved[2:4], saved[4:6], saved[6:]
        gradient = boards_last(gradient)
        by_end = _join_gradients(gradient, out, y2)
        by_sums, by_squares, *by_parameters2 = torch.autograd.grad(ctx.end, (*sums2, *parameters2), by_end)

        scale, shift = (vector.detach() for vector in ctx.start)
        between, dw2 = torch.empty_like(y1), torch.empty_like(weight2)
        sums, products = torch.empty(2, *y1.shape[:2])
        through = _through(ctx.end[0].detach(), by_sums, by_squares)
        kernels.call(
            "convolution_backward",
            input=y1,
            scale=scale,
            shift=shift,
            weight=weight2,
            gradient=gradient,
            gate=out,
            output=y2,
            **through,
            input_gradient=between,
            sums=sums,
            products=products,
            weight_gradient=dw2,
            **sizes(y1, weight2),
        )
        by_start = (products.sum(0), sums.sum(0))
        by_sums, by_squares, *by_parameters1 = torch.autograd.grad(ctx.start, (*sums1, *parameters1), by_start)

        dx, dw1 = torch.empty_like(x), torch.empty_like(weight1)
        through = _through(scale, by_sums, by_squares)
        kernels.call(
            "convolution_backward",
            input=x,
            weight=weight1,
            gradient=between,
            output=y1,
            **through,
            input_gradient=dx,
            skip_gradient=gradient,
            skip_gate=out,
            weight_gradient=dw1,
            **sizes(x, weight1),
        )
        return dx, None, dw1, dw2, *by_parameters1, *by_parameters2


def residual_block(x, block):
    """`relu(x + se(bn2(conv2(relu(bn1(conv1(x)))))))` of a block's layers.

    `block.se` is an identity, or has layers `fc1` and `fc2`: see `_end`.
    """
    weights = block.conv1.weight, block.conv2.weight
    if not (served(x, block.bn1, *weights) and served(x, block.bn2)):
        between = torch.relu(block.bn1(block.conv1(x)))
        return torch.relu(x + block.se(block.bn2(block.conv2(between))))
    parameters = *block.bn1.parameters(), *block.bn2.parameters(), *block.se.parameters()
    return _Block.apply(x, block, *(weight.contiguous() for weight in weights), *parameters)
