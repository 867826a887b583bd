# SPDX-License-Identifier: Apache-2.0
"""Write the benchmark's ONNX files: well-known nets with seeded random weights, as exporters emit
them.

Usage: write_models.py FOLDER [NAME…]. The same bytes come out on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Net:
    """An ONNX graph in the making; weights are drawn so that activations keep their size."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: list[Any] = []

    def input(self, name: str, *shape: int) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def weight(self, name: str, array: Any) -> str:
        value = np.ascontiguousarray(array)
        data = value if value.dtype == np.int64 else value.astype(np.float32)
        self.weights.append(numpy_helper.from_array(data, name))
        return name

    def random(self, name: str, *shape: int, fan_in: int) -> str:
        return self.weight(name, self.rng.standard_normal(shape) * np.sqrt(2.0 / fan_in))

    def op(self, kind: str, *inputs: str, name: str, **attrs: Any) -> str:
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attrs))
        return name

    def conv(
        self,
        x: str,
        name: str,
        channels: int,
        out: int,
        kernel: int,
        stride: int = 1,
        groups: int = 1,
    ) -> str:
        """Convolution without bias, then batch normalization, as trained nets have it."""
        fan_in = channels // groups * kernel * kernel
        w = self.random(f"{name}.weight", out, channels // groups, kernel, kernel, fan_in=fan_in)
        pad = kernel // 2
        y = self.op(
            "Conv",
            x,
            w,
            name=name,
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[pad] * 4,
            group=groups,
        )
        parts = [
            self.weight(f"{name}.bn.scale", self.rng.uniform(0.6, 1.0, out)),
            self.weight(f"{name}.bn.bias", self.rng.uniform(-0.1, 0.1, out)),
            self.weight(f"{name}.bn.mean", self.rng.uniform(-0.1, 0.1, out)),
            self.weight(f"{name}.bn.var", self.rng.uniform(0.8, 1.2, out)),
        ]
        return self.op("BatchNormalization", y, *parts, name=f"{name}.bn", epsilon=1e-5)

    def dense(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """MatMul and Add, as frameworks write a linear layer on sequences."""
        w = self.weight(
            f"{name}.weight", self.rng.standard_normal((inputs, outputs)) / np.sqrt(inputs)
        )
        b = self.weight(f"{name}.bias", self.rng.uniform(-0.1, 0.1, outputs))
        return self.op("Add", self.op("MatMul", x, w, name=f"{name}.matmul"), b, name=name)

    def finish(self, output: str, *shape: int) -> onnx.ModelProto:
        info = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, self.inputs, [info], self.weights)
        model = helper.make_model(
            graph,
            producer_name="samara benchmarks",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=8,
        )
        onnx.checker.check_model(model)
        return model


def mobilenet_v2(size: int = 224) -> onnx.ModelProto:
    """MobileNetV2 1.0 (Sandler et al. 2018): expansions, channels, repeats, strides of the
    paper's table 2.
    """
    net = Net("mobilenet_v2", 1)

    def relu6(x: str, name: str) -> str:
        return net.op("Clip", x, "zero", "six", name=name)

    x = net.input("image", 1, 3, size, size)
    net.weight("zero", np.float32(0))
    net.weight("six", np.float32(6))
    x = relu6(net.conv(x, "stem", 3, 32, 3, 2), "stem.relu6")
    channels = 32
    block = 0
    table = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]
    for expansion, out, repeats, first_stride in table:
        for i in range(repeats):
            name = f"block{block}"
            stride = first_stride if i == 0 else 1
            wide = channels * expansion
            y = x
            if expansion > 1:
                y = relu6(net.conv(y, f"{name}.expand", channels, wide, 1), f"{name}.expand.relu6")
            y = net.conv(y, f"{name}.depthwise", wide, wide, 3, stride, wide)
            y = relu6(y, f"{name}.depthwise.relu6")
            y = net.conv(y, f"{name}.project", wide, out, 1)
            x = net.op("Add", x, y, name=f"{name}.add") if stride == 1 and channels == out else y
            channels = out
            block += 1
    x = relu6(net.conv(x, "head", channels, 1280, 1), "head.relu6")
    return _classifier(net, x, 1280)


