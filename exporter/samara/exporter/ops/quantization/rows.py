# SPDX-License-Identifier: Apache-2.0
"""To, from and between quantized tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import permute_rules
from samara.exporter.ops.autodiff import NO_GRAD
from samara.exporter.ops.facts import ROUNDED, Kind
from samara.exporter.ops.numeric import Array, quantized
from samara.exporter.ops.shape_rules import FLOATS
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, define
from samara.exporter.types import DType, Quant, TensorType, as_dim

_PARAMETERS = (
    Attr("scales", "floats", doc="one, or one per index of `axis`"),
    Attr("zero_points", "ints", doc="as many"),
    Attr("axis", "int", -1, doc="-1: one scale for the whole tensor"),
)
_OPTIONAL = (
    Attr("scales", "floats", (), doc="of a quantized output: one, or one per index of `axis`"),
    Attr("zero_points", "ints", (), doc="as many"),
    Attr("axis", "int", -1, doc="-1: one scale for the whole tensor"),
)


def _quant(ctx: InferContext) -> Quant:
    """The output's parameters from the attributes."""
    axis = ctx.axis
    ctx.require(-1 <= axis < ctx.x.rank, f"axis {axis} is out of range for rank {ctx.x.rank}")
    quant = Quant(ctx.scales, ctx.zero_points, None if axis < 0 else axis)
    if axis >= 0:
        ctx.require_eq(ctx.x.shape[axis], len(ctx.scales), f"axis {axis} needs one scale per index")
    return quant


def _quantized_type(ctx: InferContext) -> TensorType:
    """x in qs8; an axis with a scale per index has as many indices."""
    quant, shape = _quant(ctx), list(ctx.x.shape)
    if quant.axis is not None:
        shape[quant.axis] = as_dim(len(quant.scales))
    return TensorType(DType.QS8, tuple(shape), quant)


def _to_qs8(ctx: InferContext) -> tuple[TensorType, ...]:
    return (_quantized_type(ctx),)


def _along(values: Sequence[float], axis: int | None, rank: int, dtype: Any) -> Array:
    """Parameters shaped so that they broadcast along their axis."""
    array = np.array(values, dtype)
    if axis is None or axis < 0:
        return array.reshape(())
    return array.reshape([-1 if a == axis else 1 for a in range(rank)])


def _quantize(
    x: Array, *, scales: tuple[float, ...], zero_points: tuple[int, ...], axis: int
) -> Array:
    scale = _along(scales, axis, x.ndim, np.float32)
    zero = _along(zero_points, axis, x.ndim, np.int32)
    return quantized(x.astype(np.float32) / scale, zero)


def _of_input(q_in: Sequence[Quant | None], rank: int) -> tuple[Array, Array]:
    quant = q_in[0]
    if quant is None:
        raise ValueError("a qs8 input needs its quantization parameters")
    return (
        _along(quant.scales, quant.axis, rank, np.float32),
        _along(quant.zero_points, quant.axis, rank, np.int32),
    )


def _dequantize(x: Array, *, q_in: Sequence[Quant | None]) -> Array:
    scale, zero = _of_input(q_in, x.ndim)
    return np.asarray((x.astype(np.int32) - zero).astype(np.float32) * scale)


def _requantize(
    x: Array,
    *,
    scales: tuple[float, ...],
    zero_points: tuple[int, ...],
    axis: int,
    q_in: Sequence[Quant | None],
) -> Array:
    scale, zero = _of_input(q_in, x.ndim)
    m = scale / _along(scales, axis, x.ndim, np.float32)
    p = (x.astype(np.int32) - zero).astype(np.float32) * m
    return quantized(p, _along(zero_points, axis, x.ndim, np.int32))


def _quantized_case(
    shape: tuple[int, ...],
    source: Any,
    scales: Sequence[float] = (0.05,),
    zero_points: Sequence[int] = (0,),
    axis: int = -1,
    low: float = -8.0,
    high: float = 8.0,
) -> Case:
    dtype = source if isinstance(source, tuple) else (source,)
    attrs = {"scales": tuple(scales), "zero_points": tuple(zero_points), "axis": axis}
    return Case(((dtype[0], shape, *dtype[1:]),), attrs, low, high)


_A = Quant.per_tensor(0.1, 10)
_B = Quant.per_axis([0.5, 0.25, 0.01], 1, [3, -128, 127])

