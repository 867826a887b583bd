# SPDX-License-Identifier: Apache-2.0
"""Groups: made, asked, destroyed, made again; wrong arguments and wrong orders."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import samara
from samara import distributed as dist
from samara.exporter.frontend.distributed.group import group_of, world
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import SamaraError, UnsupportedError


def test_questions() -> None:
    def check() -> None:
        rank = dist.get_rank()
        assert dist.is_available()
        assert dist.is_initialized()
        assert dist.get_backend() == dist.Backend.THREAD
        assert (dist.get_world_size(), dist.get_process_group_ranks()) == (4, [0, 1, 2, 3])
        group = dist.new_group([3, 1], timeout=timedelta(minutes=2))
        assert (dist.get_rank(group), dist.get_world_size(group)) == (
            ((-1, -1), (0, 2), (-1, -1), (1, 2))[rank]
        )
        assert world() is group_of(None)
        if rank in (1, 3):
            assert group.timeout == 120
            assert dist.get_process_group_ranks(group) == [1, 3]
            assert dist.get_global_rank(group, 1) == 3
            assert dist.get_group_rank(group, 3) == 1
            with pytest.raises(ArgumentError, match="group_rank is 2"):
                dist.get_global_rank(group, 2)
            with pytest.raises(ArgumentError, match="rank 0 is not in the group"):
                dist.get_group_rank(group, 0)
            inner = samara.ones(1)
            dist.all_reduce(inner, group=group)
            dist.destroy_process_group(group)
        else:
            with pytest.raises(dist.DistError, match="no member of the group"):
                dist.get_backend(group)
        whole = dist.new_group()
        t = samara.ones(1)
        dist.all_reduce(t, group=whole)
        assert t.item() == 4

    dist.run_threads(check, 4, timeout=timedelta(seconds=9))


def test_wrong_arguments() -> None:
    init: Any = dist.init_process_group
    outside: list[tuple[Callable[[], Any], type[SamaraError], str]] = [
        (lambda: init("nccl"), UnsupportedError, "no backend 'nccl'"),
        (lambda: init("thread"), ArgumentError, "rank is -1 of -1"),
        (lambda: init("thread", world_size=2, rank=2), ArgumentError, "rank is 2 of 2"),
        (dist.get_rank, dist.DistError, "samara launch -n 2"),
        (dist.barrier, dist.DistError, "no process group"),
        (dist.new_group, dist.DistError, "no process group"),
        (dist.destroy_process_group, dist.DistError, "no process group to destroy"),
    ]
    inside: list[tuple[Callable[[], Any], type[SamaraError], str]] = [
        (lambda: init("thread", world_size=1, rank=0), dist.DistError, "exists already"),
        (lambda: dist.new_group([1]), ArgumentError, r"ranks are \[1\], expected some of 0 to 0"),
        (lambda: dist.new_group([]), ArgumentError, "each once"),
        (lambda: dist.new_group([0, 0]), ArgumentError, "each once"),
        (lambda: dist.new_group([0], backend="mpi"), UnsupportedError, "backend 'mpi'"),
    ]

    def raises(cases: list[tuple[Callable[[], Any], type[SamaraError], str]]) -> None:
        for call, kind, text in cases:
            with pytest.raises(kind, match=text):
                call()

    raises(outside)
    dist.run_threads(raises, 1, inside)
    raises(outside)


def test_threads_of_the_user() -> None:
    """Each gives its rank; after destroy it may take another one."""
    results: dict[int, list[float]] = {0: [], 1: []}
    errors: list[BaseException] = []

    def run(own: int) -> None:
        try:
            for turn in range(3):
                rank = (own + turn) % 2
                dist.init_process_group("thread", rank=rank, world_size=2, timeout=5)
                t = samara.ones(1) * dist.get_rank()
                dist.broadcast(t, 1)
                dist.all_reduce(t)
                results[own].append(t.item())
                dist.destroy_process_group()
                assert not dist.is_initialized()
        except BaseException as error:  # noqa: BLE001 (shown below)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(own,)) for own in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert results == {0: [2.0] * 3, 1: [2.0] * 3}


def test_two_threads_of_one_rank() -> None:
    """The second one gets an error, and the world is there for the others."""
    both = threading.Barrier(2, timeout=5)

    def first() -> None:
        dist.init_process_group("thread", rank=0, world_size=2, group_name="twice")
        both.wait()
        dist.destroy_process_group()

    thread = threading.Thread(target=first)
    thread.start()
    both.wait()
    with pytest.raises(dist.DistError, match="two threads want to be rank 0"):
        dist.init_process_group("thread", rank=0, world_size=2, group_name="twice")
    dist.init_process_group("thread", rank=1, world_size=2, group_name="twice")
    dist.destroy_process_group()
    thread.join()


def test_workers_are_no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that a rank starts, as a DataLoader's worker, cannot be another rank."""
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    with pytest.raises(dist.DistError, match="is no rank of its own"):
        dist.init_process_group("mpi")
    assert not dist.is_initialized()
