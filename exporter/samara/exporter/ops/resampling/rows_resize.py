# SPDX-License-Identifier: Apache-2.0
"""Resizing of the spatial axes, and its adjoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.autodiff import GradContext
from samara.exporter.ops.facts import Eager, Kind, Tolerance
from samara.exporter.ops.integer import Given, Integer, Role
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.shape_rules import FLOATS, per_tensor, require_lengths, spatial_rank
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, Quant, TensorType, as_dim, bits_f32, f32_bits

Ints = tuple[int, ...]

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _resize_type(ctx: InferContext) -> tuple[TensorType, ...]:
    s = spatial_rank(ctx)
    require_lengths(ctx, s, "sizes", "scales")
    if ctx.coordinate == "tf_crop_and_resize":
        require_lengths(ctx, 2 * s, "roi")
    if ctx.mode != "nearest" and not ctx.x.dtype.is_float:
        raise ctx.error(f"{ctx.x.dtype.public_name} can be resized by mode nearest only")
    for i, size in enumerate(ctx.sizes):
        ctx.require_ge(size, 0, "a size must not be negative")
        if size != 0:
            ctx.require_ge(ctx.x.shape[i + 1], 1, f"axis {i + 1} must not be empty")
    shape = (ctx.x.shape[0], *ctx.sizes, ctx.x.shape[-1])
    return (TensorType(ctx.x.dtype, shape, per_tensor(ctx, ctx.x.quant)),)


def _coordinates(size: int, out: int, scale: float, mode: str, start: float, end: float) -> Array:
    """The coordinate of each output element in the input, in float64."""
    x = np.arange(out, dtype=np.float64)
    if mode == "align_corners":
        return x * (size - 1) / (out - 1) if out > 1 else np.zeros(out)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if mode == "tf_crop_and_resize":
        if out > 1:
            return start * (size - 1) + x * (end - start) * (size - 1) / (out - 1)
        return np.full(out, 0.5 * (start + end) * (size - 1))
    half = (x + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return half if out > 1 else np.zeros(out)
    if mode == "half_pixel_symmetric":
        return half + size / 2 * (1 - out / (scale * size))
    return half


def _nearest(x: Array, size: int, rule: str) -> Array:
    """The index of the input element for each coordinate."""
    if rule == "round_prefer_floor":
        rounded = np.ceil(x - 0.5)
    elif rule == "round_prefer_ceil":
        rounded = np.floor(x + 0.5)
    else:
        rounded = np.floor(x) if rule == "floor" else np.ceil(x)
    return np.clip(rounded, 0, size - 1).astype(np.int64)


def _triangle(d: Array) -> Array:
    return np.asarray(np.maximum(1 - np.abs(d), 0))


def _cubic(d: Array, a: float) -> Array:
    d = np.abs(d)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _weights(
    x: Array, size: int, scale: float, mode: str, a: float, exclude: bool, antialias: bool
) -> Array:
    """A matrix [out, in] of interpolation weights; elements outside repeat the edge."""
    shrink = min(scale, 1.0) if antialias else 1.0
    reach = 1 if mode == "linear" else 2
    radius = int(np.ceil(reach / shrink))
    index = np.floor(x)[:, None] + np.arange(1 - radius - 1, radius + 2)
    distance = (index - x[:, None]) * shrink
    w = _triangle(distance) if mode == "linear" else _cubic(distance, a)
    if exclude:
        w = np.where((index >= 0) & (index < size), w, 0)
    if exclude or antialias:
        w = w / w.sum(axis=1, keepdims=True)
    matrix = np.zeros((len(x), size))
    rows = np.broadcast_to(np.arange(len(x))[:, None], index.shape)
    np.add.at(matrix, (rows, np.clip(index, 0, size - 1).astype(np.int64)), w)
    return matrix


def _sampled(
    axis: int,
    size: int,
    out: int,
    *,
    scales: Ints,
    mode: str,
    coordinate: str,
    nearest: str,
    cubic_a: float,
    exclude_outside: bool,
    roi: tuple[float, ...],
    antialias: bool,
) -> tuple[Array, Array]:
    """The sampling of a spatial axis of `size` elements at `out` positions.

    The input element of each output (nearest) or a matrix [out, size] of weights, and whether the output lies
    outside the region.
    """
    scale = bits_f32(scales[axis]) if scales[axis] else out / max(size, 1)
    crops = coordinate == "tf_crop_and_resize"
    start, end = (roi[axis], roi[len(scales) + axis]) if crops else (0.0, 1.0)
    at = _coordinates(size, out, scale, coordinate, start, end)
    lost = ((at < 0) | (at > size - 1)) & crops
    if mode == "nearest":
        return _nearest(at, size, nearest), lost
    return _weights(at, size, scale, mode, cubic_a, exclude_outside, antialias), lost


def linear_samples(size: int, out: int, scale: int, coordinate: str) -> tuple[Array, Array, Array]:
    """Both input elements of each output along an axis of mode linear, and the weight of the second.

    scale: the attribute's float32 bits, 0 if only the sizes are known; `coordinate` is not
    tf_crop_and_resize.
    """
    factor = bits_f32(scale) if scale else out / max(size, 1)
    at = _coordinates(size, out, factor, coordinate, 0.0, 1.0)
    low = np.floor(at)
    first, second = (np.clip(low + i, 0, size - 1).astype(np.int64) for i in (0, 1))
    return first, second, at - low


def _along(values: Array, axis: int, rank: int) -> Array:
    """A row that broadcasts along one axis."""
    return values.reshape([-1 if a == axis else 1 for a in range(rank)])


def _applied(matrix: Array, x: Array, axis: int) -> Array:
    return np.asarray(np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis))


def _resize(x: Array, *, sizes: Ints, extrapolation: float, **how: Any) -> Array:
    y: Array = x
    outside = np.zeros((1,) * x.ndim, np.bool_)
    for i, out in enumerate(sizes):
        found, lost = _sampled(i, x.shape[i + 1], out, **how)
        outside = outside | _along(lost, i + 1, x.ndim)
        if how["mode"] == "nearest":
            y = np.take(y, found, axis=i + 1)
        else:
            y = _applied(found, y.astype(np.float64), i + 1)
    y = np.where(outside, np.asarray(extrapolation).astype(x.dtype), y) if outside.any() else y
    return np.ascontiguousarray(y.astype(x.dtype))


def _resize_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    taps = {"nearest": 0, "linear": 2, "cubic": 4}[attrs["mode"]] ** len(attrs["sizes"])
    return outputs[0].numel() * (2 * taps), bytes_of(inputs, outputs)


def _resize_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    s = spatial_rank(ctx)
    require_lengths(ctx, s, "size", "scales")
    if ctx.coordinate == "tf_crop_and_resize":
        require_lengths(ctx, 2 * s, "roi")
    for i, size in enumerate(ctx.size):
        ctx.require_ge(size, 0, "a size must not be negative")
        if ctx.x.shape[i + 1] != 0:
            ctx.require_ge(size, 1, f"axis {i + 1} must not have been empty")
    return (TensorType(ctx.x.dtype, (ctx.x.shape[0], *ctx.size, ctx.x.shape[-1])),)


def _resize_grad(dy: Array, *, size: Ints, **how: Any) -> Array:
    if not dy.size:
        return np.zeros((dy.shape[0], *size, dy.shape[-1]), dy.dtype)
    dx = dy.astype(np.float64)
    for i, n in enumerate(size):
        out = dy.shape[i + 1]
        found, lost = _sampled(i, n, out, **how)
        if how["mode"] == "nearest":
            found = (found[:, None] == np.arange(n)).astype(np.float64)
        # An element outside on one axis is outside.
        dx = _applied((found * ~lost[:, None]).T, dx, i + 1)
    return np.ascontiguousarray(dx.astype(dy.dtype))


def _resize_grad_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    dy = inputs[0]
    assert dy is not None
    taps = {"nearest": 1, "linear": 2, "cubic": 4}[attrs["mode"]] ** len(attrs["size"])
    return dy.numel() * (2 * taps), bytes_of(inputs, outputs)


def _resize_grad_rule(ctx: GradContext) -> Sequence[Any]:
    return (resize(ctx.dy, sizes=ctx.shape("dy")[1:-1], **_how(ctx)),)


def _how(ctx: GradContext) -> dict[str, Any]:
    """The attributes of resize and its adjoint."""
    return {a.name: ctx.attrs[a.name] for a in _HOW}


def _resize_rule(ctx: GradContext) -> Sequence[Any]:
    return (resize_grad(ctx.dy, size=ctx.shape("x")[1:-1], **_how(ctx)),)


_HOW = (
    Attr("scales", "dims", doc="float32 bits per spatial axis; 0: output by input size"),
    Attr("mode", "enum", "nearest", ("nearest", "linear", "cubic")),
    Attr("coordinate", "enum", "half_pixel", COORDINATES, "as ONNX names them"),
    Attr("nearest", "enum", "round_prefer_floor", NEAREST, "rounding of mode nearest"),
    Attr("cubic_a", "f32", -0.75, doc="the coefficient of mode cubic"),
    Attr("exclude_outside", "bool", False, doc="elements outside have weight 0"),
    Attr("roi", "floats", (), doc="for tf_crop_and_resize: begins, then ends, per axis"),
    Attr("antialias", "bool", False, doc="widen the filter if the output is smaller"),
)


def _case(
    sizes: Ints,
    to: Ints,
    channels: int = 2,
    dtype: Any = ("f32",),
    scales: tuple[float, ...] | None = None,
    n: int = 1,
    **attrs: Any,
) -> Case:
    bits = (0,) * len(sizes) if scales is None else tuple(f32_bits(v) for v in scales)
    shape = (n, *sizes, channels)
    return Case(((dtype[0], shape, *dtype[1:]),), {"sizes": to, "scales": bits, **attrs})


def _coordinate_cases() -> tuple[Case, ...]:
    out = []
    for mode in ("nearest", "linear", "cubic"):
        for c in COORDINATES:
            attrs: dict[str, Any] = {"mode": mode, "coordinate": c}
            if c == "tf_crop_and_resize":
                attrs["roi"] = (0.1, 0.0, 0.8, 1.2)
            out.append(_case((4, 5), (7, 3), **attrs))
            if mode != "nearest":
                out.append(_case((3, 4), (1, 9), **attrs))
    return tuple(out)


def _takes_nearest(given: Given) -> tuple[int, ...] | None:
    """Whether results are elements of the input: nearest, except outside of a crop."""
    a = given.attrs
    return (0,) if a["mode"] == "nearest" and a["coordinate"] != "tf_crop_and_resize" else None


def _takes_linear(given: Given) -> bool:
    """Linear over one or two axes of known sizes, by taps that qresize can hold."""
    a, x = given.attrs, given.type(0)
    if x is None or a["mode"] != "linear" or a["coordinate"] == "tf_crop_and_resize":
        return False
    sizes = (*x.shape[1:-1], *a["sizes"], *a["scales"])
    known = len(a["sizes"]) <= 2 and all(as_dim(d).is_static for d in sizes)
    empty = known and any(as_dim(d) == as_dim(0) for d in x.shape[1:-1])
    return known and not empty and not a["antialias"] and not a["exclude_outside"]


resize = define(
    OpSpec(
        name="resize",
        code=147,
        inputs=("x",),
        outputs=("y",),
        infer=_resize_type,
        reference=in_f32(_resize),
        doc="y = x [N, spatial…, C] sampled at other sizes; coordinates and weights in float64",
        dtypes=("f32", "f16", "u8", "i8", "qs8"),
        check="resize",
        attrs=(
            Attr("sizes", "dims", doc="the output's spatial sizes"),
            *_HOW[:6],
            Attr("extrapolation", "f32", 0.0, doc="value of elements outside in tf_crop_and_resize"),
            *_HOW[6:],
        ),
        cost=_resize_cost,
        flags=frozenset({"serial_prologue", "strided_out"}),
        grad=_resize_rule,
        cases=(
            _case((1, 1), (1, 1), 1),
            _case((4, 5), (8, 10), 16, scales=(2.0, 2.0)),
            _case((4, 5), (8, 10), 17, n=2, scales=(2.0, 2.0), mode="linear"),
            _case((8, 9), (5, 4), 3, scales=(0.7, 0.5), mode="linear"),
            _case((7,), (15,), 8, mode="linear"),
            _case((7,), (3,), 8),
            _case((3, 4, 5), (5, 3, 7), 2, mode="linear"),
            _case((3, 4, 2), (6, 8, 4), 3, coordinate="asymmetric", nearest="floor"),
            *(_case((5, 4), (8, 3), coordinate=c, nearest=r) for c in ("half_pixel", "asymmetric")
              for r in NEAREST[1:]),
            *_coordinate_cases(),
            _case((5, 6), (7, 4), mode="cubic", cubic_a=-0.5),
            _case((5, 6), (7, 4), mode="cubic", exclude_outside=True),
            _case((5, 6), (7, 4), mode="linear", exclude_outside=True),
            _case((9, 8), (4, 3), mode="linear", antialias=True),
            _case((9, 8), (4, 12), mode="cubic", antialias=True),
            _case((9, 8), (4, 3), mode="linear", antialias=True, exclude_outside=True),
            _case((4, 4), (3, 3), mode="linear", coordinate="tf_crop_and_resize",
                  roi=(-0.5, 0.25, 1.5, 0.75), extrapolation=10.0),
            _case((4, 4), (3, 6), coordinate="tf_crop_and_resize",
                  roi=(-0.5, 0.25, 1.5, 0.75), extrapolation=-1.0),
            _case((3, 3), (0, 4), 3),
            _case((3, 3), (5, 4), 0),
            *(_case((5, 3), (7, 7), 15, (d,)) for d in ("f16", "u8", "i8")),
            _case((5, 3), (7, 7), 16, ("f16",), mode="linear"),
            _case((5, 3), (3, 5), 16, ("qs8", Quant.per_tensor(0.5, -3))),
        ),
        kind=Kind.RESAMPLING,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
        strided=("x",), integer=Integer(Role.COMPUTED, "qresize", fits=_takes_linear, moves=_takes_nearest),
    )
)  # fmt: skip


def _grad_case(case: Case) -> Case:
    """The adjoint of a case of resize, with its sizes swapped."""
    ((_, shape, *_),) = case.inputs
    attrs = {k: v for k, v in case.attrs.items() if k not in ("sizes", "extrapolation")}
    to = (shape[0], *case.attrs["sizes"], shape[-1])
    return Case(((case.inputs[0][0], to),), {**attrs, "size": shape[1:-1]})


resize_grad = define(
    OpSpec(
        name="resize_grad",
        code=220,
        since="0.2.0",
        inputs=("dy",),
        outputs=("dx",),
        infer=_resize_grad_type,
        reference=in_f32(_resize_grad),
        doc="dx = the adjoint of resize, whose input has the spatial sizes `size`, applied to dy",
        dtypes=FLOATS,
        check="resize grad",
        attrs=(Attr("size", "dims", doc="the spatial sizes before resizing"), *_HOW),
        cost=_resize_grad_cost,
        flags=frozenset({"serial_prologue", "training"}),
        grad=_resize_grad_rule,
        cases=(
            *(_grad_case(c) for c in resize.cases[3:7]),
            # Every second: one of two shapes for each mode and kind of coordinate.
            *(_grad_case(c) for c in resize.cases[8::2] if c.inputs[0][0] in FLOATS),
            _grad_case(_case((40, 3), (7, 5), 3, n=2, mode="linear")),
            _grad_case(_case((1, 1), (9, 8), 17, mode="cubic", cubic_a=-0.5)),
            _grad_case(_case((6, 5), (13, 9), 33, ("f16",), mode="linear")),
        ),
        kind=Kind.RESAMPLING,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)
