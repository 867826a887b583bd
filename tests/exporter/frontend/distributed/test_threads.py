# SPDX-License-Identifier: Apache-2.0
"""run_threads: results in order, errors of ranks, a generator for each rank, no thread left."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import samara
from samara import distributed as dist


def test_results_and_arguments() -> None:
    def check(a: int, b: str) -> tuple[int, int, str]:
        return dist.get_rank(), a, b

    before = threading.active_count()
    assert dist.run_threads(check, 3, 5, "b") == [(0, 5, "b"), (1, 5, "b"), (2, 5, "b")]
    assert dist.run_threads(dist.get_world_size, 1) == [1]
    assert threading.active_count() == before
    assert not dist.is_initialized()


def test_a_rank_raises() -> None:
    """The others are told at once, even inside a collective, and the first error comes out."""
    seen: list[str] = []

    def check() -> None:
        if dist.get_rank() == 1:
            raise ValueError("bad batch")
        with pytest.raises(dist.RankFailedError) as caught:
            dist.all_reduce(samara.ones(9000))
        seen.append(caught.value.message)
        with pytest.raises(dist.RankFailedError):
            dist.barrier()

    started = time.monotonic()
    with pytest.raises(ValueError, match="bad batch") as caught:
        dist.run_threads(check, 3)
    assert time.monotonic() - started < 1.5
    assert caught.value.__notes__ == ["(in rank 1 of 3)"]
    assert seen == ["rank 1 failed: ValueError: bad batch"] * 2


def test_a_rank_ends_early() -> None:
    def check() -> None:
        t = samara.ones(2)
        for _ in range(2 if dist.get_rank() == 2 else 3):
            dist.all_reduce(t)

    started = time.monotonic()
    with pytest.raises(dist.RankFailedError) as caught:
        dist.run_threads(check, 3)
    assert time.monotonic() - started < 1.5
    message = str(caught.value)
    assert "all_reduce(float32 [2], SUM) at " in message
    assert "waits for rank 2, which has ended without it" in message
    assert "nn.parallel.Join" in message


def test_generators() -> None:
    """Every rank starts with a copy of the caller's generator, and leaves the caller's alone."""

    def draw() -> Any:
        return samara.rand(3).tolist()

    samara.manual_seed(4)
    first = dist.run_threads(draw, 3)
    expected = samara.rand(3).tolist()
    assert first == [expected] * 3


def test_runs_side_by_side() -> None:
    """Groups of different runs do not meet, also where a rank starts a run of its own."""
    results: list[Any] = []

    def total() -> float:
        t = samara.ones(1)
        for _ in range(5):
            dist.all_reduce(t)
        return t.item()

    threads = [
        threading.Thread(target=lambda n=n: results.append((n, dist.run_threads(total, n))))  # type: ignore[misc]
        for n in (1, 2, 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(n, [n**5.0] * n) for n in (1, 2, 3)]
    assert dist.run_threads(lambda: dist.run_threads(total, 2), 2) == [[32, 32], [32, 32]]
