# SPDX-License-Identifier: Apache-2.0
"""What a TFLite file says about itself: its author and licence, labels, and how a picture becomes its input.

The metadata are a FlatBuffer in the model's buffer TFLITE_METADATA; files that belong to it, such as lists of labels,
lie in a zip archive at the end of the model's file.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from samara.exporter.importers.tflite import tensors
from samara.exporter.importers.tflite.model import Bytes, Model, Signature, Tensor
from samara.exporter.importers.tflite.schema import Format, metadata_format
from samara.exporter.ir.answer_records import with_answers
from samara.exporter.ir.flat import Buffer, Row
from samara.exporter.ir.program import Program
from samara.exporter.ir.records import with_records
from samara.exporter.types import ModelFormatError, SamaraError

METADATA: Final = "TFLITE_METADATA"
IDENTIFIER: Final = b"M001"
# A list of labels is refused beyond this size, whatever the archive says.
_LARGEST_FILE: Final = 16 << 20

# What reading a damaged archive raises; RuntimeError of encrypted files, and of compressions that are not known.
_UNREADABLE: Final = (
    zipfile.BadZipFile,
    KeyError,
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zlib.error,
)
_LABELS: Final = ("TENSOR_AXIS_LABELS", "TENSOR_VALUE_LABELS")
_COLOURS: Final = {1: "gray", 3: "rgb"}
_DTYPES: Final = {"FLOAT32": "float32", "FLOAT16": "float16", "UINT8": "uint8", "INT8": "int8"}
# Fields of the table ModelMetadata, and the entries that they become.
_TEXTS: Final = {
    "name": "source.name",
    "description": "description",
    "version": "version",
    "author": "author",
    "license": "license",
}


def with_metadata(program: Program, model: Model, data: bytes, entry: Signature) -> Program:
    """The program with the file's metadata; `entry` is its default function, `data` the whole file.

    ModelFormatError for metadata that are damaged. What fits no input or output is left out.
    """
    texts = {"source.producer": model.description} if model.description else {}
    texts |= _scales(model, entry)
    said = _read(model.metadata.get(METADATA))
    graph = next(iter(said["subgraph_metadata"]), None) if said else None
    if said:
        texts.update({to: said[name] for name, to in _TEXTS.items() if said[name]})
    labels = _labels(said, data)
    if labels:
        texts["labels"] = json.dumps(labels)
    made = _described(program, texts)
    if graph is None:
        return made
    names = metadata_format()
    subgraph = model.subgraphs[entry.subgraph]
    fed = zip(entry.inputs.items(), graph["input_tensor_metadata"], strict=False)
    for (name, index), row in fed:
        text = _image_record(names, subgraph.tensors[index], row)
        if text:
            made = _if_it_fits(made, partial(with_records, records={name: text}))
    given = zip(entry.outputs.items(), graph["output_tensor_metadata"], strict=False)
    for (name, index), row in given:
        text = _answer_record(names, subgraph.tensors[index], name, row)
        if text:
            made = _if_it_fits(made, partial(with_answers, given=text))
            break
    return made


def _scales(model: Model, entry: Signature) -> dict[str, str]:
    """`source.quant.NAME`, for what callers get as plain integers: their scale and zero point."""
    found = {}
    for name, index in {**entry.inputs, **entry.outputs}.items():
        text = _quant(model.subgraphs[entry.subgraph].tensors[index])
        if text:
            found[f"source.quant.{name}"] = text
    return found


def _quant(tensor: Tensor) -> str:
    """`SCALE,ZERO` of a quantized tensor whose type in the Program has no parameters; empty for others."""
    p = tensors.parameters_of(tensor)
    if p is None or len(p.scales) != 1 or tensor.type == "INT8":
        return ""
    return f"{_digits(p.scales[0])},{p.zero_points[0]}"


def _described(program: Program, texts: Mapping[str, str]) -> Program:
    return replace(program, metadata={**program.metadata, **texts})


def _if_it_fits(program: Program, change: Callable[[Program], Program]) -> Program:
    """The changed program; the given one if the record does not fit it."""
    try:
        return change(program)
    except SamaraError:
        return program


def _read(data: Bytes | None) -> dict[str, Any] | None:
    """The table ModelMetadata; None without one, or in a version that is not known."""
    if data is None:
        return None
    raw = bytes(data)
    if raw[4:8] != IDENTIFIER:
        return None
    buffer = Buffer(
        metadata_format().schema, raw, len(raw), "the file is damaged: fetch or convert it again"
    )
    try:
        return buffer.decode("ModelMetadata", int.from_bytes(raw[:4], "little"))
    except ModelFormatError as error:
        raise ModelFormatError(
            f"the metadata of the model: {error.message}", fix=error.fix
        ) from None


# ---- labels


def _labels(said: Row | None, data: bytes) -> list[str]:
    """The lines of the first list of labels that an output has, in no particular language if there is one."""
    if not said:
        return []
    files = [
        f
        for graph in said["subgraph_metadata"]
        for tensor in graph["output_tensor_metadata"]
        for f in tensor["associated_files"]
        if metadata_format().enums["AssociatedFileType"].get(f["type"]) in _LABELS
    ]
    files.sort(key=lambda f: bool(f["locale"]))
    for f in files:
        text = _associated(data, f["name"] or "")
        if text is not None:
            return text.splitlines()
    return []


def _associated(data: bytes, name: str) -> str | None:
    """A file of the archive at the end of the model; None if it cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.getinfo(name).file_size > _LARGEST_FILE:
                return None
            return archive.read(name).decode("utf-8")
    except _UNREADABLE:
        return None


