# SPDX-License-Identifier: Apache-2.0
"""Several threads on one device, each with its own sessions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.scorecard import Part
from samara.exporter.types import SamaraError
from samara.pybridge import Backend

NAME = "several threads"
_THREADS = 4
_RUNS = 5  # of every session


def check_threads(backend: Backend, questions: Sequence[Question]) -> Part:
    """Run all programs from every thread at once, in a different order in each."""
    if not questions:
        return Part(NAME, "NOT RUN", "the device supports no operator")
    for question in questions:  # compute the right outputs first, in one thread
        _ = question.want
    start = threading.Barrier(_THREADS)
    step = max(1, len(questions) // _THREADS)

    def work(thread: int) -> list[str]:
        first = thread * step
        start.wait()
        order = (*questions[first:], *questions[:first])
        return [fault for question in order if (fault := _fault(question, backend))]

    with ThreadPoolExecutor(_THREADS) as pool:
        wrong = [fault for faults in pool.map(work, range(_THREADS)) for fault in faults]
    if wrong:
        return Part(NAME, "failed", f"{len(wrong)} sessions differ, the first: {wrong[0]}")
    runs = _THREADS * len(questions) * _RUNS
    programs = f"{len(questions)} program" + ("s" if len(questions) != 1 else "")
    return Part(NAME, "passed", f"{_THREADS} threads, {runs} runs of {programs}")


def _fault(question: Question, backend: Backend) -> str:
    """What is wrong with the outputs of a new session, or ""."""
    try:
        session = question.session(backend)
    except SamaraError as error:
        return f"{question.name}: there is no session: {error.message}"
    for _ in range(_RUNS):
        fault = question.asked(session)
        if fault:
            return f"{question.name}: {fault}"
    return ""
