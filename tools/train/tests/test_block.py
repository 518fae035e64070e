"""The fused block and stem against the same layers of torch in float64."""

import copy
import itertools

import pytest
import torch
from fianchetto_train import block as fused
from fianchetto_train import kernels
from fianchetto_train.convolution import Conv3x3
from torch import nn

needs_kernels = pytest.mark.skipif(
    not kernels.available(), reason="cargo build --release -p fianchetto-train-kernels was not run"
)

# Largest error over the root mean square of the right values, as for the convolution, two of them in a row.
BAR = 1e-4


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc1 = nn.Linear(channels, 8)
        self.fc2 = nn.Linear(8, 2 * channels)

    def forward(self, x):
        scale, offset = self.fc2(torch.relu(self.fc1(x.mean((2, 3)))))[:, :, None, None].chunk(2, 1)
        return torch.sigmoid(scale) * x + offset


class Block(nn.Module):
    """A block as the papers write it; `clearance` is how near zero a ReLU's input came."""

    def __init__(self, channels, se):
        super().__init__()
        self.conv1 = Conv3x3(channels, channels)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = Conv3x3(channels, channels)
        self.bn2 = nn.BatchNorm2d(channels)
        self.se = SqueezeExcite(channels) if se else nn.Identity()

    def forward(self, x):
        between = self.bn1(self.conv1(x))
        end = x + self.se(self.bn2(self.conv2(torch.relu(between))))
        self.clearance = min(between.abs().min().item(), end.abs().min().item())
        return torch.relu(end)


class Stem(nn.Module):
    def __init__(self, inputs, channels):
        super().__init__()
        self.conv = Conv3x3(inputs, channels)
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x):
        end = self.bn(self.conv(x))
        self.clearance = end.abs().min().item()
        return torch.relu(end)


def fused_stem(x, stem):
    return fused.convolution_norm_relu(x, stem.conv, stem.bn)


def clear_of_zero(make, x_shape):
    """A layer with its input and the same in float64, no ReLU's input so near zero that f32 might take the other side."""
    for seed in itertools.count():
        torch.manual_seed(seed)
        layer, x = make(), torch.randn(x_shape)
        for module in layer.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.normal_(module.bias)
                nn.init.normal_(module.running_mean)
        right, right_x = copy.deepcopy(layer).double(), x.double().requires_grad_()
        before = copy.deepcopy(right.state_dict())
        y = right(right_x)
        if right.clearance > 2e-5:
            right.load_state_dict(before)
            return layer, x.requires_grad_(), right, right_x


def error(found, right):
    return ((found.double() - right).abs().max() / right.pow(2).mean().sqrt()).item()


def compare(do, layer, x, right, right_x):
    shape = right_x.shape[0], layer.bn2.num_features if hasattr(layer, "bn2") else layer.bn.num_features, 8, 8
    gradient = torch.randn(shape)
    y = do(x, layer)
    assert y.grad_fn.name().startswith("_"), "the kernels were not used"
    y.backward(gradient)
    right_y = right(right_x)
    right_y.backward(gradient.double())
    assert error(y.detach(), right_y.detach()) < BAR
    assert error(x.grad, right_x.grad) < BAR
    for (name, found), expected in zip(layer.named_parameters(), right.parameters(), strict=True):
        assert error(found.grad, expected.grad) < BAR, name
    for (name, found), expected in zip(layer.named_buffers(), right.buffers(), strict=True):
        assert torch.allclose(found.double(), expected.double(), rtol=1e-5, atol=1e-5), name


@needs_kernels
@pytest.mark.parametrize("se", [False, True])
@pytest.mark.parametrize("batch, channels", [(1, 8), (5, 16), (3, 24), (14, 5)])
def test_block(batch, channels, se):
    compare(fused.residual_block, *clear_of_zero(lambda: Block(channels, se), (batch, channels, 8, 8)))


@needs_kernels
def test_stem():
    compare(fused_stem, *clear_of_zero(lambda: Stem(19, 16), (7, 19, 8, 8)))


@needs_kernels
def test_blocks_in_a_row_learn_as_torch_does():
    torch.manual_seed(0)
    tower = nn.ModuleList(Block(16, True) for _ in range(3))
    other = copy.deepcopy(tower)
    x, target = torch.randn(32, 16, 8, 8), torch.rand(32, 16, 8, 8)
    losses = []
    for blocks, do in [(tower, fused.residual_block), (other, lambda x, block: block(x))]:
        optimiser = torch.optim.SGD(blocks.parameters(), lr=0.1)
        for _ in range(10):
            y = x
            for layer in blocks:
                y = do(y, layer)
            loss = (y - target).pow(2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert losses[0] < 2


def test_where_the_kernels_cannot_serve_torch_does():
    torch.manual_seed(0)
    layer, x = Block(8, True), torch.randn(2, 8, 8, 8)
    layer.eval()
    assert torch.allclose(fused.residual_block(x, layer), layer(x), atol=1e-5)
    layer.double().train()
    assert torch.equal(fused.residual_block(x.double(), copy.deepcopy(layer)), layer(x.double()))
    stem = Stem(8, 4).eval()
    assert torch.allclose(fused_stem(x, stem), stem(x), atol=1e-5)
