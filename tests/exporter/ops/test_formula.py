# SPDX-License-Identifier: Apache-2.0
"""Formulas: expressions of symbols in NumPy and in C."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable

import numpy as np
import numpy.typing
import pytest

from samara.exporter.ops import all_ops
from samara.exporter.ops import formula as f


def said(value: Callable[..., f.Number], dialect: f.Dialect = f.VECTORS) -> str:
    made = f.formula("test", value)
    return dialect.say(made.value, {n: n for n in made.symbols})


@pytest.mark.parametrize(
    ("value", "vectors", "doubles"),
    [
        (lambda x: -x, "N(neg)(x)", "(-x)"),
        (lambda x, a: x + a * x, "N(add)(x, N(mul)(a, x))", "(x + (a * x))"),
        (lambda x: 1 / x - 0.1, "N(sub)(N(div)(N(set1)(1.0f), x), N(set1)(0.1f))", "((1.0 / x) - 0.1)"),
        (lambda x: 2 - (x + 0), "N(sub)(N(set1)(2.0f), N(add)(x, N(zero)()))", "(2.0 - (x + 0.0))"),
        (lambda x: 1e-20 + 3 * x, "N(add)(N(set1)(1e-20f), N(mul)(N(set1)(3.0f), x))", "(1e-20 + (3.0 * x))"),
        (lambda x: f.select(f.is_nan(x), 0, x), "N(select)(N(ne)(x, x), N(zero)(), x)", "((x != x) ? 0.0 : x)"),
        (lambda x, a: f.select(a <= x, a, x), "N(select)(N(le)(a, x), a, x)", "((a <= x) ? a : x)"),
        (lambda x, a: f.minimum(x, a), "N(min)(x, a)", "(x < a ? x : a)"),
        (lambda x: f.rint(f.absolute(x)), "N(rint)(N(abs)(x))", "nearbyint(fabs(x))"),
        (lambda x: f.fma(x, 2, x), "N(fma)(x, N(set1)(2.0f), x)", "fma(x, 2.0, x)"),
        (f.log, "N(log)(x)", "log(x)"),
    ],
)  # fmt: skip
def test_expressions_in_c(value: Callable[..., f.Number], vectors: str, doubles: str) -> None:
    assert said(value) == vectors
    assert said(value, f.DOUBLES) == doubles


@pytest.mark.parametrize("value", [math.sqrt(2 / math.pi), 1 / 6, 0.044715, 3e38, 1e-45])
def test_constants_keep_their_bits(value: float) -> None:
    text = said(lambda x: x * value)
    inner = text.removeprefix("N(mul)(x, N(set1)(").removesuffix("f))")
    assert np.float32(inner) == np.float32(value)
    inner = said(lambda x: x * value, f.DOUBLES).removeprefix("(x * ").removesuffix(")")
    assert float(inner) == value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_has_the_dtype_of_its_operands(dtype: type) -> None:
    x: np.typing.NDArray[typing.Any] = np.array([-1, 0, 2, math.nan]).astype(dtype)
    made = f.formula("test", lambda x, slope: f.maximum(x * slope, 0.1) + 1)
    y = made.evaluate(x, slope=0.3, other=7)
    assert y.dtype == dtype
    want = np.maximum(x * dtype(0.3), dtype(0.1)) + dtype(1)
    np.testing.assert_array_equal(y, want)


def test_every_operation_runs_in_numpy() -> None:
    used = {e.op for op in all_ops() for made in op.formulas for e in f.walk(made.value)}
    leaves = {"symbol", "constant"}
    assert used - leaves <= f._NUMPY.keys()
    assert f._NUMPY.keys() >= f._LONG


def test_attributes_choose_the_formula() -> None:
    modes = (
        f.formula("once", lambda x: x + 1, when={"mode": "once"}),
        f.formula("twice", lambda x: x + 2, when={"mode": "twice"}),
    )
    reference = f.reference_of(modes)
    x = np.zeros(2, np.float32)
    assert reference(x, mode="once")[0] == 1
    assert reference(x, mode="twice")[0] == 2


def test_formulas_of_other_symbols_are_refused() -> None:
    with pytest.raises(ValueError, match="other symbols"):
        f.formula("test", lambda x, a: x * a, double=lambda x: x)


def test_long_ones_are_known() -> None:
    long = {m.name for op in all_ops() for m in op.formulas if m.is_long}
    assert {"exp", "elu", "silu", "gelu_tanh", "atanh"} <= long
    assert long.isdisjoint({"neg", "sqrt", "rsqrt", "hard_swish", "clamp"})


def test_masks_are_no_numbers() -> None:
    assert f.Number not in f.Mask.__mro__
    x = f.Symbol("symbol", name="x")
    with pytest.raises(TypeError):
        typing.cast(typing.Any, x > 0) + 1
