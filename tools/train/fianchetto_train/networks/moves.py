"""A part of the policy layer that is the same on every square, used in training only.

The policy layer is a plain matrix from 64 squares x channels to 64 x 64 moves: it must learn a knight's
jump on every square anew. This adds, for each of the 64 directions and distances that a piece can
move, one weight per channel at the square it leaves and one at the square it reaches. That is a linear
map of the same input, so `as_linear` merges it into the matrix exactly and a network in use has no
trace of it.
"""

import torch
from torch import Tensor, nn


def displacements() -> list[tuple[int, int]]:
    """(ranks, files) of every move of a queen or a knight on an empty board."""
    steps = range(-7, 8)
    queen = {(r, f) for r in steps for f in steps if r == 0 or f == 0 or abs(r) == abs(f)}
    knight = {(r, f) for r in steps for f in steps if abs(r * f) == 2}
    return sorted((queen | knight) - {(0, 0)})


class MoveKernels(nn.Module):
    """Features `[batch, channels, 8, 8]` to logits, zero where no piece can move."""

    def __init__(self, channels: int):
        super().__init__()
        kinds = {displacement: kind for kind, displacement in enumerate(displacements())}
        self.leave = nn.Parameter(torch.empty(len(kinds), channels))
        self.reach = nn.Parameter(torch.empty(len(kinds), channels))
        self.bias = nn.Parameter(torch.zeros(len(kinds)))
        for weight in (self.leave, self.reach):
            nn.init.uniform_(weight, -(channels**-0.5), channels**-0.5)
        start, end = torch.arange(4096) // 64, torch.arange(4096) % 64
        ranks, files = (end // 8 - start // 8).tolist(), (end % 8 - start % 8).tolist()
        kind = torch.tensor([kinds.get(displacement, -1) for displacement in zip(ranks, files)])
        self.register_buffer("possible", kind >= 0, persistent=False)
        self.register_buffer("kind", kind.clamp_min(0), persistent=False)
        self.register_buffer("start", start, persistent=False)
        self.register_buffer("end", end, persistent=False)

    def forward(self, features: Tensor, index: Tensor) -> Tensor:
        """The logits of `index` `[batch, width]`, of the same shape."""
        features = features.flatten(2)
        leave, reach = (self.leave @ features).flatten(1), (self.reach @ features).flatten(1)
        kind = self.kind[index]
        logits = leave.gather(1, 64 * kind + self.start[index]) + reach.gather(1, 64 * kind + self.end[index])
        return (logits + self.bias[kind]) * self.possible[index]

    def as_linear(self) -> tuple[Tensor, Tensor]:
        """The same map as weight `[4096, channels * 64]` and bias `[4096]`."""
        weight = self.leave.new_zeros(4096, self.leave.shape[1], 64)
        moves = self.possible.nonzero().squeeze(1)
        kind = self.kind[moves]
        weight[moves, :, self.start[moves]] += self.leave[kind]
        weight[moves, :, self.end[moves]] += self.reach[kind]
        return weight.flatten(1), self.bias[self.kind] * self.possible
