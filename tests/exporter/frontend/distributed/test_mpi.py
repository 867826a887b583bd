# SPDX-License-Identifier: Apache-2.0
"""Ranks as processes: plain mpiexec runs programs. The threads' tests cover the cases one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.distributed.worlds import run_mpi

from samara.exporter.frontend.distributed import _mpi
from samara.pybridge.errors import UnsupportedError

CHECKS = """
import os, sys
import numpy as np
import samara
from samara import distributed as dist
from samara.exporter.frontend.tensor import wrap

def values(rank, n, dtype=np.float32):
    return (np.random.default_rng(rank).standard_normal(n) * 100).astype(dtype)

def check(group, ranks):
    rank, size = dist.get_rank(), len(ranks)
    for n in (0, 1, 128, 129, 4097, 300_001):
        every = [values(r, n) for r in ranks]
        total = every[0].copy()
        for v in every[1:]:
            total += v
        t = wrap(values(rank, n))
        dist.all_reduce(t, group=group)
        assert t.numpy().tobytes() == total.tobytes()
        for root in ranks:
            t = wrap(values(rank, n))
            dist.reduce(t, root, group=group)
            assert rank != root or t.numpy().tobytes() == total.tobytes()
            given = values(rank, n)
            given.flags.writeable = rank != root
            t = wrap(given)
            dist.broadcast(t, root, group)
            assert (t.numpy() == values(root, n)).all()
            parts = [samara.zeros(n) for _ in ranks]
            dist.gather(wrap(given), parts if rank == root else None, root, group)
            out = samara.zeros(n)
            dist.scatter(out, [wrap(v) for v in every] if rank == root else None, root, group)
            assert (out.numpy() == values(rank, n)).all()
        parts = [samara.zeros(n) for _ in ranks]
        dist.all_gather(parts, wrap(values(rank, n)), group)
        assert all((p.numpy() == v).all() for p, v in zip(parts, every))
        out = samara.zeros(n)
        dist.reduce_scatter(out, [wrap(v) for v in every], group=group)
        assert np.allclose(out.numpy(), values(rank, n) * size, rtol=1e-6)
        outs = [samara.zeros(n) for _ in ranks]
        dist.all_to_all(outs, [wrap(values(rank, n))] * size, group)
        assert all((p.numpy() == v).all() for p, v in zip(outs, every))
    for data in ("x", "y" * 100_000):
        found = [None] * size
        dist.all_gather_object(found, (rank, data), group)
        assert found == [(r, data) for r in ranks]
        told = [data if rank == ranks[-1] else None]
        dist.broadcast_object_list(told, ranks[-1], group)
        assert told == [data]
        got = [None]
        dist.scatter_object_list(got, found if rank == ranks[0] else None, ranks[0], group)
        assert got == [(rank, data)]
    works = []
    for n in (5000, 3, 90_000, 200, 1):
        t = wrap(values(rank, n))
        works.append((dist.all_reduce(t, dist.ReduceOp.MAX, group, async_op=True), t))
        out, mine = samara.zeros(n), wrap(values(rank, n))
        at = ranks.index(rank)
        source = ranks[at - 1]
        ops = [dist.P2POp(dist.isend, mine, ranks[(at + 1) % size], group, n % 7)]
        ops.append(dist.P2POp(dist.irecv, out, source, group, n % 7))
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        assert (out.numpy() == values(source, n)).all()
    for work, t in works[::-1]:
        work.wait()
        assert (t.numpy() == np.max([values(r, t.shape[0]) for r in ranks], 0)).all()

for turn in range(2):
    dist.init_process_group("mpi")
    rank = dist.get_rank()
    assert (dist.get_backend(), dist.get_world_size()) == ("mpi", 3)
    pair, other = dist.new_group([0, 2]), dist.new_group([2, 1])
    check(None, [0, 1, 2])
    if rank != 1:
        check(pair, [0, 2])
        dist.destroy_process_group(pair)
    if rank != 0:
        check(other, [1, 2])
    if rank == 0:
        sender = [dist.recv(samara.zeros(3)) for _ in range(2)]
        assert sorted(sender) == [1, 2]
    else:
        dist.send(samara.ones(3), 0)
    try:
        dist.all_reduce(samara.ones(2 + rank))
        raise SystemExit("no mismatch")
    except dist.MismatchError as error:
        for r in range(3):
            assert f"rank {r}: all_reduce(float32 [{2 + r}], SUM) at program.py:" in error.message
    child = os.fork()
    if child == 0:
        sys.exit(7 if dist.is_initialized() else 5)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    last = samara.ones(20_000)
    dist.all_reduce(last, async_op=True)  # destroy waits for it
    never = dist.irecv(samara.zeros(1), (rank + 1) % 3, tag=9)
    dist.destroy_process_group()
    assert last.tolist() == [3] * 20_000
    assert "when its group was destroyed" in never.exception().message
