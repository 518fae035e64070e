"""The from/to pair: two small networks of one shape, for the square moved from and the square moved to."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    """Sizes of each of the two networks."""

    filters: int = 128
    hidden: int = 1024
    input_planes: int = 12


class Squares(nn.Module):
    """Planes to one logit for each square."""

    def __init__(self, config: Config):
        super().__init__()
        self.conv1 = nn.Conv2d(config.input_planes, config.filters, 2)
        self.conv2 = nn.Conv2d(config.filters, config.filters, 2)
        self.fc1 = nn.Linear(config.filters * 36, config.hidden)
        self.fc2 = nn.Linear(config.hidden, config.hidden)
        self.fc3 = nn.Linear(config.hidden, 64)

    def forward(self, planes: Tensor) -> Tensor:
        """`[batch, planes, 8, 8]` to `[batch, 64]`."""
        x = torch.relu(self.conv2(torch.relu(self.conv1(planes))))
        x = torch.relu(self.fc2(torch.relu(self.fc1(x.flatten(1)))))
        return self.fc3(x)


class FromTo(nn.Module):
    """Planes to the logits of the squares to move from and of the squares to move to."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.origin = Squares(config)
        self.target = Squares(config)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """`[batch, planes, 8, 8]` to `[batch, 64]` twice."""
        return self.origin(planes), self.target(planes)

    def export(self) -> dict[str, Tensor]:
        """The state of both networks, as `origin.*` and `target.*`."""
        return {
            name: tensor.detach().float().cpu().contiguous().clone()
            for name, tensor in self.state_dict().items()
        }
