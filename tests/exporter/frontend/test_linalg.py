# SPDX-License-Identifier: Apache-2.0
"""Matrix products: gradients, float32, PyTorch."""

from __future__ import annotations

import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import SamaraError, ShapeError

CASES: parity.Cases = {
    "matmul": (lambda m, x, y: x @ y, (3, 4), (4, 5)),
    "matmul_batch": (lambda m, x, y: x.matmul(y), (2, 3, 4), (2, 4, 5)),
    "matmul_broadcast": (lambda m, x, y: x @ y, (2, 1, 3, 4), (3, 4, 2)),
    "matmul_matrix": (lambda m, x, y: x @ y, (2, 3, 4), (4, 2)),
    "matmul_left": (lambda m, x, y: x @ y, (3, 4), (2, 4, 2)),
    "vector_matrix": (lambda m, x, y: x @ y, (4,), (4, 5)),
    "matrix_vector": (lambda m, x, y: x @ y, (3, 4), (4,)),
    "vector_vector": (lambda m, x, y: x @ y, (4,), (4,)),
    "vector_batch": (lambda m, x, y: x @ y, (4,), (2, 4, 3)),
    "transposed": (lambda m, x, y: x.t() @ y.t(), (4, 3), (5, 4)),
    "mm": (lambda m, x, y: x.mm(y), (3, 4), (4, 5)),
    "bmm": (lambda m, x, y: m.bmm(x, y), (2, 3, 4), (2, 4, 5)),
    "mv": (lambda m, x, y: x.mv(y), (3, 4), (4,)),
    "dot": (lambda m, x, y: x.dot(y), (4,), (4,)),
    "outer": (lambda m, x, y: m.outer(x, y), (3,), (4,)),
    "addmm": (lambda m, b, x, y: m.addmm(b, x, y, beta=0.5, alpha=2), (5,), (3, 4), (4, 5)),
    "baddbmm": (lambda m, b, x, y: m.baddbmm(b, x, y), (2, 3, 5), (2, 3, 4), (2, 4, 5)),
}


test_gradients, test_float32, test_as_pytorch = parity.proofs(CASES, *parity.METHODS)


def test_errors() -> None:
    with pytest.raises(ShapeError, match="at least one dimension"):
        samara.tensor(1.0) @ samara.zeros(2)
    with pytest.raises(ShapeError, match="needs 2 and 2"):
        samara.zeros(2).mm(samara.zeros(2, 2))
    with pytest.raises(SamaraError):
        samara.zeros(2, 3) @ samara.zeros(2, 3)


def test_an_array_on_the_left() -> None:
    x = samara.randn(3, 2)
    y = [[1.0, 2.0, 3.0]] @ x
    assert y.shape == (1, 2)
