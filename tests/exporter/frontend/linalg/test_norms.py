# SPDX-License-Identifier: Apache-2.0
"""Norms: gradients, float32, export, PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.frontend import parity

import samara
from samara import linalg
from samara.pybridge.errors import ArgumentError, ShapeError, UnsupportedError

X = (2, 3, 4)
PLAIN: parity.Cases = {
    "norm": (lambda m, x: m.linalg.norm(x), X),
    "norm_inf": (lambda m, x: m.linalg.norm(x, math.inf, 1, True), X),
    "norm_fro": (lambda m, x: m.linalg.norm(x, "fro"), (3, 4)),
    "vector_3": (lambda m, x: m.linalg.vector_norm(x, 3.0, (0, 2)), X),
    "vector_0": (lambda m, x: m.linalg.vector_norm(x, 0), parity.Fixed(X)),
    "matrix_1": (lambda m, x: m.linalg.matrix_norm(x, 1), X),
    "matrix_-1": (lambda m, x: m.linalg.matrix_norm(x, -1, (0, 1)), X),
    "matrix_inf": (lambda m, x: m.linalg.matrix_norm(x, math.inf, (2, 0), True), X),
    "matrix_-inf": (lambda m, x: m.linalg.matrix_norm(x, -math.inf), X),
}
SPECTRAL: parity.Cases = {
    "matrix_nuc": (lambda m, x: m.linalg.matrix_norm(x, "nuc"), (2, 3)),
    "matrix_2": (lambda m, x: m.linalg.norm(x, 2, (0, 2), True), X),
    "matrix_-2": (lambda m, x: m.linalg.matrix_norm(x, -2), X),
}
CASES = {**PLAIN, **SPECTRAL}


def test_gradients() -> None:
    for name in CASES:
        parity.gradients(name, CASES)
    for name in ("norm_fro", "matrix_nuc"):
        parity.second_gradients(name, CASES)


def test_float32() -> None:
    for name in CASES:
        parity.kernels(name, CASES)


def test_exported(tmp_path: Path) -> None:
    def all_of(m: object, *x: samara.Tensor) -> object:
        return [case[0](m, t) for case, t in zip(PLAIN.values(), x, strict=True)]

    parity.exported("all", {"all": (all_of, *(case[1] for case in PLAIN.values()))}, tmp_path)


def test_as_pytorch() -> None:
    for name in CASES:
        parity.against_torch(name, CASES, 1e-11)


def test_values_and_errors() -> None:
    x = samara.tensor([[1.0, -2.0], [3.0, 4.0]])
    orders = {1: 6, -1: 4, math.inf: 7, -math.inf: 3}
    assert {p: linalg.norm(x, p).item() for p in orders} == orders
    assert linalg.norm(x.long(), dtype=samara.float64).item() == 30**0.5
    wrong: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (ArgumentError, "ord is 'max'", lambda: linalg.matrix_norm(x, "max")),
        (ArgumentError, "ord is 'fro'", lambda: linalg.vector_norm(x, "fro")),  # type: ignore[arg-type]
        (ShapeError, "over 3 dimensions", lambda: linalg.norm(x.unsqueeze(0), 2)),
        (ShapeError, "two dimensions", lambda: linalg.matrix_norm(x, 1, (0, -2))),
        (ShapeError, "needs matrices", lambda: linalg.matrix_norm(x[0])),
        (UnsupportedError, "of int64", lambda: linalg.vector_norm(x.long())),
    ]
    for kind, text, call in wrong:
        with pytest.raises(kind, match=text):
            call()
    with pytest.raises(UnsupportedError, match=r"linalg.matrix_norm with ord=2 cannot be"):
        samara.trace(lambda x: linalg.matrix_norm(x, 2), x)
