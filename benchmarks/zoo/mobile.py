# SPDX-License-Identifier: Apache-2.0
"""Convolutional nets for phones: MobileNets, EfficientNet-Lite0, SqueezeNet, ShuffleNetV2."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
from benchmarks.zoo.net import Net


def mobilenet_v1(size: int = 224, alpha: float = 1.0, classes: int = 1000) -> onnx.ModelProto:
    """MobileNetV1 (Howard et al. 2017), table 1."""
    net = Net("mobilenet_v1", 11)
    rows = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    rows += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    channels = int(32 * alpha)
    x = net.relu6(net.conv(net.input("image", 1, 3, size, size), "stem", 3, channels, 3, 2))
    for i, (wide, stride) in enumerate(rows):
        out = int(wide * alpha)
        x = net.relu6(net.conv(x, f"block{i}.depthwise", channels, channels, 3, stride, channels))
        x = net.relu6(net.conv(x, f"block{i}.pointwise", channels, out, 1))
        channels = out
    return net.classifier(x, channels, classes)


def mobilenet_v2(size: int = 224) -> onnx.ModelProto:
    """MobileNetV2 1.0 (Sandler et al. 2018): expansions, channels, repeats, strides of the
    paper's table 2.
    """
    net = Net("mobilenet_v2", 1)
    x = net.input("image", 1, 3, size, size)
    x = net.relu6(net.conv(x, "stem", 3, 32, 3, 2), "stem.relu6")
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
                y = net.conv(y, f"{name}.expand", channels, wide, 1)
                y = net.relu6(y, f"{name}.expand.relu6")
            y = net.conv(y, f"{name}.depthwise", wide, wide, 3, stride, wide)
            y = net.relu6(y, f"{name}.depthwise.relu6")
            y = net.conv(y, f"{name}.project", wide, out, 1)
            x = net.op("Add", x, y, name=f"{name}.add") if stride == 1 and channels == out else y
            channels = out
            block += 1
    x = net.relu6(net.conv(x, "head", channels, 1280, 1), "head.relu6")
    return net.classifier(x, 1280)


def mobilenet_v3_large(size: int = 224) -> onnx.ModelProto:
    """MobileNetV3-Large (Howard et al. 2019), table 1."""
    net = Net("mobilenet_v3_large", 12)
    # kernel, expanded, out, squeeze-and-excite, hard swish, stride
    rows = [
        (3, 16, 16, False, False, 1),
        (3, 64, 24, False, False, 2),
        (3, 72, 24, False, False, 1),
        (5, 72, 40, True, False, 2),
        (5, 120, 40, True, False, 1),
        (5, 120, 40, True, False, 1),
        (3, 240, 80, False, True, 2),
        (3, 200, 80, False, True, 1),
        (3, 184, 80, False, True, 1),
        (3, 184, 80, False, True, 1),
        (3, 480, 112, True, True, 1),
        (3, 672, 112, True, True, 1),
        (5, 672, 160, True, True, 2),
        (5, 960, 160, True, True, 1),
        (5, 960, 160, True, True, 1),
    ]

    def act(x: str, hard: bool) -> str:
        return net.op("HardSwish", x, name=f"{x}.hard_swish") if hard else net.relu(x)

    x = act(net.conv(net.input("image", 1, 3, size, size), "stem", 3, 16, 3, 2), True)
    channels = 16
    for i, (kernel, wide, out, squeeze, hard, stride) in enumerate(rows):
        name = f"block{i}"
        y = act(net.conv(x, f"{name}.expand", channels, wide, 1), hard) if wide != channels else x
        y = act(net.conv(y, f"{name}.depthwise", wide, wide, kernel, stride, wide), hard)
        if squeeze:
            y = excite(net, y, f"{name}.excite", wide, (wide // 4 + 7) // 8 * 8)
        y = net.conv(y, f"{name}.project", wide, out, 1, linear=True)
        x = net.add(x, y, f"{name}.add") if stride == 1 and channels == out else y
        channels = out
    x = act(net.conv(x, "head", channels, 960, 1), True)
    x = net.op("Flatten", net.op("GlobalAveragePool", x, name="pool"), name="flatten")
    x = act(net.gemm(x, "hidden", 960, 1280), True)
    net.gemm(x, "classes", 1280, 1000)
    return net.finish("classes", 1, 1000)


def excite(net: Net, x: str, name: str, channels: int, hidden: int) -> str:
    """Squeeze and excitation with a hard sigmoid."""
    s = net.op("GlobalAveragePool", x, name=f"{name}.pool")
    s = net.relu(net.raw_conv(s, f"{name}.down", channels, hidden, 1, bias=True))
    s = net.raw_conv(s, f"{name}.up", hidden, channels, 1, bias=True, linear=True)
    s = net.op("HardSigmoid", s, name=f"{name}.gate", alpha=1.0 / 6.0, beta=0.5)
    return net.op("Mul", x, s, name=name)


def efficientnet_lite0(size: int = 224) -> onnx.ModelProto:
    """EfficientNet-Lite0 (Liu 2020): B0 without excitation, with ReLU6."""
    net = Net("efficientnet_lite0", 13)
    # expansion, kernel, out, repeats, stride
    rows = [
        (1, 3, 16, 1, 1),
        (6, 3, 24, 2, 2),
        (6, 5, 40, 2, 2),
        (6, 3, 80, 3, 2),
        (6, 5, 112, 3, 1),
        (6, 5, 192, 4, 2),
        (6, 3, 320, 1, 1),
    ]
    x = net.relu6(net.conv(net.input("image", 1, 3, size, size), "stem", 3, 32, 3, 2))
    channels = 32
    block = 0
    for expansion, kernel, out, repeats, first in rows:
        for i in range(repeats):
            name, stride, wide = f"block{block}", first if i == 0 else 1, channels * expansion
            y = x
            if expansion > 1:
                y = net.relu6(net.conv(y, f"{name}.expand", channels, wide, 1))
            y = net.relu6(net.conv(y, f"{name}.depthwise", wide, wide, kernel, stride, wide))
            y = net.conv(y, f"{name}.project", wide, out, 1, linear=True)
            x = net.add(x, y, f"{name}.add") if stride == 1 and channels == out else y
            channels = out
            block += 1
    x = net.relu6(net.conv(x, "head", channels, 1280, 1))
    return net.classifier(x, 1280)


def squeezenet(size: int = 224) -> onnx.ModelProto:
    """SqueezeNet 1.1 (Iandola et al. 2016)."""
    net = Net("squeezenet", 14)
    x = net.input("image", 1, 3, size, size)
    x = net.relu(net.raw_conv(x, "stem", 3, 64, 3, 2, pads=[0] * 4, bias=True))
    x = net.max_pool(x, "pool0", 3, 2)
    channels = 64
    rows = [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]
    for i, (narrow, wide) in enumerate(rows):
        name = f"fire{i}"
        s = net.relu(net.raw_conv(x, f"{name}.squeeze", channels, narrow, 1, bias=True))
        a = net.relu(net.raw_conv(s, f"{name}.one", narrow, wide, 1, bias=True))
        b = net.relu(net.raw_conv(s, f"{name}.three", narrow, wide, 3, bias=True))
        x = net.op("Concat", a, b, name=name, axis=1)
        channels = 2 * wide
        if i in (1, 3):
            x = net.max_pool(x, f"pool{i}", 3, 2)
    x = net.relu(net.raw_conv(x, "classes", channels, 1000, 1, bias=True))
    net.op("Flatten", net.op("GlobalAveragePool", x, name="pool"), name="scores")
    return net.finish("scores", 1, 1000)


def shufflenet_v2(size: int = 224) -> onnx.ModelProto:
    """ShuffleNetV2 1.0 (Ma et al. 2018)."""
    net = Net("shufflenet_v2", 15)
    x = net.relu(net.conv(net.input("image", 1, 3, size, size), "stem", 3, 24, 3, 2))
    x = net.max_pool(x, "pool0", 3, 2, 1)
    channels, side = 24, size // 4

    def branch(x: str, name: str, inputs: int, half: int, stride: int) -> str:
        y = net.relu(net.conv(x, f"{name}.first", inputs, half, 1))
        y = net.conv(y, f"{name}.depthwise", half, half, 3, stride, half, linear=True)
        return net.relu(net.conv(y, f"{name}.last", half, half, 1))

    for stage, (out, repeats) in enumerate(((116, 4), (232, 8), (464, 4))):
        half = out // 2
        for i in range(repeats):
            name = f"stage{stage}.{i}"
            if i == 0:
                side = (side + 1) // 2
                keep = net.conv(x, f"{name}.down", channels, channels, 3, 2, channels, linear=True)
                keep = net.relu(net.conv(keep, f"{name}.short", channels, half, 1))
                y = branch(x, name, channels, half, 2)
            else:
                keep, y = net.split(x, f"{name}.split", (half, half))
                y = branch(y, name, half, half, 1)
            x = net.op("Concat", keep, y, name=f"{name}.concat", axis=1)
            x = net.reshape(x, f"{name}.groups", 1, 2, half, side, side)
            x = net.op("Transpose", x, name=f"{name}.shuffle", perm=[0, 2, 1, 3, 4])
            x = net.reshape(x, name, 1, out, side, side)
            channels = out
    x = net.relu(net.conv(x, "head", channels, 1024, 1))
    return net.classifier(x, 1024)


def mobilenet_v1_025(size: int = 96) -> onnx.ModelProto:
    """The visual wake words net of MLPerf Tiny."""
    return mobilenet_v1(size, 0.25, 2)


def ds_cnn(frames: int = 49) -> onnx.ModelProto:
    """The keyword net of MLPerf Tiny: depthwise separable convolutions on 49 frames of 10."""
    net = Net("ds_cnn", 16)
    x = net.input("features", 1, 1, frames, 10)
    x = net.relu(net.conv(x, "stem", 1, 64, (10, 4), 2, pads=[4, 1, 5, 1]))
    for i in range(4):
        x = net.relu(net.conv(x, f"block{i}.depthwise", 64, 64, 3, 1, 64))
        x = net.relu(net.conv(x, f"block{i}.pointwise", 64, 64, 1))
    x = net.op("Flatten", net.op("GlobalAveragePool", x, name="pool"), name="flatten")
    net.op("Softmax", net.gemm(x, "classes", 64, 12), name="scores", axis=1)
    return net.finish("scores", 1, 12)


def autoencoder(width: int = 640) -> onnx.ModelProto:
    """The anomaly detector of MLPerf Tiny: ten dense layers, batch normalization folded."""
    net = Net("autoencoder", 17)
    x = net.input("spectrum", 1, width)
    sizes = [width, 128, 128, 128, 128, 8, 128, 128, 128, 128]
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        x = net.relu(net.gemm(x, f"layer{i}", inputs, outputs))
    w = net.weight("out.weight", net.rng.standard_normal((width, 128)) / np.sqrt(128))
    b = net.weight("out.bias", net.rng.uniform(-0.1, 0.1, width))
    net.op("Gemm", x, w, b, name="out", transB=1)
    return net.finish("out", 1, width)
