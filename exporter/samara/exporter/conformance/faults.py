# SPDX-License-Identifier: Apache-2.0
"""A device that is lost, and one that runs out of memory: the answers stay right.

A device cannot be made to fail from outside. A backend that wants to be tested brings one of two
hooks (docs/backends.md):

* functions that its library exports, NAME being the backend's: `void NAME_fail(const char
  *function, int at_call)` lets that call of a function of the table fail from here on, and `void
  NAME_reset(void)` ends that;
* the environment variable NAME_FAIL_AT, which a device reads when it is opened: the number of the
  piece of work at which it is lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.scorecard import Part
from samara.exporter.types import SamaraError
from samara.pybridge import Backend
from samara.pybridge.device import is_library

LOST, MEMORY = "lost device", "out of memory"
_CALLS = {LOST: ("compile", "copy", "submit", "wait"), MEMORY: ("load", "allocate")}
_AT_CALLS = (1, 2, 3, -1)  # -1: all of them
_AT_TICKETS = (1, 2, 3, 5, 8)
_QUESTIONS = 12


@dataclass
class _Seen:
    """What happened while the device was made to fail."""

    runs: int = 0
    failed: int = 0  # sessions on a device that failed, which is what should happen
    wrong: list[str] = field(default_factory=list)

    def part(self, name: str, missing: str) -> Part:
        if self.wrong:
            return Part(
                name, "failed", f"{len(self.wrong)} of {self.runs}, the first: {self.wrong[0]}"
            )
        if not self.failed:
            return Part(name, "NOT RUN", missing)
        told = f"{self.failed} of {self.runs} sessions went over to the CPU; all answers are right"
        return Part(name, "passed", told)


def check_faults(
    source: str, name: str, open_device: Callable[[], Backend], questions: Sequence[Question]
) -> list[Part]:
    """Let the device fail in every way that it has a hook for. name: the backend's. open_device: anew,
    for a device that is lost stays so.
    """
    if not questions:
        return [Part(n, "NOT RUN", "the device supports no operator") for n in (LOST, MEMORY)]
    step = max(1, len(questions) // _QUESTIONS)
    chosen = questions[::step][:_QUESTIONS]
    hooks = _hooks(source, name)
    if hooks is not None:
        return [_by_function(part, hooks, open_device, chosen) for part in (LOST, MEMORY)]
    variable = f"{name.upper()}_FAIL_AT"
    seen = _Seen()
    for at in _AT_TICKETS:
        with _environment(variable, str(at)):
            _ask(open_device, chosen, f"{variable}={at}", seen)
    _recovered(open_device, chosen[0], seen)
    missing = f"the backend has no hook: neither {name}_fail nor {variable} lets it fail"
    return [
        seen.part(LOST, missing),
        Part(MEMORY, "NOT RUN", f"the backend exports no {name}_fail"),
    ]


def _by_function(
    part: str,
    hooks: tuple[Callable[[bytes, int], None], Callable[[], None]],
    open_device: Callable[[], Backend],
    questions: Sequence[Question],
) -> Part:
    fail, reset = hooks
    seen = _Seen()
    for function in _CALLS[part]:
        for at in _AT_CALLS:
            try:
                fail(function.encode(), at)
                how = f"every call of {function}" if at < 0 else f"call {at} of {function}"
                _ask(open_device, questions, f"{how} failed", seen)
            finally:
                reset()
    _recovered(open_device, questions[0], seen)
    return seen.part(part, "no call failed when it was told to")


def _ask(
    open_device: Callable[[], Backend], questions: Sequence[Question], how: str, seen: _Seen
) -> None:
    """Ask on a device that fails somewhere. Every answer must be right."""
    backend = open_device()
    for question in questions:
        seen.runs += 1
        try:
            session = question.session(backend)
            for _ in range(3):
                wrong = question.difference(session.run(question.feeds))
                if wrong:
                    seen.wrong.append(f"{how}: {question.name}: {wrong}")
                    break
            seen.failed += bool(session.backend_report().failure)
        except SamaraError as error:
            seen.wrong.append(f"{how}: {question.name}: {error.message}")


def _recovered(open_device: Callable[[], Backend], question: Question, seen: _Seen) -> None:
    """The device opened anew works."""
    wrong = question.asked(question.session(open_device()))
    if wrong:
        seen.wrong.append(f"opened anew afterwards: {question.name}: {wrong}")


def _hooks(
    source: str, name: str
) -> tuple[Callable[[bytes, int], None], Callable[[], None]] | None:
    """The functions of the backend's library that let it fail."""
    if not is_library(source):
        return None
    try:
        library = ctypes.CDLL(os.path.realpath(source) if os.path.exists(source) else source)
        fail, reset = getattr(library, f"{name}_fail"), getattr(library, f"{name}_reset")
    except (OSError, AttributeError):
        return None
    fail.argtypes, fail.restype = (ctypes.c_char_p, ctypes.c_int), None
    reset.argtypes, reset.restype = (), None
    return fail, reset


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
