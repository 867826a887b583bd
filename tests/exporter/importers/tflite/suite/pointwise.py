# SPDX-License-Identifier: Apache-2.0
"""Operators of single elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import KINDS, Case, T, const
from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    Real,
    X,
    build,
    entries,
    exact_entries,
    parameters,
    plain_case,
    product,
    steps,
    uniform,
    whole,
)

_SHAPES = ((7,), (2, 3, 4), (1, 5, 4, 3), (2, 2, 1, 3, 2), ())

# Operator, kinds of real numbers, range of x, parameters of the result.
_UNARY: Sequence[tuple[str, str, tuple[float, float], str]] = (
    ("ABS", "float32, int8, int16", (-3, 3), "range"),
    ("NEG", "float32, float16, int8, int16", (-3, 3), "range"),
    ("SIGN", "float32", (-3, 3), "range"),
    ("CEIL", "float32", (-3, 3), "range"),
    ("FLOOR", "float32, float16", (-3, 3), "range"),
    ("ROUND", "float32, float16", (-3, 3), "range"),
    ("EXP", "float32, int8, int16", (-3, 2), "range"),
    ("LOG", "float32, int8, int16", (0.1, 9), "range"),
    ("SQRT", "float32, int8, int16", (0, 9), "range"),
    ("RSQRT", "float32, int8, int16", (0.5, 9), "range"),
    ("SIN", "float32, float16", (-9, 9), "range"),
    ("COS", "float32, float16", (-9, 9), "range"),
    ("SQUARE", "float32", (-3, 3), "range"),
    ("TANH", "float32, float16, int8, uint8, int16", (-4, 4), "signed unit"),
    ("LOGISTIC", "float32, float16, int8, uint8, int16", (-6, 6), "unit"),
    ("RELU", "float32, int8, uint8, int16", (-3, 3), "range"),
    ("RELU6", "float32, int8, uint8, int16", (-3, 9), "range"),
    ("RELU_N1_TO_1", "float32, int8, uint8", (-3, 3), "range"),
    ("RELU_0_TO_1", "float32, int8, uint8", (-3, 3), "range"),
    ("ELU", "float32, int8", (-3, 3), "range"),
    ("HARD_SWISH", "float32, int8, uint8", (-5, 5), "range"),
)


def _unary(op: str, limits: tuple[float, float], quantized: str) -> Any:
    def make(rng: Any, shape: Any) -> Real:
        return Real(op, [X(uniform(rng, shape, *limits))], quantized=quantized)

    return make


def _unaries() -> Iterator[Entry]:
    for op, kinds, limits, quantized in _UNARY:
        make = _unary(op, limits, quantized)
        shapes = _SHAPES[:4] if op == "HARD_SWISH" else _SHAPES
        yield from entries("pointwise", op, kinds, make, product(shape=shapes))
    for op, kinds in (
        ("ABS", "int32"), ("NEG", "int32, int64"), ("SIGN", "int32, float64"), ("SQUARE", "float32"),
    ):  # fmt: skip
        if kinds != "float32":
            yield from exact_entries(
                "pointwise", op, kinds, _exact_unary(op), product(shape=_SHAPES)
            )
    yield from exact_entries(
        "pointwise", "LOGICAL_NOT", "bool", _exact_unary("LOGICAL_NOT"), product(shape=_SHAPES)
    )
    yield from entries(
        "pointwise", "LEAKY_RELU", "float32, int8, uint8, int16", leaky_relu,
        product(shape=_SHAPES[:3], alpha=[0.0, 0.01, 0.3, 1.5]),
    )  # fmt: skip
    yield from entries(
        "pointwise",
        "GELU",
        "float32, float16, int8, uint8, int16",
        gelu,
        product(shape=_SHAPES, approximate=[False, True]),
    )
    for value in (2.5, -2.5, 0.5, 1.5, -0.5):
        yield Entry("pointwise", "ROUND", "float32", f"half={value}", _half(value))


def _half(value: float) -> Any:
    return lambda rng: build(Real("ROUND", [X(np.full(3, value, np.float32))]), "float32")


def _exact_unary(op: str) -> Any:
    def make(rng: Any, kind: str, shape: Any) -> Case:
        return plain_case(op, [whole(rng, shape, kind)], KINDS[kind])

    return make


def leaky_relu(rng: Any, shape: Any, alpha: float) -> Real:
    return Real("LEAKY_RELU", [X(uniform(rng, shape))], {"alpha": alpha})


def gelu(rng: Any, shape: Any, approximate: bool) -> Real:
    more = {"atol": 3e-3} if approximate else {}
    return Real("GELU", [X(uniform(rng, shape))], {"approximate": approximate}, more=more)


# ---- two operands

_PAIRS = (
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), ()),
    ((2, 3, 4), (4,)),
    ((2, 1, 4), (1, 3, 1)),
    ((1, 4, 5, 3), (1, 1, 1, 3)),
    ((3,), (2, 2, 2, 3)),
    ((1, 2, 1, 2, 3), (2, 1, 3, 1, 3)),
)
_ACTS = ("RELU", "RELU6", "RELU_N1_TO_1")
# Operator, kinds of real numbers, of integers, whether it has a fused activation.
_BINARY: Sequence[tuple[str, str, str, bool]] = (
    ("ADD", "float32, float16, int8, uint8, int16", "int32, int64", True),
    ("SUB", "float32, int8, uint8, int16", "int32, int64", True),
    ("MUL", "float32, float16, int8, uint8, int16", "int32, int64", True),
    ("DIV", "float32, int8, uint8, int16", "int32", True),
    ("MAXIMUM", "float32, float16, int8, uint8, int16", "int32, int64", False),
    ("MINIMUM", "float32, float16, int8, uint8, int16", "int32, int64", False),
    ("SQUARED_DIFFERENCE", "float32, int8", "int32", False),
    ("POW", "float32", "int32", False),
    ("FLOOR_DIV", "float32", "int32, int16, int8", False),
    ("FLOOR_MOD", "float32", "int32, int64, int16, int8", False),
    ("ATAN2", "float32", "", False),
)
_SAME = ("MAXIMUM", "MINIMUM")


def _binary(op: str) -> Any:
    def make(
        rng: Any, shapes: Any, act: str = "NONE", second: str = "fed", signs: bool = False
    ) -> Real:
        low = 0.5 if op in ("DIV", "POW") and not signs else -3
        a, b = uniform(rng, shapes[0], low), uniform(rng, shapes[1], low, 4)
        if op == "FLOOR_DIV" or op == "FLOOR_MOD" or signs:
            b = np.where(np.abs(b) < 0.3, np.float32(0.7), b)
        options = {"fused_activation_function": act} if act != "NONE" else {}
        same = op in _SAME
        operands = [X(a), X(b, constant=second == "constant")]
        return Real(op, operands, options, quantized="same" if same else "range", shared=same)

    return make


def _exact_binary(op: str) -> Any:
    def make(rng: Any, kind: str, shapes: Any, act: str = "NONE") -> Case:
        low = 0 if op == "POW" else -9
        a, b = whole(rng, shapes[0], kind, low), whole(rng, shapes[1], kind, low)
        if op == "POW":
            b = b % 4
        if op in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
            b = np.where(b == 0, np.asarray(3, kind), b)
        return plain_case(op, [a, b], KINDS[kind], _act(act))

    return make


def _act(name: str) -> dict[str, Any]:
    return {} if name == "NONE" else {"fused_activation_function": name}


def _binaries() -> Iterator[Entry]:
    for op, reals, integers, fused in _BINARY:
        given = [
            *product(shapes=_PAIRS[:1] if op == "ATAN2" else _PAIRS),
            *product(shapes=_PAIRS[:1], second=["constant"]),
            *(product(shapes=[_PAIRS[0], _PAIRS[2]], act=_ACTS) if fused else ()),
            *(product(shapes=_PAIRS[:2], signs=[True]) if op == "DIV" else ()),
        ]
        yield from entries("pointwise", op, reals, _binary(op), given)
        if integers:
            given = [
                *product(shapes=_PAIRS),
                *(product(shapes=_PAIRS[:1], act=_ACTS) if fused else ()),
            ]
            yield from exact_entries("pointwise", op, integers, _exact_binary(op), given)
    yield from exact_entries(
        "pointwise", "MUL", "uint32", _exact_binary("MUL"), product(shapes=_PAIRS)
    )
    for op in ("LOGICAL_AND", "LOGICAL_OR"):
        yield from exact_entries("pointwise", op, "bool", _exact_binary(op), product(shapes=_PAIRS))
    yield from exact_entries(
        "pointwise", "BITWISE_XOR", "int8, uint8, int16, int32, uint16, uint32", _exact_binary("BITWISE_XOR"),
        product(shapes=_PAIRS),
    )  # fmt: skip
    yield from exact_entries(
        "pointwise",
        "RIGHT_SHIFT",
        "int8, uint8, int16, int32, uint16, uint32",
        right_shift,
        product(shapes=_PAIRS),
    )


def right_shift(rng: Any, kind: str, shapes: Any) -> Case:
    a, b = whole(rng, shapes[0], kind, -99, 99), whole(rng, shapes[1], kind, 0, 7)
    return plain_case("RIGHT_SHIFT", [a, b], KINDS[kind])


# ---- comparisons


def _comparison(op: str) -> Any:
    def make(rng: Any, kind: str, shapes: Any) -> Case:
        if kind in ("int8", "uint8", "int16"):
            return _quantized_comparison(op, rng, kind, shapes)
        a, b = (whole(rng, s, kind, -2, 3) for s in shapes)
        if kind.startswith("float"):
            a, b = np.round(a), np.round(b)
        return plain_case(op, [a, b], "BOOL")

    return make


def _quantized_comparison(op: str, rng: Any, kind: str, shapes: Any) -> Case:
    p = parameters(-3, 3, kind)
    a, b = (steps(np.round(uniform(rng, s)), p, kind) for s in shapes)
    tensors = [T(q, scale=p[0], zero=p[1]) for q in (a, b)]
    return Case(op, tensors, [T(kind="BOOL", shape=())])


def _comparisons() -> Iterator[Entry]:
    for op, kinds in (
        ("EQUAL", "float32, float16, int8, uint8, int16, int32, int64, bool"),
        ("NOT_EQUAL", "float32, float16, int8, uint8, int16, int32, int64, bool"),
        ("LESS", "float32, float16, int8, uint8, int16, int32, int64"),
        ("LESS_EQUAL", "float32, float16, int8, uint8, int16, int32, int64"),
        ("GREATER", "float32, float16, int8, uint8, int16, int32, int64"),
        ("GREATER_EQUAL", "float32, float16, int8, uint8, int16, int32, int64"),
    ):
        yield from exact_entries("pointwise", op, kinds, _comparison(op), product(shapes=_PAIRS))


# ---- others


def add_n(rng: Any, count: int, shape: Any) -> Real:
    return Real("ADD_N", [X(uniform(rng, shape)) for _ in range(count)])


def exact_add_n(rng: Any, kind: str, count: int, shape: Any) -> Case:
    return plain_case("ADD_N", [whole(rng, shape, kind) for _ in range(count)], KINDS[kind])


def prelu(rng: Any, shape: Any, slopes: Any, constant: bool) -> Real:
    return Real(
        "PRELU", [X(uniform(rng, shape)), X(uniform(rng, slopes, -1, 1), constant=constant)]
    )


def narrow_prelu(rng: Any, shape: Any, slopes: Any) -> Real:
    """int16 by int8."""
    return Real(
        "PRELU", [X(uniform(rng, shape)), X(uniform(rng, slopes, -1, 1), "w", constant=True)]
    )


def cast(rng: Any, kind: str, to: str, shape: Any) -> Case:
    x = whole(rng, shape, kind, 0 if to.startswith("u") else -100, 100)
    return plain_case("CAST", [x], KINDS[to])


def bitcast(rng: Any, kind: str, to: str) -> Case:
    have, want = np.dtype(kind).itemsize, np.dtype(to).itemsize
    shape = (3, 2 if want == have else want // have) if want >= have else (3, 2)
    return plain_case("BITCAST", [whole(rng, shape, kind)], KINDS[to])


def select(op: str) -> Any:
    def make(rng: Any, kind: str, cond: Any, a: Any, b: Any) -> Case:
        chosen = whole(rng, cond, "bool")
        if kind in ("int8", "uint8", "int16"):
            p = parameters(-3, 3, kind)
            x, y = (T(steps(uniform(rng, s), p, kind), scale=p[0], zero=p[1]) for s in (a, b))
            out = T(kind=KINDS[kind], shape=(), scale=p[0], zero=p[1])
            return Case(op, [T(chosen), x, y], [out])
        return plain_case(op, [chosen, whole(rng, a, kind), whole(rng, b, kind)], KINDS[kind])

    return make


_CHOSEN = (
    ((2, 3, 4), (2, 3, 4), (2, 3, 4)),
    ((), (2, 3), (2, 3)),
    ((2,), (2, 3, 4), (2, 3, 4)),
)
_CHOSEN_V2 = (
    ((2, 3, 4), (2, 3, 4), (2, 3, 4)),
    ((4,), (2, 3, 4), ()),
    ((2, 1, 1), (3, 1), (1, 4)),
    ((), (1, 3), (2, 1)),
)


def _triples(shapes: Any) -> list[dict[str, Any]]:
    return [{"cond": c, "a": a, "b": b} for c, a, b in shapes]


def fake_quant(rng: Any, low: float, high: float, bits: int, narrow: bool) -> Real:
    options = {"min": low, "max": high, "num_bits": bits, "narrow_range": narrow}
    return Real("FAKE_QUANT", [X(uniform(rng, (3, 7), -8, 8))], options)


def quantize(rng: Any, kind: str, to: str) -> Case:
    x = uniform(rng, (3, 17), -4, 4)
    s, z = parameters(-3, 3.5, to)
    out = T(kind=KINDS[to], shape=(), scale=s, zero=z)
    if kind == "float32":
        return Case("QUANTIZE", [T(x)], [out])
    s, z = parameters(-3, 3, kind)
    return Case("QUANTIZE", [T(steps(x, (s, z), kind), scale=s, zero=z)], [out])


def dequantize(rng: Any, kind: str, channels: bool = False) -> Case:
    x = uniform(rng, (3, 17), -4, 4)
    if kind == "float16":
        return Case("DEQUANTIZE", [const(x.astype(np.float16))], atol=1e-3)
    if channels:
        scale = [0.01, 0.02, 0.03]
        q = np.round(x / np.array(scale)[:, None]).clip(-127, 127).astype(kind)
        return Case("DEQUANTIZE", [const(q, scale=scale)], rtol=1e-5)
    s, z = parameters(-3, 3, kind)
    return Case("DEQUANTIZE", [T(steps(x, (s, z), kind), scale=s, zero=z)], rtol=1e-5)


def _others() -> Iterator[Entry]:
    def exact(op: str, kinds: str, make: Any, given: Any) -> Iterator[Entry]:
        return exact_entries("pointwise", op, kinds, make, given)

    yield from entries(
        "pointwise", "ADD_N", "float32", add_n, product(count=[2, 3, 5], shape=_SHAPES[:3])
    )
    yield from exact("ADD_N", "int32", exact_add_n, product(count=[2, 3, 5], shape=_SHAPES[:3]))
    yield from entries(
        "pointwise", "PRELU", "float32, int8, uint8", prelu,
        [
            *product(shape=[(1, 4, 5, 3)], slopes=[(1, 1, 3), (4, 5, 3), (1, 1, 1)], constant=[True, False]),
            *product(shape=[(2, 6)], slopes=[(6,), (1,)], constant=[True, False]),
        ],
    )  # fmt: skip
    given = [{"shape": (1, 4, 5, 3), "slopes": (1, 1, 3)}, {"shape": (2, 6), "slopes": (6,)}]
    yield from entries("pointwise", "PRELU", "16x8 per tensor", narrow_prelu, given)
    numbers = ["float32", "int8", "uint8", "int16", "int32", "int64", "bool"]
    yield from exact("CAST", ", ".join(numbers), cast, product(to=numbers, shape=[(2, 3, 4), ()]))
    yield from exact("CAST", "float16", cast, product(to=["float32"], shape=[(3,)]))
    yield from exact("CAST", "float32", cast, product(to=["float16", "float64"], shape=[(3,)]))
    for kind, to in (("float32", "int32"), ("int32", "float32"), ("int16", "int32"), ("int32", "int16"),
                     ("int32", "uint32"), ("int64", "int32"), ("uint8", "int8")):  # fmt: skip
        yield from exact("BITCAST", kind, bitcast, product(to=[to]))
    kinds = (
        "float32, int8, uint8, int16, int32, int64, bool, float16, float64, uint16, uint32, uint64"
    )
    yield from exact("SELECT", kinds, select("SELECT"), _triples(_CHOSEN))
    yield from exact("SELECT_V2", kinds, select("SELECT_V2"), _triples(_CHOSEN_V2))
    yield from entries(
        "pointwise", "FAKE_QUANT", "float32", fake_quant,
        [
            {"low": a, "high": b, "bits": n, "narrow": w}
            for a, b in ((-6.0, 6.0), (0.0, 6.0), (-1.3, 4.1), (1.0, 3.0)) for n in (8, 4, 16) for w in (False,)
        ],
    )  # fmt: skip
    yield from exact(
        "QUANTIZE", "float32, int8, uint8", quantize, product(to=["int8", "uint8", "int16"])
    )
    yield from exact("QUANTIZE", "int16", quantize, product(to=["int8", "int16"]))
    yield from exact("DEQUANTIZE", "int8, uint8, int16, float16", dequantize, [{}])
    yield from exact("DEQUANTIZE", "int8", dequantize, product(channels=[True]))


def cases() -> Iterator[Entry]:
    yield from _unaries()
    yield from _binaries()
    yield from _comparisons()
    yield from _others()
