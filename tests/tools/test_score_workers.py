# SPDX-License-Identifier: Apache-2.0
"""Workers answer case by case, and a crash or a hang costs one case."""

from __future__ import annotations

import sys

from tools.score_workers import Failure, Worker, answers, table

_SERVER = """
import os, sys, time
for line in sys.stdin:
    name = line.strip()
    if name == "aborts":
        os.abort()
    if name == "hangs":
        time.sleep(60)
    print('{"verdict": "pass"}', flush=True)
"""
_COMMAND = (sys.executable, "-c", _SERVER)


def verdict(answer: dict[str, str] | Failure) -> str:
    return answer.verdict if isinstance(answer, Failure) else answer["verdict"]


def test_a_crash_and_a_hang_cost_one_case_each() -> None:
    worker = Worker(3.0, _COMMAND)
    names = ("first", "aborts", "second", "hangs", "third")
    try:
        found = {name: verdict(worker.ask(name)) for name in names}
    finally:
        worker.close()
    wanted = ("pass", "crash", "pass", "hang", "pass")
    assert found == dict(zip(names, wanted, strict=True))


def test_several_workers_answer_everything() -> None:
    names = [f"case {i}" for i in range(5)]
    found = {request: verdict(a) for request, a in answers(names, 2, 10.0, _COMMAND)}
    assert found == dict.fromkeys(names, "pass")


def test_table() -> None:
    assert table(("a", "b"), [(1, "x")]) == "| a | b |\n|---|---|\n| 1 | x |\n"
