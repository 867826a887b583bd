# SPDX-License-Identifier: Apache-2.0
"""Truth values, numbers and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend.graph import GraphTensor
from samara.exporter.frontend.script import values
from samara.exporter.frontend.script.tracer import ScriptTracer
from samara.exporter.types import Dim, DType, as_dim, sym


def test_only_a_script_has_a_tracer() -> None:
    with pytest.raises(samara.ScriptError, match="after the capture has ended"):
        values.script_tracer()


def test_truths(tracer: ScriptTracer) -> None:
    x = tracer.input("x", np.ones((1, 1), np.float32), {})
    assert values.truth([]) is False
    assert values.truth(samara.tensor(3.0)) is True
    assert values.truth(values.traced(samara.tensor(0.0))) is False
    holds = values.truth(x)
    assert isinstance(holds, GraphTensor)
    assert holds.shape == ()
    assert holds.dtype == np.bool_
    size = values.truth(sym("n"))
    assert isinstance(size, GraphTensor)
    wide = tracer.input("wide", np.ones(3, np.float32), {})
    with pytest.raises(samara.ScriptError, match=r"shape \[3\]"):
        values.truth(wide)


def test_what_is_traced(tracer: ScriptTracer) -> None:
    assert values.is_traced(sym("n"))
    assert values.is_traced(values.traced(1))
    assert not values.is_traced(as_dim(3))
    assert not values.is_traced(samara.ones(1))
    assert not values.is_traced(3)


def test_sizes(tracer: ScriptTracer) -> None:
    n = tracer.input("n", np.array(2), {})
    size = values.as_size(n)
    assert isinstance(size, Dim)
    assert values.as_size((n, [3, n])) == (size, [3, size])
    assert values.as_size(slice(None, n)) == slice(None, size)
    assert values.as_size("n") == "n"


@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [
        (1, 2, DType.I64),
        (True, 2, DType.I64),
        (True, False, DType.BOOL),
        (1, 2.5, DType.F32),
        (1, samara.ones(1), DType.F32),
        (True, samara.ones(1, dtype=samara.int32), DType.I32),
        (1.5, samara.ones(1, dtype=samara.int32), None),
        (1, samara.ones(1) > 0, None),
        (samara.ones(1), samara.ones(1, dtype=samara.int64), None),
        (as_dim(3), 1.0, DType.F32),
    ],
)
def test_common_dtypes(a: Any, b: Any, dtype: DType | None) -> None:
    assert values.common_dtype(a, b) is dtype
    assert values.common_dtype(b, a) is dtype


def test_lifted_numbers_take_the_dtype(tracer: ScriptTracer) -> None:
    got = values.lifted(2, DType.F32)
    assert got.dtype == np.float32
    assert got._value.constant == 2.0
    assert values.lifted(sym("n"), DType.I64).dtype == np.int64


def test_unbound_variables(tracer: ScriptTracer) -> None:
    assert values.use(5) == 5
    with pytest.raises(UnboundLocalError):
        values.use(values.Unbound("y"))
    with pytest.raises(samara.ScriptError, match="because"):
        values.use(values.Unbound("y", "because"))


def test_descriptions() -> None:
    assert values.describe(samara.ones(2, 3)) == "float32[2, 3]"
    assert values.describe([1, 2]) == "list of 2"
    assert values.describe(None) == "the Python value None"
    assert values.describe(object()) == "a Python object"
    assert values.describe(values.Unbound("x")) == "nothing"
