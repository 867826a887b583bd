# SPDX-License-Identifier: Apache-2.0
"""Weights in blocks: results of the references, and refusals of the shape rules."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.ops import InferContext, get_op
from samara.exporter.types import DType, ShapeError, TensorType, UnsupportedError


def _infer(name: str, *given: tuple[str, tuple[int, ...]] | None, block: int = 16) -> str:
    op = get_op(name)
    types = [None if g is None else TensorType.of(*g) for g in given]
    (y,) = op.infer(InferContext(op, types, op.complete({"block": block})))
    return str(y)


def test_the_formula() -> None:
    w = np.arange(-8, 8, dtype=np.int8).repeat(2).reshape(1, 32).astype(DType.I4.numpy)
    scales, zeros = np.array([[0.5, 2.0]], np.float16), np.array([[1, -2]], np.int8)
    got = get_op("matmul_blocks")(np.eye(32, dtype=np.float32), w, scales, zeros, block=16)
    numbers = np.arange(-8, 8).repeat(2)
    want = np.concatenate([(numbers[:16] - 1) * 0.5, (numbers[16:] + 2) * 2.0])
    assert got.dtype == np.float32
    assert np.array_equal(got[:, 0], want.astype(np.float32))


def test_rows_are_those_of_the_product() -> None:
    rng = np.random.default_rng(3)
    w = rng.integers(0, 16, (5, 40)).astype(np.int8).astype(DType.U4.numpy)
    scales = rng.uniform(0.1, 1, (5, 3)).astype(np.float32)
    rows = get_op("gather_blocks")(w, scales, np.array([4, -5]), block=16)
    whole = get_op("matmul_blocks")(np.eye(40, dtype=np.float32), w, scales, block=16)
    assert np.array_equal(rows, whole.T[[4, 0]])


@pytest.mark.parametrize("block", [0, 8, 24, -16])
def test_blocks_are_powers_of_two(block: int) -> None:
    with pytest.raises(ShapeError, match="power of two from 16 on"):
        _infer("matmul_blocks", ("f32", (2, 32)), ("i4", (3, 32)), ("f16", (3, 2)), block=block)


def test_what_is_refused() -> None:
    x, w, s = ("f32", (2, 40)), ("i4", (3, 40)), ("f16", (3, 3))
    assert "3" in _infer("matmul_blocks", x, w, s)
    with pytest.raises(ShapeError, match="one scale per block"):
        _infer("matmul_blocks", x, w, ("f16", (3, 2)))
    with pytest.raises(ShapeError, match="inner sizes"):
        _infer("matmul_blocks", ("f32", (2, 41)), w, s)
    with pytest.raises(ShapeError, match="zero point"):
        _infer("matmul_blocks", x, w, s, ("u8", (3, 1)))
    with pytest.raises(ShapeError, match="int32"):
        _infer("matmul_blocks", x, ("i32", (3, 40)), s)
    with pytest.raises(ShapeError, match="float16"):
        _infer("matmul_blocks", ("f16", (2, 40)), w, s)
    with pytest.raises(ShapeError, match="int32"):
        _infer("gather_blocks", ("i32", (3, 40)), s, ("i64", (2,)))


def test_there_is_no_gradient() -> None:
    rule = get_op("matmul_blocks").grad
    assert rule is not None

    class Context:
        op = get_op("matmul_blocks")

    with pytest.raises(UnsupportedError, match="no gradient"):
        rule(Context())  # type: ignore[arg-type]
