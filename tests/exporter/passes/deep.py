# SPDX-License-Identifier: Apache-2.0
"""Deep convolutional nets with weights from a seed, quantized by onnxruntime's static quantizer (QDQ)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
from onnx import TensorProto
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

# (expansion, channels, repeats, stride) of MobileNetV2 (Sandler et al. 2018, table 2).
MOBILENET = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)
SMALL = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 2, 2), (6, 64, 2, 1))

Blocks = Sequence[tuple[int, int, int, int]]


class _Net:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def const(self, array: Any) -> str:
        name = f"k{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def node(self, op: str, *inputs: str, **attrs: Any) -> str:
        made = f"t{len(self.nodes)}"
        self.nodes.append(oh.make_node(op, inputs, [made], f"{op}.{len(self.nodes)}", **attrs))
        return made

    def conv(self, x: str, taken: int, made: int, kernel: int, **how: Any) -> str:
        """`how`: stride, group, act."""
        group = how.get("group", 1)
        fan = taken // group * kernel * kernel
        w = self.rng.standard_normal((made, taken // group, kernel, kernel)) * np.sqrt(2 / fan)
        w *= self.rng.uniform(
            0.3, 1.7, (made, 1, 1, 1)
        )  # scales differ per channel, as in trained nets
        b = self.rng.standard_normal(made) / 10
        y = self.node(
            *("Conv", x, self.const(w), self.const(b)),
            pads=[kernel // 2] * 4, strides=[how.get("stride", 1)] * 2, group=group,
        )  # fmt: skip
        return self.node("Clip", y, "zero", "six") if how.get("act", True) else y


def mobilenet(size: int, width: float, blocks: Blocks, last: int, seed: int = 0) -> onnx.ModelProto:
    """A net in the form of MobileNetV2: "x" [1, 3, size, size] to "y" [1, 50]."""
    net = _Net(seed)
    for name, value in (("zero", 0.0), ("six", 6.0)):
        net.constants.append(onnx.numpy_helper.from_array(np.array(value, np.float32), name))

    def channels(n: int) -> int:
        return max(8, int(n * width + 4) // 8 * 8)

    taken = channels(32)
    x = net.conv("x", 3, taken, 3, stride=2)
    for expansion, made, repeats, stride in blocks:
        for k in range(repeats):
            out, inner, step = channels(made), taken * expansion, stride if k == 0 else 1
            y = net.conv(x, taken, inner, 1) if expansion > 1 else x
            y = net.conv(y, inner, inner, 3, stride=step, group=inner)
            y = net.conv(y, inner, out, 1, act=False)
            x = net.node("Add", x, y) if step == 1 and out == taken else y
            taken = out
    x = net.node("GlobalAveragePool", net.conv(x, taken, last, 1))
    w = net.rng.standard_normal((last, 50)) / np.sqrt(last)
    x = net.node("Gemm", net.node("Flatten", x), net.const(w), net.const(np.zeros(50)))
    net.nodes[-1].output[0] = "y"
    graph = oh.make_graph(
        net.nodes,
        "mobilenet",
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, size, size])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, [1, 50])],
        net.constants,
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)


class _Images(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, size: int) -> None:
        rng = np.random.default_rng(1)
        images = [rng.standard_normal((1, 3, size, size)).astype(np.float32) for _ in range(2)]
        self._left: Iterator[Any] = iter(images)

    def get_next(self) -> Any:
        image = next(self._left, None)
        return None if image is None else {"x": image}


def quantized(
    model: onnx.ModelProto, folder: Path, *, bytes_: bool = False, symmetric: bool = False
) -> Path:
    """The model in QDQ form: weights per channel and int8 activations, or uint8 per tensor.

    symmetric: zero points of 0, so that clamps at 0 are not absorbed.
    """
    size = model.graph.input[0].type.tensor_type.shape.dim[2].dim_value
    onnx.save(model, folder / "float.onnx")
    logging.disable(logging.WARNING)  # hide its advice to preprocess
    try:
        quantize_static(
            *(folder / "float.onnx", folder / "qdq.onnx", _Images(size)),
            quant_format=QuantFormat.QDQ,
            per_channel=not bytes_,
            activation_type=QuantType.QUInt8 if bytes_ else QuantType.QInt8,
            weight_type=QuantType.QInt8,
            extra_options={"ActivationSymmetric": symmetric},
        )
    finally:
        logging.disable(logging.NOTSET)
    return folder / "qdq.onnx"
