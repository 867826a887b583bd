# SPDX-License-Identifier: Apache-2.0
"""Narrow element types around operators without them: the answers, and what is not widened."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from tests.exporter.importers.onnx.models import (
    Array,
    Case,
    answer,
    built,
    kinds,
    native,
    parse,
    refused,
)

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import DType, ShapeError, UnsupportedError

BF16 = np.dtype(ml_dtypes.bfloat16)


def brief(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(BF16)


def model_of(op: str, feeds: dict[str, Array], **attrs: Any) -> onnx.ModelProto:
    node = onnx.helper.make_node(op, list(feeds), ["y"], name="tested", **attrs)
    return built([node], feeds, ["y"])


@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Div", "Max"])
def test_bfloat16_is_rounded_once_per_node(op: str) -> None:
    feeds = {"a": brief(3, 7), "b": brief(7, seed=1)}
    wide = {"Add": np.add, "Mul": np.multiply, "Sub": np.subtract, "Div": np.divide}
    a, b = (x.astype(np.float32) for x in feeds.values())
    want = wide.get(op, np.maximum)(a, b).astype(BF16)
    np.testing.assert_array_equal(answer(model_of(op, feeds), feeds)["y"], want)


def test_bfloat16_model_with_weights() -> None:
    w, x = brief(8, 5), brief(2, 8, seed=3)
    model = parse("m (bfloat16[2, 8] x) => (bfloat16[2, 5] y) { t = MatMul(x, w) \n y = Relu(t) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    product = (x.astype(np.float64) @ w.astype(np.float64)).astype(np.float32)
    got = answer(model, {"x": x})["y"]
    want = np.maximum(product, 0)
    np.testing.assert_allclose(got.astype(np.float32), want, rtol=2**-7, atol=1e-6)


def test_comparisons_and_positions_stay_as_they_are() -> None:
    feeds = {"a": brief(4, 3), "b": brief(4, 3, seed=1)}
    got = answer(model_of("Less", feeds), feeds)["y"]
    np.testing.assert_array_equal(got, feeds["a"] < feeds["b"])
    x = {"x": np.array([[3, 9, 1], [2**32 - 1, 0, 5]], np.uint32)}
    got = answer(model_of("ArgMax", x, axis=1, keepdims=0), x)["y"]
    assert got.dtype == np.int64
    assert got.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.uint32])
@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Max", "Neg"])
def test_narrow_integers_wrap(op: str, dtype: Any) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, info.max, 7], dtype)
    b = np.array([info.max, info.max, 1, 3], dtype)
    with np.errstate(all="ignore"):
        table: dict[str, Any] = {
            "Add": a + b, "Mul": a * b, "Sub": a - b, "Max": np.maximum(a, b), "Neg": -a
        }  # fmt: skip
    if op == "Neg" and info.min == 0:
        return  # ONNX negates signed types only
    feeds = {"a": a} if op == "Neg" else {"a": a, "b": b}
    np.testing.assert_array_equal(answer(model_of(op, feeds), feeds)["y"], table[op])


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_four_bits_move_as_bytes(dtype: Any) -> None:
    feeds = {"x": np.arange(-7, 8).astype(dtype).reshape(3, 5)}
    got = answer(model_of("Transpose", feeds, perm=[1, 0]), feeds)["y"]
    np.testing.assert_array_equal(got, feeds["x"].T)
    feeds = {"a": feeds["x"], "b": feeds["x"][:1]}
    got = answer(model_of("Concat", feeds, axis=0), feeds)["y"]
    np.testing.assert_array_equal(got, np.concatenate([feeds["a"], feeds["b"]]))


def test_float16_where_only_float32_is_known() -> None:
    case = Case("Det", [np.eye(3, dtype=np.float16)[None] * np.float16(2)], opset=11)
    (got,) = native(import_onnx(case.model()), case.feeds())
    assert got["y0"].dtype == np.float16
    assert got["y0"].tolist() == [8.0]


def test_operators_that_have_the_type_are_left_alone() -> None:
    feeds = {"x": brief(2, 3)}
    program = import_onnx(model_of("Transpose", feeds, perm=[1, 0]))
    assert kinds(program) == ["transpose"]
    assert program.main.outputs[0].type.dtype is DType.BF16
    doubles = {"a": np.ones(3), "b": np.ones(3)}
    assert kinds(import_onnx(model_of("Add", doubles))) == ["add"]


def test_doubles_that_nothing_replaces_are_refused() -> None:
    feeds = {"x": np.ones((1, 2, 5, 5)), "w": np.ones((3, 2, 3, 3))}
    caught = refused(model_of("Conv", feeds), UnsupportedError, "conv is not computed in float64")
    assert "float32" in str(caught)


def test_operands_of_two_types_are_refused() -> None:
    for other in (BF16, np.dtype(np.float64)):
        feeds = {"a": np.ones(3, np.float32), "b": np.ones(3).astype(other)}
        refused(model_of("Add", feeds), ShapeError, "but b is")


def test_shape_errors_are_not_hidden() -> None:
    feeds = {"a": brief(2, 3), "b": brief(4, 5)}
    with pytest.raises(Exception, match="axis"):
        import_onnx(model_of("Concat", feeds, axis=0))
