# SPDX-License-Identifier: Apache-2.0
"""`.samara` file -> Program. Files may be hostile: every fault is a ModelFormatError."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from samara.exporter.ir import flat, schema
from samara.exporter.ir.answer_records import ANSWERS, answer_read
from samara.exporter.ir.constant_layout import Demand
from samara.exporter.ir.file_constants import ConstantInfo, Constants
from samara.exporter.ir.file_function import FileTables, FunctionReader
from samara.exporter.ir.file_rows import dtype_of, indices_among, quant_of
from samara.exporter.ir.file_verify import (
    check_sums,
    damaged,
    data_damages,
    header_damage,
    is_sealed,
)
from samara.exporter.ir.file_write import Golden
from samara.exporter.ir.memory_contract import Memory, read_memory
from samara.exporter.ir.operator_names import operator_names
from samara.exporter.ir.program import Array, Program, Source, Variable
from samara.exporter.ir.records import RECORDS, records_read
from samara.exporter.ir.verify import verify
from samara.exporter.types import ModelFormatError, SamaraError, TensorType
from samara.pybridge.files import path_of, read_bytes
from samara.pybridge.foreign import HEAD_BYTES, refuse_foreign


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The contents of a file. segments: (name, offset, size). memory: empty if nothing was measured. operators:
    names by code, empty in files before 0.6.0.
    """

    program: Program
    golden: tuple[Golden, ...]
    constants: tuple[ConstantInfo, ...]
    segments: tuple[tuple[str, int, int], ...]
    producer: str
    min_runtime: tuple[int, int, int]
    schema_version: int
    program_bytes: int
    file_bytes: int
    memory: tuple[Memory, ...] = ()
    sums: bool = False  # whether every byte has a checksum and matched it
    operators: Mapping[int, str] = field(default_factory=dict)


def open_program(path: str | os.PathLike[str]) -> Program:
    """The Program of a file. ModelFormatError says what is malformed, and where; FileError if the file cannot
    be read.

    >>> program = samara.open_program("model.samara")
    >>> [v.name for v in program.main.inputs]
    ['image']
    """
    return read_file(path).program


def read_file(path: str | os.PathLike[str], *, checked: bool = True) -> ModelFile:
    """Everything in a file.

    checked: refuse a program whose types contradict its operators' rules. A runtime compares only sizes, when
    they are known, so it accepts some of these files.
    """
    data = read_bytes(path_of(path, "path"))
    if data[4:8] != b"SMRA":
        refuse_foreign(path, data[:HEAD_BYTES], "a .samara file")
    try:
        return from_bytes(data, checked=checked)
    except ModelFormatError as error:
        raise ModelFormatError(
            f"{os.fspath(path)}: {error.message}", op=error.op, node=error.node, fix=error.fix
        ) from error


