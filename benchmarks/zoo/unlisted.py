# SPDX-License-Identifier: Apache-2.0
"""Ten nets without a performance target: nothing was tuned for them."""

from __future__ import annotations

import numpy as np
import onnx
from benchmarks.zoo.mobile import excite
from benchmarks.zoo.net import Net
from benchmarks.zoo.sequences import attention, pre_norm_layer


def yolo(size: int = 224, width: int = 16) -> onnx.ModelProto:
    """A YOLO-style detector: C2f blocks, fast spatial pyramid pooling, a pyramid up, three heads."""
    net = Net("yolo", 41)

    def conv(x: str, name: str, channels: int, out: int, kernel: int = 3, stride: int = 1) -> str:
        return net.silu(net.conv(x, name, channels, out, kernel, stride))

    def c2f(x: str, name: str, channels: int, out: int, repeats: int, residual: bool = True) -> str:
        half = out // 2
        parts = net.split(conv(x, f"{name}.in", channels, out, 1), f"{name}.split", (half, half))
        for i in range(repeats):
            y = conv(parts[-1], f"{name}.{i}.first", half, half)
            y = conv(y, f"{name}.{i}.second", half, half)
            parts.append(net.add(parts[-1], y, f"{name}.{i}.add") if residual else y)
        x = net.op("Concat", *parts, name=f"{name}.concat", axis=1)
        return conv(x, f"{name}.out", half * len(parts), out, 1)

    def up(x: str, name: str) -> str:
        scales = net.weight("scales", np.array([1, 1, 2, 2], np.float32))
        nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
        return net.op("Resize", x, "", scales, name=name, nearest_mode="floor", **nearest)

    x = conv(net.input("image", 1, 3, size, size), "stem", 3, width, 3, 2)
    levels: list[tuple[str, int]] = []
    channels = width
    for i in range(4):
        out = width * 2 ** (i + 1)
        x = conv(x, f"down{i}", channels, out, 3, 2)
        x = c2f(x, f"stage{i}", out, out, (1, 2, 2, 1)[i])
        channels = out
        levels.append((x, channels))
    y = conv(x, "pyramid.in", channels, channels // 2, 1)
    pooled = [y]
    for i in range(3):
        pooled.append(net.max_pool(pooled[-1], f"pyramid.pool{i}", 5, 1, 2))
    y = net.op("Concat", *pooled, name="pyramid.concat", axis=1)
    x = conv(y, "pyramid.out", 2 * channels, channels, 1)
    heads = [(x, channels)]
    for i, (skip, wide) in enumerate((levels[2], levels[1])):
        x = net.op("Concat", up(x, f"up{i}"), skip, name=f"up{i}.concat", axis=1)
        x = c2f(x, f"up{i}.mix", channels + wide, wide, 1, residual=False)
        channels = wide
        heads.append((x, wide))
    rows, cells = [], 0
    for i, (y, wide) in enumerate(heads):
        side = size // (32 >> i)
        y = net.raw_conv(conv(y, f"head{i}", wide, 64), f"head{i}.out", 64, 85, 1, bias=True)
        rows.append(net.reshape(y, f"head{i}.rows", 1, 85, side * side))
        cells += side * side
    found = net.op("Concat", *rows, name="cells", axis=2)
    net.op("Sigmoid", found, name="detections")
    return net.finish("detections", 1, 85, cells)


def unet(size: int = 128, width: int = 16) -> onnx.ModelProto:
    """U-Net (Ronneberger et al. 2015) with four levels, padded, upsampled by transposed
    convolutions.
    """
    net = Net("unet", 42)

    def double(x: str, name: str, channels: int, out: int) -> str:
        x = net.relu(net.conv(x, f"{name}.first", channels, out, 3))
        return net.relu(net.conv(x, f"{name}.second", out, out, 3))

    x = net.input("image", 1, 3, size, size)
    skips, channels = [], 3
    for i in range(4):
        x = double(x, f"down{i}", channels, width << i)
        channels = width << i
        skips.append((x, channels))
        x = net.max_pool(x, f"pool{i}", 2, 2)
    x = double(x, "middle", channels, 2 * channels)
    channels *= 2
    for i, (skip, wide) in enumerate(reversed(skips)):
        w = net.random(f"up{i}.weight", channels, wide, 2, 2, fan_in=channels)
        b = net.weight(f"up{i}.bias", np.zeros(wide))
        square = {"kernel_shape": [2, 2], "strides": [2, 2]}
        x = net.op("ConvTranspose", x, w, b, name=f"up{i}", **square)
        x = net.op("Concat", x, skip, name=f"up{i}.concat", axis=1)
        x = double(x, f"up{i}.mix", 2 * wide, wide)
        channels = wide
    net.raw_conv(x, "mask", channels, 2, 1, bias=True, linear=True)
    return net.finish("mask", 1, 2, size, size)


def densenet(
    size: int = 224, growth: int = 32, blocks: tuple[int, ...] = (6, 12, 24, 16)
) -> onnx.ModelProto:
    """DenseNet-121 (Huang et al. 2017)."""
    net = Net("densenet", 43)
    x = net.relu(net.conv(net.input("image", 1, 3, size, size), "stem", 3, 64, 7, 2))
    x = net.max_pool(x, "stem.pool", 3, 2, 1)
    channels = 64
    for b, layers in enumerate(blocks):
        for i in range(layers):
            name = f"block{b}.{i}"
            y = net.relu(net.norm(x, f"{name}.norm", channels))
            y = net.relu(net.conv(y, f"{name}.narrow", channels, 4 * growth, 1))
            y = net.raw_conv(y, f"{name}.grow", 4 * growth, growth, 3)
            x = net.op("Concat", x, y, name=f"{name}.concat", axis=1)
            channels += growth
        x = net.relu(net.norm(x, f"block{b}.norm", channels))
        if b + 1 < len(blocks):
            x = net.raw_conv(x, f"block{b}.half", channels, channels // 2, 1)
            square = {"kernel_shape": [2, 2], "strides": [2, 2]}
            x = net.op("AveragePool", x, name=f"block{b}.pool", **square)
            channels //= 2
    return net.classifier(x, channels)


def ghostnet(size: int = 224) -> onnx.ModelProto:
    """GhostNet 1.0 (Han et al. 2020)."""
    net = Net("ghostnet", 44)
    # kernel, expanded, out, squeeze-and-excite, stride
    rows = [
        (3, 16, 16, False, 1),
        (3, 48, 24, False, 2),
        (3, 72, 24, False, 1),
        (5, 72, 40, True, 2),
        (5, 120, 40, True, 1),
        (3, 240, 80, False, 2),
        (3, 200, 80, False, 1),
        (3, 184, 80, False, 1),
        (3, 184, 80, False, 1),
        (3, 480, 112, True, 1),
        (3, 672, 112, True, 1),
        (5, 672, 160, True, 2),
        (5, 960, 160, False, 1),
        (5, 960, 160, True, 1),
        (5, 960, 160, False, 1),
        (5, 960, 160, True, 1),
    ]

    def ghost(x: str, name: str, channels: int, out: int, active: bool) -> str:
        half = out // 2
        a = net.conv(x, f"{name}.own", channels, half, 1, linear=not active)
        a = net.relu(a) if active else a
        b = net.conv(a, f"{name}.ghost", half, half, 3, 1, half, linear=not active)
        b = net.relu(b) if active else b
        return net.op("Concat", a, b, name=name, axis=1)

    x = net.relu(net.conv(net.input("image", 1, 3, size, size), "stem", 3, 16, 3, 2))
    channels = 16
    for i, (kernel, wide, out, squeeze, stride) in enumerate(rows):
        name = f"block{i}"
        y = ghost(x, f"{name}.first", channels, wide, True)
        if stride > 1:
            y = net.conv(y, f"{name}.depthwise", wide, wide, kernel, stride, wide, linear=True)
        if squeeze:
            y = excite(net, y, f"{name}.excite", wide, (wide // 4 + 3) // 4 * 4)
        y = ghost(y, f"{name}.second", wide, out, False)
        if stride > 1 or channels != out:
            short = f"{name}.short"
            x = net.conv(x, f"{short}.depthwise", channels, channels, kernel, stride, channels)
            x = net.conv(x, short, channels, out, 1, linear=True)
        x = net.add(x, y, f"{name}.add")
        channels = out
    x = net.relu(net.conv(x, "head", channels, 960, 1))
    x = net.op("GlobalAveragePool", x, name="pool")
    x = net.relu(net.raw_conv(x, "hidden", 960, 1280, 1, bias=True))
    net.gemm(net.op("Flatten", x, name="flatten"), "classes", 1280, 1000)
    return net.finish("classes", 1, 1000)


def mobilevit(size: int = 256, layers: tuple[int, ...] = (2, 4, 3)) -> onnx.ModelProto:
    """MobileViT-XS (Mehta and Rastegari 2022): a transformer over the pixels at one position of 2x2 patches."""
    net = Net("mobilevit", 45)

    def conv(x: str, name: str, channels: int, out: int, kernel: int, stride: int = 1) -> str:
        return net.silu(net.conv(x, name, channels, out, kernel, stride))

    def inverted(x: str, name: str, channels: int, out: int, stride: int) -> str:
        wide = 4 * channels
        y = conv(x, f"{name}.expand", channels, wide, 1)
        y = net.silu(net.conv(y, f"{name}.depthwise", wide, wide, 3, stride, wide))
        y = net.conv(y, f"{name}.project", wide, out, 1, linear=True)
        return net.add(x, y, f"{name}.add") if stride == 1 and channels == out else y

    def unfolded(x: str, name: str, width: int, side: int, back: bool) -> str:
        """Turn the pixels at one position of their patches into separate sequences, and back."""
        half = side // 2
        if not back:
            x = net.reshape(x, f"{name}.cut", width * half, 2, half, 2)
            x = net.op("Transpose", x, name=f"{name}.patches", perm=[0, 2, 1, 3])
            x = net.reshape(x, f"{name}.pixels", width, half * half, 4)
            return net.op("Transpose", x, name=f"{name}.rows", perm=[2, 1, 0])
        x = net.op("Transpose", x, name=f"{name}.channels", perm=[2, 1, 0])
        x = net.reshape(x, f"{name}.uncut", width * half, half, 2, 2)
        x = net.op("Transpose", x, name=f"{name}.unpatch", perm=[0, 2, 1, 3])
        return net.reshape(x, f"{name}.image", 1, width, side, side)

    def block(x: str, name: str, channels: int, width: int, count: int, side: int) -> str:
        y = conv(x, f"{name}.local", channels, channels, 3)
        y = net.raw_conv(y, f"{name}.widen", channels, width, 1, linear=True)
        y = unfolded(y, name, width, side, back=False)
        for i in range(count):
            y = _patch_layer(net, y, f"{name}.layer{i}", width, side * side // 4)
        y = net.layer_norm(y, f"{name}.norm", width)
        y = conv(unfolded(y, name, width, side, back=True), f"{name}.narrow", width, channels, 1)
        y = net.op("Concat", x, y, name=f"{name}.concat", axis=1)
        return conv(y, f"{name}.fuse", 2 * channels, channels, 3)

    x = conv(net.input("image", 1, 3, size, size), "stem", 3, 16, 3, 2)
    x = inverted(x, "first", 16, 32, 1)
    x = inverted(inverted(x, "second.0", 32, 48, 2), "second.1", 48, 48, 1)
    channels, side = 48, size // 4
    rows = zip((64, 80, 96), (96, 120, 144), layers, strict=True)
    for i, (out, width, count) in enumerate(rows):
        side //= 2
        x = block(inverted(x, f"down{i}", channels, out, 2), f"vit{i}", out, width, count, side)
        channels = out
    return net.classifier(conv(x, "head", channels, 384, 1), 384)


def _patch_layer(net: Net, x: str, name: str, width: int, length: int) -> str:
    """A pre-norm layer of four heads on the four sequences that share patches."""
    y = net.layer_norm(x, f"{name}.norm1", width)
    x = net.add(x, attention(net, y, name, width, 4, length, batch=4), f"{name}.add1")
    y = net.dense(net.layer_norm(x, f"{name}.norm2", width), f"{name}.up", width, 2 * width)
    return net.add(x, net.dense(net.silu(y), f"{name}.down", 2 * width, width), f"{name}.add2")


def convnext_tiny(size: int = 224, depths: tuple[int, ...] = (3, 3, 9, 3)) -> onnx.ModelProto:
    """ConvNeXt-Tiny (Liu et al. 2022)."""
    net = Net("convnext_tiny", 46)

    def swap(x: str, name: str, back: bool) -> str:
        return net.op("Transpose", x, name=name, perm=[0, 3, 1, 2] if back else [0, 2, 3, 1])

    def norm(x: str, name: str, channels: int) -> str:
        x = net.layer_norm(swap(x, f"{name}.to", False), name, channels)
        return swap(x, f"{name}.back", True)

    x = net.input("image", 1, 3, size, size)
    x = net.raw_conv(x, "stem", 3, 96, 4, 4, pads=[0] * 4, bias=True, linear=True)
    x, channels = norm(x, "stem.norm", 96), 96
    for stage, depth in enumerate(depths):
        if stage:
            x = norm(x, f"down{stage}.norm", channels)
            none = [0] * 4
            out = 2 * channels
            x = net.raw_conv(
                x, f"down{stage}", channels, out, 2, 2, pads=none, bias=True, linear=True
            )
            channels = out
        for i in range(depth):
            name = f"stage{stage}.{i}"
            y = net.raw_conv(x, f"{name}.depthwise", channels, channels, 7, 1, channels, bias=True)
            y = net.layer_norm(swap(y, f"{name}.to", False), f"{name}.norm", channels)
            y = net.gelu(net.dense(y, f"{name}.up", channels, 4 * channels))
            y = net.dense(y, f"{name}.down", 4 * channels, channels)
            scale = net.weight(f"{name}.gamma", net.rng.uniform(0.1, 0.3, channels))
            y = swap(net.op("Mul", y, scale, name=f"{name}.scaled"), f"{name}.back", True)
            x = net.add(x, y, f"{name}.add")
    x = net.op("GlobalAveragePool", x, name="pool")
    x = net.layer_norm(net.op("Flatten", x, name="flatten"), "final", channels)
    net.gemm(x, "classes", channels, 1000)
    return net.finish("classes", 1, 1000)


def tcn(length: int = 256, width: int = 64) -> onnx.ModelProto:
    """A temporal convolutional net (Bai et al. 2018): causal, dilations 1 to 32, residual."""
    net = Net("tcn", 47)
    x = net.input("signal", 1, 16, length)
    channels = 16

    def causal(x: str, name: str, channels: int, dilation: int) -> str:
        w = net.random(f"{name}.weight", width, channels, 3, fan_in=3 * channels)
        b = net.weight(f"{name}.bias", net.rng.uniform(-0.1, 0.1, width))
        line = {"kernel_shape": [3], "dilations": [dilation], "pads": [2 * dilation, 0]}
        return net.relu(net.op("Conv", x, w, b, name=name, **line))

    for i in range(6):
        y = causal(
            causal(x, f"block{i}.first", channels, 1 << i), f"block{i}.second", width, 1 << i
        )
        if channels != width:
            w = net.random(f"block{i}.short.weight", width, channels, 1, fan_in=2 * channels)
            x = net.op("Conv", x, w, name=f"block{i}.short", kernel_shape=[1])
        x = net.relu(net.add(x, y, f"block{i}.add"))
        channels = width
    w = net.random("out.weight", 10, width, 1, fan_in=2 * width)
    net.op("Conv", x, w, name="out", kernel_shape=[1])
    return net.finish("out", 1, 10, length)


def conformer(length: int = 128, width: int = 144) -> onnx.ModelProto:
    """A block of Conformer-S (Gulati et al. 2020): half steps around attention and convolution."""
    net = Net("conformer", 48)

    def half_step(x: str, name: str) -> str:
        y = net.dense(net.layer_norm(x, f"{name}.norm", width), f"{name}.up", width, 4 * width)
        y = net.dense(net.silu(y), f"{name}.down", 4 * width, width)
        return net.add(x, net.op("Mul", y, net.number(0.5), name=f"{name}.half"), name)

    def line(x: str, name: str, channels: int, out: int, kernel: int, groups: int = 1) -> str:
        shape = (out, channels // groups, kernel)
        w = net.random(f"{name}.weight", *shape, fan_in=2 * kernel * channels // groups)
        b = net.weight(f"{name}.bias", net.rng.uniform(-0.1, 0.1, out))
        attrs = {"kernel_shape": [kernel], "pads": [kernel // 2] * 2, "group": groups}
        return net.op("Conv", x, w, b, name=name, **attrs)

    x = half_step(net.input("frames", 1, length, width), "first")
    y = attention(net, net.layer_norm(x, "attention.norm", width), "attention", width, 4, length)
    x = net.add(x, y, "attended")
    y = net.op("Transpose", net.layer_norm(x, "conv.norm", width), name="conv.to", perm=[0, 2, 1])
    a, gate = net.split(line(y, "conv.first", width, 2 * width, 1), "conv.split", (width, width))
    y = net.op("Mul", a, net.op("Sigmoid", gate, name="conv.gate"), name="conv.glu")
    y = net.norm(line(y, "conv.depthwise", width, width, 31, width), "conv.bn", width)
    y = line(net.silu(y), "conv.last", width, width, 1)
    x = net.add(x, net.op("Transpose", y, name="conv.back", perm=[0, 2, 1]), "convolved")
    return net.finish(net.layer_norm(half_step(x, "last"), "final", width), 1, length, width)


def super_resolution(size: int = 128, width: int = 32, layers: int = 6) -> onnx.ModelProto:
    """Convolutions at low resolution, then pixels from channels, three times as many each way."""
    net = Net("super_resolution", 49)
    x = net.input("image", 1, 3, size, size)
    x = net.relu(net.raw_conv(x, "first", 3, width, 5, bias=True))
    first = x
    for i in range(layers):
        x = net.relu(net.raw_conv(x, f"layer{i}", width, width, 3, bias=True))
    x = net.add(x, first, "skip")
    x = net.raw_conv(x, "spread", width, 27, 3, bias=True, linear=True)
    net.op("DepthToSpace", x, name="large", blocksize=3, mode="CRD")
    return net.finish("large", 1, 3, 3 * size, 3 * size)


def keyword_transformer(frames: int = 98, layers: int = 12) -> onnx.ModelProto:
    """KWT-1 (Berg et al. 2021): 12 layers of 64, one head, on 98 frames of 40 and a class token."""
    net = Net("keyword_transformer", 50)
    width, length = 64, frames + 1
    x = net.dense(net.input("features", 1, frames, 40), "embedded", 40, width)
    first = net.weight("class", net.rng.standard_normal((1, 1, width)))
    x = net.op("Concat", first, x, name="sequence", axis=1)
    places = net.weight("places", 0.5 * net.rng.standard_normal((1, length, width)))
    x = net.add(x, places, "placed")
    for i in range(layers):
        x = pre_norm_layer(net, x, f"layer{i}", width, 1, 4 * width, length)
    x = net.op("Gather", x, net.weight("index", np.array(0, np.int64)), name="chosen", axis=1)
    net.gemm(net.layer_norm(x, "final", width), "classes", width, 35)
    return net.finish("classes", 1, 35)
