# SPDX-License-Identifier: Apache-2.0
"""The transport between threads. Nothing in it needs threads: here one thread plays all ranks."""

from __future__ import annotations

import numpy as np

from samara.exporter.frontend.distributed._thread_world import ThreadControl, ThreadTransport, World
from samara.exporter.frontend.distributed._transport import Request


def _ranks(size: int) -> tuple[World, list[ThreadTransport]]:
    world = World(size)
    return world, [ThreadTransport(world, rank, size) for rank in range(size)]


def test_collectives_wait_for_all_and_leave_nothing() -> None:
    world, ranks = _ranks(3)
    wholes = [np.zeros(6, np.uint8) for _ in ranks]
    requests: list[Request] = []
    for k, transport in enumerate(ranks):
        assert not any(request.test() for request in requests)
        part = np.full(k + 1, k + 1, np.uint8)
        requests.append(transport.allgather(part, wholes[k], [1, 2, 3]))
        part[:] = 99  # what was posted is a copy
    assert all(request.test() for request in requests)
    assert [w.tolist() for w in wholes] == [[1, 2, 2, 3, 3, 3]] * 3

    arrays = [np.full(2, k, np.uint8) for k in range(3)]
    requests = [t.broadcast(a, 1) for t, a in zip(ranks, arrays, strict=True)]
    assert all(request.test() for request in requests)
    assert [a.tolist() for a in arrays] == [[1, 1]] * 3

    outs = [np.zeros(3, np.uint8) for _ in ranks]
    requests = [
        t.alltoall(np.arange(3, dtype=np.uint8) + 10 * k, [1] * 3, outs[k], [1] * 3)
        for k, t in enumerate(ranks)
    ]
    assert all(request.test() for request in requests)
    assert [o.tolist() for o in outs] == [[k, 10 + k, 20 + k] for k in range(3)]
    assert not world.posted
    assert not world.taken


def test_in_place() -> None:
    _, ranks = _ranks(2)
    wholes = [np.array([7, 0], np.uint8), np.array([0, 8], np.uint8)]
    requests = [t.allgather(None, w, [1, 1]) for t, w in zip(ranks, wholes, strict=True)]
    assert all(request.test() for request in requests)
    assert [w.tolist() for w in wholes] == [[7, 8]] * 2


def test_messages_keep_their_order_by_sender_and_tag() -> None:
    _, (one, two, three) = _ranks(3)
    outs = np.zeros((5, 1), np.uint8)
    early = [two.receive(outs[k], source, 5) for k, source in enumerate((2, None, 0))]
    assert not any(request.test() for request in early)
    for value in (1, 2, 3):
        assert one.send(np.array([value], np.uint8), 1, 5).test()
    three.send(np.array([4], np.uint8), 1, 6)
    assert [request.test() for request in early] == [False, True, True]
    late = [two.receive(outs[3], 2, 6), two.receive(outs[4], None, 5)]
    assert [(r.source, int(out[0])) for r, out in zip([*early, *late], outs, strict=True)] == [
        *((-1, 0), (0, 1), (0, 2), (2, 4), (0, 3))
    ]


def test_a_cancelled_receive_takes_nothing() -> None:
    _, (one, two) = _ranks(2)
    outs = np.zeros((2, 1), np.uint8)
    gone, other = (two.receive(out, None, 5) for out in outs)
    gone.cancel()  # type: ignore[attr-defined]
    one.send(np.array([1], np.uint8), 1, 5)
    gone.cancel()  # type: ignore[attr-defined]
    assert not gone.test()
    assert other.test()
    assert outs.tolist() == [[0], [1]]


def test_subsets_and_duplicates_are_apart() -> None:
    _, ranks = _ranks(3)
    duplicates = [t.duplicate() for t in ranks]
    pair = [ranks[2].subset([0, 2]), ranks[0].subset([0, 2])]
    assert [t.rank for t in pair] == [1, 0]
    assert [t.size for t in pair] == [2, 2]
    out = np.zeros(1, np.uint8)
    duplicates[0].send(np.array([1], np.uint8), 1, 0)
    pair[1].send(np.array([2], np.uint8), 1, 0)
    assert not ranks[1].receive(out, None, 0).test()
    assert duplicates[1].receive(out, 0, 0).test()
    assert out[0] == 1
    assert pair[0].receive(out, None, 0).test()
    assert out[0] == 2
    for transport in (*ranks, *duplicates, *pair):
        transport.free()


def test_control() -> None:
    world = World(2)
    one, two = ThreadControl(world, 0), ThreadControl(world, 1)
    one.tell(1, b"a")
    one.tell(1, b"b")
    assert (one.size, two.rank) == (2, 1)
    assert one.heard() == []
    assert two.heard() == [(0, b"a"), (0, b"b")]
    assert two.heard() == []
    one.free()
    one.abort(1)
