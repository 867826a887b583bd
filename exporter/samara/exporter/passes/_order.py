# SPDX-License-Identifier: Apache-2.0
"""Search an order of a function's nodes that needs fewer bytes at once.

The function is cut where every order must pass: between two nodes where everything before is needed
by everything after. The bytes in use there do not depend on the order of a segment, so segments are
searched one by one, and only those that set the peak.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from samara.exporter.passes._liveness import Lives

_STATES = 5_000  # limit of the exact search of one segment; beyond it the beam search takes over
_BEAM = 48
_BEAM_STEPS = 10_000  # states that the beam keeps in total, so it is narrower on longer segments


def lower_order(lives: Lives, needs: Sequence[int], fences: Collection[int]) -> list[int] | None:
    """An order with a lower peak, or None if none was found.

    needs: for each node the nodes that must come before it, as bits. fences: nodes across which nothing
    may be moved.
    """
    order = list(range(len(needs)))
    live = lives.live(order)
    segments = list(_segments(needs, fences))
    peaks = [max(live[a:b]) for a, b in segments]
    searched: set[int] = set()
    while True:
        worst = max(peaks, default=0)
        found: dict[int, tuple[int, list[int]]] = {}
        for i, (a, b) in enumerate(segments):
            if peaks[i] < worst:
                continue
            better = None if i in searched else _Search(lives, needs, a, b).below(worst)
            if better is None:
                return order if searched else None
            found[i] = better
        for i, (peak, nodes) in found.items():
            a, b = segments[i]
            order[a:b] = nodes
            peaks[i] = peak
            searched.add(i)
        if not found:
            return None


def _segments(needs: Sequence[int], fences: Collection[int]) -> Iterator[tuple[int, int]]:
    """Runs of nodes [a, b) that nothing can leave or enter."""
    count = len(needs)
    before = [0] * count  # all nodes that must come before, also indirectly
    for n in range(count):
        reach, left = needs[n], needs[n]
        while left:
            k = left.bit_length() - 1
            left &= ~(1 << k)
            reach |= before[k]
            left &= ~before[k]
        before[n] = reach
    common = [0] * count + [(1 << count) - 1]  # nodes that all nodes from here on need
    for n in range(count - 1, -1, -1):
        common[n] = common[n + 1] & before[n]
    start = 0
    for n in range(1, count + 1):
        prefix = (1 << n) - 1
        if n == count or n in fences or common[n] & prefix == prefix:
            yield start, n
            start = n


@dataclass(slots=True)
class _State:
    """Nodes of the segment that have run: the peak of bytes so far, the bytes in use now, which nodes may
    run next, and the path to this state.
    """

    done: int
    peak: int
    total: int
    ready: int
    last: int
    parent: _State | None

    def path(self) -> list[int]:
        nodes, state = [], self
        while state.parent is not None:
            nodes.append(state.last)
            state = state.parent
        return nodes[::-1]


class _Search:
    """Orders of the nodes [a, b); masks are those of the whole function."""

    def __init__(self, lives: Lives, needs: Sequence[int], a: int, b: int) -> None:
        self._lives, self._needs, self._size = lives, needs, b - a
        inside = ((1 << b) - 1) & ~((1 << a) - 1)
        done = total = 0
        for n in range(a):
            total = lives.step(n, done, total)[1]
            done |= 1 << n
        self._all = done | inside
        self._users: dict[int, list[int]] = {n: [] for n in range(a, b)}
        ready = 0
        for n in range(a, b):
            left = needs[n] & inside
            ready |= (not left) << n
            while left:
                k = left.bit_length() - 1
                left &= ~(1 << k)
                self._users[k].append(n)
        self._start = _State(done, 0, total, ready, -1, None)

    def below(self, bound: int) -> tuple[int, list[int]] | None:
        """(peak, order) with a peak below `bound`: the best one, or what a beam search finds."""
        if self._size < 3:
            return None
        found, complete = self._best_first(bound)
        if found is None and not complete:
            found = self._beam(bound)
        return None if found is None else (found.peak, found.path())

    def _next(self, state: _State, bound: int) -> Iterator[_State]:
        left = state.ready
        while left:
            bit = left & -left
            left &= ~bit
            n = bit.bit_length() - 1
            during, after = self._lives.step(n, state.done, state.total)
            if during >= bound:
                continue
            done, ready = state.done | bit, state.ready & ~bit
            for user in self._users[n]:
                if not self._needs[user] & ~done:
                    ready |= 1 << user
            yield _State(done, max(state.peak, during), after, ready, n, state)

    def _best_first(self, bound: int) -> tuple[_State | None, bool]:
        """The final state with the lowest peak, and whether the search was complete."""
        heap = [(0, 0, 0, self._start)]
        best = {self._start.done: 0}
        pushed = 0
        while heap:
            _, count, _, state = heapq.heappop(heap)
            if state.done == self._all:
                return state, True
            if best[state.done] < state.peak:
                continue
            for child in self._next(state, bound):
                known = best.get(child.done)
                if known is not None and known <= child.peak:
                    continue
                best[child.done] = child.peak
                pushed += 1
                # Of equal states take the one with more nodes, then the one nearer to the author's order.
                heapq.heappush(heap, (child.peak, count - 1, pushed, child))
            if pushed > _STATES:
                return None, False
        return None, True

    def _beam(self, bound: int) -> _State | None:
        width = max(1, min(_BEAM, _BEAM_STEPS // self._size))
        front = [self._start]
        for _ in range(self._size):
            children: dict[int, _State] = {}
            for state in front:
                for child in self._next(state, bound):
                    known = children.get(child.done)
                    if known is None or child.peak < known.peak:
                        children[child.done] = child
            front = heapq.nsmallest(width, children.values(), key=lambda s: (s.peak, s.total))
        return front[0] if front else None
