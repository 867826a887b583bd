# SPDX-License-Identifier: Apache-2.0
"""The reverse pass over a composition of operators, for rules that are easier to write as one."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from samara.exporter.ops.autodiff import beside, context_of, dtype_of, shape_of
from samara.exporter.ops.pointwise.rows_binary import add
from samara.exporter.ops.spec import PRECEDING, OpSpec
from samara.exporter.types import DType, UnsupportedError


class _Tape:
    """The steps of one `vjp`. An inner one has a higher `serial` than the one around it."""

    __slots__ = ("serial", "steps")

    def __init__(self) -> None:
        self.serial = next(_serials)
        self.steps: list[_Step] = []


_serials = itertools.count()


class Recorded:
    """A value on a small tape. of: an array, an eager tensor, a graph value, or in nested vjps a value on an outer
    tape.
    """

    __slots__ = ("of", "tape")

    def __init__(self, of: Any, tape: _Tape) -> None:
        self.of = of
        self.tape = tape

    @property
    def shape(self) -> tuple[Any, ...]:
        return shape_of(self.of)

    @property
    def ir_dtype(self) -> DType:
        return dtype_of(self.of)

    @staticmethod
    def __samara_op__(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        tapes = [v.tape for v in inputs if isinstance(v, Recorded)]
        tape = max(tapes, key=operator.attrgetter("serial"))
        got = op(*[_bare(v, tape) for v in inputs], **attrs)
        results = got if isinstance(got, tuple) else (got,)
        outputs = tuple(Recorded(v, tape) for v in results)
        tape.steps.append((op, tuple(inputs), outputs, op.complete(attrs)))
        return outputs if isinstance(got, tuple) else outputs[0]

    def __samara_beside__(self, op: OpSpec, attrs: Mapping[str, Any]) -> Any:
        return beside(self.of, op, **attrs)


_Step = tuple[OpSpec, tuple[Any, ...], tuple[Recorded, ...], Mapping[str, Any]]


def vjp(function: Callable[..., Any], inputs: Sequence[Any], dys: Sequence[Any]) -> tuple[Any, ...]:
    """Vector-Jacobian products of `function(*inputs)`, which calls op functions.

    inputs: may contain None, which is passed through. Returns one gradient per input, None if `function` does not
    depend on it. The gradients are computed by op calls on the values, so whatever records the values records them.
    """
    tape = _Tape()
    marked = [None if v is None else Recorded(v, tape) for v in inputs]
    PRECEDING.append(Recorded)
    try:
        got = function(*marked)
    finally:
        PRECEDING.pop()
    results = got if isinstance(got, tuple) else (got,)
    grads: dict[int, Any] = {}
    for result, dy in zip(results, dys, strict=False):
        if _on(result, tape) and dy is not None:
            _accumulate(grads, result, dy)
    while tape.steps:  # emptied, because values on the tape point back at it
        _back(tape.steps.pop(), grads, tape)
    return tuple(None if v is None else grads.get(id(v)) for v in marked)


def _back(step: _Step, grads: dict[int, Any], tape: _Tape) -> None:
    op, inputs, outputs, attrs = step
    dys = [grads.get(id(v)) for v in outputs]
    if all(dy is None for dy in dys):
        return
    if op.grad is None:
        raise UnsupportedError(f"{op.name} has no gradient rule", op=op.name)
    bare = [_bare(v, tape) for v in inputs]
    needed = [_on(v, tape) for v in inputs]
    found = op.grad(context_of(op, bare, [v.of for v in outputs], attrs, dys, needed))
    for value, dy in zip(inputs, found, strict=True):
        if _on(value, tape) and dy is not None:
            _accumulate(grads, value, dy)


def _on(value: Any, tape: _Tape) -> bool:
    return isinstance(value, Recorded) and value.tape is tape


def _bare(value: Any, tape: _Tape) -> Any:
    return value.of if _on(value, tape) else value


def _accumulate(grads: dict[int, Any], value: Recorded, dy: Any) -> None:
    known = grads.get(id(value))
    grads[id(value)] = dy if known is None else add(known, dy)
