# SPDX-License-Identifier: Apache-2.0
"""Scorecards: totals, verdicts, and what their text shows."""

from __future__ import annotations

import json

from samara.exporter.conformance.scorecard import Part, Scorecard, ScoreRow
from samara.pybridge import Device

DEVICE = Device("npu:0", "Imaginary NPU", "1.0", 1 << 30, 1, False)
RAN = Part("several threads", "passed", "4 threads")


def _card(*rows: ScoreRow, parts: tuple[Part, ...] = (RAN,)) -> Scorecard:
    return Scorecard("libnpu.so", DEVICE, "0.7.0", False, rows, parts)


def _row(op: str, dtype: str, passed: int, failed: int = 0, refused: int = 0) -> ScoreRow:
    failure = f"{op}-0 static: output y0: 1 of 4 elements differ" if failed else ""
    reasons = (f"{op} is not supported",) if refused else ()
    return ScoreRow(op, dtype, passed + failed, passed, failed, refused, failure, reasons)


def test_passed() -> None:
    card = _card(
        _row("add", "f32", 3), _row("add", "qs8", 0, refused=2), _row("relu", "f32", 0, 0, 9)
    )
    assert card.passed
    assert card.totals() == {
        "operators": 2,
        "operators_supported": 1,
        "operators_failed": 0,
        "supported": 3,
        "passed": 3,
        "failed": 0,
        "refused": 11,
    }
    text = card.text()
    assert text.startswith("npu:0: Imaginary NPU, driver 1.0, 1 GiB")
    assert "is not supported: add (qs8), relu" in text
    assert text.endswith("passed: 1 of 2 operators, 3 checks passed, 0 failed, 11 refused")


def test_one_failure_fails_all() -> None:
    card = _card(_row("add", "f32", 3, 1))
    assert not card.passed
    assert "add f32: add-0 static: output y0" in card.text()
    assert card.text().splitlines()[-1].startswith("FAILED: ")
    lost = Part("lost device", "failed", "a wrong answer")
    assert not _card(_row("add", "f32", 3), parts=(lost,)).passed


def test_what_did_not_run_is_said_and_is_no_pass() -> None:
    missing = Part("out of memory", "NOT RUN", "no hook")
    card = _card(_row("add", "f32", 3), parts=(RAN, missing))
    assert card.passed
    assert card.text().endswith("; NOT RUN: out of memory")
    nothing = _card(_row("add", "f32", 0, refused=3), parts=(missing,))
    assert not nothing.passed
    assert nothing.text().endswith("FAILED: the device supports none of 1 operators")


def test_many_failures_are_cut_in_the_text_alone() -> None:
    card = _card(*(_row(f"op{i}", "f32", 0, 1) for i in range(30)))
    assert "and 10 more; --json has all" in card.text()
    facts = json.loads(json.dumps(card.to_json()))
    assert len(facts["rows"]) == 30
    assert facts["all_passed"] is False
