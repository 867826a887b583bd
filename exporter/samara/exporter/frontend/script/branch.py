# SPDX-License-Identifier: Apache-2.0
"""`if` on a tensor: trace both sides and merge the values that they leave."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.graph import GraphTensor
from samara.exporter.frontend.script.jumps import RESULT
from samara.exporter.frontend.script.region import Region, Seen, rebuilt, seen
from samara.exporter.frontend.script.tracer import ScriptTracer
from samara.exporter.frontend.script.values import (
    Unbound,
    common_dtype,
    describe,
    is_leaf,
    lifted,
    script_tracer,
    type_of,
)
from samara.exporter.ir.conditions import Condition, condition_of
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, TensorType


class Raised(BaseException):
    """A `raise` in a branch or loop on a tensor. A BaseException, so that user code does not catch it."""


@dataclass(slots=True)
class State:
    """The variables that a statement may bind: how to read and bind them, and which are read later.

    `caught`: the statement stands inside `try … except`.
    """

    get: Callable[[], tuple[Any, ...]]
    set: Callable[[tuple[Any, ...]], None]
    names: tuple[str, ...]
    live: tuple[bool, ...]
    caught: bool = False


class Side:
    """One traced side of an `if`: its region and variables, or the error that it always raises."""

    def __init__(self, tracer: ScriptTracer, name: str, body: Callable[[], Any], state: State):
        before = state.get()
        self.region = Region(tracer, name)
        self.stops: str | None = None
        self.after: tuple[Seen, ...] = ()
        try:
            with self.region:
                try:
                    body()
                except Raised as raised:
                    self.stops = str(raised)
                self.after = tuple(map(seen, state.get()))
        finally:
            state.set(before)


def branch(
    condition: GraphTensor,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    state: State,
    source: str | None = None,
) -> None:
    """`if` on a traced condition, which the user wrote as `source`."""
    tracer = script_tracer()
    sides = (Side(tracer, "then", then, state), Side(tracer, "else", orelse, state))
    stopped = [k for k, s in enumerate(sides) if s.stops is not None]
    if stopped:
        for s in sides:
            s.region.discard()
        for k in reversed(stopped):
            text = _stop_text(tracer, sides[k], condition, k == 0, source)
            tracer.require(condition if k == 1 else ops.logical_not(condition), text)
        if len(stopped) == 2:
            raise Raised(sides[0].stops)
        (orelse if stopped == [0] else then)()
        return
    merge = _Merge(tracer, sides)
    before = state.get()
    plans: list[Any] = []
    for name, live, old, a, b in zip(
        state.names, state.live, before, sides[0].after, sides[1].after, strict=True
    ):
        plans.append(merge.variable(name, a, b) if live else (lambda outs, old=old: old))
    cells = merge.cells()
    outs = merge.node(condition)
    state.set(tuple(plan(outs) for plan in plans))
    for cell, plan in cells:
        tracer.write(cell, plan(outs))


def _stop_text(
    tracer: ScriptTracer, side: Side, condition: GraphTensor, truth: bool, source: str | None
) -> str:
    """The error of a side, the condition under which the run reaches it, and how to avoid it."""
    taken = told(tracer, condition, truth, source)
    avoided = told(tracer, condition, not truth, source)
    return f"{side.stops}; this is reached when {taken.text}, and not when {avoided.advice()}"


def told(
    tracer: ScriptTracer, condition: GraphTensor, truth: bool, source: str | None
) -> Condition:
    """When a condition holds (or does not hold, if `truth` is False).

    The text names inputs if the condition compares them directly; otherwise it is the user's `source`.
    """
    found = condition_of(tracer.builder, tracer.lift(condition), truth)
    if found.direct or source is None:
        return found
    return replace(found, text=source if truth else opposite(source))


_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


def opposite(source: str) -> str:
    """The source text of the negated expression."""
    tree = ast.parse(source, mode="eval").body
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return ast.unparse(tree.operand)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _OPPOSITES:
        tree.ops[0] = _OPPOSITES[type(tree.ops[0])]()
        return ast.unparse(tree)
    return ast.unparse(ast.UnaryOp(ast.Not(), tree))


class _Mismatch(Exception):
    """The two sides leave values that cannot be merged."""


Plan = Callable[[Sequence[GraphTensor]], Any]


class _Merge:
    """Pairs of values, one from each side, that become the outputs of one `if` node."""

    def __init__(self, tracer: ScriptTracer, sides: Sequence[Side]) -> None:
        self.tracer = tracer
        self.regions = [s.region for s in sides]
        self.outputs: tuple[list[Value], list[Value]] = ([], [])
        self.slots: dict[tuple[Any, Any, DType], int] = {}
        self.place = "{}:{}".format(*line_of(tracer))

    def variable(self, name: str, a: Seen, b: Seen) -> Plan:
        if name == RESULT:
            try:
                return self.pair(a, b, fill=True)
            except _Mismatch as error:
                raise self.tracer.fail(
                    f"the function returns {error}, depending on a tensor",
                    "return values of the same structure, dtype and number of dimensions everywhere",
                ) from None
        if isinstance(a.obj, Unbound) or isinstance(b.obj, Unbound):
            reason = f"it is assigned on one side only of the `if` at {self.place}"
            for side in (a.obj, b.obj):
                if isinstance(side, Unbound) and side.why:
                    reason = side.why
            return lambda outs: Unbound(name, reason)
        mark = [len(o) for o in self.outputs]
        try:
            return self.pair(a, b)
        except _Mismatch as error:
            for o, n in zip(self.outputs, mark, strict=True):
                del o[n:]
            self.slots = {k: i for k, i in self.slots.items() if i < mark[0]}
            reason = f"after the `if` at {self.place} it is {error}"
            return lambda outs: Unbound(name, reason)

    def cells(self) -> list[tuple[Any, Plan]]:
        """What either side changed in place, with its new contents."""
        found = {**self.regions[0].changes, **self.regions[1].changes}
        plans = []
        for key, (cell, _) in found.items():
            a, b = (
                r.changes[key][1] if key in r.changes else seen(cell.read()) for r in self.regions
            )
            try:
                plans.append((cell, self.pair(a, b, whole=True)))
            except _Mismatch as error:
                raise self.tracer.fail(
                    f"{cell.label} is {error}, depending on a tensor",
                    "leave it with the same structure, dtypes and numbers of dimensions on both "
                    "sides; a tensor may grow by cat",
                ) from None
        return plans

    def pair(self, a: Seen, b: Seen, whole: bool = False, fill: bool = False) -> Plan:
        """A function that makes the merged value from the outputs of the `if`.

        `whole`: merge even the same object, because its contents changed. `fill`: a side without a
        value gives a filler.
        """
        if not whole and a.obj is b.obj:
            return lambda outs: a.obj
        if fill and (isinstance(a.obj, Unbound) or isinstance(b.obj, Unbound)):
            return self.filled(a, b)
        parts, others = a.parts, b.parts
        if parts is not None and others is not None:
            if type(a.obj) is not type(b.obj) or list(parts) != list(others):
                raise _Mismatch(f"{describe(a.obj)} or {describe(b.obj)}")
            plans = {k: self.pair(p, others[k], fill=fill) for k, p in parts.items()}
            kind = a.obj
            return lambda outs: rebuilt(kind, {k: p(outs) for k, p in plans.items()})
        if is_leaf(a.obj) and is_leaf(b.obj):
            return self.leaf(a, b)
        if not equal_objects(a.obj, b.obj):
            raise _Mismatch(f"{describe(a.obj)} or {describe(b.obj)}")
        return lambda outs: a.obj

    def leaf(self, a: Seen, b: Seen) -> Plan:
        if not hasattr(a.obj, "shape") and equal_objects(a.obj, b.obj):
            return lambda outs: a.obj
        dtype = common_dtype(a.obj, b.obj)
        ranks = {type_of(s.obj).rank for s in (a, b)}
        if dtype is None or len(ranks) != 1:
            raise _Mismatch(f"{describe(a.obj)} or {describe(b.obj)}")
        return self.slot(a, b, dtype, lambda side: self.value(side, dtype))

    def slot(self, a: Seen, b: Seen, dtype: DType, value: Callable[[Seen], Value]) -> Plan:
        key = (_identity(a), _identity(b), dtype)
        if key not in self.slots:
            self.slots[key] = len(self.outputs[0])
            for side, s in enumerate((a, b)):
                with _reopened(self.tracer, self.regions[side]):
                    self.outputs[side].append(value(s))
        at = self.slots[key]
        return lambda outs: outs[at]

    def value(self, s: Seen, dtype: DType) -> Value:
        obj = GraphTensor.of(self.tracer, s.value) if isinstance(s.obj, GraphTensor) else s.obj
        return self.tracer.lift(lifted(obj, dtype))

    def filled(self, a: Seen, b: Seen) -> Plan:
        """A result that one side lacks: that side gives a filler of its type, which nobody reads."""
        have = b if isinstance(a.obj, Unbound) else a
        if isinstance(have.obj, Unbound):
            return lambda outs: have.obj
        if have.parts is not None:
            gap = Seen(Unbound(RESULT), None)
            pairs = {
                k: self.filled(*((gap, p) if have is b else (p, gap)))
                for k, p in have.parts.items()
            }
            return lambda outs: rebuilt(have.obj, {k: p(outs) for k, p in pairs.items()})
        if not is_leaf(have.obj):
            return lambda outs: have.obj
        t = type_of(have.obj)
        return self.slot(
            a,
            b,
            t.dtype,
            lambda s: (
                filler(self.tracer, t) if isinstance(s.obj, Unbound) else self.value(s, t.dtype)
            ),
        )

    def node(self, condition: GraphTensor) -> list[GraphTensor]:
        """The outputs of the `if` node. No node is made if the sides leave nothing."""
        tracer = self.tracer
        then, orelse = self.regions
        if not self.outputs[0]:
            then.discard()
            orelse.discard()
            return []
        made = tracer.builder.if_(
            tracer.lift(condition),
            (then.child, self.outputs[0]),
            (orelse.child, self.outputs[1]),
            name=node_name(tracer, "if"),
            source=tracer.source(),
        )
        return [GraphTensor.of(tracer, v) for v in made]


@contextmanager
def _reopened(tracer: ScriptTracer, region: Region) -> Iterator[None]:
    """Make a finished region current again, to convert its results there."""
    before = tracer.builder, tracer.region
    tracer.builder, tracer.region = region.child, region
    try:
        yield
    finally:
        tracer.builder, tracer.region = before


def filler(tracer: ScriptTracer, t: TensorType) -> Value:
    """Zeros of a type. Symbolic dims get size 0."""
    shape = [d.as_int() if d.is_static else 0 for d in t.shape]
    zero = tracer.lift(np.zeros((), t.dtype.numpy))
    made: Value = tracer.builder.op(ops.expand, zero, shape=shape, source=tracer.source())
    return made


def equal_objects(a: Any, b: Any) -> bool:
    """Whether two Python objects have the same type and are equal. Two arrays never are."""
    if a is b:
        return True
    same = a == b if type(a) is type(b) else False
    return same if isinstance(same, bool) else False


def _identity(s: Seen) -> Any:
    if isinstance(s.obj, GraphTensor):
        return s.value
    return (type(s.obj), s.obj) if isinstance(s.obj, (bool, int, float)) else id(s.obj)


def node_name(tracer: ScriptTracer, op: str) -> str:
    scope = tracer.scope[-1] if tracer.scope else ""
    return f"{scope}/{op}" if scope else op


def line_of(tracer: ScriptTracer) -> tuple[str, int]:
    source = tracer.source()
    return source.file, source.line
