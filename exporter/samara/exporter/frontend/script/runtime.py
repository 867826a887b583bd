# SPDX-License-Identifier: Apache-2.0
"""The functions that rewritten code calls. Python values decide now; tensors become nodes of the Program."""

from __future__ import annotations

import operator
from builtins import slice as slice
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend.graph import GraphTensor, user_frame
from samara.exporter.frontend.script.branch import Raised, State, branch, told
from samara.exporter.frontend.script.calls import TensorRange, call, call_said, item, refusing
from samara.exporter.frontend.script.loop import run_loop
from samara.exporter.frontend.script.region import Region
from samara.exporter.frontend.script.texts import joined, percent, piece, said
from samara.exporter.frontend.script.values import (
    Unbound,
    is_traced,
    script_tracer,
    traced,
    truth,
    use,
)
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ir.program import Node
from samara.exporter.types import Dim, Tri, as_dim, provably_ge
from samara.exporter.types import compare as equal

Thunk = Callable[[], Any]

unbound = Unbound

__all__ = [
    "State",
    "and_",
    "arithmetic",
    "assert_",
    "binding",
    "call",
    "call_said",
    "choose",
    "compare",
    "compare_chain",
    "for_",
    "if_",
    "item",
    "joined",
    "made",
    "not_",
    "or_",
    "piece",
    "raise_",
    "slice",
    "touch_attribute",
    "touch_item",
    "touch_outer",
    "unbound",
    "use",
    "while_",
]


# ---- statements


def if_(test: Any, then: Thunk, orelse: Thunk, state: State, source: str | None) -> None:
    """`if test: then() else: orelse()`; `source` is the source text of the test."""
    holds = truth(test, "the condition of an `if`")
    if isinstance(holds, bool):
        (then if holds else orelse)()
        return
    _require_uncaught(state, "an `if`")
    branch(holds, then, orelse, state, source)


def while_(test: Thunk, body: Thunk, stops: Thunk, state: State) -> None:
    """`while test(): body()`, also ended by any of `stops`."""
    may_turn = bool(stops())
    while True:
        again = _again(stops, test)
        if again is False:
            return
        if again is True and not (may_turn and _turns(body, stops, test, state)):
            may_turn = False
            body()
            continue
        _require_uncaught(state, "a `while`")

        def step(_: GraphTensor) -> Any:
            body()
            return _again(stops, test)

        run_loop(None, traced(again), step, state)
        return


def _again(stops: Thunk, test: Thunk | None) -> bool | GraphTensor:
    """Whether a loop continues: no flag stops it and its test holds. A set flag skips the test."""
    on: Any = True
    for flag in stops():
        on = and_(on, partial(not_, flag))
    return truth(on if test is None else and_(on, test), "the condition of a `while`")


def _turns(body: Thunk, stops: Thunk, test: Thunk, state: State) -> bool:
    """Whether a loop whose first test is a Python value has a traced test after one trip."""
    region = Region(script_tracer(), "body")
    before = state.get()
    try:
        with region:
            body()
            return not isinstance(_again(stops, test), bool)
    except Raised:
        return False
    finally:
        state.set(before)
        region.discard()


def for_(
    items: Any, target: Callable[[Any], None], body: Thunk, stops: Thunk, state: State
) -> None:
    """`for target in items: body()`, also ended by any of `stops`."""
    items = use(items)
    counted = _counted(items)
    if counted is None:
        _unrolled(items, target, body, stops, state)
        return
    _require_uncaught(state, "a `for`")
    trips, nth = counted

    def step(i: GraphTensor) -> Any:
        target(nth(i))
        body()
        return _again(stops, None)

    run_loop(trips, None, step, state)


def _counted(items: Any) -> tuple[GraphTensor, Callable[[GraphTensor], Any]] | None:
    """(number of trips, function from trip to item) if the number of trips is traced, else None."""
    if isinstance(items, TensorRange):
        return items.trips(), items.nth
    if isinstance(items, Tensor) and items.ndim and is_traced(items.shape[0]):
        return traced(items.shape[0]), lambda i: items[i]
    return None


def _unrolled(
    items: Any, target: Callable[[Any], None], body: Thunk, stops: Thunk, state: State
) -> None:
    for value in items:
        on = _again(stops, None)
        if on is False:
            return

        def step(value: Any = value) -> None:
            target(value)
            body()

        if isinstance(on, bool):
            step()
        else:
            _require_uncaught(state, "a `for`")
            branch(on, step, lambda: None, state)