print(f"rank {rank} is through", flush=True)
"""

FAILURES = """
import sys, time
import samara
from samara import distributed as dist
from samara.exporter.frontend.distributed.group import world
dist.init_process_group("mpi", timeout=0.5)
rank = dist.get_rank()
dist.barrier()
try:
    if rank == 0:
        dist.all_reduce(samara.ones(3))
    else:
        deadline = time.monotonic() + 10
        while not world().engine.failure and time.monotonic() < deadline: time.sleep(0.01)
        dist.barrier()
except dist.DistTimeoutError as error:
    print(f"<{rank}: {error.message}>", flush=True)
if rank == 1:
    raise ValueError("after all")
time.sleep(60)
"""


@pytest.mark.slow
def test_three_ranks(tmp_path: Path) -> None:
    status, output = run_mpi(CHECKS, 3, tmp_path)
    assert status == 0, output
    assert [output.count(f"rank {r} is through") for r in range(3)] == [1, 1, 1]


@pytest.mark.slow
def test_a_timeout_and_an_uncaught_error(tmp_path: Path) -> None:
    """The timeout names rank and line on all ranks; the error comes with its rank and ends the others."""
    status, output = run_mpi(FAILURES, 2, tmp_path)
    assert status == 1
    text = "all_reduce(float32 [3], SUM) at program.py:11 in <module> was not done after 0.5 s"
    assert f"<0: {text}\n  rank 1 has not joined it: it is at program.py:14" in output
    assert f"<1: rank 0 says: {text}\n  rank 1 has not joined it" in output
    assert "rank 1 raised an error:\nTraceback" in output
    assert "ValueError: after all" in output


IN_ORDER = """
from samara import distributed as dist
from tests.exporter.frontend.distributed.test_point_to_point import receive_in_order

dist.init_process_group("mpi")
receive_in_order()
print(f"rank {dist.get_rank()} is through", flush=True)
"""


def test_receives_match_in_the_order_of_their_calls(tmp_path: Path) -> None:
    status, output = run_mpi(IN_ORDER, 2, tmp_path)
    assert status == 0, output
    assert [output.count(f"rank {r} is through") for r in range(2)] == [1, 1]


CAUGHT = """
import samara
from samara import distributed as dist

dist.init_process_group(timeout=0.5)
if dist.get_rank():
    while True:
        pass
try:
    dist.barrier()
except dist.DistError:
    print("caught")
dist.destroy_process_group()
try:
    dist.init_process_group()
except dist.DistError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_failure_that_was_caught_ends_all(tmp_path: Path) -> None:
    """MPI_Finalize would wait for the rank that never comes."""
    status, output = run_mpi(CAUGHT, 2, tmp_path)
    assert status == 1, output
    assert "caught" in output
    assert "MPI does not recover from a failed rank: barrier() at program.py:10" in output


def test_without_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(UnsupportedError, match="mpi4py is not installed") as caught:
        _mpi.start()
    assert caught.value.fix == 'pip install "samara-nn[distributed]"'


class _Sent:
    """An MPI request that is done when its test is called for the second time."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def Test(self, status: Any = None) -> bool:
        self.calls.append("test")
        return len(self.calls) > 1

    def Cancel(self) -> None:
        self.calls.append("cancel")

    def Free(self) -> None:
        self.calls.append("free")


def test_requests() -> None:
    class Status:
        def Get_source(self) -> int:
            return 4

    received = _mpi._Received(_Sent(), Status(), np.zeros(1))
    assert not received.test()
    assert received.source == -1
    assert received.test()
    assert received.source == 4
    request = _Sent()
    _mpi._Received(request, Status(), None).cancel()
    assert request.calls == ["cancel", "free"]
    one, two = _Sent(), _Sent()
    two.Test()
    both = _mpi._All([_mpi._Request(one), _mpi._Request(two)])
    assert not both.test()
    assert both.test()
    assert len(two.calls) == 2
