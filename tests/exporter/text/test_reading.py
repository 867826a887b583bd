# SPDX-License-Identifier: Apache-2.0
"""Values of a tokenizer.json, and errors that name the place."""

from __future__ import annotations

import pytest

import samara
from samara.exporter.text.reading import Part


def test_values() -> None:
    part = Part(
        {"type": "X", "n": 3, "b": True, "inner": {"f": 2}, "list": [{}], "no": None}, "file"
    )
    assert part.kind == "X"
    assert part.get("n", int) == 3
    assert part.get("no", int, 4) == 4
    assert part.get("absent", bool, False) is False
    assert part.part("no") is None
    inner = part.part("inner")
    assert inner is not None
    assert inner.get("f", float) == 2.0
    assert [p.where for p in part.parts("list")] == ["file.list[0]"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "file: n is None, not of type int"),
        ({"n": True}, "n is True"),
        ({"n": "3"}, "n is '3'"),
    ],
)
def test_wrong_types(values: dict[str, object], says: str) -> None:
    with pytest.raises(samara.ModelFormatError, match=says):
        Part(values, "file").get("n", int)


def test_a_list_of_something_else() -> None:
    with pytest.raises(samara.ModelFormatError, match=r"file\.list\[1\] is 2"):
        list(Part({"list": [{}, 2]}, "file").parts("list"))
