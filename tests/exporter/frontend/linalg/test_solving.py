# SPDX-License-Identifier: Apache-2.0
"""Systems, inverses, Cholesky factors, determinants: gradients, float32, PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara import linalg
from samara.exporter.frontend.linalg.matrices import LinAlgError
from samara.pybridge.errors import ShapeError, UnsupportedError

RNG = np.random.default_rng(3)
A = RNG.standard_normal((2, 3, 3)) + 3 * np.eye(3)
RANK_2 = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
RANK_1 = np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0])


def positive(x: Any) -> Any:
    return x @ x.mT


CASES: parity.Cases = {
    "solve": (lambda m, a, b: m.linalg.solve(a, b), A, (2, 3, 4)),
    "solve_vector": (lambda m, a, b: m.linalg.solve(a, b), A[0], (3,)),
    "solve_vectors": (lambda m, a, b: m.linalg.solve(a, b), A, (2, 3)),
    "solve_broadcast": (lambda m, a, b: m.linalg.solve(a, b), A[:1], (2, 3, 2)),
    "solve_right": (lambda m, a, b: m.linalg.solve(a, b, left=False), A, (2, 4, 3)),
    "inv": (lambda m, a: m.linalg.inv(a), A[0]),
    "inv_transposed": (lambda m, a: m.linalg.inv(a.mT), A),
    "cholesky": (lambda m, a: m.linalg.cholesky(positive(a)), A[0]),
    "cholesky_upper": (lambda m, a: m.linalg.cholesky(positive(a), upper=True), A),
    "det": (lambda m, a: m.linalg.det(a), A),
    "slogdet": (lambda m, a: m.linalg.slogdet(-a).logabsdet, A[0]),
}
SINGULAR: parity.Cases = {
    "det_rank_2": (lambda m, a: m.linalg.det(a), RANK_2),
    "det_rank_1": (lambda m, a: m.linalg.det(a), RANK_1),
    "det_batch": (lambda m, a: m.linalg.det(a), np.stack((RANK_2, A[0], np.zeros((3, 3))))),
}  # fmt: skip


def test_gradients() -> None:
    for name in CASES:
        parity.gradients(name, CASES)
    for name in ("solve_vector", "inv", "cholesky", "det", "slogdet"):
        parity.second_gradients(name, CASES)
    for name in SINGULAR:
        parity.gradients(name, SINGULAR)


def test_float32() -> None:
    for name in CASES:
        parity.kernels(name, CASES)


def test_as_pytorch() -> None:
    for name in CASES:
        parity.against_torch(name, CASES, 1e-11)


def test_values() -> None:
    a = samara.from_numpy(A)
    np.testing.assert_allclose((a @ linalg.inv(a)).numpy(), [np.eye(3)] * 2, atol=1e-14)
    np.testing.assert_allclose(linalg.det(a).numpy(), np.linalg.det(A))
    sign, logarithm = linalg.slogdet(-a)
    assert not sign.requires_grad
    np.testing.assert_allclose((sign * logarithm.exp()).numpy(), np.linalg.det(-A))
    assert [t.item() for t in linalg.slogdet(samara.zeros(2, 2))] == [0, -math.inf]
    # Only the lower triangle counts, as in PyTorch.
    lower = linalg.cholesky(samara.tensor([[4.0, 100.0], [2.0, 2.0]]))
    assert lower.tolist() == [[2, 0], [1, 1]]
    empty = samara.zeros(0, 2, 2)
    assert linalg.solve(empty, empty).shape == linalg.inv(empty).shape == (0, 2, 2)
    assert linalg.det(samara.zeros(0, 0)).item() == 1


def test_det_exports() -> None:
    program = samara.trace(linalg.det, samara.zeros(2, 3, 3))
    found = program.run({"A": A.astype(np.float32)})["output"]
    np.testing.assert_allclose(found, np.linalg.det(A), rtol=1e-5)


def test_errors() -> None:
    two, singular = samara.eye(2), samara.stack([samara.eye(2), samara.ones(2, 2)])
    wrong: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (
            LinAlgError,
            "solve: the matrix is singular",
            lambda: linalg.solve(samara.ones(2, 2), two),
        ),
        (LinAlgError, r"inv: matrix \[1\] of the batch is singular", lambda: linalg.inv(singular)),
        (LinAlgError, "is not positive definite", lambda: linalg.cholesky(-two)),
        (RuntimeError, "positive", lambda: linalg.cholesky(-two)),
        (ShapeError, "square matrices, got shape", lambda: linalg.inv(samara.ones(2, 3))),
        (ShapeError, "needs matrices", lambda: linalg.det(samara.ones(2))),
        (ShapeError, "does not fit B", lambda: linalg.solve(two, samara.ones(3))),
        (
            ShapeError,
            "do not broadcast",
            lambda: linalg.solve(two.expand(2, 2, 2), samara.ones(3, 2, 1)),
        ),
        (ShapeError, "float32 and float64", lambda: linalg.solve(two, two.double())),
        (UnsupportedError, "inv of int64", lambda: linalg.inv(two.long())),
    ]
    for kind, text, call in wrong:
        with pytest.raises(kind, match=text):
            call()
    x = samara.ones(2, 2, requires_grad=True)
    with pytest.raises(LinAlgError, match="singular"):
        linalg.slogdet(x).logabsdet.backward()
