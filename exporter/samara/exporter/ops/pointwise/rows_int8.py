# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators on int8: sums, products, and any function of one value by a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ops.facts import Kind
from samara.exporter.ops.integer import Form, Given, Real
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.quantization.arithmetic import (
    INTEGER_ONLY,
    OUTPUT,
    SCALE,
    ZERO_POINT,
    given,
    output_quant,
    power_of_two,
    requantized,
    require_multiplier,
    rounded,
    whole,
)
from samara.exporter.ops.shape_rules import broadcast, require_dtype, require_shape
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, Permuted, define
from samara.exporter.types import DType, Quant, QuantizationError, TensorType

_BITS = 20  # bits of the multipliers of qadd


def add_multipliers(
    scale_a: float, scale_b: float, scale_y: float, *, subtract: bool = False
) -> tuple[int, int, int]:
    """(a_multiplier, b_multiplier, shift) of qadd: the ratios of the scales times 2^shift, rounded
    half to even, the larger of 20 bits. `subtract` makes the second negative.

    Raises QuantizationError if the larger ratio is beyond 2^±100.
    """
    ratios = (scale_a / scale_y, scale_b / scale_y)
    _, exponent = math.frexp(max(ratios))
    shift = _BITS - exponent
    if not -100 <= shift <= 126:
        raise QuantizationError(
            f"scales {scale_a:g} and {scale_b:g} are too far from the output's {scale_y:g}",
            op="qadd",
            fix="calibrate again: the output's range does not fit its inputs",
        )
    a, b = (round(math.ldexp(r, shift)) for r in ratios)
    return a, -b if subtract else b, shift


def lookup_table(f: Callable[[Array], Array], x: Quant, scale: float, zero_point: int) -> Array:
    """The 256 outputs of a function on every value that a tensor with parameters `x` can hold.

    f takes float32. Its result in steps of `scale` is clamped, then rounded half to even; NaN gives the zero
    point.
    """
    q = np.arange(-128, 128, dtype=np.int32)
    real = (q - x.zero_point).astype(np.float32) * np.float32(x.scale)
    with np.errstate(all="ignore"):
        p = np.asarray(f(real), np.float32) / np.float32(scale)
    return rounded(np.nan_to_num(p, nan=0.0), zero_point, -128, 127)


def _pair(ctx: InferContext) -> tuple[Quant, Quant, TensorType]:
    a, b = whole(ctx, 0), whole(ctx, 1)
    shape = broadcast(ctx, ctx.x.shape, ctx.required(1).shape)
    return a, b, TensorType(DType.QS8, shape, output_quant(ctx))


def _qadd_type(ctx: InferContext) -> tuple[TensorType, ...]:
    for value in (ctx.a_multiplier, ctx.b_multiplier):
        ctx.require(abs(value) <= 2**_BITS, f"multiplier {value} has more than {_BITS} bits")
    ctx.require(-100 <= ctx.shift <= 126, f"shift {ctx.shift}, expected -100 to 126")
    return (_pair(ctx)[2],)


def _qadd(
    a: Array,
    b: Array,
    *,
    a_multiplier: int,
    b_multiplier: int,
    shift: int,
    scale: float,
    zero_point: int,
    lo: int,
    hi: int,
    q_in: Sequence[Quant | None],
) -> Array:
    left = (a.astype(np.int32) - given(q_in, 0).zero_point) * np.int32(a_multiplier)
    right = (b.astype(np.int32) - given(q_in, 1).zero_point) * np.int32(b_multiplier)
    return requantized(np.asarray(left + right), power_of_two(shift), zero_point, lo, hi)


def _qmul_type(ctx: InferContext) -> tuple[TensorType, ...]:
    a, b, y = _pair(ctx)
    require_multiplier(ctx, _product(a, b, ctx.scale))
    return (y,)


def _product(a: Quant, b: Quant, scale: float) -> np.float32:
    with np.errstate(over="ignore"):
        return (np.float32(a.scale) * np.float32(b.scale)) / np.float32(scale)


def _qmul(
    a: Array,
    b: Array,
    *,
    scale: float,
    zero_point: int,
    lo: int,
    hi: int,
    q_in: Sequence[Quant | None],
) -> Array:
    qa, qb = given(q_in, 0), given(q_in, 1)
    acc = (a.astype(np.int32) - qa.zero_point) * (b.astype(np.int32) - qb.zero_point)
    return requantized(np.asarray(acc), _product(qa, qb, scale), zero_point, lo, hi)


def _qlookup_type(ctx: InferContext) -> tuple[TensorType, ...]:
    whole(ctx, 0)
    require_dtype(ctx, 1, DType.I8)
    require_shape(ctx, 1, (256,), "one result per int8 value")
    return (TensorType(DType.QS8, ctx.x.shape, output_quant(ctx)),)


def _qlookup(x: Array, table: Array, *, scale: float, zero_point: int) -> Array:
    return np.asarray(table[x.astype(np.int32) + 128])


