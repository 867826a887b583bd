# SPDX-License-Identifier: Apache-2.0
"""Methods built from other methods, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import ShapeError

X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
T = samara.from_numpy

CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "isclose": (lambda: T(X).isclose(T(X + 1e-9)), np.ones((4, 3), bool)),
    "hypot": (lambda: T(X).hypot(T(Y)), np.hypot(X, Y)),
    "logaddexp": (lambda: T(X).logaddexp(T(Y)), np.logaddexp(X, Y)),
    "cross": (lambda: T(X).cross(T(Y), dim=1), np.cross(X, Y)),
    "dist": (lambda: T(X).dist(T(Y)), np.linalg.norm(X - Y)),
    "inner": (lambda: T(X).inner(T(Y)), np.inner(X, Y)),
    "cumprod": (lambda: T(X).cumprod(0), np.cumprod(X, 0)),
    "diff": (lambda: T(X).diff(dim=0), np.diff(X, axis=0)),
    "quantile": (lambda: T(X).quantile(0.3, dim=0), np.quantile(X, 0.3, 0)),
    "quantiles": (lambda: T(X).quantile(T(X[0, :0].copy()).new_tensor([0.25, 1.0])), np.quantile(X, [0.25, 1])),
    "diag": (lambda: samara.arange(3).diag(1), np.diag(np.arange(3), 1)),
    "trace": (lambda: T(X).trace(), np.trace(X)),
    "take": (lambda: T(X).take(samara.tensor([0, 5])), X.reshape(-1)[[0, 5]]),
    "rot90": (lambda: T(X).rot90(), np.rot90(X)),
    "rot270": (lambda: T(X).rot90(3), np.rot90(X, 3)),
    "fliplr": (lambda: T(X).fliplr(), np.fliplr(X)),
    "nansum": (lambda: samara.tensor([1.0, float("nan")]).nansum(), 1.0),
    "tensor_split": (lambda: T(X).tensor_split(3)[0], X[:2]),
    "xlogy": (lambda: samara.zeros(2).xlogy(samara.zeros(2)), np.zeros(2)),
    "index_put_": (lambda: samara.zeros(3).index_put_((samara.tensor([1, 1, -1]),), samara.ones(3), True), [0, 2, 1]),
    "fill_diagonal_": (lambda: samara.ones(2, 2).fill_diagonal_(0.0), [[0, 1], [1, 0]]),
    "t_": (lambda: T(X.copy()).t_().unsqueeze_(0), X.T[None]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    call, want = CASES[name]
    np.testing.assert_allclose(call().numpy(), want, rtol=2e-6, atol=1e-6)


DIAGONALS: parity.Cases = {
    "plain": (lambda m, x: m.diag_embed(x), (2, 3)),
    "above": (lambda m, x: x.diag_embed(2), (3,)),
    "below": (lambda m, x: x.diag_embed(-1, 0, 2), (2, 3)),
    "in_front": (lambda m, x: x.diag_embed(1, -1, 0), (2, 3)),
    "integers": (lambda m, x, y: (x.diag_embed(-1), y.diag_embed()), np.array([1, 2]), np.array([True, True])),
    "infinite": (lambda m, x: x.diag_embed(), parity.Fixed(np.array([np.inf, np.nan]))),
    "empty": (lambda m, x: (x.diag_embed(), x.diag_embed(1)), (2, 0)),
}  # fmt: skip


def test_diagonals(tmp_path: Path) -> None:
    for name in DIAGONALS:
        parity.gradients(name, DIAGONALS)
    for name in ("plain", "above", "below", "in_front", "integers"):
        parity.exported(name, DIAGONALS, tmp_path)
    assert samara.tensor([1, 2]).diag_embed(-1).tolist() == np.diag([1, 2], -1).tolist()
    assert T(X).diag_embed(1, 0, 2).shape == (4, 4, 4)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: samara.tensor(1.0).diag_embed(), "at least one dimension"),
        (lambda: T(X).diag_embed(0, 1, -2), "two dimensions"),
        (lambda: T(X).diag_embed(0, 3), "out of range"),
    ]
    for call, text in wrong:
        with pytest.raises(ShapeError, match=text):
            call()


def test_diagonals_as_pytorch() -> None:
    for name in DIAGONALS:
        parity.against_torch(name, DIAGONALS)


def test_whole_answers() -> None:
    assert T(X).equal(T(X.copy()))
    assert not T(X).equal(T(Y))
    assert T(X).allclose(T(X + 1e-9))
    assert T(X).nelement() == 12


def test_aliases() -> None:
    of_one = {"absolute", "arccos", "arcsin", "arctan", "negative", "sgn"}
    of_two = {"divide", "greater", "greater_equal", "less", "less_equal", "multiply", "not_equal"}
    for name in of_one | of_two | {"subtract", "true_divide", "moveaxis"}:
        method = getattr(samara.Tensor, name)
        assert getattr(samara, name) is method
        expected = getattr(np, {"sgn": "sign"}.get(name, name))
        more = (0, 1) if name == "moveaxis" else () if name in of_one else (Y + 2,)
        x = X / 10 if name.startswith("arc") else X
        given = [T(m) if isinstance(m, np.ndarray) else m for m in more]
        np.testing.assert_allclose(method(T(x), *given).numpy(), expected(x, *more), rtol=1e-6)
