# SPDX-License-Identifier: Apache-2.0
"""The attributes of custom operators as rows of the table NamedValue, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from samara.exporter.ir import flat
from samara.exporter.ir.schema import NamedKind
from samara.exporter.ops import NamedValues
from samara.exporter.types import ModelFormatError

_FIELDS: Final = {NamedKind.INTS: "ints", NamedKind.FLOATS: "floats", NamedKind.TEXT: "text"}


def named_rows(values: NamedValues) -> list[dict[str, Any]]:
    """A row for each value."""
    return [_row(name, value) for name, value in values]


def _row(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": name, "kind": int(NamedKind.TEXT), "text": value}
    values = value if isinstance(value, tuple) else (value,)
    kind = NamedKind.INTS if all(isinstance(v, int) for v in values) else NamedKind.FLOATS
    return {"name": name, "kind": int(kind), _FIELDS[kind]: values}


def values_of(rows: Iterable[flat.Row]) -> list[tuple[str, Any]]:
    """Names and values; ModelFormatError for an unknown kind."""
    return [(row["name"], _value(row)) for row in rows]


def _value(row: flat.Row) -> Any:
    if row["kind"] not in _FIELDS:
        raise ModelFormatError(f"attribute {row['name']!r} is of the unknown kind {row['kind']}")
    value = row[_FIELDS[NamedKind(row["kind"])]]
    return "" if value is None else value
