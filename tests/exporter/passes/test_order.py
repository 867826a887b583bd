# SPDX-License-Identifier: Apache-2.0
"""Orders with a lower peak, compared with all possible orders."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from samara.exporter.passes import _order
from samara.exporter.passes._liveness import Group, Lives
from samara.exporter.passes._order import lower_order


def _lives(sizes: Sequence[int], inputs: Sequence[Sequence[int]]) -> tuple[Lives, list[int]]:
    """Node i makes one tensor of sizes[i] bytes from those of the nodes inputs[i]."""
    users = [1 << i for i in range(len(sizes))]
    for i, ins in enumerate(inputs):
        for k in ins:
            users[k] |= 1 << i
    last = {k for ins in inputs for k in ins}
    groups = tuple(Group(size, 1 << i, users[i], i not in last) for i, size in enumerate(sizes))
    touched = tuple((i, *dict.fromkeys(ins)) for i, ins in enumerate(inputs))
    made = tuple((i,) for i in range(len(sizes)))
    needs = [sum(1 << k for k in set(ins)) for ins in inputs]
    return Lives(groups, touched, made, (None,) * len(sizes)), needs


def _orders(needs: Sequence[int], done: int = 0) -> Iterator[tuple[int, ...]]:
    left = [n for n in range(len(needs)) if not done >> n & 1]
    if not left:
        yield ()
    for n in left:
        if not needs[n] & ~done:
            for rest in _orders(needs, done | 1 << n):
                yield (n, *rest)


def _random(seed: int, count: int) -> tuple[Lives, list[int]]:
    r = random.Random(seed)
    sizes = [64 * r.randrange(1, 50) for _ in range(count)]
    inputs = [r.sample(range(i), min(i, r.randrange(0, 3))) for i in range(count)]
    return _lives(sizes, inputs)


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_lowest_of_all(seed: int) -> None:
    lives, needs = _random(seed, 7)
    now = max(lives.live(range(7)))
    lowest = min(max(lives.live(order)) for order in _orders(needs))
    found = lower_order(lives, needs, ())
    if lowest == now:
        assert found is None
    else:
        assert found is not None
        assert sorted(found) == list(range(7))
        assert all(not needs[n] & ~sum(1 << m for m in found[:i]) for i, n in enumerate(found))
        assert max(lives.live(found)) == lowest


def test_nothing_moves_over_a_fence() -> None:
    # Two wide tensors are made early and used late, one after the other.
    lives, needs = _lives([64, 640, 640, 64, 64], [[], [0], [0], [1], [2, 3]])
    found = lower_order(lives, needs, ())
    assert found == [0, 1, 3, 2, 4]
    assert lower_order(lives, needs, {3}) is None
    assert lower_order(lives, needs, {1}) == found


def test_a_chain_has_one_order() -> None:
    lives, needs = _lives([64] * 3000, [[i - 1] if i else [] for i in range(3000)])
    assert lower_order(lives, needs, ()) is None


def test_segments_that_do_not_set_the_peak_stay() -> None:
    fork = [[0], [0], [1], [2, 3]]
    second = [[k + 4 for k in ins] for ins in fork]
    lives, needs = _lives([64, 640, 640, 64, 64, 320, 320, 64, 64], [[], *fork, *second])
    # The second fork takes less memory than the first at its best.
    assert lower_order(lives, needs, ()) == [0, 1, 3, 2, 4, 5, 6, 7, 8]


def test_a_wide_graph_falls_back_to_the_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    # Twelve wide tensors, all made first and then made small.
    inputs = [[], *([0] for _ in range(12)), *([i] for i in range(1, 13)), list(range(13, 25))]
    lives, needs = _lives([64, *[6400] * 12, *[64] * 12, 64], inputs)
    best = lower_order(lives, needs, ())
    monkeypatch.setattr(_order, "_STATES", 10)
    found = lower_order(lives, needs, ())
    assert best is not None
    assert found is not None
    assert max(lives.live(found)) == max(lives.live(best)) < 8000
    assert max(lives.live(range(26))) > 70_000
