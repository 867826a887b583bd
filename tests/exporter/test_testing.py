# SPDX-License-Identifier: Apache-2.0
"""The helpers that every operator test leans on: they must fail when they should."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.ops import BOUNDED, Case, all_ops, get_op
from samara.exporter.testing import (
    assert_close,
    case_inputs,
    case_types,
    guards_hold,
    infer_case,
    run_case,
    tolerance,
    with_symbols,
)
from samara.exporter.types import DType, Quant, TensorType, UnsupportedError


def f32(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, np.float32)


def test_inputs_depend_on_the_name_only() -> None:
    op = get_op("add")
    case = Case((("f32", (3,)), ("u8", (50,)), None, ("bool", (9,))), name="a")
    first, again = case_inputs(op, case), case_inputs(op, case)
    for x, y in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, y)
    other = case_inputs(op, Case(case.inputs, name="b"))
    assert other[0] is not None
    assert first[0] is not None
    assert not np.array_equal(first[0], other[0])
    assert first[2] is None
    assert first[3] is not None
    assert first[3].dtype == np.bool_


def test_inputs_stay_in_range() -> None:
    op = get_op("div")
    x, y = case_inputs(op, Case((("f32", (500,)), ("i32", (500,))), low=0.5, high=9))
    assert x is not None
    assert y is not None
    assert 0.5 <= x.min() < 1
    assert 8 < x.max() <= 9
    assert set(np.unique(y)) == set(range(1, 10))


def test_types_of_cases() -> None:
    quant = Quant.per_tensor(0.5)
    case = Case((("qs8", (2,), quant), None, np.zeros((3, 1), np.int64)))
    assert case_types(case) == [
        TensorType.of("qs8", (2,), quant),
        None,
        TensorType.of("i64", (3, 1)),
    ]


def test_symbols_stand_for_sizes() -> None:
    types, values = with_symbols([TensorType.of("f32", (2, 1, 2)), None])
    assert values == {"s2": 2}
    assert str(types[0]) == "f32[s2, 1, s2]"
    add = get_op("add")
    case = Case((("f32", (2,)), ("f32", (3,))))
    said = infer_case(add, case, with_symbols(case_types(case))[0])
    assert guards_hold(said.context, {"s2": 3, "s3": 3}) == []
    assert len(guards_hold(said.context, {"s2": 2, "s3": 3})) == 1
    assert run_case(add, Case((f32(1), f32(2))))[0].tolist() == [3]


def test_equal_results_pass() -> None:
    x = f32(1, np.nan, np.inf, -np.inf)
    assert_close(x, x.copy(), "exp")
    assert_close(x.astype(np.float16), x.astype(np.float16), "exp")
    assert_close(f32(1 + 1e-6), f32(1), "exp")
    assert_close(np.array([True]), np.array([True]), "eq")


@pytest.mark.parametrize(
    ("got", "want", "op"),
    [
        (f32(1 + 1e-5), f32(1), "exp"),
        (f32(1 + 1.2e-7), f32(1), "add"),
        (f32(1), f32(np.nan), "exp"),
        (f32(np.nan), f32(1), "exp"),
        (f32(np.inf), f32(-np.inf), "exp"),
        (f32(1e38), f32(np.inf), "exp"),
        (f32(1), np.array([1.0]), "exp"),
        (f32(1), f32(1, 1), "exp"),
        (np.array([1]), np.array([2]), "add"),
        (np.array([1.004], np.float16), np.array([1], np.float16), "exp"),
        (f32(0, 1, 1.002), f32(0, 1, 1), "model"),
        (np.array([1], np.int8), np.array([4], np.int8), "model"),
        (np.array([1]), np.array([2]), "model"),
        (np.array([0, 1, 1.01], np.float16), np.array([0, 1.01, 1], np.float16), "model"),
    ],
)
def test_unequal_results_fail(got: np.ndarray, want: np.ndarray, op: str) -> None:
    with pytest.raises(AssertionError):
        assert_close(got, want, op)


def test_models_may_differ_a_little() -> None:
    assert_close(f32(0, 100, 1.002), f32(0, 100, 1), "model")
    assert_close(np.array([1], np.int8), np.array([3], np.int8), "model")
    assert_close(f32(0, 1, 0.51), f32(0, 1, 0.5), "model", DType.F16)


def test_tolerances() -> None:
    assert tolerance("transpose", "f16") == (0.0, 0.0)
    assert tolerance("conv", "i8") == (0.0, 0.0)
    assert tolerance("exp", "f32") < tolerance("exp", "f16")
    assert tolerance("add", "f32") == (0.0, 0.0) < tolerance("add", "f16")


def test_documentation_holds_the_table(repo: Path) -> None:
    text = (repo / "docs" / "reference" / "numerics.md").read_text(encoding="utf-8")
    rows: dict[str, tuple[float, float]] = {}
    for names, absolute, relative in re.findall(r"^\| ([^|]+) \| (\S+) \| (\S+) \|$", text, re.M):
        if not absolute[0].isdigit():
            continue
        for name in [""] if names == "any other" else names.split():
            rows[name] = (float(absolute), float(relative))
    table = {op.name: op.tolerance.of(DType.F32) for op in all_ops() if op.tolerance is not BOUNDED}
    table[""] = BOUNDED.of(DType.F32)
    assert rows == {k: v for k, v in table.items() if v != (0.0, 0.0)}


def test_an_unknown_operator_has_no_tolerance() -> None:
    with pytest.raises(UnsupportedError, match="no IR operator 'exq'"):
        tolerance("exq", "f32")