def assert_(test: Any, message: Thunk, source: str | None, tested: str | None) -> None:
    """`assert test, message()`; `source` and `tested` are the source texts of message and test."""
    holds = truth(test, "what is asserted")
    if holds is True:
        return
    given = message()
    if holds is False:
        raise AssertionError(*(() if given is None else (said(given, source),)))
    text = "assertion failed" if given is None else str(said(given, source))
    needed = told(script_tracer(), holds, True, tested).advice()
    script_tracer().require(holds, f"{_place()}: {text}; it holds when {needed}")


def raise_(error: Any, cause: Any) -> None:
    """`raise error from cause`. Inside a branch on a tensor the run fails if it takes that branch."""
    if script_tracer().region is None:
        if cause is None:
            raise error
        raise error from cause
    kind = error.__name__ if isinstance(error, type) else type(error).__name__
    text = "" if isinstance(error, type) else str(error)
    raise Raised(f"{_place()}: {kind}{': ' if text else ''}{text}")


def _require_uncaught(state: State, what: str) -> None:
    if state.caught:
        raise script_tracer().fail(
            f"{what} on a tensor inside `try … except`",
            "move it out of the `try`: a Program has no exceptions to catch",
        )


def _place() -> str:
    return "{}:{}".format(*user_frame())


# ---- expressions


def not_(value: Any) -> Any:
    """`not value`."""
    holds = truth(value, "the operand of `not`")
    return (not holds) if isinstance(holds, bool) else ops.logical_not(holds)


def and_(first: Any, *rest: Thunk) -> Any:
    """`first and …`; a traced bool if an operand is a tensor."""
    return _first_decisive(False, first, rest)


def or_(first: Any, *rest: Thunk) -> Any:
    """`first or …`; a traced bool if an operand is a tensor."""
    return _first_decisive(True, first, rest)


def _first_decisive(decisive: bool, value: Any, rest: tuple[Thunk, ...]) -> Any:
    """`or` if True is decisive, `and` if False is: the first operand with that truth, else the last."""
    what = f"an operand of `{'or' if decisive else 'and'}`"
    for thunk in rest:
        holds = truth(value, what)
        if holds is decisive:
            return value
        value = thunk() if isinstance(holds, bool) else _combined(holds, thunk, decisive)
    return value


_FEW = 8  # up to this number of cheap nodes, the second operand is computed without a branch


def _may_fail(node: Node) -> bool:
    return node.op.may_end([None if v is None else v.type for v in node.inputs])


def _combined(first: GraphTensor, thunk: Thunk, decisive: bool) -> Any:
    """`first and thunk()` or `first or thunk()`; a costly second operand is computed only if needed."""
    tracer = script_tracer()
    binds = isinstance(thunk, binding)
    before = thunk.state.get() if isinstance(thunk, binding) else ()
    region = Region(tracer, "operand")
    with region:
        second = truth(thunk())
    if isinstance(thunk, binding):
        thunk.state.set(before)
    nodes = region.child.nodes
    cheap = len(nodes) <= _FEW and all(n.op.cheap for n in nodes)
    quiet = not region.changes and not region.child.guards
    region.discard()
    if isinstance(second, bool) and not binds:
        return first if second is not decisive else decisive
    if binds and quiet and all(isinstance(v, Unbound) for v in before):
        # If the first operand decides, nobody can read the names, so binding them does no harm.
        cheap = not any(map(_may_fail, nodes))
        binds = not cheap
    if cheap and quiet and not binds:
        return (ops.logical_or if decisive else ops.logical_and)(first, truth(thunk()))
    asked: Thunk = lambda: truth(thunk())  # noqa: E731
    if isinstance(thunk, binding):
        asked = binding(asked, thunk.state)
    sides: tuple[Thunk, Thunk] = (lambda: decisive, asked)
    return choose(first, *(sides if decisive else sides[::-1]))


@dataclass(slots=True)
class binding:
    """An operand with walruses: it binds variables of the enclosing function."""

    thunk: Thunk
    state: State

    def __call__(self) -> Any:
        return self.thunk()


def choose(test: Any, then: Thunk, orelse: Thunk, source: str | None = None) -> Any:
    """`then() if test else orelse()`; `source` is the source text of the test."""
    holds = truth(test, "the condition of an `if` expression")
    if isinstance(holds, bool):
        return then() if holds else orelse()
    got: list[Any] = [None]

    def keep(thunk: Thunk) -> None:
        got[0] = thunk()

    bound = [t.state for t in (then, orelse) if isinstance(t, binding)]
    sizes = [len(s.names) for s in bound]

    def get() -> tuple[Any, ...]:
        return (got[0], *(v for s in bound for v in s.get()))

    def set_(values: tuple[Any, ...]) -> None:
        got[0], at = values[0], 1
        for s, n in zip(bound, sizes, strict=True):
            s.set(values[at : at + n])
            at += n

    names = ("the expression", *(n for s in bound for n in s.names))
    if len(bound) == 2 and set(bound[0].names) & set(bound[1].names):
        raise script_tracer().fail(
            "both sides of an `if` expression on a tensor assign the same name with `:=`",
            "write it as an `if` statement",
        )
    state = State(get, set_, names, (True,) * len(names))
    branch(holds, lambda: keep(then), lambda: keep(orelse), state, source)
    return use(got[0])


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in (
        *("lt", "le", "gt", "ge", "eq", "ne"),
        *("add", "sub", "mul", "truediv", "floordiv", "mod"),
    )
}


