# SPDX-License-Identifier: Apache-2.0
"""Replicas of modules, and the threads that run them."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
from tests.exporter.frontend.checks import in_threads as start_threads

import samara
from samara import nn
from samara.exporter.frontend.nn.parallel import replicas
from samara.nn.parallel import parallel_apply, replicate
from samara.pybridge.errors import SamaraError, ShapeError


class Shared(nn.Module):
    """Two names of one layer, and of one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.again = self.norm
        self.scale = self.norm.weight
        self.empty = None
        self.register_buffer("unused", None)


def test_copies_share_parameters_and_the_first_also_buffers() -> None:
    net: Any = Shared()
    first, second = replicate(net, [0, 1])
    for copy in (first, second):
        assert type(copy) is Shared
        assert copy is not net
        assert copy.again is copy.norm is not net.norm
        assert copy.scale is copy.norm.weight is net.scale
        assert list(copy.state_dict()) == list(net.state_dict())
    assert first.norm.running_mean is net.norm.running_mean
    second.norm.running_mean.fill_(7)
    second.extra = 3
    assert net.norm.running_mean.tolist() == [0, 0, 0]
    assert not hasattr(net, "extra")
    (detached,) = replicate(net, 1, detach=True)
    assert not any(p.requires_grad for p in detached.parameters())
    with samara.no_grad():
        net.scale.fill_(5)
    assert detached.norm.weight.tolist() == [5, 5, 5]


def test_modules_run_in_threads_that_record_like_the_caller() -> None:
    seen: list[Any] = []

    def call(x: Any, plus: int = 0) -> Any:
        meeting.wait(10)  # all are at work at the same time
        seen.append((threading.current_thread(), samara.is_grad_enabled(), replicas.inside()))
        return x * 2 + plus

    meeting = threading.Barrier(3)
    x = samara.ones(1, requires_grad=True)
    outs = parallel_apply([call] * 3, [x, (x,), [x]], [{}, {"plus": 1}, {"plus": 2}])
    assert [out.tolist() for out in outs] == [[2], [3], [4]]
    sum(outs).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6]
    assert {(mode, inside) for _, mode, inside in seen} == {(True, True)}
    assert len({thread for thread, _, _ in seen}) == 3
    assert threading.current_thread() in {thread for thread, _, _ in seen}
    seen.clear()
    with samara.no_grad():
        parallel_apply([call] * 3, [x] * 3)
    assert {mode for _, mode, _ in seen} == {False}
    assert not replicas.inside()
    with pytest.raises(SamaraError, match="2 modules, 1 inputs"):
        parallel_apply([call] * 2, [x])


def test_random_numbers_follow_from_the_default_generator_and_the_position() -> None:
    def draws(count: int) -> list[Any]:
        samara.manual_seed(3)
        return [out.tolist() for out in parallel_apply([samara.rand] * count, [2] * count)]

    assert draws(3) == draws(3)
    assert draws(2) == draws(3)[:2]
    assert len({str(drawn) for drawn in draws(4)}) == 4
    after = samara.rand(1).tolist()
    draws(7)
    assert samara.rand(1).tolist() == after


def test_replicas_within_replicas_run_one_after_the_other() -> None:
    def inner(k: int) -> int:
        order.append(k)
        return k

    def outer(k: int) -> Any:
        return parallel_apply([inner] * 3, [k, k, k])

    order: list[int] = []
    assert parallel_apply([outer] * 2, [1, 2]) == [[1, 1, 1], [2, 2, 2]]
    assert sorted(order) == [1, 1, 1, 2, 2, 2]


def test_errors_name_the_replica_after_all_have_ended() -> None:
    def call(k: int) -> None:
        if k == 1:
            raise ShapeError("too long", fix="cut it")
        if k == 2:
            raise KeyError("k")
        ended.append(k)

    ended: list[int] = []
    with pytest.raises(ShapeError, match=r"^replica 1 of 4: too long\n  fix: cut it"):
        parallel_apply([call] * 4, [0, 1, 2, 3])
    assert sorted(ended) == [0, 3]
    with pytest.raises(KeyError) as caught:
        parallel_apply([call] * 2, [2, 0])
    assert caught.value.__notes__ == ["This happened in replica 0 of 2."]
    assert ended.count(0) == 2
    assert not replicas.inside()


def test_many_callers_and_a_forked_child() -> None:
    results: dict[int, Any] = {}

    def work(k: int) -> None:
        calls = [lambda i: i * k] * (k + 2)
        results[k] = [parallel_apply(calls, range(k + 2)) for _ in range(5)]

    start_threads(work, range(4))
    assert results == {k: [[i * k for i in range(k + 2)]] * 5 for k in range(4)}
    pool = replicas._pool(1)
    assert replicas._pool(1) is pool
    process, replicas._THREADS.process = replicas._THREADS.process, os.getpid() + 1
    assert replicas._pool(1) is not pool  # the threads of a parent are not the child's
    assert replicas._THREADS.process == process == os.getpid()