def resnet18(size: int = 224) -> onnx.ModelProto:
    """ResNet-18 (He et al. 2016), with 1x1 convolutions on the shortcuts that change the shape."""
    net = Net("resnet18", 2)
    x = net.op(
        "Relu",
        net.conv(net.input("image", 1, 3, size, size), "stem", 3, 64, 7, 2),
        name="stem.relu",
    )
    x = net.op("MaxPool", x, name="stem.pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, out in enumerate((64, 128, 256, 512)):
        for i in range(2):
            name = f"stage{stage}.{i}"
            stride = 2 if stage > 0 and i == 0 else 1
            y = net.conv(x, f"{name}.conv1", channels, out, 3, stride)
            y = net.op("Relu", y, name=f"{name}.relu1")
            y = net.conv(y, f"{name}.conv2", out, out, 3)
            if stride != 1 or channels != out:
                x = net.conv(x, f"{name}.shortcut", channels, out, 1, stride)
            x = net.op("Relu", net.op("Add", y, x, name=f"{name}.add"), name=f"{name}.relu2")
            channels = out
    return _classifier(net, x, 512)


def _classifier(net: Net, x: str, channels: int) -> onnx.ModelProto:
    x = net.op("GlobalAveragePool", x, name="pool")
    x = net.op("Flatten", x, name="flatten")
    w = net.random("classes.weight", 1000, channels, fan_in=channels)
    b = net.weight("classes.bias", np.zeros(1000))
    net.op("Gemm", x, w, b, name="classes", transB=1)
    return net.finish("classes", 1, 1000)


def transformer(
    layers: int = 4, width: int = 256, heads: int = 4, hidden: int = 1024, length: int = 128
) -> onnx.ModelProto:
    """A pre-norm transformer encoder on a sequence of vectors."""
    net = Net("transformer", 3)
    x = net.input("tokens", 1, length, width)
    each = width // heads
    net.weight("split", np.array([1, length, heads, each], np.int64))
    net.weight("joined", np.array([1, length, width], np.int64))
    net.weight("scale", np.float32(1.0 / np.sqrt(each)))
    net.weight("half", np.float32(0.5))
    net.weight("one", np.float32(1.0))
    net.weight("root2", np.float32(np.sqrt(2.0)))

    def norm(x: str, name: str) -> str:
        scale = net.weight(f"{name}.scale", net.rng.uniform(0.9, 1.1, width))
        bias = net.weight(f"{name}.bias", net.rng.uniform(-0.1, 0.1, width))
        return net.op("LayerNormalization", x, scale, bias, name=name, axis=-1, epsilon=1e-5)

    def head(x: str, name: str, perm: list[int]) -> str:
        split = net.op("Reshape", net.dense(x, name, width, width), "split", name=f"{name}.split")
        return net.op("Transpose", split, name=f"{name}.heads", perm=perm)

    for i in range(layers):
        name = f"layer{i}"
        y = norm(x, f"{name}.norm1")
        q, v = (head(y, f"{name}.{part}", [0, 2, 1, 3]) for part in ("query", "value"))
        k = head(y, f"{name}.key", [0, 2, 3, 1])
        scores = net.op(
            "Mul", net.op("MatMul", q, k, name=f"{name}.qk"), "scale", name=f"{name}.scaled"
        )
        shares = net.op("Softmax", scores, name=f"{name}.softmax", axis=-1)
        mixed = net.op("MatMul", shares, v, name=f"{name}.mixed")
        mixed = net.op("Transpose", mixed, name=f"{name}.back", perm=[0, 2, 1, 3])
        mixed = net.op("Reshape", mixed, "joined", name=f"{name}.joined")
        x = net.op("Add", x, net.dense(mixed, f"{name}.out", width, width), name=f"{name}.add1")
        y = net.dense(norm(x, f"{name}.norm2"), f"{name}.up", width, hidden)
        # GELU as exporters of opset 17 write it.
        e = net.op("Erf", net.op("Div", y, "root2", name=f"{name}.div"), name=f"{name}.erf")
        e = net.op("Mul", y, net.op("Add", e, "one", name=f"{name}.plus"), name=f"{name}.times")
        y = net.op("Mul", e, "half", name=f"{name}.gelu")
        x = net.op("Add", x, net.dense(y, f"{name}.down", hidden, width), name=f"{name}.add2")
    return net.finish(norm(x, "final"), 1, length, width)


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "mobilenet_v2": mobilenet_v2,
    "resnet18": resnet18,
    "transformer": transformer,
}


def write(folder: Path, names: list[str] | None = None) -> list[Path]:
    """Write the named models (default: all) to the folder; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in names or list(MODELS):
        path = folder / f"{name}.onnx"
        path.write_bytes(MODELS[name]().SerializeToString(deterministic=True))
        paths.append(path)
    return paths


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for written in write(Path(sys.argv[1]), sys.argv[2:]):
        print(written)
