# SPDX-License-Identifier: Apache-2.0
"""`If` and `Loop`: bodies become functions; branches that disagree in rank are split.

The rest of a graph after an `If` whose branches give tensors of different rank cannot be typed
once. It is cloned into both branches, and each clone knows which branch it is in. A clone that
cannot be typed becomes a trap with the reason. If the graph is itself part of another one (the
branch selected by a known predicate, or an operator's definition), the rest of that graph is cloned
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import onnx

from samara.exporter.importers.common.loops import ROUNDS, widened_types
from samara.exporter.importers.common.operand import Operand, Poison, as_shape_data
from samara.exporter.importers.common.problems import Problem
from samara.exporter.importers.onnx.context import NodeContext, tensor_data
from samara.exporter.importers.onnx.scope import Host, Scope
from samara.exporter.ir.builder import Builder, as_dim_atom
from samara.exporter.ir.conditions import Condition, condition_of, size_condition
from samara.exporter.ir.program import Source, Value
from samara.exporter.types import (
    Dim,
    DType,
    SamaraError,
    ShapeError,
    TensorType,
    UnsupportedError,
    dmax,
)

MAX_CLONES = 64
# Longest trap message that the runtime shows (session/control/control.c).
MAX_MESSAGE_BYTES = 400


@dataclass(slots=True)
class Branch:
    """One branch after conversion: its builder and results, or the reason why it failed."""

    builder: Builder
    results: list[Value]
    problems: list[Problem]

    @property
    def failed(self) -> bool:
        return bool(self.problems)

    @property
    def signature(self) -> list[tuple[DType, int]]:
        return [(v.type.dtype, v.type.rank) for v in self.results]


class _Ended(Exception):
    """Raised when the rest of `scope` was converted as part of a split `If`; it has `results`."""

    def __init__(self, scope: Scope, results: list[Operand]) -> None:
        super().__init__()
        self.scope = scope
        self.results = results


def convert_graph(scope: Scope, start: int = 0) -> list[Operand]:
    """Convert the scope's nodes from `start` on and return the operands of its outputs."""
    try:
        return _convert_nodes(scope, start)
    except _Ended as ended:
        if ended.scope is scope:
            return ended.results
        raise


def _convert_nodes(scope: Scope, start: int) -> list[Operand]:
    for k in range(start, len(scope.nodes)):
        node = scope.nodes[k]
        scope.position = k
        kind = node.op_type if node.domain in ("", "ai.onnx") else ""
        if kind == "If":
            scope.attempt(node, partial(_if, scope, node))
        elif kind == "Loop":
            _convert_loop(scope, node)
        else:
            scope.convert_node(node)
    return [_output(scope, name) for name in scope.outputs]


def _output(scope: Scope, name: str) -> Operand:
    try:
        return scope.lookup(name)
    except SamaraError as error:
        unsupported = not isinstance(error, ShapeError)
        scope.problems.append(
            Problem("output", name, error.message, error.fix or "", unsupported, error.__cause__)
        )
        return Poison(str(error))


def _if(scope: Scope, node: onnx.NodeProto) -> None:
    """Convert an `If`. Raises _Ended if the rest was cloned into the branches."""
    n = NodeContext(scope, node)
    graphs = [_graph(n, "then_branch"), _graph(n, "else_branch")]
    cond = n.operand(0)
    data = as_shape_data(cond)
    predicate = None
    if data is not None and data.elements.size == 1:
        predicate = scope.known(data.dims()[0])
    if predicate is not None and predicate.is_static:
        graph = graphs[0 if predicate.as_int() else 1]
        inner = Scope.of_graph(scope, scope.builder, graph)
        inner.host = Host(scope, scope.position, list(node.output))
        for name, result in zip(node.output, convert_graph(inner), strict=True):
            scope.bind(name, result)
        return
    flag = _scalar(n, n.value(0))
    branches = [_branch(scope, g, node, predicate, 1 - i, False) for i, g in enumerate(graphs)]
    decides = _Decision(scope, flag, predicate)
    if _settle(scope, node, branches, decides):
        names = list(node.output)
        values = scope.builder.if_(
            flag, *((b.builder, b.results) for b in branches), outputs=names, name=n.label
        )
        for name, value in zip(names, values, strict=True):
            scope.bind(name, value)
        return
    clones = [_branch(scope, g, node, predicate, 1 - i, True) for i, g in enumerate(graphs)]
    if not _settle(scope, node, clones, decides):
        raise UnsupportedError(
            "the branches yield tensors of different rank up to the graph's outputs",
            op="If",
            node=node.name,
            fix="make both branches yield the same rank, or cut the graph before this node with"
            " outputs=",
        )
    last = scope
    while last.host is not None:
        last = last.host.scope
    bodies = ((b.builder, b.results) for b in clones)
    raise _Ended(last, list(scope.builder.if_(flag, *bodies, outputs=last.outputs, name=n.label)))