quantize = define(
    OpSpec(
        name="quantize",
        code=180,
        inputs=("x",),
        outputs=("y",),
        infer=_to_qs8,
        reference=_quantize,
        doc="y = round_half_even(clamp(x / scale)) + zero_point in qs8; NaN gives the zero point",
        dtypes=FLOATS,
        check="quantize",
        grad=NO_GRAD,
        attrs=_PARAMETERS,
        permute=permute_rules.along_optional_axis,
        cases=(
            _quantized_case((), "f32"),
            _quantized_case((33,), "f32", zero_points=(-128,)),
            _quantized_case((2, 17), "f32", (0.5,), (7,)),
            _quantized_case((3, 0), "f32"),
            _quantized_case((2, 3, 5), "f32", (0.5, 0.1, 0.02), (0, -5, 100), 1),
            _quantized_case((2, 3, 2, 2), "f32", (0.5, 0.1), (1, 2), 3),
            _quantized_case((2, 8), "f16"),
            Case((np.array([0.5, 1.5, 2.5, -0.5, np.nan, np.inf, -np.inf, 1e30], np.float32),),
                 {"scales": (1.0,), "zero_points": (3,)}),
        ),
        kind=Kind.CONVERTING, settled=True,
    )
)  # fmt: skip

dequantize = define(
    OpSpec(
        name="dequantize",
        code=181,
        inputs=("x",),
        outputs=("y",),
        infer=lambda ctx: (TensorType(DType.F32, ctx.x.shape),),
        reference=_dequantize,
        doc="y = (x - zero_point) * scale in float32",
        dtypes=("qs8",),
        check="quantize",
        grad=NO_GRAD,
        permute="any",
        cases=(
            Case((("qs8", (), _A),)),
            Case((("qs8", (33,), _A),)),
            Case((("qs8", (2, 3, 8), _B),)),
            Case((("qs8", (2, 1, 2, 3, 3), _A),)),
            Case((("qs8", (0, 4), _A),)),
        ),
        kind=Kind.CONVERTING,
        tolerance=ROUNDED,
        settled=True,
    )
)

requantize = define(
    OpSpec(
        name="requantize",
        code=182,
        inputs=("x",),
        outputs=("y",),
        infer=_to_qs8,
        reference=_requantize,
        doc="y = x with other parameters: float32(x - z_x) * (s_x / s_y), clamped, rounded, + z_y",
        dtypes=("qs8",),
        check="quantize",
        grad=NO_GRAD,
        attrs=_PARAMETERS,
        permute=permute_rules.along_optional_axis,
        cases=(
            _quantized_case((33,), ("qs8", _A), (0.1,), (10,)),
            _quantized_case((2, 17), ("qs8", _A), (0.3,), (-4,)),
            _quantized_case((2, 3, 4), ("qs8", _B), (0.05,), (0,)),
            _quantized_case((2, 3, 4), ("qs8", _A), (0.5, 0.1, 0.02), (0, -5, 100), 1),
            _quantized_case((), ("qs8", _A), (0.01,), (127,)),
        ),
        kind=Kind.CONVERTING,
    )
)


def _reinterpret_type(ctx: InferContext) -> tuple[TensorType, ...]:
    if ctx.to not in (DType.I8, DType.U8, DType.QS8):
        raise ctx.error(f"cannot reinterpret as {ctx.to.public_name}")
    if ctx.to is DType.QS8:
        return (_quantized_type(ctx),)
    ctx.require(
        not ctx.scales and not ctx.zero_points, "only a quantized output has scales and zero points"
    )
    return (TensorType(ctx.to, ctx.x.shape),)


def _reinterpret(
    x: Array, *, to: DType, scales: tuple[float, ...], zero_points: tuple[int, ...], axis: int
) -> Array:
    same_sign = (x.dtype == np.uint8) == (to is DType.U8)
    data = x if same_sign else x.view(np.uint8) ^ np.uint8(0x80)
    return data.view(to.numpy).copy()


reinterpret = define(
    OpSpec(
        name="reinterpret",
        code=183,
        inputs=("x",),
        outputs=("y",),
        infer=_reinterpret_type,
        reference=_reinterpret,
        doc="y = x's bytes as another 8-bit dtype; between uint8 and int8 (or qs8) shifted by 128,"
        " so that order is kept",
        dtypes=("i8", "u8", "qs8"),
        check="quantize",
        grad=NO_GRAD,
        attrs=(Attr("to", "dtype", doc="int8, uint8 or qs8"), *_OPTIONAL),
        permute=permute_rules.along_optional_axis,
        cases=(
            Case((("u8", (33,)),), {"to": "i8"}),
            Case((("i8", (2, 17)),), {"to": "u8"}),
            Case((("u8", (3, 8)),), {"to": "qs8", "scales": (0.5,), "zero_points": (-3,)}),
            Case((("i8", (2, 3)),), {"to": "qs8", "scales": (0.5, 1, 2), "zero_points": (0, 1, 2),
                                     "axis": 1}),
            Case((("qs8", (7,), _A),), {"to": "u8"}),
            Case((("qs8", (), _A),), {"to": "i8"}),
            Case((("i8", (0, 2)),), {"to": "i8"}),
        ),
        kind=Kind.CONVERTING,
    )
)  # fmt: skip
