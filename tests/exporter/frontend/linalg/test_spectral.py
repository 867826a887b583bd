# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues, QR and singular values: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import checks, parity

import samara
from samara import linalg
from samara.exporter.frontend.linalg.matrices import LinAlgError
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import UnsupportedError


def symmetric(x: Any) -> Any:
    return (x + x.mT) / 2


def eigen(m: Any, x: Any, uplo: str = "L") -> Any:
    """Eigenvalues, and eigenvectors up to their signs."""
    values, vectors = m.linalg.eigh(symmetric(x), uplo)
    return values, vectors.unsqueeze(-2) * vectors.unsqueeze(-3)


def singular(m: Any, x: Any, full: bool) -> Any:
    """Singular values, and their vectors up to the common sign of a pair."""
    u, s, vh = m.linalg.svd(x, full)
    k = s.shape[-1]
    return s, u.narrow(-1, 0, k).unsqueeze(-2) * vh.narrow(-2, 0, k).mT.unsqueeze(-3)


WIDE, TALL = (2, 2, 4), (2, 4, 2)
CASES: parity.Cases = {
    "eigh": (eigen, (2, 3, 3)),
    "eigh_upper": (lambda m, x: eigen(m, x, "U"), (3, 3)),
    "eigvalsh": (lambda m, x: m.linalg.eigvalsh(symmetric(x)), (2, 3, 3)),
    "eigvalsh_equal": (lambda m, x: m.linalg.eigvalsh(symmetric(x)).sum(), np.eye(3)),
    "qr": (lambda m, x: tuple(m.linalg.qr(x)), TALL),
    "qr_wide": (lambda m, x: tuple(m.linalg.qr(x)), WIDE),
    "qr_square": (lambda m, x: tuple(m.linalg.qr(x, "complete")), (3, 3)),
    "svd": (lambda m, x: singular(m, x, False), (2, 3, 3)),
    "svd_wide": (lambda m, x: singular(m, x, False), (2, 3)),
    "svd_tall": (lambda m, x: singular(m, x, True), TALL),
    "svdvals": (lambda m, x: m.linalg.svdvals(x), WIDE),
}


def test_gradients() -> None:
    for name in CASES:
        parity.gradients(name, CASES)
    for name in ("eigh_upper", "qr", "svd_wide"):
        parity.second_gradients(name, CASES)


def test_float32() -> None:
    for name in CASES:
        parity.kernels(name, CASES, 1e-4)


def test_as_pytorch() -> None:
    for name in CASES:
        parity.against_torch(name, CASES, 1e-11)


def test_factors() -> None:
    x = samara.from_numpy(np.random.default_rng(0).standard_normal((2, 4, 3)))
    for full, shapes in (
        (True, [(2, 4, 4), (2, 3), (2, 3, 3)]),
        (False, [(2, 4, 3), (2, 3), (2, 3, 3)]),
    ):
        u, s, vh = linalg.svd(x, full)
        assert [u.shape, s.shape, vh.shape] == shapes
        np.testing.assert_allclose((u.narrow(2, 0, 3) * s.unsqueeze(-2) @ vh).numpy(), x.numpy())
    for a in (x, x.mT):
        for mode in ("reduced", "complete"):
            q, r = linalg.qr(a, mode)
            size = 4 if mode == "complete" and a is x else 3
            assert q.shape == (2, a.shape[1], size)
            np.testing.assert_allclose((q @ r).numpy(), a.numpy(), atol=1e-14)
            np.testing.assert_allclose((q.mT @ q).numpy(), [np.eye(size)] * 2, atol=1e-14)
        only = linalg.qr(a, "r")
        assert only.Q.numel() == 0
        np.testing.assert_array_equal(only.R.numpy(), linalg.qr(a).R.numpy())
    values, vectors = linalg.eigh(x.mT @ x)
    np.testing.assert_allclose(
        (x.mT @ x @ vectors).numpy(), (vectors * values.unsqueeze(1)).numpy()
    )
    sym = (x.mT @ x).requires_grad_()
    (linalg.eigh(sym).eigenvectors ** 4).sum().backward()
    g = checks.grad_of(sym)
    np.testing.assert_allclose(g, g.transpose(0, 2, 1), atol=1e-12)


def test_errors() -> None:
    nan = samara.full((2, 2), float("nan"))
    for call in (linalg.eigh, linalg.svd):
        with pytest.raises(LinAlgError, match="NaN or infinite"):
            call(nan)
    with pytest.raises(ArgumentError, match="UPLO is 'x'"):
        linalg.eigh(samara.eye(2), "x")
    with pytest.raises(ArgumentError, match="mode is 'raw'"):
        linalg.qr(samara.eye(2), "raw")
    tall = samara.ones(3, 2, requires_grad=True)
    with pytest.raises(UnsupportedError, match="mode 'complete'"):
        linalg.qr(tall, "complete").R.sum().backward()
