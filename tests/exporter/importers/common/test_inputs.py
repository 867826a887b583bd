# SPDX-License-Identifier: Apache-2.0
"""Checks of names and shapes that a caller gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.importers.common.inputs import check_names, check_shape, check_unique
from samara.exporter.types import ShapeError


def test_names() -> None:
    check_names(["a"], ["a", "b"], "shapes")
    with pytest.raises(ShapeError, match="shapes: the model has no 'c'") as caught:
        check_names(["a", "c"], ["a", "b"], "shapes")
    assert caught.value.fix == "it has a, b"
    check_unique(["a", "b"], "input")
    with pytest.raises(ShapeError, match="input 'a' occurs 2 times"):
        check_unique(["a", "b", "a"], "input")


def test_shapes() -> None:
    assert check_shape("x", [1, "n", 3], 3) == [1, "n", 3]
    some: Any = (np.int64(3),)
    assert check_shape("x", some, 1) == [3]
    assert check_shape("x", [], None) == []
    wrong: list[Any] = ["abc", (1, -2), (1, True), (1, ""), (1.0,)]
    for shape in wrong:
        with pytest.raises(ShapeError, match="is not a sequence of sizes and symbols"):
            check_shape("x", shape, None)
    with pytest.raises(ShapeError, match=r"input 'x' has rank 2, shapes= gives \[1\]"):
        check_shape("x", [1], 2)
