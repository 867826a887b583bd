# SPDX-License-Identifier: Apache-2.0
"""Matrix multiplication and convolutions of int8 with int32 sums (docs/reference/quantized-arithmetic.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import windows
from samara.exporter.ops.facts import Kind, WeightForm
from samara.exporter.ops.integer import Form, Given
from samara.exporter.ops.linear.epilogue import EPILOGUE
from samara.exporter.ops.linear.rows import (
    conv_shape,
    conv_transpose_shape,
    matmul_cost,
    matmul_shape,
    window_cost,
)
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.quantization.arithmetic import (
    INTEGER_ONLY,
    LARGEST,
    OUTPUT,
    centred,
    farthest,
    given,
    multipliers,
    output_quant,
    requantized,
    require_multiplier,
    whole,
    wrapped,
)
from samara.exporter.ops.shape_rules import require_dtype
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, define
from samara.exporter.types import Dim, DType, Quant, TensorType, as_dim

_TO = Attr("to", "dtype", DType.QS8, doc="of the output: qs8, or int32 for the sums")
_DOC = (
    " acc = int32 sums of (x - z_x) * (w - z_w) + bias; y = round(clamp(acc * (s_x * s_w / s_y)))"
    " + z_y, or acc itself"
)


def _sums(ctx: InferContext, shape: tuple[Dim, ...], columns: int, depth: Dim) -> TensorType:
    """The output's type; axis `columns` of w may have a scale each, `depth` products are added."""
    x = whole(ctx, 0)
    require_dtype(ctx, 1, DType.QS8)
    w = ctx.required(1).quant
    if w is None or w.block is not None or w.axis not in (None, columns):
        raise ctx.error(
            f"w must have one scale, or one per index of axis {columns}",
            "quantize weights per tensor or per output channel",
        )
    if ctx.optional(2) is not None:
        require_dtype(ctx, 2, DType.I32)
    ctx.require(
        ctx.to in (DType.QS8, DType.I32),
        f"output dtype {ctx.to.public_name}, expected qs8 or int32",
    )
    if ctx.to is DType.I32:
        return TensorType(DType.I32, shape)
    require_multiplier(ctx, multipliers(x, w, ctx.scale))
    if depth.is_static:
        ctx.require(
            depth.as_int() * farthest(x) * farthest(w) <= LARGEST,
            f"sums of {depth} products may leave int32",
        )
    return TensorType(DType.QS8, shape, output_quant(ctx))


def _window_depth(ctx: InferContext) -> Dim:
    depth = as_dim(1)
    for d in ctx.required(1).shape[1:]:
        depth = depth * d
    return depth


def _qconv_type(ctx: InferContext) -> tuple[TensorType, ...]:
    return (_sums(ctx, conv_shape(ctx), 0, _window_depth(ctx)),)


def _qconv_transpose_type(ctx: InferContext) -> tuple[TensorType, ...]:
    return (_sums(ctx, conv_transpose_shape(ctx), 0, _window_depth(ctx)),)


def _qmatmul_type(ctx: InferContext) -> tuple[TensorType, ...]:
    shape = matmul_shape(ctx)
    w = ctx.required(1)
    columns = w.rank - 2 if ctx.transpose_w else w.rank - 1
    return (_sums(ctx, shape, columns, ctx.x.shape[-2 if ctx.transpose_x else -1]),)


def _finished(
    total: Array,
    bias: Array | None,
    q_in: Sequence[Quant | None],
    *,
    to: DType,
    scale: float,
    zero_point: int,
    lo: int,
    hi: int,
) -> Array:
    """From exact sums to the output; channels are the last axis."""
    acc = wrapped(total if bias is None else total + bias)
    if to is DType.I32:
        return acc
    return requantized(acc, multipliers(given(q_in, 0), given(q_in, 1), scale), zero_point, lo, hi)


def _qconv(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    groups: int,
    q_in: Sequence[Quant | None],
    **tail: Any,
) -> Array:
    total = windows.conv(
        centred(x, given(q_in, 0)),
        centred(w, given(q_in, 1), 0),
        strides=strides,
        dilations=dilations,
        pads=pads,
        groups=groups,
    )
    return _finished(total, bias, q_in, **tail)


