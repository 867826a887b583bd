# SPDX-License-Identifier: Apache-2.0
"""The caching allocator: reuse without aliasing, alignment, threads, counts."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import in_threads

import samara
from samara.exporter.frontend import memory

BIG = (64, 1024)  # float32: 256 KB


@pytest.fixture(autouse=True)
def _fresh() -> None:
    gc.collect()
    memory.empty_cache()


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_more_than_there_are_addresses() -> None:
    with pytest.raises(MemoryError, match="more than there are addresses"):
        memory.empty((1 << 31, 1 << 31), np.dtype("f4"))


def test_memory_that_is_offered_is_given_once_and_only_within_the_block() -> None:
    f4 = np.dtype("f4")
    wanted, other = np.zeros(BIG, f4), np.zeros(BIG, f4)
    with memory.offering([wanted, other]):
        assert memory.empty(BIG[::-1], f4) is not wanted
        assert memory.empty(BIG, np.dtype("i4")) is not wanted
        with memory.offering([]):
            assert memory.empty(BIG, f4) is not wanted
        assert memory.empty(list(BIG), f4) is wanted
        assert memory.empty(BIG, f4) is other
        assert memory.empty(BIG, f4) is not wanted
    with memory.offering([wanted]):
        pass
    assert memory.empty(BIG, f4) is not wanted


def test_a_freed_block_is_used_again() -> None:
    a = memory.empty(BIG, np.dtype("f4"))
    at = address(a)
    before = memory.stats()
    del a
    assert memory.stats()["cached_bytes"] >= 64 * 1024 * 4
    b = memory.empty((1024, 64), np.dtype("f4"))
    assert address(b) == at
    after = memory.stats()
    assert after["hits"] == before["hits"] + 1
    assert after["misses"] == before["misses"]
    assert after["cached_bytes"] == before["cached_bytes"]


def test_sizes_share_classes_of_an_eighth() -> None:
    for size in (40_000, 100_000, 1_000_000, 12_345_678):
        rounded = memory._rounded(size)
        assert size <= rounded <= size * 1.125 + 4096
        assert memory._rounded(rounded) == rounded


@pytest.mark.parametrize("count", [8192, 8193, 100_003, 1_000_001])
def test_alignment(count: int) -> None:
    held = [memory.empty((count,), np.dtype("f4")) for _ in range(3)]
    assert [address(a) % 64 for a in held] == [0, 0, 0]


def test_small_arrays_come_from_numpy() -> None:
    before = memory.stats()
    assert memory.empty((10,), np.dtype("f4")).flags.owndata
    assert memory.stats() == before


def test_views_keep_the_block() -> None:
    views: list[Any] = [
        lambda a: a[3:, ::2],
        lambda a: a.T.reshape(-1)[5:][None],
        lambda a: a.view(np.int32),
        lambda a: memoryview(a)[1:],
        lambda a: np.from_dlpack(a),
        lambda a: samara.from_numpy(a)[2].numpy(),
        lambda a: np.broadcast_to(a[0], (3, 1024)),
        lambda a: np.frombuffer(a.data, np.float32),
    ]
    for view in views:
        a = memory.empty(BIG, np.dtype("f4"))
        a[...] = 7
        kept = view(a)
        del a
        for _ in range(3):
            memory.empty(BIG, np.dtype("f4"))[...] = -1
        assert (np.asarray(kept).view(np.float32) == 7).all()


def test_empty_like_keeps_the_order_of_axes() -> None:
    x = np.zeros((8, 32, 40, 3), np.float32).transpose(0, 3, 1, 2)
    out = memory.empty_like(x)
    assert out.shape == x.shape
    assert out.strides == x.strides
    assert memory.empty_like(x, np.dtype("f8")).dtype == np.float64
    assert memory.empty_like(np.broadcast_to(np.float32(1), BIG)).flags.writeable


def test_random_allocation_never_shares_live_memory() -> None:
    source = np.random.default_rng(3)
    sizes = [9_000, 10_000, 20_000, 50_000, 50_001]
    live: list[tuple[int, Any]] = []
    for stamp in range(3000):
        action = source.random()
        if action < 0.55 and len(live) < 40:
            a = memory.empty((int(source.choice(sizes)),), np.dtype("i4"))
            a[...] = stamp
            live.append((stamp, a if source.random() < 0.5 else a[:: int(source.integers(1, 4))]))
        elif action < 0.56:
            memory.empty_cache()
        elif live:
            stamp_of, a = live.pop(int(source.integers(len(live))))
            assert (a == stamp_of).all()
    assert all((a == stamp_of).all() for stamp_of, a in live)


def test_a_block_freed_elsewhere_returns_to_its_thread() -> None:
    made: list[Any] = []
    go, freed, done = threading.Event(), threading.Event(), threading.Event()
    found: dict[str, Any] = {}

    def work() -> None:
        a = memory.empty(BIG, np.dtype("f4"))
        found["first"] = address(a)
        made.append(a)
        del a
        go.set()
        freed.wait(10)
        found["second"] = address(memory.empty(BIG, np.dtype("f4")))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert go.wait(10)
    made.clear()  # dropped by this thread
    freed.set()
    assert done.wait(10)
    thread.join()
    assert found["first"] == found["second"]


def test_threads_that_end_leave_no_blocks_and_keep_their_counts() -> None:
    before = memory.stats()
    kept: list[Any] = []

    def work() -> None:
        memory.empty(BIG, np.dtype("f4"))
        kept.append(memory.empty((2, *BIG), np.dtype("f4")))

    for _ in range(4):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    gc.collect()
    after = memory.stats()
    assert after["misses"] - before["misses"] == 8
    assert after["cached_bytes"] == before["cached_bytes"]
    for a in kept:
        a[...] = 1  # their memory outlives the thread
    kept.clear()
    assert memory.stats()["cached_bytes"] == before["cached_bytes"]


def test_threads_at_work_together() -> None:
    faults: list[str] = []
    passed: list[Any] = []

    def work(stamp: int) -> None:
        for i in range(300):
            a = memory.empty((9000 + 500 * (i % 3),), np.dtype("i4"))
            a[...] = stamp
            passed.append(a)
            if len(passed) > 20:
                passed.pop(0)
            if not (a == stamp).all():
                faults.append(f"thread {stamp}, round {i}")

    in_threads(work, range(4))
    assert faults == []


def test_empty_cache() -> None:
    a = memory.empty(BIG, np.dtype("f4"))
    del a
    assert memory.stats()["cached_bytes"] > 0
    memory.empty_cache()
    assert memory.stats()["cached_bytes"] == 0


def test_system_allocator_and_a_quiet_end() -> None:
    code = (
        "import numpy as np, samara\n"
        "from samara.exporter.frontend import memory\n"
        "x = samara.randn(300, 300, requires_grad=True)\n"
        "keep = (x @ x).relu(); keep.sum().backward()\n"
        "print(memory.stats()['misses'] > 0)\n"
    )
    for setting, expected in (("", "True"), ("system", "False")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "SAMARA_ALLOC": setting},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected
        assert done.stderr == ""
