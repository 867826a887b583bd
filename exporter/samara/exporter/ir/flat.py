# SPDX-License-Identifier: Apache-2.0
"""FlatBuffers by the schema's tables: rows of plain Python values to bytes and back."""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.ir.flat_schema import FieldDef, Kind, Schema, TableDef, struct_numpy
from samara.exporter.types import ModelFormatError

Row = Mapping[str, Any]

# Vectors of numbers: the format of an element, which struct and NumPy read in the same way.
_ELEMENTS: Final = {
    Kind.VEC_U8: "<B",
    Kind.VEC_BOOL: "<B",
    Kind.VEC_U16: "<H",
    Kind.VEC_U32: "<I",
    Kind.VEC_I32: "<i",
    Kind.VEC_I64: "<q",
    Kind.VEC_U64: "<Q",
    Kind.VEC_F32: "<f",
}
_NUMPY: Final = {kind: np.dtype(form) for kind, form in _ELEMENTS.items()}
_STRUCT: Final = {
    Kind.U8: "<B",
    Kind.I8: "<b",
    Kind.U16: "<H",
    Kind.U32: "<I",
    Kind.I32: "<i",
    Kind.I64: "<q",
    Kind.U64: "<Q",
    Kind.F32: "<f",
    Kind.BOOL: "<B",
}
# -- writing ---------------------------------------------------------------------------------------

# A vector of more bytes is written again where an equal one exists: readers limit how much is shared. Zeros are an
# exception up to 64 KB: they are the zero points of channels, beside as many scales, which are written each time.
_MOST_SHARED: Final = 256
_MOST_ZEROS: Final = 1 << 16

# Lists of at most this many numbers are packed without an array, which costs more than their numbers.
_FEW: Final = 32


def encode(schema: Schema, table: str, row: Row, identifier: bytes | None = None) -> bytes:
    """A FlatBuffer whose root is `row`, of the named table.

    A row holds the fields that are stored: scalars, strings, arrays or sequences for vectors, rows
    for tables, (code, row) for the union. None and empty vectors that are not required are left
    out, and so are scalars that equal their default, unless they are required. Equal strings, short
    vectors and tables are written once.
    """
    return Encoder(schema, table).encode(row, identifier)


class Encoder:
    """Encodes rows of one table that share field values: an object that the last row had too is not written
    again, so it must not have changed.
    """

    def __init__(self, schema: Schema, table: str) -> None:
        self._writer = _Writer(schema)
        self._table = schema.tables[table]
        self._written: dict[str, tuple[Any, int]] = {}

    def encode(self, row: Row, identifier: bytes | None = None) -> bytes:
        """The FlatBuffer of the row, as `encode`."""
        writer = self._writer
        fields = writer.fields(self._table, row, self._written)
        state = writer.state()
        root = writer.object(fields)
        made = writer.finished(root, identifier)
        writer.restore(state)
        return made


# What a table stores: (slot, format, value) of scalars, (slot, offset) of the rest, (slot, code) of unions.
_Fields = tuple[list[tuple[int, str, Any]], list[tuple[int, int]], list[tuple[int, int]]]


