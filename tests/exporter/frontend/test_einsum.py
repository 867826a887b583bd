# SPDX-License-Identifier: Apache-2.0
"""Einstein sums: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import SamaraError

CASES: parity.Cases = {
    "product": (lambda m, x, y: m.einsum("ij,jk->ik", x, y), (3, 4), (4, 2)),
    "implicit": (lambda m, x, y: m.einsum("ij,jk", x, y), (3, 4), (4, 2)),
    "batch": (lambda m, x, y: m.einsum("bij,bjk->bik", x, y), (2, 3, 4), (2, 4, 2)),
    "transposed": (lambda m, x: m.einsum("ijk->kij", x), (2, 3, 4)),
    "trace": (lambda m, x: m.einsum("ii->", x), (3, 3)),
    "diagonal": (lambda m, x: m.einsum("ii->i", x), (3, 3)),
    "sum": (lambda m, x: m.einsum("ij->j", x), (3, 4)),
    "outer": (lambda m, x, y: m.einsum("i,j->ij", x, y), (3,), (4,)),
    "inner": (lambda m, x, y: m.einsum("i,i", x, y), (3,), (3,)),
    "elements": (lambda m, x, y: m.einsum("ij,ij->ij", x, y), (3, 4), (3, 4)),
    "dots": (lambda m, x, y: m.einsum("...ij,jk->...ik", x, y), (2, 3, 4), (4, 2)),
    "three": (lambda m, x, y, z: m.einsum("ij,jk,kl->il", x, y, z), (2, 3), (3, 4), (4, 2)),
    "attention": (lambda m, x, y: m.einsum("nhqd,nkhd->nhqk", x, y), (2, 2, 3, 4), (2, 5, 2, 4)),
    "summed_side": (lambda m, x, y: m.einsum("ijk,l->il", x, y), (2, 3, 2), (3,)),
    "ones": (lambda m, x, y: m.einsum("ij,ij->i", x, y), (3, 1), (3, 4)),
    "bilinear": (lambda m, x, w, y: m.einsum("bi,oij,bj->bo", x, w, y), (2, 3), (2, 3, 4), (2, 4)),
    "tensordot": (lambda m, x, y: m.tensordot(x, y, 2), (2, 3, 4), (3, 4, 2)),
    "tensordot_axes": (lambda m, x, y: m.tensordot(x, y, ([0, 2], [1, 0])), (2, 3, 4), (4, 2, 3)),
    "scalars": (lambda m, x, y: m.einsum(",->", x.sum(), y.sum()), (2,), (2,)),
    "repeated_and_summed": (lambda m, x, y: m.einsum("iij,j->i", x, y), (3, 3, 2), (2,)),
    "dots_broadcast": (lambda m, x, y: m.einsum("...i,...i->...", x, y), (2, 1, 3), (4, 3)),
    "capitals": (lambda m, x, y: m.einsum("bA,Ab", x, y), (2, 3), (3, 2)),
    "list": (lambda m, x, y: m.einsum("i,j->ji", [x, y]), (2,), (3,)),
    "tensordot_none": (lambda m, x, y: m.tensordot(x, y, 0), (2,), (3,)),
}


test_gradients, test_float32, test_as_pytorch = parity.proofs(CASES, *parity.METHODS)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (4, 2)], "sizes"),
        ("ij->ik", [(2, 3)], "no operand has"),
        ("ij,j", [(2, 3)], "names 2 operands"),
        ("ijk->i", [(2, 3)], "axes"),
        ("i1->i", [(2, 3)], "letters"),
    ],
)
def test_errors(equation: str, shapes: Any, message: str) -> None:
    with pytest.raises(SamaraError, match=message):
        samara.einsum(equation, *(samara.zeros(*s) for s in shapes))
