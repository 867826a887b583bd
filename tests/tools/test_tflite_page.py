# SPDX-License-Identifier: Apache-2.0
"""The coverage page counts by group and operator, and says how far integers are from LiteRT's."""

from __future__ import annotations

from tools.tflite_page import Result, page


def results() -> list[Result]:
    return [
        Result("ABS float32 a", "pointwise", "ABS", "float32", "core", "right"),
        Result("ABS int8 a", "pointwise", "ABS", "int8", "core", "right", "", (8, 0, 0), (8, 0, 0)),
        Result("MUL int8 a", "pointwise", "MUL", "int8", "core", "right", "", (8, 2, 1), (8, 0, 0)),
        Result("MUL int8 b", "pointwise", "MUL", "int8", "core", "wrong", "far", (8, 8, 3), None),
        Result("EXP int16 b", "pointwise", "EXP", "int16", "extended", "right", by_real=True),
        Result("EXP int16 a", "pointwise", "EXP", "int16", "extended", "refused", "x why: a|b fix: c"),
    ]  # fmt: skip


def test_counts() -> None:
    text = page(results(), "litert 1", {("EXP", "int16"): "a table"})
    assert "| core | 4 | 3 | 1 |" in text
    assert "| extended | 2 | 1 |  | 1 |" in text
    assert "* ABS (2): float32 1, int8 1" in text
    assert "| MUL | int8 2 | 2 | 1 | 1 |" in text
    assert "litert 1" in text


def test_integers() -> None:
    text = page(results(), "litert 1", {("EXP", "int16"): "a table"})
    assert "* ABS: int8\n" in text
    assert "| MUL | int8 | 3, 62 % | bit-equal |" in text
    assert "| EXP | int16 | 1 | a table |" in text


def test_reasons() -> None:
    text = page(results(), "litert 1", {})
    assert "| MUL | int8 | wrong | 1 | `MUL int8 b` | far |" in text
    assert "| EXP | int16 | refused | 1 | `EXP int16 a` | a\\|b |" in text
    assert "SKIP_GRAM" in text
