# SPDX-License-Identifier: Apache-2.0
"""What a FlatBuffer schema says, as data: tables, structs and unions, for the writer and reader in flat.py."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class Kind(enum.Enum):
    """How a field is stored: its name in C, its FlatBuffer type, and the bytes of one element."""

    U8 = ("U8", "ubyte", 1)
    I8 = ("I8", "byte", 1)
    U16 = ("U16", "ushort", 2)
    U32 = ("U32", "uint", 4)
    I32 = ("I32", "int", 4)
    I64 = ("I64", "long", 8)
    U64 = ("U64", "ulong", 8)
    F32 = ("F32", "float", 4)
    BOOL = ("BOOL", "bool", 1)
    STRING = ("STRING", "string", 0)
    VEC_U8 = ("VEC_U8", "[ubyte]", 1)
    VEC_BOOL = ("VEC_BOOL", "[bool]", 1)
    VEC_U16 = ("VEC_U16", "[ushort]", 2)
    VEC_U32 = ("VEC_U32", "[uint]", 4)
    VEC_I32 = ("VEC_I32", "[int]", 4)
    VEC_I64 = ("VEC_I64", "[long]", 8)
    VEC_U64 = ("VEC_U64", "[ulong]", 8)
    VEC_F32 = ("VEC_F32", "[float]", 4)
    VEC_STRING = ("VEC_STRING", "[string]", 4)
    VEC_STRUCT = ("VEC_STRUCT", "", 0)
    TABLE = ("TABLE", "", 0)
    VEC_TABLE = ("VEC_TABLE", "", 4)
    UNION = ("UNION", "", 0)

    @property
    def fbs(self) -> str:
        return self.value[1]

    @property
    def size(self) -> int:
        """Bytes of a scalar, or of one element of a vector of scalars or offsets."""
        return self.value[2]

    @property
    def is_scalar(self) -> bool:
        return self in _SCALARS


_SCALARS = {
    Kind.U8,
    Kind.I8,
    Kind.U16,
    Kind.U32,
    Kind.I32,
    Kind.I64,
    Kind.U64,
    Kind.F32,
    Kind.BOOL,
}


@dataclass(frozen=True, slots=True)
class StructDef:
    """A fixed sequence of scalars without padding."""

    name: str
    fields: tuple[tuple[str, Kind], ...]
    doc: str = ""

    @property
    def size(self) -> int:
        return sum(kind.size for _, kind in self.fields)


@dataclass(frozen=True, slots=True)
class FieldDef:
    """One field of a table.

    `child` names the table of TABLE and VEC_TABLE, the struct of VEC_STRUCT, and the UNION.

    `required`: a file without the field is malformed, so writers store it even if it equals the default.
    """

    name: str
    kind: Kind
    child: str = ""
    default: int | float | bool = 0
    required: bool = False
    fbs_type: str = ""  # enum in samara.fbs, for people who print files
    doc: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class TableDef:
    """A table; a field's id is its position, where a union counts twice (its type comes first).

    Tables are compared by identity, so that what writers derive from one can be cached.
    """

    name: str
    fields: tuple[FieldDef, ...]
    doc: str = ""
    op: str = ""  # operator of an attribute table
    code: int = 0

    def ids(self) -> dict[str, int]:
        """Field name -> id; for a union the id of its value."""
        found: dict[str, int] = {}
        next_id = 0
        for f in self.fields:
            next_id += f.kind is Kind.UNION
            found[f.name] = next_id
            next_id += 1
        return found

    def field(self, name: str) -> FieldDef:
        for f in self.fields:
            if f.name == name:
                return f
        raise KeyError(f"{self.name} has no field {name!r}")


@dataclass(frozen=True, slots=True)
class UnionDef:
    """The members of a union by the codes that rows use, which are those in a file plus `base`.

    is_open: writers newer than this schema may store members that it lacks; a reader gives them as (code, None).
    """

    members: Mapping[int, TableDef]
    base: int = 0
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables, structs and unions of one kind of file, by name."""

    tables: Mapping[str, TableDef]
    unions: Mapping[str, UnionDef] = field(default_factory=dict)
    structs: Mapping[str, StructDef] = field(default_factory=dict)


def struct_numpy(struct: StructDef) -> Any:
    """The struct's numpy dtype."""
    codes = {Kind.U32: "<u4", Kind.I32: "<i4", Kind.I64: "<i8"}
    return np.dtype([(name, codes[kind]) for name, kind in struct.fields])
