# SPDX-License-Identifier: Apache-2.0
"""Einstein sums over numpy arrays against numpy.einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from samara.exporter.ir.einsum import einsum
from samara.exporter.types import ShapeError, UnsupportedError

Array = npt.NDArray[Any]


class Arrays:
    """The operations over arrays; `called` lists those that had an effect."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def shape(self, t: Array) -> Sequence[Any]:
        return t.shape

    def sum(self, t: Array, axes: Sequence[int]) -> Array:
        self.called.append("sum")
        return np.asarray(t.sum(tuple(axes)))

    def permute(self, t: Array, axes: Sequence[int]) -> Array:
        self.called.append("permute")
        return t.transpose(axes)

    def diagonal(self, t: Array, first: int, second: int) -> Array:
        self.called.append("diagonal")
        return t.diagonal(0, first, second)

    def reshape(self, t: Array, shape: Sequence[Any]) -> Array:
        return t.reshape(shape)

    def expand(self, t: Array, shape: Sequence[Any]) -> Array:
        self.called.append("expand")
        return np.broadcast_to(t, shape)

    def matmul(self, a: Array, b: Array) -> Array:
        self.called.append("matmul")
        return np.asarray(a @ b)

    def mul(self, a: Array, b: Array) -> Array:
        self.called.append("mul")
        return np.asarray(a * b)


def equations(count: int) -> list[tuple[str, list[tuple[int, ...]]]]:
    """Random equations over up to three operands with sizes for their letters."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(count):
        sizes = {c: int(rng.integers(1, 4)) for c in "abcde"}
        terms = [
            "".join(rng.choice(list("abcde"), rng.integers(0, 4)))
            for _ in range(rng.integers(1, 4))
        ]
        used = sorted({*"".join(terms)})
        out = "".join(rng.permutation([c for c in used if rng.random() < 0.6]))
        arrow = f"->{out}" if rng.random() < 0.8 else ""
        found.append((",".join(terms) + arrow, [tuple(sizes[c] for c in t) for t in terms]))
    return found


@pytest.mark.parametrize(("equation", "shapes"), equations(60))
def test_random_equations(equation: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(s) for s in shapes]
    np.testing.assert_allclose(
        einsum(Arrays(), equation, arrays), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("equation", "shapes", "called"),
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)], ["matmul"]),
        ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)], ["permute", "matmul"]),
        ("ij,ij->ij", [(3, 4), (3, 4)], ["mul"]),
        ("...i,...i->...", [(2, 4, 3), (4, 3)], ["permute", "matmul", "permute"]),
        ("...i,...i->...", [(2, 1, 3), (4, 3)], ["permute", "expand", "matmul", "permute"]),
        ("ijk,j->j", [(2, 3, 4), (3,)], ["sum", "mul"]),
    ],
)
def test_no_step_too_many(equation: str, shapes: list[tuple[int, ...]], called: list[str]) -> None:
    arrays = Arrays()
    einsum(arrays, equation, [np.ones(s) for s in shapes])
    assert arrays.called == called


@pytest.mark.parametrize(
    ("equation", "shapes", "error"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], ShapeError),
        ("ij->ik", [(2, 3)], ShapeError),
        ("ij->ii", [(2, 3)], ShapeError),
        ("i->i", [(2, 3)], ShapeError),
        ("i,j->i", [(2,)], ShapeError),
        ("i2->i", [(2, 3)], UnsupportedError),
    ],
)
def test_wrong_equations(
    equation: str, shapes: list[tuple[int, ...]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        einsum(Arrays(), equation, [np.ones(s) for s in shapes])
