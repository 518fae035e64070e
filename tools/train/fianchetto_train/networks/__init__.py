"""The three families of networks, by the names the command line gives them."""

from dataclasses import asdict, fields

from torch import nn

from . import from_to, residual, sigma_go

FAMILIES = {
    "residual": (residual.Config, residual.Residual),
    "sigma-go": (sigma_go.Config, sigma_go.SigmaGo),
    "from-to": (from_to.Config, from_to.FromTo),
}

ENCODINGS = {"residual": "canonical19", "sigma-go": "absolute14", "from-to": "canonical12"}


def build(family: str, sizes: dict, move_kernels: bool = False) -> nn.Module:
    """A network with fresh weights. `sizes` may leave out what has a default; others are refused."""
    config_type, network_type = FAMILIES[family]
    known = {field.name: field.type for field in fields(config_type)}
    for name, value in sizes.items():
        if name not in known:
            free = ", ".join(n for n in known if n not in ("input_planes", "action_size"))
            raise ValueError(f"{family} has no size named {name}: it has {free}")
        if known[name] is bool and not isinstance(value, bool):
            raise ValueError(f"{name} is a switch: give it without a number, or leave it away")
        if known[name] is int and (isinstance(value, bool) or value < 1):
            raise ValueError(f"{name} must be a whole number of at least 1, as in {name}=8")
    config = config_type(**sizes)
    if family == "residual":
        return network_type(config, move_kernels)
    if move_kernels:
        raise ValueError(f"--move-kernels belongs to the residual network's policy layer; {family} has none")
    return network_type(config)


def checkpoint(network: nn.Module) -> dict:
    """What a published checkpoint holds: the sizes and the state."""
    return {"network_config": asdict(network.config), "network": network.export()}
