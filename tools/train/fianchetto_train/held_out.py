"""How a network does on positions of games that it was not trained on.

A position counts as named when the played move's policy index has the highest logit of the legal ones; where
an encoding has one index for all promotions of a move, an under-promotion counts as its queen.

The pair scores all squares and is not told what is legal, so it is asked that too: how often the square that it would
most like to move from has a piece of the mover, and how often that and the square it would most like to move to are a
legal move.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from .losses import rank_of
from .model import Model
from .output import watched
from .shards import Layout, Shard, batch_of

RATINGS = {
    "unknown": (0, 1),
    "<2000": (1, 20),
    "2000-2199": (20, 22),
    "2200-2399": (22, 24),
    "2400-2599": (24, 26),
    "2600+": (26, 256),
}
OPENING_PLIES = 20
ENDGAME_PIECES = 6
# Of the twelve planes of pieces, which all encodings begin with: knights, bishops, rooks, queens of both.
PIECES = [1, 2, 3, 4, 7, 8, 9, 10]


@dataclass
class Answers:
    """For each position, how the network did."""

    rank: np.ndarray  # how many legal moves it prefers to the one played
    policy: np.ndarray  # -log of the probability of the move played, among the legal ones
    value: np.ndarray | None  # squared error of the result
    own: np.ndarray | None  # whether the pair would move a piece of the mover
    legal: np.ndarray | None  # whether its first choice is a legal move

    def means(self, chosen: np.ndarray) -> dict:
        """Over the positions where `chosen` is true."""
        count = int(chosen.sum())
        mean = lambda column: float(column[chosen].mean()) if count and column is not None else None  # noqa: E731
        return {
            "count": count,
            "top1": mean(self.rank < 1),
            "top3": mean(self.rank < 3),
            "policy": mean(self.policy),
            "value": mean(self.value),
            "own": mean(self.own),
            "legal": mean(self.legal),
        }


def ask(model: Model, layout: Layout, shard: Shard, device: torch.device, batch_size: int) -> Answers:
    """Asks the network about every position."""
    parts: list[dict[str, np.ndarray]] = []
    begins = range(0, len(shard), batch_size)
    for begin in watched(begins, len(begins), "batches of held-out positions"):
        rows = np.arange(begin, min(begin + batch_size, len(shard)))
        batch = batch_of(shard.take(rows)).to(device)
        planes = batch.planes(layout)
        all_logits, values = model.evaluate(planes)
        inside = torch.arange(batch.legal.shape[1], device=device) < batch.legal_count[:, None]
        logits = all_logits.gather(1, batch.legal).masked_fill(~inside, -torch.inf)
        answers = {
            "rank": rank_of(logits, batch.played_slot),
            "policy": functional.cross_entropy(logits, batch.played_slot, reduction="none"),
        }
        if values is not None:
            answers["value"] = (values - batch.result) ** 2
        if model.family == "from-to":
            choice = all_logits.argmax(1)
            mine = planes[:, :6].sum(1).flatten(1)
            answers["own"] = mine.gather(1, choice[:, None] // 64)[:, 0] > 0
            answers["legal"] = ((batch.legal == choice[:, None]) & inside).any(1)
        parts.append({name: answer.cpu().numpy() for name, answer in answers.items()})
    columns = {name: np.concatenate([part[name] for part in parts]).astype(np.float64) for name in parts[0]}
    return Answers(**{name: columns.get(name) for name in ("rank", "policy", "value", "own", "legal")})


def by_rating(records: np.ndarray) -> dict[str, np.ndarray]:
    """Which positions belong to each band of the mover's rating."""
    hundreds = records["band"][:, 0]
    return {name: (low <= hundreds) & (hundreds < high) for name, (low, high) in RATINGS.items()}


def by_phase(records: np.ndarray) -> dict[str, np.ndarray]:
    """Which positions belong to each phase: the opening is the first 20 plies; of what follows, the endgame is
    where both sides together have at most 6 pieces besides kings and pawns."""
    opening = records["ply"] < OPENING_PLIES
    pieces = np.bitwise_count(records["squares"][:, PIECES]).sum((1, 2), dtype=np.int64)
    endgame = ~opening & (pieces <= ENDGAME_PIECES)
    return {"opening": opening, "middlegame": ~opening & ~endgame, "endgame": endgame}


def summary(answers: Answers, records: np.ndarray) -> dict:
    """All figures; groups without a position are left out."""
    groups = {"rating": by_rating(records), "phase": by_phase(records)}
    result = {"all": answers.means(np.ones(len(records), bool))}
    for title, members in groups.items():
        result[title] = {name: answers.means(chosen) for name, chosen in members.items() if chosen.any()}
    return result
