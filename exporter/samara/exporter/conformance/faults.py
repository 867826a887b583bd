# SPDX-License-Identifier: Apache-2.0
"""A device that is lost, and one that runs out of memory: the answers stay right.

Functions of the backend's table fail before they reach it (samara.pybridge.faults), so that every
backend can be asked, and none needs a way to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.scorecard import Part
from samara.exporter.types import SamaraError
from samara.pybridge import Backend
from samara.pybridge.faults import Faults

LOST, MEMORY = "lost device", "out of memory"
_CALLS = {LOST: ("compile", "copy", "submit", "wait"), MEMORY: ("load", "allocate")}
_AT_CALLS = (1, 2, 3, -1)  # -1: all of them
_AT_SUBMISSIONS = (1, 2, 3, 5, 8)
_QUESTIONS = 12


@dataclass
class _Seen:
    """What happened while the device was made to fail."""

    runs: int = 0
    failed: int = 0  # sessions on a device that failed, which is what should happen
    wrong: list[str] = field(default_factory=list)

    def part(self, name: str) -> Part:
        if self.wrong:
            return Part(
                name, "failed", f"{len(self.wrong)} of {self.runs}, the first: {self.wrong[0]}"
            )
        if not self.failed:
            return Part(name, "NOT RUN", "no session called what was to fail")
        told = f"{self.failed} of {self.runs} sessions went over to the CPU; all answers are right"
        return Part(name, "passed", told)


def check_faults(faults: Faults, questions: Sequence[Question]) -> list[Part]:
    """Let every function of the device fail, and the device be lost, under some of the questions."""
    if not questions:
        return [Part(n, "NOT RUN", "the device supports no operator") for n in (LOST, MEMORY)]
    step = max(1, len(questions) // _QUESTIONS)
    chosen = questions[::step][:_QUESTIONS]
    seen = {LOST: _Seen(), MEMORY: _Seen()}
    try:
        for part, functions in _CALLS.items():
            for function in functions:
                for at in _AT_CALLS:
                    faults.fail(function, at)
                    how = f"every call of {function}" if at < 0 else f"call {at} of {function}"
                    _ask(faults.open, chosen, f"{how} failed", seen[part])
                    faults.reset()
        for at in _AT_SUBMISSIONS:
            faults.lose(at)
            _ask(faults.open, chosen, f"lost at submission {at}", seen[LOST])
            faults.reset()
    finally:
        faults.reset()
    for found in seen.values():
        _recovered(faults.open, chosen[0], found)
    return [found.part(name) for name, found in seen.items()]


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