def compare(kind: str, left: Any, right: Any) -> Any:
    """`left < right` and other comparisons. Symbolic sizes are compared when the program runs."""
    if kind in ("eq", "ne") and _are_shapes(left, right):
        same = and_(True, *(partial(compare, "eq", a, b) for a, b in zip(left, right, strict=True)))
        return same if kind == "eq" else not_(same)
    if _is_size(left) or _is_size(right):
        known = _known(kind, left, right)
        if known is not None:
            return known
        left, right = _number(left), _number(right)
    return refusing(f"a comparison ({kind})", _OPERATORS[kind], (left, right))


def compare_chain(kinds: tuple[str, ...], left: Any, first: Any, *rest: Thunk) -> Any:
    """`left < first <= …`; each operand is computed once."""
    value = compare(kinds[0], left, first)
    last = [first]
    for kind, thunk in zip(kinds[1:], rest, strict=True):

        def link(kind: str = kind, thunk: Thunk = thunk) -> Any:
            before, last[0] = last[0], thunk()
            return compare(kind, before, last[0])

        holds = truth(value)
        if holds is False:
            return value
        value = link() if holds is True else ops.logical_and(holds, truth(link()))
    return value


def arithmetic(kind: str, left: Any, right: Any, sources: Any = None) -> Any:
    """`left + right` and other arithmetic. A symbolic size next to a tensor or float becomes a tensor.

    `sources`: source texts of the values in `text % values`.
    """
    if kind == "mod" and isinstance(left, str):
        text = percent(left, right, sources)
        if text is not NotImplemented:
            return text
    if _is_size(left) and (isinstance(right, (Tensor, float)) or kind == "truediv"):
        left = traced(left)
    elif _is_size(right) and (isinstance(left, (Tensor, float)) or kind == "truediv"):
        right = traced(right)
    return refusing(_SIGNS[kind], _OPERATORS[kind], (left, right))


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%"}


def _are_shapes(left: Any, right: Any) -> bool:
    """Whether both are sequences of equal length with a symbolic size. Python would compare symbol names."""
    both = (left, right)
    return (
        all(isinstance(v, (tuple, list)) for v in both)
        and len(left) == len(right)
        and any(_is_size(n) for v in both for n in v)
    )


def _is_size(value: Any) -> bool:
    return isinstance(value, Dim) and not value.is_static


def _number(value: Any) -> Any:
    return traced(value) if _is_size(value) else value


def _known(kind: str, left: Any, right: Any) -> bool | None:
    """The result of a comparison if it is the same for all sizes, else None."""
    if not all(isinstance(v, (Dim, int)) for v in (left, right)):
        return False if kind == "eq" and (left is None or right is None) else None
    a, b = as_dim(left), as_dim(right)
    if kind in ("eq", "ne"):
        answer = equal(a, b)
        return None if answer is Tri.UNKNOWN else (answer is Tri.YES) == (kind == "eq")
    if kind in ("gt", "le"):
        a, b, kind = b, a, {"gt": "lt", "le": "ge"}[kind]
    # Only a < b and a >= b remain.
    if provably_ge(a, b):
        return kind == "ge"
    return kind == "lt" if provably_ge(b, a + 1) else None


# ---- what is about to change


def made(value: Any) -> Any:
    """Note that traced code has just made this list or dict."""
    return script_tracer().made(value)


def touch_item(obj: Any) -> None:
    """The contents of `obj` are about to change."""
    obj = use(obj)
    if isinstance(obj, (list, dict)):
        script_tracer().changing_container(obj)


def touch_attribute(obj: Any, name: str) -> None:
    """`obj.name` is about to be assigned."""
    script_tracer().changing_attribute(use(obj), name)


def touch_outer(name: str) -> None:
    """A global or nonlocal variable is about to be assigned."""
    tracer = script_tracer()
    if tracer.region is not None:
        raise tracer.fail(
            f"the global or nonlocal variable '{name}' is assigned inside a branch or loop on a "
            "tensor",
            "return the value and assign the variable outside",
        )
