# SPDX-License-Identifier: Apache-2.0
"""A loop on a tensor: trace the body again and again until the types of the carried values are stable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from samara.exporter.frontend.graph import GraphTensor
from samara.exporter.frontend.script.branch import (
    Raised,
    State,
    equal_objects,
    filler,
    line_of,
    node_name,
)
from samara.exporter.frontend.script.jumps import RESULT
from samara.exporter.frontend.script.region import Cell, Region, Seen, rebuilt, seen
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
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, Sym, TensorType, Tri, compare

# Each round finds at least one more carried value, or one more size that changes.
_ROUNDS = 32
_CARRIED = "carried"

Path = tuple[Any, ...]


@dataclass(slots=True)
class _Plan:
    """What the loop carries: types by path, cells by key, and the structure of the function's result."""

    types: dict[Path, TensorType] = field(default_factory=dict)
    cells: dict[Any, Cell] = field(default_factory=dict)
    result: Seen | None = None
    gone: dict[str, str] = field(default_factory=dict)  # variable without a value at the end -> why


@dataclass(slots=True)
class _Round:
    """The body, traced once under a plan."""

    region: Region
    results: dict[Path, Value]
    go: Value


def run_loop(
    trips: GraphTensor | None,
    condition: GraphTensor | None,
    step: Callable[[GraphTensor], Any],
    state: State,
) -> None:
    """Add a loop to the Program: at most `trips` trips, while `condition` holds.

    `step` takes the number of the trip, runs the body, and returns whether to continue: a traced
    bool, or True if only `trips` ends the loop.
    """
    tracer = script_tracer()
    work = _Loop(tracer, step, state)
    for _ in range(_ROUNDS):
        got = work.round()
        if got is not None:
            break
    else:
        raise tracer.fail(
            f"the types of the values that this loop carries still change after {_ROUNDS} tracings",
            "change fewer values in the loop",
        )
    work.node(trips, condition, got)