def _graph(n: NodeContext, name: str) -> onnx.GraphProto:
    graph = n.attr(name)
    if not isinstance(graph, onnx.GraphProto):
        raise n.unsupported(
            f"attribute {name!r} holds no graph", "check the model with onnx.checker"
        )
    return graph


def _branch(
    scope: Scope,
    graph: onnx.GraphProto,
    node: onnx.NodeProto,
    predicate: Dim | None,
    truth: int,
    following: bool,
) -> Branch:
    """Convert a branch in a child builder; with `following` also the rest of the enclosing graphs."""
    if following:
        scope.state.clones += 1
        if scope.state.clones > MAX_CLONES:
            raise UnsupportedError(
                f"more than {MAX_CLONES} clones would be needed to give every tensor one rank",
                op="If",
                node=node.name,
            )
    builder = scope.builder.child("then" if truth else "else")
    inner = Scope.of_graph(scope, builder, graph)
    inner.problems = []
    if predicate is not None:
        inner.assume(predicate, truth)
        inner.assume(builder.translate(predicate), truth)
    results = convert_graph(inner)
    names = inner.outputs
    host: Host | None = Host(scope, scope.position, list(node.output)) if following else None
    while host is not None and not inner.problems:
        rest = Scope(scope.state, builder, host.scope.nodes, host.scope.outputs, host.scope)
        rest.problems = inner.problems
        rest.assumed = inner.assumed
        for name, operand in zip(host.names, results, strict=True):
            if name:
                rest.bind(name, operand)
        results = convert_graph(rest, host.position + 1)
        names = rest.outputs
        inner = rest
        host = host.scope.host
    values = []
    for name, operand in zip(names, results, strict=True):
        if isinstance(operand, Poison):
            if not inner.problems:
                inner.problems.append(Problem("If", node.name, operand.reason, "", False))
            break
        values.append(inner.materialise(operand, name))
    return Branch(builder, values, list(inner.problems))


@dataclass(frozen=True, slots=True)
class _Decision:
    """The condition of an `If`: a tensor, and its dim expression if only sizes decide."""

    scope: Scope
    flag: Value
    predicate: Dim | None

    def when(self, truth: bool) -> Condition:
        """The condition in words."""
        if self.predicate is not None:
            return size_condition(self.scope.builder, self.predicate, truth)
        return condition_of(self.scope.builder, self.flag, truth)


def _settle(scope: Scope, node: onnx.NodeProto, branches: list[Branch], decides: _Decision) -> bool:
    """Give the two branches one signature. Returns True if they have one, or if one branch cannot be typed
    and becomes a trap.
    """
    good = [b for b in branches if not b.failed]
    hard = [p for b in branches for p in b.problems if p.unsupported]
    if hard:
        scope.problems += hard
        raise UnsupportedError(
            f"a branch holds {len(hard)} unsupported node(s)", op="If", node=node.name
        )
    if not good:
        scope.problems += [p for b in branches for p in b.problems]
        raise ShapeError("neither branch can be typed", op="If", node=node.name)
    if len(good) == 2:
        return branches[0].signature == branches[1].signature
    for i, branch in enumerate(branches):
        if branch.failed:
            taken, avoided = decides.when(i == 0), decides.when(i == 1)
            message = _message(taken, _reason(branch), avoided)
            branches[i] = _trap(scope, good[0], message, NodeContext(scope, node).source)
    return True


def _reason(failed: Branch) -> str:
    problem = failed.problems[0]
    return f"{problem.op} {problem.node!r}: {problem.reason}"


def _trap(scope: Scope, other: Branch, message: str, source: Source) -> Branch:
    """A branch that stops the run with a message. It has the outputs of the other branch."""
    builder = scope.builder.child("trap")
    dims: list[Dim] = []
    back = {
        inner: as_dim_atom(outer)
        for outer, d in other.builder._atoms.items()
        if (inner := d.sole_atom()) is not None
    }
    for value in other.results:
        for d in value.type.shape:
            dims.append(builder.translate(d.substitute(dict(back))))
    results = builder.op(
        "trap",
        message=message,
        dtypes=[v.type.dtype.code for v in other.results],
        ranks=[v.type.rank for v in other.results],
        shape=dims,
        source=source,
        outputs=[v.name for v in other.results],
    )
    return Branch(builder, list(results), [])


def _message(taken: Condition, reason: str, avoided: Condition) -> str:
    """The trap's message: which inputs lead to the branch, why it could not be typed, and which avoid it.

    It has at most the length that the runtime shows; the reason is shortened.
    """
    head, tail = f"this branch runs when {taken.text}, and it cannot: ", "; the program handles "
    tail += avoided.advice()
    left = MAX_MESSAGE_BYTES - len((head + tail).encode())
    if len(reason.encode()) > left:
        reason = reason.encode()[: max(left - 4, 40)].decode("utf-8", "ignore") + " …"
    return head + reason + tail


