# SPDX-License-Identifier: Apache-2.0
"""Gathering, scattering and making indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.ops import integer, permute_rules
from samara.exporter.ops.autodiff import NO_GRAD
from samara.exporter.ops.facts import UNCHANGED, Eager, Ends, Facts, Kind
from samara.exporter.ops.indexing import grad as rules
from samara.exporter.ops.numeric import Array, DataError, require_indices
from samara.exporter.ops.shape_rules import (
    INDICES,
    MOVED,
    WHOLE,
    moved,
    require_dtype,
    require_rank,
    require_same_dtype,
    require_shape,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, define
from samara.exporter.types import (
    MAX_RANK,
    Dim,
    DType,
    Quant,
    TensorType,
    as_dim,
    ceildiv,
    dmax,
    provably_ge,
)

Ints = tuple[int, ...]
_QS8 = Quant.per_tensor(0.5, 4)
WRAP = Attr(
    "wrap", "bool", True, doc="negative indices count from the end; without it they are an error"
)
_REDUCTION = Attr(
    "reduction", "enum", "none", ("none", "add", "mul", "max", "min"), "how updates meet elements"
)


def _index(*values: int, dtype: Any = np.int64) -> Array:
    return np.array(values, dtype)


# ---- gather ----


def _gather_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    require_dtype(ctx, 1, *INDICES)
    axis = ctx.axis_of(ctx.axis)
    shape = (*ctx.x.shape[:axis], *ctx.required(1).shape, *ctx.x.shape[axis + 1 :])
    ctx.require(len(shape) <= MAX_RANK, f"the result would have rank {len(shape)}")
    return (moved(ctx, shape),)


def _gather(x: Array, indices: Array, *, axis: int, wrap: bool) -> Array:
    axis %= x.ndim
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    if 0 in shape:
        return np.empty(shape, x.dtype)  # an empty result reads no index
    return np.take(x, require_indices("gather", indices, x.shape[axis], wrap), axis=axis)


_INDEXED: Facts = {"tolerance": UNCHANGED, "eager": Eager.KERNEL, "ends": Ends.ALWAYS}
_FETCHES: Facts = {**_INDEXED, "integer": integer.MOVED, "copies": True}
_GATHER: Facts = {**_FETCHES, "parameters": ("indices",), "picked": ("x",)}
_SCATTERS: Facts = {**_INDEXED, "integer": integer.SCATTERED, "masks": True}

gather = define(
    OpSpec(
        name="gather",
        code=138,
        inputs=("x", "indices"),
        outputs=("y",),
        infer=_gather_type,
        reference=_gather,
        doc="y = the slices of x along `axis` at the indices; negative indices count from the end unless `wrap`"
        " is off, an index out of range is an error",
        dtypes=MOVED,
        check="gather",
        grad=rules.gather,
        saves=("indices",),
        attrs=(Attr("axis", "int", 0), WRAP),
        permute=permute_rules.gathered,
        cases=(
            Case((("f32", (7,)), _index(3)), {"wrap": False}),
            Case((("f32", (7,)), np.array(-1))),
            Case((("f32", (9, 16)), _index(0, 8, -9, 2, 2))),
            Case((("f32", (9, 17)), _index(1, -2, 3, dtype=np.int32))),
            Case((("f32", (2, 5, 8)), np.array([[0, 1], [-2, 1]]))),
            Case((("f32", (2, 5, 8)), np.array([[0, 4, 1], [-5, 1, 2]])), {"axis": 1}),
            Case((("f32", (2, 5, 8)), np.array(7)), {"axis": -1}),
            Case((("f32", (2, 5, 3, 2)), _index(1, 0)), {"axis": 2}),
            Case((("f32", (4, 3)), np.zeros((0,), np.int64))),
            Case((("f32", (0, 3)), np.zeros((2, 0), np.int64))),
            *(Case(((d, (5, 3)), _index(4, 0, -1)), {"axis": 0}) for d in WHOLE[1:]),
            Case((("qs8", (5, 3), _QS8), _index(2, 1)), {"axis": 1}),
        ),
        kind=Kind.MOVING,
        **_GATHER,
    )
)


def _gather_elements_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    require_dtype(ctx, 1, *INDICES)
    require_rank(ctx, 1, ctx.x.rank)
    axis = ctx.axis_of(ctx.axis)
    indices = ctx.required(1)
    for a, (size, count) in enumerate(zip(ctx.x.shape, indices.shape, strict=True)):
        if a != axis:
            ctx.require_ge(size, count, f"indices exceed x on axis {a}")
    return (moved(ctx, indices.shape),)


def _elements(op: str, x: Array, indices: Array, axis: int, wrap: bool) -> tuple[Array, ...]:
    """The positions in x of an elementwise index tensor."""
    found = require_indices(op, indices, x.shape[axis], wrap)
    grid: list[Array] = list(np.indices(indices.shape, sparse=True))
    grid[axis] = found
    return tuple(grid)


def _gather_elements(x: Array, indices: Array, *, axis: int, wrap: bool) -> Array:
    return np.asarray(x[_elements("gather_elements", x, indices, axis, wrap)])


gather_elements = define(
    OpSpec(
        name="gather_elements",
        code=139,
        inputs=("x", "indices"),
        outputs=("y",),
        infer=_gather_elements_type,
        reference=_gather_elements,
        doc="y[i, j, k] = x[i, indices[i, j, k], k] for axis 1",
        dtypes=MOVED,
        check="gather_elements",
        grad=rules.gather_elements,
        saves=("indices",),
        attrs=(Attr("axis", "int", 0), WRAP),
        permute=permute_rules.along_axis,
        cases=(
            Case((("f32", (7,)), _index(3, -7, 6))),
            Case((("f32", (3, 4)), np.array([[0, 1, -1], [2, 0, 1]]))),
            Case((("f32", (3, 4)), np.array([[0, 3], [-4, 1], [2, 2]])), {"axis": 1}),
            Case((("f32", (2, 3, 4)), np.array([[[1, 0, -2, 3, 0]]])), {"axis": -1}),
            Case((("f32", (2, 3)), np.zeros((0, 2), np.int32)), {"wrap": False}),
            *(Case(((d, (3, 2)), np.array([[0, 2]], np.int32))) for d in WHOLE[1:]),
            Case((("qs8", (3, 2), _QS8), np.array([[1, 2]]))),
        ),
        kind=Kind.MOVING,
        **_FETCHES,
    )
)


def _gather_nd_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_dtype(ctx, 1, *INDICES)
    x, indices, batch = ctx.x, ctx.required(1), ctx.batch_dims
    ctx.require(indices.rank >= 1, "indices need at least one axis")
    ctx.require(
        0 <= batch < min(x.rank + 1, indices.rank), f"batch_dims is {batch}, which is too many"
    )
    if not indices.shape[-1].is_static:
        raise ctx.error(
            f"the output rank depends on the last axis of indices, which is {indices.shape[-1]}",
            "give that axis a fixed size",
        )
    depth = indices.shape[-1].as_int()
    ctx.require(batch + depth <= x.rank, f"indices of {depth} axes into rank {x.rank}")
    for a in range(batch):
        ctx.require_eq(x.shape[a], indices.shape[a], f"batch axis {a} of x and indices must agree")
    shape = (*indices.shape[:-1], *x.shape[batch + depth :])
    ctx.require(len(shape) <= MAX_RANK, f"the result would have rank {len(shape)}")
    return (moved(ctx, shape),)


def _tuples(op: str, x: Array, indices: Array, batch: int, wrap: bool) -> tuple[Array, ...]:
    """The positions (or sub-tensors) of x of an index tensor of tuples."""
    places: list[Array] = []
    for a in range(batch):
        lead = [1] * (indices.ndim - 1)
        lead[a] = x.shape[a]
        places.append(np.arange(x.shape[a]).reshape(lead))
    for i in range(indices.shape[-1]):
        places.append(require_indices(op, indices[..., i], x.shape[batch + i], wrap))
    return tuple(places)


def _gather_nd(x: Array, indices: Array, *, batch_dims: int, wrap: bool) -> Array:
    shape = (*indices.shape[:-1], *x.shape[batch_dims + indices.shape[-1] :])
    if 0 in shape:
        return np.empty(shape, x.dtype)
    places = _tuples("gather_nd", x, indices, batch_dims, wrap)
    if indices.shape[-1] == 0:
        tail = x.shape[batch_dims:]
        lead = x.reshape(x.shape[:batch_dims] + (1,) * (indices.ndim - 1 - batch_dims) + tail)
        return np.broadcast_to(lead, indices.shape[:-1] + tail).copy()
    return np.asarray(x[places])


gather_nd = define(
    OpSpec(
        name="gather_nd",
        code=140,
        inputs=("x", "indices"),
        outputs=("y",),
        infer=_gather_nd_type,
        reference=_gather_nd,
        doc="y[i…] = x[indices[i…]]: the last axis of indices has leading indices of x, after `batch_dims` axes"
        " that both have",
        dtypes=MOVED,
        check="gather_nd",
        grad=rules.gather_nd,
        saves=("indices",),
        attrs=(Attr("batch_dims", "int", 0), WRAP),
        cases=(
            Case((("f32", (7,)), np.array([[3], [-1]]))),
            Case((("f32", (3, 4)), np.array([[0, 1], [2, -1], [1, 0]]))),
            Case((("f32", (3, 16)), np.array([[2], [0]])), {"wrap": False}),
            Case((("f32", (3, 4, 5)), np.array([[[0, 1]], [[2, 2]]]))),
            Case((("f32", (2, 3, 4)), np.array([[[1], [0]], [[2], [-3]]])), {"batch_dims": 1}),
            Case((("f32", (2, 2, 3)), np.array([[[0], [1]], [[2], [2]]])), {"batch_dims": 2}),
            Case((("f32", (2, 3)), np.array([1, 2]))),
            Case((("f32", (2, 3)), np.zeros((2, 0), np.int64))),
            Case((("f32", (2, 3)), np.zeros((0, 2), np.int64))),
            *(Case(((d, (3, 2)), np.array([[0, 1], [2, 0]], np.int32))) for d in WHOLE[1:]),
            Case((("qs8", (3, 2), _QS8), np.array([[1]]))),
        ),
        kind=Kind.MOVING,
        **_FETCHES,
    )
)


# ---- scatter ----


def _check_reduction(ctx: InferContext) -> None:
    require_dtype(ctx, 1, *INDICES)
    require_same_dtype(ctx, 0, 2)
    if ctx.reduction != "none" and ctx.x.dtype in (DType.BOOL, DType.QS8):
        raise ctx.error(f"{ctx.x.dtype.public_name} cannot be reduced by {ctx.reduction}")


def _scatter_elements_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    _check_reduction(ctx)
    require_rank(ctx, 1, ctx.x.rank)
    ctx.axis_of(ctx.axis)
    indices = ctx.required(1)
    require_shape(ctx, 2, indices.shape, "the shape of indices")
    axis = ctx.axis_of(ctx.axis)
    for a, (size, count) in enumerate(zip(ctx.x.shape, indices.shape, strict=True)):
        if a != axis:
            ctx.require_ge(size, count, f"indices exceed x on axis {a}")
    return (moved(ctx, ctx.x.shape),)


def _scattered(x: Array, places: tuple[Any, ...], updates: Array, reduction: str) -> Array:
    y = x.copy()
    if reduction == "none":
        y[places] = updates  # numpy keeps the last of equal places
    else:
        ways = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
        ways[reduction].at(y, places, updates)
    return y


def _scatter_elements(
    x: Array, indices: Array, updates: Array, *, axis: int, reduction: str, wrap: bool
) -> Array:
    if not x.size or not indices.size:
        return x.copy()
    places = _elements("scatter_elements", x, indices, axis, wrap)
    return _scattered(x, places, updates, reduction)


_REDUCTIONS = ("add", "mul", "max", "min")

scatter_elements = define(
    OpSpec(
        name="scatter_elements",
        code=141,
        inputs=("x", "indices", "updates"),
        outputs=("y",),
        infer=_scatter_elements_type,
        reference=_scatter_elements,
        doc="y = x, with y[i, indices[i, j, k], k] = updates[i, j, k] for axis 1, row-major",
        dtypes=MOVED,
        check="gather_elements scatter",
        grad=rules.scatter_elements,
        saves=("x", "indices", "updates"),
        attrs=(Attr("axis", "int", 0), _REDUCTION, WRAP),
        permute=None,
        flags=frozenset({"inplace"}),
        cases=(
            Case((("f32", (7,)), _index(3, -7, 6), ("f32", (3,)))),
            Case((("f32", (3, 4)), np.array([[0, 1, -1], [2, 0, 1]]), ("f32", (2, 3)))),
            Case(
                (("f32", (3, 5)), np.array([[0, 3], [-4, 1], [2, 2]]), ("f32", (3, 2))), {"axis": 1}
            ),
            Case((("f32", (2, 3)), np.zeros((0, 3), np.int64), ("f32", (0, 3)))),
            Case((("f32", (2, 2, 8)), np.array([[[1, 0, -2]]]), ("f32", (1, 1, 3))), {"axis": -1}),
            *(
                Case(
                    (("f32", (6,)), _index(1, 1, 5, 1), ("f32", (4,))),
                    {"reduction": r, "wrap": r != "add"},
                )
                for r in _REDUCTIONS
            ),
            *(
                Case(((d, (4,)), _index(1, 1, -1, dtype=np.int32), (d, (3,))), {"reduction": "add"})
                for d in WHOLE[1:]
                if d != "bool"
            ),
            *(Case(((d, (4,)), _index(2, 0), (d, (2,)))) for d in WHOLE),
            Case((("qs8", (4,), _QS8), _index(2, 0), ("qs8", (2,), _QS8))),
        ),
        kind=Kind.MOVING,
        **_SCATTERS,
    )
)


def _scatter_nd_type(ctx: InferContext) -> tuple[TensorType, ...]:
    _check_reduction(ctx)
    x, indices = ctx.x, ctx.required(1)
    ctx.require(indices.rank >= 1, "indices need at least one axis")
    if not indices.shape[-1].is_static:
        raise ctx.error(f"the last axis of indices is {indices.shape[-1]}, expected a fixed size")
    depth = indices.shape[-1].as_int()
    ctx.require(depth <= x.rank, f"indices of {depth} axes into rank {x.rank}")
    shape = (*indices.shape[:-1], *x.shape[depth:])
    require_shape(ctx, 2, shape, "the shape that gather_nd would give")
    return (moved(ctx, x.shape),)


def _scatter_nd(x: Array, indices: Array, updates: Array, *, reduction: str, wrap: bool) -> Array:
    if not x.size or not updates.size:
        return x.copy()
    places = _tuples("scatter_nd", x, indices, 0, wrap)
    if not places:
        # Every tuple is empty and names all of x.
        y = x
        for update in updates.reshape(-1, *x.shape):
            y = _scattered(y, (slice(None),) * x.ndim, update, reduction)
        return y
    return _scattered(x, places, updates, reduction)


scatter_nd = define(
    OpSpec(
        name="scatter_nd",
        code=142,
        inputs=("x", "indices", "updates"),
        outputs=("y",),
        infer=_scatter_nd_type,
        reference=_scatter_nd,
        doc="y = x, with y[indices[i…]] = updates[i…], in row-major order",
        dtypes=MOVED,
        check="gather_nd scatter",
        grad=rules.scatter_nd,
        saves=("x", "indices", "updates"),
        attrs=(_REDUCTION, WRAP),
        flags=frozenset({"inplace"}),
        cases=(
            Case((("f32", (7,)), np.array([[3], [-1]]), ("f32", (2,)))),
            Case((("f32", (3, 4)), np.array([[0, 1], [2, -1]]), ("f32", (2,)))),
            Case((("f32", (3, 16)), np.array([[2], [0]]), ("f32", (2, 16))), {"wrap": False}),
            Case((("f32", (2, 3, 5)), np.array([[[0, 1]], [[1, 2]]]), ("f32", (2, 1, 5)))),
            Case((("f32", (2, 3)), np.zeros((0, 1), np.int64), ("f32", (0, 3)))),
            *(
                Case(
                    (("f32", (6,)), np.array([[1], [1], [5], [1]]), ("f32", (4,))), {"reduction": r}
                )
                for r in _REDUCTIONS
            ),
            *(
                Case(((d, (4,)), np.array([[1], [1]], np.int32), (d, (2,))), {"reduction": "max"})
                for d in WHOLE[1:]
                if d != "bool"
            ),
            *(Case(((d, (4, 2)), np.array([[2]]), (d, (1, 2)))) for d in WHOLE),
            Case((("qs8", (4,), _QS8), np.array([[2]]), ("qs8", (1,), _QS8))),
        ),
        kind=Kind.MOVING,
        **_SCATTERS,
    )
)


# ---- index makers ----


def _range_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_same_dtype(ctx, 0, 1, 2)
    for i in range(3):
        require_rank(ctx, i, 0)
    bound = None
    start, limit, delta = (ctx.scalar(i) for i in range(3))
    if start is not None and limit is not None and delta is not None:
        moves = provably_ge(delta, 1) or provably_ge(-1, delta)
        bound = dmax(0, ceildiv(limit - start, delta)) if moves else None
    return (TensorType(ctx.x.dtype, (ctx.born(0, 0, bound),)),)


def _range(start: Array, limit: Array, delta: Array) -> Array:
    if delta == 0:
        raise DataError("delta is 0", op="range")
    if start.dtype.kind == "f":
        span = (np.float64(limit) - np.float64(start)) / np.float64(delta)
        count = max(0, int(np.ceil(span)))
        return (np.float64(start) + np.arange(count) * np.float64(delta)).astype(start.dtype)
    count = max(0, -((int(start) - int(limit)) // int(delta)))
    return (int(start) + np.arange(count, dtype=np.int64) * int(delta)).astype(start.dtype)


def _scalars(dtype: Any, *values: float) -> tuple[Array, ...]:
    return tuple(np.array(v, dtype) for v in values)


range_ = define(
    OpSpec(
        name="range",
        code=143,
        inputs=("start", "limit", "delta"),
        outputs=("y",),
        infer=_range_type,
        reference=_range,
        doc="y = start, start + delta, … while before limit; element i is start + i * delta in"
        " float64, rounded once",
        dtypes=("f32", "i32", "i64", "f64"),
        check="-> y [M]",
        grad=rules.range_,
        measured=True,
        cases=(
            Case(_scalars(np.float32, 0, 1, 0.1)),
            Case(_scalars(np.float32, 5, -1, -0.75)),
            Case(_scalars(np.float32, 3, 3, 1)),
            Case(_scalars(np.float64, 0, 1, 0.1)),
            Case(_scalars(np.float64, 2, -3, -0.3)),
            Case(_scalars(np.int32, 0, 33, 2)),
            Case(_scalars(np.int32, 10, 0, -3)),
            Case(_scalars(np.int64, 7, 0, 1)),
            Case(_scalars(np.int64, -4, 12, 1)),
        ),
        kind=Kind.SOURCE,
        ends=Ends.ALWAYS,
    )
)


def _iota_type(ctx: InferContext) -> tuple[TensorType, ...]:
    if ctx.dtype not in (DType.I64, DType.I32, DType.F32):
        raise ctx.error(f"cannot count in {ctx.dtype.public_name}")
    ctx.require_ge(ctx.length, 0, "the length must not be negative")
    return (TensorType(ctx.dtype, (as_dim(ctx.length),)),)


def _iota(*, length: int, start: int, step: int, dtype: DType) -> Array:
    return (start + np.arange(length, dtype=np.int64) * step).astype(dtype.numpy)


iota = define(
    OpSpec(
        name="iota",
        code=144,
        inputs=(),
        outputs=("y",),
        infer=_iota_type,
        reference=_iota,
        doc="y[i] = start + i * step",
        dtypes=(),
        check="-> y [length]",
        grad=NO_GRAD,
        attrs=(
            Attr("length", "dim"),
            Attr("start", "dim", 0),
            Attr("step", "dim", 1),
            Attr("dtype", "dtype", DType.I64, doc="int64, int32 or float32"),
        ),
        cases=(
            Case((), {"length": 0}),
            Case((), {"length": 1}),
            Case((), {"length": 17, "start": -3}),
            Case((), {"length": 8, "start": 2, "step": -5, "dtype": "i32"}),
            Case((), {"length": 33, "step": 3, "dtype": "f32"}),
        ),
        kind=Kind.SOURCE,
        tolerance=UNCHANGED,
    )
)


def _nonzero_type(ctx: InferContext) -> tuple[TensorType, ...]:
    found = ctx.born(0, 1, ctx.x.numel())
    return (TensorType(DType.I64, (as_dim(ctx.x.rank), found)),)


def _nonzero(x: Array) -> Array:
    if x.ndim == 0:
        return np.zeros((0, int(x != 0)), np.int64)
    return np.array(np.nonzero(x), np.int64)


nonzero = define(
    OpSpec(
        name="nonzero",
        code=145,
        inputs=("x",),
        outputs=("y",),
        infer=_nonzero_type,
        reference=_nonzero,
        doc="column j of y is the index of the j-th element of x that is not 0, in row-major order",
        dtypes=WHOLE,
        check="-> y [R M]",
        grad=NO_GRAD,
        measured=True,
        cases=(
            *(
                Case((("bool", s),))
                for s in ((7,), (3, 9), (2, 3, 4), (0,), (2, 0, 3), (2, 1, 3, 2, 2))
            ),
            Case((np.array(1.5, np.float32),)),
            Case((np.array([0, -0.0, np.nan, 2], np.float32),)),
            *(
                Case((np.array([[0, 1, 0], [3, 0, 5]], d.numpy),))
                for d in map(DType.parse, WHOLE)
                if d.has_numpy
            ),
        ),
        kind=Kind.REDUCING,
    )
)


def _dims_type(ctx: InferContext) -> tuple[TensorType, ...]:
    if ctx.dtype not in (DType.I64, DType.I32, DType.F32, DType.BOOL):
        raise ctx.error(f"cannot hold sizes in {ctx.dtype.public_name}")
    values: Sequence[Dim] = ctx.values
    # `ctx.scalar` is the context's own method.
    if ctx.attrs["scalar"]:
        ctx.require(len(values) == 1, "a scalar holds one value")
        return (TensorType(ctx.dtype, ()),)
    return (TensorType(ctx.dtype, (as_dim(len(values)),)),)


dims = define(
    OpSpec(
        name="dims",
        code=148,
        inputs=(),
        outputs=("y",),
        infer=_dims_type,
        reference=lambda values, dtype, scalar: (
            np.array(values, np.int64).reshape(() if scalar else (len(values),)).astype(dtype.numpy)
        ),
        doc="y = these sizes as a tensor",
        dtypes=(),
        check="dims",
        grad=NO_GRAD,
        attrs=(
            Attr("values", "dims"),
            Attr("dtype", "dtype", DType.I64, doc="int64, int32, float32 or bool"),
            Attr("scalar", "bool", False, doc="y has rank 0 and holds the only value"),
        ),
        cases=(
            Case((), {"values": ()}),
            Case((), {"values": (3,)}),
            Case((), {"values": (2, -1, 2**40, 0)}),
            Case((), {"values": (5,), "scalar": True}),
            Case((), {"values": (5, 7), "dtype": "i32"}),
            Case((), {"values": (9,), "dtype": "f32", "scalar": True}),
            Case((), {"values": (1, 0), "dtype": "bool"}),
        ),
        kind=Kind.SOURCE,
        tolerance=UNCHANGED,
        cheap=True,
    )
)
