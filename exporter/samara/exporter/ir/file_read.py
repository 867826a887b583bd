# SPDX-License-Identifier: Apache-2.0
"""`.samara` file -> Program. Files are taken for hostile: what is wrong is a ModelFormatError."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from samara.exporter.ir import flat, schema
from samara.exporter.ir.exprs import ExprReader
from samara.exporter.ir.file_verify import (
    check_sums,
    damaged,
    data_damages,
    header_damage,
    is_sealed,
)
from samara.exporter.ir.file_write import (
    PANEL_DTYPES,
    PLAIN,
    Demand,
    Golden,
    demand_of,
    layout_demand,
)
from samara.exporter.ir.memory_contract import Memory, read_memory
from samara.exporter.ir.named_rows import values_of
from samara.exporter.ir.operator_names import operator_names
from samara.exporter.ir.panels import (
    PANEL_CHANNELS,
    Packed,
    blocks_stride,
    packed_size,
    panel_stride,
    stored_rows,
    unpack_blocks,
    unpack_conv,
    unpack_matmul,
)
from samara.exporter.ir.program import Array, Function, Node, Program, Source, Value, Variable
from samara.exporter.ir.schema import Layout
from samara.exporter.ir.verify import verify
from samara.exporter.ops import Guard, OpSpec, WeightForm, op_by_code
from samara.exporter.types import (
    MAX_RANK,
    DType,
    ModelFormatError,
    Quant,
    SamaraError,
    Sym,
    TensorType,
)
from samara.pybridge.dtypes import unpack_nibbles
from samara.pybridge.files import path_of, read_bytes
from samara.pybridge.foreign import HEAD_BYTES, refuse_foreign

_MAX_ELEMENTS: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class ConstantInfo:
    """How a constant is stored."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    layout: Layout
    groups: int
    panel_stride: int
    segment: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a file holds beside the program. `segments` are (name, offset, size); `memory` is empty
    where nothing was measured. `operators` are names by code, empty in files before 0.6.0.
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
    sums: bool = False  # whether every byte has a checksum, which it matched
    operators: Mapping[int, str] = field(default_factory=dict)


def open_program(path: str | os.PathLike[str]) -> Program:
    """The Program of a file. ModelFormatError says what is malformed, and where; FileError that the
    file cannot be read.
    """
    return read_file(path).program


