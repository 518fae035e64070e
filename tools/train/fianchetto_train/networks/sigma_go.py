"""The Sigma-Go family: a residual tower whose value speaks for White.

Parameter names and shapes are those of the published checkpoint. Its convolutions have biases.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..legal import legal_logits


@dataclass(frozen=True)
class Config:
    """Sizes of a Sigma-Go network."""

    channels: int = 256
    blocks: int = 10
    input_planes: int = 14
    action_size: int = 4544


class Block(nn.Module):
    """Two convolutions beside the identity."""

    def __init__(self, channels: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """`[batch, channels, 8, 8]` to the same."""
        change = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(x + self.bn2(self.conv2(change)))


class SigmaGo(nn.Module):
    """Planes to the logits of all moves and a value for White."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        channels = config.channels
        self.conv_input = nn.Sequential(
            nn.Conv2d(config.input_planes, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()
        )
        self.res_tower = nn.ModuleList(Block(channels) for _ in range(config.blocks))
        self.policy_head = nn.Sequential(
            nn.Conv2d(channels, 2, 1),
            nn.BatchNorm2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(128, config.action_size),
        )
        self.value_head = nn.Sequential(
            nn.Conv2d(channels, 1, 1),
            nn.BatchNorm2d(1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64, 256),
            nn.ReLU(),
            nn.Linear(256, 1),
            nn.Tanh(),
        )

    def forward(self, planes: Tensor, legal: Tensor | None = None, count: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """`[batch, planes, 8, 8]` to logits `[batch, moves]` and values `[batch]` for White.

        Given policy indices `legal` `[batch, width]`, of which the first `count` `[batch]` matter, the logits
        are those alone, `[batch, width]`, with minus infinity behind them.
        """
        state = self.conv_input(planes)
        for block in self.res_tower:
            state = block(state)
        policy = self.policy_head[:-1](state)
        layer = self.policy_head[-1]
        logits = layer(policy) if legal is None else legal_logits(policy, layer, legal, count)
        return logits, self.value_head(state).squeeze(1)

    def export(self) -> dict[str, Tensor]:
        """The state under the published names."""
        return {
            name: tensor.detach().float().cpu().contiguous().clone()
            for name, tensor in self.state_dict().items()
        }
