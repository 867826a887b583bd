# SPDX-License-Identifier: Apache-2.0
"""A small convolutional net for 8x8 digits: fitted with numpy alone, written as ONNX like an
exporter does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

CLASSES = 10
SIDE = 8
_CHANNELS = (16, 32)
_EPOCHS = 14
_BATCH = 48
_RATE = 2e-3  # Adam's step
_DECAYS = (0.9, 0.999)


@dataclass(slots=True)
class Net:
    """Weights of conv 3x3 - relu - conv 3x3 - relu - max pool 2x2 - dense; convolutions are [O,
    C, 3, 3].
    """

    conv1: Floats
    bias1: Floats
    conv2: Floats
    bias2: Floats
    dense: Floats  # [classes, features]
    bias3: Floats

    def parameters(self) -> list[Floats]:
        return [self.conv1, self.bias1, self.conv2, self.bias2, self.dense, self.bias3]

    def probabilities(self, images: Floats) -> Floats:
        """Softmax of the logits of images [N, 1, 8, 8]."""
        logits = _forward(self, images)[0]
        e = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True), np.float32)


def fit(
    images: Floats,
    labels: Ints,
    seed: int,
    progress: Callable[[int, int], None] = lambda _a, _b: None,
) -> Net:
    """A net fitted to images [N, 1, 8, 8] in 0..1 and labels, by Adam on shifted copies of the
    images.
    """
    rng = np.random.default_rng(seed)
    net = _initial(rng)
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in net.parameters()]
    step = 0
    for epoch in range(_EPOCHS):
        order = rng.permutation(len(images))
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            step += 1
            gradients = _gradients(net, _shifted(images[chosen], rng), labels[chosen])
            rate = _RATE * (0.1 if epoch >= _EPOCHS - 3 else 1.0)
            for p, g, (mean, square) in zip(net.parameters(), gradients, moments, strict=True):
                _adam(p, g, mean, square, step, rate)
        progress(epoch + 1, _EPOCHS)
    return net


def onnx_model(net: Net) -> bytes:
    """The net as a serialized ONNX model: input "image" [batch, 1, 8, 8], output "probability"
    [batch, 10].
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = {
        "conv1.weight": net.conv1,
        "conv1.bias": net.bias1,
        "conv2.weight": net.conv2,
        "conv2.bias": net.bias2,
        "dense.weight": net.dense,
        "dense.bias": net.bias3,
    }
    same: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node(
            "Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"], "conv1", **same
        ),
        helper.make_node("Relu", ["conv1"], ["relu1"], "relu1"),
        helper.make_node(
            "Conv", ["relu1", "conv2.weight", "conv2.bias"], ["conv2"], "conv2", **same
        ),
        helper.make_node("Relu", ["conv2"], ["relu2"], "relu2"),
        helper.make_node(
            "MaxPool", ["relu2"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2]
        ),
        helper.make_node("Flatten", ["pool"], ["features"], "flatten"),
        helper.make_node(
            "Gemm", ["features", "dense.weight", "dense.bias"], ["logits"], "dense", transB=1
        ),
        helper.make_node("Softmax", ["logits"], ["probability"], "softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(w, name) for name, w in weights.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="samara demo",
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


# ---- fitting ----


def _initial(rng: np.random.Generator) -> Net:
    a, b = _CHANNELS
    features = b * (SIDE // 2) ** 2

    def he(*shape: int) -> Floats:
        fan_in = int(np.prod(shape[1:]))
        return np.asarray(rng.standard_normal(shape) * np.sqrt(2.0 / fan_in), np.float32)

    def zeros(n: int) -> Floats:
        return np.zeros(n, np.float32)

    return Net(
        he(a, 1, 3, 3), zeros(a), he(b, a, 3, 3), zeros(b), he(CLASSES, features), zeros(CLASSES)
    )


def _shifted(images: Floats, rng: np.random.Generator) -> Floats:
    """Each image moved by at most one pixel, so that the net does not learn places by heart."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = np.empty_like(images)
    for i, (y, x) in enumerate(rng.integers(0, 3, (len(images), 2))):
        moved[i] = padded[i, :, y : y + SIDE, x : x + SIDE]
    return moved


def _patches(x: Floats) -> Floats:
    """3x3 neighbourhoods of [N, C, H, W] with zeros around, as [N, H, W, C * 9]."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.ascontiguousarray(views.transpose(0, 2, 3, 1, 4, 5)).reshape(n, h, w, c * 9)


def _conv(patches: Floats, weight: Floats, bias: Floats) -> Floats:
    flat = patches @ weight.reshape(len(weight), -1).T + bias
    return np.ascontiguousarray(flat.transpose(0, 3, 1, 2))


def _forward(net: Net, images: Floats) -> tuple[Floats, tuple[Floats, ...]]:
    """Logits, and what the gradients need again."""
    p1 = _patches(images)
    h1 = np.maximum(_conv(p1, net.conv1, net.bias1), 0)
    p2 = _patches(h1)
    h2 = np.maximum(_conv(p2, net.conv2, net.bias2), 0)
    n, c, h, w = h2.shape
    cells = h2.reshape(n, c, h // 2, 2, w // 2, 2)
    pooled = cells.max(axis=(3, 5))
    flat = pooled.reshape(n, -1)
    return flat @ net.dense.T + net.bias3, (p1, h1, p2, h2, pooled, flat)


def _gradients(net: Net, images: Floats, labels: Ints) -> list[Floats]:
    """Of the mean cross-entropy, in the order of Net.parameters."""
    logits, (p1, h1, p2, h2, pooled, flat) = _forward(net, images)
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    d = e / e.sum(axis=1, keepdims=True)
    d[np.arange(len(labels)), labels] -= 1
    d = (d / len(labels)).astype(np.float32)
    n, c, h, w = h2.shape
    d_pooled = (d @ net.dense).reshape(pooled.shape)
    winners = h2.reshape(n, c, h // 2, 2, w // 2, 2) == pooled[:, :, :, None, :, None]
    d2 = (winners * d_pooled[:, :, :, None, :, None]).reshape(h2.shape) * (h2 > 0)
    rows2 = d2.transpose(0, 2, 3, 1).reshape(-1, c)
    d1 = _back_through_patches(rows2 @ net.conv2.reshape(c, -1), h1.shape) * (h1 > 0)
    rows1 = d1.transpose(0, 2, 3, 1).reshape(-1, h1.shape[1])
    return [
        (rows1.T @ p1.reshape(len(rows1), -1)).reshape(net.conv1.shape),
        rows1.sum(axis=0),
        (rows2.T @ p2.reshape(len(rows2), -1)).reshape(net.conv2.shape),
        rows2.sum(axis=0),
        d.T @ flat,
        d.sum(axis=0),
    ]


def _back_through_patches(rows: Floats, shape: tuple[int, ...]) -> Floats:
    """The transpose of `_patches`: every patch is added back where it was taken."""
    n, c, h, w = shape
    patches = rows.reshape(n, h, w, c, 3, 3)
    padded = np.zeros((n, c, h + 2, w + 2), np.float32)
    for i in range(3):
        for j in range(3):
            padded[:, :, i : i + h, j : j + w] += patches[..., i, j].transpose(0, 3, 1, 2)
    return padded[:, :, 1:-1, 1:-1]


def _adam(p: Floats, g: Floats, mean: Floats, square: Floats, step: int, rate: float) -> None:
    """One step in place (Kingma, Ba 2015)."""
    first, second = _DECAYS
    mean += (1 - first) * (g - mean)
    square += (1 - second) * (g * g - square)
    scale = rate * np.sqrt(1 - second**step) / (1 - first**step)
    p -= np.asarray(scale * mean / (np.sqrt(square) + 1e-8), np.float32)
