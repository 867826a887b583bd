# SPDX-License-Identifier: Apache-2.0
"""Bucket sizes follow from latency and bandwidth, and all ranks take the same."""

from __future__ import annotations

from samara.exporter.frontend.distributed import run_threads
from samara.exporter.frontend.distributed.group import world
from samara.exporter.frontend.nn.parallel._buckets import Cost, cost_of


def test_sizes() -> None:
    assert Cost(1e-4, 1e9).bucket_bytes() == 2_000_000
    assert Cost(1e-6, 1e9).bucket_bytes() == 256 << 10
    assert Cost(0.02, 1e9).bucket_bytes() == 32 << 20


def test_all_ranks_take_the_first_ones_measurement() -> None:
    def measure() -> tuple[Cost, bool]:
        found = cost_of(world())
        return found, cost_of(world()) is found

    (first, _), (second, known) = run_threads(measure, 2)
    assert first == second
    assert known
    assert first.latency > 0
    assert first.bandwidth > 0
