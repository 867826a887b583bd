# SPDX-License-Identifier: Apache-2.0
"""The schemas of TFLite models and of their metadata, from the lines in facts.py."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from samara.exporter.importers.tflite import facts
from samara.exporter.ir.flat_schema import FieldDef, Kind, Schema, TableDef, UnionDef

IDENTIFIER: Final = b"TFL3"

_SCALARS: Final = {
    "bool": Kind.BOOL,
    "byte": Kind.I8,
    "ubyte": Kind.U8,
    "ushort": Kind.U16,
    "int": Kind.I32,
    "int32": Kind.I32,
    "uint": Kind.U32,
    "long": Kind.I64,
    "ulong": Kind.U64,
    "float": Kind.F32,
    "string": Kind.STRING,
}
_VECTORS: Final = {
    "bool": Kind.VEC_BOOL,
    "ubyte": Kind.VEC_U8,
    "ushort": Kind.VEC_U16,
    "int": Kind.VEC_I32,
    "uint": Kind.VEC_U32,
    "long": Kind.VEC_I64,
    "float": Kind.VEC_F32,
    "string": Kind.VEC_STRING,
}
# Enums whose values take four bytes; those of all others take one.
_WIDE_ENUMS: Final = frozenset({"BuiltinOperator", "ReduceWindowFunction"})


@dataclass(frozen=True, slots=True)
class Format:
    """A schema, and the names of its enums' values by value."""

    schema: Schema
    enums: Mapping[str, Mapping[int, str]]

    def code(self, enum: str, name: str) -> int:
        """The value of an enum's member. KeyError for an unknown name."""
        for value, known in self.enums[enum].items():
            if known == name:
                return value
        raise KeyError(f"{enum} has no {name!r}")


@functools.cache
def model_format() -> Format:
    """Of a `.tflite` file; its root is the table Model."""
    return _parsed(facts.MODEL)


@functools.cache
def metadata_format() -> Format:
    """Of the metadata in a model's buffer TFLITE_METADATA; its root is the table ModelMetadata."""
    return _parsed(facts.METADATA)


def _parsed(text: str) -> Format:
    enums: dict[str, dict[int, str]] = {}
    unions: dict[str, list[str]] = {}
    fields: dict[str, list[str]] = {}
    for kind, name, words in _lines(text):
        if kind == "E":
            enums[name] = _values(words)
        else:
            (unions if kind == "U" else fields)[name] = words
    tables = {
        name: TableDef(name, tuple(_field(w, i, enums, unions) for i, w in enumerate(words)))
        for name, words in fields.items()
    }
    members = {
        name: UnionDef({i: tables[t] for i, t in enumerate(words, 1) if t in tables}, is_open=True)
        for name, words in unions.items()
    }
    return Format(Schema(tables, members), enums)


def _lines(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """(kind, name, words) of each entry; indented lines belong to the one before."""
    for line in text.strip().replace("\n  ", " ").splitlines():
        kind, name, *words = line.split()
        yield kind, name, words


def _values(words: list[str]) -> dict[int, str]:
    found: dict[int, str] = {}
    value = 0
    for word in words:
        name, _, given = word.partition("=")
        value = int(given) if given else value
        found[value] = name
        value += 1
    return found


def _field(
    word: str, index: int, enums: Mapping[str, dict[int, str]], unions: Mapping[str, list[str]]
) -> FieldDef:
    name, _, rest = word.partition(":")
    kind, _, default = rest.partition("=")
    name = f"unused_{index}" if name == "-" else name
    element = kind.strip("[]")
    if kind.startswith("["):
        if element in _VECTORS:
            return FieldDef(name, _VECTORS[element])
        return FieldDef(name, Kind.VEC_TABLE, element)
    if kind in enums:
        wide = Kind.I32 if kind in _WIDE_ENUMS else Kind.I8
        first = next((v for v, n in enums[kind].items() if n == default), 0)
        return FieldDef(name, wide, default=first, fbs_type=kind)
    if kind in unions:
        return FieldDef(name, Kind.UNION, kind)
    if kind not in _SCALARS:
        return FieldDef(name, Kind.TABLE, kind)
    return FieldDef(name, _SCALARS[kind], default=_default(default))


def _default(text: str) -> int | float | bool:
    if text in ("", "true", "false"):
        return text == "true" if text else 0
    return float(text) if "." in text else int(text)
