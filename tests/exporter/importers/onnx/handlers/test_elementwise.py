# SPDX-License-Identifier: Apache-2.0
"""Elementwise ONNX operators against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from tests.exporter.importers.onnx.models import (
    Array,
    Case,
    built,
    ints,
    kinds,
    native,
    normal,
    scalar,
    witness,
)

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.importers.onnx.element_types import IMPORTED_DTYPES
from samara.exporter.types import SamaraError, UnsupportedError

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
    "Gelu": X, "Shrink": X, "Identity": X, "BitwiseNot": np.arange(-8, 8, dtype=np.int32),
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


@pytest.mark.parametrize("op", ["And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_logic_and_bits(op: str) -> None:
    bits = [np.arange(-8, 8, dtype=np.int32), np.array([5], np.int32)]
    Case(op, bits if op.startswith("Bitwise") else [X > 0, FLAGS]).check()


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
    got = case.run()["y0"]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_prelu() -> None:
    Case("PRelu", [X, normal(3, 1, seed=4)]).check()
    Case("PRelu", [X, normal(4, seed=4)], opset=9).check()
    slope = normal(3, seed=4)
    case = Case("PRelu", [X, slope], opset=6)
    got = case.run()["y0"]
    np.testing.assert_allclose(got, np.where(X < 0, X * slope[:, None], X), rtol=1e-6)


@pytest.mark.parametrize("opset", [6, 11, 12, 13, 21])
def test_clip(opset: int) -> None:
    if opset < 11:
        Case("Clip", [X], {"min": -0.5, "max": 0.7}, opset=opset).check()
        Case("Clip", [X], {"max": 0.7}, opset=opset).check()
        return
    low, high = scalar(-0.5), scalar(0.7)
    for inputs in ([X, low, high], [X, low], [X, None, high], [X]):
        program = Case("Clip", inputs, opset=opset, constants=(1, 2)).check()
        assert kinds(program)[:1] in (["clamp"], [])
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
    np.testing.assert_array_equal(case.run()["y0"], X)


def test_the_mask_of_dropout() -> None:
    Case("Dropout", [X], outputs=2, opset=13).check()


def test_dropout_that_trains_is_refused() -> None:
    case = Case("Dropout", [X, scalar(0.5), np.array(True)], constants=(1, 2))
    case.refused(UnsupportedError, "random")
    harmless = Case("Dropout", [X, scalar(0.0), np.array(True)], constants=(1, 2))
    np.testing.assert_array_equal(harmless.run()["y0"], X)


@pytest.mark.parametrize("constants", [(), (1,), (2,)])
@pytest.mark.parametrize(("ratio", "training"), [(0.0, True), (0.5, False), (0.0, False)])
def test_dropout_known_at_run_time(
    constants: tuple[int, ...], ratio: float, training: bool
) -> None:
    """The identity, unless a run asks for numbers."""
    inputs = [X, scalar(ratio), np.array(training)]
    Case("Dropout", inputs, opset=13, constants=constants, outputs=2).check_native()
    drops = Case("Dropout", [X, scalar(0.25), np.array(True)], constants=constants)
    drops.fails(SamaraError, "draws random numbers")


def test_the_mask_has_the_dtype_of_the_data_before_opset_10() -> None:
    case = Case("Dropout", [X], opset=7, outputs=2)
    mask = case.run()["y1"]
    assert mask.dtype == np.float32
    assert (mask == 1).all()


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_swish(alpha: float) -> None:
    case = Case("Swish", [X], {"alpha": alpha}, opset=24)
    got = case.run()["y0"]
    np.testing.assert_allclose(got, X / (1 + np.exp(-alpha * X)), rtol=1e-5, atol=1e-6)


def test_gelu_of_the_other_domain() -> None:
    Case("Gelu", [X], domain="com.microsoft").check()


def test_float16() -> None:
    half = X.astype(np.float16)
    Case("Add", [half, half], rtol=1e-3, atol=1e-3).check()
    Case("Sigmoid", [half], rtol=2e-3, atol=1e-3, reference=True).check()


WIDE_INTS = (np.int16, np.uint16, np.uint32, np.uint64)


def _tall(dtype: Any) -> tuple[Array, Array]:
    """Operands near the ends of a dtype, where a detour through another one shows."""
    info = np.iinfo(dtype)
    a = np.array([info.max, info.max - 1, info.min, 7, info.max // 2 + 1, 100], dtype)
    return a, np.array([3, info.max, 5, info.max, 2, 7], dtype)


@pytest.mark.parametrize("dtype", WIDE_INTS)
@pytest.mark.parametrize(
    "op",
    ["Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Equal", "Less", "Greater",
     "LessOrEqual", "GreaterOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor"],
)  # fmt: skip
def test_wide_integers(op: str, dtype: Any) -> None:
    a, b = _tall(dtype)
    with np.errstate(over="ignore"):
        Case(op, [a[:, None], b[None, :]], reference=True).check_native()


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_of_wide_integers(direction: str, dtype: Any) -> None:
    amount = np.array([0, 1, 7, 15, 3, 2], dtype)
    inputs, attrs = [_tall(dtype)[0], amount], {"direction": direction}
    Case("BitShift", inputs, attrs, reference=True).check_native()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("fmod", [0, 1])
def test_mod_of_signed_integers(fmod: int, dtype: Any) -> None:
    a = np.array([7, -7, 7, -7, 0, -8, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    b = np.array([2, 2, -2, -2, 3, -1, 3, -5], dtype)
    Case("Mod", [a, b], {"fmod": fmod}, reference=True).check_native()


@pytest.mark.parametrize("op", ["Abs", "Sign", "BitwiseNot"])
@pytest.mark.parametrize("dtype", WIDE_INTS)
def test_unary_of_wide_integers(op: str, dtype: Any) -> None:
    Case(op, [_tall(dtype)[0]], opset=18, reference=True).check_native()


DOUBLES = np.linspace(-3, 3, 75).reshape(3, 25)


@pytest.mark.parametrize("op", [u for u in UNARY if u not in ("Not", "BitwiseNot")])
def test_unary_of_doubles(op: str) -> None:
    x = DOUBLES
    if op in ("Log", "Sqrt"):
        x = np.abs(x) + 1e-9
    elif op in ("Asin", "Acos", "Atanh"):
        x = x / 3.001
    elif op == "Acosh":
        x = np.abs(x) + 1
    # onnx.reference has the error function, and the constant 1/6, in float32.
    rtol, atol = (2e-5, 1e-7) if op in ("Erf", "Gelu", "HardSwish") else (1e-13, 1e-14)
    Case(op, [x], opset=22, reference=True, rtol=rtol, atol=atol).check_native()


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Less", "Equal"])
def test_binary_of_doubles(op: str) -> None:
    b = np.linspace(0.3, 2, 25)
    Case(op, [DOUBLES, b], reference=True, rtol=1e-15, atol=0, symbolic=True).check_native()


def test_powers_of_doubles() -> None:
    base = np.array([2.0, 1.0000000001, 0.5])
    Case("Pow", [base, np.array([0.1, 1e9, -3])], reference=True, rtol=1e-13).check_native()
    Case("Pow", [base, np.array([3, 2, -2], np.int64)], reference=True, rtol=1e-13).check_native()


def test_powers_of_integers_are_exact() -> None:
    base = np.array([3, 7, -5], np.int64)
    Case("Pow", [base, np.array([33, 19, 22], np.int32)], reference=True).check_native()
    Case("Pow", [np.array([3, 10], np.int32), np.array([19.0, 9.0], np.float32)]).check_native()


def test_clip_of_doubles_keeps_its_bounds() -> None:
    exact: Any = {"constants": (1, 2), "reference": True, "rtol": 0, "atol": 0}
    Case("Clip", [DOUBLES, np.array(-0.1), np.array(1e300)], **exact).check_native()
    bounded = Case("Clip", [DOUBLES, np.array(-0.5), np.array(2.0)], constants=(1, 2))
    assert kinds(bounded.check_native()) == ["clamp"]


@pytest.mark.parametrize(
    ("x", "to"),
    [
        (np.array([1.5, -0.0, np.inf], np.float32), onnx.TensorProto.INT32),
        (np.array([[-1, 2**62]], np.int64), onnx.TensorProto.DOUBLE),
        (np.array([-1, 5, -32768], np.int16), onnx.TensorProto.UINT16),
        (np.array([0, 1, 200], np.uint8), onnx.TensorProto.INT8),
        (np.array(7, np.uint32), onnx.TensorProto.UINT32),
        (np.array([True, False]), onnx.TensorProto.UINT8),
        (np.zeros((0, 3), np.uint64), onnx.TensorProto.INT64),
    ],
)
def test_bitcast(x: Array, to: int) -> None:
    Case("BitCast", [x], {"to": to}, opset=26, reference=True).check_native()


def test_bitcast_to_another_width_is_refused() -> None:
    with pytest.raises(SamaraError, match="as many bits"):
        import_onnx(Case("BitCast", [normal(3)], {"to": onnx.TensorProto.INT64}, opset=26).model())


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_shrink_of_integers(dtype: Any) -> None:
    """The attributes are no integers."""
    x = np.arange(0 if dtype is np.uint8 else -6, 9).astype(dtype)
    for bias, limit in ((1.0, 2.0), (1.5, 0.5), (0.0, 3.7)):
        Case("Shrink", [x], {"bias": bias, "lambd": limit}, 9).check_native()


# ---- casts between all element types


_CASTS = {
    "floats": np.array([0, 1, -1, 2.5, -3.5, 100.25, 7, -8], np.float64),
    "integers": np.array([0, 1, 2, 3, 5, 7, 6, 4], np.int64),
}


@pytest.mark.parametrize("source", sorted(IMPORTED_DTYPES))
def test_cast_to_every_type(source: int) -> None:
    """One model per type, from which it casts to all; onnx.reference is the witness."""
    kind = IMPORTED_DTYPES[source]
    x = _CASTS["floats" if kind.is_float else "integers"].astype(kind.numpy).reshape(2, 4)
    targets = [to for to in sorted(IMPORTED_DTYPES) if to != source]
    if kind.is_packed:  # onnx.reference has no cast between these two
        targets = [to for to in targets if not IMPORTED_DTYPES[to].is_packed]
    if kind.is_float:  # negative floats to unsigned types: not defined by ONNX
        targets = [to for to in targets if IMPORTED_DTYPES[to].is_signed]
    nodes = [oh.make_node("Cast", ["x"], [f"y{to}"], to=to) for to in targets]
    model = built(nodes, {"x": (source, ["n", 4])}, [f"y{to}" for to in targets])
    program = import_onnx(model)
    (got,) = native(program, {"x": x})
    for name, want in witness(model, {"x": x}, reference=True).items():
        if IMPORTED_DTYPES[int(name[1:])].is_packed and kind.is_float:
            want = np.trunc(x.astype(np.float64)).astype(np.int64).astype(want.dtype)
        assert got[name].dtype == want.dtype
        np.testing.assert_array_equal(got[name], want, err_msg=name)
        np.testing.assert_array_equal(program.run({"x": x})[name], want, err_msg=name)


def test_attributes_for_tiny_floats_change_nothing_else() -> None:
    for attrs in ({"saturate": 0}, {"round_mode": "down", "saturate": 1}):
        attrs = {"to": onnx.TensorProto.FLOAT16, **attrs}
        case = Case("Cast", [X], attrs, opset=24, reference=True, rtol=0)
        assert kinds(case.check()) == ["cast"]
    case = Case("CastLike", [X, ints(1)], {"saturate": 0}, opset=19, reference=True)
    assert kinds(case.check()) == ["cast"]
