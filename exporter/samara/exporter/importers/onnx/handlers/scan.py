# SPDX-License-Identifier: Apache-2.0
"""Scan: a loop over the elements of sequences, with carried states and stacked results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from samara.exporter.importers.onnx.branches import body_results
from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.importers.onnx.scope import Scope
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Value
from samara.exporter.ops import Guard
from samara.exporter.types import Dim, DType, TensorType, Tri, as_dim, compare


@onnx_op("Scan")
def scan(n: NodeContext) -> Any:
    graph = n.attr("body")
    first = 1 if n.opset < 9 else 0  # in the oldest form the first input holds lengths
    count = n.input_count - first - int(n.attr("num_scan_inputs"))
    if count < 0 or len(graph.input) != n.input_count - first or len(graph.output) < count:
        raise n.unsupported(
            f"a body of {len(graph.input)} inputs and {len(graph.output)} outputs does not fit"
            f" {count} states among {n.input_count - first} inputs",
            "check the model with onnx.checker",
        )
    values = [n.value(i) for i in range(first, n.input_count)]
    states, sequences = values[:count], values[count:]
    if not sequences:
        raise n.wrong("num_scan_inputs must be at least 1")
    if n.opset < 9:
        return _batched(n, graph, states, sequences)
    axes = _per(n, "scan_input_axes", len(sequences))
    back = _per(n, "scan_input_directions", len(sequences))
    for i, (x, axis) in enumerate(zip(sequences, axes, strict=True)):
        sequences[i] = _to_front(n, x, axis)
    steps = _steps(n, sequences, 0)
    finals, stacks = _scanned(n, graph, states, sequences, back, steps)
    axes = _per(n, "scan_output_axes", len(stacks))
    back = _per(n, "scan_output_directions", len(stacks))
    for i, (y, axis) in enumerate(zip(stacks, axes, strict=True)):
        y = flipped(n, y) if back[i] else y
        at = _in_range(n, axis, y.type.rank)
        if at:
            y = n.emit("transpose", y, perm=(*range(1, at + 1), 0, *range(at + 1, y.type.rank)))
        stacks[i] = y
    return [*finals, *stacks]


def _per(n: NodeContext, name: str, count: int) -> list[int]:
    """An attribute with a number per sequence; zeros if it is absent."""
    given = list(n.attr(name, []))
    if len(given) > count:
        raise n.wrong(f"{name} has {len(given)} elements for {count} sequences")
    return given + [0] * (count - len(given))


def _in_range(n: NodeContext, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise n.wrong(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def _to_front(n: NodeContext, x: Value, axis: int) -> Value:
    if x.type.rank == 0:
        raise n.wrong("a scalar cannot be scanned")
    at = _in_range(n, axis, x.type.rank)
    if at == 0:
        return x
    perm = (at, *(a for a in range(x.type.rank) if a != at))
    moved: Value = n.emit("transpose", x, perm=perm)
    return moved


def _steps(n: NodeContext, sequences: Sequence[Value], axis: int) -> Dim:
    """The common length of the sequences."""
    steps = sequences[0].type.shape[axis]
    for x in sequences[1:]:
        require_same(n, x.type.shape[axis], steps, "scanned sequences must be equally long")
    return steps


def require_same(n: NodeContext, a: Dim, b: Dim, message: str) -> None:
    """ShapeError if two dims differ; a guard if that is known only at run time."""
    equal = compare(a, b)
    if equal is Tri.YES:
        return
    if equal is Tri.NO:
        raise n.wrong(f"{message}: {a} and {b}")
    n.builder.guards.append(Guard("eq", a, b, f"{n.op_type}: {message}", n.label))


def flipped(n: NodeContext, x: Value) -> Value:
    """x with its first axis reversed."""
    rank = x.type.rank
    turned: Value = n.emit(
        "slice",
        x,
        begin=[x.type.shape[0] - 1, *[0] * (rank - 1)],
        end=[-1, *x.type.shape[1:]],
        step=[-1, *[1] * (rank - 1)],
    )
    return turned


def scalar(n: NodeContext, dim: Dim) -> Value:
    """A dim as an int64 scalar."""
    if dim.is_static:
        return n.const(np.int64(dim.as_int()))
    made: Value = n.emit("dims", values=[dim], dtype=DType.I64, scalar=True)
    return made


def with_shape(n: NodeContext, y: Value, shape: Sequence[Dim]) -> Value:
    """y, typed with the shape `shape`, which it is known to have."""
    if y.type.shape == tuple(shape):
        return y
    seen: Value = n.emit("reshape", y, shape=shape)
    return seen


def inside(n: NodeContext, builder: Builder, where: str) -> NodeContext:
    """A context for nodes of a body that the importer itself makes.

    Their names must differ from those outside, because sizes read outside are identified by tensor names.
    """
    scope = Scope(n.scope.state, builder, (), (), n.scope)
    return NodeContext(scope, onnx.NodeProto(op_type=n.op_type, name=f"{n.label}/{where}"))


def _scanned(
    n: NodeContext,
    graph: onnx.GraphProto,
    states: Sequence[Value],
    sequences: Sequence[Value],
    back: Sequence[int],
    steps: Dim,
) -> tuple[list[Value], list[Value]]:
    """(last states, stacked results [steps, …]) of the body over the first `steps` elements of sequences, from
    the last one on if `back` is set.
    """
    if steps == as_dim(1):
        return _once(n, graph, states, sequences)
    builder = n.builder.child("scan")
    iteration = builder.input("iteration", DType.I64, ())
    go = builder.input("condition", DType.BOOL, ())
    body = inside(n, builder, "scan")
    inner = Scope.of_graph(body.scope, builder, graph)
    inner.problems = []
    formal = [i.name for i in graph.input]
    given = []
    for name, state in zip(formal, states, strict=False):
        given.append(builder.formal(name, state.type))
        inner.bind(name, given[-1])
    length = scalar(n, steps)
    turned = None
    if any(back):
        turned = body.emit("sub", n.emit("sub", length, 1), iteration)
    for name, x, b in zip(formal[len(states) :], sequences, back, strict=True):
        inner.bind(name, body.emit("gather", x, turned if b else iteration, axis=0))
    results = body_results(n.scope, inner, "Scan")
    for i, state in enumerate(given):
        results[i] = _kept(body, results[i], state.type, i)
    made = n.builder.loop(length, None, states, (builder, [go, *results]), name=f"{n.label}.loop")
    count = len(states)
    finals = [with_shape(n, y, s.type.shape) for y, s in zip(made, states, strict=False)]
    return finals, [with_shape(n, y, (steps, *y.type.shape[1:])) for y in made[count:]]


def _once(
    n: NodeContext, graph: onnx.GraphProto, states: Sequence[Value], sequences: Sequence[Value]
) -> tuple[list[Value], list[Value]]:
    """_scanned over a single element: the body alone."""
    inner = Scope.of_graph(n.scope, n.builder, graph)
    inner.problems = []
    formal = [i.name for i in graph.input]
    elements = [n.emit("reshape", x, shape=x.type.shape[1:]) for x in sequences]
    for name, value in zip(formal, [*states, *elements], strict=True):
        inner.bind(name, value)
    results = body_results(n.scope, inner, "Scan")
    count = len(states)
    finals = [_kept(n, y, s.type, i) for i, (y, s) in enumerate(zip(results, states, strict=False))]
    return finals, [n.emit("reshape", y, shape=(1, *y.type.shape)) for y in results[count:]]


def _kept(n: NodeContext, y: Value, like: TensorType, index: int) -> Value:
    """A state leaving the body, in the shape in which it entered: a scan must not change it."""
    if y.type.dtype is not like.dtype or y.type.rank != like.rank:
        raise n.wrong(f"state {index} enters as {like} and leaves as {y.type}")
    for d, e in zip(y.type.shape, like.shape, strict=True):
        require_same(n, d, e, f"state {index} must keep its shape")
    return with_shape(n, y, like.shape)


def _batched(
    n: NodeContext, graph: onnx.GraphProto, states: Sequence[Value], sequences: Sequence[Value]
) -> list[Value]:
    """The form of opset 8: states [B, …], sequences [B, T, …] and optional lengths [B]."""
    steps = _steps(n, sequences, 1)
    batch = _steps(n, [*sequences, *states], 0)
    back = _per(n, "directions", len(sequences))
    lengths = n.optional(0)
    builder = n.builder.child("batch")
    row = builder.input("iteration", DType.I64, ())
    go = builder.input("condition", DType.BOOL, ())
    body = inside(n, builder, "batch")
    given = [body.emit("gather", s, row, axis=0) for s in states]
    rows = [body.emit("gather", x, row, axis=0) for x in sequences]
    long = steps
    if lengths is not None:
        long = builder.read(body.emit("gather", lengths, row, axis=0), 0)
        message = "a length must not be beyond its sequence"
        builder.guards.append(Guard("le", long, builder.translate(steps), message, n.label))
    finals, stacks = _scanned(body, graph, given, rows, back, long)
    if lengths is not None:
        stacks = [_padded(body, y, builder.translate(steps) - long) for y in stacks]
    made = n.builder.loop(
        scalar(n, batch), None, (), (builder, [go, *finals, *stacks]), name=f"{n.label}.loop"
    )
    return [with_shape(n, y, (batch, *y.type.shape[1:])) for y in made]


def _padded(n: NodeContext, y: Value, more: Dim) -> Value:
    rank = y.type.rank
    padded: Value = n.emit("pad", y, pads=[*[0] * rank, more, *[0] * (rank - 1)])
    return padded
