# SPDX-License-Identifier: Apache-2.0
"""Control flow between subgraphs, and resource variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from samara.exporter.importers.common.loops import ROUNDS, widened_types
from samara.exporter.importers.common.operand import Operand, Poison
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.graph import Graph
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.importers.tflite.state import Handle, State, Variables
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, ShapeError, UnsupportedError


def subgraph_of(ctx: OperatorContext, option: str, builder: Builder, state: State) -> Graph:
    """The subgraph that an option names, to be converted with `builder`."""
    graphs = ctx.graph.shared.model.subgraphs
    index = int(ctx.option(option, -1))
    if not 0 <= index < len(graphs):
        raise ctx.wrong(f"there is no subgraph {index}")
    return Graph(ctx.graph.shared, builder, graphs[index], state, ctx.graph.depth + 1)


def called(ctx: OperatorContext, graph: Graph, given: Sequence[Operand | Handle]) -> list[Value]:
    """The results of a subgraph with these operands for its inputs, in the builder of `graph`."""
    inputs = graph.subgraph.inputs
    if len(inputs) != len(given):
        raise ctx.wrong(f"{len(given)} operands for a subgraph with {len(inputs)} inputs")
    for index, operand in zip(inputs, given, strict=True):
        graph.bind(index, operand)
    before = len(graph.problems)
    results = []
    for index, operand in zip(graph.subgraph.outputs, graph.convert(), strict=True):
        if isinstance(operand, Poison):
            if len(graph.problems) == before:
                raise ShapeError(operand.reason, op=ctx.op_type)
            raise UnsupportedError(
                f"subgraph {graph.subgraph.index} could not be imported (see the problems of its operators)",
                op=ctx.op_type,
            )
        results.append(graph.materialise(operand, graph.tensor(index).key))
    return results


def _predicate(ctx: OperatorContext, value: Value) -> Value:
    if value.type.rank == 0:
        return value
    scalar: Value = ctx.emit("reshape", value, shape=())
    return scalar


@tflite_op("IF")
def if_(ctx: OperatorContext) -> Any:
    """The then or else subgraph with the inputs behind the condition."""
    given = [ctx.operand(i) for i in range(1, ctx.input_count)]
    known = ctx.constant(0)
    if known is not None:
        option = "then_subgraph_index" if bool(known.reshape(-1)[0]) else "else_subgraph_index"
        return called(ctx, subgraph_of(ctx, option, ctx.builder, ctx.graph.state), given)
    cond = _predicate(ctx, ctx.plain(0))
    outer = ctx.graph.state
    branches = []
    for option in ("then_subgraph_index", "else_subgraph_index"):
        builder, state = ctx.builder.child(option.partition("_")[0]), outer.inner()
        results = called(ctx, subgraph_of(ctx, option, builder, state), given)
        branches.append((builder, state, results))
    changed = list(dict.fromkeys(n for _, s, _ in branches for n in s.assigned))
    bodies = [
        (b, [*results, *(b.resolve(s.read(n)) for n in changed)]) for b, s, results in branches
    ]
    names = [*(_tensor_names(ctx)), *(f"{n}.assigned" for n in changed)]
    made = ctx.builder.if_(cond, bodies[0], bodies[1], outputs=names, name=ctx.label)
    count = len(made) - len(changed)
    for name, value in zip(changed, made[count:], strict=True):
        outer.assign(name, value)
    return made[:count]


def _tensor_names(ctx: OperatorContext) -> list[str]:
    return [n or f"{ctx.label}.{i}" for i, n in enumerate(ctx.output_names)]


@tflite_op("WHILE")
def while_(ctx: OperatorContext) -> Any:
    """The body subgraph again and again while the condition subgraph holds for what it carries."""
    outer = ctx.graph.state
    first = [ctx.stored(i) for i in range(ctx.input_count)]
    types = [v.type for v in first]
    changed: list[str] = []
    (start,) = called(
        ctx, subgraph_of(ctx, "cond_subgraph_index", ctx.builder, outer.inner()), first
    )
    start = _predicate(ctx, start)
    for _ in range(ROUNDS):
        builder, state = ctx.builder.child("body"), outer.inner()
        builder.input("trip", DType.I64, ())
        builder.input("cond", DType.BOOL, ())
        formal = [builder.formal(f"carried.{i}", t) for i, t in enumerate(types)]
        for name in changed:
            state.current[name] = builder.formal(name, outer.read(name).type)
        after = called(ctx, subgraph_of(ctx, "body_subgraph_index", builder, state), formal)
        after = after[: len(first)]
        (again,) = called(
            ctx, subgraph_of(ctx, "cond_subgraph_index", builder, state.inner()), after
        )
        new = [n for n in state.assigned if n not in changed]
        wider = widened_types(
            ctx.builder.program, types, [v.type for v in formal], [v.type for v in after]
        )
        if not new and wider is None:
            break
        changed += new
        types = types if wider is None else wider
    else:
        raise ctx.unsupported("the shapes carried by the loop do not converge")
    if again.type.rank:
        again = builder.op("reshape", again, shape=(), name="again")
    carried = [*first, *(outer.read(n) for n in changed)]
    results = [again, *after, *(builder.resolve(state.read(n)) for n in changed)]
    names = [*_tensor_names(ctx)[: len(first)], *(f"{n}.assigned" for n in changed)]
    made = ctx.builder.loop(None, start, carried, (builder, results), outputs=names, name=ctx.label)
    for name, value in zip(changed, made[len(first) :], strict=True):
        outer.assign(name, value)
    return made[: len(first)]


# ---- variables


@tflite_op("VAR_HANDLE")
def var_handle(ctx: OperatorContext) -> Any:
    return Handle(ctx.option("shared_name", "") or ctx.label)


def _handle(ctx: OperatorContext) -> Handle:
    found = ctx.operand(0)
    if not isinstance(found, Handle):
        raise ctx.wrong("input 0 is no resource")
    return found


@tflite_op("READ_VARIABLE")
def read_variable(ctx: OperatorContext) -> Any:
    return ctx.builder.resolve(ctx.graph.state.read(_handle(ctx).name))


@tflite_op("ASSIGN_VARIABLE")
def assign_variable(ctx: OperatorContext) -> Any:
    """The variable holds the integers of a quantized tensor."""
    ctx.graph.state.assign(_handle(ctx).name, ctx.plain(1))


@tflite_op("CALL_ONCE")
def call_once(ctx: OperatorContext) -> Any:
    """A subgraph that initialises variables: it is run now, and what it assigns is where the variables begin."""
    program, found = ProgramBuilder(), Variables()
    builder = program.function("init")
    state = State(found, builder)
    graph = subgraph_of(ctx, "init_subgraph_index", builder, state)
    graph = Graph(graph.shared, builder, replace(graph.subgraph, outputs=()), state, graph.depth)
    before = len(graph.problems)
    graph.convert()
    if len(graph.problems) > before:
        return
    written = list(state.written())
    if not written:
        return
    builder.finish([v for _, v in written], [n for n, _ in written])
    values = program.finish(["init"]).run()
    for name, array in values.items():
        ctx.graph.state.variables.begin(name, found.initial[name][0], array)
