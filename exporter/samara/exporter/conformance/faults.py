# SPDX-License-Identifier: Apache-2.0
"""Test that outputs stay right if a device is lost or runs out of memory.

The functions of the backend's table fail before the backend is called (samara.pybridge.faults), so this
works for every backend, and no backend needs a way to fail.
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
    """The results of the runs with a failing device."""

    runs: int = 0
    failed: int = 0  # sessions that went over to the CPU, as they should
    wrong: list[str] = field(default_factory=list)

    def part(self, name: str) -> Part:
        if self.wrong:
            return Part(
                name, "failed", f"{len(self.wrong)} of {self.runs}, the first: {self.wrong[0]}"
            )
        if not self.failed:
            return Part(name, "NOT RUN", "no session called a function that was made to fail")
        told = f"{self.failed} of {self.runs} sessions went over to the CPU; all answers are right"
        return Part(name, "passed", told)


def check_faults(faults: Faults, questions: Sequence[Question]) -> list[Part]:
    """Make each function of the device fail, and lose the device, while some of the programs run."""
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
    """Run on a device that fails somewhere. Every output must be right."""
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
    """Check that the device works after it is opened again."""
    wrong = question.asked(question.session(open_device()))
    if wrong:
        seen.wrong.append(f"opened again afterwards: {question.name}: {wrong}")
