"""Positions a second of a training step of the residual network on this CPU, one line for each way of doing it.

    python tools/train/bench_step.py --channels 64 --blocks 6 --recurrence 2

The ways take turns, and each one's fastest step counts, for other work on the machine disturbs the rest. On a busy machine
`--threads 1 --processor-time` counts the time the processor worked for us.
"""

import argparse
import contextlib
import time

import torch
from fianchetto_train import kernels
from fianchetto_train.block import convolution_norm_relu, residual_block
from fianchetto_train.convolution import Conv3x3
from fianchetto_train.legal import legal_logits
from torch import nn
from torch.nn import functional

MOVES = 36  # legal moves of a position, about


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc1 = nn.Linear(channels, 32)
        self.fc2 = nn.Linear(32, 2 * channels)

    def forward(self, x):
        excited = self.fc2(torch.relu(self.fc1(x.mean((2, 3)))))
        scale, offset = excited[:, :, None, None].chunk(2, 1)
        return torch.addcmul(offset, torch.sigmoid(scale), x)


class Block(nn.Module):
    def __init__(self, channels, convolution):
        super().__init__()
        self.conv1 = convolution(channels, channels)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = convolution(channels, channels)
        self.bn2 = nn.BatchNorm2d(channels)
        self.se = SqueezeExcite(channels)


def plain_block(x, block):
    between = torch.relu(block.bn1(block.conv1(x)))
    return torch.relu(x + block.se(block.bn2(block.conv2(between))))


def plain_stem(x, convolution, norm):
    return torch.relu(norm(convolution(x)))


def plain_logits(x, layer, index, count):
    logits = layer(x).gather(1, index)
    return logits.masked_fill(torch.arange(index.shape[1]) >= count[:, None], -torch.inf)


class Network(nn.Module):
    """The residual network, its parts done by the functions given."""

    def __init__(self, arguments, convolution, stem=plain_stem, block=plain_block, logits=plain_logits):
        super().__init__()
        channels = arguments.channels
        self.recurrence = arguments.recurrence
        self.do_stem, self.do_block, self.do_logits = stem, block, logits
        self.stem = nn.Sequential(convolution(19, channels), nn.BatchNorm2d(channels), nn.ReLU())
        self.tower = nn.ModuleList(Block(channels, convolution) for _ in range(arguments.blocks))
        self.gate = nn.Conv2d(2 * channels, channels, 1)
        self.policy_conv = nn.Conv2d(channels, 32, 1, bias=False)
        self.policy_bn = nn.BatchNorm2d(32)
        self.policy_fc = nn.Linear(2048, 4096)
        self.value_conv = nn.Conv2d(channels, 16, 1, bias=False)
        self.value_bn = nn.BatchNorm2d(16)
        self.value_fc1 = nn.Linear(1024, 128)
        self.value_fc2 = nn.Linear(128, 1)

    def forward(self, planes, index, count):
        state = self.do_stem(planes, self.stem[0], self.stem[1])
        for _ in range(self.recurrence):
            previous = state
            for block in self.tower:
                state = self.do_block(state, block)
            if self.recurrence > 1:
                z = torch.sigmoid(self.gate(torch.cat((state, previous), 1)))
                state = torch.lerp(previous, state, z)
        policy = torch.relu(self.policy_bn(self.policy_conv(state))).flatten(1)
        value = torch.relu(self.value_bn(self.value_conv(state))).flatten(1)
        value = self.value_fc2(torch.relu(self.value_fc1(value)))
        return self.do_logits(policy, self.policy_fc, index, count), torch.tanh(value).squeeze(1)


def torch_convolution(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)


def batch(size):
    """Planes, legal indices and their count, the move's place and the result of made-up positions."""
    possible = torch.randperm(4096)[:1858]
    index = torch.stack([possible[torch.randperm(len(possible))[: 2 * MOVES]] for _ in range(size)])
    planes = (torch.rand(size, 19, 8, 8) < 0.1).float().contiguous(memory_format=torch.channels_last)
    return planes, index, torch.randint(1, 2 * MOVES, (size,)), torch.zeros(size, dtype=torch.long), torch.rand(size)


class Way:
    """A network, its optimiser and how a step is done."""

    def __init__(self, arguments, parts, context=contextlib.nullcontext, compiled=False, **adamw):
        torch.manual_seed(0)
        network = Network(arguments, *parts).to(memory_format=torch.channels_last)
        self.optimiser = torch.optim.AdamW(network.parameters(), **(adamw or {"fused": True}))
        self.network = torch.compile(network) if compiled else network
        self.context = context
        self.clock = time.process_time if arguments.processor_time else time.perf_counter
        self.seconds = float("inf")
        self.parts = {}

    def step(self, planes, index, count, slot, result):
        start = self.clock()
        with self.context():
            logits, value = self.network(planes, index, count)
        loss = functional.cross_entropy(logits.float(), slot) + functional.mse_loss(value.float(), result)
        forward = self.clock()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        backward = self.clock()
        self.optimiser.step()
        end = self.clock()
        if end - start < self.seconds:
            self.seconds = end - start
            self.parts = {"forward": forward - start, "backward": backward - forward, "optimiser": end - backward}
        return loss.item()


def bf16():
    return torch.autocast("cpu", torch.bfloat16)


def ways(arguments):
    plain, fast = (torch_convolution,), (Conv3x3,)
    whole = (Conv3x3, convolution_norm_relu, residual_block)
    return {
        "torch": lambda: Way(arguments, plain),
        "torch, compiled": lambda: Way(arguments, plain, compiled=True),
        "torch, bf16 autocast": lambda: Way(arguments, plain, context=bf16),
        "torch, AdamW foreach": lambda: Way(arguments, plain, foreach=True),
        "torch, legal rows": lambda: Way(arguments, (*plain, plain_stem, plain_block, legal_logits)),
        "convolutions": lambda: Way(arguments, fast),
        "blocks": lambda: Way(arguments, whole),
        "blocks, legal rows": lambda: Way(arguments, (*whole, legal_logits)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--recurrence", type=int, default=1)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", help="of: " + "; ".join(ways(None)))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if not kernels.available():
        print("without the kernels: cargo build --release -p fianchetto-train-kernels")
    data = batch(arguments.batch)
    known = ways(arguments)
    chosen = {name: known[name]() for name in arguments.ways or known}
    for _ in range(arguments.rounds + 1):  # the first warms up, and cannot be the fastest
        losses = {name: way.step(*data) for name, way in chosen.items()}
    size = f"{arguments.channels}x{arguments.blocks} recurrence {arguments.recurrence}"
    print(f"{size}, batch {arguments.batch}, {arguments.threads} threads")
    first = next(iter(chosen.values())).seconds
    for name, way in chosen.items():
        parts = ", ".join(f"{part} {seconds * 1e3:.0f}" for part, seconds in way.parts.items())
        rate = arguments.batch / way.seconds
        print(f"{name:24} {rate:7.0f} positions/s  x{first / way.seconds:.2f}  ({parts} ms)  loss {losses[name]:.4f}")


if __name__ == "__main__":
    main()
