# SPDX-License-Identifier: Apache-2.0
"""Progress: runs the collectives of one rank, polls what they wait for, and notices failed ranks.

A collective is a generator that yields the requests it has to wait for. Nothing here blocks in the engine
below, so a wait can end at any time: done, timed out, interrupted, or because another rank has failed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import sysconfig
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from samara.exporter.frontend.distributed._transport import Control, Request
from samara.exporter.frontend.distributed.errors import (
    DistError,
    DistTimeoutError,
    RankFailedError,
)

if TYPE_CHECKING:
    from samara.exporter.frontend.distributed._recorder import Recorder

Steps = Generator[Request, None, Any]

_SPINS: Final = 200  # polls before a wait begins to sleep
_SHORT: Final = 50e-6  # seconds between polls of a wait; the kernel's timers are no finer
_LONG: Final = 1e-3  # seconds between polls of a wait that has taken long, and of the watcher
_IDLE: Final = 20e-3  # seconds between looks of the watcher when nothing is on its way
_ANSWER: Final = 0.5  # seconds to wait for the others' answers where they are


@dataclass(frozen=True, slots=True)
class Call:
    """One collective as this rank called it."""

    text: str  # what and at which line
    group: int  # number of the group
    number: int | None  # how many collectives the group had started before; None: send or receive
    members: Sequence[int]  # ranks that take part
    timeout: float  # seconds that a wait takes by default
    moved: int = 0  # bytes of this rank's data


class Work:
    """A collective on its way, as `async_op=True`, `isend` and `irecv` return it.

    Tensors of a collective must be left alone until `wait` has returned.
    """

    def __init__(self, engine: Engine, steps: Callable[[Work], Steps], call: Call) -> None:
        self.call = call
        self.joined = False  # whether all ranks are known to have called the same
        self.joined_at: float | None = None
        self.started = time.monotonic()
        self.ended: float | None = None
        self.error: BaseException | None = None
        self._engine = engine
        self._steps = steps(self)
        self._request: Request | None = None
        self._result: Any = None

    def is_completed(self) -> bool:
        """Make progress and return whether the collective has ended, well or not."""
        if self.ended is None:
            self._engine.poll()
        return self.ended is not None

    def is_success(self) -> bool:
        """Whether it has ended without an error."""
        return self.is_completed() and self.error is None

    def exception(self) -> BaseException | None:
        """The error that ended it, if any."""
        return self.error

    def wait(self, timeout: float | timedelta | None = None) -> bool:
        """Wait until the result is there; returns True.

        timeout: seconds, or a timedelta; by default the group's, from now on. Raises DistTimeoutError
        if ranks are missing, MismatchError if they called something else, RankFailedError if one failed.
        """
        self._engine.wait(self, timeout)
        return True

    def result(self) -> Any:
        """What the collective returned; tensors as they were given. Waits first."""
        self._engine.wait(self, None)
        return self._result

    def misses(self, started: Mapping[int, int]) -> bool:
        """Whether a rank that has started so many collectives, by group, has not joined this one."""
        if self.joined or self.call.number is None:
            return False
        return started.get(self.call.group, 0) <= self.call.number

    def step(self) -> bool:
        """Go on as far as possible; whether it has ended. Called by the engine, which holds its lock."""
        if self.ended is not None:
            return True
        try:
            while self._request is None or self._request.test():
                self._request = next(self._steps)
        except StopIteration as stopped:
            self._result = stopped.value
        except BaseException as error:
            self.error = error
            self._end()
            if not isinstance(error, Exception):  # Ctrl-C
                raise
        else:
            return False
        self._end()
        return True

    def cancel(self) -> None:
        """Take back a send or a receive that its partner has not answered."""
        cancel = getattr(self._request, "cancel", None)
        if cancel is not None:
            cancel()
        self.fail(DistError(f"{self.call.text} was on its way when its group was destroyed"))

    def fail(self, error: BaseException) -> None:
        """End it with an error. Its buffers stay with the engine below, which may still use them."""
        if self.ended is None:
            self.error = error
            self._engine.abandoned.append(self)
            self._end()

    def _end(self) -> None:
        self.ended = time.monotonic()
        recorder = self._engine.recorder
        if recorder is not None:
            recorder.ended(self, self.ended)


class Engine:
    """The collectives of one rank, in all its groups."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.lock = threading.RLock()
        self.failure: DistError | None = None
        self.recorder: Recorder | None = None  # while a profile runs
        self.abandoned: list[Work] = []
        self.thread = threading.get_ident()  # of the rank's own code
        self._lanes: dict[Any, deque[Work]] = defaultdict(deque)
        self._started: dict[int, int] = {}  # by group: collectives that this rank has started
        self._waiting: Work | None = None
        self._answers: dict[int, dict[str, Any]] = {}
        self.ended: dict[
            int, dict[int, int]
        ] = {}  # ranks that have ended, and what they had started
        self._wake = threading.Event()
        self._closed = False
        self._watcher = threading.Thread(target=self._watch, name="samara ranks", daemon=True)
        self._watcher.start()

    # ---- the rank's own thread

    def start(
        self, lane: Any, steps: Callable[[Work], Steps], call: Call, wake: bool = True
    ) -> Work:
        """Start a collective. Those of one lane run one after the other, in the order of this call.

        wake: whether the watcher shall make progress at once; not needed if a wait follows at once.
        """
        work = Work(self, steps, call)
        with self.lock:
            if self.failure is not None:
                raise _again(self.failure)
            if call.number is not None:
                self._started[call.group] = call.number + 1
            self._lanes[lane].append(work)
            self._advance()
            if wake and work.ended is None:
                self._wake.set()
        return work

    def poll(self) -> None:
        """Make progress wherever possible."""
        with self.lock:
            self._advance()

    def wait(self, work: Work, timeout: Any) -> None:
        """Wait for a collective. See `Work.wait`."""
        seconds = work.call.timeout if timeout is None else seconds_of(timeout)
        deadline = time.monotonic() + seconds
        polls = 0
        begin = deadline - seconds
        self._waiting = work
        try:
            while work.ended is None:
                self.poll()
                if self.ended:
                    self._fail_if_ended(work)
                if time.monotonic() > deadline:
                    self._time_out(work, seconds)
                # Data moves with the polls only. Before that, others may compute for long.
                polls = 0 if work.joined else polls + 1
                if polls < _SPINS:
                    _yield()
                else:
                    time.sleep(_SHORT if polls < 2 * _SPINS else _LONG)
        finally:
            self._waiting = None
            if self.recorder is not None:
                self.recorder.waited(work, begin, time.monotonic())
        if work.error is not None:
            raise _again(work.error)

    def finish(self, group: int) -> None:
        """Wait for what is on its way in a group; receives that nobody has answered are cancelled."""
        for work in self._left({group}):
            if work.call.number is None and "recv(" in work.call.text:
                with self.lock:
                    work.cancel()
            else:
                self.wait(work, None)

    def _left(self, groups: Container[int] | None = None) -> list[Work]:
        with self.lock:
            works = [work for lane in self._lanes.values() for work in lane]
        return [w for w in works if w.ended is None and (groups is None or w.call.group in groups)]

    def close(self, last: Request | None) -> None:
        """Stop. `last` is a barrier of all ranks; others may take hours to come to it."""
        met = last is None
        while self.failure is None:
            self.poll()
            met = met or (last is not None and last.test())
            left = [work for work in self._left() if work.call.number is not None]
            if met and not left:
                break
            for work in left:
                self._fail_if_ended(work)
            time.sleep(_LONG)
        with self.lock:
            for work in self._left():
                work.cancel()
        self._closed = True
        self._wake.set()
        self._watcher.join()
        if self.failure is None:
            self.control.free()

    def fail(self, error: DistError, tell: bool = False) -> None:
        """End everything with an error; from now on nothing can be started. tell: the others too."""
        with self.lock:
            if tell and self.failure is None:
                self._tell(error)
            if self.failure is None:
                self.failure = error
            for lane in self._lanes.values():
                for work in lane:
                    work.fail(self.failure)
            self._lanes.clear()

    def tell_failure(self, error: BaseException) -> None:
        """Tell the other ranks that this one has failed; nothing can be started here any more."""
        text = f"{type(error).__name__}: {error}"
        self._tell(error)
        self.fail(RankFailedError(f"rank {self.control.rank} failed: {text}"))

    def _tell(self, error: BaseException) -> None:
        message, fix = getattr(error, "message", str(error)), getattr(error, "fix", None)
        told = {"kind": "failed", "type": type(error).__name__, "error": message, "fix": fix}
        self.tell_all(told)

    def tell_end(self) -> None:
        """Tell the other ranks that this one starts nothing more."""
        self.tell_all({"kind": "ended", "started": list(self._started.items())})

    def tell_all(self, message: dict[str, Any]) -> None:
        """Tell all other ranks something; see `_hear`."""
        data = json.dumps(message).encode()
        with self.lock:
            for rank in range(self.control.size):
                if rank != self.control.rank:
                    self.control.tell(rank, data)

    # ---- progress

    def _advance(self) -> None:
        for name in list(self._lanes):
            lane = self._lanes.get(name)
            while lane and self._step(lane[0]):
                lane.popleft()
            if not lane:
                self._lanes.pop(name, None)

    def _step(self, work: Work) -> bool:
        """`Work.step`; an error in the midst of a collective ends all, because the others wait for data."""
        try:
            done = work.step()
        except BaseException as error:
            self.tell_failure(error)
            raise
        if done and work.error is not None and not isinstance(work.error, DistError):
            self.tell_failure(work.error)
        return done

    def _watch(self) -> None:
        """Make progress while the rank's own thread computes, and answer the others."""
        while not self._closed:
            busy = bool(self._lanes)
            self._wake.wait(_LONG if busy else _IDLE)
            self._wake.clear()
            if busy:
                time.sleep(_LONG)
            if self._waiting is None:  # a wait polls by itself
                self.poll()
            self.hear()

    def hear(self) -> None:
        """Take in what other ranks have told this one."""
        with self.lock:
            for rank, data in self.control.heard():
                self._hear(rank, json.loads(data))

    def _hear(self, rank: int, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "where?":
            self.control.tell(rank, json.dumps(self._where()).encode())
        elif kind == "here":
            self._answers[rank] = message
        elif kind == "failed":
            self.fail(_failure_of(rank, message["type"], message["error"], message["fix"]))
        elif kind == "ended":
            self.ended[rank] = dict(message["started"])

    # ---- who is missing

    def _fail_if_ended(self, work: Work) -> None:
        call = work.call
        for rank in call.members:
            ended = self.ended.get(rank)
            if ended is not None and work.misses(ended):
                error = RankFailedError(
                    f"{call.text} waits for rank {rank}, which has ended without it",
                    fix="let all ranks run the same number of steps, or use nn.parallel.Join",
                )
                self.fail(error, tell=True)

    def _where(self) -> dict[str, Any]:
        waiting = self._waiting
        return {
            "kind": "here",
            "started": list(self._started.items()),
            "waiting": None if waiting is None else waiting.call.text,
            "at": user_line(sys._current_frames().get(self.thread)),
        }

    def _ask(self, ranks: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Where the other ranks are; those that do not answer soon are left out."""
        expected = set(ranks)
        with self.lock:
            self._answers.clear()
        self.tell_all({"kind": "where?"})
        deadline = time.monotonic() + _ANSWER
        while not expected <= self._answers.keys() and time.monotonic() < deadline:
            self.hear()
            time.sleep(_LONG)
        return dict(self._answers)

    def _time_out(self, work: Work, seconds: float) -> None:
        call = work.call
        others = [r for r in call.members if r != self.control.rank]
        answers = self._ask(others)
        lines = []
        for rank in others:
            answer = answers.get(rank)
            if answer is None:
                lines.append(f"rank {rank} does not answer: it has stopped or hangs in native code")
            elif call.number is None or work.misses(dict(answer["started"])):
                what = answer["waiting"]
                doing = "" if what is None else f", waiting for {what}"
                joined = "" if call.number is None else "has not joined it: it "
                lines.append(f"rank {rank} {joined}is at {answer['at']}{doing}")
        if not lines:
            lines.append("all ranks have joined it, but the data does not arrive")
        error = DistTimeoutError(
            f"{call.text} was not done after {seconds:g} s\n  " + "\n  ".join(lines),
            fix="mend the rank that is missing, or give a longer timeout",
        )
        self.fail(error, tell=True)


def _failure_of(rank: int, kind: str, text: str, fix: str | None) -> DistError:
    """What a rank raises when another one has failed. Some errors name a third one that is to blame."""
    if kind == DistTimeoutError.__name__:
        return DistTimeoutError(f"rank {rank} says: {text}", fix=fix)
    if kind == RankFailedError.__name__:
        return RankFailedError(f"rank {rank} says: {text}", fix=fix)
    return RankFailedError(f"rank {rank} failed: {kind}: {text}", fix=fix)


def _again(error: BaseException) -> BaseException:
    """The error to raise: a copy of ours, whose traceback does not grow each time."""
    if not isinstance(error, DistError):
        return error
    return type(error)(error.message, fix=error.fix)


def _yield() -> None:
    """Let others run, if any wait for this core. time.sleep(0) would take as long as a short sleep."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)


def seconds_of(timeout: Any) -> float:
    """Seconds of a number or a timedelta."""
    total = getattr(timeout, "total_seconds", None)
    return float(timeout) if total is None else float(total())


_LIBRARIES: Final = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "<frozen")


def user_line(frame: FrameType | None) -> str:
    """The innermost line of the user's own code, as "train.py:31 in evaluate"."""
    last = frame
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("samara.") and not frame.f_code.co_filename.startswith(_LIBRARIES):
            return place_of(frame)
        frame = frame.f_back
    return "an unknown line" if last is None else place_of(last)


def place_of(frame: FrameType) -> str:
    """File, line and function of a frame."""
    return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno} in {frame.f_code.co_name}"


@functools.cache
def _short(name: str) -> str:
    """A file's name, relative to the folder where the program runs if it is there."""
    with contextlib.suppress(ValueError, OSError):  # another drive; a folder that is gone
        shorter = os.path.relpath(name)
        name = name if shorter.startswith("..") else shorter
    return name
