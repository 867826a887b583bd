# SPDX-License-Identifier: Apache-2.0
"""Sessions that are not strict."""

from __future__ import annotations

import ctypes

from samara.exporter.conformance.accuracy import check_accuracy
from samara.exporter.conformance.answers import Question
from samara.pybridge import Backend


def test_a_device_that_passes(mirror: Backend, proven: list[Question]) -> None:
    part = check_accuracy(mirror, proven)
    assert part.state == "passed", part.detail
    assert "of default accuracy" in part.detail


def test_a_lie_is_found(mirror: Backend, proven: list[Question], mirror_hooks: ctypes.CDLL) -> None:
    whole = [question for question in proven if question.name.endswith("static")]
    mirror_hooks.mirror_lie(1)
    part = check_accuracy(mirror, whole)
    assert part.state == "failed"
    assert "output y0: " in part.detail


def test_a_failure_is_found(
    mirror: Backend, proven: list[Question], mirror_hooks: ctypes.CDLL
) -> None:
    mirror_hooks.mirror_fail(b"submit", -1)
    assert "of submit fails" in check_accuracy(mirror, proven).detail


def test_nothing_to_run(mirror: Backend) -> None:
    assert check_accuracy(mirror, []).state == "NOT RUN"
