# SPDX-License-Identifier: Apache-2.0
"""ResNets and VGG."""

from __future__ import annotations

import onnx
from benchmarks.zoo.net import Net


def resnet18(size: int = 224, width: int = 64) -> onnx.ModelProto:
    """ResNet-18 (He et al. 2016), with 1x1 convolutions on the shortcuts that change the shape."""
    net = Net("resnet18", 2)
    x = net.op(
        "Relu",
        net.conv(net.input("image", 1, 3, size, size), "stem", 3, width, 7, 2),
        name="stem.relu",
    )
    x = net.op("MaxPool", x, name="stem.pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = width
    for stage, out in enumerate(width << i for i in range(4)):
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
    return net.classifier(x, channels)


def resnet50(size: int = 224, width: int = 64) -> onnx.ModelProto:
    """ResNet-50 v1.5: the stride of a stage is in its first 3x3 convolution."""
    net = Net("resnet50", 21)
    x = net.relu(net.conv(net.input("image", 1, 3, size, size), "stem", 3, width, 7, 2))
    x = net.max_pool(x, "stem.pool", 3, 2, 1)
    channels = width
    for stage, repeats in enumerate((3, 4, 6, 3)):
        narrow = width << stage
        for i in range(repeats):
            name = f"stage{stage}.{i}"
            stride = 2 if stage > 0 and i == 0 else 1
            y = net.relu(net.conv(x, f"{name}.reduce", channels, narrow, 1))
            y = net.relu(net.conv(y, f"{name}.middle", narrow, narrow, 3, stride))
            y = net.conv(y, f"{name}.expand", narrow, 4 * narrow, 1, linear=True)
            if i == 0:
                x = net.conv(x, f"{name}.short", channels, 4 * narrow, 1, stride, linear=True)
            x = net.relu(net.add(y, x, f"{name}.add"))
            channels = 4 * narrow
    return net.classifier(x, channels)


def vgg19(size: int = 224, hidden: int = 4096, width: int = 64) -> onnx.ModelProto:
    """VGG-19 (Simonyan and Zisserman 2015)."""
    net = Net("vgg19", 22)
    x = net.input("image", 1, 3, size, size)
    channels = 3
    for stage, (wider, repeats) in enumerate(((1, 2), (2, 2), (4, 4), (8, 4), (8, 4))):
        out = wider * width
        for i in range(repeats):
            x = net.relu(net.raw_conv(x, f"conv{stage}.{i}", channels, out, 3, bias=True))
            channels = out
        x = net.max_pool(x, f"pool{stage}", 2, 2)
    x = net.op("Flatten", x, name="flatten")
    x = net.relu(net.gemm(x, "hidden0", channels * (size // 32) ** 2, hidden))
    x = net.relu(net.gemm(x, "hidden1", hidden, hidden))
    net.gemm(x, "classes", hidden, 1000)
    return net.finish("classes", 1, 1000)


def resnet8(size: int = 32) -> onnx.ModelProto:
    """The image classifier of MLPerf Tiny: three residual blocks on CIFAR-10."""
    net = Net("resnet8", 23)
    x = net.relu(net.conv(net.input("image", 1, 3, size, size), "stem", 3, 16, 3))
    channels = 16
    for i, (out, stride) in enumerate(((16, 1), (32, 2), (64, 2))):
        y = net.relu(net.conv(x, f"block{i}.conv1", channels, out, 3, stride))
        y = net.conv(y, f"block{i}.conv2", out, out, 3, linear=True)
        if stride > 1:
            x = net.conv(x, f"block{i}.short", channels, out, 1, stride, linear=True)
        x = net.relu(net.add(x, y, f"block{i}.add"))
        channels = out
    x = net.op("Flatten", net.op("GlobalAveragePool", x, name="pool"), name="flatten")
    net.op("Softmax", net.gemm(x, "classes", 64, 10), name="scores", axis=1)
    return net.finish("scores", 1, 10)
