# SPDX-License-Identifier: Apache-2.0
"""Schemas other than that of `.samara` files: signed bytes, vectors of bytes, unions that may grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import flat
from samara.exporter.ir.flat_schema import FieldDef, Kind, Schema, TableDef, UnionDef
from samara.exporter.types import ModelFormatError

_SMALL = TableDef("Small", (FieldDef("sign", Kind.I8, default=-3),))
_NEWER = TableDef("Newer", (FieldDef("text", Kind.STRING),))
_ROOT = TableDef(
    "Root",
    (
        FieldDef("bytes", Kind.VEC_U8),
        FieldDef("words", Kind.VEC_U16),
        FieldDef("flags", Kind.VEC_BOOL),
        FieldDef("part", Kind.UNION, "Part"),
    ),
)


def _schema(*members: TableDef, is_open: bool = False) -> Schema:
    tables = {t.name: t for t in (_ROOT, _SMALL, _NEWER)}
    union = UnionDef({i + 1: t for i, t in enumerate(members)}, is_open=is_open)
    return Schema(tables, {"Part": union})


def _read(schema: Schema, data: bytes) -> dict[str, Any]:
    buffer = flat.Buffer(schema, data, len(data), fix="ask for another file")
    return buffer.decode("Root", int.from_bytes(data[:4], "little"))


def test_narrow_elements() -> None:
    schema = _schema(_SMALL)
    row = {"bytes": np.arange(5, dtype=np.uint8), "words": [1, 65535], "flags": [1, 0]}
    read = _read(schema, flat.encode(schema, "Root", {**row, "part": (1, {"sign": -7})}))
    assert read["bytes"].tolist() == [0, 1, 2, 3, 4]
    assert read["bytes"].base is not None  # it shares the file's bytes
    assert (read["words"], read["flags"]) == ([1, 65535], [1, 0])
    assert read["part"] == (1, {"sign": -7})
    assert _read(schema, flat.encode(schema, "Root", {"part": (1, {})}))["part"][1]["sign"] == -3


def test_an_open_union_may_hold_what_the_schema_lacks() -> None:
    data = flat.encode(_schema(_SMALL, _NEWER), "Root", {"part": (2, {"text": "later"})})
    assert _read(_schema(_SMALL, is_open=True), data)["part"] == (2, None)
    with pytest.raises(ModelFormatError, match="no union member 2") as caught:
        _read(_schema(_SMALL), data)
    assert caught.value.fix == "ask for another file"
