# SPDX-License-Identifier: Apache-2.0
"""Progress, timeouts, failures and the end, with ranks that are threads or with made-up requests."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import FrameType
from typing import Any

import pytest

import samara
from samara import distributed as dist
from samara.exporter.frontend.distributed import _engine
from samara.exporter.frontend.distributed._engine import Call, Engine, Steps, Work
from samara.exporter.frontend.distributed._thread_world import ThreadControl, World
from samara.exporter.frontend.distributed.group import world


class _Request:
    """Done when told so, or broken."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.done = False
        self.error = error

    def test(self) -> bool:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.done


def _engines(count: int) -> list[Engine]:
    shared = World(count)
    return [Engine(ThreadControl(shared, rank)) for rank in range(count)]


def _start(engine: Engine, request: _Request, lane: str = "a", number: int | None = 0) -> Work:
    def steps(_work: Work) -> Steps:
        yield request
        return lane

    return engine.start(lane, steps, Call(f"call {lane}", 0, number, (0, 1), 5.0))


def test_lanes_keep_their_order_and_do_not_wait_for_each_other() -> None:
    (engine,) = _engines(1)
    first, second, other = _Request(), _Request(), _Request()
    works = [_start(engine, first), _start(engine, second), _start(engine, other, "b")]
    second.done = other.done = True
    assert works[2].result() == "b"
    assert not works[1].is_completed()
    first.done = True
    assert works[1].wait(timedelta(seconds=1))
    assert works[0].is_success()
    engine.close(None)


def test_the_watcher_makes_progress() -> None:
    (engine,) = _engines(1)
    request = _Request()
    work = _start(engine, request)
    request.done = True
    deadline = time.monotonic() + 1
    while work.ended is None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert work.ended is not None
    engine.close(None)
    assert not engine._watcher.is_alive()


def test_ctrl_c_amid_a_collective() -> None:
    """It ends this rank's part, which is not taken for done; the others are told."""
    one, two = _engines(2)
    one._waiting = _start(two, _Request())  # the watcher keeps away
    with pytest.raises(KeyboardInterrupt):
        _start(one, _Request(KeyboardInterrupt()))
    with pytest.raises(dist.RankFailedError, match="rank 0 failed: KeyboardInterrupt"):
        _start(one, _Request())
    two.hear()
    with pytest.raises(dist.RankFailedError, match="rank 0 failed: KeyboardInterrupt"):
        _start(two, _Request())
    for engine in (one, two):
        engine.close(None)


def test_an_error_amid_a_collective() -> None:
    one, two = _engines(2)
    waiting = _start(two, _Request())
    with pytest.raises(MemoryError):
        _start(one, _Request(MemoryError("too large"))).wait()
    with pytest.raises(dist.RankFailedError, match="rank 0 failed: MemoryError: too large"):
        waiting.wait()
    for engine in (one, two):
        engine.close(None)


def test_errors_are_raised_as_copies() -> None:
    """So tracebacks do not grow, and a program may change or keep each of them."""
    one, two = _engines(2)
    two.tell_failure(ValueError("x"))
    one.hear()
    found = []
    for _ in range(3):
        with pytest.raises(dist.RankFailedError) as caught:
            _start(one, _Request())
        found.append(caught.value)
    assert len({id(error) for error in found}) == 3
    assert {str(error) for error in found} == {"rank 1 failed: ValueError: x"}

    def depth(error: BaseException) -> int:
        count, trace = 0, error.__traceback__
        while trace is not None:
            count, trace = count + 1, trace.tb_next
        return count

    assert len({depth(error) for error in found}) == 1
    for engine in (one, two):
        engine.close(None)


def _timed_out(missing: Callable[[], object], size: int = 3) -> list[str]:
    """What the ranks say if rank 1 calls `missing` while the others wait in a barrier."""
    said = [""] * size

    def check() -> None:
        try:
            if dist.get_rank() == 1:
                missing()
            else:
                dist.monitored_barrier(timeout=0.1)
        except dist.DistTimeoutError as error:
            said[dist.get_rank()] = error.message

    dist.run_threads(check, size)
    return said


