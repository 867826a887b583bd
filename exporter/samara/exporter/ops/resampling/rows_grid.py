# SPDX-License-Identifier: Apache-2.0
"""Sampling at the points of a grid, with the conventions of PyTorch's grid_sample."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from samara.exporter.ops.facts import Eager, Kind, Tolerance
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.resampling import grad_grid as rules
from samara.exporter.ops.shape_rules import FLOATS, require_rank, require_same_dtype, require_shape
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, TensorType

Ints = tuple[int, ...]
CUBIC_A = -0.75  # as PyTorch and ONNX have it


def _require_grid(ctx: InferContext, x: int, grid: int) -> tuple[Dim, ...]:
    """The shape of the samples."""
    require_same_dtype(ctx, x, grid)
    require_rank(ctx, x, 4, 5)
    require_rank(ctx, grid, ctx.required(x).rank)
    image, points = ctx.required(x).shape, ctx.required(grid).shape
    axes = len(image) - 2
    for axis in range(1, axes + 1):
        ctx.require_ge(image[axis], 1, f"axis {axis} must not be empty")
    require_shape(ctx, grid, (image[0], *points[1:-1], axes))
    return (image[0], *points[1:-1], image[-1])


# ---- the reference ----


class _Taps(NamedTuple):
    """One tap along one axis at every point."""

    at: Array  # index, clipped into the axis
    inside: Array
    weight: Array
    slope: Array  # of the weight along the given coordinate


def _reflected(x: Array, low: float, high: float) -> tuple[Array, Array]:
    """x reflected at low and high until it lies between them, and the derivative."""
    span = high - low
    if span <= 0:
        return np.zeros_like(x), np.zeros_like(x)
    away = np.abs(x - low)
    beyond, odd = np.fmod(away, span), np.fmod(np.floor(away / span), 2) != 0
    slope = np.where((x < low) ^ odd, -1.0, 1.0)
    return np.where(odd, span - beyond, beyond) + low, slope


def _padded(x: Array, size: int, padding: str, align: bool) -> tuple[Array, Array]:
    """The coordinates after padding, and their derivative."""
    if padding == "zeros":
        return x, np.ones_like(x)
    slope = np.ones_like(x)
    if padding == "reflection":
        ends = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        x, slope = _reflected(x, *ends)
    free = (x > 0) & (x < size - 1)
    return np.clip(x, 0, size - 1), np.where(free, slope, 0.0)


def _tap(at: Array, size: int, weight: Array, slope: Array) -> _Taps:
    inside = (at >= 0) & (at < size)
    index = np.where(inside, at, 0).astype(np.int64)
    return _Taps(index, inside, weight, slope)


def _cubic(d: Array) -> tuple[Array, Array]:
    """The cubic convolution at distances d, and its derivative."""
    a, x = CUBIC_A, np.abs(d)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    near_slope = (3 * (a + 2) * x - 2 * (a + 3)) * x
    far_slope = (3 * a * x - 10 * a) * x + 8 * a
    return np.where(x <= 1, near, far), np.sign(d) * np.where(x <= 1, near_slope, far_slope)


def _axis_taps(given: Array, size: int, mode: str, padding: str, align: bool) -> list[_Taps]:
    """The taps along one axis of coordinates from -1 to 1."""
    if align:
        x, by = (given + 1) / 2 * (size - 1), (size - 1) / 2
    else:
        x, by = ((given + 1) * size - 1) / 2, size / 2
    if mode == "cubic":
        below = np.floor(x)
        taps = []
        for i in (-1, 0, 1, 2):
            weight, slope = _cubic(x - below - i)
            at, _ = _padded(below + i, size, padding, align)
            taps.append(_tap(at, size, weight, by * slope))
        return taps
    x, slope = _padded(x, size, padding, align)
    if mode == "nearest":
        return [_tap(np.rint(x), size, np.ones_like(x), np.zeros_like(x))]
    below, slope = np.floor(x), slope * by
    return [
        _tap(below, size, below + 1 - x, -slope),
        _tap(below + 1, size, x - below, slope),
    ]


class _Point(NamedTuple):
    """One tap of every point: its position and its weight."""

    place: tuple[Array, ...]  # indices into x but for the channels
    inside: Array
    weight: Array
    slopes: tuple[Array, ...]  # per coordinate, in the grid's order


def _points(x: Array, grid: Array, mode: str, padding: str, align: bool) -> list[_Point]:
    axes = grid.shape[-1]
    given = grid.astype(np.float64)
    along = [
        _axis_taps(given[..., axes - 1 - a], x.shape[a + 1], mode, padding, align)
        for a in range(axes)
    ]
    batch = np.arange(x.shape[0]).reshape((-1,) + (1,) * axes)
    points = []
    for taps in itertools.product(*along):
        weights = [t.weight for t in taps]
        slopes = []
        for a in reversed(range(axes)):
            others = [w for b, w in enumerate(weights) if b != a]
            slopes.append(taps[a].slope * np.prod(others, axis=0))
        points.append(
            _Point(
                (batch, *(t.at for t in taps)),
                np.logical_and.reduce([t.inside for t in taps]),
                np.prod(weights, axis=0),
                tuple(slopes),
            )
        )
    return points


def _grid_sample(x: Array, grid: Array, *, mode: str, padding: str, align_corners: bool) -> Array:
    y = np.zeros((*grid.shape[:-1], x.shape[-1]))
    for p in _points(x, grid, mode, padding, align_corners):
        y += np.where(p.inside[..., None], x[p.place] * p.weight[..., None], 0.0)
    return y.astype(x.dtype)


def _grid_sample_grad(
    dy: Array, x: Array, grid: Array, *, mode: str, padding: str, align_corners: bool
) -> tuple[Array, Array]:
    dx, dgrid = np.zeros(x.shape), np.zeros(grid.shape)
    wide = dy.astype(np.float64)
    for p in _points(x, grid, mode, padding, align_corners):
        inside = p.inside[..., None]
        np.add.at(dx, p.place, np.where(inside, wide * p.weight[..., None], 0.0))
        dot = np.sum(np.where(inside, wide * x[p.place], 0.0), axis=-1)
        for i, slope in enumerate(p.slopes):
            dgrid[..., i] += np.where(p.inside, slope * dot, 0.0)
    return dx.astype(x.dtype), dgrid.astype(grid.dtype)


# ---- grid_sample ----


def _grid_sample_type(ctx: InferContext) -> tuple[TensorType, ...]:
    return (TensorType(ctx.x.dtype, _require_grid(ctx, 0, 1)),)


_TAPS = {"linear": 2, "nearest": 1, "cubic": 4}


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    samples = outputs[0] if len(outputs) == 1 else inputs[0]
    assert samples is not None
    taps = _TAPS[attrs["mode"]] ** (samples.rank - 2)
    return samples.numel() * (2 * taps * (1 if len(outputs) == 1 else 2)), bytes_of(inputs, outputs)


_HOW = (
    Attr("mode", "enum", "linear", ("linear", "nearest", "cubic")),
    Attr(
        "padding",
        "enum",
        "zeros",
        ("zeros", "border", "reflection"),
        "values beyond the ends: zeros, the edge, or the tensor reflected",
    ),
    Attr("align_corners", "bool", False, doc="-1 and 1 are the middles of the outermost elements"),
)
_CHOICES = tuple(
    {"mode": m, "padding": p, "align_corners": a}
    for m in ("linear", "nearest", "cubic")
    for p in ("zeros", "border", "reflection")
    for a in (False, True)
)
# x and grid; the last of the grid's sizes is the number of spatial axes.
_SHAPES: tuple[tuple[Ints, Ints], ...] = (
    ((1, 1, 1, 1), (1, 1, 1, 2)),
    ((2, 4, 5, 3), (2, 3, 7, 2)),
    ((1, 6, 3, 17), (1, 5, 4, 2)),
    ((1, 3, 4, 35), (1, 2, 2, 2)),
    ((2, 3, 4, 0), (2, 2, 2, 2)),
    ((2, 3, 4, 2), (2, 0, 2, 2)),
    ((2, 3, 2, 4, 5), (2, 2, 3, 2, 3)),
)
_FAR = np.array(
    [[-1, -1], [1, 1], [0, 0], [-9, 0.25], [0.5, 1e9], [np.nan, 0], [0, np.inf], [-3, 3]],
    np.float32,
).reshape(1, 2, 4, 2)


def _cases(samples: bool) -> tuple[Case, ...]:
    """Cases of grid_sample, and with `samples` of its gradient, which has their gradient as an input too."""

    def case(x: Ints, grid: Any, attrs: dict[str, Any], dtype: str = "f32") -> Case:
        shape = grid.shape if isinstance(grid, np.ndarray) else grid
        points = grid if isinstance(grid, np.ndarray) else (dtype, grid)
        dy = (dtype, (*shape[:-1], x[-1]))
        inputs = ((dtype, x), points)
        return Case((dy, *inputs) if samples else inputs, attrs, -1.5, 1.5)

    # For the gradient, each mode and padding once, with aligned corners by turns.
    choices = [c for i, c in enumerate(_CHOICES) if not samples or i % 2 == i // 2 % 2]
    return (
        *(case(x, grid, {}) for x, grid in _SHAPES),
        *(case((1, 4, 5, 3), (1, 4, 6, 2), c) for c in choices),
        *(
            case((1, 2, 3, 4, 2), (1, 2, 1, 3, 3), c)
            for c in _CHOICES
            if c["align_corners"] is (c["padding"] == "border")
        ),
        *(
            case((1, 3, 1, 2), (1, 2, 3, 2), c)
            for c in _CHOICES
            if c["mode"] == "linear" and c["padding"] == "reflection"
        ),
        *(case((1, 3, 4, 2), _FAR, c) for c in choices[:: 5 if samples else 4]),
        case((2, 3, 4, 9), (2, 2, 3, 2), {}, "f16"),
    )


grid_sample = define(
    OpSpec(
        name="grid_sample",
        code=221,
        since="0.2.0",
        inputs=("x", "grid"),
        outputs=("y",),
        infer=_grid_sample_type,
        reference=in_f32(_grid_sample),
        doc="y[n, i…] = x [N, spatial (2 or 3), C] at the point grid[n, i…], whose coordinates run"
        " from -1 to 1, the innermost axis first; coordinates and weights in float64",
        dtypes=FLOATS,
        check="x [N S* C] grid [N G* R] -> y [N G* C]",
        attrs=_HOW,
        cost=_cost,
        grad=rules.sample,
        saves=("x", "grid"),
        cases=_cases(samples=False),
        kind=Kind.RESAMPLING,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)


# ---- grid_sample_grad ----


def _grid_sample_grad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_same_dtype(ctx, 0, 1)
    require_shape(ctx, 0, _require_grid(ctx, 1, 2))
    return ctx.required(1), ctx.required(2)


grid_sample_grad = define(
    OpSpec(
        name="grid_sample_grad",
        code=222,
        since="0.2.0",
        inputs=("dy", "x", "grid"),
        outputs=("dx", "dgrid"),
        infer=_grid_sample_grad_type,
        reference=in_f32(_grid_sample_grad),
        doc="the gradients of grid_sample's inputs for the gradient dy of its output",
        dtypes=FLOATS,
        check="dy [N G* C] x [N S* C] grid [N G* R] -> dx [N S* C] dgrid [N G* R]",
        attrs=_HOW,
        cost=_cost,
        flags=frozenset({"training"}),
        grad=rules.sample_grad,
        saves=("dy", "x", "grid"),
        cases=_cases(samples=True),
        kind=Kind.RESAMPLING,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)
