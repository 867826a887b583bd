# SPDX-License-Identifier: Apache-2.0
"""A `.tflite` file as checked Python data: subgraphs, tensors, operators with their options, signatures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.tflite.schema import IDENTIFIER, Format, model_format
from samara.exporter.ir.flat import Buffer, Row
from samara.exporter.ir.program import unused
from samara.exporter.types import ModelFormatError

Bytes = npt.NDArray[np.uint8]

NO_TENSOR: Final = -1
_FIX: Final = "the file is damaged or was cut off: fetch or convert it again"
_NEWEST: Final = 3  # version of the schema
_BITS: Final = {
    "FLOAT32": 32, "FLOAT16": 16, "FLOAT64": 64, "BFLOAT16": 16,
    "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64, "INT4": 4, "INT2": 2,
    "UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64, "UINT4": 4,
    "BOOL": 8, "COMPLEX64": 64, "COMPLEX128": 128, "FLOAT8_E4M3FN": 8, "FLOAT8_E5M2": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameters:
    """Quantization parameters: real = scale * (q - zero_point), with one scale, or one per index of `axis`.

    details: the name of another kind of parameters, with its row; "" for these.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    details: str = ""
    row: Row = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a subgraph.

    key: its name, unique in the subgraph. type: the schema's name of its element type. shape: as stored;
    signature: the same with -1 where a size may vary. data: the bytes of a constant; None for others.
    """

    index: int
    key: str
    type: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    has_rank: bool
    parameters: Parameters | None
    is_variable: bool
    data: Bytes | None
    sparsity: Row | None
    external: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of a subgraph. Inputs and outputs are indices of tensors, NO_TENSOR for an absent one.

    options: fields of its table of options, with enums by name; empty if the file has none.
    """

    index: int
    name: str
    is_custom: bool
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any]
    custom: bytes
    intermediates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Tensors and operators in the order of execution."""

    index: int
    name: str
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """Names for the inputs and outputs of a subgraph, as indices of its tensors by name."""

    key: str
    subgraph: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Model:
    """A whole file. metadata: the buffers that it names, by name."""

    subgraphs: tuple[Subgraph, ...]
    signatures: tuple[Signature, ...]
    description: str
    metadata: Mapping[str, Bytes]


def read_model(data: bytes, what: str) -> Model:
    """The model in the bytes of a file, `what` in errors. ModelFormatError for whatever is wrong with it."""
    if data[4:8] != IDENTIFIER:
        raise ModelFormatError(f"{what} is not a TFLite model", fix="name a .tflite file")
    kind = model_format()
    buffer = Buffer(kind.schema, data, len(data), _FIX)
    try:
        row = buffer.decode("Model", int.from_bytes(data[:4], "little"))
    except ModelFormatError as error:
        raise ModelFormatError(f"{what}: {error.message}", fix=error.fix) from None
    return _Reader(kind, row, data, what).model()


class _Reader:
    def __init__(self, kind: Format, row: Row, data: bytes, what: str) -> None:
        self.kind = kind
        self.row = row
        self.data = data
        self.what = what

    def fault(self, text: str) -> ModelFormatError:
        return ModelFormatError(f"{self.what}: {text}", fix=_FIX)

    def model(self) -> Model:
        version = self.row["version"]
        if version > _NEWEST:
            raise ModelFormatError(
                f"{self.what} is of schema version {version}, and {_NEWEST} is the newest known",
                fix="convert the model again with an older converter",
            )
        graphs = tuple(self._subgraph(i, graph) for i, graph in enumerate(self.row["subgraphs"]))
        if not graphs:
            raise self.fault("it has no subgraph")
        return Model(
            graphs,
            tuple(self._signature(s, graphs) for s in self.row["signature_defs"]),
            self.row["description"] or "",
            self._metadata(),
        )

    def _metadata(self) -> dict[str, Bytes]:
        found = {}
        for entry in self.row["metadata"]:
            data = self._bytes(entry["buffer"], f"metadata {entry['name']!r}")
            if data is not None:
                found[entry["name"] or ""] = data
        return found

    def _bytes(self, index: int, where: str) -> Bytes | None:
        """The bytes of a buffer; None of an empty one."""
        buffers = self.row["buffers"]
        if index >= len(buffers):
            raise self.fault(f"{where} is in buffer {index}, and there are {len(buffers)}")
        buffer = buffers[index]
        if buffer["offset"] > 1:  # beside the FlatBuffer, in files above 2 GB
            end = buffer["offset"] + buffer["size"]
            if end > len(self.data):
                raise self.fault(f"{where} ends at {end}, the file at {len(self.data)}")
            return np.frombuffer(self.data, np.uint8, buffer["size"], buffer["offset"])
        data: Any = buffer["data"]
        return None if len(data) == 0 else np.asarray(data)

    # ---- subgraphs

    def _subgraph(self, index: int, row: Row) -> Subgraph:
        where = f"subgraph {index}"
        keys: dict[str, None] = {}
        tensors = []
        for i, tensor in enumerate(row["tensors"]):
            name = (tensor["name"] or "").partition(";")[0]  # behind it are names of what was fused
            key = unused(name or f"tensor.{i}", keys)
            keys[key] = None
            tensors.append(self._tensor(i, key, tensor))
        count = len(tensors)
        operators = tuple(
            self._operator(i, operator, where, count) for i, operator in enumerate(row["operators"])
        )
        return Subgraph(
            index,
            row["name"] or "",
            tuple(tensors),
            self._indices(row["inputs"], count, f"{where}: inputs"),
            self._indices(row["outputs"], count, f"{where}: outputs"),
            operators,
        )

    def _indices(
        self, given: Sequence[int], count: int, where: str, optional: bool = False
    ) -> tuple[int, ...]:
        for i in given:
            if not (0 <= i < count or (optional and i == NO_TENSOR)):
                raise self.fault(f"{where}: there is no tensor {i}")
        return tuple(given)

    def _tensor(self, index: int, key: str, row: Row) -> Tensor:
        where = f"tensor {key!r}"
        kind = self.kind.enums["TensorType"].get(row["type"], f"type {row['type']}")
        shape = tuple(row["shape"])
        signature = tuple(row["shape_signature"]) or shape
        if (
            len(signature) != len(shape)
            or any(n < 0 for n in shape)
            or min(signature, default=0) < -1
        ):
            raise self.fault(f"{where} has shape {list(shape)} and signature {list(signature)}")
        data = self._bytes(row["buffer"], where) if row["buffer"] else None
        if data is not None and row["sparsity"] is None and kind in _BITS:
            want = -(-math.prod(shape) * _BITS[kind] // 8)
            if len(data) != want:
                raise self.fault(
                    f"{where} is {kind.lower()} {list(shape)}, {want} bytes, and its data has {len(data)}"
                )
        return Tensor(
            index,
            key,
            kind,
            shape,
            signature,
            row["has_rank"] or bool(shape),
            self._parameters(row["quantization"], shape, where),
            row["is_variable"],
            data,
            row["sparsity"],
            row["external_buffer"] > 0,
        )

    def _parameters(self, row: Row | None, shape: Sequence[int], where: str) -> Parameters | None:
        if row is None:
            return None
        if row["details"] is not None:
            code, inner = row["details"]
            member = self.kind.schema.unions["QuantizationDetails"].members.get(code)
            name = f"kind {code}" if member is None else member.name
            return Parameters((), (), 0, name, inner or {})
        scales, zeros, axis = (
            tuple(row["scale"]),
            tuple(row["zero_point"]),
            row["quantized_dimension"],
        )
        if not scales:
            return None
        zeros = zeros or (0,) * len(scales)
        if len(zeros) == 1:
            zeros *= len(scales)
        if len(zeros) != len(scales):
            raise self.fault(f"{where} has {len(scales)} scales and {len(zeros)} zero points")
        if len(scales) > 1 and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
            raise self.fault(
                f"{where} has {len(scales)} scales along axis {axis} of shape {list(shape)}"
            )
        return Parameters(scales, zeros, axis)

    def _operator(self, index: int, row: Row, graph: str, count: int) -> Operator:
        codes = self.row["operator_codes"]
        if row["opcode_index"] >= len(codes):
            raise self.fault(
                f"{graph}: operator {index} has code {row['opcode_index']} of {len(codes)}"
            )
        code = codes[row["opcode_index"]]
        number = max(code["builtin_code"], code["deprecated_builtin_code"])
        name = self.kind.enums["BuiltinOperator"].get(number, f"operator {number}")
        is_custom = name == "CUSTOM"
        if is_custom:
            name = code["custom_code"] or "CUSTOM"
        where = f"{graph}: operator {index} ({name})"
        custom: Any = row["custom_options"]
        return Operator(
            index,
            name,
            is_custom,
            code["version"],
            self._indices(row["inputs"], count, where, optional=True),
            self._indices(row["outputs"], count, where, optional=True),
            self._options(row),
            bytes(custom) if len(custom) else b"",
            self._indices(row["intermediates"], count, where, optional=True),
        )

    def _options(self, row: Row) -> dict[str, Any]:
        for name, union in (
            ("builtin_options", "BuiltinOptions"),
            ("builtin_options_2", "BuiltinOptions2"),
        ):
            if row[name] is not None and row[name][1] is not None:
                code, inner = row[name]
                return self._named(self.kind.schema.unions[union].members[code].name, inner)
        return {}

    def _named(self, table: str, row: Row) -> dict[str, Any]:
        """A row with its enums by name."""
        found = dict(row)
        for f in self.kind.schema.tables[table].fields:
            if f.fbs_type:
                value = row[f.name]
                found[f.name] = self.kind.enums[f.fbs_type].get(value, f"value {value}")
        return found

    def _signature(self, row: Row, graphs: Sequence[Subgraph]) -> Signature:
        key, index = row["signature_key"] or "", row["subgraph_index"]
        if index >= len(graphs):
            raise self.fault(f"signature {key!r} is for subgraph {index} of {len(graphs)}")
        count = len(graphs[index].tensors)
        maps = []
        for name in ("inputs", "outputs"):
            entries = row[name]
            self._indices([e["tensor_index"] for e in entries], count, f"signature {key!r}: {name}")
            maps.append({e["name"] or "": e["tensor_index"] for e in entries})
        return Signature(key, index, *maps)
