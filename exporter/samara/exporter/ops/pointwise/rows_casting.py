# SPDX-License-Identifier: Apache-2.0
"""Operators that change the dtype of their operand and keep its values, or its bits."""

from __future__ import annotations

import numpy as np

from samara.exporter.ops import numeric as num
from samara.exporter.ops.autodiff import NO_GRAD
from samara.exporter.ops.cases import SHAPES
from samara.exporter.ops.facts import UNCHANGED, Eager, Kind
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.pointwise import grad_unary as rules
from samara.exporter.ops.pointwise.elementwise import unary_row
from samara.exporter.ops.shape_rules import ALL, INTS, MORE, PACKED, WHOLE
from samara.exporter.ops.spec import Attr, Case, InferContext
from samara.exporter.types import DType, TensorType


def _cast_type(ctx: InferContext) -> tuple[TensorType, ...]:
    if ctx.to.is_quantized:
        raise ctx.error(f"cannot cast to {ctx.to.public_name}", "quantize it")
    return (TensorType(ctx.to, ctx.x.shape),)


_EDGES = np.array(
    [0.0, -0.5, 0.99, -1.99, 127.5, -129, 255.9, 300, -1, 2**31, -(2.0**31), 2.0**63, -(2.0**63),
     1e30, -1e30, np.nan, np.inf, -np.inf, 65504.0, 70000.0],
    np.float32,
)  # fmt: skip
_WHOLE = np.array(
    [0, 1, -1, 127, 128, -129, 255, 256, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, -(2**63)]
)

# Values between two neighbouring narrower floats, which rounding twice gets wrong.
_TIES = np.array(
    [1 + 2.0**-8 + 2.0**-40, 1 - 2.0**-9 - 2.0**-50, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-24,
     1 + 2.0**-24 + 2.0**-52, 65519.999999, 65520.0, 3.4e38, 3.3961775e38, 1e-45, 2.0**-25,
     2.0**-25 * (1 + 2.0**-50), -0.0, 1e-320, 2.0**-134, np.nan, -np.inf, 1e308]
)  # fmt: skip
_TIES_U64 = np.array(
    [2**63 + 2**55, 2**63 + 2**55 + 1, 2**64 - 1, 2**63 + 2**39 + 1, 2**53 + 1, 2**63, 255, 0],
    np.uint64,
)
_BEYOND = (*MORE, *PACKED)


def _at_edges(dtype: str, to: str) -> bool:
    """Whether the cases of limits have this pair. Pairs that round to a narrower float also keep random numbers,
    because wrong rounding shows between the limits.
    """
    if dtype == "f16":
        return to in INTS
    return dtype in ("f32", "f64", "i64") and to not in ("f32", "f16", "bf16")


# All pairs of the first seven, and every other dtype to and from some of each kind.
_PAIRS = (
    *(((2, 9), d, to) for d in ALL for to in ALL if d != to),
    *(
        ((3, 7), *pair)
        for i, d in enumerate(_BEYOND)
        for other in ("f32", "i8", "bool", "f16", "i64", _BEYOND[(i + 3) % len(_BEYOND)])
        for pair in ((d, other), (other, d))
    ),
)

cast = unary_row(
    "cast",
    40,
    "y = x in dtype `to`: floats truncate and saturate to integers (NaN gives 0), integers wrap,"
    " bool is x != 0; i4 and u4 take the low four bits of the int64 of x",
    reference=num.cast,
    dtypes=(*WHOLE, *PACKED),
    attrs=(Attr("to", "dtype", doc="the output's dtype"),),
    infer=_cast_type,
    cases=(
        *(
            Case(((d, shape),), {"to": to}, -300, 300)
            for shape, d, to in _PAIRS
            if not _at_edges(d, to)
        ),
        *(Case((_EDGES.astype(np.float64) * 1.000001,), {"to": to}) for to in (*ALL, *_BEYOND)),
        *(Case((_EDGES,), {"to": to}) for to in _BEYOND),
        *(Case((_WHOLE,), {"to": to}) for to in _BEYOND),
        *(Case((_TIES,), {"to": to}) for to in ("f32", "f16", "bf16")),
        *(Case((_TIES_U64,), {"to": to}) for to in ("f32", "f64", "bf16", "i64", "u8")),
        *(Case((_EDGES,), {"to": to}) for to in ALL),
        *(Case((_EDGES[:9].astype(np.float16),), {"to": to}) for to in INTS),
        *(Case((_WHOLE,), {"to": to}) for to in ALL),
        *(Case((("f32", s),), {"to": "i32"}, -300, 300) for s in SHAPES[:4]),
    ),
    flags=frozenset(),
    grad=rules.cast,
    kind=Kind.CONVERTING,
    tolerance=UNCHANGED,
    eager=Eager.NUMPY,
    is_view=True,
    masks=True,
    cheap=True,
    exact="same",
)


def _bitcast_type(ctx: InferContext) -> tuple[TensorType, ...]:
    if ctx.to.is_quantized or ctx.to.bits != ctx.x.dtype.bits:
        raise ctx.error(
            f"the bits of {ctx.x.dtype.public_name} cannot be read as {ctx.to.public_name}",
            "the two must have as many bits; cast converts values",
        )
    return (TensorType(ctx.to, ctx.x.shape),)


def _bitcast(x: Array, *, to: DType) -> Array:
    if to is DType.BOOL:
        return np.asarray(x.view(np.uint8) != 0)
    if DType.from_numpy(
        x.dtype
    ).is_packed:  # one to an item here, because numpy has only whole bytes
        bits = x.astype(np.int8) & 15
        return np.asarray(np.where((bits > 7) & to.is_signed, bits - 16, bits).astype(to.numpy))
    return np.asarray(x.copy().view(to.numpy))


bitcast = unary_row(
    "bitcast",
    84,
    "y = the bits of x read as dtype `to` of the same width (little-endian)",
    reference=_bitcast,
    dtypes=(*WHOLE, *PACKED),
    attrs=(Attr("to", "dtype", doc="the output's dtype"),),
    flags=frozenset({"inplace", "reads_bits"}),
    infer=_bitcast_type,
    cases=(
        *(
            Case(((d, (2, 9)),), {"to": to}, -300, 300)
            for group in (
                ("f32", "i32", "u32"),
                ("f16", "i16", "bf16", "u16"),
                ("i64", "f64", "u64"),
                ("u8", "i8", "bool"),
                ("i4", "u4"),
            )
            for d, to in zip(group, (*group[1:], group[0]), strict=True)
        ),
        Case((_EDGES,), {"to": "i32"}),
        *(Case((("f32", s),), {"to": "u32"}) for s in ((), (0, 3), (33,))),
    ),
    grad=NO_GRAD,
    since="0.3.0",
    kind=Kind.CONVERTING,
    tolerance=UNCHANGED,
)
