"""Several processes that train one network, each on its part of every batch: what torchrun starts."""

import os
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass
class World:
    """This process among the others."""

    rank: int
    size: int
    device: torch.device

    @staticmethod
    def join(device: str) -> "World":
        """The place that torchrun gave this process; alone where there is no torchrun."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        rank = int(os.environ.get("RANK", "0"))
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cuda":
            local = int(os.environ.get("LOCAL_RANK", "0"))
            torch.cuda.set_device(local)
            device = f"cuda:{local}"
        if size > 1:
            torch.distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        return World(rank, size, torch.device(device))

    def wrap(self, network: nn.Module) -> nn.Module:
        """A network whose gradients are averaged over all processes."""
        return DistributedDataParallel(network) if self.size > 1 else network

    def agree(self, value: float) -> float:
        """The first process's value."""
        if self.size == 1:
            return value
        tensor = torch.tensor([value], dtype=torch.float64, device=self.device)
        torch.distributed.broadcast(tensor, 0)
        return float(tensor)

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process."""
        if self.size == 1:
            return flag
        tensor = torch.tensor([int(flag)], device=self.device)
        torch.distributed.all_reduce(tensor, torch.distributed.ReduceOp.MAX)
        return bool(tensor)

    def leave(self) -> None:
        """Ends the group."""
        if self.size > 1:
            torch.distributed.destroy_process_group()
