# SPDX-License-Identifier: Apache-2.0
"""Constants, ranges and filled tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from tests.exporter.importers.onnx.models import (
    Case,
    built,
    check,
    ints,
    kinds,
    normal,
    parse,
    refused,
    scalar,
)

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import LimitError, SamaraError, UnsupportedError


def constant(**attrs: Any) -> onnx.ModelProto:
    node = oh.make_node("Constant", [], ["y"], **attrs)
    return built([node], {}, ["y"], opset=13, ir_version=8)


@pytest.mark.parametrize(
    ("attrs", "want"),
    [
        ({"value": onnx.numpy_helper.from_array(normal(2, 3))}, normal(2, 3)),
        ({"value_float": 1.5}, scalar(1.5)),
        ({"value_floats": [1.5, 2.0]}, np.array([1.5, 2.0], np.float32)),
        ({"value_int": 3}, scalar(3, np.int64)),
        ({"value_ints": [3, 4]}, ints(3, 4)),
    ],
)
def test_constant(attrs: dict[str, Any], want: np.ndarray[Any, Any]) -> None:
    got = import_onnx(constant(**attrs)).run({})["y"]
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_a_text_is_no_tensor() -> None:
    refused(constant(value_string="text"), UnsupportedError, "string constant")


@pytest.mark.parametrize("value", [None, 2.5, 7])
def test_constant_of_shape(value: float | None) -> None:
    attrs = {}
    if value is not None:
        dtype = np.int64 if isinstance(value, int) else np.float32
        attrs = {"value": onnx.numpy_helper.from_array(np.array([value], dtype))}
    Case("ConstantOfShape", [ints(2, 3)], attrs, constants=(0,)).check()
    Case("ConstantOfShape", [ints(2, 3)], attrs).check()


@pytest.mark.parametrize(
    ("start", "limit", "delta"), [(0, 5, 1), (5, 0, -2), (3, 3, 1), (3, 1, 1), (-2, 7, 3)]
)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32])
@pytest.mark.parametrize("constants", [(), (0, 2), (0, 1, 2)])
def test_range(start: int, limit: int, delta: int, dtype: type, constants: tuple[int, ...]) -> None:
    inputs: list[Any] = [np.array(v, dtype) for v in (start, limit, delta)]
    Case("Range", inputs, constants=constants).check()


def test_range_of_a_dim_is_an_iota() -> None:
    model = parse("""g (float[n, 3] x) => (int64[m] y) {
        s = Shape(x)  zero = Constant<value_int = 0>()  one = Constant<value_int = 1>()
        n = Gather(s, zero)  y = Range(zero, n, one) }""")
    program = check(model, {"x": normal(4, 3)}, {"x": normal(1, 3)})
    assert kinds(program) == ["iota"]


def test_a_step_of_0_is_no_crash() -> None:
    inputs = [scalar(n, np.int64) for n in (0, 5, 0)]
    Case("Range", inputs, constants=(2,)).fails((SamaraError, LimitError))


def test_float16_range() -> None:
    inputs = [np.array(v, np.float16) for v in (1.0, 5.0, 1.5)]
    got = Case("Range", inputs).run()["y0"]
    np.testing.assert_array_equal(got, np.arange(1.0, 5.0, 1.5).astype(np.float16))


def test_shape_and_size() -> None:
    model = parse("""g (float[n, 3, k] x) => (int64[r] a, int64[r] b, int64 c) {
        a = Shape(x)  b = Shape<start = -2, end = 3>(x)  c = Size(x) }""")
    check(model, {"x": normal(2, 3, 4)}, {"x": normal(0, 3, 1)})