def read_file(path: str | os.PathLike[str], *, checked: bool = True) -> ModelFile:
    """Everything in a file.

    checked: refuse a program whose types are not what its operators' rules say. A runtime compares
    sizes, when it knows them, and takes some such files.
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
        return _Reader(data).read(checked)
    except ModelFormatError:
        raise
    except (SamaraError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        # Objects of the IR refuse what they cannot be; here that is the file's fault.
        text = error.message if isinstance(error, SamaraError) else str(error)
        raise ModelFormatError(f"malformed program: {text}") from error
    except RecursionError as error:
        raise ModelFormatError("malformed program: it nests too deeply") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.infos: list[ConstantInfo] = []
        self.sources: list[Source] = []
        self.segments: list[tuple[str, int, int]] = []
        self._arrays: dict[tuple[int, Demand], Array] = {}
        self._names: list[str] = []
        self._variables: list[str] = []
        self.operators: Mapping[int, str] = {}

    def read(self, checked: bool) -> ModelFile:
        program_bytes, file_bytes = self._header()
        sealed = is_sealed(self.data, program_bytes)
        buffer = flat.Buffer(self.data, program_bytes)
        root = int.from_bytes(self.data[:4], "little")
        model = buffer.decode(schema.table("Model"), root)
        version = model["min_runtime"]
        needs = (version >> 16, version >> 8 & 255, version & 255)
        if needs > schema.RUNTIME_VERSION:
            raise ModelFormatError(
                f"it needs runtime {'.'.join(map(str, needs))}, this is"
                f" {'.'.join(map(str, schema.RUNTIME_VERSION))}",
                fix="update samara, or export for an older runtime",
            )
        self._segments(model["segments"], program_bytes, file_bytes)
        check_sums(model["segments"], sealed=sealed)
        if sealed:
            segments, constants = model["segments"], model["constants"]
            for damage in data_damages(self.data, program_bytes, segments, constants):
                raise damaged(damage)
        self.infos = [self._info(i, row) for i, row in enumerate(model["constants"])]
        self.sources = [
            Source(r["file"] or "", r["line"], r["detail"] or "") for r in model["sources"]
        ]
        self.operators = operator_names(model["operators"] or "")
        self._names = [r["name"] for r in model["functions"]]
        if len(set(self._names)) != len(self._names):
            raise ModelFormatError("two functions have one name")
        self._variables = [r["name"] for r in model["variables"]]
        decoded = [_Function(self, r) for r in model["functions"]]
        demands: dict[int, set[Demand]] = {}
        for f in decoded:
            f.collect(demands)
        functions = {f.name: f.build(demands) for f in decoded}
        program = Program(
            functions,
            tuple(self._names[i] for i in _indices(model["entries"], len(self._names), "entries")),
            tuple(self._variable(r) for r in model["variables"]),
            {r["key"]: r["value"] for r in model["metadata"]},
        )
        if checked:
            verify(program)
        return ModelFile(
            program,
            tuple(self._golden(program, r) for r in model["golden"]),
            tuple(self.infos),
            tuple(self.segments),
            model["producer"] or "",
            needs,
            model["schema_version"],
            program_bytes,
            file_bytes,
            read_memory(model["memory"], self._names),
            sealed,
            self.operators,
        )

    # ---- the frame

    def _header(self) -> tuple[int, int]:
        data = self.data
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
        program_bytes = int.from_bytes(data[8:16], "little")
        file_bytes = int.from_bytes(data[24:32], "little")
        return program_bytes, file_bytes

    def _segments(self, rows: Sequence[flat.Row], program_bytes: int, file_bytes: int) -> None:
        end = program_bytes
        for i, row in enumerate(rows):
            offset, size = row["offset"], row["size"]
            if offset < end or offset + size > file_bytes:
                raise ModelFormatError(
                    f"segment {i} has {size} bytes at {offset}, it must lie between {end} and"
                    f" {file_bytes}"
                )
            end = offset + size
            self.segments.append((row["name"] or "", offset, size))

    # ---- constants

    def _info(self, i: int, row: flat.Row) -> ConstantInfo:
        where = f"constant {i} ('{row['name']}')"
        dtype = _dtype(row["dtype"], where)
        shape = tuple(row["dims"])
        if len(shape) > MAX_RANK or any(n < 0 for n in shape):
            raise ModelFormatError(f"{where} has the shape {list(shape)}")
        if math.prod(shape) > _MAX_ELEMENTS:
            raise ModelFormatError(f"{where} has {math.prod(shape)} elements")
        if row["layout"] not in set(Layout):
            raise ModelFormatError(f"{where} has the unknown layout {row['layout']}")
        if row["segment"] >= len(self.segments):
            raise ModelFormatError(f"{where} lies in segment {row['segment']}, which is absent")
        if row["offset"] + row["size"] > self.segments[row["segment"]][2]:
            raise ModelFormatError(f"{where} reaches beyond the end of its segment")
        return ConstantInfo(
            row["name"],
            dtype,
            shape,
            Layout(row["layout"]),
            row["groups"],
            row["panel_stride"],
            row["segment"],
            row["offset"],
            row["size"],
        )

    def array(self, index: int, demand: Demand = PLAIN) -> Array:
        """The data of a constant, row-major; `demand` says how its panels are to be read."""
        if not 0 <= index < len(self.infos):
            raise ModelFormatError(f"there is no constant {index}")
        info = self.infos[index]
        key = (index, PLAIN if info.layout is Layout.PLAIN else demand)
        found = self._arrays.get(key)
        if found is None:
            found = self._unpack(info, demand)
            found.flags.writeable = False
            self._arrays[key] = found
        return found

    def _unpack(self, info: ConstantInfo, demand: Demand) -> Array:
        start = self.segments[info.segment][1] + info.offset
        dtype = info.dtype.numpy
        where = f"constant '{info.name}'"
        if info.layout is Layout.PLAIN:
            count = math.prod(info.shape)
            needed = info.dtype.bytes_of(count)
            if info.size < needed:
                raise ModelFormatError(f"{where} has {info.size} bytes, it needs {needed}")
            if info.dtype.is_packed:
                held = np.frombuffer(self.data, np.uint8, needed, start)
                return unpack_nibbles(held, dtype, info.shape)
            array = np.frombuffer(self.data, dtype, count, start)
            if info.dtype is DType.BOOL and np.any(array.view(np.uint8) > 1):
                raise ModelFormatError(f"{where} is bool and holds other bytes than 0 and 1")
            return array.reshape(info.shape)
        if demand[0] is WeightForm.BLOCKS:
            return self._unpack_blocks(info, start)
        shape = self._panel_shape(info, demand)
        data = self.data[start : start + info.size]
        packed = Packed(info.layout, info.groups, info.panel_stride, data)
        if demand[0] is WeightForm.MATMUL:
            return unpack_matmul(packed, (info.shape[0], info.shape[1]), dtype, demand[1])
        return unpack_conv(packed, shape, dtype)

    def _unpack_blocks(self, info: ConstantInfo, start: int) -> Array:
        where, shape = f"constant '{info.name}'", info.shape
        if not info.dtype.is_packed or len(shape) != 2 or math.prod(shape) == 0 or info.groups != 1:
            raise ModelFormatError(f"{where} of shape {list(shape)} cannot lie in panels of 4 bits")
        if info.layout is not Layout.PANEL or info.panel_stride != blocks_stride(shape[1]):
            raise ModelFormatError(f"{where} has the panel stride {info.panel_stride}")
        if info.size < -(-shape[0] // PANEL_CHANNELS) * info.panel_stride:
            raise ModelFormatError(f"{where} has {info.size} bytes, too few for its panels")
        data = self.data[start : start + info.size]
        packed = Packed(info.layout, 1, info.panel_stride, data)
        return unpack_blocks(packed, (shape[0], shape[1]), info.dtype.numpy)

    def _panel_shape(self, info: ConstantInfo, demand: Demand) -> tuple[int, ...]:
        """The shape as [channels, …], after checking all that unpacking relies on."""
        where = f"constant '{info.name}'"
        shape = info.shape
        if demand[0] is WeightForm.MATMUL and len(shape) == 2:
            groups = 1
            shape = shape if demand[1] else shape[::-1]
        elif demand[0] is WeightForm.CONV and len(shape) >= 3:
            groups = demand[1]
        else:
            raise ModelFormatError(f"{where} lies in panels, which its uses cannot read")
        if info.dtype not in (*PANEL_DTYPES, DType.I8) or info.groups != groups or groups < 1:
            raise ModelFormatError(f"{where} has {info.groups} groups, its use has {groups}")
        if shape[0] % groups or math.prod(shape) == 0:
            raise ModelFormatError(f"{where} of shape {list(info.shape)} cannot lie in panels")
        if info.layout is Layout.DWPANEL and not (groups == shape[0] and shape[-1] == 1):
            raise ModelFormatError(f"{where} is not depthwise: {list(info.shape)}")
        itemsize = info.dtype.itemsize
        rows = stored_rows(info.layout, math.prod(shape[1:]), itemsize)
        if info.panel_stride != panel_stride(rows, itemsize):
            raise ModelFormatError(f"{where} has the panel stride {info.panel_stride}")
        if info.size < packed_size(info.layout, shape, groups, itemsize):
            raise ModelFormatError(f"{where} has {info.size} bytes, too few for its panels")
        return shape

    # ---- rows

    def _variable(self, row: flat.Row) -> Variable:
        dtype = _dtype(row["dtype"], f"variable '{row['name']}'")
        kind = TensorType.of(dtype, row["dims"], _quant(row["quant"]))
        return Variable(row["name"], kind, self.array(row["initial"]))

    def _golden(self, program: Program, row: flat.Row) -> Golden:
        if row["function"] >= len(self._names):
            raise ModelFormatError("golden data for a function that is absent")
        f = program.functions[self._names[row["function"]]]
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
                arrays[name] = self.array(r["constant"])
                if arrays is found[1]:
                    tolerances[name] = (r["abs_tol"], r["rel_tol"])
        return Golden(f.name, found[0], found[1], tolerances, digests)

    def source(self, index: int) -> Source | None:
        if index < 0:
            return None
        if index >= len(self.sources):
            raise ModelFormatError(f"there is no source {index}")
        return self.sources[index]

    def function_name(self, index: int) -> str:
        if index >= len(self._names):
            raise ModelFormatError(f"there is no function {index}")
        return self._names[index]

    def variable_name(self, index: int) -> str:
        if index >= len(self._variables):
            raise ModelFormatError(f"there is no variable {index}")
        return self._variables[index]


class _Function:
    """One function while it is read: first its dims, then, when all uses are known, its data."""

    def __init__(self, reader: _Reader, row: flat.Row) -> None:
        self.reader = reader
        self.row = row
        self.name: str = row["name"]
        values = row["values"]
        count = len(values)
        self.dtypes = [_dtype(v["dtype"], f"'{v['name']}'") for v in values]
        self.inputs = _indices(row["inputs"], count, "inputs")
        self.outputs = _indices(row["outputs"], count, "outputs")
        nodes = row["nodes"]
        self.node_outputs = [_indices(n["outputs"], count, "outputs") for n in nodes]
        for n, outputs in zip(nodes, self.node_outputs, strict=True):
            if not outputs:
                raise ModelFormatError("a node has no outputs", node=n["name"])
        symbols = {
            s["expr"]: Sym(s["name"], s["lower"], None if s["upper"] < 0 else s["upper"])
            for s in row["symbols"]
        }
        if len({s.name for s in symbols.values()}) != len(row["symbols"]):
            raise ModelFormatError("a symbol occurs twice")
        self.exprs = ExprReader(
            row["exprs"],
            symbols,
            [values[i]["dims"] for i in self.inputs],
            [(v["name"], t) for v, t in zip(values, self.dtypes, strict=True)],
            [(values[o[0]]["name"], len(o)) for o in self.node_outputs],
        )
        self.types = [
            TensorType(t, tuple(self.exprs[d] for d in v["dims"]), _quant(v["quant"]))
            for v, t in zip(values, self.dtypes, strict=True)
        ]
        self.ops: list[OpSpec] = [self._op(n, reader.operators) for n in nodes]
        self.attrs = [self._attrs(op, n) for op, n in zip(self.ops, nodes, strict=True)]

    @staticmethod
    def _op(row: flat.Row, names: Mapping[int, str]) -> OpSpec:
        try:
            return op_by_code(row["op"])
        except SamaraError as error:
            name = names.get(row["op"])
            if name is None:
                raise ModelFormatError(error.message, node=row["name"]) from error
            raise ModelFormatError(
                f"this samara has no operator {name!r} (code {row['op']})",
                op=name,
                node=row["name"],
                fix="update samara",
            ) from error

    def _attrs(self, op: OpSpec, row: flat.Row) -> dict[str, Any]:
        stored: Mapping[str, Any] = {}
        for found in (row["attrs"], row["more_attrs"]):
            if found is None:
                continue
            code, stored = found
            if code != op.code:
                raise ModelFormatError(
                    f"the attributes are those of operator {code}", op=op.name, node=row["name"]
                )
        given = {}
        table = schema.union_table(op.code)
        for a in op.attrs:
            assert table is not None
            value: Any = stored.get(a.name)
            field = table.field(a.name)
            # Vectors and texts that are absent, and dims of -1, stand for the default.
            absent = value is None or (value == [] and not field.required)
            if absent or (a.type == "dim" and value == -1):
                continue
            if a.type == "enum":
                if value >= len(a.choices):
                    raise ModelFormatError(
                        f"{a.name} has no choice {value}", op=op.name, node=row["name"]
                    )
                value = a.choices[value]
            elif a.type == "dtype":
                value = _dtype(value, a.name)
            elif a.type == "function":
                value = self.reader.function_name(value)
            elif a.type == "dim":
                value = self.exprs[value]
            elif a.type == "dims":
                value = [self.exprs[i] for i in value]
            elif a.type == "named":
                value = values_of(value)
            given[a.name] = value
        try:
            return op.complete(given)
        except (TypeError, SamaraError) as error:
            raise ModelFormatError(str(error), op=op.name, node=row["name"]) from error

    def _shell(self, index: int) -> Value:
        return Value(self.row["values"][index]["name"], self.types[index])

    def collect(self, demands: dict[int, set[Demand]]) -> None:
        """Note what every use wants of every constant."""
        values = self.row["values"]
        for op, attrs, n in zip(self.ops, self.attrs, self.row["nodes"], strict=True):
            for i, v in enumerate(n["inputs"]):
                if v == -1:
                    continue
                if not 0 <= v < len(values):
                    raise ModelFormatError(f"there is no value {v}", op=op.name, node=n["name"])
                if values[v]["constant"] >= 0:
                    node = Node(op, (), (), attrs, n["name"])
                    demand = demand_of(node, i, self._shell(v))
                    demands.setdefault(values[v]["constant"], set()).add(demand)
        for v in self.outputs:
            if values[v]["constant"] >= 0:
                demands.setdefault(values[v]["constant"], set()).add(PLAIN)

    def build(self, demands: Mapping[int, set[Demand]]) -> Function:
        row = self.row
        values = [self._value(i, demands) for i in range(len(self.types))]
        nodes = tuple(self._node(i, values) for i in range(len(self.ops)))
        names = [v.name for v in values]
        if len(set(names)) != len(names):
            raise ModelFormatError(f"two tensors of function '{self.name}' have one name")
        reads = {}
        for r in row["reads"]:
            if r["position"] >= len(self.inputs):
                raise ModelFormatError(f"there is no input {r['position']} to read a variable")
            position = self.inputs[r["position"]]
            reads[values[position].name] = self.reader.variable_name(r["variable"])
        writes = {}
        for r in row["writes"]:
            if r["position"] in writes:
                raise ModelFormatError(f"output {r['position']} is assigned to two variables")
            writes[r["position"]] = self.reader.variable_name(r["variable"])
        return Function(
            self.name,
            tuple(values[i] for i in self.inputs),
            tuple(values[i] for i in self.outputs),
            nodes,
            tuple(row["output_names"]),
            tuple(self._guards()),
            self.exprs.bounds,
            reads,
            writes,
        )

    def _value(self, i: int, demands: Mapping[int, set[Demand]]) -> Value:
        row = self.row["values"][i]
        index = row["constant"]
        if index < 0:
            return Value(row["name"], self.types[i])
        array = self.reader.array(index, layout_demand(demands.get(index, {PLAIN})))
        if self.reader.infos[index].dtype is not self.dtypes[i]:
            raise ModelFormatError(f"'{row['name']}' and its constant differ in dtype")
        return Value(row["name"], self.types[i], array)

    def _node(self, i: int, values: Sequence[Value]) -> Node:
        row = self.row["nodes"][i]
        inputs = [None if v < 0 else values[v] for v in row["inputs"]]
        while inputs and inputs[-1] is None:
            inputs.pop()
        return Node(
            self.ops[i],
            tuple(inputs),
            tuple(values[v] for v in self.node_outputs[i]),
            self.attrs[i],
            row["name"],
            self.reader.source(row["source"]),
            tuple(row["absorbed"]),
        )

    def _guards(self) -> list[Guard]:
        found = []
        nodes = self.row["nodes"]
        for row in self.row["guards"]:
            if row["relation"] >= len(schema.RELATIONS):
                raise ModelFormatError(f"unknown relation {row['relation']} in a guard")
            if row["node"] >= len(nodes):
                raise ModelFormatError(f"a guard names node {row['node']}, which is absent")
            count = len(self.exprs.dims)
            a, b = _indices([row["a"], row["b"]], count, "expressions")
            # Such a guard follows from the inputs' shapes and is made anew when written.
            if row["relation"] == 0 and self.exprs.dims[a] is None:
                continue
            relation: Any = schema.RELATIONS[row["relation"]]
            name = nodes[row["node"]]["name"] if row["node"] >= 0 else ""
            message = row["message"] or ""
            found.append(Guard(relation, self.exprs[a], self.exprs[b], message, name))
        return found


def _indices(found: Sequence[int], count: int, what: str) -> list[int]:
    for i in found:
        if not 0 <= i < count:
            raise ModelFormatError(f"{what}: there is no {i} among {count}")
    return list(found)


def _dtype(code: int, where: str) -> DType:
    try:
        return DType(code)
    except ValueError:
        raise ModelFormatError(f"{where} has the unknown dtype {code}") from None


def _quant(row: flat.Row | None) -> Quant | None:
    if row is None:
        return None
    return Quant(
        tuple(row["scales"]),
        tuple(row["zero_points"]),
        None if row["axis"] == -1 else row["axis"],
        row["block"] or None,
    )
