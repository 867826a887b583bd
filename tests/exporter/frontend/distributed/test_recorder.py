# SPDX-License-Identifier: Apache-2.0
"""Events of one rank: collectives and waits as they happened, on another clock, within the profile."""

from __future__ import annotations

import threading
import time

import samara
from samara import distributed as dist
from samara.exporter.frontend.distributed._recorder import Collective, Recorder, Span, Wait
from samara.exporter.frontend.distributed.group import world


def _collective(started: float, joined: float | None, ended: float) -> Collective:
    return Collective((0, 1), "all_reduce() at x.py:1", 8, started, joined, ended)


def test_events_of_collectives_and_waits() -> None:
    together = threading.Barrier(2)

    def run() -> Recorder:
        dist.barrier()  # before the recording
        recorder = Recorder(time.monotonic())
        engine = world().engine
        engine.recorder = recorder
        together.wait()
        if dist.get_rank() == 1:
            time.sleep(0.2)
        dist.all_reduce(samara.ones(1000))
        if dist.get_rank() == 0:
            dist.send(samara.ones(2), 1)
        else:
            dist.recv(samara.zeros(2), 0)
        engine.recorder = None
        dist.barrier()  # and after it
        return recorder

    first, second = dist.run_threads(run, 2)
    for recorder in (first, second):
        reduced, message = recorder.collectives
        assert reduced.text.startswith("all_reduce(float32 [1000], SUM) at ")
        assert (reduced.moved, reduced.key is None, message.key) == (4000, False, None)
        assert reduced.joined is not None
        assert reduced.started <= reduced.joined <= reduced.ended
    (wait, *_) = first.waits
    assert wait.what.key == first.collectives[0].key == second.collectives[0].key
    assert wait.joined - wait.begin > 0.1


def test_another_clock() -> None:
    whole = Recorder(10.0, 20.0)
    whole.span("forward", 11.0, 12.0)
    whole.span("late", 19.0, 21.0)
    whole.collectives += [_collective(9.0, 10.0, 11.0), _collective(21.0, None, 22.0)]
    whole.waits += [Wait(_collective(9.0, 10.5, 11.0), 9.5, 11.0)]
    moved = whole.shifted(100.0)
    assert (moved.begin, moved.end, moved.spans) == (110.0, 120.0, [Span("forward", 111.0, 112.0)])
    assert moved.collectives == [_collective(109.0, 110.0, 111.0)]
    (wait,) = moved.waits
    assert (wait.begin, wait.joined, wait.end) == (110.0, 110.5, 111.0)


def test_when_ranks_had_joined() -> None:
    cases = {None: 3.0, 1.0: 2.0, 2.5: 2.5, 7.0: 3.0}
    assert {j: Wait(_collective(0.0, j, 3.0), 2.0, 3.0).joined for j in cases} == cases
