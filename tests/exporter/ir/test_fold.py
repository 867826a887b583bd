# SPDX-License-Identifier: Apache-2.0
"""Folding a node of constants, and the limits of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.ir import Node, ProgramBuilder, can_fold, fold_node
from samara.exporter.types import Dim, DType


def _node(op: str, *inputs: Any, **attrs: Any) -> Node:
    b = ProgramBuilder().function("main")
    b.op(op, *inputs, **attrs)
    return b.nodes[-1]


def test_constants_fold() -> None:
    (array,) = fold_node(_node("add", np.array([1, 2], np.float32), np.float32(1))) or ()
    assert array.tolist() == [2, 3]
    assert array.dtype == np.float32


def test_several_outputs_fold() -> None:
    results = fold_node(_node("split", np.arange(5, dtype=np.int64), axis=0, sizes=(2, 3)))
    assert results is not None
    assert [r.tolist() for r in results] == [[0, 1], [2, 3, 4]]


def test_an_operator_without_inputs_folds() -> None:
    (array,) = fold_node(_node("iota", length=3)) or ()
    assert array.tolist() == [0, 1, 2]


def test_what_is_not_known_is_left() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", ["n"])
    b.op("add", x, 1.0)
    b.op("iota", length=x.type.shape[0])
    assert [can_fold(n) for n in b.nodes] == [False, False]
    assert fold_node(b.nodes[0]) is None


def test_what_is_large_is_left() -> None:
    node = _node("expand", np.float32(1), shape=(1000, 1000))
    assert fold_node(node, limit=4_000_000) is not None
    assert fold_node(node, limit=3_999_999) is None


def test_born_sizes_are_limited_when_known() -> None:
    node = _node("nonzero", np.ones(100, np.bool_))
    assert fold_node(node) is not None
    assert fold_node(node, limit=100) is None


def test_errors_belong_to_the_run() -> None:
    assert fold_node(_node("div", np.array([1]), np.array([0]))) is None


def test_control_is_left() -> None:
    assert fold_node(_node("trap", message="no", dtypes=(1,), ranks=(0,), shape=())) is None


def test_scalars_stay_scalars() -> None:
    (array,) = fold_node(_node("dims", values=(Dim.const(4),), scalar=True)) or ()
    assert array.shape == ()


def test_packed_weights_stay_packed() -> None:
    """Small 4-bit constants are folded, large ones are not."""
    small, large = (np.ones((n, 8), DType.U4.numpy) for n in (8, 4096))
    assert fold_node(_node("cast", small, to=DType.F32)) is not None
    assert fold_node(_node("cast", large, to=DType.F32)) is None
    assert fold_node(_node("cast", large.astype(np.uint8), to=DType.F32)) is not None
