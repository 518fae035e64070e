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


def move_table() -> Tensor:
    """`[moves, 4]`: policy index, displacement, from-square and to-square of every possible move."""
    kinds = {displacement: kind for kind, displacement in enumerate(displacements())}
    rows = []
    for start in range(64):
        for end in range(64):
            kind = kinds.get((end // 8 - start // 8, end % 8 - start % 8))
            if kind is not None:
                rows.append((64 * start + end, kind, start, end))
    return torch.tensor(rows)


class MoveKernels(nn.Module):
    """Features `[batch, channels, 8, 8]` to logits `[batch, 4096]`, zero where no piece can move."""

    def __init__(self, channels: int):
        super().__init__()
        kinds = len(displacements())
        self.leave = nn.Parameter(torch.empty(kinds, channels))
        self.reach = nn.Parameter(torch.empty(kinds, channels))
        self.bias = nn.Parameter(torch.zeros(kinds))
        for weight in (self.leave, self.reach):
            nn.init.uniform_(weight, -(channels**-0.5), channels**-0.5)
        index, kind, start, end = move_table().unbind(1)
        self.register_buffer("leave_at", kind * 64 + start, persistent=False)
        self.register_buffer("reach_at", kind * 64 + end, persistent=False)
        self.register_buffer("kind", kind, persistent=False)
        self.register_buffer("index", index, persistent=False)
        # Where each logit lies in the list of possible moves; impossible ones point behind its end.
        place = torch.full((4096,), len(index))
        place[index] = torch.arange(len(index))
        self.register_buffer("place", place, persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """See the class."""
        features = features.flatten(2)
        leave = (self.leave @ features).flatten(1)
        reach = (self.reach @ features).flatten(1)
        moves = leave[:, self.leave_at] + reach[:, self.reach_at] + self.bias[self.kind]
        return nn.functional.pad(moves, (0, 1))[:, self.place]

    def as_linear(self) -> tuple[Tensor, Tensor]:
        """The same map as weight `[4096, channels * 64]` and bias `[4096]`."""
        kinds, channels = self.leave.shape
        weight = self.leave.new_zeros(4096, channels, 64)
        bias = self.leave.new_zeros(4096)
        start, end = self.leave_at % 64, self.reach_at % 64
        weight[self.index, :, start] += self.leave[self.kind]
        weight[self.index, :, end] += self.reach[self.kind]
        bias[self.index] = self.bias[self.kind]
        return weight.flatten(1), bias
