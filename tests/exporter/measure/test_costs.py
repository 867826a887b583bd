# SPDX-License-Identifier: Apache-2.0
"""Costs of nodes in the sizes of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from samara.exporter.ir import open_program
from samara.exporter.measure.costs import bytes_of, flops_of, symbol_sizes


def test_costs_follow_the_sizes(samara_path: Path) -> None:
    f = open_program(samara_path).main
    one = symbol_sizes(f, {"image": np.zeros((1, 3, 8, 8), np.float32)})
    two = symbol_sizes(f, {"image": np.zeros((2, 3, 8, 8), np.float32)})
    assert list(one.values()) == [1]
    assert list(two.values()) == [2]
    [conv] = [n for n in f.nodes if n.op.name == "conv"]
    assert flops_of(conv) is None
    assert bytes_of(conv) is None
    single, double = flops_of(conv, one), flops_of(conv, two)
    assert single is not None
    assert double == 2 * single
    moved, twice = bytes_of(conv, one), bytes_of(conv, two)
    assert moved is not None
    assert twice is not None
    # The weights are read once whatever the batch.
    assert moved < twice < 2 * moved
