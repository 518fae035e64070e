"""What each family is trained to make small, and how often it names the move that was played."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from .shards import Batch


def rank_of(logits: Tensor, target: Tensor) -> Tensor:
    """How many logits lie above that of the target, `[batch]`."""
    return (logits > logits.gather(1, target[:, None])).sum(1)


@dataclass
class Losses:
    """The loss to descend and what to report, each a mean over the batch."""

    total: Tensor
    parts: dict[str, Tensor]


def policy_and_value(outputs: tuple[Tensor, Tensor], batch: Batch, value_weight: float) -> Losses:
    """Cross-entropy over the legal moves and squared error of the result."""
    logits, values = outputs[0].float(), outputs[1]
    policy = functional.cross_entropy(logits, batch.played_slot)
    value = functional.mse_loss(values.float(), batch.result)
    rank = rank_of(logits.detach(), batch.played_slot)
    parts = {"policy": policy, "value": value, "top1": rank < 1, "top3": rank < 3}
    return Losses(policy + value_weight * value, {k: v.detach().float().mean() for k, v in parts.items()})


def residual(outputs: tuple[Tensor, Tensor], batch: Batch) -> Losses:
    """RDTChess: both errors count alike."""
    return policy_and_value(outputs, batch, 1.0)


def sigma_go(outputs: tuple[Tensor, Tensor], batch: Batch) -> Losses:
    """Sigma-Go: the value speaks for White, and its error counts half."""
    logits, values = outputs
    return policy_and_value((logits, torch.where(batch.white, values, -values)), batch, 0.5)


def from_to(outputs: tuple[Tensor, Tensor], batch: Batch) -> Losses:
    """The pair: a cross-entropy over all squares for each of the two.

    top1 and top3 rank the legal moves by the product of the probabilities of their squares.
    """
    origin, target = (logits.float() for logits in outputs)
    origin_square, target_square = batch.played // 64, batch.played % 64
    origin_loss = functional.cross_entropy(origin, origin_square)
    target_loss = functional.cross_entropy(target, target_square)
    with torch.no_grad():
        moves = (origin.log_softmax(1)[:, :, None] + target.log_softmax(1)[:, None, :]).flatten(1)
        inside = torch.arange(batch.legal.shape[1], device=moves.device) < batch.legal_count[:, None]
        legal = moves.gather(1, batch.legal).masked_fill(~inside, -torch.inf)
        rank = rank_of(legal, batch.played_slot)
        parts = {
            "origin": origin_loss,
            "target": target_loss,
            "origin_top1": rank_of(origin, origin_square) < 1,
            "target_top1": rank_of(target, target_square) < 1,
            "top1": rank < 1,
            "top3": rank < 3,
        }
    return Losses(origin_loss + target_loss, {k: v.detach().float().mean() for k, v in parts.items()})


def losses(family: str, network: nn.Module, planes: Tensor, batch: Batch) -> Losses:
    """Runs a network of this family on a batch."""
    if family == "from-to":
        return from_to(network(planes), batch)
    outputs = network(planes, batch.legal, batch.legal_count)
    return residual(outputs, batch) if family == "residual" else sigma_go(outputs, batch)
