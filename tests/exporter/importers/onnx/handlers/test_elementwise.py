# SPDX-License-Identifier: Apache-2.0
"""Elementwise ONNX operators against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, ints, kinds, normal, scalar

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import UnsupportedError

X = normal(2, 3, 4)
POSITIVE = np.abs(X) + 0.1
UNIT = np.tanh(X)
EDGES = np.array([-np.inf, -2.5, -0.5, -0.0, 0.5, 1.5, 2.5, np.inf, np.nan], np.float32)

UNARY = {
    "Neg": X, "Abs": X, "Sign": EDGES, "Ceil": EDGES, "Floor": EDGES, "Round": EDGES, "Exp": X, "Log": POSITIVE,
    "Sqrt": POSITIVE, "Reciprocal": POSITIVE, "Sin": X, "Cos": X, "Tan": UNIT, "Asin": UNIT, "Acos": UNIT, "Atan": X,
    "Sinh": X, "Cosh": X, "Tanh": X, "Asinh": X, "Acosh": POSITIVE + 1, "Atanh": UNIT * 0.9, "Erf": X, "Sigmoid": X,
    "Relu": EDGES, "Softplus": X, "HardSwish": X * 4, "Not": X > 0, "IsNaN": EDGES, "IsInf": EDGES, "Softsign": X,
    "Mish": X, "Elu": X, "Selu": X, "Celu": X, "LeakyRelu": X, "HardSigmoid": X * 4, "ThresholdedRelu": X,
    "Gelu": X, "Shrink": X, "Identity": X,
}  # fmt: skip


@pytest.mark.parametrize("op", UNARY)
def test_unary(op: str) -> None:
    Case(op, [UNARY[op]], rtol=2e-5, atol=2e-6).check()


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("Elu", {"alpha": 0.3}),
        ("Selu", {"alpha": 1.2, "gamma": 2.0}),
        ("Celu", {"alpha": 2.0}),
        ("LeakyRelu", {"alpha": 0.3}),
        ("HardSigmoid", {"alpha": 0.3, "beta": 0.1}),
        ("ThresholdedRelu", {"alpha": 0.2}),
        ("Gelu", {"approximate": "tanh"}),
        ("Shrink", {"bias": 0.3, "lambd": 0.2}),
        ("IsInf", {"detect_negative": 0}),
        ("IsInf", {"detect_positive": 0}),
    ],
)
def test_attributes(op: str, attrs: dict[str, float | str]) -> None:
    Case(op, [EDGES if op == "IsInf" else X], attrs, rtol=2e-5, atol=2e-6).check()


ROW = normal(4, seed=1)
FLAGS = np.array([[True], [False], [True]])


@pytest.mark.parametrize(
    "op", ["Add", "Sub", "Mul", "Div", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
def test_binary_broadcasts(op: str, dtype: type) -> None:
    a: Any = np.asarray(np.round(X * 3), dtype)
    b: Any = np.asarray(np.where(np.round(ROW * 3) == 0, 1, np.round(ROW * 3)), dtype)
    Case(op, [a, b]).check()


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_logic(op: str) -> None:
    Case(op, [X > 0, FLAGS]).check()


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits(op: str) -> None:
    Case(op, [np.arange(-8, 8, dtype=np.int32), np.array([5], np.int32)]).check()


def test_bitwise_not() -> None:
    Case("BitwiseNot", [np.arange(-8, 8, dtype=np.int32)]).check()


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_bit_shift(direction: str) -> None:
    amounts = np.array([0, 1, 7], np.uint8)
    Case("BitShift", [np.array([1, 255, 200], np.uint8), amounts], {"direction": direction}).check()


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [
        ("Pow", POSITIVE, scalar(2.0)),
        ("Pow", POSITIVE, ROW),
        ("Pow", POSITIVE, ints(3)),
        ("Pow", np.arange(1, 5, dtype=np.int32), np.array([2], np.int32)),
        ("Pow", np.arange(1, 5, dtype=np.int32), scalar(2.5)),
        ("Mod", ints(-7, 7, 5), ints(3, -3, 5)),
        ("Max", X, ROW),
        ("Min", X, ROW),
    ],
)
@pytest.mark.parametrize("constant", [False, True])
def test_two_operands(op: str, a: Array, b: Array, constant: bool) -> None:
    Case(op, [a, b], constants=(1,) if constant else ()).check()


def test_a_square_is_a_product() -> None:
    assert kinds(Case("Pow", [X, scalar(2.0)], constants=(1,)).check()) == ["mul"]


def test_fmod_takes_the_sign_of_the_dividend() -> None:
    Case("Mod", [X, ROW], {"fmod": 1}).check()
    Case("Mod", [ints(-7, 7, 5), ints(3, -3, 5)], {"fmod": 1}).check()


@pytest.mark.parametrize("op", ["Sum", "Max", "Min", "Mean"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_any_number_of_operands(op: str, count: int) -> None:
    Case(op, [X, ROW, normal(3, 1, seed=2)][:count]).check()


def test_where() -> None:
    Case("Where", [FLAGS, X, ROW]).check()


@pytest.mark.parametrize("to", [1, 2, 3, 6, 7, 9])
def test_cast(to: int) -> None:
    Case("Cast", [np.array([-1.7, 0.0, 1.5, 100.0], np.float32)[1:]], {"to": to}).check()


def test_cast_like() -> None:
    Case("CastLike", [X, ints(1)], reference=True).check()


# ---- forms of older opsets


@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Div"])
@pytest.mark.parametrize(
    ("axis", "shape"), [(1, (3,)), (0, (2, 3)), (-1, (4,)), (0, (2,)), (None, (4,))]
)
def test_broadcast_along_an_axis(op: str, axis: int | None, shape: tuple[int, ...]) -> None:
    b = normal(*shape, seed=3) + 3
    attrs = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
    case = Case(op, [X, b], attrs, opset=6)
    first = X.ndim - b.ndim if axis is None else axis % X.ndim
    aligned = b.reshape(*b.shape, *[1] * (X.ndim - first - b.ndim))
    want = {"Add": np.add, "Mul": np.multiply, "Sub": np.subtract, "Div": np.divide}[op](X, aligned)
    got = import_onnx(case.model()).run(case.feeds())["y0"]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_prelu() -> None:
    Case("PRelu", [X, normal(3, 1, seed=4)]).check()
    Case("PRelu", [X, normal(4, seed=4)], opset=9).check()
    slope = normal(3, seed=4)
    case = Case("PRelu", [X, slope], opset=6)
    got = import_onnx(case.model()).run(case.feeds())["y0"]
    np.testing.assert_allclose(got, np.where(X < 0, X * slope[:, None], X), rtol=1e-6)


@pytest.mark.parametrize("opset", [6, 11, 12, 13, 21])
def test_clip(opset: int) -> None:
    if opset < 11:
        Case("Clip", [X], {"min": -0.5, "max": 0.7}, opset=opset).check()
        Case("Clip", [X], {"max": 0.7}, opset=opset).check()
        return
    low, high = scalar(-0.5), scalar(0.7)
    for inputs in ([X, low, high], [X, low], [X, None, high], [X]):
        assert kinds(Case("Clip", inputs, opset=opset, constants=(1, 2)).check())[:1] in (
            ["clamp"],
            [],
        )
        Case("Clip", inputs, opset=opset).check()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_clip_of_integers(dtype: type) -> None:
    x: Any = np.arange(10).astype(dtype)
    Case("Clip", [x, np.array(2, dtype), np.array(6, dtype)], constants=(1, 2)).check()


def test_clip_with_crossed_bounds_gives_the_upper() -> None:
    Case("Clip", [X, scalar(0.5), scalar(-0.5)], constants=(1, 2)).check()


@pytest.mark.parametrize("opset", [6, 7, 10, 12, 13])
def test_dropout_is_the_identity(opset: int) -> None:
    attrs = {"is_test": 1} if opset == 6 else {}
    case = Case("Dropout", [X], attrs, opset=opset)
    np.testing.assert_array_equal(import_onnx(case.model()).run(case.feeds())["y0"], X)


def test_the_mask_of_dropout() -> None:
    Case("Dropout", [X], outputs=2, opset=13).check()


def test_dropout_that_trains_is_refused() -> None:
    case = Case("Dropout", [X, scalar(0.5), np.array(True)], constants=(1, 2))
    with pytest.raises(UnsupportedError, match="random"):
        import_onnx(case.model())
    harmless = Case("Dropout", [X, scalar(0.0), np.array(True)], constants=(1, 2))
    np.testing.assert_array_equal(import_onnx(harmless.model()).run(harmless.feeds())["y0"], X)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_swish(alpha: float) -> None:
    case = Case("Swish", [X], {"alpha": alpha}, opset=24)
    got = import_onnx(case.model()).run(case.feeds())["y0"]
    np.testing.assert_allclose(got, X / (1 + np.exp(-alpha * X)), rtol=1e-5, atol=1e-6)


def test_gelu_of_the_other_domain() -> None:
    Case("Gelu", [X], domain="com.microsoft").check()


def test_float16() -> None:
    half = X.astype(np.float16)
    Case("Add", [half, half], rtol=1e-3, atol=1e-3).check()
    Case("Sigmoid", [half], rtol=2e-3, atol=1e-3, reference=True).check()
