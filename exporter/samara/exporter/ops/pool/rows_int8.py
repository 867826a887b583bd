# SPDX-License-Identifier: Apache-2.0
"""Means and interpolation of int8: pools, reductions, linear resizing (docs/reference/quantized-arithmetic.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import permute_rules, windows
from samara.exporter.ops.facts import Kind
from samara.exporter.ops.integer import Form, Given, Plain, same_attributes
from samara.exporter.ops.numeric import Array, DataError
from samara.exporter.ops.pool.rows import DILATIONS, KERNEL, STRIDES, counted, pool_cost, pool_type
from samara.exporter.ops.quantization.arithmetic import (
    INTEGER_ONLY,
    OUTPUT,
    centred,
    given,
    output_quant,
    power_of_two,
    requantized,
    require_multiplier,
    rounded,
    whole,
)
from samara.exporter.ops.resampling.rows_resize import linear_samples
from samara.exporter.ops.shape_rules import normal_axes, require_dtype, require_rank
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, Quant, TensorType, as_dim

Ints = tuple[int, ...]

WEIGHT_BITS = 11  # of the weights of qresize
LARGEST_ADDED = 2.0**64  # scale of dequantized values whose sums stay finite


def _ratio(x: Quant, scale: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(x.scale) / np.float32(scale)


def _of_x(ctx: InferContext, shape: Sequence[Dim]) -> TensorType:
    require_multiplier(ctx, _ratio(whole(ctx, 0), ctx.scale))
    return TensorType(DType.QS8, tuple(shape), output_quant(ctx))


def _mean_of(total: Array, count: Array, x: Quant, tail: Mapping[str, Any]) -> Array:
    """The sums over the counts, requantized: m_n = (s_x / s_y) / n."""
    tail = dict(tail)
    m = _ratio(x, tail.pop("scale")) / np.maximum(count, 1).astype(np.float32)
    return requantized(total, m, **tail)


# ---- pools and means ----


def _qavg_pool_type(ctx: InferContext) -> tuple[TensorType, ...]:
    y = _of_x(ctx, pool_type(ctx)[0].shape)
    ctx.require(
        not ctx.dequantized or whole(ctx, 0).scale <= LARGEST_ADDED,
        "dequantized: values with scales above 2^64 are too large to be added",
    )
    return (y,)


def _qavg_pool(
    x: Array,
    *,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    extend: Ints,
    count_include_pad: bool,
    dequantized: bool,
    q_in: Sequence[Quant | None],
    **tail: Any,
) -> Array:
    quant = given(q_in, 0)
    move: Any = {
        "kernel": kernel, "strides": strides, "dilations": dilations, "pads": pads, "extend": extend,
    }  # fmt: skip
    count = counted(x.shape[1:-1], **move, include_pad=count_include_pad)
    if not dequantized:
        return _mean_of(windows.sum_pool(centred(x, quant), **move), count, quant, tail)
    # Every operation rounds separately, which decides ties.
    real = (x.astype(np.float32) - np.float32(quant.zero_point)) * np.float32(quant.scale)
    total = windows.sum_pool(real, **move, dtype=np.float32)
    mean = total / np.maximum(count, 1).astype(np.float32)
    with np.errstate(over="ignore"):
        p = mean / np.float32(tail.pop("scale"))
    return rounded(p, **tail)


def _case(
    sizes: Ints,
    kernel: Ints,
    channels: int = 3,
    *,
    n: int = 1,
    stride: int = 1,
    dilation: int = 1,
    pads: Ints | None = None,
    x: Quant | None = None,
    **more: Any,
) -> Case:
    s = len(sizes)
    attrs = {
        "kernel": kernel,
        "strides": (stride,) * s,
        "dilations": (dilation,) * s,
        "pads": (0,) * (2 * s) if pads is None else pads,
        "extend": (0,) * s,
        "scale": 0.05,
        **more,
    }
    return Case((("qs8", (n, *sizes, channels), _X if x is None else x),), attrs)


_X = Quant.per_tensor(0.05, 3)
_FAR = Quant.per_tensor(0.02, -128)
_TIES = Quant.per_tensor(0.1, 11)


def _build_qavg_pool(given: Given, quants: Sequence[Quant], y: Quant, options: Any) -> Form:
    """With equal scales of input and output, which quantizers choose, many means are ties. The file's engine adds
    dequantized values, which decides them.
    """
    added = given.imported and quants[0].scale <= LARGEST_ADDED
    return Form((0,), {**given.attrs, "dequantized": added})


qavg_pool = define(
    OpSpec(
        name="qavg_pool",
        code=190,
        inputs=("x",),
        outputs=("y",),
        infer=_qavg_pool_type,
        reference=_qavg_pool,
        doc="y = the mean under the window in qs8, of what lies in x (or in x and pads):"
        " round(clamp(sum(x - z_x) * ((s_x / s_y) / n))) + z_y",
        dtypes=("qs8",),
        check="pool extend",
        attrs=(
            KERNEL,
            STRIDES,
            DILATIONS,
            Attr("pads", "dims", doc="before each spatial axis, then after each"),
            Attr("extend", "dims", doc="further elements after each spatial axis, never counted"),
            Attr("count_include_pad", "bool", False, doc="pads count as zeros"),
            Attr(
                "dequantized",
                "bool",
                False,
                doc="as the float pool between dequantize and quantize: round(clamp("
                "(sum((x - z_x) * s_x) / n) / s_y)) + z_y, added tap by tap in float32",
            ),
            *OUTPUT,
        ),
        cost=pool_cost,
        flags=frozenset({"strided_out"}),
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=(
            _case((1, 1), (1, 1), 1),
            _case((6, 8), (2, 2), 16, stride=2),
            _case((7, 9), (3, 3), 17, stride=2, pads=(1, 1, 1, 1), n=2, x=_FAR, zero_point=-100),
            _case((5, 5), (3, 3), 33, pads=(1, 0, 0, 1)),
            _case((8, 8), (3, 2), 8, dilation=2),
            _case((17,), (3,), 7, stride=2, pads=(1, 1), scale=0.03, lo=-60, hi=70),
            _case((4, 5, 6), (2, 3, 2), 2, stride=2, pads=(0, 1, 0, 1, 1, 1)),
            _case((7, 7), (7, 7), 70, x=_FAR, scale=0.02, zero_point=-128),
            _case((3, 3), (2, 2), 0),
            _case((3, 3), (2, 2), 3, n=0),
            _case((5, 5), (3, 3), pads=(1,) * 4, count_include_pad=True),
            _case((6, 6), (3, 3), stride=2, pads=(1,) * 4, extend=(1, 0)),
            _case((6, 7), (3, 3), 8, stride=2, pads=(1, 1, 0, 0), extend=(1, 2),
                  count_include_pad=True),
            _case((4, 4), (2, 2), 5, pads=(2, 2, 2, 2), extend=(0, 0)),
            # Ties, which float32 rounding decides.
            _case((6, 8), (2, 2), 16, stride=2, dequantized=True),
            _case((12, 10), (2, 2), 70, stride=2, n=2, x=_TIES, scale=0.1, zero_point=-7,
                  dequantized=True),
            _case((8, 8), (2, 1), 33, x=_TIES, scale=0.3, lo=-60, hi=70, dequantized=True),
            # Divisions by 3, 6 and 9; padding.
            _case((9, 11), (3, 3), 17, stride=2, pads=(1, 1, 1, 1), n=2, x=_FAR, scale=0.02,
                  zero_point=-100, dequantized=True),
            _case((17,), (3,), 7, stride=2, pads=(1, 1), scale=0.03, count_include_pad=True,
                  dequantized=True),
            _case((4, 5, 6), (2, 3, 2), 2, stride=2, pads=(0, 1, 0, 1, 1, 1), dequantized=True),
            _case((4, 4), (2, 2), 5, pads=(2, 2, 2, 2), extend=(0, 1), dequantized=True),
        ),
        kind=Kind.WINDOW,
        strided=("x",), build=_build_qavg_pool,
    )
)  # fmt: skip


def _qmean_type(ctx: InferContext) -> tuple[TensorType, ...]:
    axes = normal_axes(ctx, ctx.axes)
    shape = [
        as_dim(1) if i in axes else d
        for i, d in enumerate(ctx.x.shape)
        if i not in axes or ctx.keepdims
    ]
    return (_of_x(ctx, shape),)


def _qmean(
    x: Array, *, axes: Ints, keepdims: bool, q_in: Sequence[Quant | None], **tail: Any
) -> Array:
    quant = given(q_in, 0)
    wide: Any = (
        x.astype(np.int64) - quant.zero_point
    )  # NumPy's types know keepdims as a literal only
    total = np.asarray(wide.sum(axis=axes, keepdims=keepdims))
    count = np.asarray(math.prod(x.shape[a] for a in axes))
    return _mean_of(total, count, quant, tail)


def _read_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    x = inputs[0]
    return (as_dim(0) if x is None else x.numel()), bytes_of(inputs, outputs)


def _reduced(shape: Ints, axes: Ints, x: Quant = _X, **attrs: Any) -> Case:
    return Case((("qs8", shape, x),), {"axes": axes, "scale": 0.01, **attrs})


qmean = define(
    OpSpec(
        name="qmean",
        code=191,
        inputs=("x",),
        outputs=("y",),
        infer=_qmean_type,
        reference=_qmean,
        doc="y = the mean over `axes` in qs8: round(clamp(sum(x - z_x) * ((s_x / s_y) / n))) + z_y",
        dtypes=("qs8",),
        check="reduce",
        attrs=(
            Attr("axes", "ints", doc="axes to reduce; none: nothing is reduced"),
            Attr("keepdims", "bool", False, doc="reduced axes stay, with size 1"),
            *OUTPUT,
        ),
        cost=_read_cost,
        permute=permute_rules.reduced(lambda attrs: attrs["axes"]),
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=(
            _reduced((7,), (0,)),
            _reduced((3, 33), (1,), keepdims=True, zero_point=-8),
            _reduced((3, 33), (0,), _FAR),
            _reduced((2, 7, 7, 40), (1, 2), _FAR, keepdims=True, scale=0.02, zero_point=-128),
            _reduced((2, 5, 3, 17), (1, 3)),
            _reduced((2, 5, 3), (-1,), lo=-30, hi=30),
            _reduced((2, 3), ()),
            _reduced((0, 4), (1,)),
            _reduced((0, 4), (0,)),
            _reduced((2, 300), (1,)),
        ),
        kind=Kind.REDUCING,
        build=same_attributes(("axes", "keepdims")),
    )
)


# ---- linear resizing ----


def linear_taps(low: Array, high: Array, weight: Array) -> Array:
    """The taps of one axis of qresize, int32 [out, 3]: both source indices and the weight of the
    second in units of 2^-11, rounded half to even.

    low, high [out]: source indices; weight [out] in 0..1 of `high`.
    """
    scaled = np.rint(np.asarray(weight, np.float64) * (1 << WEIGHT_BITS))
    return np.stack([low, high, scaled], axis=1).astype(np.int32)


def _qresize_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_rank(ctx, 0, 3, 4)
    spatial = ctx.x.rank - 2
    ctx.require(len(ctx.inputs) == spatial + 1, f"{spatial} spatial axes need as many taps")
    sizes = []
    for i in range(1, spatial + 1):
        require_dtype(ctx, i, DType.I32)
        taps = ctx.required(i)
        ctx.require(taps.rank == 2, f"taps of rank {taps.rank}, expected [out, 3]")
        ctx.require_eq(taps.shape[1], 3, "a tap is two indices and a weight")
        sizes.append(taps.shape[0])
    return (_of_x(ctx, (ctx.x.shape[0], *sizes, ctx.x.shape[-1])),)


def _qresize(
    x: Array,
    taps_0: Array,
    taps_1: Array | None = None,
    *,
    scale: float,
    zero_point: int,
    lo: int,
    hi: int,
    q_in: Sequence[Quant | None],
) -> Array:
    quant = given(q_in, 0)
    acc, bits = x.astype(np.int32) - quant.zero_point, 0
    for axis, taps in enumerate((taps_0, taps_1), 1):
        if taps is None:
            continue
        _require_taps(taps, x.shape[axis], axis - 1)
        high = taps[:, 2].reshape([-1 if a == axis else 1 for a in range(x.ndim)])
        low = np.int32(1 << WEIGHT_BITS) - high
        acc = acc.take(taps[:, 0], axis) * low + acc.take(taps[:, 1], axis) * high
        bits += WEIGHT_BITS
    p = acc.astype(np.float32) * (_ratio(quant, scale) * power_of_two(bits))
    return rounded(p, zero_point, lo, hi)


def _require_taps(taps: Array, size: int, axis: int) -> None:
    """DataError unless indices lie inside and weights between 0 and 1."""
    good = (taps >= 0) & (taps < np.array([size, size, (1 << WEIGHT_BITS) + 1]))
    if not good.all():
        row = taps[~good.all(axis=1)][0].tolist()
        raise DataError(
            f"taps_{axis} holds {tuple(row)}, expected two indices below {size} and a weight up to"
            f" {1 << WEIGHT_BITS}",
            op="qresize",
        )


def _resized(sizes: Ints, to: Ints, channels: int, n: int = 1, **attrs: Any) -> Case:
    taps = []
    for i, (size, out) in enumerate(zip(sizes, to, strict=True)):
        rng = np.random.default_rng(100 * size + 10 * out + i)
        low = rng.integers(0, max(size, 1), out)
        taps.append(linear_taps(low, np.minimum(low + 1, max(size, 1) - 1), rng.uniform(0, 1, out)))
    return Case((("qs8", (n, *sizes, channels), _X), *taps), {"scale": 0.05, **attrs})


def _build_qresize(given: Given, quants: Sequence[Quant], y: Quant, options: Any) -> Form:
    a, x = given.attrs, given.type(0)
    assert x is not None
    taps = []
    for i, (size, out, scale) in enumerate(
        zip(x.shape[1:-1], a["sizes"], a["scales"], strict=True)
    ):
        low, high, bits = (as_dim(v).as_int() for v in (size, out, scale))
        samples = linear_samples(low, high, bits, a["coordinate"])
        taps.append(Plain(linear_taps(*samples), f"taps_{i}"))
    return Form((0, *taps))


qresize = define(
    OpSpec(
        name="qresize",
        code=192,
        inputs=("x", "taps_0", "taps_1?"),
        outputs=("y",),
        infer=_qresize_type,
        reference=_qresize,
        doc="y = x [N, spatial…, C] interpolated linearly in qs8 along 1 or 2 spatial axes; taps is"
        " int32 [out, 3]: two indices and the weight of the second in units of 2^-11",
        dtypes=("qs8",),
        check="x [N S* C] taps_0 [P 3] taps_1 [Q 3] -> y [N O* C]",
        attrs=OUTPUT,
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=(
            _resized((4,), (9,), 3),
            _resized((5, 3), (10, 6), 16, zero_point=-9),
            _resized((5, 3), (3, 5), 33, n=2, scale=0.04, lo=-90, hi=80),
            _resized((1, 1), (4, 4), 1),
            _resized((6, 7), (1, 2), 8),
            _resized((2, 2), (3, 3), 0),
            _resized((2, 2), (3, 3), 4, n=0),
        ),
        kind=Kind.RESAMPLING,
        build=_build_qresize,
    )
)
