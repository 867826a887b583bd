# SPDX-License-Identifier: Apache-2.0
"""Nets of a single layer, one or more per family of kernels, of the sizes that nets have in their middle."""

from __future__ import annotations

from collections.abc import Callable

import onnx
from benchmarks.zoo.net import Net

# Layers in a row: the first and last also change the order of axes, and in int8 convert, as nets do at their ends.
_DEPTH = 4


def _convolution(
    name: str, channels: int, size: int, kernel: int, groups: int = 1
) -> onnx.ModelProto:
    net = Net(name, 5)
    x = net.input("x", 1, channels, size, size)
    for i in range(_DEPTH):
        x = net.relu(net.raw_conv(x, f"conv{i}", channels, channels, kernel, 1, groups, bias=True))
    return net.finish(x, 1, channels, size, size)


def _product(name: str, rows: int, width: int, out: int) -> onnx.ModelProto:
    net = Net(name, 6)
    x = net.input("x", rows, width)
    w = net.random("w", width, out, fan_in=width)
    return net.finish(net.op("Gemm", x, w, net.random("b", out, fan_in=out), name="y"), rows, out)


def _lstm(steps: int, width: int) -> onnx.ModelProto:
    net = Net("lstm", 7)
    x = net.input("x", steps, 1, width)
    parts = [net.random(name, 1, 4 * width, width, fan_in=4 * width) for name in ("w", "r")]
    y = net.op("LSTM", x, *parts, name="all", hidden_size=width)
    return net.finish(net.op("Squeeze", y, net.ints(1), name="y"), steps, 1, width)


def _rows(operator: str, rows: int, width: int) -> onnx.ModelProto:
    net = Net(operator, 8)
    x = net.input("x", rows, width)
    for i in range(_DEPTH):
        more = [net.random(f"{n}{i}", width, fan_in=2) for n in ("scale", "shift")]
        given = more if operator == "LayerNormalization" else []
        x = net.op(operator, x, *given, name=f"y{i}", axis=-1)
    return net.finish(x, rows, width)


def _elementwise(operator: str, channels: int, size: int) -> onnx.ModelProto:
    net = Net(operator, 9)
    x = net.input("x", 1, channels, size, size)
    for i in range(_DEPTH):
        shape = (1, channels, size, size)
        other = [net.random(f"other{i}", *shape, fan_in=2)] if operator == "Add" else []
        x = net.op(operator, x, *other, name=f"y{i}")
    return net.finish(x, 1, channels, size, size)


def _pool(operator: str, channels: int, size: int) -> onnx.ModelProto:
    net = Net(operator, 10)
    x = net.input("x", 1, channels, size, size)
    for i in range(_DEPTH):
        x = net.op(operator, x, name=f"y{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    return net.finish(x, 1, channels, size, size)


LAYERS: dict[str, Callable[[], onnx.ModelProto]] = {
    "4 convolutions 3x3, 64 channels, 28x28": lambda: _convolution("c3", 64, 28, 3),
    "4 convolutions 5x5, 64 channels, 14x14": lambda: _convolution("c5", 64, 14, 5),
    "4 convolutions 1x1, 96 channels, 28x28": lambda: _convolution("c1", 96, 28, 1),
    "4 depthwise 3x3, 96 channels, 56x56": lambda: _convolution("dw", 96, 56, 3, 96),
    "matrix product, 128 rows, 384 to 384": lambda: _product("mm", 128, 384, 384),
    "matrix times vector, 1024 to 1000": lambda: _product("mv", 1, 1024, 1000),
    "LSTM of 128, 50 steps": lambda: _lstm(50, 128),
    "4 additions, 64x28x28": lambda: _elementwise("Add", 64, 28),
    "4 sigmoids, 64x28x28": lambda: _elementwise("Sigmoid", 64, 28),
    "4 softmaxes, 128 rows of 384": lambda: _rows("Softmax", 128, 384),
    "4 layer normalizations, 128 rows of 384": lambda: _rows("LayerNormalization", 128, 384),
    "4 maximum poolings 3x3, 64 channels, 28x28": lambda: _pool("MaxPool", 64, 28),
    "4 average poolings 3x3, 64 channels, 28x28": lambda: _pool("AveragePool", 64, 28),
}
