# SPDX-License-Identifier: Apache-2.0
"""Operators that move, repeat or drop elements without computing with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import integer, permute_rules
from samara.exporter.ops.facts import UNCHANGED, Eager, Kind
from samara.exporter.ops.movement import grad as rules
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.shape_rules import (
    MOVED,
    PACKED,
    WHOLE,
    moved,
    require_broadcasts_to,
    require_lengths,
    require_rank,
    require_same_dtype,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, define
from samara.exporter.types import (
    MAX_RANK,
    Dim,
    Quant,
    TensorType,
    Tri,
    as_dim,
    ceildiv,
    compare,
    dmax,
    provably_ge,
)

Ints = tuple[int, ...]
_QS8 = Quant.per_tensor(0.25, -3)


def _typed(shape: Ints, attrs: dict[str, Any], more: tuple[Any, ...] = ()) -> tuple[Case, ...]:
    """One case per dtype."""
    plain = tuple(Case(((d, shape), *more), attrs) for d in WHOLE)
    return (*plain, Case((("qs8", shape, _QS8), *more), attrs))


# ---- reshape, transpose ----


def _reshape_type(ctx: InferContext) -> tuple[TensorType, ...]:
    y = moved(ctx, ctx.shape)
    for d in y.shape:
        ctx.require_ge(d, 0, "a size must not be negative")
    what = "the number of elements must not change"
    if (
        ctx.x.is_static and y.is_static
    ):  # guards store the text, which may be long for symbolic types
        what = f"{ctx.x} does not have as many elements as {y}"
    ctx.require_eq(ctx.x.numel(), y.numel(), what)
    return (y,)


reshape = define(
    OpSpec(
        name="reshape",
        code=130,
        inputs=("x",),
        outputs=("y",),
        infer=_reshape_type,
        reference=lambda x, shape: x.reshape(shape),
        doc="y = x's elements in row-major order under another shape",
        dtypes=(*MOVED, *PACKED),
        check="reshape",
        grad=rules.reshape,
        attrs=(Attr("shape", "dims", doc="the output's shape, without a size to be inferred"),),
        flags=frozenset({"inplace"}),
        cases=(
            *(
                Case((("f32", s),), {"shape": t})
                for s, t in (
                    ((), (1, 1)),
                    ((1,), ()),
                    ((6,), (2, 3)),
                    ((2, 3, 16), (6, 16)),
                    ((3, 0, 2), (0, 5)),
                    ((2, 3, 4, 5), (4, 5, 6)),
                    ((33,), (1, 33, 1, 1, 1)),
                )
            ),
            *_typed((2, 15), {"shape": (5, 6)}),
            *(Case(((d, (3, 7)),), {"shape": (7, 3)}) for d in PACKED),
        ),
        kind=Kind.MOVING,
        is_alias=True,
        tolerance=UNCHANGED,
        eager=Eager.NUMPY,
        is_view=True,
        integer=integer.MOVED,
        copies=True,
        cheap=True,
    )
)


def _transpose_type(ctx: InferContext) -> tuple[TensorType, ...]:
    x, perm = ctx.x, ctx.perm
    if sorted(perm) != list(range(x.rank)):
        raise ctx.error(f"perm {list(perm)} is no permutation of {x.rank} axes")
    quant = x.quant
    if quant is not None and quant.axis is not None:
        ctx.require(quant.block is None, "a tensor quantized in blocks cannot be transposed")
        quant = quant.with_axis(perm.index(quant.axis))
    return (TensorType(x.dtype, tuple(x.shape[p] for p in perm), quant),)


transpose = define(
    OpSpec(
        name="transpose",
        code=131,
        inputs=("x",),
        outputs=("y",),
        infer=_transpose_type,
        reference=lambda x, perm: np.ascontiguousarray(x.transpose(perm)).reshape(
            tuple(x.shape[p] for p in perm)
        ),
        doc="axis i of y is axis perm[i] of x",
        dtypes=MOVED,
        check="transpose",
        grad=rules.transpose,
        attrs=(Attr("perm", "ints", doc="axes of x in the order of y, counted from the front"),),
        permute=permute_rules.transposed,
        cases=(
            *(
                Case((("f32", s),), {"perm": p})
                for s, p in (
                    ((), ()),
                    ((7,), (0,)),
                    ((3, 5), (1, 0)),
                    ((17, 33), (1, 0)),
                    ((1, 3, 8, 9), (0, 2, 3, 1)),
                    ((2, 8, 9, 3), (0, 3, 1, 2)),
                    ((2, 3, 4), (2, 0, 1)),
                    ((2, 3, 4), (0, 2, 1)),
                    ((2, 0, 3), (2, 1, 0)),
                    ((2, 3, 2, 4, 3), (4, 2, 0, 3, 1)),
                    ((2, 3, 1, 4), (0, 1, 2, 3)),
                )
            ),
            *_typed((3, 16, 2), {"perm": (0, 2, 1)}),
            Case((("qs8", (2, 3), Quant.per_axis([0.5, 0.25], 0)),), {"perm": (1, 0)}),
        ),
        kind=Kind.MOVING,
        tolerance=UNCHANGED,
        eager=Eager.NUMPY,
        is_view=True,
        strided=("x",),
        integer=integer.MOVED,
        copies=True,
    )
)


# ---- concat, split ----


def _concat_type(ctx: InferContext) -> tuple[TensorType, ...]:
    axis = ctx.axis_of(ctx.axis)
    require_same_dtype(ctx, *range(len(ctx.inputs)))
    shape = list(ctx.x.shape)
    for i in range(1, len(ctx.inputs)):
        require_rank(ctx, i, ctx.x.rank)
        other = ctx.required(i).shape
        for a, size in enumerate(other):
            if a == axis:
                shape[a] = shape[a] + size
            else:
                ctx.require_eq(shape[a], size, f"all inputs must have one size on axis {a}")
                shape[a] = size if size.is_static else shape[a]
    return (moved(ctx, shape),)


concat = define(
    OpSpec(
        name="concat",
        code=132,
        inputs=("x", "xs*"),
        outputs=("y",),
        infer=_concat_type,
        reference=lambda *xs, axis: np.concatenate(xs, axis=axis),
        doc="y = the inputs concatenated along `axis`",
        dtypes=MOVED,
        check="concat",
        grad=rules.concat,
        attrs=(Attr("axis", "int"),),
        permute=permute_rules.along_axis,
        flags=frozenset({"strided_out"}),
        cases=(
            *(
                Case(tuple(("f32", s) for s in shapes), {"axis": a})
                for shapes, a in (
                    (((7,),), 0),
                    (((1,), (33,), (0,)), 0),
                    (((2, 3), (2, 16), (2, 1)), 1),
                    (((2, 3), (5, 3)), 0),
                    (((2, 3, 4, 8), (2, 3, 4, 9)), -1),
                    (((2, 1, 5), (2, 3, 5)), 1),
                    (((1, 2, 2, 1, 3), (1, 2, 2, 4, 3)), 3),
                )
            ),
            *(Case(((d, (2, 3)), (d, (2, 5))), {"axis": 1}) for d in WHOLE),
            Case((("qs8", (2, 3), _QS8), ("qs8", (4, 3), _QS8)), {"axis": 0}),
        ),
        kind=Kind.MOVING,
        tolerance=UNCHANGED,
        eager=Eager.NUMPY,
        strided=("x", "xs"),
        integer=integer.JOINED,
        copies=True,
    )
)


def _split_type(ctx: InferContext) -> tuple[TensorType, ...]:
    axis = ctx.axis_of(ctx.axis)
    ctx.require(len(ctx.sizes) > 0, "sizes name no output")
    total = as_dim(0)
    for size in ctx.sizes:
        ctx.require_ge(size, 0, "a size must not be negative")
        total = total + size
    ctx.require_eq(total, ctx.x.shape[axis], f"sizes must add up to axis {axis}")
    head, tail = ctx.x.shape[:axis], ctx.x.shape[axis + 1 :]
    return tuple(moved(ctx, (*head, size, *tail)) for size in ctx.sizes)


def _split(x: Array, *, axis: int, sizes: Ints) -> tuple[Array, ...]:
    return tuple(p.copy() for p in np.split(x, np.cumsum(sizes[:-1], dtype=np.int64), axis=axis))


split = define(
    OpSpec(
        name="split",
        code=133,
        inputs=("x",),
        outputs=("y", "ys*"),
        infer=_split_type,
        reference=_split,
        doc="the outputs are x cut along `axis` into parts of these sizes",
        dtypes=MOVED,
        check="split",
        grad=rules.split,
        attrs=(Attr("axis", "int"), Attr("sizes", "dims", doc="one per output; their sum is x's")),
        permute=permute_rules.along_axis,
        flags=frozenset({"strided_out"}),
        cases=(
            *(
                Case((("f32", s),), {"axis": a, "sizes": n})
                for s, a, n in (
                    ((7,), 0, (7,)),
                    ((33,), 0, (1, 16, 0, 16)),
                    ((2, 9), 1, (3, 3, 3)),
                    ((6, 5), 0, (2, 4)),
                    ((2, 3, 4, 17), -1, (8, 9)),
                    ((2, 8, 3), 1, (1, 7)),
                    ((0, 4), 1, (2, 2)),
                )
            ),
            *_typed((2, 8), {"axis": 1, "sizes": (3, 5)}),
        ),
        kind=Kind.MOVING,
        tolerance=UNCHANGED,
        eager=Eager.NUMPY,
        is_view=True,
        strided=("x",),
        integer=integer.MOVED,
        copies=True,
    )
)


# ---- slice, pad ----


def _slice_size(ctx: InferContext, axis: int, size: Dim, begin: Dim, end: Dim, step: Dim) -> Dim:
    """Elements that `begin:end:step` (already clamped by the importer) picks of an axis."""
    what = f"of axis {axis} must lie inside it"
    if compare(step, 0) is Tri.YES:
        raise ctx.error(f"the step of axis {axis} is 0")
    if provably_ge(step, 1):
        for name, bound in (("begin", begin), ("end", end)):
            ctx.require_ge(bound, 0, f"{name} {what}")
            ctx.require_ge(size, bound, f"{name} {what}")
    elif provably_ge(-1, step):
        for name, bound in (("begin", begin), ("end", end)):
            ctx.require_ge(bound, -1, f"{name} {what}")
            ctx.require_ge(size - 1, bound, f"{name} {what}")
    return dmax(0, ceildiv(end - begin, step))


def _slice_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_lengths(ctx, ctx.x.rank, "begin", "end", "step")
    rows = zip(ctx.x.shape, ctx.begin, ctx.end, ctx.step, strict=True)
    return (moved(ctx, (_slice_size(ctx, a, *row) for a, row in enumerate(rows))),)


def _slice(x: Array, *, begin: Ints, end: Ints, step: Ints) -> Array:
    # A negative end means "before the first element", which Python's slices cannot express.
    picks = [np.arange(b, e, s) for b, e, s in zip(begin, end, step, strict=True)]
    return x[np.ix_(*picks)] if picks else x.copy()


def _cut(shape: Ints, begin: Ints, end: Ints, step: Ints | None = None) -> Case:
    one = (1,) * len(shape) if step is None else step
    return Case((("f32", shape),), {"begin": begin, "end": end, "step": one})


slice_ = define(
    OpSpec(
        name="slice",
        code=134,
        inputs=("x",),
        outputs=("y",),
        infer=_slice_type,
        reference=_slice,
        doc="y = x[begin:end:step], one of each per axis, clamped already: with a positive step"
        " 0 <= begin, end <= size; with a negative one -1 <= begin, end < size (-1: before the"
        " first)",
        dtypes=MOVED,
        check="slice",
        grad=rules.slice_,
        attrs=(
            Attr("begin", "dims", doc="first index per axis"),
            Attr("end", "dims", doc="index per axis to stop before"),
            Attr("step", "dims", doc="step per axis, not 0"),
        ),
        permute=permute_rules.reorder("begin", "end", "step"),
        cases=(
            _cut((), (), ()),
            _cut((33,), (0,), (33,)),
            _cut((33,), (3,), (20,)),
            _cut((16,), (15,), (-1,), (-1,)),
            _cut((17,), (14,), (2,), (-3,)),
            _cut((8,), (5,), (2,)),
            _cut((3, 9), (1, 0), (3, 9), (1, 2)),
            _cut((2, 3, 8, 5), (0, 1, 2, 0), (2, 3, 7, 5)),
            _cut((2, 3, 8, 5), (0, 0, 1, 4), (2, 3, 8, -1), (1, 2, 3, -2)),
            _cut((3, 0, 2), (0, 0, 1), (3, 0, 2)),
            _cut((2, 2, 3, 2, 7), (1, 0, 0, 1, 0), (2, 2, 3, 2, 3)),
            *_typed((4, 7), {"begin": (1, 2), "end": (4, 7), "step": (2, 1)}),
        ),
        kind=Kind.MOVING,
        tolerance=UNCHANGED,
        eager=Eager.NUMPY,
        is_view=True,
        strided=("x",),
        integer=integer.MOVED,
        copies=True,
    )
)


def _pad_type(ctx: InferContext) -> tuple[TensorType, ...]:
    rank = ctx.x.rank
    require_lengths(ctx, 2 * rank, "pads")
    require_same_dtype(ctx, 0, 1)
    if ctx.optional(1) is not None:
        require_rank(ctx, 1, 0)
    shape = []
    for a, size in enumerate(ctx.x.shape):
        before, after = ctx.pads[a], ctx.pads[rank + a]
        left = size + before + after
        # Negative pads crop first, so positive pads on the other side do not compensate for them.
        cropped = size - dmax(0, -before) - dmax(0, -after)
        ctx.require_ge(cropped, 0, f"pads leave less than nothing of axis {a}")
        _require_source(ctx, a, size, before, after)
        shape.append(left)
    return (moved(ctx, shape),)


def _require_source(ctx: InferContext, axis: int, size: Dim, before: Dim, after: Dim) -> None:
    """Modes that copy elements need enough elements to copy."""
    if ctx.mode == "constant" or (before == 0 and after == 0):
        return
    for pad, other in ((before, after), (after, before)):
        if pad == 0:
            continue
        # What a negative pad on the other side has left of the axis.
        left = size if provably_ge(other, 0) else size - dmax(0, -other)
        need = pad + 1 if ctx.mode == "reflect" else pad if ctx.mode == "wrap" else as_dim(1)
        if provably_ge(pad, 1):
            ctx.require_ge(left, need, f"axis {axis} is too small for mode {ctx.mode}")
        elif not provably_ge(0, pad):
            ctx.require_ge(
                dmax(left - need, -pad), 0, f"axis {axis} is too small for mode {ctx.mode}"
            )


def _pad(
    x: Array,
    value: Array | None = None,
    *,
    pads: Ints,
    mode: str,
    q_in: Sequence[Quant | None],
) -> Array:
    rank = x.ndim
    if rank == 0:
        return x.copy()
    ends = list(zip(pads[:rank], pads[rank:], strict=True))
    kept = x[
        tuple(slice(max(0, -b), n - max(0, -e)) for (b, e), n in zip(ends, x.shape, strict=True))
    ]
    width = [(max(0, b), max(0, e)) for b, e in ends]
    if mode != "constant":
        return np.pad(kept, width, mode=mode)  # type: ignore[call-overload, no-any-return]
    quant = q_in[0]
    fill = 0 if quant is None else quant.zero_point
    return np.pad(kept, width, constant_values=fill if value is None else value.item())


def _pad_case(shape: Ints, pads: Ints, mode: str = "constant", value: Any = None) -> Case:
    more = () if value is None else (np.float32(value),)
    return Case((("f32", shape), *more), {"pads": pads, "mode": mode})


pad = define(
    OpSpec(
        name="pad",
        code=135,
        inputs=("x", "value?"),
        outputs=("y",),
        infer=_pad_type,
        reference=_pad,
        doc="y = x with elements added before and after each axis: `value` (absent: 0, in qs8 the"
        " zero point), mirrored without the edge, the edge, or from the other end; negative pads"
        " crop first",
        dtypes=MOVED,
        check="pad",
        grad=rules.pad,
        attrs=(
            Attr("pads", "dims", doc="before each axis, then after each"),
            Attr("mode", "enum", "constant", ("constant", "reflect", "edge", "wrap")),
        ),
        permute=permute_rules.reorder("pads"),
        cases=(
            _pad_case((), ()),
            _pad_case((7,), (2, 3)),
            _pad_case((0,), (1, 2)),
            _pad_case((3, 16), (1, 0, 0, 1), value=0.5),
            _pad_case((2, 8, 9, 3), (0, 1, 2, 0, 0, 2, 1, 0), value=-1.5),
            _pad_case((5, 6), (-1, 2, -2, -3)),
            _pad_case((2, 2, 3, 2, 5), (0, 1, 0, 0, 1, 1, 0, 0, 2, 0)),
            _pad_case((3, 5), (0, 0, 0, 0)),
            *(_pad_case((3, 9), (2, 3, 1, 4), m) for m in ("reflect", "edge", "wrap")),
            *(_pad_case((2, 5, 6, 3), (0, 1, 2, 0, 0, 2, 1, 0), m)
              for m in ("reflect", "edge", "wrap")),
            _pad_case((7,), (3, -2), "reflect"),
            _pad_case((7,), (-3, 2), "edge"),
            *_typed((2, 5), {"pads": (0, 1, 1, 2)}),
            Case((("i64", (3,)), np.int64(-9)), {"pads": (1, 2)}),
            Case((("bool", (3,)), np.bool_(True)), {"pads": (1, 0)}),
        ),
        kind=Kind.MOVING,
        tolerance=UNCHANGED,
        eager=Eager.NUMPY, integer=integer.PADDED, copies=True,
    )
)  # fmt: skip


# ---- expand, tile ----


def _expand_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(len(ctx.shape) <= MAX_RANK, f"rank {len(ctx.shape)} is too high")
    require_broadcasts_to(ctx, ctx.x.shape, ctx.shape)
    return (moved(ctx, ctx.shape),)


expand = define(
    OpSpec(
        name="expand",
        code=136,
        inputs=("x",),
        outputs=("y",),
        infer=_expand_type,
        reference=lambda x, shape: np.broadcast_to(x, shape).copy(),
        doc="y = x broadcast to `shape`",
        dtypes=MOVED,
        check="expand",
        grad=rules.expand,
        attrs=(Attr("shape", "dims", doc="the output's shape, full"),),
        permute=permute_rules.summed,
        cases=(
            *(
                Case((("f32", s),), {"shape": t})
                for s, t in (
                    ((), ()),
                    ((), (3, 17)),
                    ((1,), (33,)),
                    ((7,), (7,)),
                    ((3, 1), (3, 8)),
                    ((5,), (2, 3, 5)),
                    ((2, 1, 3, 1), (2, 4, 3, 9)),
                    ((1, 3), (0, 3)),
                    ((1, 2, 1, 1, 3), (2, 2, 2, 15, 3)),
                )
            ),
            *_typed((1, 3), {"shape": (2, 5, 3)}),
        ),
        kind=Kind.MOVING,
        tolerance=UNCHANGED,
        eager=Eager.NUMPY,
        is_view=True,
        strided=("x",),
        integer=integer.MOVED,
        copies=True,
    )
)


def _tile_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_lengths(ctx, ctx.x.rank, "repeats")
    for r in ctx.repeats:
        ctx.require_ge(r, 0, "a count must not be negative")
    return (moved(ctx, (d * r for d, r in zip(ctx.x.shape, ctx.repeats, strict=True))),)


tile = define(
    OpSpec(
        name="tile",
        code=137,
        inputs=("x",),
        outputs=("y",),
        infer=_tile_type,
        reference=lambda x, repeats: np.tile(x, repeats),
        doc="y = x repeated along each axis",
        dtypes=MOVED,
        check="tile",
        grad=rules.tile,
        attrs=(Attr("repeats", "dims", doc="one per axis"),),
        permute=permute_rules.reorder("repeats"),
        cases=(
            *(
                Case((("f32", s),), {"repeats": r})
                for s, r in (
                    ((), ()),
                    ((7,), (1,)),
                    ((3,), (11,)),
                    ((2, 5), (2, 3)),
                    ((2, 3, 8), (1, 2, 1)),
                    ((2, 1, 3, 2, 4), (1, 3, 1, 2, 2)),
                    ((2, 3), (0, 2)),
                    ((0, 3), (2, 2)),
                )
            ),
            *_typed((2, 3), {"repeats": (2, 3)}),
        ),
        kind=Kind.MOVING,
        tolerance=UNCHANGED,
        eager=Eager.KERNEL,
        strided=("x",),
        integer=integer.MOVED,
        copies=True,
    )
)
