# SPDX-License-Identifier: Apache-2.0
"""A builder of ONNX graphs with seeded random weights, in the form that exporters write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Net:
    """An ONNX graph under construction; weights are drawn so that activations keep their magnitude."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, *shape: int) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def weight(self, name: str, array: Any) -> str:
        value = np.array(array, order="C")
        data = value if value.dtype == np.int64 else value.astype(np.float32)
        self.weights[name] = numpy_helper.from_array(data, name)
        return name

    def random(self, name: str, *shape: int, fan_in: int) -> str:
        return self.weight(name, self.rng.standard_normal(shape) * np.sqrt(2.0 / fan_in))

    def ints(self, *values: int) -> str:
        """A constant list of integers, such as a shape or axes."""
        return self.weight("ints." + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, value: float) -> str:
        """A constant scalar."""
        return self.weight(f"number.{value:g}", np.float32(value))

    def op(self, kind: str, *inputs: str, name: str, **attrs: Any) -> str:
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attrs))
        return name

    def split(self, x: str, name: str, parts: Sequence[int], axis: int = 1) -> list[str]:
        """Parts of `x` with these lengths."""
        names = [f"{name}.{i}" for i in range(len(parts))]
        inputs = [x, self.ints(*parts)]
        self.nodes.append(helper.make_node("Split", inputs, names, name, axis=axis))
        return names

    def reshape(self, x: str, name: str, *shape: int) -> str:
        return self.op("Reshape", x, self.ints(*shape), name=name)

    def raw_conv(
        self,
        x: str,
        name: str,
        channels: int,
        out: int,
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        groups: int = 1,
        *,
        pads: Sequence[int] | None = None,
        dilation: int = 1,
        bias: bool = False,
        linear: bool = False,
    ) -> str:
        """A convolution alone; `pads` defaults to those that keep the size at stride 1. linear: no rectifier follows,
        so smaller weights are drawn.
        """
        kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
        strides = [stride, stride] if isinstance(stride, int) else list(stride)
        fan_in = channels // groups * kh * kw * (2 if linear else 1)
        shape = (out, channels // groups, kh, kw)
        inputs = [x, self.random(f"{name}.weight", *shape, fan_in=fan_in)]
        if bias:
            inputs.append(self.weight(f"{name}.bias", self.rng.uniform(-0.1, 0.1, out)))
        same = [kh // 2 * dilation, kw // 2 * dilation]
        return self.op(
            "Conv",
            *inputs,
            name=name,
            kernel_shape=[kh, kw],
            strides=strides,
            pads=list(pads) if pads is not None else same * 2,
            group=groups,
            **({"dilations": [dilation, dilation]} if dilation > 1 else {}),
        )

    def norm(self, x: str, name: str, channels: int) -> str:
        """Batch normalization with statistics near those of its input."""
        parts = [
            self.weight(f"{name}.scale", self.rng.uniform(0.6, 1.0, channels)),
            self.weight(f"{name}.bias", self.rng.uniform(-0.1, 0.1, channels)),
            self.weight(f"{name}.mean", self.rng.uniform(-0.1, 0.1, channels)),
            self.weight(f"{name}.var", self.rng.uniform(0.8, 1.2, channels)),
        ]
        return self.op("BatchNormalization", x, *parts, name=name, epsilon=1e-5)

    def conv(
        self,
        x: str,
        name: str,
        channels: int,
        out: int,
        kernel: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        groups: int = 1,
        **more: Any,
    ) -> str:
        """Convolution without bias and batch normalization, as in trained nets."""
        y = self.raw_conv(x, name, channels, out, kernel, stride, groups, **more)
        return self.norm(y, f"{name}.bn", out)

    def relu(self, x: str) -> str:
        return self.op("Relu", x, name=f"{x}.relu")

    def relu6(self, x: str, name: str = "") -> str:
        self.weight("zero", np.float32(0))
        self.weight("six", np.float32(6))
        return self.op("Clip", x, "zero", "six", name=name or f"{x}.relu6")

    def silu(self, x: str) -> str:
        """x * sigmoid(x) as two nodes, as exporters write it."""
        return self.op("Mul", x, self.op("Sigmoid", x, name=f"{x}.sigmoid"), name=f"{x}.silu")

    def gelu(self, x: str) -> str:
        """The exact GELU as exporters of opset 17 write it."""
        e = self.op("Div", x, self.number(float(np.sqrt(2.0))), name=f"{x}.div")
        e = self.op("Add", self.op("Erf", e, name=f"{x}.erf"), self.number(1.0), name=f"{x}.plus")
        e = self.op("Mul", x, e, name=f"{x}.times")
        return self.op("Mul", e, self.number(0.5), name=f"{x}.gelu")

    def add(self, x: str, y: str, name: str) -> str:
        return self.op("Add", x, y, name=name)

    def max_pool(self, x: str, name: str, kernel: int, stride: int, pad: int = 0) -> str:
        attrs: dict[str, Any] = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2}
        return self.op("MaxPool", x, name=name, pads=[pad] * 4, **attrs)

    def layer_norm(self, x: str, name: str, width: int) -> str:
        scale = self.weight(f"{name}.scale", self.rng.uniform(0.9, 1.1, width))
        bias = self.weight(f"{name}.bias", self.rng.uniform(-0.1, 0.1, width))
        return self.op("LayerNormalization", x, scale, bias, name=name, axis=-1, epsilon=1e-5)

    def dense(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """MatMul and Add, as frameworks write a linear layer on sequences."""
        w = self.weight(
            f"{name}.weight", self.rng.standard_normal((inputs, outputs)) / np.sqrt(inputs)
        )
        b = self.weight(f"{name}.bias", self.rng.uniform(-0.1, 0.1, outputs))
        return self.op("Add", self.op("MatMul", x, w, name=f"{name}.matmul"), b, name=name)

    def gemm(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """Gemm, as frameworks write a linear layer on rows."""
        w = self.random(f"{name}.weight", outputs, inputs, fan_in=inputs)
        b = self.weight(f"{name}.bias", self.rng.uniform(-0.1, 0.1, outputs))
        return self.op("Gemm", x, w, b, name=name, transB=1)

    def classifier(self, x: str, channels: int, classes: int = 1000) -> onnx.ModelProto:
        """The mean over the image, then one layer; the finished model."""
        x = self.op("GlobalAveragePool", x, name="pool")
        x = self.op("Flatten", x, name="flatten")
        w = self.random("classes.weight", classes, channels, fan_in=channels)
        b = self.weight("classes.bias", np.zeros(classes))
        self.op("Gemm", x, w, b, name="classes", transB=1)
        return self.finish("classes", 1, classes)

    def output(self, name: str, *shape: int) -> None:
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def finish(self, output: str, *shape: int) -> onnx.ModelProto:
        """The model whose last output is this one."""
        self.output(output, *shape)
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, list(self.weights.values())
        )
        model = helper.make_model(
            graph,
            producer_name="samara benchmarks",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=8,
        )
        onnx.checker.check_model(model)
        return model
