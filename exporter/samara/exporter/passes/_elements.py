# SPDX-License-Identifier: Apache-2.0
"""What stands at a place of a tensor: an integer as a dim expression, a number, or an element of another tensor.

Masks of decoders are made of positions, comparisons and choices, so that each of their elements follows from its
place. Movements (transposes, slices, repetitions) only say which element of which tensor it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ops import OpSpec
from samara.exporter.passes._reshape_groups import reshape_groups
from samara.exporter.types import Dim, DType, Read, Sym, as_dim, floordiv, mod, provably_ge

# Nodes from a mask to the positions that it is made of; deeper ones are no masks.
_MOST_DEPTH: Final = 64


@dataclass(frozen=True, slots=True)
class Place:
    """An element of a tensor of which nothing else is known."""

    value: Value
    at: tuple[Dim, ...]


Element = Dim | float | bool | Place
Producer = Callable[[Value | None], Node | None]


class Facts:
    """Expressions that are 0 or more, and what follows from sums of them."""

    def __init__(self, *least_zero: Dim) -> None:
        self._sums = [
            sum(some, as_dim(0))
            for n in range(len(least_zero) + 1)
            for some in itertools.combinations(least_zero, n)
        ]

    def holds(self, e: Dim) -> bool | None:
        """Whether e >= 0: always, never, or None if that does not follow."""
        if self._follows(e):
            return True
        return False if self._follows(-1 - e) else None

    @property
    def contradict(self) -> bool:
        """Whether no values fulfil all of them."""
        return self._follows(as_dim(-1))

    def _follows(self, e: Dim) -> bool:
        if provably_ge(e, 0):
            return True
        return any((gap := e - s).is_static and gap.as_int() >= 0 for s in self._sums)


class Elements:
    """The elements of a function's tensors where `facts` hold. Integers that are inputs are Read atoms."""

    def __init__(self, producer: Producer, facts: Facts) -> None:
        self._producer = producer
        self._facts = facts
        self._found: dict[tuple[Value, tuple[Dim, ...]], Element] = {}
        self._depth = 0

    def at(self, value: Value, place: Sequence[Dim]) -> Element:
        """The element at a place, an index per axis."""
        key = (value, tuple(place))
        if key not in self._found:
            self._depth += 1
            self._found[key] = self._element(*key)
            self._depth -= 1
        return self._found[key]

    def broadcast(self, value: Value, place: Sequence[Dim]) -> Element:
        """The element that broadcasting puts at a place of a tensor of more axes."""
        own = place[len(place) - value.type.rank :]
        dims = value.type.shape
        return self.at(
            value, [as_dim(0) if n == as_dim(1) else p for p, n in zip(own, dims, strict=True)]
        )

    def _element(self, value: Value, place: tuple[Dim, ...]) -> Element:
        itself = Place(value, place)
        if value.constant is not None:
            found = self._of_constant(value, place)
            return itself if found is None else found
        node = self._producer(value)
        if node is None:
            is_count = value.type.rank == 0 and value.type.dtype in (DType.I32, DType.I64)
            return Dim.atom(Read(value.name, 0)) if is_count else itself
        rule = _RULES.get(node.op)
        if rule is None or self._depth > _MOST_DEPTH:
            return itself
        found = rule(self, node, node.outputs.index(value), place)
        return itself if found is None else found

    # ---- constants

    def _of_constant(self, value: Value, place: tuple[Dim, ...]) -> Element | None:
        data = value.constant
        assert data is not None
        if data.dtype.kind not in "biuf" or data.size == 0 or value.type.quant is not None:
            return None
        if all(p.is_static for p in place):
            index = tuple(p.as_int() for p in place)
            inside = all(0 <= i < n for i, n in zip(index, data.shape, strict=True))
            return _number(data[index]) if inside else None
        if (data == data.reshape(-1)[0]).all():
            return _number(data.reshape(-1)[0])
        wide = [a for a, n in enumerate(data.shape) if n != 1]
        if len(wide) != 2:
            return None
        flat = data.reshape(data.shape[wide[0]], data.shape[wide[1]])
        return self._of_triangle(flat, place[wide[0]], place[wide[1]])

    def _of_triangle(self, data: np.ndarray, row: Dim, column: Dim) -> Element | None:
        """Of a table with one number up to its diagonal, and one behind it."""
        lower, upper = data[0, 0], data[0, -1]
        if not np.array_equal(data, np.where(np.tri(*data.shape) != 0, lower, upper)):
            return None
        before = self._facts.holds(row - column)
        return None if before is None else _number(lower if before else upper)

    # ---- rules: (node, index of the output, place) -> element, or None if nothing is known

    def _iota(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        if node.attrs["dtype"].is_float:
            return None
        start, step = as_dim(node.attrs["start"]), as_dim(node.attrs["step"])
        return start + step * place[0]

    def _dims(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        index = place[0] if place else as_dim(0)
        return as_dim(node.attrs["values"][index.as_int()]) if index.is_static else None

    def _moved(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        x = _input(node, 0)
        if node.op is ops.transpose:
            back = [as_dim(0)] * len(place)
            for p, a in zip(place, node.attrs["perm"], strict=True):
                back[a] = p
            return self.at(x, back)
        if node.op is ops.expand:
            return self.broadcast(x, place)
        if node.op is ops.slice_:
            begin, step = node.attrs["begin"], node.attrs["step"]
            moved = [b + s * p for p, b, s in zip(place, begin, step, strict=True)]
            return self.at(x, moved)
        return self.at(x, place)

    def _reshape(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        x, after = _input(node, 0), node.outputs[0].type.shape
        before = x.type.shape
        groups = reshape_groups(before, after)
        if groups is None:
            return None
        found = [as_dim(0)] * len(before)
        for g in groups:
            if len(g.inputs) == len(g.outputs) == 1:
                found[g.inputs[0]] = place[g.outputs[0]]
                continue
            flat = as_dim(0)
            for a in g.outputs:
                flat = flat * after[a] + place[a]
            for a in reversed(g.inputs[1:]):
                found[a], flat = mod(flat, before[a]), floordiv(flat, before[a])
            if g.inputs:
                found[g.inputs[0]] = flat
        return self.at(x, found)

    def _concat(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        axis = node.attrs["axis"] % len(place)
        left = place[axis]
        for x in node.inputs:
            assert x is not None
            size = x.type.shape[axis]
            within = self._facts.holds(size - 1 - left)
            if within is None:
                return None
            if within:
                return self.at(x, (*place[:axis], left, *place[axis + 1 :]))
            left = left - size
        return None

    def _split(self, node: Node, index: int, place: tuple[Dim, ...]) -> Element | None:
        axis = node.attrs["axis"] % len(place)
        begin = sum((as_dim(n) for n in node.attrs["sizes"][:index]), as_dim(0))
        moved = (*place[:axis], place[axis] + begin, *place[axis + 1 :])
        return self.at(_input(node, 0), moved)

    def _gather(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        x, indices = _input(node, 0), _input(node, 1)
        axis, rank = node.attrs["axis"] % x.type.rank, indices.type.rank
        index = self.at(indices, place[axis : axis + rank])
        if not isinstance(index, Dim):
            return None
        size = x.type.shape[axis]
        below = self._facts.holds(index)
        if below is None or self._facts.holds(size - 1 - index) is not True:
            return None
        at = index if below else index + size
        return self.at(x, (*place[:axis], at, *place[axis + rank :]))

    def _gather_nd(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        x, indices = _input(node, 0), _input(node, 1)
        lead, batch = indices.type.rank - 1, node.attrs["batch_dims"]
        count = indices.type.shape[-1]
        if not count.is_static:
            return None
        at = list(place[:batch])
        for k in range(count.as_int()):
            index = self.at(indices, (*place[:lead], as_dim(k)))
            size = x.type.shape[batch + k]
            if not isinstance(index, Dim) or self._facts.holds(index) is not True:
                return None
            if self._facts.holds(size - 1 - index) is not True:
                return None
            at.append(index)
        return self.at(x, (*at, *place[lead:]))

    def _cast(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        x, to = self.at(_input(node, 0), place), node.attrs["to"]
        if isinstance(x, Place):
            return None
        if to is DType.BOOL:
            if isinstance(x, Dim):
                zero = self._equal(x, as_dim(0))
                return None if zero is None else not zero
            return bool(x)
        if to.is_float:
            if isinstance(x, Dim):
                return float(to.numpy.type(x.as_int())) if x.is_static else None
            return float(x)
        if to not in (DType.I32, DType.I64):
            return None
        if isinstance(x, float):
            return as_dim(int(x)) if x.is_integer() and abs(x) < 1 << 31 else None
        return as_dim(int(x)) if isinstance(x, bool) else x

    def _scatter(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        """Where all elements are written to their own places."""
        data, indices, updates = (_input(node, i) for i in range(3))
        shape = data.type.shape
        if node.attrs["reduction"] != "none" or indices.type.shape != (*shape, len(shape)):
            return None
        every = [as_dim(0) if n == as_dim(1) else _any(a) for a, n in enumerate(shape)]
        own = all(self.at(indices, (*every, as_dim(a))) == p for a, p in enumerate(every))
        return self.at(updates, place) if own else None

    def _arithmetic(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        a = self.broadcast(_input(node, 0), place)
        if node.op is ops.neg:
            return None if isinstance(a, (Place, bool)) else -a
        b = self.broadcast(_input(node, 1), place)
        zero = [x for x in (a, b) if isinstance(x, float) and x == 0]
        if node.op is ops.mul and zero and self._is_finite(a) and self._is_finite(b):
            return 0.0
        if isinstance(a, (Place, bool)):
            return None
        if isinstance(a, Dim) and isinstance(b, Dim):
            if node.op in (ops.max_, ops.min_):
                above = self._facts.holds(a - b)
                return None if above is None else (a if above is (node.op is ops.max_) else b)
            return _BOTH[node.op](a, b) if node.op in _BOTH else None
        if isinstance(a, float) and isinstance(b, float):
            if node.op in (ops.max_, ops.min_):
                return max(a, b) if node.op is ops.max_ else min(a, b)
            return float(_BOTH[node.op](a, b)) if node.op in _BOTH else None
        return None

    def _is_finite(self, x: Element) -> bool:
        """Whether it is a float that is finite, whatever a choice between such numbers depends on."""
        if isinstance(x, float):
            return math.isfinite(x)
        node = self._producer(x.value) if isinstance(x, Place) else None
        if node is None or not isinstance(x, Place) or node.op is not ops.where:
            return False
        return all(self._is_finite(self.broadcast(_input(node, i), x.at)) for i in (1, 2))

    def _compare(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        a, b = (self.broadcast(_input(node, i), place) for i in range(2))
        if (
            isinstance(a, Place)
            or isinstance(b, Place)
            or isinstance(a, bool) != isinstance(b, bool)
        ):
            return None
        if isinstance(a, Dim) and isinstance(b, Dim):
            if node.op is ops.eq:
                return self._equal(a, b)
            return self._facts.holds(b - a - (1 if node.op is ops.lt else 0))
        if isinstance(a, Dim) or isinstance(b, Dim):
            return None
        return a == b if node.op is ops.eq else (a < b if node.op is ops.lt else a <= b)

    def _equal(self, a: Dim, b: Dim) -> bool | None:
        above, below = self._facts.holds(a - b), self._facts.holds(b - a)
        if above is False or below is False:
            return False
        return True if above and below else None

    def _logic(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        a = self.broadcast(_input(node, 0), place)
        if node.op is ops.logical_not:
            return not a if isinstance(a, bool) else None
        decides = node.op is ops.logical_or  # the operand that decides alone
        b = a if a is decides else self.broadcast(_input(node, 1), place)
        if a is decides or b is decides:
            return decides
        return not decides if isinstance(a, bool) and isinstance(b, bool) else None

    def _where(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        condition = self.broadcast(_input(node, 0), place)
        if isinstance(condition, bool):
            return self.broadcast(_input(node, 1 if condition else 2), place)
        a, b = (self.broadcast(_input(node, i), place) for i in (1, 2))
        return a if not isinstance(a, Place) and type(a) is type(b) and a == b else None

    def _sum(self, node: Node, _: int, place: tuple[Dim, ...]) -> Element | None:
        """Of equal elements."""
        x = _input(node, 0)
        if node.op is ops.cumsum:
            axis = node.attrs["axis"] % x.type.rank
            if node.attrs["exclusive"] or node.attrs["reverse"]:
                return None
            axes, count = (axis,), place[axis] + 1
            kept = [p for a, p in enumerate(place) if a != axis]
        else:
            axes = tuple(a % x.type.rank for a in node.attrs["axes"])
            count = as_dim(1)
            for a in axes:
                count = count * x.type.shape[a]
            keep = node.attrs["keepdims"]
            kept = [p for a, p in enumerate(place) if not keep or a not in axes]
        rest = iter(kept)
        any_place = [_any(a) if a in axes else next(rest) for a in range(x.type.rank)]
        one = self.at(x, any_place)
        return one * count if isinstance(one, Dim) and one.is_static else None


def _any(axis: int) -> Dim:
    """Any place along an axis."""
    return Dim.atom(Sym(f"%any.{axis}"))


def _input(node: Node, index: int) -> Value:
    value = node.inputs[index]
    assert value is not None
    return value


def _number(item: np.generic) -> Dim | float | bool:
    if item.dtype.kind == "b":
        return bool(item)
    return float(item) if item.dtype.kind == "f" else as_dim(int(item))


_BOTH: Final[Mapping[OpSpec, Callable[..., Dim | float]]] = {
    ops.add: lambda a, b: a + b,
    ops.sub: lambda a, b: a - b,
    ops.mul: lambda a, b: a * b,
}
_Rule = Callable[[Elements, Node, int, tuple[Dim, ...]], Element | None]
_RULES: Final[Mapping[OpSpec, _Rule]] = {
    ops.iota: Elements._iota,
    ops.dims: Elements._dims,
    **dict.fromkeys((ops.transpose, ops.expand, ops.slice_, ops.identity), Elements._moved),
    ops.reshape: Elements._reshape,
    ops.concat: Elements._concat,
    ops.split: Elements._split,
    ops.gather: Elements._gather,
    ops.gather_nd: Elements._gather_nd,
    ops.scatter_nd: Elements._scatter,
    ops.cast: Elements._cast,
    **dict.fromkeys((ops.add, ops.sub, ops.mul, ops.neg, ops.max_, ops.min_), Elements._arithmetic),
    **dict.fromkeys((ops.lt, ops.le, ops.eq), Elements._compare),
    **dict.fromkeys((ops.logical_and, ops.logical_or, ops.logical_not), Elements._logic),
    ops.where: Elements._where,
    **dict.fromkeys((ops.reduce_sum, ops.cumsum), Elements._sum),
}
