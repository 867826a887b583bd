# SPDX-License-Identifier: Apache-2.0
"""Nodes that a converter appends: names, folding, wider dtypes, refusals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.ir.program import Source
from samara.exporter.types import DType


class _Node(Emitter):
    def __init__(self) -> None:
        self.builder = ProgramBuilder().function("main")

    @property
    def op_type(self) -> str:
        return "FOO"

    @property
    def label(self) -> str:
        return "net/foo"

    @property
    def source(self) -> Source:
        return Source("", 0, "net/foo (FOO) in net")

    @property
    def output_names(self) -> Sequence[str]:
        return ["y", ""]


def test_results_have_the_nodes_names() -> None:
    n = _Node()
    x = n.builder.input("x", DType.F32, [4])
    assert n.emit("exp", x).name == "net/foo.exp"
    assert n.final("exp", x).name == "y"
    assert n.inner.final("exp", x).name.startswith("net/foo.exp.")
    values, places = n.final("top_k", x, k=2, axis=0)
    assert values.name.startswith("y.")
    assert places.name == "net/foo.1"
    assert all(m.source is not None and m.source.module == "net" for m in n.builder.nodes)


def test_small_constants_are_folded() -> None:
    n = _Node()
    two = n.const(np.float32(2))
    made = n.emit("mul", two, n.const(np.float32(3)))
    assert made.constant is not None
    assert made.constant == 6
    assert n.builder.nodes == []


def test_narrow_integers_are_computed_in_wider_ones() -> None:
    n = _Node()
    x = n.builder.input("x", DType.BF16, [4])
    assert n.final("exp", x).type.dtype is DType.BF16
    assert [m.op.name for m in n.builder.nodes] == ["cast", "exp", "cast"]


def test_errors_name_the_node() -> None:
    n = _Node()
    assert (n.wrong("odd").op, n.wrong("odd").node) == ("FOO", "net/foo")
    assert n.unsupported("odd", "even").fix == "even"