class _Writer:
    """A FlatBuffer under construction, from its end to its beginning, and what it holds, by content.

    An offset is the distance of the first byte from the end of the buffer. flatbuffers.Builder does the same in
    four times the time.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._chunks: list[bytes] = []  # the last one comes first in the buffer
        self._size = 0
        self._align = 4  # the largest alignment of all objects
        self._tables: dict[Any, int] = {}
        self._vectors: dict[tuple[int, bytes], int] = {}
        self._strings: dict[str, int] = {}
        self._vtables: dict[bytes, int] = {}

    def state(self) -> tuple[int, int, dict[bytes, int]]:
        """For `restore`: what has been written up to now."""
        return len(self._chunks), self._size, dict(self._vtables)

    def restore(self, state: tuple[int, int, dict[bytes, int]]) -> None:
        """Forget what was written since, which must be no more than `object` and `finished`."""
        count, self._size, self._vtables = state
        del self._chunks[count:]

    def finished(self, root: int, identifier: bytes | None) -> bytes:
        """The buffer with this root."""
        tail = identifier or b""
        head = self._size + 4 + len(tail)
        head += -head % self._align
        self._put(struct.pack("<I", head - root) + tail, None, self._align)
        return b"".join(reversed(self._chunks))

    def table(self, table: TableDef, row: Row) -> int:
        """Write a row; returns its offset."""
        scalars, offsets, types = fields = self.fields(table, row)
        numbers: Any = tuple(scalars)
        if _plan_of(table).has_reals:
            # By their bytes, because 0.0 equals -0.0.
            numbers = tuple([(slot, struct.pack("<" + form, n)) for slot, form, n in scalars])
        key = (table.name, numbers, tuple(offsets), tuple(types))
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = self.object(fields)
        return found

    def fields(
        self, table: TableDef, row: Row, written: dict[str, tuple[Any, int]] | None = None
    ) -> _Fields:
        """Write what the row refers to. written: values of fields by name, and their offsets; those that the row
        has too are not written again, and new ones are noted.
        """
        plan = _plan_of(table)
        if not plan.names.issuperset(row):
            raise KeyError(f"{table.name} has no field {sorted(set(row) - plan.names)[0]!r}")
        scalars: list[tuple[int, str, Any]] = []
        offsets: list[tuple[int, int]] = []
        types: list[tuple[int, int]] = []
        for field, name, slot, form, elements in plan.fields:
            value = row.get(name)
            if value is None:
                if field.required:
                    raise KeyError(f"{table.name}.{name} is required")
            elif form:
                if field.required or value != field.default:
                    scalars.append((slot, form, value))
            elif field.kind is Kind.UNION:
                code, inner = value
                union = self.schema.unions[field.child]
                offsets.append((slot, self.table(union.members[code], inner)))
                types.append((slot - 1, code - union.base))
            elif len(value) or field.required or field.kind in (Kind.STRING, Kind.TABLE):
                known = None if written is None else written.get(name)
                if known is None or known[0] is not value:
                    made = self._numbers(elements, value) if elements else self._child(field, value)
                    known = value, made
                    if written is not None:
                        written[name] = known
                offsets.append((slot, known[1]))
        return scalars, offsets, types

    def object(self, fields: _Fields) -> int:
        """Write a table, its large scalars last and the small ones first, for little padding."""
        scalars, offsets, types = fields
        begin = self._size & ~7
        key = (
            self._size & 7,
            tuple([(slot, form) for slot, form, _ in scalars]),
            tuple([slot for slot, _ in offsets]),
            tuple([slot for slot, _ in types]),
        )
        layout = _layout_of(*key)
        values = [scalars[i][2] for i in layout.large]
        values += [
            begin + place - to for place, (_, to) in zip(layout.places, offsets, strict=True)
        ]
        values += [scalars[i][2] for i in layout.small]
        values += [code for _, code in types]
        made = begin + layout.size
        vtable = self._vtables.get(layout.vtable)
        new = vtable is None
        if vtable is None:
            vtable = self._vtables[layout.vtable] = made + len(layout.vtable)
        self._chunks.append(layout.cells.pack(vtable - made, *reversed(values)))
        self._size = made
        if new:
            self._chunks.append(layout.vtable)
            self._size = vtable
        if layout.large:
            self._align = 8
        return made

    def _put(self, data: bytes, count: int | None, align: int) -> int:
        """Write bytes that begin at a multiple of `align`, before them `count`; returns the offset."""
        padding = bytes(-(self._size + len(data)) % align)
        self._align = max(self._align, align)
        head = b"" if count is None else struct.pack("<I", count)
        self._chunks.append(b"".join((head, data, padding)))
        self._size += len(head) + len(data) + len(padding)
        return self._size

    def _string(self, text: str) -> int:
        found = self._strings.get(text)
        if found is None:
            data = text.encode()
            found = self._strings[text] = self._put(data + b"\0", len(data), 4)
        return found

    def _child(self, field: FieldDef, value: Any) -> int:
        """Write a string, a table, or a vector of no numbers; returns its offset."""
        kind = field.kind
        if kind is Kind.STRING:
            return self._string(value)
        if kind is Kind.TABLE:
            return self.table(self.schema.tables[field.child], value)
        if kind is Kind.VEC_STRUCT:
            definition = self.schema.structs[field.child]
            data = np.array(list(value), struct_numpy(definition)).tobytes()
            return self._put(data, len(value), 8)
        if kind is Kind.VEC_STRING:
            made = [self._string(text) for text in value]
        else:
            child = self.schema.tables[field.child]
            made = [self.table(child, row) for row in value]
        count = len(made)
        first = self._size + -self._size % 4 + 4 * count
        places = [first - 4 * i - to for i, to in enumerate(made)]
        return self._put(struct.pack(f"<{count}I", *places), count, 4)

    def _numbers(self, elements: str, value: Sequence[Any]) -> int:
        """Write a vector of numbers of the format `elements`; returns its offset."""
        data, size = _packed(elements, value), struct.calcsize(elements)
        count, align = len(data) // size, max(4, size)
        if len(data) > _MOST_SHARED and (len(data) > _MOST_ZEROS or data.count(0) < len(data)):
            return self._put(data, count, align)
        key = (size, data)
        found = self._vectors.get(key)
        if found is None:
            found = self._vectors[key] = self._put(data, count, align)
        return found


@dataclass(frozen=True, slots=True)
class _Plan:
    """The fields of a table, as (field, name, slot, format of a scalar or "", format of a vector's numbers or ""),
    and their names.
    """

    fields: tuple[tuple[FieldDef, str, int, str, str], ...]
    names: frozenset[str]
    has_reals: bool


@functools.lru_cache(maxsize=1 << 12)
def _plan_of(table: TableDef) -> _Plan:
    ids = table.ids()
    forms = [_STRUCT[f.kind][1] if f.kind.is_scalar else "" for f in table.fields]
    fields = (
        (f, f.name, ids[f.name], form, _ELEMENTS.get(f.kind, ""))
        for f, form in zip(table.fields, forms, strict=True)
    )
    return _Plan(tuple(fields), frozenset(ids), "f" in forms)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the cells of a table lie that begins at a certain remainder by 8.

    large, small: indices of the scalars of 8 bytes and of the others, in order. places: offsets of the cells that
    hold offsets, from the last multiple of 8 before the table. size: that of the table's begin. cells: the bytes, in
    ascending order, those that were placed first at the end.
    """

    cells: struct.Struct
    vtable: bytes
    large: tuple[int, ...]
    small: tuple[int, ...]
    places: tuple[int, ...]
    size: int


@functools.lru_cache(maxsize=1 << 12)
def _layout_of(
    start: int,
    scalars: tuple[tuple[int, str], ...],
    offsets: tuple[int, ...],
    types: tuple[int, ...],
) -> _Layout:
    sizes = [struct.calcsize(form) for _, form in scalars]
    large = [i for i, size in enumerate(sizes) if size == 8 and scalars[i][1] in "qQ"]
    small = [i for i in range(len(scalars)) if i not in large]
    small.sort(key=lambda i: -sizes[i])
    cells = [scalars[i] for i in large]
    cells += [(slot, "I") for slot in offsets]
    cells += [scalars[i] for i in small]
    cells += [(slot, "B") for slot in types]
    at, places = start, []
    for _, form in cells:
        size = struct.calcsize(form)
        at += -at % size + size
        places.append(at)
    whole = at + -at % 4 + 4
    forms, at = ["<i"], whole - 4
    for (_, form), place in zip(reversed(cells), reversed(places), strict=True):
        forms.append("x" * (at - place) + form)
        at = place - struct.calcsize(form)
    forms.append("x" * (at - start))
    slots = [0] * (max((slot for slot, _ in cells), default=-1) + 1)
    for (slot, _), place in zip(cells, places, strict=True):
        slots[slot] = whole - place
    vtable = struct.pack(f"<{len(slots) + 2}H", 4 + 2 * len(slots), whole - start, *slots)
    held = tuple(places[len(large) : len(large) + len(offsets)])
    bytes_of = struct.Struct("".join(forms))
    return _Layout(bytes_of, vtable, tuple(large), tuple(small), held, whole)


def _packed(form: str, numbers: Sequence[Any]) -> bytes:
    if isinstance(numbers, list) and len(numbers) <= _FEW:
        return struct.pack(f"<{len(numbers)}{form[1]}", *numbers)
    return np.asarray(numbers, form).tobytes()


# -- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Slot:
    """What reading a field needs: its id, its bytes in the table, what stands for an absent one.

    format: how a scalar is unpacked; "" for others. is_closed: a union whose members are all known.
    """

    field: FieldDef
    id: int
    size: int
    format: str
    absent: Any
    is_vector: bool
    is_closed: bool

    @staticmethod
    def of(field: FieldDef, field_id: int, schema: Schema) -> _Slot:
        scalar = field.kind.is_scalar
        return _Slot(
            field,
            field_id,
            field.kind.size if scalar else 4,
            _STRUCT[field.kind] if scalar else "",
            field.default if scalar else None,
            field.kind.value[0].startswith("VEC_"),
            field.kind is Kind.UNION and not schema.unions[field.child].is_open,
        )


class Buffer:
    """A FlatBuffer of unknown origin: every access is checked against `end`.

    The decoded rows may be a few times as large as the buffer, so that tables that share their contents cannot
    multiply without end. `fix` is what the error about a damaged file advises.
    """

    def __init__(
        self,
        schema: Schema,
        data: bytes | memoryview,
        end: int,
        fix: str = "the file is damaged: export it again",
    ) -> None:
        self.schema = schema
        self.fix = fix
        self.data = memoryview(data)
        self.end = end
        self._budget = 4 * end + 4096
        self._strings: dict[int, str] = {}
        self._layouts: dict[str, list[_Slot]] = {}

    def decode(self, table: str, root: int) -> dict[str, Any]:
        """The named table at `root` as a row; absent fields get their default, and vectors are lists, those of
        unsigned bytes arrays that share the buffer.
        """
        return self._table(self.schema.tables[table], root, table)

    def position(self, table: str, at: int, name: str) -> int | None:
        """The position of a field of the table at `at`; of an offset field, the position of the offset."""
        return self._field(self._vtable(at, table), at, self.schema.tables[table].ids()[name])

    def follow(self, at: int, where: str) -> int:
        """The target of the offset stored at `at`."""
        target = at + self._u32(at, where)
        if target >= self.end:
            raise self.fault(where, f"an offset at {at} leads out of the file")
        return target

    def fault(self, where: str, what: str) -> ModelFormatError:
        return ModelFormatError(f"{where}: {what}", fix=self.fix)

    # ---- internals

    def _need(self, at: int, size: int, where: str) -> None:
        if at < 0 or size < 0 or at + size > self.end:
            raise self.fault(where, f"{size} bytes at {at} reach beyond the end ({self.end})")

    def _spend(self, size: int, where: str) -> None:
        self._budget -= size
        if self._budget < 0:
            raise self.fault(where, "too many tables share their contents")

    def _u16(self, at: int, where: str) -> int:
        self._need(at, 2, where)
        return int.from_bytes(self.data[at : at + 2], "little")

    def _u32(self, at: int, where: str) -> int:
        self._need(at, 4, where)
        return int.from_bytes(self.data[at : at + 4], "little")

    def _vtable(self, at: int, where: str) -> tuple[int, int, int]:
        """(position, bytes, bytes of the table) of the vtable of the table at `at`."""
        self._need(at, 4, where)
        vtable = at - int.from_bytes(self.data[at : at + 4], "little", signed=True)
        size = self._u16(vtable, where)
        table_size = self._u16(vtable + 2, where)
        if size < 4 or size % 2 or table_size < 4:
            raise self.fault(where, f"the table at {at} has a malformed layout")
        self._need(vtable, size, where)
        self._need(at, table_size, where)
        return vtable, size, table_size

    def _field(self, vtable: tuple[int, int, int], at: int, field_id: int) -> int | None:
        start, size, _ = vtable
        entry = 4 + 2 * field_id
        if entry + 2 > size:
            return None
        offset = self._u16(start + entry, "vtable")
        return at + offset if offset else None

    def _layout(self, table: TableDef) -> list[_Slot]:
        found = self._layouts.get(table.name)
        if found is None:
            ids = table.ids().values()
            found = [_Slot.of(f, i, self.schema) for f, i in zip(table.fields, ids, strict=True)]
            self._layouts[table.name] = found
        return found

    def _table(self, table: TableDef, at: int, where: str) -> dict[str, Any]:
        vtable = self._vtable(at, where)
        start, bytes_, size = vtable
        self._spend(size, where)
        offsets = struct.unpack_from(f"<{bytes_ // 2 - 2}H", self.data, start + 4)
        known = len(offsets)
        row: dict[str, Any] = {}
        for slot in self._layout(table):
            field, name = slot.field, slot.field.name
            offset = offsets[slot.id] if slot.id < known else 0
            if not offset:
                if field.required:
                    raise self.fault(f"{where}.{name}", "it is required and absent")
                row[name] = [] if slot.is_vector else slot.absent
                if slot.is_closed:
                    self._no_union(vtable, at, slot.id, f"{where}.{name}")
                continue
            if offset < 4 or offset + slot.size > size:
                raise self.fault(f"{where}.{name}", "the field lies outside its table")
            found = at + offset
            if slot.format:
                (value,) = struct.unpack_from(slot.format, self.data, found)
                row[name] = bool(value) if field.kind is Kind.BOOL else value
            elif field.kind is Kind.UNION:
                row[name] = self._union(field, slot.id, vtable, at, found, f"{where}.{name}")
            else:
                place = f"{where}.{name}"
                row[name] = self._offset(field, self.follow(found, place), place)
        return row

    def _no_union(self, vtable: tuple[int, int, int], at: int, field_id: int, where: str) -> None:
        found = self._field(vtable, at, field_id - 1)
        if found is not None and self.data[found]:
            raise self.fault(where, "a union type without a value")

    def _union(
        self,
        field: FieldDef,
        field_id: int,
        vtable: tuple[int, int, int],
        at: int,
        found: int,
        where: str,
    ) -> tuple[int, dict[str, Any] | None]:
        type_at = self._field(vtable, at, field_id - 1)
        if type_at is None or not at + 4 <= type_at < at + vtable[2]:
            raise self.fault(where, "a union value without a type")
        union = self.schema.unions[field.child]
        code = self.data[type_at] + union.base
        member = union.members.get(code)
        if member is not None:
            return code, self._table(member, self.follow(found, where), where)
        if not union.is_open:
            raise self.fault(where, f"there is no union member {code}")
        return code, None

    def _offset(self, field: FieldDef, at: int, where: str) -> Any:
        kind = field.kind
        if kind is Kind.STRING:
            return self._string(at, where)
        if kind is Kind.TABLE:
            return self._table(self.schema.tables[field.child], at, where)
        count = self._u32(at, where)
        start = at + 4
        if kind is Kind.VEC_STRUCT:
            dtype: Any = struct_numpy(self.schema.structs[field.child])
        else:
            dtype = _NUMPY.get(kind, np.dtype("<u4"))
        self._need(start, count * dtype.itemsize, where)
        self._spend(count * dtype.itemsize, where)
        if kind is Kind.VEC_STRUCT or kind in _NUMPY:
            found = np.frombuffer(self.data, dtype, count, start)
            return found if kind is Kind.VEC_U8 else found.tolist()
        if kind is Kind.VEC_STRING:
            return [
                self._string(self.follow(start + 4 * i, where), f"{where}[{i}]")
                for i in range(count)
            ]
        child = self.schema.tables[field.child]
        return [
            self._table(child, self.follow(start + 4 * i, where), f"{where}[{i}]")
            for i in range(count)
        ]

    def _string(self, at: int, where: str) -> str:
        found = self._strings.get(at)
        if found is not None:
            return found
        size = self._u32(at, where)
        self._need(at + 4, size + 1, where)
        self._spend(size, where)
        try:
            text = bytes(self.data[at + 4 : at + 4 + size]).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fault(where, f"the text at {at} is not UTF-8") from error
        if self.data[at + 4 + size]:
            raise self.fault(where, f"the text at {at} does not end with a zero byte")
        self._strings[at] = text
        return text
