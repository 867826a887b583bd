# SPDX-License-Identifier: Apache-2.0
"""Input records: how a picture or sound becomes an input. A Program keeps them in its metadata, a file in tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from samara.exporter.ir import flat
from samara.exporter.ir.audio_rows import audio_record, audio_row
from samara.exporter.ir.program import Function, Program, Value
from samara.exporter.types import (
    ArgumentError,
    Dim,
    DType,
    ModelFormatError,
    SamaraError,
    ShapeError,
)
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.image_text import CHANNELS, FILTERS, LAYOUTS, MATRICES, RANGES
from samara.pybridge.input_record import InputRecord, as_record, parse_record
from samara.pybridge.names import unknown

RECORDS: Final = "preprocess"
"""The entry of Program.metadata: JSON, {input: text of its record}."""

_COLOURS: Final = tuple(CHANNELS)

Records = Mapping[str, InputRecord | str]


def records_of(program: Program) -> dict[str, InputRecord]:
    """{input: its record}"""
    texts = json.loads(program.metadata.get(RECORDS, "{}"))
    return {name: parse_record(text) for name, text in texts.items()}


def image_records_of(program: Program) -> dict[str, ImageRecord]:
    """The records of pictures."""
    return {n: r for n, r in records_of(program).items() if isinstance(r, ImageRecord)}


def with_records(program: Program, records: Records) -> Program:
    """The program with these records added; "" or None removes one.

    ArgumentError for a text that is not a record, UnknownNameError for a name that no input of an entry has,
    ShapeError if the record's tensor does not fit the input.
    """
    known = entry_inputs(program)
    texts = json.loads(program.metadata.get(RECORDS, "{}"))
    for name, given in records.items():
        if name not in known:
            raise unknown("preprocess: the model has no input", name, known, "it takes")
        if not given:
            texts.pop(name, None)
            continue
        record = as_record(given, f"the record of input {name!r}")
        for value in known[name]:
            check_record(record, value)
        texts[name] = str(record)
    return _with_texts(program, texts)


def check_record(record: InputRecord, value: Value) -> None:
    """ShapeError if the record's tensor does not fit the input, ArgumentError if elements need a scale that neither
    has.
    """
    if isinstance(record, ImageRecord):
        _check_image(record, value)
    else:
        _check_audio(record, value)
    quant = value.type.quant
    if quant is None:
        record.quantized()
    else:
        record.quantized(float(quant.scales[0]), int(quant.zero_points[0]))


def fixed_size(record: ImageRecord) -> tuple[int, int] | None:
    """(width, height) of the tensor if it is the same for every picture."""
    fixed = record.crop if record.crop is not None else record.letterbox
    if fixed is None and isinstance(record.resize, tuple):
        return record.resize
    return fixed


def as_stored(record: InputRecord, value: Value) -> InputRecord:
    """The record for the file: a record of floats for a quantized input makes the input's integers."""
    if value.type.dtype is DType.QS8 and record.dtype in ("float32", "float16"):
        return replace(record, dtype="int8")
    return record


def _check_audio(record: AudioRecord, value: Value) -> None:
    kind = value.type
    dtype = "int8" if kind.dtype is DType.QS8 else kind.dtype.public_name
    made = record.tensor_shape
    flat = (1, math.prod(made))
    if dtype != record.dtype or not any(_may_be(kind.shape, shape) for shape in (made, flat)):
        raise ShapeError(
            f"the record of input {value.name!r} makes {record.dtype} {list(made)}, the input is {kind}",
            fix="change the record's layout, its frames or its dtype",
        )


def _may_be(shape: Sequence[Dim], sizes: Sequence[int]) -> bool:
    pairs = zip(shape, sizes, strict=False)
    return len(shape) == len(sizes) and all(not d.is_static or d == n for d, n in pairs)


def _check_image(record: ImageRecord, value: Value) -> None:
    kind = value.type
    dtype = "int8" if kind.dtype is DType.QS8 else kind.dtype.public_name
    if dtype != record.dtype or len(kind.shape) != len(record.layout):
        raise ShapeError(
            f"the record of input {value.name!r} makes {record.dtype} of rank {len(record.layout)}"
            f" ({record.layout}), the input is {kind}",
            fix=f"begin the record with '{record.colour} {dtype} LAYOUT', with as many axes as the input",
        )
    if "c" in record.layout:
        axis = record.layout.index("c")
        dim = kind.shape[axis]
        if dim.is_static and dim != record.channels:
            raise ShapeError(
                f"the record of input {value.name!r} makes {record.channels} channels, the input {kind}"
                f" has {dim} on axis {axis}",
                fix="change the record's layout (nchw, nhwc) or its colour (rgb, gray)",
            )
    if record.layout[0] == "n" and kind.shape[0].is_static and kind.shape[0] != 1:
        raise ShapeError(
            f"the record is of input {value.name!r}, {kind}, and pictures come one by one",
            fix="make the batch 1, or symbolic",
        )


def relaid(program: Program, layout: Mapping[str, str]) -> Program:
    """The program whose inputs were made channels-last, with the records changed too."""
    texts = json.loads(program.metadata.get(RECORDS, "{}"))
    moved = {
        name: replace(record, layout="nhwc")
        for name, record in image_records_of(program).items()
        if name in layout and record.layout == "nchw"
    }
    texts |= {name: str(record) for name, record in moved.items()}
    return _with_texts(program, texts)