def from_bytes(data: bytes, *, checked: bool = True) -> ModelFile:
    """Everything in the bytes of a file; `checked` as for read_file."""
    try:
        return _read(data, checked)
    except ModelFormatError:
        raise
    except (SamaraError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Objects of the IR refuse impossible values; here they come from the file.
        text = error.message if isinstance(error, SamaraError) else str(error)
        raise ModelFormatError(f"malformed program: {text}") from error
    except RecursionError as error:
        raise ModelFormatError("malformed program: it nests too deeply") from error


def _read(data: bytes, checked: bool) -> ModelFile:
    program_bytes, file_bytes = _header(data)
    sealed = is_sealed(data, program_bytes)
    buffer = flat.Buffer(schema.whole(), data, program_bytes)
    model = buffer.decode("Model", int.from_bytes(data[:4], "little"))
    needs = _needs(model["min_runtime"])
    segments = _segments(model["segments"], program_bytes, file_bytes)
    check_sums(model["segments"], sealed=sealed)
    if sealed:
        for damage in data_damages(data, program_bytes, model["segments"], model["constants"]):
            raise damaged(damage)
    tables = _tables(model, Constants(data, model["constants"], segments))
    program = _program(model, tables, _tokenizer(data, segments))
    if checked:
        verify(program)
    return ModelFile(
        program,
        tuple(_golden(program, r, tables) for r in model["golden"]),
        tuple(tables.constants.infos),
        tuple(segments),
        model["producer"] or "",
        needs,
        model["schema_version"],
        program_bytes,
        file_bytes,
        read_memory(model["memory"], tables.functions),
        sealed,
        tables.operators,
    )


def _header(data: bytes) -> tuple[int, int]:
    """Bytes of the program part, and of the file."""
    if len(data) < schema.HEADER_BYTES:
        raise ModelFormatError(f"{len(data)} bytes are too few for a samara file")
    if data[4:8] != schema.IDENTIFIER:
        raise ModelFormatError(
            f"it starts with {data[4:8]!r}, a samara file has {schema.IDENTIFIER!r} at byte 4",
            fix="is this a .samara file?",
        )
    if any(data[32 : schema.HEADER_BYTES]):
        raise ModelFormatError("the reserved bytes of the header are not zero")
    damage = header_damage(data)
    if damage is not None:
        raise damaged(damage)
    return int.from_bytes(data[8:16], "little"), int.from_bytes(data[24:32], "little")


def _needs(version: int) -> tuple[int, int, int]:
    """The oldest runtime that reads the file; ModelFormatError if this one is older."""
    needs = (version >> 16, version >> 8 & 255, version & 255)
    if needs > schema.RUNTIME_VERSION:
        raise ModelFormatError(
            f"it needs runtime {'.'.join(map(str, needs))}, this is"
            f" {'.'.join(map(str, schema.RUNTIME_VERSION))}",
            fix="update samara, or export for an older runtime",
        )
    return needs


def _segments(
    rows: Sequence[flat.Row], program_bytes: int, file_bytes: int
) -> list[tuple[str, int, int]]:
    end = program_bytes
    segments = []
    for i, row in enumerate(rows):
        offset, size = row["offset"], row["size"]
        if offset < end or offset + size > file_bytes:
            raise ModelFormatError(
                f"segment {i} has {size} bytes at {offset}, it must lie between {end} and"
                f" {file_bytes}"
            )
        end = offset + size
        segments.append((row["name"] or "", offset, size))
    return segments


def _tokenizer(data: bytes, segments: Sequence[tuple[str, int, int]]) -> bytes | None:
    """The table of the tokenizer, unverified: samara_text.h does that where it is opened."""
    found = [(offset, size) for name, offset, size in segments if name == schema.TOKENIZER]
    if len(found) > 1:
        raise ModelFormatError("the file has two tokenizers")
    return data[found[0][0] : sum(found[0])] if found else None


def _tables(model: flat.Row, constants: Constants) -> FileTables:
    functions = [r["name"] for r in model["functions"]]
    if len(set(functions)) != len(functions):
        raise ModelFormatError("two functions have one name")
    return FileTables(
        constants,
        [Source(r["file"] or "", r["line"], r["detail"] or "") for r in model["sources"]],
        operator_names(model["operators"] or ""),
        functions,
        [r["name"] for r in model["variables"]],
    )


def _program(model: flat.Row, tables: FileTables, tokenizer: bytes | None) -> Program:
    readers = [FunctionReader(tables, r) for r in model["functions"]]
    demands: dict[int, set[Demand]] = {}
    for f in readers:
        f.collect(demands)
    functions = {f.name: f.build(demands) for f in readers}
    names = tables.functions
    entries = indices_among(model["entries"], len(names), "entries")
    own = (RECORDS, ANSWERS)  # files have tables for these entries
    metadata = {r["key"]: r["value"] for r in model["metadata"] if r["key"] not in own}
    records: dict[str, str] = {}
    for row in model["functions"]:
        records |= records_read(row["input_records"], functions[row["name"]])
    if records:
        metadata[RECORDS] = json.dumps(records)
    answers = {
        row["name"]: text
        for row in model["functions"]
        for text in (answer_read(row["answer"], functions[row["name"]]),)
        if text is not None
    }
    if answers:
        metadata[ANSWERS] = json.dumps(answers)
    return Program(
        functions,
        tuple(names[i] for i in entries),
        tuple(_variable(r, model["variables"], tables.constants) for r in model["variables"]),
        metadata,
        tokenizer,
    )


def _variable(row: flat.Row, rows: Sequence[flat.Row], constants: Constants) -> Variable:
    dtype = dtype_of(row["dtype"], f"variable '{row['name']}'")
    kind = TensorType.of(dtype, row["dims"], quant_of(row["quant"]))
    if row["length"] >= len(rows):
        raise ModelFormatError(f"variable '{row['name']}' grows by variable {row['length']}")
    if row["length"] >= 0:
        return Variable.growing(row["name"], kind, rows[row["length"]]["name"])
    return Variable(row["name"], kind, constants.array(row["initial"]))


def _golden(program: Program, row: flat.Row, tables: FileTables) -> Golden:
    if row["function"] >= len(tables.functions):
        raise ModelFormatError("golden data for a function that is absent")
    f = program.functions[tables.functions[row["function"]]]
    names = f.output_names or tuple(v.name for v in f.outputs)
    inputs = [v.name for v in f.inputs if v.name not in f.reads]
    outputs = [name for i, name in enumerate(names) if i not in f.writes]
    tolerances: dict[str, tuple[float, float]] = {}
    digests: dict[str, int] = {}
    found: list[dict[str, Array]] = [{}, {}]
    for rows, known, arrays in (
        (row["inputs"], inputs, found[0]),
        (row["outputs"], outputs, found[1]),
    ):
        for r in rows:
            if r["index"] >= len(known):
                raise ModelFormatError(f"golden data for tensor {r['index']} of {len(known)}")
            name = known[r["index"]]
            if r["constant"] < 0:
                digests[name] = r["digest"]
                continue
            arrays[name] = tables.constants.array(r["constant"])
            if arrays is found[1]:
                tolerances[name] = (r["abs_tol"], r["rel_tol"])
    return Golden(f.name, found[0], found[1], tolerances, digests)
