# SPDX-License-Identifier: Apache-2.0
"""Distinct rows, sorted and by their first appearance."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Case


@pytest.mark.parametrize("by_appearance", [False, True])
def test_rows(by_appearance: bool) -> None:
    x = np.array([[3, 1], [1, 2], [3, 1], [0, 9], [1, 2], [3, 1]], np.int64)
    attrs = {"axis": 0, "sorted": int(not by_appearance)}
    got = list(Case("Unique", [x], attrs, outputs=4).run().values())
    values, first, place, count = np.unique(
        x, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first) if by_appearance else np.arange(len(first))
    assert got[0].tolist() == values[order].tolist()
    assert got[1].tolist() == first[order].tolist()
    assert got[0][got[2]].tolist() == x.tolist()
    assert got[3].tolist() == count[order].tolist()
    assert place.size == got[2].size
