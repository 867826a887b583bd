# SPDX-License-Identifier: Apache-2.0
"""Operators of StableHLO that LiteRT runs, and REDUCE_WINDOW. They work on a quantized tensor's integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.graph import Graph
from samara.exporter.importers.tflite.handlers.control import called, subgraph_of
from samara.exporter.importers.tflite.handlers.movement import dilated
from samara.exporter.importers.tflite.handlers.windows import window_places
from samara.exporter.importers.tflite.registry import Handler, tflite_op
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, as_dim

# ---- single elements


def _binary(op: str, of_bools: str) -> Handler:
    def convert(ctx: OperatorContext) -> Any:
        a, b = ctx.plain(0), ctx.plain(1)
        if a.type.shape != b.type.shape:
            raise ctx.wrong(f"operands {a.type} and {b.type} differ in shape")
        return ctx.final(of_bools if a.type.dtype is DType.BOOL else op, a, b)

    return convert


for _name, _op, _of_bools in (
    ("ADD", "add", "logical_or"),
    ("MULTIPLY", "mul", "logical_and"),
    ("MAXIMUM", "max", "logical_or"),
    ("MINIMUM", "min", "logical_and"),
    ("AND", "bitwise_and", "logical_and"),
):
    tflite_op(f"STABLEHLO_{_name}")(_binary(_op, _of_bools))


@tflite_op("STABLEHLO_SHIFT_LEFT")
def shift_left(ctx: OperatorContext) -> Any:
    return ctx.final("shift", ctx.plain(0), ctx.plain(1), direction="left")


@tflite_op("STABLEHLO_COMPOSITE")
def composite(ctx: OperatorContext) -> Any:
    """The subgraph that says what the operator does."""
    given = [ctx.operand(i) for i in range(ctx.input_count)]
    option = "decomposition_subgraph_index"
    return called(ctx, subgraph_of(ctx, option, ctx.builder, ctx.graph.state), given)


# ---- padding


def _padded(
    ctx: OperatorContext, x: Value, fill: Value, before: Sequence[int], after: Sequence[int]
) -> Value:
    """With `fill` around; negative numbers cut off."""
    rank = x.type.rank
    if min(*before, *after) < 0:
        ends = [
            d + min(a, 0) for d, a in zip(x.type.shape, after, strict=True)
        ]  # fmt: skip
        x = ctx.emit("slice", x, begin=[max(-b, 0) for b in before], end=ends, step=[1] * rank)
    pads = [max(p, 0) for p in (*before, *after)]
    made: Value = ctx.emit("pad", x, fill, pads=pads) if any(pads) else x
    return made


def _option(ctx: OperatorContext, name: str, rank: int, default: int) -> list[int]:
    """A number per axis."""
    found = [int(v) for v in ctx.option(name, ())] or [default] * rank
    if len(found) != rank:
        raise ctx.wrong(f"{name} {found} for rank {rank}")
    return found


@tflite_op("STABLEHLO_PAD")
def pad(ctx: OperatorContext) -> Any:
    """Interior padding first, then the border. Inputs: x and the value of the padding."""
    x, fill = ctx.plain(0), ctx.emit("reshape", ctx.plain(1), shape=())
    rank = x.type.rank
    before, after, inner = (
        _option(ctx, name, rank, 0)
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    if rank == 0 or min(inner) < 0:
        raise ctx.wrong(f"padding {inner} between the elements of {x.type}")
    x = dilated(ctx, x, [n + 1 for n in inner], fill)
    return ctx.final("identity", _padded(ctx, x, fill, before, after))


# ---- windows

_REDUCTIONS = {
    "ADD": "reduce_sum",
    "MUL": "reduce_prod",
    "MINIMUM": "reduce_min",
    "MAXIMUM": "reduce_max",
    "ALL": "reduce_min",
    "ANY": "reduce_max",
}
_PAIRS = {"reduce_sum": "add", "reduce_prod": "mul", "reduce_min": "min", "reduce_max": "max"}
_BODIES = {
    "ADD": "ADD", "STABLEHLO_ADD": "ADD", "MUL": "MUL", "STABLEHLO_MULTIPLY": "MUL",
    "MAXIMUM": "MAXIMUM", "STABLEHLO_MAXIMUM": "MAXIMUM", "MINIMUM": "MINIMUM",
    "STABLEHLO_MINIMUM": "MINIMUM", "LOGICAL_AND": "ALL", "STABLEHLO_AND": "ALL", "LOGICAL_OR": "ANY",
}  # fmt: skip


def _body(ctx: OperatorContext, option: str) -> str:
    """The operator that a subgraph with a single one consists of; "" for an empty subgraph."""
    graphs = ctx.graph.shared.model.subgraphs
    index = int(ctx.option(option, -1))
    if not 0 <= index < len(graphs):
        raise ctx.wrong(f"there is no subgraph {index}")
    operators = graphs[index].operators
    if len(operators) > 1:
        raise ctx.unsupported(
            f"a body of {len(operators)} operators", "convert the model with a single one"
        )
    return operators[0].name if operators else ""


@tflite_op("STABLEHLO_REDUCE_WINDOW")
def stablehlo_reduce_window(ctx: OperatorContext) -> Any:
    """Inputs: x and the number where a reduction begins, which is also in the border."""
    x, first = ctx.plain(0), ctx.emit("reshape", ctx.plain(1), shape=())
    rank = x.type.rank
    body = _body(ctx, "body_subgraph_index")
    if body not in _BODIES:
        raise ctx.unsupported(
            f"a reduction by {body or 'nothing'}", "use a sum, product or extremum"
        )
    sizes, steps, apart, inner = (
        _option(ctx, name, rank, 1)
        for name in ("window_dimensions", "window_strides", "window_dilations", "base_dilations")
    )
    pads = [int(v) for v in ctx.option("padding", ())] or [0] * (2 * rank)
    if len(pads) != 2 * rank:
        raise ctx.wrong(f"padding {pads} for rank {rank}")
    x = dilated(ctx, x, inner, first)
    x = _padded(ctx, x, first, pads[::2], pads[1::2])
    return _windowed(ctx, x, first, _BODIES[body], sizes, steps, apart)


@tflite_op("REDUCE_WINDOW")
def reduce_window(ctx: OperatorContext) -> Any:
    """Inputs: x, where a reduction begins, the windows' sizes, their distances, the distances inside of them."""
    x, first = ctx.plain(0), ctx.emit("reshape", ctx.plain(1), shape=())
    function = ctx.option("reduce_function", "UNSUPPORTED")
    if function not in _REDUCTIONS:
        raise ctx.unsupported(f"the reduction {function} is not known", "convert the model again")
    sizes, steps, apart = (
        need_static(ctx, ctx.dims(i, "the window"), "the window") for i in (2, 3, 4)
    )
    return _windowed(ctx, x, first, function, sizes, steps, apart)