# ---- records


def _units(names: Format, row: Row, kind: str) -> Iterator[Row]:
    """The process units of one kind."""
    members = names.schema.unions["ProcessUnitOptions"].members
    for unit in row["process_units"]:
        if unit["options"] is not None and unit["options"][1] is not None:
            code, options = unit["options"]
            if members[code].name == kind:
                yield options


def _image_record(names: Format, tensor: Tensor, row: Row) -> str:
    """The text of the record of an input that is a picture; empty if it is none, or says too little."""
    content = row["content"]["content_properties"] if row["content"] else None
    if content is None or content[1] is None or len(tensor.shape) != 4:
        return ""
    if names.schema.unions["ContentProperties"].members[content[0]].name != "ImageProperties":
        return ""
    dtype = _DTYPES.get(tensor.type)
    colour = _COLOURS.get(tensor.shape[3])
    if dtype is None or colour is None:
        return ""
    height, width = tensor.shape[1:3]
    size = content[1]["default_size"]
    if -1 in tensor.signature[1:3]:
        height, width = (size["height"], size["width"]) if size else (0, 0)
    parts = [colour, dtype, "nhwc"] + ([f"resize={width}x{height}"] if width and height else [])
    options = next(_units(names, row, "NormalizationOptions"), None) or {"mean": [], "std": []}
    if dtype in ("uint8", "int8"):
        quant = _quantization(tensor, options["mean"] or [0.0], options["std"] or [1.0])
        if quant is not None:
            return " ".join(parts + quant)
    parts += _numbers("mean", options["mean"]) + _numbers("std", options["std"])
    p = tensors.parameters_of(tensor)
    if p is not None and len(p.scales) == 1:
        parts.append(f"quant={_digits(p.scales[0])},{p.zero_points[0]}")
    return " ".join(parts)


def _quantization(tensor: Tensor, mean: Sequence[float], std: Sequence[float]) -> list[str] | None:
    """The words for bytes that are the pixels themselves; None if normalizing and quantizing a pixel moves it by
    more than the step that rounding explains.
    """
    p = tensors.parameters_of(tensor)
    first = 0 if tensor.type == "UINT8" else -128
    if p is not None and len(p.scales) == 1:
        x = np.arange(256.0)
        for m, s in np.broadcast(mean, std):
            made = (x - m) / s / p.scales[0] + p.zero_points[0]
            if np.abs(np.clip(np.rint(made), first, first + 255) - (x + first)).max() > 1:
                return None
    elif any(mean) or any(s != 1 for s in std):
        return None
    return [] if tensor.type == "UINT8" else [f"quant=1,{first}"]


def _numbers(name: str, values: Sequence[float]) -> list[str]:
    """`mean=127.5`, or a value per channel, with the digits that give the float32 back."""
    return [f"{name}={','.join(_digits(v) for v in values)}"] if values else []


def _digits(value: float) -> str:
    return str(np.float32(value))


def _answer_record(names: Format, tensor: Tensor, output: str, row: Row) -> str:
    """The text of the record of an output of scores with a label each; empty for others."""
    kinds = names.enums["AssociatedFileType"]
    if not any(kinds.get(f["type"]) == "TENSOR_AXIS_LABELS" for f in row["associated_files"]):
        return ""
    text = f"classify {output}"
    for options in _units(names, row, "ScoreThresholdingOptions"):
        text += f" threshold={_digits(options['global_score_threshold'])}"
        break
    quant = _quant(tensor)
    return f"{text} quant={quant}" if quant else text
