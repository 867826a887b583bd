# SPDX-License-Identifier: Apache-2.0
"""Functions of one quantized operand that give TFLite's own integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import BUILTIN, REFERENCE, Case, T

_ALL: dict[str, Any] = {
    "int8": np.arange(-128, 128).astype(np.int8),
    "uint8": np.arange(256).astype(np.uint8),
    "int16": np.arange(-32768, 32768).astype(np.int16),
}


def operand(rng: Any, kind: str, scale: float) -> T:
    """Every integer of a type."""
    zero = 0 if kind == "int16" else int(rng.choice(_ALL[kind]))
    return T(_ALL[kind].reshape(1, -1), scale=float(np.float32(scale)), zero=zero)


def output(rng: Any, kind: str, scale: float, zero: int | None = None) -> T:
    at = int(rng.choice(_ALL[kind])) if zero is None else zero
    return T(kind=kind.upper(), shape=(), scale=float(np.float32(scale)), zero=at)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("seed", range(6))
def test_functions(op: str, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = operand(rng, kind, rng.uniform(0.005, 0.2))
    zero = 0 if op == "TANH" else -128
    y = output(rng, kind, 1 / 128 if op == "TANH" else 1 / 256, zero + 128 * (kind == "uint8"))
    Case(op, [x], [y]).check(exact=True)


@pytest.mark.parametrize(
    ("op", "version", "options"),
    [("ELU", 1, {}), ("EXP", 2, {}), ("LOG", 2, {}), ("ABS", 2, {}), ("SQRT", 2, {}),
     ("GELU", 2, {}), ("GELU", 2, {"approximate": True})],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(4))
def test_more_functions(op: str, version: int, options: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    zero = -128 if op in ("LOG", "SQRT") else int(rng.integers(-128, 128))
    x = T(_ALL["int8"].reshape(1, -1), scale=float(np.float32(rng.uniform(0.01, 0.05))), zero=zero)
    y = output(rng, "int8", rng.uniform(0.01, 0.05))
    resolver = BUILTIN if op == "ELU" else REFERENCE  # the reference resolver has no ELU
    Case(op, [x], [y], options, version=version, resolver=resolver).check(exact=True)


@pytest.mark.parametrize("op", ["RELU", "LEAKY_RELU", "ABS"])
@pytest.mark.parametrize("seed", range(2))
def test_int16(op: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = operand(rng, "int16", 0.001)
    y = output(rng, "int16", 0.001 * [1.0, 1.3][seed], 0)
    options = {"alpha": 0.13} if op == "LEAKY_RELU" else {}
    versions = {"RELU": 3, "LEAKY_RELU": 2, "ABS": 3}
    Case(op, [x], [y], options, version=versions[op]).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["RELU", "RELU6", "RELU_N1_TO_1", "LEAKY_RELU", "HARD_SWISH"])
@pytest.mark.parametrize("seed", range(4))
def test_clamps(op: str, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = operand(rng, kind, rng.uniform(0.005, 0.2))
    assert isinstance(x.scale, float)
    y = output(rng, kind, x.scale * rng.uniform(0.8, 1.7))
    options = {"alpha": float(rng.uniform(-0.3, 0.5))} if op == "LEAKY_RELU" else {}
    Case(op, [x], [y], options, version=2 if op in ("RELU", "RELU6") else 1).check(exact=True)


@pytest.mark.parametrize(
    ("given", "made"),
    [("int8", "int8"), ("int8", "uint8"), ("uint8", "int8"), ("int8", "int16"), ("int16", "int8"),
     ("int16", "int16")],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_requantize(given: str, made: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = operand(rng, given, rng.uniform(0.01, 0.2))
    assert isinstance(x.scale, float)
    wide = {"int16": 200.0}
    scale = x.scale * rng.uniform(0.6, 3) * wide.get(given, 1) / wide.get(made, 1)
    y = output(rng, made, scale, 0 if made == "int16" else None)
    Case("QUANTIZE", [x], [y], version=2).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("seed", range(3))
def test_quantize(kind: str, seed: int) -> None:
    """Ties, their neighbours, and numbers far outside."""
    rng = np.random.default_rng(seed)
    y = output(rng, kind, [0.25, 0.1, 0.037][seed], 0 if kind == "int16" else None)
    assert isinstance(y.scale, float)
    ties = ((np.arange(-400, 400) + 0.5) * np.float32(y.scale)).astype(np.float32)
    more = [np.nextafter(ties, np.float32(9e9)), np.nextafter(ties, np.float32(-9e9))]
    far = np.array([1e6, -1e6, 0.0, -0.0], np.float32)
    x = np.concatenate([ties, *more, far, rng.normal(0, 9, 500).astype(np.float32)])
    Case("QUANTIZE", [T(x)], [y]).check(exact=True)