def _qconv_transpose(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    output_padding: tuple[int, ...],
    groups: int,
    q_in: Sequence[Quant | None],
    **tail: Any,
) -> Array:
    total = windows.conv_transpose(
        centred(x, given(q_in, 0)),
        centred(w, given(q_in, 1), 0),
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=output_padding,
        groups=groups,
    )
    return _finished(total, bias, q_in, **tail)


def _qmatmul(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    transpose_x: bool,
    transpose_w: bool,
    q_in: Sequence[Quant | None],
    **tail: Any,
) -> Array:
    a = centred(x, given(q_in, 0))
    b = centred(w, given(q_in, 1), w.ndim - 2 if transpose_w else w.ndim - 1)
    total = np.matmul(
        a.swapaxes(-1, -2) if transpose_x else a, b.swapaxes(-1, -2) if transpose_w else b
    )
    return _finished(total, bias, q_in, **tail)


# ---- cases ----

_X = Quant.per_tensor(0.05, 3)
_FAR = Quant.per_tensor(0.02, -128)


def _weights(count: int, axis: int, zeros: bool = False) -> Quant:
    """A scale per channel, and nonzero zero points if asked for."""
    scales = [0.004 * (1 + c % 5) for c in range(count)]
    return Quant.per_axis(scales, axis, [c % 7 - 3 for c in range(count)] if zeros else None)


