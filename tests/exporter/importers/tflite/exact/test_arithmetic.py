# SPDX-License-Identifier: Apache-2.0
"""Operators of two quantized operands that give TFLite's own integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const

_LIMITS = {"int8": (-128, 128), "uint8": (0, 256), "int16": (-32768, 32768)}


def operand(rng: Any, kind: str, *shape: int, low: float = 1e-3, high: float = 0.2) -> T:
    """A tensor of random integers with a random scale and zero point."""
    data = rng.integers(*_LIMITS[kind], shape).astype(kind)
    zero = 0 if kind == "int16" else int(rng.integers(*_LIMITS[kind]))
    scale = float(np.float32(np.exp(rng.uniform(np.log(low), np.log(high)))))
    return T(data, scale=scale / (256 if kind == "int16" else 1), zero=zero)


def output(rng: Any, kind: str, scale: float) -> T:
    zero = 0 if kind == "int16" else int(rng.integers(*_LIMITS[kind]))
    return T(kind=kind.upper(), shape=(), scale=float(np.float32(scale)), zero=zero)


def _scales(a: T, b: T) -> tuple[float, float]:
    assert isinstance(a.scale, float)
    assert isinstance(b.scale, float)
    return a.scale, b.scale


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("op", ["ADD", "SUB"])
@pytest.mark.parametrize("seed", range(5))
def test_sums(op: str, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = operand(rng, kind, 3, 4, 50), operand(rng, kind, *[(3, 4, 50), (50,), (4, 1)][seed % 3])
    y = output(rng, kind, max(_scales(a, b)) * rng.uniform(0.7, 2.5))
    name = ["NONE", "RELU", "RELU6", "NONE", "RELU_N1_TO_1"][seed]
    options = {"fused_activation_function": name, "pot_scale_int16": False}
    Case(op, [a, b], [y], options, version=2).check(exact=True)


@pytest.mark.parametrize("op", ["ADD", "SUB"])
@pytest.mark.parametrize("powers", [(-12, -12), (-12, -15), (-14, -12)])
def test_shifted_sums(op: str, powers: tuple[int, int]) -> None:
    """int16 operands with power-of-two scales."""
    rng = np.random.default_rng(0)
    data = rng.integers(-32768, 32768, (2, 3, 400)).astype(np.int16)
    a, b = (T(v, scale=2.0**p) for v, p in zip(data, powers, strict=True))
    y = T(kind="INT16", shape=(), scale=2.0 ** max(powers))
    options = {"pot_scale_int16": True, "fused_activation_function": "RELU6"}
    Case(op, [a, b], [y], options, version=3).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("seed", range(5))
def test_mul(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = operand(rng, kind, 3, 4, 50), operand(rng, kind, *[(3, 4, 50), (50,), (4, 1)][seed % 3])
    p, q = _scales(a, b)
    y = output(rng, kind, p * q * rng.uniform(60, 200) * (256 if kind == "int16" else 1))
    options = {"fused_activation_function": ["NONE", "RELU", "RELU6", "NONE", "NONE"][seed]}
    Case("MUL", [a, b], [y], options, version=2).check(exact=True)


def test_constant_operand() -> None:
    rng = np.random.default_rng(0)
    a, b = operand(rng, "int8", 3, 50), operand(rng, "int8", 50)
    fixed = const(b.data, scale=b.scale, zero=b.zero)
    y = output(rng, "int8", max(_scales(a, b)))
    Case("ADD", [a, fixed], [y], {}, version=2).check(exact=True)
    p, q = _scales(a, b)
    Case("MUL", [a, fixed], [output(rng, "int8", p * q * 90)], {}, version=2).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("seed", range(5))
def test_div(kind: str, seed: int) -> None:
    """Neither small dividends nor divisors that are 0 or large, for which the kernel shifts too far."""
    rng = np.random.default_rng(seed)
    low = 0 if kind == "uint8" else -128
    zeros = rng.integers(low + 70, low + 180, 2)
    steps = [rng.choice(np.r_[-60:-7, 8:60], (3, 4, 200)), rng.choice(np.r_[-60:0, 1:60], 200)]
    a, b = (
        T((n + z).astype(kind), scale=float(np.float32(s)), zero=int(z))
        for n, z, s in zip(steps, zeros, rng.uniform(0.01, 0.1, 2), strict=True)
    )
    p, q = _scales(a, b)
    y = output(rng, kind, p / q * rng.uniform(0.02, 0.5))
    options = {"fused_activation_function": ["NONE", "RELU", "NONE", "RELU6", "NONE"][seed]}
    Case("DIV", [a, b], [y], options, version=2 if kind == "int8" else 1).check(exact=True)


@pytest.mark.parametrize("seed", range(4))
def test_squared_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = operand(rng, "int8", 3, 50), operand(rng, "int8", 3, 50)
    y = output(rng, "int8", max(_scales(a, b)) ** 2 * rng.uniform(50, 300))
    Case("SQUARED_DIFFERENCE", [a, b], [y], {}, version=2).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("seed", range(3))
def test_prelu(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, slope = operand(rng, kind, 2, 5, 4, 10), operand(rng, kind, 1, 1, 10)
    y = output(rng, kind, _scales(x, x)[0] * rng.uniform(0.6, 1.5))
    Case("PRELU", [x, slope], [y], {}, version=1).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(
    "op", ["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"]
)
def test_comparisons(op: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    a, b = operand(rng, kind, 3, 4, 50), operand(rng, kind, 3, 4, 50)
    Case(op, [a, b], [T(kind="BOOL", shape=())], {}, version=2).check(exact=True)