def _convert_loop(scope: Scope, node: onnx.NodeProto) -> None:
    scope.attempt(node, lambda: scope.bind_results(node, _loop(scope, node)))


def _loop(scope: Scope, node: onnx.NodeProto) -> tuple[Value, ...]:
    n = NodeContext(scope, node)
    graph = _graph(n, "body")
    trips = _exact_trips(n, graph)
    max_trip, cond = n.optional(0), n.optional(1)
    max_trip = None if max_trip is None else _scalar(n, max_trip)
    cond = None if cond is None else _scalar(n, cond)
    if cond is not None and cond.constant is not None and bool(cond.constant) and _always_on(graph):
        cond = None
    carried = [n.value(i) for i in range(2, n.input_count)]
    if len(graph.input) != 2 + len(carried) or len(graph.output) < 1 + len(carried):
        raise n.unsupported(
            f"a body of {len(graph.input)} inputs and {len(graph.output)} outputs does not fit"
            f" {len(carried)} carried values",
            "check the model with onnx.checker",
        )
    types = [v.type for v in carried]
    for _ in range(ROUNDS):
        body = _loop_body(scope, graph, types)
        formal = [v.type for v in body.builder.inputs[2:]]
        after = [v.type for v in body.results[1 : 1 + len(carried)]]
        changed = widened_types(scope.builder.program, types, formal, after)
        if changed is None:
            break
        types = changed
    else:
        raise n.unsupported("the shapes carried by the loop do not converge")
    names = [o or f"{n.label}.{i}" for i, o in enumerate(node.output)]
    made = scope.builder.loop(
        max_trip, cond, carried, (body.builder, body.results), outputs=names or None, name=n.label
    )
    if trips is None or cond is not None:
        return made
    stacked = [n.emit("reshape", y, shape=(trips, *y.type.shape[1:])) for y in made[len(carried) :]]
    return (*made[: len(carried)], *stacked)


def _exact_trips(n: NodeContext, graph: onnx.GraphProto) -> Dim | None:
    """How often a loop without a condition runs, if that is known as an expression."""
    data = as_shape_data(n.operand(0)) if n.has(0) else None
    if data is None or data.elements.size != 1 or not _always_on(graph):
        return None
    found = data.dims()[0]
    return dmax(found, 0) if isinstance(found, Dim) else None


def _always_on(graph: onnx.GraphProto) -> bool:
    """Whether the body passes its condition through unchanged, or always sets it to true."""
    name, given = graph.output[0].name, graph.input[1].name
    makers = {o: m for m in graph.node for o in m.output}
    while name != given:
        maker = makers.get(name)
        if maker is not None and maker.op_type == "Constant":
            return any(
                a.name == "value" and tensor_data(a.t, "value").all() for a in maker.attribute
            )
        if maker is None or maker.op_type != "Identity":
            return any(
                t.name == name and bool(tensor_data(t, name).all()) for t in graph.initializer
            )
        name = maker.input[0]
    return True


def _scalar(n: NodeContext, value: Value) -> Value:
    if value.type.rank == 0:
        return value
    reshaped: Value = n.emit("reshape", value, shape=())
    return reshaped


def _loop_body(scope: Scope, graph: onnx.GraphProto, types: Sequence[TensorType]) -> Branch:
    builder = scope.builder.child("body")
    inner = Scope.of_graph(scope, builder, graph)
    inner.problems = []
    formal = [i.name for i in graph.input]
    inner.bind(formal[0], builder.input(formal[0], DType.I64, ()))
    inner.bind(formal[1], builder.input(formal[1], DType.BOOL, ()))
    for name, t in zip(formal[2:], types, strict=True):
        inner.bind(name, builder.formal(name, t))
    results = body_results(scope, inner, "Loop")
    if results[0].type.rank != 0:
        results[0] = builder.op("reshape", results[0], shape=(), name=f"{inner.outputs[0]}.scalar")
    return Branch(builder, results, [])


def body_results(scope: Scope, inner: Scope, op: str) -> list[Value]:
    """Convert the graph of a body with bound inputs, and return its outputs. Problems are recorded in the
    enclosing scope.
    """
    results = []
    for name, operand in zip(inner.outputs, convert_graph(inner), strict=True):
        if not isinstance(operand, Poison):
            results.append(inner.materialise(operand, name))
        elif not inner.problems:
            raise ShapeError(operand.reason, op=op)
    if inner.problems:
        scope.problems += inner.problems
        raise UnsupportedError(
            f"the body of {op} could not be imported (see the problems of its nodes)", op=op
        )
    return results
