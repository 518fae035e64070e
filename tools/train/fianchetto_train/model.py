"""A finished network, read from a file of any family."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from . import networks
from .checkpoint import RunError, read_network

# A tensor that only this family has.
SIGNS = {"stem.0.weight": "residual", "conv_input.0.weight": "sigma-go", "origin.conv1.weight": "from-to"}

@dataclass
class Model:
    """A network that is asked, not trained."""

    family: str
    network: nn.Module

    @property
    def encoding(self) -> str:
        """How its positions and moves are numbered."""
        return networks.ENCODINGS[self.family]

    @torch.inference_mode()
    def evaluate(self, planes: Tensor) -> tuple[Tensor, Tensor | None]:
        """`[batch, planes, 8, 8]` to a logit for each move, `[batch, moves]`, and values for the side to
        move, `[batch]`; the from/to pair has no values, and a move's logit is the sum of its squares'."""
        outputs, values = self.network(planes)
        if self.family == "from-to":
            outputs, values = (outputs[:, :, None] + values[:, None, :]).flatten(1), None
        elif self.family == "sigma-go":
            values = torch.where(planes[:, 13, 0, 0] > 0, -values, values)
        for output in (outputs, values):
            if output is not None and not torch.isfinite(output).all():
                raise RunError("the network answers with numbers that are not finite: its weights are damaged")
        return outputs.float(), values if values is None else values.float()

    @staticmethod
    def load(path: Path, device: torch.device) -> "Model":
        """Reads a checkpoint with `network_config` and `network`, or a weights file of fianchetto-convert."""
        sizes, tensors = read_network(path)
        families = {family for sign, family in SIGNS.items() if sign in tensors}
        if len(families) != 1:
            raise RunError(f"{path} is of no family known here: expected one of the tensors {', '.join(SIGNS)}")
        family = families.pop()
        try:
            network = networks.build(family, sizes)
        except (ValueError, TypeError, RuntimeError) as error:
            raise RunError(f"{path}: its sizes {sizes} make no {family} network: {error}") from None
        fill(network, tensors, path)
        return Model(family, network.to(device, memory_format=torch.channels_last).eval())


def fill(network: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Puts the tensors into the network; each must have its place and each place its tensor."""
    # BatchNorm's counter of training steps is no weight: weights files leave it out.
    own = {name: p for name, p in network.state_dict().items() if not name.endswith("num_batches_tracked")}
    found = {name: p for name, p in tensors.items() if not name.endswith("num_batches_tracked")}
    if strange := sorted(own.keys() ^ found.keys()):
        where = "is missing" if strange[0] in own else "is not expected"
        raise RunError(f"{path}: {strange[0]} {where} in a network of the sizes it states")
    for name, place in own.items():
        if found[name].shape != place.shape:
            shapes = f"{list(found[name].shape)}, expected {list(place.shape)}"
            raise RunError(f"{path}: {name} has shape {shapes} by the sizes it states")
    network.load_state_dict(found, strict=False)
