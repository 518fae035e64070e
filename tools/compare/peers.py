"""The programs to compare with: each loads a network and runs it, all on the same planes.

A peer is a class with a `name`, a constructor `(tensors, spec, threads)` and a call
planes `[batch, 19, 8, 8]` -> `(logits [batch, 4096], values [batch, 1])`.
"""

import numpy as np
import onnxruntime
import openvino
import torch
from openvino import properties

from export_onnx import export

from network import load


class OnnxRuntime:
    """ONNX Runtime, all optimisations on, one operator at a time."""

    name = "ONNX Runtime"
    policy_layer = True

    def __init__(self, tensors, spec, threads: int):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        graph = export(tensors, spec, self.policy_layer).SerializeToString()
        self.session = onnxruntime.InferenceSession(graph, options, ["CPUExecutionProvider"])

    def __call__(self, planes: np.ndarray):
        return self.session.run(["policy", "value"], {"planes": planes})


class OnnxRuntimeCut(OnnxRuntime):
    """The graph without its last policy layer."""

    name = "ONNX Runtime, cut"
    policy_layer = False


class OpenVino:
    """OpenVINO, tuned for latency, in f32."""

    name = "OpenVINO f32"
    precision = openvino.Type.f32

    def __init__(self, tensors, spec, threads: int):
        core = openvino.Core()
        model = core.read_model(export(tensors, spec).SerializeToString())
        settings = {
            properties.inference_num_threads: threads,
            properties.hint.enable_cpu_pinning: False,  # the caller has chosen the cores
            properties.hint.performance_mode: properties.hint.PerformanceMode.LATENCY,
            properties.hint.inference_precision: self.precision,
        }
        self.request = core.compile_model(model, "CPU", settings).create_infer_request()

    def __call__(self, planes: np.ndarray):
        results = self.request.infer({"planes": planes}, share_inputs=True)
        return results["policy"], results["value"]


class OpenVinoBf16(OpenVino):
    """The same in bf16, where the processor has it (AMX, AVX-512 BF16); elsewhere it stays in f32."""

    name = "OpenVINO bf16"
    precision = openvino.Type.bf16


class PyTorch:
    """PyTorch, each layer by itself, as tests/golden/network.py spells the network out."""

    name = "PyTorch"

    def __init__(self, tensors, spec, threads: int):
        torch.set_num_threads(threads)
        self.network = load(spec, tensors).float().to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def __call__(self, planes: np.ndarray):
        logits, values = self.network(torch.from_numpy(planes))
        return logits.numpy(), values.numpy()[:, None]


PEERS = {
    "onnxruntime": OnnxRuntime,
    "cut": OnnxRuntimeCut,
    "openvino": OpenVino,
    "openvino-bf16": OpenVinoBf16,
    "pytorch": PyTorch,
}
