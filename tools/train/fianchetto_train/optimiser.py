"""How weights move: AdamW as published, or Muon for the convolutions; and the learning rate's course."""

import math

import torch
from torch import Tensor, nn


def groups(network: nn.Module, weight_decay: float) -> list[dict]:
    """Parameters with and without weight decay: biases and BatchNorm have none."""
    decay = [p for p in network.parameters() if p.dim() > 1]
    plain = [p for p in network.parameters() if p.dim() <= 1]
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]


def learning_rate(peak: float, progress: float, warmup: float, final: float) -> float:
    """The rate at a share `progress` of the run: up in a line, then down a cosine to `final * peak`."""
    if progress < warmup:
        return peak * progress / warmup
    along = min(1.0, (progress - warmup) / max(1e-9, 1.0 - warmup))
    return peak * (final + (1.0 - final) * 0.5 * (1.0 + math.cos(math.pi * along)))


def orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """Nearly the closest matrix with orthonormal rows or columns, by Newton-Schulz iteration.

    Coefficients of Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024).
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """AdamW, but the convolutions' kernels move by orthogonalised momentum.

    `lr` is that of AdamW; a kernel's step has the root mean square `muon_scale * lr` per weight.
    """

    def __init__(self, network: nn.Module, lr: float, weight_decay: float, muon_scale: float = 0.2):
        kernels = [p for p in network.parameters() if p.dim() == 4 and p.shape[2:] == (3, 3)]
        chosen = {id(p) for p in kernels}
        rest = [
            {**group, "params": [p for p in group["params"] if id(p) not in chosen], "muon": False}
            for group in groups(network, weight_decay)
        ]
        defaults = {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-8, "momentum": 0.95, "scale": muon_scale}
        super().__init__([{"params": kernels, "weight_decay": weight_decay, "muon": True}, *rest], defaults)

    @torch.no_grad()
    def step(self, closure=None) -> None:
        """One step."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    (self.muon if group["muon"] else self.adam)(p, group)

    def muon(self, p: Tensor, group: dict) -> None:
        """Nesterov momentum, made orthogonal."""
        state = self.state[p]
        if not state:
            state["momentum"] = torch.zeros_like(p)
        state["momentum"].lerp_(p.grad, 1 - group["momentum"])
        step = p.grad.lerp(state["momentum"], group["momentum"]).flatten(1)
        step = orthogonal(step) * max(step.shape) ** 0.5 * group["scale"]
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.sub_(step.view_as(p), alpha=group["lr"])

    def adam(self, p: Tensor, group: dict) -> None:
        """AdamW."""
        state = self.state[p]
        if not state:
            state["step"] = 0
            state["mean"] = torch.zeros_like(p)
            state["square"] = torch.zeros_like(p)
        state["step"] += 1
        first, second = group["betas"]
        state["mean"].lerp_(p.grad, 1 - first)
        state["square"].mul_(second).addcmul_(p.grad, p.grad, value=1 - second)
        scale = (state["square"] / (1 - second ** state["step"])).sqrt_().add_(group["eps"])
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.addcdiv_(state["mean"], scale, value=-group["lr"] / (1 - first ** state["step"]))


def build(name: str, network: nn.Module, lr: float, weight_decay: float) -> torch.optim.Optimizer:
    """An optimiser by its name on the command line."""
    if name == "muon":
        return Muon(network, lr, weight_decay)
    fused = next(network.parameters()).is_cuda
    return torch.optim.AdamW(groups(network, weight_decay), lr=lr, fused=fused or None)
