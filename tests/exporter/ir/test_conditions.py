# SPDX-License-Identifier: Apache-2.0
"""Conditions in words, and the values that satisfy them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Builder, ProgramBuilder, Value
from samara.exporter.ir.conditions import Condition, condition_of, size_condition
from samara.exporter.types import Dim, as_dim, deq, floordiv, sym


def function() -> tuple[Builder, Value, Value]:
    b = ProgramBuilder().function("main")
    return b, b.input("sr", "i64", ()), b.input("flag", "bool", ())


Build = Callable[[Builder, Value, Value], Any]


@pytest.mark.parametrize(
    ("build", "holds", "fails", "values"),
    [
        (lambda b, sr, f: b.op("eq", sr, 16000), "sr == 16000", "sr != 16000", {"sr": "16000"}),
        (lambda b, sr, f: b.op("lt", b.const(np.int64(8)), sr), "sr > 8", "sr <= 8", {}),
        (lambda b, sr, f: b.op("le", sr, 8), "sr <= 8", "sr > 8", {}),
        (lambda b, sr, f: f, "flag is true", "flag is false", {"flag": "true"}),
        (
            lambda b, sr, f: b.op("logical_and", f, b.op("eq", b.op("cast", sr, to="f32"), 4.0)),
            "flag is true and sr == 4",
            "flag is false or sr != 4",
            {"flag": "true", "sr": "4"},
        ),
        (
            lambda b, sr, f: b.op("logical_not", b.op("logical_or", f, b.op("lt", sr, 5))),
            "flag is false and sr >= 5",
            "flag is true or sr < 5",
            {},
        ),
        (
            lambda b, sr, f: b.op("eq", b.op("mul", sr, sr, name="square"), 4),
            "square == 4",
            "square != 4",
            {},
        ),
        (lambda b, sr, f: b.op("cast", sr, to="bool"), "sr != 0", "sr == 0", {}),
    ],
)  # fmt: skip
def test_of_tensors(build: Build, holds: str, fails: str, values: dict[str, str]) -> None:
    b, sr, flag = function()
    value = build(b, sr, flag)
    for where in (b, b.child("then")):  # the child captures it
        inner = where.resolve(value)
        assert condition_of(where, inner, True) == Condition(holds, values)
        assert condition_of(where, inner, False).text == fails
        assert condition_of(where, inner, True).direct == ("square" not in holds)
    if values:
        frozen = " ".join(f"--const {k}={v}" for k, v in values.items())
        advice = f"{holds}: feed that, or freeze it at export ({frozen})"
        assert condition_of(b, value, True).advice() == advice


def test_a_flag_that_must_be_false() -> None:
    b, _, flag = function()
    value = b.op("logical_not", flag)
    assert condition_of(b, value, True).values == {"flag": "false"}


def test_of_sizes() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", ["n", 3])
    b.input("y", "f32", ["y.0"])
    (n, _) = x.type.shape
    assert size_condition(b, deq(n, 3), True).text == "n == 3 (n is axis 0 of 'x')"
    assert size_condition(b, 1 - deq(n, 3), True).text == "n != 3 (n is axis 0 of 'x')"
    assert size_condition(b, deq(sym("y.0"), 3), False).text == "y.0 != 3"
    rows: Dim = floordiv(n + 7, 4)
    said = size_condition(b, deq(rows, 3), True).text
    assert said == "(n + 3)//4 == 2, as for n = 5 … 8 (n is axis 0 of 'x')"
    assert size_condition(b, as_dim(n), False).text.startswith("n is 0")
