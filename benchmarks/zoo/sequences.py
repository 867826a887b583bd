# SPDX-License-Identifier: Apache-2.0
"""Transformers and recurrent nets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from benchmarks.zoo.net import Net

Reshape = Callable[[str, str], str]


def transformer(
    layers: int = 4, width: int = 256, heads: int = 4, hidden: int = 1024, length: int = 128
) -> onnx.ModelProto:
    """A pre-norm transformer encoder on a sequence of vectors."""
    net = Net("transformer", 3)
    x = net.input("tokens", 1, length, width)
    for i in range(layers):
        x = pre_norm_layer(net, x, f"layer{i}", width, heads, hidden, length)
    return net.finish(net.layer_norm(x, "final", width), 1, length, width)


def attend(
    net: Net, x: str, name: str, width: int, each: int, split: Reshape, join: Reshape
) -> str:
    """Multi-head self-attention with its output layer, heads of `each`.

    split and join: (value, name) -> the value as [batch, length, heads, each], and as
    [batch, length, width] again.
    """

    def head(part: str, perm: list[int]) -> str:
        y = net.dense(x, f"{name}.{part}", width, width)
        y = split(y, f"{name}.{part}.split")
        return net.op("Transpose", y, name=f"{name}.{part}.heads", perm=perm)

    q, k, v = head("query", [0, 2, 1, 3]), head("key", [0, 2, 3, 1]), head("value", [0, 2, 1, 3])
    scores = net.op("MatMul", q, k, name=f"{name}.qk")
    scores = net.op("Mul", scores, net.number(float(1 / np.sqrt(each))), name=f"{name}.scaled")
    shares = net.op("Softmax", scores, name=f"{name}.softmax", axis=-1)
    mixed = net.op("MatMul", shares, v, name=f"{name}.mixed")
    mixed = net.op("Transpose", mixed, name=f"{name}.back", perm=[0, 2, 1, 3])
    return net.dense(join(mixed, f"{name}.joined"), f"{name}.out", width, width)


def attention(
    net: Net, x: str, name: str, width: int, heads: int, length: int, batch: int = 1
) -> str:
    """Multi-head self-attention on [batch, length, width], sizes known."""
    each = width // heads
    return attend(
        net,
        x,
        name,
        width,
        each,
        split=lambda y, label: net.reshape(y, label, batch, length, heads, each),
        join=lambda y, label: net.reshape(y, label, batch, length, width),
    )


def feed_forward(net: Net, x: str, name: str, width: int, hidden: int) -> str:
    """Two layers with a GELU between."""
    return net.dense(net.gelu(net.dense(x, f"{name}.up", width, hidden)), name, hidden, width)


def pre_norm_layer(
    net: Net, x: str, name: str, width: int, heads: int, hidden: int, length: int
) -> str:
    """A transformer layer that normalizes what goes into attention and the dense layers."""
    y = attention(net, net.layer_norm(x, f"{name}.norm1", width), name, width, heads, length)
    x = net.add(x, y, f"{name}.add1")
    y = feed_forward(net, net.layer_norm(x, f"{name}.norm2", width), f"{name}.mlp", width, hidden)
    return net.add(x, y, f"{name}.add2")


def minilm(layers: int = 6, width: int = 384, length: int = 128) -> onnx.ModelProto:
    """The encoder of MiniLM-L6: post-norm layers of 12 heads on embedded tokens."""
    net = Net("minilm", 31)
    x = net.layer_norm(net.input("embeddings", 1, length, width), "first", width)
    for i in range(layers):
        name = f"layer{i}"
        y = attention(net, x, name, width, width // 32, length)
        x = net.layer_norm(net.add(x, y, f"{name}.add1"), f"{name}.norm1", width)
        y = feed_forward(net, x, f"{name}.mlp", width, 4 * width)
        x = net.layer_norm(net.add(x, y, f"{name}.add2"), f"{name}.norm2", width)
    return net.finish(x, 1, length, width)


def vit_tiny(size: int = 224, layers: int = 12) -> onnx.ModelProto:
    """ViT-Tiny/16 (Touvron et al. 2021): 12 layers of 192, three heads, a class token."""
    net = Net("vit_tiny", 32)
    width, side = 192, size // 16
    x = net.input("image", 1, 3, size, size)
    x = net.raw_conv(x, "patches", 3, width, 16, 16, pads=[0] * 4, bias=True, linear=True)
    x = net.reshape(x, "rows", 1, width, side * side)
    x = net.op("Transpose", x, name="tokens", perm=[0, 2, 1])
    first = net.weight("class", net.rng.standard_normal((1, 1, width)))
    length = side * side + 1
    x = net.op("Concat", first, x, name="sequence", axis=1)
    places = net.weight("places", 0.5 * net.rng.standard_normal((1, length, width)))
    x = net.add(x, places, "placed")
    for i in range(layers):
        x = pre_norm_layer(net, x, f"layer{i}", width, 3, 4 * width, length)
    x = net.layer_norm(x, "final", width)
    x = net.op("Gather", x, net.weight("index", np.array(0, np.int64)), name="chosen", axis=1)
    net.gemm(x, "classes", width, 1000)
    return net.finish("classes", 1, 1000)


def lstm(steps: int = 100, width: int = 128, layers: int = 2) -> onnx.ModelProto:
    """Two LSTM layers of 128 on 100 steps."""
    net = Net("lstm", 33)
    x = net.input("sequence", steps, 1, width)
    for i in range(layers):
        name = f"layer{i}"
        bound = 1.0 / np.sqrt(width)
        parts = [
            net.weight(f"{name}.w", net.rng.uniform(-bound, bound, (1, 4 * width, width)) * 2),
            net.weight(f"{name}.r", net.rng.uniform(-bound, bound, (1, 4 * width, width)) * 2),
            net.weight(f"{name}.b", net.rng.uniform(-bound, bound, (1, 8 * width))),
        ]
        y = net.op("LSTM", x, *parts, name=f"{name}.all", hidden_size=width)
        x = net.op("Squeeze", y, net.ints(1), name=name)
    return net.finish(x, steps, 1, width)
