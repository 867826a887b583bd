# SPDX-License-Identifier: Apache-2.0
"""A decision on a tensor: both sides are traced, and what they leave is merged."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
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
    """A `raise` in a branch or loop on a tensor; no handler of the user's catches it."""


@dataclass(slots=True)
class State:
    """The variables of a branch or loop: how to read and bind them."""

    get: Callable[[], tuple[Any, ...]]
    set: Callable[[tuple[Any, ...]], None]
    names: tuple[str, ...]
    live: tuple[bool, ...]


class Side:
    """One side of a decision after tracing: its region, its variables, or why it never ends."""

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
    if all(s.stops is not None for s in sides):
        for s in sides:
            s.region.discard()
        tracer.require(condition, _said(tracer, sides[1], condition, False, source))
        tracer.require(ops.logical_not(condition), _said(tracer, sides[0], condition, True, source))
        raise Raised(sides[0].stops)
    for side, other, holds in ((0, orelse, False), (1, then, True)):
        if sides[side].stops is not None:
            for s in sides:
                s.region.discard()
            tracer.require(
                condition if holds else ops.logical_not(condition),
                _said(tracer, sides[side], condition, not holds, source),
            )
            other()
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


def _said(
    tracer: ScriptTracer, side: Side, condition: GraphTensor, truth: bool, source: str | None
) -> str:
    """What a side ends with, the inputs for which it is taken, and those for which it is not."""
    taken = told(tracer, condition, truth, source)
    avoided = told(tracer, condition, not truth, source)
    return f"{side.stops}; this is reached when {taken.text}, and not when {avoided.advice()}"


def told(
    tracer: ScriptTracer, condition: GraphTensor, truth: bool, source: str | None
) -> Condition:
    """When a condition holds (or, without `truth`, does not): in terms of the inputs where it compares
    those, else as the user wrote it.
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
    """The text of an expression that is true where this one is false."""
    tree = ast.parse(source, mode="eval").body
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return ast.unparse(tree.operand)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _OPPOSITES:
        tree.ops[0] = _OPPOSITES[type(tree.ops[0])]()
        return ast.unparse(tree)
    return ast.unparse(ast.UnaryOp(ast.Not(), tree))


class _Mismatch(Exception):
    """The two sides do not agree."""


Plan = Callable[[Sequence[GraphTensor]], Any]


class _Merge:
    """Pairs of values, one of each side, that become outputs of one `if`."""

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
        """Everything that either side changed in place."""
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
        """How to make what the two sides left, from the outputs of the `if`."""
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
        same = equal_objects(a.obj, b.obj)
        if not same:
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
                with _Inside(self.tracer, self.regions[side]):
                    self.outputs[side].append(value(s))
        at = self.slots[key]
        return lambda outs: outs[at]

    def value(self, s: Seen, dtype: DType) -> Value:
        obj = GraphTensor.of(self.tracer, s.value) if isinstance(s.obj, GraphTensor) else s.obj
        return self.tracer.lift(lifted(obj, dtype))

    def filled(self, a: Seen, b: Seen) -> Plan:
        """A result that one side has not yet: anything of its type, which is never read."""
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
        """The `if` node; none when the sides leave nothing."""
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


class _Inside:
    """The builder of a region once more, for conversions of its results."""

    def __init__(self, tracer: ScriptTracer, region: Region) -> None:
        self.tracer = tracer
        self.region = region

    def __enter__(self) -> None:
        self.before = self.tracer.builder, self.tracer.region
        self.tracer.builder, self.tracer.region = self.region.child, self.region

    def __exit__(self, *error: object) -> None:
        self.tracer.builder, self.tracer.region = self.before


def filler(tracer: ScriptTracer, t: TensorType) -> Value:
    """Zeros of a type: of its own size where that is known, of size 0 in other dimensions."""
    shape = [d.as_int() if d.is_static else 0 for d in t.shape]
    zero = tracer.lift(np.zeros((), t.dtype.numpy))
    made: Value = tracer.builder.op(ops.expand, zero, shape=shape, source=tracer.source())
    return made


def equal_objects(a: Any, b: Any) -> bool:
    """Whether two Python objects are of one type and equal; arrays are never."""
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
