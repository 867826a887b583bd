# SPDX-License-Identifier: Apache-2.0
"""Einsum against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Case, kinds, normal

from samara.exporter.types import ShapeError, UnsupportedError

TABLE = [
    ("ij->ji", [(3, 4)]),
    ("ij->", [(3, 4)]),
    ("ij", [(3, 4)]),
    ("ba", [(3, 4)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("...ii->...i", [(2, 3, 3)]),
    ("iji->j", [(3, 2, 3)]),
    ("i,i->", [(5,), (5,)]),
    ("i,i->i", [(5,), (5,)]),
    ("i,j->ij", [(3,), (4,)]),
    (",ij->ij", [(), (2, 3)]),
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk", [(3, 4), (4, 5)]),
    ("ij,kj->ik", [(3, 4), (5, 4)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
    ("bqhd,bkhd->bhqk", [(2, 3, 2, 4), (2, 5, 2, 4)]),
    ("bhwc,hkc->bhwk", [(2, 3, 4, 5), (3, 6, 5)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ("ij,i->ij", [(3, 4), (3,)]),
    ("ij,ik->jk", [(0, 4), (0, 5)]),
]


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(("equation", "shapes"), TABLE)
def test_einsum(equation: str, shapes: list[tuple[int, ...]], symbolic: bool) -> None:
    inputs = [normal(*shape, seed=i) for i, shape in enumerate(shapes)]
    how: Any = {"symbolic": symbolic, "rtol": 1e-4, "atol": 1e-5}
    how["reference"] = "..." in equation  # onnxruntime does not let "..." broadcast
    Case("Einsum", inputs, {"equation": equation}, **how).check()


def test_a_product_of_matrices_is_one_matmul() -> None:
    inputs = [normal(3, 4), normal(4, 5)]
    assert kinds(Case("Einsum", inputs, {"equation": "ij,jk->ik"}).check()) == ["matmul"]


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(3, 4), (5, 6)], "axis 'j' has sizes 4 and 5"),
        ("ij->ik", [(3, 4)], "which no operand has"),
        ("ij->ii", [(3, 4)], "names an axis twice"),
        ("ijk->i", [(3, 4)], "another number of axes"),
        ("ij,j->i", [(3, 4)], "names 2 operands, got 1"),
    ],
)
def test_wrong_equations(equation: str, shapes: list[tuple[int, ...]], message: str) -> None:
    case = Case("Einsum", [np.zeros(s, np.float32) for s in shapes], {"equation": equation})
    case.refused((ShapeError, UnsupportedError), message)
