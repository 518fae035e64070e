"""Writes the ONNX graph of a Fianchetto weights file, BatchNorm folded into the convolutions.

    python export_onnx.py WEIGHTS.safetensors OUT.onnx [--no-policy-layer]

Input `planes` [N, planes, 8, 8]; outputs `policy` [N, moves] and `value` [N, 1]. Without the policy
layer `policy` is what enters it, [N, 64 * policy_channels].
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors import safe_open

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "golden"))
from random_weights import PLANES, POLICY_SIZES, Spec  # noqa: E402

BATCH_NORM_EPSILON = 1e-5
OPSET = 17


class Graph:
    """Nodes and weights of a graph under construction; layers return the name of their output."""

    def __init__(self, tensors: dict[str, np.ndarray]):
        self.tensors = tensors
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def weight(self, name: str, value: np.ndarray) -> str:
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(value, name)
        return name

    def node(self, kind: str, *inputs: str, **attributes) -> str:
        output = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolution(self, x: str, conv: str, batch_norm: str) -> str:
        """A convolution with the BatchNorm that follows it: one kernel and a bias."""
        kernel = self.tensors[f"{conv}.weight"].astype(np.float64)
        gain, bias, mean, variance = (
            self.tensors[f"{batch_norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        scale = gain / np.sqrt(variance + BATCH_NORM_EPSILON)
        kernel = (kernel * scale[:, None, None, None]).astype(np.float32)
        own = self.tensors.get(f"{conv}.bias", np.zeros(1)).astype(np.float64)
        bias = (bias + (own - mean) * scale).astype(np.float32)
        padding = kernel.shape[2] // 2
        inputs = (x, self.weight(f"{conv}.folded", kernel), self.weight(f"{conv}.folded_bias", bias))
        return self.node("Conv", *inputs, pads=[padding] * 4)

    def plain_convolution(self, x: str, name: str) -> str:
        parts = ("weight", "bias")
        inputs = (self.weight(f"{name}.{part}", self.tensors[f"{name}.{part}"]) for part in parts)
        return self.node("Conv", x, *inputs)

    def linear(self, x: str, name: str) -> str:
        parts = ("weight", "bias")
        inputs = (self.weight(f"{name}.{part}", self.tensors[f"{name}.{part}"]) for part in parts)
        return self.node("Gemm", x, *inputs, transB=1)

    def squeeze_excitation(self, x: str, name: str) -> str:
        mean = self.node("Flatten", self.node("GlobalAveragePool", x))
        hidden = self.node("Relu", self.linear(mean, f"{name}.fc1"))
        axes = self.weight("board", np.array([2, 3]))
        both = self.node("Unsqueeze", self.linear(hidden, f"{name}.fc2"), axes)
        channels = len(self.tensors[f"{name}.fc2.bias"]) // 2
        halves = self.weight("halves", np.array([channels, channels]))
        scale, shift = f"Scale{len(self.nodes)}", f"Shift{len(self.nodes)}"
        self.nodes.append(helper.make_node("Split", [both, halves], [scale, shift], axis=1))
        return self.node("Add", self.node("Mul", x, self.node("Sigmoid", scale)), shift)

    def block(self, x: str, name: str, squeeze_excitation: bool) -> str:
        y = self.node("Relu", self.convolution(x, f"{name}.conv1", f"{name}.bn1"))
        y = self.convolution(y, f"{name}.conv2", f"{name}.bn2")
        if squeeze_excitation:
            y = self.squeeze_excitation(y, f"{name}.se")
        return self.node("Relu", self.node("Add", y, x))

    def gate(self, candidate: str, previous: str) -> str:
        """z * candidate + (1 - z) * previous, with one multiplication fewer."""
        both = self.node("Concat", candidate, previous, axis=1)
        z = self.node("Sigmoid", self.plain_convolution(both, "gate"))
        step = self.node("Mul", z, self.node("Sub", candidate, previous))
        return self.node("Add", previous, step)


def export(tensors: dict[str, np.ndarray], spec: Spec, policy_layer: bool = True) -> onnx.ModelProto:
    """The graph of a network; `tensors` are its weights by name, of any float type."""
    graph = Graph({name: tensor.astype(np.float32) for name, tensor in tensors.items()})

    state = graph.node("Relu", graph.convolution("planes", "stem.0", "stem.1"))
    for _ in range(spec.recurrence):
        candidate = state
        for i in range(spec.blocks):
            candidate = graph.block(candidate, f"tower.{i}", spec.se_width > 0)
        state = graph.gate(candidate, state) if spec.gate else candidate

    policy = graph.node("Relu", graph.convolution(state, "policy_conv", "policy_bn"))
    policy, policy_size = graph.node("Flatten", policy), 64 * spec.policy_channels
    if policy_layer:
        policy, policy_size = graph.linear(policy, "policy_fc"), POLICY_SIZES[spec.encoding]

    value = graph.node("Relu", graph.convolution(state, "value_conv", "value_bn"))
    value = graph.node("Relu", graph.linear(graph.node("Flatten", value), "value_fc1"))
    value = graph.node("Tanh", graph.linear(value, "value_fc2"))

    for source, output in ((policy, "policy"), (value, "value")):
        graph.nodes.append(helper.make_node("Identity", [source], [output]))
    float32 = TensorProto.FLOAT
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "fianchetto",
            [helper.make_tensor_value_info("planes", float32, ["N", PLANES[spec.encoding], 8, 8])],
            [
                helper.make_tensor_value_info("policy", float32, ["N", policy_size]),
                helper.make_tensor_value_info("value", float32, ["N", 1]),
            ],
            list(graph.initializers.values()),
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
    )
    onnx.checker.check_model(model)
    return model


def read(path: str) -> tuple[dict[str, np.ndarray], Spec]:
    """Weights and architecture of a weights file."""
    with safe_open(path, "numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        return tensors, Spec.from_metadata(file.metadata())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", help="the safetensors file")
    parser.add_argument("output", help="the ONNX file to write")
    parser.add_argument("--no-policy-layer", action="store_true", help="leave out the policy layer")
    arguments = parser.parse_args()
    onnx.save(export(*read(arguments.weights), not arguments.no_policy_layer), arguments.output)


if __name__ == "__main__":
    main()
