# SPDX-License-Identifier: Apache-2.0
"""Several threads, each with sessions of its own, on one device."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.scorecard import Part
from samara.exporter.types import SamaraError
from samara.pybridge import Backend

NAME = "several threads"
_THREADS = 4
_RUNS = 5  # of every session


def check_threads(backend: Backend, questions: Sequence[Question]) -> Part:
    """Ask all of them from every thread at once, in another order each."""
    if not questions:
        return Part(NAME, "NOT RUN", "the device supports no operator")
    for question in questions:  # right answers are made before, by one thread
        _ = question.want
    wrong: list[str] = []
    start = threading.Barrier(_THREADS)

    def work(first: int) -> None:
        start.wait()
        for i in range(len(questions)):
            question = questions[(i + first) % len(questions)]
            try:
                session = question.session(backend)
                for _ in range(_RUNS):
                    fault = question.asked(session)
                    if fault:
                        wrong.append(f"{question.name}: {fault}")
                        break
            except SamaraError as error:
                wrong.append(f"{question.name}: {error}")

    step = max(1, len(questions) // _THREADS)
    workers = [threading.Thread(target=work, args=(k * step,)) for k in range(_THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if wrong:
        return Part(NAME, "failed", f"{len(wrong)} sessions differ, the first: {wrong[0]}")
    runs = _THREADS * len(questions) * _RUNS
    programs = f"{len(questions)} program" + ("s" if len(questions) != 1 else "")
    return Part(NAME, "passed", f"{_THREADS} threads, {runs} runs of {programs}")
