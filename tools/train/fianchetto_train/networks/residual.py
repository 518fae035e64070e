"""The RDTChess family: a residual tower, with squeeze-and-excitation, recurrence and a gate at will.

Parameter names and shapes are those of the published checkpoints, which the converter reads.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..block import convolution_norm_relu, residual_block
from ..convolution import Conv3x3
from ..legal import legal_logits
from .moves import MoveKernels

SE_WIDTH = 32
POLICY_CHANNELS = 32
VALUE_CHANNELS = 16
VALUE_HIDDEN = 128


@dataclass(frozen=True)
class Config:
    """Sizes of a residual network."""

    channels: int = 128
    blocks: int = 8
    recurrence: int = 1
    gated: bool = False
    se: bool = False
    input_planes: int = 19
    action_size: int = 4096


class SqueezeExcite(nn.Module):
    """Scales and offsets each channel by what the means of all channels say."""

    def __init__(self, channels: int):
        super().__init__()
        self.fc1 = nn.Linear(channels, SE_WIDTH)
        self.fc2 = nn.Linear(SE_WIDTH, 2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        """`[batch, channels, 8, 8]` to the same."""
        excited = self.fc2(torch.relu(self.fc1(x.mean((2, 3)))))
        scale, offset = excited[:, :, None, None].chunk(2, 1)
        return torch.addcmul(offset, torch.sigmoid(scale), x)


class Block(nn.Module):
    """Two convolutions beside the identity."""

    def __init__(self, channels: int, se: bool):
        super().__init__()
        self.conv1 = Conv3x3(channels, channels)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = Conv3x3(channels, channels)
        self.bn2 = nn.BatchNorm2d(channels)
        self.se = SqueezeExcite(channels) if se else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """`[batch, channels, 8, 8]` to the same."""
        return residual_block(x, self)


class Residual(nn.Module):
    """Planes to the logits of all moves and a value for the side to move."""

    def __init__(self, config: Config, move_kernels: bool = False):
        super().__init__()
        self.config = config
        channels = config.channels
        self.stem = nn.Sequential(
            Conv3x3(config.input_planes, channels), nn.BatchNorm2d(channels), nn.ReLU()
        )
        self.tower = nn.ModuleList(Block(channels, config.se) for _ in range(config.blocks))
        if config.gated:
            self.gate = nn.Conv2d(2 * channels, channels, 1)
            nn.init.constant_(self.gate.bias, -2.0)
        self.policy_conv = nn.Conv2d(channels, POLICY_CHANNELS, 1, bias=False)
        self.policy_bn = nn.BatchNorm2d(POLICY_CHANNELS)
        self.policy_fc = nn.Linear(64 * POLICY_CHANNELS, config.action_size)
        self.value_conv = nn.Conv2d(channels, VALUE_CHANNELS, 1, bias=False)
        self.value_bn = nn.BatchNorm2d(VALUE_CHANNELS)
        self.value_fc1 = nn.Linear(64 * VALUE_CHANNELS, VALUE_HIDDEN)
        self.value_fc2 = nn.Linear(VALUE_HIDDEN, 1)
        self.move_kernels = MoveKernels(POLICY_CHANNELS) if move_kernels else None

    def forward(self, planes: Tensor, legal: Tensor | None = None, count: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """`[batch, planes, 8, 8]` to logits `[batch, moves]` and values `[batch]`.

        Given policy indices `legal` `[batch, width]`, of which the first `count` `[batch]` matter, the logits
        are those alone, `[batch, width]`, with minus infinity behind them.
        """
        state = convolution_norm_relu(planes, self.stem[0], self.stem[1])
        for _ in range(self.config.recurrence):
            previous = state
            for block in self.tower:
                state = block(state)
            if self.config.gated:
                z = torch.sigmoid(self.gate(torch.cat((state, previous), 1)))
                state = torch.lerp(previous, state, z)
        policy = torch.relu(self.policy_bn(self.policy_conv(state)))
        if legal is None:
            logits = self.policy_fc(policy.flatten(1))
            legal = torch.arange(logits.shape[1], device=logits.device).expand_as(logits)
        else:
            logits = legal_logits(policy.flatten(1), self.policy_fc, legal, count)
        if self.move_kernels is not None:
            logits = logits + self.move_kernels(policy, legal)
        value = torch.relu(self.value_bn(self.value_conv(state))).flatten(1)
        value = self.value_fc2(torch.relu(self.value_fc1(value)))
        return logits, torch.tanh(value).squeeze(1)

    @torch.no_grad()
    def export(self) -> dict[str, Tensor]:
        """The state under the published names, the move kernels merged into the policy layer."""
        state = {
            name: tensor.detach().float().cpu().contiguous().clone()
            for name, tensor in self.state_dict().items()
            if not name.startswith("move_kernels.")
        }
        if self.move_kernels is not None:
            weight, bias = self.move_kernels.as_linear()
            state["policy_fc.weight"] += weight.cpu()
            state["policy_fc.bias"] += bias.cpu()
        return state