def _windowed(
    ctx: OperatorContext, x: Value, first: Value, function: str, sizes: Sequence[int], steps: Sequence[int],
    apart: Sequence[int],
) -> Any:  # fmt: skip
    """One axis after the other: all elements of a window along a new axis, which is reduced."""
    op = _REDUCTIONS[function]
    rank = x.type.rank
    if not rank == len(sizes) == len(steps) == len(apart) or min(*sizes, *steps, *apart) < 1:
        raise ctx.wrong(f"windows {sizes}, {steps} and {apart} of {x.type}")
    is_bool = x.type.dtype is DType.BOOL
    if is_bool:
        x, first = (ctx.emit("cast", v, to=DType.U8) for v in (x, first))
    for axis, (size, step, gap) in enumerate(zip(sizes, steps, apart, strict=True)):
        if size == 1 and step == 1:
            continue
        places = window_places(ctx, x.type.shape[axis], size, step, gap)
        parts = ctx.emit("gather", x, places, axis=axis)
        x = ctx.emit(op, parts, axes=[axis + 1])
    if not is_bool:
        return ctx.final(_PAIRS[op], x, first)
    return ctx.final("cast", ctx.emit(_PAIRS[op], x, first), to=DType.BOOL)


# ---- indices


def _starts(ctx: OperatorContext, index: int, targets: Sequence[int], rank: int) -> Value:
    """Indices [batch…, rank] as int64: element k of a vector counts along axis targets[k], others are 0.

    The option index_vector_dim says along which axis of the input the vectors lie; behind the last they have one
    element.
    """
    indices = ctx.plain(index)
    if indices.type.dtype is not DType.I64:
        indices = ctx.emit("cast", indices, to=DType.I64)
    axis = int(ctx.option("index_vector_dim", 0))
    if axis == indices.type.rank:
        indices = ctx.emit("reshape", indices, shape=(*indices.type.shape, 1))
    order = [a for a in range(indices.type.rank) if a != axis]
    indices = ctx.emit("transpose", indices, perm=(*order, axis))
    batch = indices.type.shape[:-1]
    if indices.type.shape[-1] != as_dim(len(targets)) or not all(0 <= t < rank for t in targets):
        raise ctx.wrong(f"vectors of {indices.type} for axes {list(targets)} of rank {rank}")
    zero = ctx.emit("expand", ctx.const(np.int64(0)), shape=(*batch, 1))
    columns = []
    for a in range(rank):
        if a not in targets:
            columns.append(zero)
            continue
        k = list(targets).index(a)
        begin, end = [0] * len(batch) + [k], [*batch, k + 1]
        columns.append(
            ctx.emit("slice", indices, begin=begin, end=end, step=[1] * (len(batch) + 1))
        )
    made: Value = ctx.emit("concat", *columns, axis=len(batch))
    return made


