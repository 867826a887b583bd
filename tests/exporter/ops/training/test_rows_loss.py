# SPDX-License-Identifier: Apache-2.0
"""Known answers of cross-entropy; values with several decimals come from PyTorch 2.13.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter import ops
from samara.exporter.ir import save_program
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.ops import DataError, InferContext
from samara.exporter.types import ShapeError, TensorType

X = np.array([[1, 2, 0.5], [0.25, -1, 3], [2, 2, 2]], np.float32)
TARGET = np.array([1, 2, 0])
WEIGHT = np.array([0.5, 1, 2], np.float32)
# Attributes and weights, the loss of each row, the mean loss, and its gradient.
KNOWN: list[tuple[Any, dict[str, Any], list[float], float, list[list[float]]]] = [
    (
        None,
        {},
        [0.464369, 0.079036, 1.098612],
        0.547339,
        [
            [0.077075, -0.123823, 0.046748],
            [0.01969, 0.005641, -0.025331],
            [-0.222222, 0.111111, 0.111111],
        ],
    ),
    (
        WEIGHT,
        {"label_smoothing": 0.25},
        [0.775384, 0.589523, 0.732408],
        0.599233,
        [
            [0.056912, -0.051032, -0.00588],
            [0.018333, -0.015146, -0.003187],
            [-0.055556, 0.039683, 0.015873],
        ],
    ),
    (
        None,
        {"label_smoothing": 0.25, "ignore_index": 2},
        [0.672702, 0, 1.098612],
        0.885657,
        [[0.073945, -0.102401, 0.028456], [0, 0, 0], [-0.25, 0.125, 0.125]],
    ),
]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(("weight", "attrs", "rows", "mean", "gradient"), KNOWN)
def test_known_answers(
    weight: Any,
    attrs: dict[str, Any],
    rows: list[float],
    mean: float,
    gradient: list[list[float]],
    dtype: Any,
) -> None:
    target = TARGET.astype(dtype)
    loss, log_sum, share = ops.cross_entropy(X, target, weight, **attrs)
    np.testing.assert_allclose(loss, rows, atol=1e-6)
    np.testing.assert_allclose(loss.sum() / share.sum(), mean, atol=1e-6)
    np.testing.assert_allclose(log_sum, np.log(np.exp(X).sum(axis=1)), rtol=1e-6)
    dloss = np.full(3, 1 / share.sum(), np.float32)
    dx = ops.cross_entropy_grad(dloss, X, target, log_sum, weight, **attrs)
    np.testing.assert_allclose(dx, gradient, atol=1e-6)


def test_ignored_rows_have_no_share() -> None:
    _, _, share = ops.cross_entropy(X, np.array([1, -100, 2]), WEIGHT)
    assert share.tolist() == [1, 0, 2]


def test_large_logits_do_not_overflow() -> None:
    x = np.array([[1000, 0], [-1000, 0]], np.float32)
    loss, log_sum, _ = ops.cross_entropy(x, np.array([1, 1]))
    assert loss.tolist() == [1000, 0]
    assert log_sum.tolist() == [1000, 0]


@pytest.mark.parametrize("target", [3, -1])
def test_other_targets_are_errors(target: int, tmp_path: Path) -> None:
    """The reference and the runtime name the value and its place."""
    targets = np.array([0, target, 1])
    message = f"target {target} at position 1 is out of range for 3 classes"
    with pytest.raises(DataError, match=message):
        ops.cross_entropy(X, targets)
    with pytest.raises(DataError, match=message):
        ops.cross_entropy_grad(X[:, 0], X, targets, X[:, 0])
    b = ProgramBuilder().function("main")
    loss = b.op("cross_entropy", b.input("x", "f32", (3, 3)), b.input("t", "i64", (3,)))[0]
    b.finish([loss], ["loss"])
    save_program(b.program.finish(["main"]), tmp_path / "m.samara")
    session = samara.Session(tmp_path / "m.samara")
    with pytest.raises(samara.SamaraError, match=message):
        session.run({"x": X, "t": targets})
    assert session.run({"x": X, "t": TARGET})["loss"].shape == (3,)


def test_shapes() -> None:
    def infer(*types: tuple[str, tuple[int, ...]]) -> Any:
        given = [TensorType.of(d, s) for d, s in types]
        op = ops.cross_entropy
        return op.infer(InferContext(op, given, op.complete({})))

    assert [t.static_shape() for t in infer(("f32", (4, 3)), ("i64", (4,)))] == [(4,)] * 3
    with pytest.raises(ShapeError, match="axis 0 of target"):
        infer(("f32", (4, 3)), ("i64", (5,)))
    with pytest.raises(ShapeError, match="axis 0 of weight"):
        infer(("f32", (4, 3)), ("i64", (4,)), ("f32", (4,)))
    with pytest.raises(ShapeError, match="target is float32"):
        infer(("f32", (4, 3)), ("f32", (4,)))
    with pytest.raises(ShapeError, match="there must be a class"):
        infer(("f32", (4, 0)), ("i64", (4,)))
    with pytest.raises(ShapeError, match="x has rank 3"):
        infer(("f32", (4, 3, 2)), ("i64", (4,)))
