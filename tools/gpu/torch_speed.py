#!/usr/bin/env python3
"""PyTorch's latency on the network that `tests/cuda/gpu.rs` times, 128x8 applied twice: eagerly and as a CUDA graph, in fp32 and fp16.

From planes in pinned memory to the logits of 32 moves a position and the values there; random weights, for they do not change
the time.
"""
import statistics
import time

import torch
from fianchetto_train.networks.residual import Config, Residual

BATCHES = (1, 8, 64, 256, 1024)
MOVES = 32
SECONDS = 0.6


class Evaluation:
    """A batch's memory, and how it is evaluated."""

    def __init__(self, network, dtype, batch):
        self.network = network
        self.planes = torch.rand(batch, 19, 8, 8, dtype=dtype).pin_memory()
        self.legal = torch.randint(0, 4096, (batch, MOVES)).pin_memory()
        self.input = self.planes.cuda()
        self.moves = self.legal.cuda()
        self.logits = torch.empty(batch, MOVES, dtype=dtype).pin_memory()
        self.values = torch.empty(batch, dtype=dtype).pin_memory()

    def work(self):
        self.input.copy_(self.planes, non_blocking=True)
        self.moves.copy_(self.legal, non_blocking=True)
        logits, values = self.network(self.input)
        self.logits.copy_(logits.gather(1, self.moves), non_blocking=True)
        self.values.copy_(values, non_blocking=True)

    def captured(self):
        """The same as a graph."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.work()
        return graph.replay


def measure(name, batch, work):
    times = []
    begin = time.perf_counter()
    while len(times) < 8 or time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    times = sorted(times[3:])
    median = statistics.median(times)
    print(
        f"timing\t128x8x2\tpytorch {torch.__version__}, {name}\tbatch {batch}\tmedian {median * 1e3:.3f} ms"
        f"\tleast {times[0] * 1e3:.3f} ms\t{batch / median:.0f} positions/s",
        flush=True,
    )


@torch.inference_mode()
def main():
    torch.backends.cudnn.benchmark = True
    for name, dtype, tf32 in (("fp32", torch.float32, False), ("tf32", torch.float32, True), ("fp16", torch.float16, False)):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        network = Residual(Config(channels=128, blocks=8, recurrence=2, gated=True, se=True)).cuda().to(dtype).eval()
        if dtype == torch.float16:
            network = network.to(memory_format=torch.channels_last)
        for batch in BATCHES:
            evaluation = Evaluation(network, dtype, batch)
            measure(f"{name} eager", batch, evaluation.work)
            measure(f"{name} graph", batch, evaluation.captured())


if __name__ == "__main__":
    if not torch.cuda.is_available():
        raise SystemExit("error: PyTorch sees no GPU")
    main()