def _grid(sizes: Sequence[int]) -> Any:
    """The indices of all elements, [*sizes, rank]."""
    return np.stack(np.meshgrid(*(np.arange(s) for s in sizes), indexing="ij"), -1).astype(np.int64)


def _spread(
    ctx: OperatorContext, starts: Value, sizes: Sequence[int], gone: Sequence[int]
) -> Value:
    """Indices [batch…, window…, rank] of windows that begin at `starts`; axes `gone`, of size 1, are left out."""
    offsets = _grid(sizes)
    kept = [s for a, s in enumerate(sizes) if a not in gone]
    batch = starts.type.shape[:-1]
    column = ctx.emit("reshape", starts, shape=(*batch, *[1] * len(kept), len(sizes)))
    offsets = offsets.reshape(*kept, len(sizes))
    made: Value = ctx.emit("add", column, ctx.const(offsets))
    return made


@tflite_op("STABLEHLO_GATHER")
def gather(ctx: OperatorContext) -> Any:
    """Windows of x at the places that vectors of indices name, moved so that they fit."""
    x = ctx.plain(0)
    rank = x.type.rank
    sizes = _option(ctx, "slice_sizes", rank, 1)
    gone = [int(a) for a in ctx.option("collapsed_slice_dims", ())]
    if any(not 0 <= a < rank or sizes[a] != 1 for a in gone):
        raise ctx.wrong(f"axes {gone} of windows {sizes} cannot be left out")
    starts = _starts(ctx, 1, [int(t) for t in ctx.option("start_index_map", ())], rank)
    shape = need_static(ctx, x.type.shape, "the shape")
    most = np.array([d - s for d, s in zip(shape, sizes, strict=True)], np.int64)
    held = ctx.emit("max", ctx.emit("min", starts, ctx.const(most)), ctx.const(np.int64(0)))
    y = ctx.emit("gather_nd", x, _spread(ctx, held, sizes, gone), wrap=False)
    places = [int(a) for a in ctx.option("offset_dims", ())]
    return ctx.final("transpose", y, perm=_interleaved(ctx, y.type.rank, places))


def _interleaved(ctx: OperatorContext, rank: int, places: Sequence[int]) -> list[int]:
    """The order that puts the last axes at `places`, and those before them elsewhere in their order."""
    batch = rank - len(places)
    if batch < 0 or any(not 0 <= p < rank for p in places) or len({*places}) != len(places):
        raise ctx.wrong(f"axes {list(places)} of a result of rank {rank}")
    outer, inner = iter(range(batch)), iter(range(batch, rank))
    return [next(inner) if a in places else next(outer) for a in range(rank)]


_SCATTERED = {
    "": "none", "STABLEHLO_ADD": "add", "STABLEHLO_MULTIPLY": "mul", "STABLEHLO_MAXIMUM": "max",
    "STABLEHLO_MINIMUM": "min",
}  # fmt: skip


