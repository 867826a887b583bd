# SPDX-License-Identifier: Apache-2.0
"""Collectives on objects, small (inside the header) and large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import samara
from samara import distributed as dist
from samara.pybridge.errors import ShapeError

SMALL, MEDIUM, LARGE = "x", list(range(300)), "y" * 100_000


def _of(rank: int, kind: int) -> Any:
    """An object of a rank: small on all, large on all, or of sizes that differ."""
    return {"rank": rank, "data": (SMALL, LARGE, (SMALL, LARGE, MEDIUM)[rank % 3])[kind]}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_objects(size: int) -> None:
    def check() -> None:
        rank = dist.get_rank()
        for kind in range(3):
            every = [_of(r, kind) for r in range(size)]
            root = kind % size
            found: list[Any] = [None] * size
            dist.all_gather_object(found, every[rank])
            assert found == every
            found = [None] * size
            dist.gather_object(every[rank], found if rank == root else None, root)
            assert found == (every if rank == root else [None] * size)
            told: list[Any] = [every[root], None, 3] if rank == root else [0, 0, 0]
            dist.broadcast_object_list(told, root)
            assert told == [every[root], None, 3]
            got: list[Any] = [None, "stays"]
            dist.scatter_object_list(got, every if rank == root else None, root)
            assert got == [every[rank], "stays"]
            if size > 1 and rank == 0:
                dist.send_object_list([every[0], "b"], 1)
            elif rank == 1:
                pair: list[Any] = [None, None]
                assert dist.recv_object_list(pair) == 0
                assert pair == [every[0], "b"]

    dist.run_threads(check, size)


def test_tensors_are_objects() -> None:
    def check() -> None:
        found: list[Any] = [None, None]
        dist.all_gather_object(found, samara.ones(300) * dist.get_rank())
        assert [t.sum().item() for t in found] == [0, 300]

    dist.run_threads(check, 2)


def test_groups() -> None:
    def check() -> None:
        rank = dist.get_rank()
        group = dist.new_group([0, 2])
        found: list[Any] = [None, None]
        dist.all_gather_object(found, rank, group)
        assert found == ([None, None] if rank == 1 else [0, 2])
        told: list[Any] = [rank]
        dist.broadcast_object_list(told, 2, group)
        assert told == [1 if rank == 1 else 2]
        dist.scatter_object_list(told, ["a", "b"] if rank == 2 else None, group=group, group_src=1)
        assert told == [("a", 1, "b")[rank]]
        dist.gather_object(rank, found if rank == 0 else None, 0, group)

    dist.run_threads(check, 3)


def test_errors() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: dist.all_gather_object([], 1), "object_list is of length 0"),
        (lambda: dist.gather_object(1), "object_gather_list is None"),
        (lambda: dist.scatter_object_list([], [1]), "scatter_object_output_list is of length 0"),
        (lambda: dist.scatter_object_list([0], [1, 2]), "input_list is of length 2"),
    ]

    def check() -> None:
        for call, text in cases:
            with pytest.raises(ShapeError) as caught:
                call()
            assert text in str(caught.value)
        with pytest.raises((AttributeError, TypeError)):  # no pickle: nothing is sent
            dist.all_gather_object([None], lambda: None)
        dist.barrier()

    dist.run_threads(check, 1)

    def differ() -> None:
        told: list[Any] = [1, 2, 3][: 2 + dist.get_rank()]
        with pytest.raises(dist.MismatchError, match=r"rank 1: broadcast_object_list\(3 objects"):
            dist.broadcast_object_list(told)

    dist.run_threads(differ, 2)
