# SPDX-License-Identifier: Apache-2.0
"""Reductions, cumulative sums and selections along axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from samara.exporter.ops import exact_float, integer, permute_rules
from samara.exporter.ops.autodiff import NO_GRAD, Rule, inference_only
from samara.exporter.ops.facts import UNCHANGED, Eager, Facts, Kind, Tolerance
from samara.exporter.ops.integer import Integer, Role
from samara.exporter.ops.numeric import Array, in_f32, wide
from samara.exporter.ops.reduce import grad as rules
from samara.exporter.ops.shape_rules import EVERY_NUMBER, SUMMED, axis_rule, normal_axes
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, TensorType, as_dim

Ints = tuple[int, ...]

_AXES = Attr("axes", "ints", doc="axes to reduce; none: nothing is reduced")
_KEEP = Attr("keepdims", "bool", False, doc="reduced axes stay, with size 1")


def _shape(ctx: InferContext, axes: Sequence[int]) -> tuple[Dim, ...]:
    if ctx.keepdims:
        return tuple(as_dim(1) if i in axes else d for i, d in enumerate(ctx.x.shape))
    return tuple(d for i, d in enumerate(ctx.x.shape) if i not in axes)


def _reduce_type(ctx: InferContext) -> tuple[TensorType, ...]:
    return (TensorType(ctx.x.dtype, _shape(ctx, normal_axes(ctx, ctx.axes))),)


def _read_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    x = inputs[0]
    return (as_dim(0) if x is None else x.numel()), bytes_of(inputs, outputs)


# `v` is Any: NumPy's types know keepdims as a literal only.
def _added(v: Any, axes: Ints, keepdims: bool, dtype: npt.DTypeLike) -> Array:
    return np.asarray(v.sum(axis=axes, keepdims=keepdims, dtype=dtype))


def _sum(x: Array, *, axes: Ints, keepdims: bool) -> Array:
    v = wide(x)
    return _added(v, axes, keepdims, v.dtype).astype(x.dtype)


def _mean(x: Array, *, axes: Ints, keepdims: bool) -> Array:
    count = np.prod([x.shape[a] for a in axes], dtype=np.int64)
    if x.dtype.kind == "f":
        total = _added(wide(x), axes, keepdims, np.float64)
        return np.asarray((total / count).astype(x.dtype))
    if x.dtype.kind == "u":
        total = _added(x, axes, keepdims, np.uint64)
        return np.asarray((total // np.uint64(max(int(count), 1))).astype(x.dtype))
    total = _added(x, axes, keepdims, np.int64)
    if count == 0:
        return np.zeros_like(total, x.dtype)
    return np.asarray((np.sign(total) * (np.abs(total) // count)).astype(x.dtype))


def _exact(*, mean: bool) -> Callable[..., Array]:
    def reference(x: Array, *, axes: Ints, keepdims: bool) -> Array:
        folded = sorted(a % x.ndim for a in axes)
        kept = [a for a in range(x.ndim) if a not in folded]
        count = int(np.prod([x.shape[a] for a in folded]))
        rows = x.transpose(*kept, *folded).reshape(*(x.shape[a] for a in kept), count)
        y = exact_float.total(rows)
        y = np.asarray(y / np.float32(count) if mean else y)
        return np.expand_dims(y, tuple(folded)) if keepdims else y

    return reference


def _extreme(pick: Callable[..., Any], largest: bool) -> Callable[..., Array]:
    def reference(x: Array, *, axes: Ints, keepdims: bool, first: bool = False) -> Array:
        start: Any
        if x.dtype.kind == "b":
            start = not largest
        elif x.dtype.kind == "f":
            start = -np.inf if largest else np.inf
        else:
            start = np.iinfo(x.dtype).min if largest else np.iinfo(x.dtype).max
        return np.asarray(pick(x, axis=axes, keepdims=keepdims, initial=start).astype(x.dtype))

    return reference


def _prod(x: Any, *, axes: Ints, keepdims: bool) -> Array:
    return np.asarray(x.prod(axis=axes, keepdims=keepdims, dtype=x.dtype))


def _cases(dtypes: Sequence[str], low: float, high: float) -> tuple[Case, ...]:
    def one(shape: Ints, axes: Ints, dtype: str = "f32", keep: bool = False) -> Case:
        attrs = {"axes": axes, "keepdims": keep}
        return Case(((dtype, shape),), attrs, low, high)

    return (
        one((), ()),
        one((7,), (0,)),
        one((33,), (0,), keep=True),
        one((3, 16), (1,)),
        one((3, 17), (0,)),
        one((8, 9), (0, 1)),
        one((2, 3, 15), ()),
        one((2, 5, 6, 16), (1, 2)),
        one((2, 5, 6, 7), (1, 2), keep=True),
        one((2, 3, 4, 5), (0, 3)),
        one((2, 1, 3, 2, 4), (-1, 1)),
        one((3, 0), (1,)),
        one((0, 3), (1,)),
        *(one((3, 4, 5), (1,), d) for d in dtypes[1:]),
        *(one((2, 31), (-1,), d, True) for d in dtypes[1:2]),
    )


def _row(
    name: str,
    code: int,
    reference: Callable[..., Any],
    doc: str,
    dtypes: tuple[str, ...] = EVERY_NUMBER,
    low: float = -2.0,
    high: float = 2.0,
    *,
    grad: Rule,
    saves: tuple[str, ...] = (),
    attrs: tuple[Attr, ...] = (),
    cases: tuple[Case, ...] = (),
    **facts: Unpack[Facts],
) -> OpSpec:
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=("x",),
            outputs=("y",),
            infer=_reduce_type,
            reference=in_f32(reference),
            doc=doc,
            kind=Kind.REDUCING,
            dtypes=dtypes,
            check="reduce",
            attrs=(_AXES, _KEEP, *attrs),
            permute=permute_rules.reduced(lambda attrs: attrs["axes"]),
            cost=_read_cost,
            grad=grad,
            saves=saves,
            cases=(*_cases(dtypes, low, high), *cases),
            **facts,
        )
    )


reduce_sum = _row(
    "reduce_sum",
    110,
    _sum,
    "y = sum over `axes`; integers wrap",
    grad=rules.reduce_sum,
    tolerance=Tolerance(1e-05, 1e-05),
    eager=Eager.NUMPY,
    cheap=True,
    exact=_exact(mean=False),
)
reduce_mean = _row(
    "reduce_mean",
    111,
    _mean,
    "y = mean over `axes`; integers truncate towards zero, none gives 0",
    grad=rules.reduce_mean,
    tolerance=Tolerance(2e-06, 1e-05),
    eager=Eager.NUMPY,
    integer=Integer(Role.COMPUTED, "qmean"),
    exact=_exact(mean=True),
)
_FIRST = Attr(
    "first", "bool", False, doc="the first of equal elements gets the gradient, else all share it"
)
_FIRST_CASES = (Case((("f32", (3, 4, 5)),), {"axes": (2, 0), "first": True}),)
reduce_max = _row(
    "reduce_max",
    112,
    _extreme(np.max, True),
    "y = largest over `axes`; NaN wins; none gives the lowest value of the dtype",
    (*EVERY_NUMBER, "bool"),
    grad=rules.reduce_extreme,
    saves=("x", "y"),
    attrs=(_FIRST,),
    cases=_FIRST_CASES,
    tolerance=UNCHANGED,
    eager=Eager.LARGE_REDUCTION,
    integer=integer.EXTREME,
    masks=True,
    cheap=True,
)
reduce_min = _row(
    "reduce_min",
    113,
    _extreme(np.min, False),
    "y = smallest over `axes`; NaN wins; none gives the highest value of the dtype",
    (*EVERY_NUMBER, "bool"),
    grad=rules.reduce_extreme,
    saves=("x", "y"),
    attrs=(_FIRST,),
    cases=_FIRST_CASES,
    tolerance=UNCHANGED,
    eager=Eager.LARGE_REDUCTION,
    integer=integer.EXTREME,
    masks=True,
    cheap=True,
)
reduce_prod = _row(
    "reduce_prod",
    114,
    _prod,
    "y = product over `axes`; integers wrap",
    low=0.5,
    high=2,
    grad=rules.reduce_prod,
    saves=("x",),
    tolerance=Tolerance(1e-06, 1e-05),
    eager=Eager.LARGE_REDUCTION,
)


# ---- argmax, argmin ----


def _arg_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    axis = ctx.axis_of(ctx.axis)
    ctx.require_ge(ctx.x.shape[axis], 1, f"axis {axis} must not be empty")
    return (TensorType(DType.I64, _shape(ctx, (axis,))),)


def _arg(pick: Callable[..., Any]) -> Callable[..., Array]:
    def reference(x: Array, *, axis: int, keepdims: bool, select_last: bool) -> Array:
        if select_last:
            found = x.shape[axis] - 1 - pick(np.flip(x, axis), axis=axis)
        else:
            found = pick(x, axis=axis)
        found = np.asarray(found, np.int64)
        return np.expand_dims(found, axis) if keepdims else found

    return reference


_TIES = np.array([[3, 1, 3, 2], [0, 0, 0, 0], [-1, 5, 5, 5]], np.float32)


def _arg_row(
    name: str, code: int, pick: Callable[..., Any], word: str, **facts: Unpack[Facts]
) -> OpSpec:
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=("x",),
            outputs=("y",),
            infer=_arg_type,
            reference=_arg(pick),
            doc=f"y = index of the {word} element along `axis`, the first (or last) of equal ones;"
            " NaN wins",
            kind=Kind.REDUCING,
            dtypes=EVERY_NUMBER,
            check="reduce one",
            grad=NO_GRAD,
            attrs=(
                Attr("axis", "int", 0),
                _KEEP,
                Attr("select_last", "bool", False, doc="the last of equal elements"),
            ),
            permute=permute_rules.reduced(lambda attrs: (attrs["axis"],)),
            cost=_read_cost,
            cases=(
                *(Case((("f32", s),)) for s in ((1,), (33,), (7, 3), (3, 0, 2))),
                *(Case((("f32", (3, 8, 5)),), {"axis": a}) for a in (1, 2, -3)),
                Case((("f32", (3, 17)),), {"axis": 1, "keepdims": True}),
                *(Case((_TIES,), {"axis": a, "select_last": b}) for a in (0, 1)
                  for b in (False, True)),
                *(Case(((d, (3, 9)),), {"axis": 1}) for d in EVERY_NUMBER[1:]),
            ),
            **facts,
        )
    )  # fmt: skip


argmax = _arg_row(
    "argmax",
    115,
    np.argmax,
    "largest",
    tolerance=UNCHANGED,
    eager=Eager.LARGE_REDUCTION,
    masks=True,
)
argmin = _arg_row(
    "argmin",
    116,
    np.argmin,
    "smallest",
    tolerance=UNCHANGED,
    eager=Eager.LARGE_REDUCTION,
    masks=True,
)


# ---- cumsum, top_k ----


def _cumsum(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
    v = np.flip(wide(x), axis) if reverse else wide(x)
    total = v.cumsum(axis=axis, dtype=v.dtype)
    if exclusive:
        total = np.roll(total, 1, axis)
        first: list[Any] = [slice(None)] * x.ndim
        first[axis] = slice(0, 1)
        total[tuple(first)] = 0
    return np.asarray((np.flip(total, axis) if reverse else total).astype(x.dtype))


cumsum = define(
    OpSpec(
        name="cumsum",
        code=117,
        inputs=("x",),
        outputs=("y",),
        infer=axis_rule,
        reference=in_f32(_cumsum),
        doc="y = running sum along `axis`; integers wrap",
        dtypes=SUMMED,
        check="axis",
        attrs=(
            Attr("axis", "int"),
            Attr("exclusive", "bool", False, doc="each sum leaves out its own element"),
            Attr("reverse", "bool", False, doc="sums run from the end"),
        ),
        permute=permute_rules.along_axis,
        grad=rules.cumsum,
        cases=(
            *(Case((("f32", s),), {"axis": 0}) for s in ((1,), (33,), (0,), (3, 7))),
            *(Case((("f32", (2, 9, 5)),), {"axis": a}) for a in (1, 2, -1)),
            *(
                Case((("f32", (3, 8)),), {"axis": a, "exclusive": e, "reverse": r})
                for a in (0, 1)
                for e, r in ((True, False), (False, True), (True, True))
            ),
            *(Case(((d, (3, 17)),), {"axis": 1}) for d in SUMMED[1:]),
        ),
        kind=Kind.REDUCING,
        tolerance=Tolerance(1e-05, 1e-05),
        eager=Eager.KERNEL,
    )
)


def _cumprod(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
    v = np.flip(wide(x), axis) if reverse else wide(x)
    total = v.cumprod(axis=axis, dtype=v.dtype)
    if exclusive:
        total = np.roll(total, 1, axis)
        first: list[Any] = [slice(None)] * x.ndim
        first[axis] = slice(0, 1)
        total[tuple(first)] = 1
    return np.asarray((np.flip(total, axis) if reverse else total).astype(x.dtype))


cumprod = define(
    OpSpec(
        name="cumprod",
        code=83,
        inputs=("x",),
        outputs=("y",),
        infer=axis_rule,
        reference=in_f32(_cumprod),
        doc="y = running product along `axis`; integers wrap",
        dtypes=SUMMED,
        check="axis",
        attrs=(
            Attr("axis", "int"),
            Attr("exclusive", "bool", False, doc="each product leaves out its own element"),
            Attr("reverse", "bool", False, doc="products run from the end"),
        ),
        permute=permute_rules.along_axis,
        grad=inference_only("cumprod"),
        since="0.3.0",
        cases=(
            *(Case((("f32", s),), {"axis": 0}) for s in ((1,), (0,), (3, 7))),
            Case((("f32", (2, 9, 5)),), {"axis": -2}),
            *(
                Case((("f32", (3, 8)),), {"axis": a, "exclusive": e, "reverse": r})
                for a, e, r in ((0, True, False), (1, False, True), (1, True, True))
            ),
            *(Case(((d, (3, 17)),), {"axis": 1}) for d in SUMMED[1:]),
        ),
        kind=Kind.REDUCING,
    )
)


def _top_k_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    axis = ctx.axis_of(ctx.axis)
    ctx.require_ge(ctx.k, 0, "k must not be negative")
    ctx.require_ge(ctx.x.shape[axis], ctx.k, f"k must not exceed axis {axis}")
    shape = tuple(ctx.k if i == axis else d for i, d in enumerate(ctx.x.shape))
    return (TensorType(ctx.x.dtype, shape), TensorType(DType.I64, shape))


def _top_k(x: Array, *, k: int, axis: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    if largest:
        # A stable ascending order of the flipped axis, read backwards: lower indices first.
        order = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
        order = x.shape[axis] - 1 - order
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    indices = np.take(order, np.arange(k), axis=axis)
    return np.take_along_axis(x, indices, axis), indices.astype(np.int64)


top_k = define(
    OpSpec(
        name="top_k",
        code=118,
        inputs=("x",),
        outputs=("values", "indices"),
        infer=_top_k_type,
        reference=_top_k,
        doc="the k largest (or smallest) elements along `axis`, best first, and their indices;"
        " of equal ones the lower index comes first; NaN is the largest",
        dtypes=EVERY_NUMBER,
        check="top_k",
        grad=rules.top_k,
        saves=("indices",),
        attrs=(
            Attr("k", "dim"),
            Attr("axis", "int", -1),
            Attr("largest", "bool", True, doc="False: the smallest"),
            Attr(
                "sorted", "bool", True, doc="False allows any order (the result is sorted anyway)"
            ),
        ),
        permute=permute_rules.along_axis,
        cases=(
            *(Case((("f32", s),), {"k": k}) for s, k in (((1,), 1), ((33,), 7), ((3, 16), 16))),
            Case((("f32", (3, 5)),), {"k": 0}),
            Case((("f32", (3, 8, 5)),), {"k": 3, "axis": 1}),
            Case((("f32", (9, 2)),), {"k": 2, "axis": 0, "largest": False}),
            Case((("f32", (2, 15)),), {"k": 4, "sorted": False}),
            Case((_TIES,), {"k": 3}),
            Case((_TIES,), {"k": 3, "largest": False}),
            *(Case(((d, (2, 17)),), {"k": 5}) for d in EVERY_NUMBER[1:]),
            Case((("u8", (2, 9)),), {"k": 3, "largest": False}),
        ),
        kind=Kind.REDUCING,
        tolerance=UNCHANGED,
        eager=Eager.KERNEL,
        masks=True,
    )
)
