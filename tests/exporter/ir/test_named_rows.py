# SPDX-License-Identifier: Apache-2.0
"""Attributes of custom operators as rows of a file."""

from __future__ import annotations

import pytest

from samara.exporter.ir.named_rows import named_rows, values_of
from samara.exporter.ops import named_values
from samara.exporter.types import ModelFormatError


def test_each_kind_has_its_field() -> None:
    rows = named_rows(named_values({"a": 2, "b": [0.5, 1], "c": "text", "d": []}))
    assert rows == [
        {"name": "a", "kind": 0, "ints": (2,)},
        {"name": "b", "kind": 1, "floats": (0.5, 1.0)},
        {"name": "c", "kind": 2, "text": "text"},
        {"name": "d", "kind": 0, "ints": ()},
    ]
    assert named_values(values_of(rows)) == named_values(
        {"a": 2, "b": [0.5, 1], "c": "text", "d": []}
    )


def test_a_kind_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ModelFormatError, match="'a' is of the unknown kind 3"):
        values_of([{"name": "a", "kind": 3}])