def _only_x(
    attrs: Mapping[str, Any],
    inputs: Sequence[TensorType | None],
    outputs: Sequence[TensorType],
    perm: tuple[int, ...],
) -> Permuted:
    return Permuted((perm, None), (perm,), attrs)


# ---- cases ----

_A = Quant.per_tensor(0.05, 3)
_B = Quant.per_tensor(0.02, -20)
_Y = 0.1


def _two(
    a: tuple[int, ...], b: tuple[int, ...], add: bool, qa: Quant = _A, qb: Quant = _B, **attrs: Any
) -> Case:
    scale = attrs.pop("scale", _Y)
    minus = attrs.pop("subtract", False)
    more = {}
    if add:
        names = ("a_multiplier", "b_multiplier", "shift")
        more = dict(
            zip(names, add_multipliers(qa.scale, qb.scale, scale, subtract=minus), strict=True)
        )
    return Case((("qs8", a, qa), ("qs8", b, qb)), {"scale": scale, **more, **attrs})


def _pair_cases(add: bool) -> tuple[Case, ...]:
    return (
        _two((), (), add),
        _two((33,), (33,), add),
        _two((2, 17), (2, 17), add, zero_point=-9),
        _two((3, 1, 5), (4, 5), add),
        _two((2, 3, 16), (16,), add),
        _two((1,), (70,), add),
        _two((2, 8, 1), (2, 1, 31), add),
        _two((0, 4), (4,), add),
        _two((100,), (100,), add, lo=-10, hi=50),
        _two((300,), (300,), add, scale=0.004),
        _two((64,), (64,), add, Quant.per_tensor(1.0, -128), Quant.per_tensor(1e-4, 127)),
        _two((256,), (256,), add, Quant.per_tensor(0.5), Quant.per_tensor(0.5), scale=1.0),
    )


def _build_qadd(
    given: Given, quants: Sequence[Quant], y: Quant, options: Mapping[str, Any]
) -> Form:
    names = ("a_multiplier", "b_multiplier", "shift")
    a, b = quants
    numbers = add_multipliers(a.scale, b.scale, y.scale, subtract=options.get("subtract", False))
    return Form((0, 1), dict(zip(names, numbers, strict=True)))


def _build_qmul(
    given: Given, quants: Sequence[Quant], y: Quant, options: Mapping[str, Any]
) -> Form | None:
    """Division by a constant is a product with its inverse."""
    if not options.get("inverse", False):
        return Form((0, 1))
    divisor = given.known(1)
    if divisor is None:
        return None
    with np.errstate(divide="ignore", over="ignore"):
        return Form((0, Real(1.0 / divisor.astype(np.float64))))


qadd = define(
    OpSpec(
        name="qadd",
        code=187,
        inputs=("a", "b"),
        outputs=("y",),
        infer=_qadd_type,
        reference=_qadd,
        doc="y = a + b in qs8: round(clamp((M_a * (a - z_a) + M_b * (b - z_b)) * 2^-shift)) + z_y",
        dtypes=("qs8",),
        check="broadcast",
        attrs=(
            Attr("a_multiplier", "int", doc="round(s_a / s_y * 2^shift), at most 20 bits"),
            Attr("b_multiplier", "int", doc="round(s_b / s_y * 2^shift); negative to subtract"),
            Attr("shift", "int", doc="binary digits after the point"),
            *OUTPUT,
        ),
        permute="any",
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=(
            *_pair_cases(True),
            _two((40,), (40,), True, subtract=True),
        ),
        kind=Kind.POINTWISE,
        build=_build_qadd,
    )
)

qmul = define(
    OpSpec(
        name="qmul",
        code=188,
        inputs=("a", "b"),
        outputs=("y",),
        infer=_qmul_type,
        reference=_qmul,
        doc="y = a * b in qs8: round(clamp((a - z_a) * (b - z_b) * (s_a * s_b / s_y))) + z_y",
        dtypes=("qs8",),
        check="broadcast",
        attrs=OUTPUT,
        permute="any",
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=_pair_cases(False),
        kind=Kind.POINTWISE,
        build=_build_qmul,
    )
)

_TABLE = np.random.default_rng(7).integers(-128, 128, 256).astype(np.int8)


def _looked_up(shape: tuple[int, ...], **attrs: Any) -> Case:
    return Case((("qs8", shape, _A), _TABLE), {"scale": _Y, **attrs})


qlookup = define(
    OpSpec(
        name="qlookup",
        code=189,
        inputs=("x", "table"),
        outputs=("y",),
        infer=_qlookup_type,
        reference=_qlookup,
        doc="y = table[x + 128]: any function of one quantized value; table is int8 [256]",
        dtypes=("qs8",),
        check="same",
        attrs=(SCALE, ZERO_POINT),
        permute=_only_x,
        flags=frozenset({"inplace"}),
        grad=INTEGER_ONLY,
        since="0.4.0",
        cases=(
            _looked_up(()),
            _looked_up((33,), zero_point=-4),
            _looked_up((2, 17)),
            _looked_up((3, 5, 70)),
            _looked_up((0, 4)),
            _looked_up((300,)),
        ),
        kind=Kind.POINTWISE,
    )
)