def _until_it_fails() -> None:
    deadline = time.monotonic() + 5
    while world().engine.failure is None and time.monotonic() < deadline:
        time.sleep(0.005)


def test_a_timeout_names_the_missing_rank_and_its_line() -> None:
    said = _timed_out(_until_it_fails)
    assert said[1] == ""
    for message in (said[0], said[2]):
        assert "barrier() at " in message
        assert "was not done after 0.1 s" in message
        assert "\n  rank 1 has not joined it: it is at " in message
        assert "test_engine.py:" in message
        assert " in _until_it_fails" in message
        assert "rank 0 has" not in message
        assert "rank 2 has" not in message


def test_a_timeout_names_what_the_missing_rank_waits_for() -> None:
    def elsewhere() -> None:
        dist.recv(samara.zeros(1), 0)

    said = _timed_out(elsewhere)
    assert "rank 1 has not joined it" in said[0]
    assert ", waiting for recv(float32 [1]) from rank 0 at " in said[0]
    assert "rank" in said[1]


def test_a_rank_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "_ANSWER", 0.05)
    one, two = _engines(2)
    two.close(None)  # no watcher answers
    with pytest.raises(dist.DistTimeoutError) as caught:
        _start(one, _Request()).wait(0.01)
    text = "call a was not done after 0.01 s\n  rank 1 does not answer: it has stopped or hangs in"
    assert text in caught.value.message
    one.close(None)


def test_all_have_joined_and_no_data_comes() -> None:
    one, two = _engines(2)
    _start(two, _Request())
    with pytest.raises(dist.DistTimeoutError, match="all ranks have joined it, but the data"):
        _start(one, _Request()).wait(0.01)
    for engine in (one, two):
        engine.close(None)


def test_ended_ranks() -> None:
    """A rank may end before the others if it has joined; what it has not joined fails."""
    one, two = _engines(2)
    request = _Request()
    work = _start(one, request)
    _start(two, request)
    two.tell_end()
    one.hear()
    threading.Timer(0.02, lambda: setattr(request, "done", True)).start()
    assert work.result() == "a"
    with pytest.raises(dist.RankFailedError, match="call b waits for rank 1, which has ended"):
        _start(one, _Request(), "b", 1).wait()
    for engine in (one, two):
        engine.close(None)


def test_close_waits_for_collectives_and_cancels_messages() -> None:
    (engine,) = _engines(1)
    request, barrier = _Request(), _Request()
    work, message = _start(engine, request), _start(engine, _Request(), "recv", None)
    barrier.done = True
    threading.Timer(0.03, lambda: setattr(request, "done", True)).start()
    engine.close(barrier)
    assert work.is_success()
    with pytest.raises(dist.DistError, match="on its way when its group was destroyed"):
        message.wait()


def test_leave_waits_for_the_others_or_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "_GRACE", 0.05)
    one, two = _engines(2)
    one.tell_failure(ValueError())
    started = time.monotonic()
    assert not one.leave()
    assert time.monotonic() - started >= 0.05
    monkeypatch.setattr(_engine, "_GRACE", 60)
    two.tell_end()
    assert one.leave()
    for engine in (one, two):
        engine.close(None)


def test_places() -> None:
    def frame() -> FrameType:
        return sys._getframe(1)

    here = frame()
    assert _engine.place_of(here).endswith(f":{here.f_lineno} in test_places")
    inside: list[str] = []
    contextlib.ExitStack().callback(lambda: inside.append(_engine.user_line(sys._getframe())))()
    assert "test_engine.py:" in inside[0]
    assert _engine.user_line(None) == "an unknown line"
    assert _engine.seconds_of(timedelta(minutes=1)) == 60
    assert _engine.seconds_of(2) == 2


def test_many_threads_of_one_rank() -> None:
    """Works may be waited for, polled and asked in several threads."""

    def check() -> None:
        works = [dist.all_reduce(samara.ones(5000), async_op=True) for _ in range(8)]
        errors: list[Any] = []

        def wait(work: Work) -> None:
            try:
                work.wait()
            except BaseException as error:  # noqa: BLE001 (shown below)
                errors.append(error)

        threads = [threading.Thread(target=wait, args=(w,)) for w in works if w is not None]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors

    dist.run_threads(check, 2)