@tflite_op("STABLEHLO_SCATTER")
def scatter(ctx: OperatorContext) -> Any:
    """x with windows of updates at the places that vectors of indices name; what lies outside is left out."""
    x, updates = ctx.plain(0), ctx.plain(2)
    rank = x.type.rank
    body = _body(ctx, "update_computation_subgraph_index")
    if body not in _SCATTERED or x.type.dtype is DType.BOOL:
        raise ctx.unsupported(
            f"updates of {x.type.dtype.public_name} by {body}", "convert the model again"
        )
    windows = [int(a) for a in ctx.option("update_window_dims", ())]
    gone = [int(a) for a in ctx.option("inserted_window_dims", ())]
    targets = [int(t) for t in ctx.option("scatter_dims_to_operand_dims", ())]
    outer = [a for a in range(updates.type.rank) if a not in windows]
    updates = ctx.emit("transpose", updates, perm=(*outer, *windows))
    given = iter(need_static(ctx, updates.type.shape[len(outer) :], "the windows of updates"))
    sizes = [1 if a in gone else next(given, 1) for a in range(rank)]
    index = _spread(ctx, _starts(ctx, 1, targets, rank), sizes, gone)
    if index.type.shape[:-1] != updates.type.shape:
        raise ctx.wrong(f"updates {updates.type} do not fit windows {sizes} of {x.type}")
    flat = _placed(ctx, index, need_static(ctx, x.type.shape, "the shape"))
    # One more element takes what lies outside.
    total = x.type.numel()
    more = ctx.emit("pad", ctx.emit("reshape", x, shape=(total,)), pads=[0, 1])
    y = ctx.emit("scatter_nd", more, flat, updates, reduction=_SCATTERED[body], wrap=False)
    y = ctx.emit("slice", y, begin=[0], end=[total], step=[1])
    return ctx.final("reshape", y, shape=x.type.shape)


def _placed(ctx: OperatorContext, index: Value, shape: Sequence[int]) -> Value:
    """Indices [..., rank] as positions [..., 1] in the flat tensor; behind its end if one is out of range."""
    strides = np.array([int(np.prod(shape[a + 1 :])) for a in range(len(shape))], np.int64)
    axis = index.type.rank - 1
    total = int(np.prod(shape))
    position = ctx.emit("reduce_sum", ctx.emit("mul", index, ctx.const(strides)), axes=[axis])
    zero = ctx.const(np.int64(0))
    inside = ctx.emit(
        "logical_and",
        ctx.emit("le", zero, index),
        ctx.emit("lt", index, ctx.const(np.array(shape, np.int64))),
    )
    whole = ctx.emit("reduce_min", ctx.emit("cast", inside, to=DType.U8), axes=[axis])
    found = ctx.emit(
        "where", ctx.emit("cast", whole, to=DType.BOOL), position, ctx.const(np.int64(total))
    )
    sizes: tuple[Dim | int, ...] = (*found.type.shape, 1)
    made: Value = ctx.emit("reshape", found, shape=sizes)
    return made


# ---- branches


@tflite_op("STABLEHLO_CASE")
def case(ctx: OperatorContext) -> Any:
    """The branch with the number of the first input, with the other inputs."""
    graphs = ctx.graph.shared.model.subgraphs
    branches = [int(i) for i in ctx.option("branch_subgraph_indices", ())]
    if not branches or any(not 0 <= i < len(graphs) for i in branches):
        raise ctx.wrong(f"branches {branches} of {len(graphs)} subgraphs")
    given = [ctx.operand(i) for i in range(1, ctx.input_count)]
    known = ctx.constant(0)
    if known is not None:
        number = int(known.reshape(-1)[0])
        if not 0 <= number < len(branches):
            raise ctx.wrong(f"there is no branch {number} of {len(branches)}")
        branches = [branches[number]]
    index = None if known is not None else ctx.emit("reshape", ctx.plain(0), shape=())
    return _branched(ctx, ctx.builder, index, branches, given)


def _branched(
    ctx: OperatorContext, builder: Builder, index: Value | None, branches: Sequence[int], given: Sequence[Any]
) -> list[Value]:  # fmt: skip
    """The results in `builder`: of the first branch if the index is 0, else of the others."""
    if len(branches) == 1 or index is None:
        state = ctx.graph.state.inner()
        shared = ctx.graph.shared
        graph = Graph(
            shared, builder, shared.model.subgraphs[branches[0]], state, ctx.graph.depth + 1
        )
        results = called(ctx, graph, given)
        if state.assigned:
            raise ctx.unsupported("a branch assigns a variable", "assign it behind the branches")
        return results
    inner = builder.resolve(index)
    first = builder.op("le", inner, np.int32(0))
    then, other = builder.child("then"), builder.child("else")
    chosen = _branched(ctx, then, None, branches[:1], given)
    lower = other.op("sub", other.resolve(inner), np.int32(1))
    rest = _branched(ctx, other, lower, branches[1:], given)
    is_outer = builder is ctx.builder
    names = [
        n if is_outer and n else f"{ctx.label}.{len(branches)}.{i}"
        for i, n in enumerate(ctx.output_names)
    ]
    made: list[Value] = list(
        builder.if_(first, (then, chosen), (other, rest), outputs=names, name=ctx.label)
    )
    return made
