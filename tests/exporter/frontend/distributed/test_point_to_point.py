# SPDX-License-Identifier: Apache-2.0
"""send, recv, isend, irecv and batches."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samara
from samara import distributed as dist
from samara.exporter.frontend.tensor import wrap
from samara.exporter.types import ArgumentError


def test_sizes_and_dtypes() -> None:
    cases = [(n, np.float32) for n in (0, 1, 128, 129, 50_000)]
    kinds: list[tuple[Any, Any]] = [*cases, ((), np.int64), ((3, 2), bool), (7, np.float16)]

    def check() -> None:
        rank = dist.get_rank()
        for shape, dtype in kinds:
            given = np.asarray(np.random.default_rng(3).integers(0, 2, shape), dtype)
            if rank == 0:
                dist.send(wrap(given), 2)
            elif rank == 2:
                base = wrap(np.zeros((*given.shape, 2), dtype))
                view = base[..., 1]
                assert dist.recv(view, 0) == 0
                assert view.numpy().tobytes() == given.tobytes()
                assert not base.numpy()[..., 0].any()

    dist.run_threads(check, 3)


def test_any_source_and_tags() -> None:
    def check() -> list[int]:
        rank, found = dist.get_rank(), []
        if rank:
            dist.send(samara.tensor([rank * 10]), 0, tag=1)
            dist.send(samara.tensor([rank * 100]), 0, tag=2)
            dist.send(samara.tensor([rank * 100 + 1]), 0, tag=2)
            return []
        out = samara.tensor([0])
        for tag, source in ((2, 1), (2, 1), (2, 2), (2, 2), (1, None), (1, None)):
            sender = dist.recv(out, source, tag=tag)
            assert source in (None, sender)
            found.append(int(out.item()))
        return found

    found = dist.run_threads(check, 3)[0]
    assert found[:4] == [100, 101, 200, 201]
    assert sorted(found[4:]) == [10, 20]


def receive_in_order() -> None:
    """Rank 0 posts receives from rank 1 and from any rank, in many orders, before or after the sends."""
    choose = random.Random(1)
    for turn in range(40):
        sources = choose.sample([1, 1, 1, None, None, None], 6)
        sizes = choose.choices((1, 128, 129, 5000), k=6)
        order = choose.sample(range(6), 6)  # of the waits
        if turn % 2:
            dist.barrier()
        if dist.get_rank() == 0:
            outs = [samara.zeros(n) for n in sizes]
            works = [dist.irecv(out, k, tag=3) for out, k in zip(outs, sources, strict=True)]
            for k in order:
                assert works[k].result() == 1  # type: ignore[union-attr]
            found = [float(out[-1]) for out in outs]
            assert found == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], (turn, sources, sizes, found)
        else:
            for k, n in enumerate(sizes):
                dist.send(samara.ones(n) * k, 0, tag=3)


def test_receives_match_in_the_order_of_their_calls() -> None:
    for _ in range(3):
        dist.run_threads(receive_in_order, 2)


def test_many_in_both_directions() -> None:
    """Batches, and a large message that is on its way with small ones, in a ring."""

    def check() -> None:
        rank, size = dist.get_rank(), dist.get_world_size()
        sizes, ops, outs = (3, 9000, 1, 200), [], []
        for tag, n in enumerate(sizes):
            outs.append(samara.zeros(n))
            mine = samara.ones(n) * (rank * 10 + tag)
            ops.append(dist.P2POp(dist.isend, mine, (rank + 1) % size, tag=tag))
            ops.append(dist.P2POp(dist.irecv, outs[-1], (rank - 1) % size, tag=tag))
        works = dist.batch_isend_irecv(ops)
        assert len(works) == len(ops)
        t = samara.ones(5000)
        dist.all_reduce(t)
        for work in works[::-1]:
            assert work.wait()
        for tag, out in enumerate(outs):
            assert out.tolist() == [(rank - 1) % size * 10 + tag] * sizes[tag]
        assert t.tolist() == [size] * 5000

    dist.run_threads(check, 3)


def test_in_groups() -> None:
    def check() -> None:
        rank, out = dist.get_rank(), samara.zeros(1)
        group = dist.new_group([1, 2])
        if rank == 0:
            assert dist.isend(out, 1, group) is None
            assert dist.irecv(out, 1, group) is None
            assert dist.recv(out, 1, group) == -1
            dist.send(out, 1, group)
        elif rank == 1:
            dist.send(samara.ones(1) * 5, group=group, group_dst=1)
            dist.send(samara.ones(1) * 6, 2)
        else:
            assert dist.recv(out, 1) == 1
            assert out.item() == 6
            assert dist.recv(out, group=group, group_src=0) == 1
            assert out.item() == 5

    dist.run_threads(check, 3)


@pytest.mark.parametrize("size", [2, 9000])
def test_another_shape_or_dtype_was_sent(size: int) -> None:
    """An error in the receiver, which names the sender and its line; both go on."""

    def check() -> None:
        for other in (samara.ones(size + 1), samara.ones(size, dtype=samara.int64)):
            if dist.get_rank() == 0:
                dist.send(other, 1)
                dist.send(samara.ones(size), 1)
                continue
            out = samara.zeros(size)
            with pytest.raises(dist.MismatchError) as caught:
                dist.recv(out, 0)
            message = caught.value.message
            assert message.startswith(f"recv(float32 [{size}]) from rank 0 at ")
            assert "\n  got what rank 0 sent by send(" in message
            assert message.count("test_point_to_point.py:") == 2
            assert not out.numpy().any()
            dist.recv(out, 0)
            assert out.numpy().all()

    dist.run_threads(check, 2)


def test_nobody_sends() -> None:
    def check() -> str:
        if dist.get_rank() == 1:
            with pytest.raises(dist.RankFailedError) as failed:
                dist.barrier()
            return failed.value.message
        with pytest.raises(dist.DistTimeoutError) as caught:
            dist.irecv(samara.zeros(1), 1).wait(0.05)  # type: ignore[union-attr]
        raise caught.value

    with pytest.raises(dist.DistTimeoutError) as caught:
        dist.run_threads(check, 2)
    message = caught.value.message
    assert "recv(float32 [1]) from rank 1 at " in message
    assert "rank 1 is at " in message
    assert "waiting for barrier()" in message


def test_wrong_arguments() -> None:
    t, bad = samara.ones(1), ArgumentError
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: dist.send(t, 0), "to itself"),
        (lambda: dist.recv(t, 0), "to itself"),
        (lambda: dist.send(t), "give either dst"),
        (lambda: dist.send(t, 1), "dst is rank 1"),
        (lambda: dist.recv(t, group_src=4), "group_src is 4"),
        (lambda: dist.recv(t, tag=-1), "tag is -1"),
        (lambda: dist.recv(t, tag=10_922), "tag is 10922"),
        (lambda: dist.P2POp(dist.send, t, 0), "expected isend or irecv"),
        (lambda: dist.recv(None), "tensor is NoneType"),  # type: ignore[arg-type]
    ]

    def check() -> None:
        for call, text in cases:
            with pytest.raises(bad) as caught:
                call()
            assert text in str(caught.value)

    dist.run_threads(check, 1)