class _Loop:
    def __init__(
        self, tracer: ScriptTracer, step: Callable[[GraphTensor], Any], state: State
    ) -> None:
        self.tracer = tracer
        self.step = step
        self.state = state
        self.before = state.get()
        self.plan = _Plan()
        self.changed = False
        self.results: dict[Path, Value] = {}  # of the last trip
        self.place = "{}:{}".format(*line_of(tracer))

    # ---- one round

    def round(self) -> _Round | None:
        """Trace the body once; None if the plan had to change."""
        self.changed = False
        held = {key: cell.read() for key, cell in self.plan.cells.items()}
        region = Region(self.tracer, "body")
        try:
            with region:
                got = self.trip(region, held)
        finally:
            self.state.set(self.before)
            for key, cell in self.plan.cells.items():
                cell.write(held[key])
        self.discover(region)
        if self.changed:
            region.discard()
            return None
        return got

    def trip(self, region: Region, held: dict[Any, Any]) -> _Round:
        """Trace one trip, from the body's inputs to its results."""
        tracer, plan = self.tracer, self.plan
        i = region.child.input("i", DType.I64, ())
        go = region.child.input("go", DType.BOOL, ())
        formals = {
            path: GraphTensor.of(tracer, region.child.formal(_label(path), t))
            for path, t in plan.types.items()
        }
        entered = [self.enter(name, value, formals) for name, value in self.variables()]
        self.state.set(tuple(entered))
        for key, cell in plan.cells.items():
            cell.write(self.substituted(("cell", key), held[key], formals))
        was = [seen(v) for v in entered]
        was_held = {key: seen(cell.read()) for key, cell in plan.cells.items()}
        try:
            more = self.step(GraphTensor.of(tracer, i))
        except Raised as raised:
            raise tracer.fail(
                f"this loop always ends in an error: {raised}", "raise inside an `if`"
            ) from None
        after = [seen(v) for v in self.state.get()]
        ended = {key: seen(cell.read()) for key, cell in plan.cells.items()}
        self.results = {}
        for k, (name, old) in enumerate(self.variables()):
            if self.state.live[k]:
                self.variable(name, seen(old), was[k], after[k])
        for key, cell in plan.cells.items():
            states = (seen(held[key]), was_held[key], ended[key])
            self.compare(("cell", key), *states, cell.label, whole=True)
        last = go if more is True else tracer.lift(lifted(more, DType.BOOL))
        return _Round(region, self.results, last)

    def discover(self, region: Region) -> None:
        """Plan to carry what the body changed in place."""
        for key, (cell, _) in region.changes.items():
            if key in self.plan.cells:
                continue
            self.plan.cells[key] = cell
            self.changed = True
            value = cell.read()
            if isinstance(value, GraphTensor):
                self.plan.types[("cell", key)] = value._value.type

    def variables(self) -> list[tuple[str, Any]]:
        return list(zip(self.state.names, self.before, strict=True))

    def enter(self, name: str, value: Any, formals: dict[Path, GraphTensor]) -> Any:
        """The value of a variable at the start of a trip."""
        if name == RESULT and isinstance(value, Unbound) and self.plan.result is not None:
            return self.filled(("variable", name), self.plan.result, formals)
        return self.substituted(("variable", name), value, formals)

    def substituted(self, path: Path, value: Any, formals: dict[Path, GraphTensor]) -> Any:
        """The value with its carried leaves replaced; the same object if it has none."""
        if path in formals:
            return formals[path]
        parts = seen(value).parts
        if parts is None or not any(p[: len(path)] == path for p in formals):
            return value
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return rebuilt(value, {k: self.substituted((*path, k), v, formals) for k, v in items})

    def filled(self, path: Path, like: Seen, formals: dict[Path, GraphTensor]) -> Any:
        """The function's result before any trip has set it: a value of the same structure."""
        if like.parts is not None:
            parts = {k: self.filled((*path, k), p, formals) for k, p in like.parts.items()}
            return rebuilt(like.obj, parts)
        return formals.get(path, like.obj)

    # ---- what a trip did

    def variable(self, name: str, old: Seen, was: Seen, now: Seen) -> None:
        path = ("variable", name)
        if isinstance(now.obj, Unbound):
            if now.obj is not was.obj:
                self.plan.gone[name] = now.obj.why or f"it is deleted in the loop at {self.place}"
            return
        if isinstance(was.obj, Unbound):
            if name != RESULT:
                self.plan.gone[name] = f"it is assigned only inside the loop at {self.place}"
                return
            self.plan.result = now
            self.fill(path, now)
            self.changed = True
            return
        self.compare(path, old, was, now, f"'{name}'")

    def fill(self, path: Path, now: Seen) -> None:
        """Plan to carry the result from the start. Symbolic sizes become fresh symbols."""
        if now.parts is not None:
            for k, p in now.parts.items():
                self.fill((*path, k), p)
        elif is_leaf(now.obj):
            t = type_of(now.obj)
            shape = [d if d.is_static else self.fresh() for d in t.shape]
            self.plan.types[path] = t.with_shape(shape)

    def compare(
        self, path: Path, old: Seen, was: Seen, now: Seen, label: str, whole: bool = False
    ) -> None:
        """Extend the plan if `now` differs from `was`; add the values that leave the trip to `results`.

        `old` is the value before the loop, `was` at the start of the trip, `now` at its end.
        """
        if path in self.plan.types:
            self.leaf(path, old, was, now, label)
            return
        if now.obj is was.obj and not whole:
            return
        parts, others = was.parts, now.parts
        if parts is not None and others is not None:
            if type(was.obj) is not type(now.obj) or list(parts) != list(others):
                raise self.mismatch(label, was, now)
            before = old.parts if old.parts is not None else parts
            for k, p in parts.items():
                self.compare((*path, k), before[k], p, others[k], f"{label}[{k!r}]")
            return
        if is_leaf(was.obj) and is_leaf(now.obj):
            if _equal(was, now):
                return
            self.plan.types[path] = self.carried_type(was, now, label)
            self.changed = True
            return
        if not equal_objects(was.obj, now.obj):
            raise self.mismatch(label, was, now)

    def carried_type(self, was: Seen, now: Seen, label: str) -> TensorType:
        """The type for a leaf that was found to change."""
        dtype = common_dtype(was.obj, now.obj)
        t = type_of(was.obj)
        if dtype is None or t.rank != type_of(now.obj).rank:
            raise self.mismatch(label, was, now)
        return TensorType(dtype, t.shape, t.quant)

    def leaf(self, path: Path, old: Seen, was: Seen, now: Seen, label: str) -> None:
        """Check a carried leaf after a trip: it must have the type that the next trip expects."""
        planned = self.plan.types[path]
        entered: Value = was.value
        if not is_leaf(now.obj):
            raise self.mismatch(label, was, now)
        obj = (
            GraphTensor.of(self.tracer, now.value) if isinstance(now.obj, GraphTensor) else now.obj
        )
        t = type_of(obj)
        dtype = common_dtype(was.obj, obj)
        if dtype is not planned.dtype or t.rank != planned.rank:
            wider = common_dtype(old.obj, obj) if is_leaf(old.obj) else None
            if wider is not None and wider is not planned.dtype and t.rank == planned.rank:
                # A Python number before the loop takes the dtype that the body gives it.
                self.plan.types[path] = TensorType(wider, planned.shape, planned.quant)
                self.changed = True
                return
            raise self.mismatch(label, old if is_leaf(old.obj) else was, Seen(obj, obj))
        value = self.tracer.lift(lifted(obj, planned.dtype))
        shape = list(planned.shape)
        for axis, (d, e) in enumerate(zip(entered.type.shape, value.type.shape, strict=True)):
            same = compare(d, self.tracer.builder.translate(e)) is Tri.YES
            if not same and not _is_fresh(planned.shape[axis]):
                shape[axis] = self.fresh()
                self.changed = True
        self.plan.types[path] = planned.with_shape(shape)
        self.results[path] = value

    def fresh(self) -> Dim:
        return self.tracer.program.fresh_symbol(_CARRIED)

    def mismatch(self, label: str, was: Seen, now: Seen) -> Exception:
        change = f"{describe(was.obj)} to {describe(now.obj)}"
        fix = "give it its dtype and number of dimensions before the loop, and keep them"
        if isinstance(was.obj, list):
            fix = "a list cannot grow in a loop on a tensor: grow a tensor with cat, or write into one"
        return self.tracer.fail(f"{label} changes from {change} in the loop", fix)

    # ---- the node

    def node(self, trips: GraphTensor | None, condition: GraphTensor | None, got: _Round) -> None:
        tracer, plan = self.tracer, self.plan
        first = dict(self.variables())
        values = []
        for path, t in plan.types.items():
            value = first[path[1]] if path[0] == "variable" else plan.cells[path[1]].read()
            values.append(self.start(path, value, t))
        order = list(plan.types)
        made = tracer.builder.loop(
            None if trips is None else tracer.lift(trips),
            None if condition is None else tracer.lift(condition),
            values,
            (got.region.child, [got.go, *(got.results[p] for p in order)]),
            name=node_name(tracer, "loop"),
            source=tracer.source(),
        )
        outs = {p: GraphTensor.of(tracer, v) for p, v in zip(order, made, strict=True)}
        ends = []
        for (name, value), live in zip(self.variables(), self.state.live, strict=True):
            if name in plan.gone and live:
                ends.append(Unbound(name, plan.gone[name]))
            else:
                ends.append(self.enter(name, value, outs))
        self.state.set(tuple(ends))
        for key, cell in plan.cells.items():
            tracer.write(cell, self.substituted(("cell", key), cell.read(), outs))

    def start(self, path: Path, value: Any, t: TensorType) -> Value:
        """The value of a carried leaf before the first trip."""
        for key in path[2:]:
            if isinstance(value, Unbound):
                break
            value = value[key]
        if isinstance(value, Unbound):
            return filler(self.tracer, t)
        return self.tracer.lift(lifted(value, t.dtype))


def _equal(a: Seen, b: Seen) -> bool:
    if isinstance(a.obj, GraphTensor) and isinstance(b.obj, GraphTensor):
        return a.value is b.value
    if hasattr(a.obj, "shape"):
        return a.obj is b.obj
    return equal_objects(a.obj, b.obj)


def _is_fresh(dim: Dim) -> bool:
    atom = dim.sole_atom()
    return isinstance(atom, Sym) and atom.name.startswith(f"{_CARRIED}.")


def _label(path: Path) -> str:
    words = [str(p) for p in path[1:] if isinstance(p, (str, int))]
    return ".".join(words).removeprefix("_samara_") if words else "held"