def _cv(
    sizes: tuple[int, ...],
    channels: int,
    kernel: tuple[int, ...],
    outputs: int,
    *,
    n: int = 1,
    stride: int = 1,
    dilation: int = 1,
    pads: tuple[int, ...] | None = None,
    groups: int = 1,
    bias: bool = True,
    x: Quant = _X,
    w: Quant | None = None,
    output_padding: int | None = None,
    scale: float = 0.1,
    **tail: Any,
) -> Case:
    s = len(sizes)
    attrs = {
        "strides": (stride,) * s,
        "dilations": (dilation,) * s,
        "pads": (0,) * (2 * s) if pads is None else pads,
        "groups": groups,
        "scale": scale,
        **tail,
    }
    if output_padding is not None:
        attrs["output_padding"] = (output_padding,) * s
    given_w = w if w is not None else _weights(outputs, 0) if outputs else Quant.per_tensor(0.01)
    inputs: tuple[Any, ...] = (
        ("qs8", (n, *sizes, channels), x),
        ("qs8", (outputs, *kernel, channels // groups), given_w),
    )
    extra: tuple[Any, ...] = (("i32", (outputs,)),) if bias else ()
    return Case((*inputs, *extra), attrs, -5000, 5000)


_EPILOGUE = frozenset(a.name for a in EPILOGUE)


def without_epilogue(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a float product that its integer form also has."""
    return {k: v for k, v in attrs.items() if k not in _EPILOGUE}


def _build_product(given: Given, quants: Sequence[Quant], y: Quant, options: Any) -> Form:
    """Only without a bias, which would have to be in steps of the sums."""
    return Form((0, 1), without_epilogue(given.attrs))


qconv = define(
    OpSpec(
        name="qconv",
        code=184,
        inputs=("x", "w", "bias?"),
        outputs=("y",),
        infer=_qconv_type,
        reference=_qconv,
        doc="y = conv(x [N, spatial…, C], w [O, k…, C/groups]) in qs8, 1 to 3 spatial axes;" + _DOC,
        dtypes=("qs8",),
        check="conv",
        attrs=(
            Attr("strides", "ints", doc="one per spatial axis"),
            Attr("dilations", "ints", doc="one per spatial axis"),
            Attr("pads", "dims", doc="z_x before each spatial axis, then after each"),
            Attr("groups", "int", 1, doc="channels of x and outputs are cut into this many groups"),
            *OUTPUT,
            _TO,
        ),
        cost=window_cost,
        grad=INTEGER_ONLY,
        flags=frozenset({"serial_prologue", "strided_out"}),
        since="0.4.0",
        cases=(
            _cv((1, 1), 1, (1, 1), 1),
            _cv((5, 7), 3, (1, 1), 17, bias=False),
            _cv((6, 5), 16, (1, 1), 33, n=2, zero_point=-7),
            _cv((5, 5), 16, (1, 1), 8, stride=2),
            _cv((8, 9), 3, (3, 3), 16, stride=2, pads=(1, 1, 1, 1)),
            _cv((7, 7), 8, (3, 3), 15, pads=(1, 1, 1, 1), x=_FAR, lo=-20, hi=100, zero_point=-20),
            _cv((9, 8), 5, (3, 2), 7, pads=(0, 1, 2, 0), n=2),
            _cv((15, 16), 3, (7, 7), 9, stride=2, pads=(3, 3, 3, 3)),
            _cv((9, 9), 4, (3, 3), 4, dilation=2, pads=(2, 2, 2, 2), x=_FAR),
            _cv((6, 6), 8, (3, 3), 12, groups=4, pads=(1, 1, 1, 1)),
            _cv((6, 6), 24, (3, 3), 8, groups=2, pads=(1, 1, 1, 1)),
            _cv((6, 6), 6, (1, 1), 9, groups=3),
            _cv((7, 8), 16, (3, 3), 16, groups=16, pads=(1, 1, 1, 1)),
            _cv((7, 8), 33, (3, 3), 33, groups=33, stride=2, pads=(1, 1, 1, 1), x=_FAR),
            _cv((9, 9), 7, (5, 5), 7, groups=7, pads=(2, 2, 2, 2), lo=0),
            _cv((9, 9), 24, (3, 3), 24, groups=24, dilation=2, bias=False),
            _cv((6, 6), 4, (3, 3), 8, groups=4, pads=(1, 1, 1, 1)),
            _cv((17,), 3, (5,), 8, pads=(2, 2)),
            _cv((16,), 4, (4,), 7, stride=3, dilation=2),
            _cv((9,), 8, (3,), 8, groups=8, pads=(2, 0)),
            _cv((4, 5, 6), 2, (3, 2, 3), 5, pads=(1, 0, 1, 1, 1, 1)),
            _cv((5, 4, 5), 4, (2, 2, 2), 4, stride=2, groups=2),
            _cv((4, 4, 4), 3, (3, 3, 3), 3, groups=3, pads=(1,) * 6, x=_FAR),
            _cv((5, 5), 3, (3, 3), 4, n=0),
            _cv((3, 3), 2, (3, 3), 0),
            _cv((5, 5), 0, (3, 3), 2),
            _cv((5, 6), 8, (3, 3), 17, pads=(1,) * 4, w=_weights(17, 0, zeros=True), x=_FAR),
            _cv((5, 6), 8, (3, 3), 8, groups=8, pads=(1,) * 4, w=_weights(8, 0, zeros=True)),
            _cv((5, 6), 7, (1, 1), 18, w=Quant.per_tensor(0.01, 100)),
            _cv((5, 6), 20, (2, 3), 18, pads=(1,) * 4, to="i32", scale=1.0),
            _cv((5, 6), 20, (3, 3), 20, groups=20, to="i32", scale=1.0, w=_weights(20, 0, True)),
        ),
        kind=Kind.PRODUCT,
        int8_sums=True,
        strided=("x",),
        weights={"w": WeightForm.CONV, "bias": WeightForm.BIAS},
        build=_build_product,
    )
)

qconv_transpose = define(
    OpSpec(
        name="qconv_transpose",
        code=185,
        inputs=("x", "w", "bias?"),
        outputs=("y",),
        infer=_qconv_transpose_type,
        reference=_qconv_transpose,
        doc="y = transposed convolution of x [N, spatial…, C] with w [O, k…, C/groups] in qs8, as conv_transpose;"
        + _DOC,
        dtypes=("qs8",),
        check="conv_transpose",
        attrs=(
            Attr("strides", "ints", doc="one per spatial axis"),
            Attr("dilations", "ints", doc="one per spatial axis"),
            Attr("pads", "dims", doc="cut off before each spatial axis, then after each"),
            Attr("output_padding", "ints", doc="extra elements at the end of each spatial axis"),
            Attr("groups", "int", 1, doc="channels of x and outputs are cut into this many groups"),
            *OUTPUT,
            _TO,
        ),
        cost=window_cost,
        grad=INTEGER_ONLY,
        flags=frozenset({"serial_prologue"}),
        since="0.4.0",
        cases=(
            _cv((1, 1), 1, (1, 1), 1, output_padding=0),
            _cv((5, 4), 3, (3, 3), 8, output_padding=0, zero_point=9),
            _cv((5, 4), 3, (2, 2), 17, stride=2, output_padding=0, n=2, bias=False),
            _cv((5, 4), 8, (4, 4), 8, stride=2, pads=(1, 1, 1, 1), output_padding=0, x=_FAR),
            _cv((4, 4), 4, (3, 3), 5, stride=2, pads=(1, 1, 1, 1), output_padding=1, lo=-3, hi=90),
            _cv((4, 5), 6, (3, 2), 9, stride=2, dilation=2, groups=3, output_padding=0),
            _cv((4, 5), 8, (3, 3), 8, stride=2, groups=8, pads=(1, 0, 0, 1), output_padding=1),
            _cv((7,), 3, (5,), 7, stride=3, output_padding=2),
            _cv((3, 2, 3), 2, (2, 3, 2), 3, stride=2, output_padding=0),
            _cv((3, 3), 2, (2, 2), 3, n=0, output_padding=0),
            _cv((4, 4), 5, (3, 3), 6, stride=2, output_padding=0, w=_weights(6, 0, zeros=True)),
            _cv((4, 4), 4, (3, 3), 6, stride=2, output_padding=0, to="i32", scale=1.0),
        ),
        kind=Kind.PRODUCT,
        int8_sums=True,
        weights={"bias": WeightForm.BIAS},
        build=_build_product,
    )
)


def _mm(
    x: tuple[int, ...],
    w: tuple[int, ...],
    *,
    bias: bool = True,
    q_x: Quant = _X,
    q_w: Quant | None = None,
    scale: float = 0.1,
    **attrs: Any,
) -> Case:
    n = w[-2 if attrs.get("transpose_w") else -1]
    axis = len(w) - 2 if attrs.get("transpose_w") else len(w) - 1
    given_w = q_w if q_w is not None else _weights(n, axis) if n else Quant.per_tensor(0.01)
    inputs: tuple[Any, ...] = (("qs8", x, q_x), ("qs8", w, given_w))
    extra: tuple[Any, ...] = (("i32", (n,)),) if bias else ()
    return Case((*inputs, *extra), {"scale": scale, **attrs}, -5000, 5000)


qmatmul = define(
    OpSpec(
        name="qmatmul",
        code=186,
        inputs=("x", "w", "bias?"),
        outputs=("y",),
        infer=_qmatmul_type,
        reference=_qmatmul,
        doc="y = x @ w in qs8; leading axes broadcast as in numpy.matmul;" + _DOC,
        dtypes=("qs8",),
        check="matmul",
        attrs=(
            Attr("transpose_x", "bool", False, doc="the last two axes of x are swapped"),
            Attr("transpose_w", "bool", False, doc="the last two axes of w are swapped"),
            *OUTPUT,
            _TO,
        ),
        cost=matmul_cost,
        grad=INTEGER_ONLY,
        flags=frozenset({"serial_prologue"}),
        since="0.4.0",
        cases=(
            *(_mm((m, k), (k, n)) for m, k, n in (
                (1, 1, 1), (1, 7, 33), (2, 3, 16), (7, 16, 15), (8, 33, 17), (15, 8, 48),
                (31, 9, 32), (3, 64, 100), (0, 3, 4), (3, 0, 4), (3, 4, 0), (33, 128, 7),
            )),
            _mm((2, 3, 9), (9, 17), bias=False, zero_point=5),
            _mm((2, 3, 9), (2, 9, 5), q_w=Quant.per_tensor(0.01, -3)),
            _mm((2, 1, 3, 9), (4, 9, 5), q_x=_FAR),
            _mm((4, 9), (2, 9, 5), q_w=Quant.per_tensor(0.01)),
            _mm((9, 4), (9, 17), transpose_x=True),
            _mm((4, 9), (17, 9), transpose_w=True),
            _mm((2, 9, 4), (2, 17, 9), transpose_x=True, transpose_w=True, q_x=_FAR),
            _mm((5, 16), (16, 33), lo=-5, hi=90),
            _mm((5, 16), (16, 33), q_w=_weights(33, 1, zeros=True)),
            _mm((5, 18), (18, 33), to="i32", scale=1.0, q_w=_weights(33, 1, zeros=True)),
            _mm((1, 70), (70, 40), to="i32", scale=1.0, bias=False),
        ),
        kind=Kind.PRODUCT,
        int8_sums=True,
        weights={"w": WeightForm.MATMUL, "bias": WeightForm.BIAS}, build=_build_product,
    )
)  # fmt: skip
