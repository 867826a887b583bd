# SPDX-License-Identifier: Apache-2.0
"""Operators of StableHLO: what the suite of cases does not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, Graph, Op, T, built, const
from tests.exporter.importers.tflite.suite import stablehlo as suite

from samara import import_tflite
from samara.exporter.types import SamaraError, ShapeError, UnsupportedError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 7)).astype(np.float32)


def _refused(model: bytes, error: type[SamaraError], match: str) -> None:
    with pytest.raises(error, match=match):
        import_tflite(model)


def _windowed(*body: Op) -> bytes:
    options: dict[str, Any] = {
        "window_dimensions": [2, 2], "window_strides": [1, 1], "window_dilations": [1, 1],
        "base_dilations": [1, 1], "padding": [0, 0, 0, 0], "body_subgraph_index": 1,
    }  # fmt: skip
    main = Graph(
        [T(X), const(np.float32(0)), T(kind="FLOAT32", shape=(5, 6))],
        [Op("STABLEHLO_REDUCE_WINDOW", [0, 1], [2], options)], [0], [2],
    )  # fmt: skip
    numbers = [T(kind="FLOAT32", shape=()) for _ in range(4)]
    return built(main, Graph(numbers, body, [0, 1], [2]))


def test_bodies_that_are_no_reduction() -> None:
    _refused(_windowed(Op("SUB", [0, 1], [2])), UnsupportedError, "a reduction by SUB")
    two = (Op("ADD", [0, 1], [3]), Op("ADD", [3, 1], [2]))
    _refused(_windowed(*two), UnsupportedError, "a body of 2 operators")


def test_operands_do_not_broadcast() -> None:
    Case("STABLEHLO_ADD", [T(X), T(X[:1])]).refused(ShapeError, "differ in shape")


def test_padding_that_does_not_fit() -> None:
    options = {"edge_padding_low": [1], "edge_padding_high": [0, 0], "interior_padding": [0, 0]}
    Case("STABLEHLO_PAD", [T(X), const(np.float32(0))], options=options).refused(
        ShapeError, "for rank 2"
    )


def test_windows_that_cannot_be_left_out() -> None:
    options = {
        "offset_dims": [1], "collapsed_slice_dims": [0], "start_index_map": [0], "index_vector_dim": 1,
        "slice_sizes": [2, 7],
    }  # fmt: skip
    indices = T(np.zeros((3, 1), np.int32))
    Case("STABLEHLO_GATHER", [T(X), indices], options=options).refused(
        ShapeError, "cannot be left out"
    )


def test_a_known_branch_is_the_only_one() -> None:
    program = import_tflite(suite.branches(RNG, "float32", 1, True).model())
    assert [n.op.name for n in program.main.nodes] == ["mul"]
    suite.branches(RNG, "float32", 5, True).refused(ShapeError, "no branch 5")
