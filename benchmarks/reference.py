# SPDX-License-Identifier: Apache-2.0
"""The reference output of a model: its ONNX graph in float64, by onnx's reference evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from benchmarks.engines import Array
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class Conv(OpRun):
    """Convolution of images as a product per group; onnx's own takes minutes for a large net."""

    def _run(self, x: Array, w: Array, b: Array | None = None, **attrs: Any) -> tuple[Array]:
        return (convolution(x, w, b, **attrs),)


def convolution(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    strides: Any = None,
    pads: Any = None,
    dilations: Any = None,
    group: int = 1,
    **_rest: Any,
) -> Array:
    """ONNX's Conv of [1, C, H, W] or [1, C, L] with explicit padding."""
    if x.ndim == 3:
        (s,), (d,), (before, after) = strides or (1,), dilations or (1,), pads or (0, 0)
        sides = {"strides": (1, s), "dilations": (1, d), "pads": (0, before, 0, after)}
        flat = convolution(x[:, :, None], w[:, :, None], b, group=group, **sides)
        return np.asarray(flat[:, :, 0])
    (sh, sw), (dh, dw) = strides or (1, 1), dilations or (1, 1)
    top, left, bottom, right = pads or (0, 0, 0, 0)
    kh, kw = w.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    span = ((kh - 1) * dh + 1, (kw - 1) * dw + 1)
    seen = sliding_window_view(padded[0], span, axis=(1, 2))[:, ::sh, ::sw, ::dh, ::dw]
    c, oh, ow = seen.shape[:3]
    rows = seen.reshape(group, c // group, oh, ow, kh, kw).transpose(0, 1, 4, 5, 2, 3)
    rows = rows.reshape(group, c // group * kh * kw, oh * ow)
    y: Array = w.reshape(group, w.shape[0] // group, -1) @ rows
    y = y.reshape(1, w.shape[0], oh, ow)
    return y if b is None else y + b.reshape(1, -1, 1, 1)


def in_float64(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same graph with float64 in place of float32."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    for tensor in wide.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for value in (*wide.graph.input, *wide.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    return wide


def answer(model: onnx.ModelProto, x: Array) -> Array:
    """The model's output in float64."""
    evaluator = ReferenceEvaluator(in_float64(model), new_ops=[Conv])
    (y,) = evaluator.run(None, {model.graph.input[0].name: x.astype(np.float64)})
    found: Array = np.asarray(y)
    assert found.dtype == np.float64, found.dtype
    return found


def draw(model: onnx.ModelProto, count: int, seed: int) -> Array:
    """Seeded inputs of a model, along a first axis."""
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, *shape)).astype(np.float32)


def sqnr_db(want: Array, got: Array) -> float:
    """Signal-to-noise ratio of an output in decibels; -inf if the number of elements differs."""
    if want.size != got.size:
        return float("-inf")
    w, g = want.astype(np.float64).ravel(), got.astype(np.float64).ravel()
    noise = float(np.square(w - g).sum())
    if not np.isfinite(noise):
        return float("-inf")
    return float(10 * np.log10(np.square(w).sum() / max(noise, 1e-300)))
