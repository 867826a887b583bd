# SPDX-License-Identifier: Apache-2.0
"""The smallest arena that an order of nodes can have, by an exact search.

Nothing of the runtime's planner is used: lifetimes come from the graph, and of the runtime only how
much scratch its kernels want. A piece occupies its bytes from its first node to its last; all pieces
that live at one node need room at once, which bounds every plan from below. The search then looks for
offsets that need no more.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from samara.exporter.ir.program import Function, Node, Value

ALIGNMENT = 64


@dataclass(frozen=True)
class Piece:
    """Bytes that live from node `first` to node `last`."""

    first: int
    last: int
    size: int


@dataclass(frozen=True)
class Minimum:
    """The smallest arena found, the bound below which there is none, and whether the search has
    seen enough to know that the former is the smallest.
    """

    found: int
    bound: int
    proved: bool


def pieces_of(f: Function, scratch: Mapping[str, int]) -> list[Piece]:
    """What lives when, in a function without views other than reshapes: tensors that nodes make,
    results to the end, elementwise results in the bytes of an input that dies; and scratch by node.
    """
    root: dict[Value, Value] = {}
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}

    def find(v: Value) -> Value:
        while v in root:
            v = root[v]
        return v

    def views(n: Node) -> bool:
        return n.op.name in ("reshape", "identity") and find(_input(n)) in first

    for i, n in enumerate(f.nodes):
        for v in n.inputs:
            if v is not None and find(v) in first:
                last[find(v)] = i
        for v in n.outputs:
            if views(n):
                root[v] = find(_input(n))
            else:
                first[v] = last[v] = i
    for v in f.outputs:
        if find(v) in first:
            last[find(v)] = len(f.nodes) - 1
    pieces = {v: Piece(first[v], last[v], _up(_bytes(v))) for v in first}
    for i, n in enumerate(f.nodes):
        if "inplace" not in n.op.flags or views(n):
            continue
        x, y = find(_input(n)), n.outputs[0]
        used = [find(v) for v in n.inputs[1:] if v is not None]
        if x not in pieces or x in used or pieces[x].last != i or pieces[x].size != pieces[y].size:
            continue
        pieces[y] = Piece(pieces[x].first, pieces[y].last, pieces[y].size)
        del pieces[x]
    rest = [Piece(i, i, _up(scratch[n.name])) for i, n in enumerate(f.nodes) if n.name in scratch]
    return [*pieces.values(), *rest]


def _input(n: Node) -> Value:
    v = n.inputs[0]
    assert v is not None
    return v


def _bytes(v: Value) -> int:
    count = 1
    for d in v.type.shape:
        high = d.bounds()[1]
        assert high is not None
        count *= high
    return v.type.dtype.bytes_of(count)


def _up(n: int) -> int:
    return -(-n // ALIGNMENT) * ALIGNMENT


def bound_of(pieces: Sequence[Piece]) -> int:
    """The most bytes that live during one node."""
    ends = {p.first for p in pieces}
    return max((sum(p.size for p in pieces if p.first <= n <= p.last) for n in ends), default=0)


def minimum(pieces: Sequence[Piece], *, rounds: int = 300, states: int = 20_000) -> Minimum:
    """The smallest arena of these pieces.

    A plan that takes no more than the bound is the smallest. Where `rounds` attempts find none, a
    search through all plans says for one arena after the other whether anything fits, until it has
    seen `states` of them.
    """
    bound = bound_of(pieces)
    found = _some_plan(pieces, bound, rounds)
    for arena in range(bound, found, ALIGNMENT):
        search = _Search(pieces, arena, states)
        if search.fits():
            return Minimum(arena, bound, proved=True)
        if search.exhausted:
            return Minimum(found, bound, proved=False)
    return Minimum(found, bound, proved=True)


def _some_plan(pieces: Sequence[Piece], bound: int, rounds: int) -> int:
    """The best of some plans: pieces one by one, as low as they go; the largest first, then again
    with those first that stuck out, or anyhow.
    """
    order = sorted(pieces, key=lambda p: (-p.size, p.first))
    dice = random.Random(1)
    best = None
    for i in range(rounds):
        tops = _lowest(order)
        height = max(tops, default=0)
        best = height if best is None else min(best, height)
        if best == bound or not order:
            break
        if i % 20 == 19:
            order.sort(key=lambda p: -p.size * dice.uniform(0.5, 1.5))
        else:
            order.insert(0, order.pop(tops.index(height)))
    return best or 0


def _lowest(order: Sequence[Piece]) -> list[int]:
    """Where each piece ends."""
    placed: list[tuple[int, int, Piece]] = []
    tops = []
    for p in order:
        at = 0
        for low, high, q in placed:
            if q.first <= p.last and p.first <= q.last:
                if low - at >= p.size:
                    break
                at = max(at, high)
        bisect.insort(placed, (at, at + p.size, p), key=lambda row: row[0])
        tops.append(at + p.size)
    return tops


class _Search:
    """In some best plan nothing can be pushed down, so that every piece lies on the highest of those
    below it, and pieces can be put down in the order of their offsets: the search goes through such
    orders, and leaves one when some node has not room left for what it still needs.
    """

    def __init__(self, pieces: Sequence[Piece], arena: int, states: int) -> None:
        self._pieces = sorted(pieces, key=lambda p: (-p.size, p.first))
        self._arena = arena
        self._left = states
        self.exhausted = False
        nodes = max((p.last for p in pieces), default=-1) + 1
        self._height = [0] * nodes
        self._waits = [sum(p.size for p in pieces if p.first <= n <= p.last) for n in range(nodes)]

    def fits(self) -> bool:
        """Whether all pieces fit into the arena; False with `exhausted` when it was given up."""
        return self._place(set(range(len(self._pieces))), 0)

    def _place(self, rest: set[int], floor: int) -> bool:
        if not rest:
            return True
        if self._left == 0:
            self.exhausted = True
            return False
        self._left -= 1
        places = []
        for i in rest:
            p = self._pieces[i]
            at = max(self._height[p.first : p.last + 1])
            if at >= floor:
                places.append((at, i))
        tried = set()
        for at, i in sorted(places):
            p = self._pieces[i]
            if p in tried or at + p.size > self._arena:
                continue
            tried.add(p)
            span = range(p.first, p.last + 1)
            before = self._height[p.first : p.last + 1]
            for n in span:
                self._height[n] = at + p.size
                self._waits[n] -= p.size
            room = all(self._height[n] + self._waits[n] <= self._arena for n in span)
            if room and self._place(rest - {i}, at):
                return True
            self._height[p.first : p.last + 1] = before
            for n in span:
                self._waits[n] += p.size
            if self.exhausted:
                return False
        return False