def renamed_records(program: Program, names: Mapping[str, str]) -> Program:
    """The program whose inputs were renamed, {old: new}, with the records renamed too."""
    texts = json.loads(program.metadata.get(RECORDS, "{}"))
    return _with_texts(program, {names.get(name, name): text for name, text in texts.items()})


def joined_records(*metadata: Mapping[str, str]) -> dict[str, str]:
    """The entry with the records of several programs that become one. If several have a record for an input, the
    last counts.
    """
    texts: dict[str, str] = {}
    for entries in metadata:
        texts |= json.loads(entries.get(RECORDS, "{}"))
    return {RECORDS: json.dumps(texts)} if texts else {}


def _with_texts(program: Program, texts: Mapping[str, str]) -> Program:
    metadata = {k: v for k, v in program.metadata.items() if k != RECORDS}
    return replace(
        program, metadata={**metadata, RECORDS: json.dumps(texts)} if texts else metadata
    )


def entry_inputs(program: Program) -> dict[str, list[Value]]:
    """{name: inputs of entries}, without inputs that read variables."""
    found: dict[str, list[Value]] = {}
    for name in program.entries:
        f = program.functions[name]
        for v in f.inputs:
            if v.name not in f.reads:
                found.setdefault(v.name, []).append(v)
    return found


# ---- in files ----


def record_rows(f: Function, records: Mapping[str, InputRecord]) -> list[dict[str, Any]]:
    """Rows of the table InputRecord."""
    rows = []
    for i, value in enumerate(v for v in f.inputs if v.name not in f.reads):
        if value.name in records:
            record = as_stored(records[value.name], value)
            check_record(record, value)
            made = (
                {"image": _image_row(record)}
                if isinstance(record, ImageRecord)
                else {"audio": audio_row(record)}
            )
            rows.append({"input": i} | made)
    return rows


def _image_row(r: ImageRecord) -> dict[str, Any]:
    resize = () if r.resize is None else (r.resize,) if isinstance(r.resize, int) else r.resize
    return {
        "colour": 1 + _COLOURS.index(r.colour),
        "dtype": int(DType.parse(r.dtype)),
        "layout": 1 + LAYOUTS.index(r.layout),
        "filter": FILTERS.index(r.filter) and 1 + FILTERS.index(r.filter),
        "antialias": r.antialias,
        "resize": list(resize),
        "crop": list(r.crop or ()),
        "letterbox": list(r.letterbox or ()),
        "fill": list(r.fill),
        "mean": list(r.mean),
        "scale": list(r.scale),
        "quant_scale": 0.0 if r.quant is None else r.quant[0],
        "quant_zero": 0 if r.quant is None else r.quant[1],
        "matrix": 0 if r.matrix is None else 1 + MATRICES.index(r.matrix),
        "range": 0 if r.range is None else 1 + RANGES.index(r.range),
    }


def records_read(rows: list[flat.Row], f: Function) -> dict[str, str]:
    """{input: text of its record}; records of unknown, newer kinds are left out."""
    inputs = [v for v in f.inputs if v.name not in f.reads]
    found = {}
    last = -1
    for row in rows:
        if row["input"] >= len(inputs):
            raise ModelFormatError(f"there is no input {row['input']} for a record")
        if row["input"] <= last:
            raise ModelFormatError(f"a record of input {row['input']} after that of {last}")
        last = row["input"]
        if row["image"] is None and row["audio"] is None:
            continue
        value, record = inputs[row["input"]], _record(row)
        try:
            check_record(record, value)
        except SamaraError as error:
            raise ModelFormatError(error.message) from error
        found[value.name] = str(record)
    return found


def _record(row: flat.Row) -> InputRecord:
    if row["audio"] is None:
        return _image_record(row["image"])
    try:
        return audio_record(row["audio"])
    except (ArgumentError, ValueError) as error:
        raise ModelFormatError(f"an audio record: {error}") from error


def _image_record(row: flat.Row) -> ImageRecord:
    resize = tuple(row["resize"])
    try:
        return ImageRecord(
            _named(_COLOURS, row["colour"]),
            DType(row["dtype"]).public_name,
            _named(LAYOUTS, row["layout"]),
            resize=resize[0] if len(resize) == 1 else resize or None,
            filter=_named(FILTERS, max(row["filter"], 1)),
            antialias=bool(row["antialias"]),
            crop=tuple(row["crop"]) or None,
            letterbox=tuple(row["letterbox"]) or None,
            fill=tuple(row["fill"]),
            mean=tuple(row["mean"]),
            scale=tuple(row["scale"]),
            quant=(row["quant_scale"], row["quant_zero"]) if row["quant_scale"] else None,
            matrix=_named(MATRICES, row["matrix"]) if row["matrix"] else None,
            range=_named(RANGES, row["range"]) if row["range"] else None,
        )
    except (ArgumentError, ValueError) as error:
        raise ModelFormatError(f"an image record: {error}") from error


def _named(names: tuple[str, ...], code: int) -> str:
    if not 1 <= code <= len(names):
        raise ModelFormatError(f"an image record: code {code} is none of {', '.join(names)}")
    return names[code - 1]
