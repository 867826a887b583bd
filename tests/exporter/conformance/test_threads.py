# SPDX-License-Identifier: Apache-2.0
"""Several threads on one device."""

from __future__ import annotations

import ctypes

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.threads import check_threads
from samara.pybridge import Backend


def test_a_device_that_passes(mirror: Backend, proven: list[Question]) -> None:
    part = check_threads(mirror, proven)
    assert part.state == "passed"
    assert f"{len(proven)} programs" in part.detail


def test_a_lie_is_found(mirror: Backend, proven: list[Question], mirror_hooks: ctypes.CDLL) -> None:
    # No answer shows a lie in what a view leaves out, or in an output without elements.
    static = [question for question in proven if question.name.endswith("static")]
    whole = [q for q in static if all(y.size for y in q.want.values())]
    mirror_hooks.mirror_lie(9)
    part = check_threads(mirror, whole)
    assert part.state == "failed"
    assert "the first: " in part.detail


def test_nothing_to_run(mirror: Backend) -> None:
    assert check_threads(mirror, []).state == "NOT RUN"
