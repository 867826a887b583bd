# SPDX-License-Identifier: Apache-2.0
"""The coverage page counts by group and operator, and says how far integers are from LiteRT's."""

from __future__ import annotations

from typing import Any

import pytest
from tools.tflite_page import Result, page, unexplained


def case(name: str, group: str, verdict: str, reason: str = "", **more: Any) -> Result:
    op, kind, _ = name.split()
    return Result(name, "pointwise", op, kind, group, kind, verdict, reason, **more)


def results() -> list[Result]:
    return [
        case("ABS float32 a", "core", "right"),
        case("ABS int8 a", "core", "right", reference=(8, 0, 0), default=(8, 0, 0), exact=(8, 0, 0)),
        case("MUL int8 a", "core", "right", reference=(8, 2, 1), default=(8, 0, 0), is_delegated=True,
             refusal="x"),
        case("MUL int8 b", "core", "wrong", "far", reference=(8, 8, 3), exact=(8, 1, 1)),
        case("EXP int16 b", "extended", "right", by_real=True),
        case("EXP int16 a", "extended", "refused", "x why: a|b fix: c"),
    ]  # fmt: skip


def test_counts() -> None:
    text = page(results(), "litert 1")
    assert "| core | 4 | 3 | 1 |" in text
    assert "| extended | 2 | 1 |  | 1 |" in text
    assert "* ABS (2): float32 1, int8 1" in text
    assert "| MUL | int8 2 | 2 | 1 | 1 |" in text
    assert "litert 1" in text


def test_integers() -> None:
    """A row says which kernels give other integers, why, and what an exact import gives."""
    text = page(results(), "litert 1")
    assert "* ABS: int8\n" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| MUL | int8 | 3")]
    _, _, _, reference, xnnpack, optimized, why, exact, _ = (c.strip() for c in row.split("|"))
    assert (reference, xnnpack, optimized) == ("3, 62 %", "bit-equal", "-")
    assert "rounds twice" in why
    assert exact == "1, 12 %; 1 of 2 refused"
    assert "| EXP | int16 | 1 | LiteRT interpolates in a table" in text


def test_integers_that_vary_have_no_figure() -> None:
    """A kernel that leaves bytes unwritten gives others in each run, and the page would change each time."""
    text = page(
        [case("SUM int16 a", "extended", "right", reference=(8, 8, 9), refusal="x")], "litert 1"
    )
    (row,) = [line for line in text.splitlines() if line.startswith("| SUM | int16 | others")]
    assert "| others in each run | - | - |" in row
    assert "writes a byte of each element" in row


def test_exact_imports() -> None:
    text = page(results(), "litert 1")
    assert "1 of 3 give every integer" in text
    assert "| MUL | int8 | 2 | 1 | 1 |  |" in text


def test_differences_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unexplained(results()) == ["MUL int8, exact import"]
    monkeypatch.setattr("tools.tflite_page.differences_of", lambda *_: ())
    assert unexplained(results()) == ["MUL int8, reference kernels", "MUL int8, exact import"]


def test_reasons() -> None:
    text = page(results(), "litert 1")
    assert "| MUL | int8 | wrong | 1 | `MUL int8 b` | far |" in text
    assert "| EXP | int16 | refused | 1 | `EXP int16 a` | a\\|b |" in text
    assert "SKIP_GRAM" in text
