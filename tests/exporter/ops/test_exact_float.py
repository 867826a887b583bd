# SPDX-License-Identifier: Apache-2.0
"""The exact routines in numpy: their accuracy, and the bits that C's test expects."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.ops import exact_float as exact
from samara.exporter.ops.numeric import Array

BITS = Path(__file__).parents[3] / "runtime_c/tests/kernels/f32_exact/bits.inc"


class _Random:
    """The sequence of runtime_c/tests/kernels/kernel_data.h."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def word(self) -> int:
        self._state = (self._state * 1664525 + 1013904223) & 0xFFFFFFFF
        return self._state >> 8

    def floats(self, n: int) -> Array:
        return np.array([(self.word() & 0xFFFF) * 2.0**-15 - 1 for _ in range(n)], np.float32)

    def bits(self, n: int) -> Array:
        """Any float, special ones among them."""
        words = [(self.word() & 0xFFFF) << 16 | (self.word() & 0xFFFF) for _ in range(n)]
        return np.array(words, np.uint32).view(np.float32)


def _digest(y: Array) -> int:
    """FNV-1a of the words; every NaN counts as one."""
    words = np.where(np.isnan(y), np.float32(np.nan), y).astype(np.float32).ravel().view(np.uint32)
    digest = 0x811C9DC5
    for word in words:
        digest = (
            (digest ^ (0x7FC00000 if word & 0x7FFFFFFF > 0x7F800000 else int(word))) * 0x01000193
        ) & 0xFFFFFFFF
    return digest


def _rows() -> dict[str, int]:
    """Digests over all lengths 0..70 of what `case` in f32_exact_test.c computes."""
    found: dict[str, list[Array]] = {}

    def add(name: str, y: Array) -> None:
        found.setdefault(name, []).append(np.atleast_1d(np.asarray(y, np.float32)).ravel())

    with np.errstate(all="ignore"):
        for n in range(71):
            random = _Random(n + 1)
            a, b, wild = random.floats(n), random.floats(n), random.bits(n)
            w, rows = np.float32(0.7), random.floats(5 * (n + 3)).reshape(5, n + 3)[:, :n]
            shift = np.float32(0.25)
            add("dot", exact.dot(a, b))
            add("dots", exact.dot(a, rows))
            add("sum", exact.total(a))
            add("squares", exact.dot(a - shift, a - shift))
            add("max", exact.largest(a))
            add("max_wild", exact.largest(wild))
            e = exact.exp(a * np.float32(20) - shift)
            add("exp_sum", np.append(e, exact.total(e)))
            add("scale", w * a)
            add("scale_add", b + w * a)
            y = b
            for r in range(5):
                y = y + rows[r, 0] * rows[r] if n else y
            add("scale_add_rows", y)
            add("minus", (a - shift) - w)
            add("normalize", ((a - shift) * w) * b + a)
            for name, function in exact.FUNCTIONS.items():
                add(name, np.append(function(a * np.float32(20)), function(wild)))
            large = np.append(a * np.float32(20), wild)
            add("clamp", exact.clamp(large, -0.5, 3.0))
    return {name: _digest(np.concatenate(parts)) for name, parts in found.items()}


def test_bits_are_those_of_the_c_test() -> None:
    head = (
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Digests of what numpy computes: tests/exporter/ops/test_exact_float.py compares them.\n"
    )
    text = head + "".join(
        f"EXACT_BITS({name}, 0x{value:08x}u)\n" for name, value in _rows().items()
    )
    assert BITS.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("name", "formula", "ulps"),
    [
        ("exp", math.exp, 1.1),
        ("log", math.log, 1.1),
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x)), 2.6),
        ("silu", lambda x: x / (1 + math.exp(-x)), 3.6),
        ("tanh", math.tanh, 1.6),
    ],
)
def test_functions_are_accurate(name: str, formula: Callable[[float], float], ulps: float) -> None:
    x = np.linspace(0.001 if name == "log" else -40, 40, 20_001, dtype=np.float32)
    got = exact.quiet(exact.FUNCTIONS[name], x).astype(np.float64)
    want = np.array([formula(float(v)) for v in x])
    assert np.max(np.abs(got - want) / np.spacing(np.abs(want).astype(np.float32))) <= ulps


@pytest.mark.parametrize("name", ["erf", "gelu", "gelu_tanh"])
def test_functions_of_cancelling_terms_are_accurate(name: str) -> None:
    x = np.linspace(-6, 6, 10_001, dtype=np.float32)
    root = math.sqrt(2 / math.pi)
    formulas: dict[str, Callable[[float], float]] = {
        "erf": math.erf,
        "gelu": lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2))),
        "gelu_tanh": lambda v: v / 2 * (1 + math.tanh(root * (v + 0.044715 * v**3))),
    }
    want = np.array([formulas[name](float(v)) for v in x])
    assert np.max(np.abs(exact.quiet(exact.FUNCTIONS[name], x) - want)) < 6e-7


def test_exp_of_special_values() -> None:
    inf = np.inf
    x = np.array([0.0, -0.0, -inf, inf, np.nan, -87.1, -86.9, 88.7228, 88.73], np.float32)
    y = exact.quiet(exact.exp, x)
    assert list(y[:4]) == [1, 1, 0, inf]
    assert np.isnan(y[4])
    assert y[5] == 0 < y[6]
    assert np.isfinite(y[7])
    assert y[8] == inf


def test_sums_add_partials_in_a_fixed_tree() -> None:
    x = np.zeros(33, np.float32)
    x[0], x[16], x[32], x[8] = 2.0**24, 1, 1, 1  # partial 0 swallows both ones, 8 joins later
    assert exact.total(x) == 2.0**24
    assert exact.total(x[[0, 1, 2, 8, 16]]) == 2.0**24
    assert exact.total(np.zeros(0, np.float32)) == 0
    assert not np.signbit(exact.total(np.full(3, -0.0, np.float32)))
    assert np.isnan(exact.largest(np.array([1, np.nan, 2], np.float32)))
    assert not np.signbit(exact.largest(np.array([-0.0], np.float32)))


def test_rows_agree_with_float64() -> None:
    x = _Random(3).floats(3 * 37).reshape(3, 37) * np.float32(4)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    want = e / e.sum(-1, keepdims=True)
    np.testing.assert_allclose(exact.softmax(x), want, rtol=1e-6)
    np.testing.assert_allclose(exact.softmax(x, logarithm=True), np.log(want), rtol=1e-5)
    away = wide - wide.mean(-1, keepdims=True)
    norm = away / np.sqrt((away**2).mean(-1, keepdims=True) + 1e-5)
    got = exact.normalize(x, None, None, 1e-5, centred=True)
    np.testing.assert_allclose(got, norm, atol=2e-6)
    b = _Random(4).floats(37 * 5).reshape(37, 5)
    np.testing.assert_allclose(exact.matmul(x, b), wide @ b.astype(np.float64), atol=1e-5)
