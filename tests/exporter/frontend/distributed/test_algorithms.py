# SPDX-License-Identifier: Apache-2.0
"""The collectives as steps: how arrays are cut. tests/…/test_collectives.py runs them all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.exporter.frontend.distributed.worlds import run_steps

from samara.exporter.frontend.distributed import _algorithms
from samara.exporter.frontend.distributed._engine import Steps
from samara.exporter.frontend.distributed._reduction import ReduceOp
from samara.exporter.frontend.distributed._thread_world import ThreadTransport, World


def test_parts() -> None:
    for size in (0, 1, 5, 6, 7):
        for count in (1, 2, 3, 8):
            parts = _algorithms.parts_of(np.arange(size), count)
            assert len(parts) == count
            assert np.concatenate(parts).tolist() == list(range(size))
            assert max(p.size for p in parts) == -(-size // count)


def test_small_and_large_arrays_give_the_same() -> None:
    """The fold of a large array, in which every rank reduces a part, is that of a small one."""
    given = np.random.default_rng(1).standard_normal((3, 20_001)).astype(np.float32)
    expected = (given[0] + given[1]) + given[2]

    def reduced(function: Callable[[ThreadTransport, np.ndarray], Steps], n: int) -> list[bytes]:  # type: ignore[type-arg]
        world, flats = World(3), [row[:n].copy() for row in given]
        run_steps([function(ThreadTransport(world, r, 3), flats[r]) for r in range(3)])
        return [flat.tobytes() for flat in flats]

    for n in (4096, 4097, 20_001):
        bits = expected[:n].tobytes()
        assert reduced(lambda t, f: _algorithms.all_reduce(t, f, ReduceOp.SUM), n) == [bits] * 3
        for root in range(3):
            found = reduced(lambda t, f, r=root: _algorithms.reduce(t, f, ReduceOp.SUM, r), n)  # type: ignore[misc]
            assert found[root] == bits
