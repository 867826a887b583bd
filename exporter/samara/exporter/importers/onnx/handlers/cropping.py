# SPDX-License-Identifier: Apache-2.0
"""CenterCropPad, and Resize of a region that is known only at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.scan import scalar
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim, dmax, dmin, floordiv


@onnx_op("CenterCropPad")
def center_crop_pad(n: NodeContext) -> Any:
    """Crop or pad both ends alike; an odd element is removed from, or added at, the end."""
    x = n.value(0)
    rank = x.type.rank
    axes = n.static_axes([as_dim(a) for a in n.attr("axes", range(rank))], rank) or []
    sizes = n.dims(1)
    if len(sizes) != len(axes):
        raise n.wrong(f"{len(sizes)} sizes for {len(axes)} axes")
    begin, end = [as_dim(0)] * rank, list(x.type.shape)
    before, after = [as_dim(0)] * rank, [as_dim(0)] * rank
    for a, size in zip(axes, sizes, strict=True):
        have = x.type.shape[a]
        begin[a] = floordiv(dmax(have - size, 0), 2)
        end[a] = begin[a] + dmin(have, size)
        more = dmax(size - have, 0)
        before[a] = floordiv(more, 2)
        after[a] = more - before[a]
    cut = n.emit("slice", x, begin=begin, end=end, step=[1] * rank)
    y = n.emit("pad", cut, pads=[*before, *after])
    shape = list(x.type.shape)
    for a, size in zip(axes, sizes, strict=True):
        shape[a] = size
    return n.final("reshape", y, shape=shape)


def resized_region(
    n: NodeContext, x: Value, axes: Sequence[int], sizes: Sequence[Dim], roi: Value, how: Mapping[str, Any]
) -> Value:  # fmt: skip
    """Resize's tf_crop_and_resize with the region as a tensor: (starts…, ends…) over `axes`.

    It works axis by axis: each output element comes from its neighbours along the axis, with positions and
    weights in float64 as in the operator. Elements outside the input are how["extrapolation"].
    """
    rank = x.type.rank
    kind = x.type.dtype
    region = roi if roi.type.dtype is DType.F64 else n.emit("cast", roi, to=DType.F64)
    if region.type.shape != (as_dim(2 * len(axes)),):
        raise n.wrong(f"roi is {roi.type}, expected {2 * len(axes)} elements")
    y = x if kind is DType.F32 or how["mode"] == "nearest" else n.emit("cast", x, to=DType.F32)
    outside: Value | None = None
    for k, (a, out) in enumerate(zip(axes, sizes, strict=True)):
        if a < 2 and out == x.type.shape[a] and len(axes) == rank:
            continue  # batch and channels, if the region has all axes
        at = _positions(
            n, x.type.shape[a], out, _element(n, region, k), _element(n, region, len(axes) + k)
        )
        last = _number(n, x.type.shape[a] - 1)
        tail = [1] * (rank - 1 - a)
        lost = n.emit("logical_or", n.emit("lt", at, _const(n, 0)), n.emit("lt", last, at))
        lost = n.emit("reshape", lost, shape=[out, *tail])
        outside = lost if outside is None else n.emit("logical_or", outside, lost)
        y = _along(n, y, a, at, last, tail, how)
    if y.type.dtype is not kind:
        y = n.emit("cast", y, to=kind)
    if outside is None:
        return y
    fill = n.const(np.asarray(how["extrapolation"]).astype(kind.numpy))
    filled: Value = n.final("where", outside, fill, y)
    return filled


def _number(n: NodeContext, dim: Dim) -> Value:
    return as_float(n, dim, DType.F64)


def _const(n: NodeContext, value: float) -> Value:
    return n.const(np.float64(value), DType.F64)


def _element(n: NodeContext, x: Value, k: int) -> Value:
    one: Value = n.emit("reshape", n.emit("slice", x, begin=[k], end=[k + 1], step=[1]), shape=())
    return one


def as_float(n: NodeContext, dim: Dim, to: DType = DType.F32) -> Value:
    """A dim as a scalar of a float dtype."""
    if dim.is_static:
        return n.const(np.asarray(dim.as_int(), to.numpy), to)
    made: Value = n.emit("cast", scalar(n, dim), to=to)
    return made


def _positions(n: NodeContext, size: Dim, out: Dim, start: Value, end: Value) -> Value:
    """The position of each of `out` elements in the input: evenly from start to end, or in the middle."""
    reach = _number(n, size - 1)
    low = n.emit("mul", start, reach)
    step = n.emit("mul", n.emit("sub", end, start), reach)
    index = n.emit("cast", n.emit("iota", length=out), to=DType.F64)
    many = n.emit("div", n.emit("mul", index, step), _number(n, dmax(out - 1, 1)))
    middle = n.emit("mul", n.emit("mul", n.emit("add", start, end), 0.5), reach)
    if out.is_static:
        if out.as_int() > 1:
            y: Value = n.emit("add", many, low)
        else:
            y = n.emit("expand", middle, shape=(out,))
        return y
    single = n.emit("lt", _number(n, out), _const(n, 2))
    either: Value = n.emit("where", single, middle, n.emit("add", many, low))
    return either


def _along(
    n: NodeContext, x: Value, axis: int, at: Value, last: Value, tail: list[int], how: Mapping[str, Any]
) -> Value:  # fmt: skip
    """x sampled along one axis at positions `at`."""
    y: Value
    if how["mode"] == "nearest":
        return _taken(n, x, axis, _rounded(n, at, how["nearest"]), last)
    base = n.emit("floor", at)
    cubic = how["mode"] == "cubic"
    taps = range(-1, 3) if cubic else range(2)
    weights, values = [], []
    for t in taps:
        index = n.emit("add", base, float(t))
        distance = n.emit("abs", n.emit("sub", index, at))
        w = (
            _cubic(n, distance, how["cubic_a"])
            if cubic
            else n.emit("max", n.emit("sub", 1.0, distance), _const(n, 0))
        )
        if how["exclude_outside"]:
            zero = _const(n, 0)
            lost = n.emit("logical_or", n.emit("lt", index, zero), n.emit("lt", last, index))
            w = n.emit("where", lost, zero, w)
        weights.append(w)
        values.append(_taken(n, x, axis, index, last))
    if how["exclude_outside"]:
        total = weights[0]
        for w in weights[1:]:
            total = n.emit("add", total, w)
        weights = [n.emit("div", w, total) for w in weights]
    shape = [at.type.shape[0], *tail]
    parts = []
    for v, w in zip(values, weights, strict=True):
        row = n.emit("reshape", n.emit("cast", w, to=DType.F32), shape=shape)
        parts.append(n.emit("mul", v, row))
    y = parts[0]
    for part in parts[1:]:
        y = n.emit("add", y, part)
    return y


def _rounded(n: NodeContext, at: Value, rule: str) -> Value:
    y: Value
    match rule:
        case "round_prefer_floor":
            y = n.emit("ceil", n.emit("sub", at, 0.5))
        case "round_prefer_ceil":
            y = n.emit("floor", n.emit("add", at, 0.5))
        case "floor" | "ceil":
            y = n.emit(rule, at)
        case _:
            raise n.wrong(f"nearest_mode {rule!r} is not known")
    return y


def _taken(n: NodeContext, x: Value, axis: int, index: Value, last: Value) -> Value:
    """x at integer positions; positions outside are moved to the edge."""
    inside = n.emit("min", n.emit("max", index, _const(n, 0)), last)
    y: Value = n.emit("gather", x, n.emit("cast", inside, to=DType.I64), axis=axis)
    return y


def _cubic(n: NodeContext, d: Value, a: float) -> Value:
    """The cubic convolution kernel (Keys, 1981) for distances of 0 to 2."""
    square = n.emit("mul", d, d)
    near = n.emit("mul", n.emit("sub", n.emit("mul", d, a + 2), a + 3), square)
    far = n.emit(
        "sub", n.emit("mul", n.emit("add", n.emit("mul", n.emit("sub", d, 5.0), d), 8.0), d), 4.0
    )
    one, two = _const(n, 1), _const(n, 2)
    outer = n.emit("where", n.emit("lt", d, two), n.emit("mul", far, a), _const(n, 0))
    y: Value = n.emit("where", n.emit("le", d, one), n.emit("add", near, 1.0), outer)
    return y
