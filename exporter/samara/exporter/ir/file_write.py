# SPDX-License-Identifier: Apache-2.0
"""Program -> `.samara` file: the program part, then segments with the data of constants."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from samara.exporter import ops
from samara.exporter.ir import schema
from samara.exporter.ir.accuracy import is_exact
from samara.exporter.ir.answer_records import ANSWERS, answer_row, answers_of, labels_of
from samara.exporter.ir.constant_layout import ConstantLayouts
from samara.exporter.ir.exprs import ExprWriter
from samara.exporter.ir.file_assemble import Segment, assemble, encoder, in_memory
from samara.exporter.ir.fnv import fnv1a
from samara.exporter.ir.memory_contract import Memory, memory_rows
from samara.exporter.ir.named_rows import named_rows
from samara.exporter.ir.operator_names import operators_text
from samara.exporter.ir.panels import pack_plain
from samara.exporter.ir.program import Array, Function, Node, Program, Source, Value
from samara.exporter.ir.records import RECORDS, image_records_of, record_rows, records_of
from samara.exporter.ir.verify import verify
from samara.exporter.ops import Attr, OpSpec
from samara.exporter.types import DType, Quant, ShapeError
from samara.pybridge.atomic import replacing
from samara.pybridge.memory_use import DerivedLayout

PRODUCER: Final = "samara " + ".".join(map(str, schema.RUNTIME_VERSION))
# Entries of the metadata for which files have tables.
_TABLES: Final = frozenset({RECORDS, ANSWERS})


@dataclass(frozen=True, slots=True)
class Golden:
    """Inputs of an entry and their expected outputs, by name.

    Float outputs are stored and compared within `tolerances[name]` = (absolute, relative). Other outputs are
    kept as digests, in `digests` if they were read from a file.
    """

    function: str
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    tolerances: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    digests: Mapping[str, int] = field(default_factory=dict)


def save_program(
    program: Program,
    path: str | os.PathLike[str],
    *,
    golden: Sequence[Golden] | Golden | None = None,
    padding: float | None = math.inf,
    runtime: tuple[int, ...] | None = None,
    measure: Callable[[memoryview], Sequence[Memory]] | None = None,
    prepack: Callable[[memoryview], Sequence[DerivedLayout]] | None = None,
) -> int:
    """Write the file; returns its size in bytes.

    The file appears as a whole: it is written beside `path` and renamed. padding: as for ConstantLayouts.
    runtime: the oldest one that must read the file; nodes are written in its terms.
    Two parts come from the runtime, which needs a file to answer. prepack: called with the file's bytes
    (`in_memory`) without these parts; returns layouts to store, so that sessions need not derive them. measure:
    called with the bytes including the layouts; returns the memory contract.
    """
    verify(program)
    row, segments = rows_of(program, golden=golden, padding=padding, runtime=runtime)
    with replacing(path) as file:
        if prepack is not None:
            _add_derived(row, segments, prepack(in_memory(row, segments)))
        by = encoder()
        if measure is not None:
            functions = {name: i for i, name in enumerate(program.functions)}
            row["memory"] = memory_rows(measure(in_memory(row, segments, by)), functions)
        file.writelines(assemble(row, segments, by))
        return file.tell()


def _add_derived(
    row: dict[str, Any], segments: list[Segment], derived: Sequence[DerivedLayout]
) -> None:
    """Add a segment with the layouts, each stored as a constant of bytes."""
    if not derived:
        return
    segment = Segment("derived")
    row["derived"] = []
    for layout in derived:
        of = row["constants"][layout.constant]["name"]
        row["derived"].append(
            {
                "constant": layout.constant,
                "op": layout.op,
                "layout": layout.layout,
                "version": layout.version,
                "data": len(row["constants"]),
            }
        )
        row["constants"].append(
            {
                "name": f"{of}.{layout.op}.{layout.layout:x}",
                "dtype": int(DType.U8),
                "dims": [len(layout.data)],
                "layout": int(schema.Layout.PLAIN),
                "groups": 1,
                "panel_stride": 0,
                "segment": len(segments),
                "offset": segment.add(layout.data),
                "size": len(layout.data),
            }
        )
    segments.append(segment)
    row["segments"].append(segment.row())


def to_bytes(
    program: Program,
    *,
    golden: Sequence[Golden] | Golden | None = None,
    padding: float | None = math.inf,
) -> bytes:
    """The file as bytes."""
    verify(program)
    row, segments = rows_of(program, golden=golden, padding=padding)
    return b"".join(assemble(row, segments))


def rows_of(
    program: Program,
    *,
    golden: Sequence[Golden] | Golden | None = None,
    padding: float | None = math.inf,
    runtime: tuple[int, ...] | None = None,
    layouts: ConstantLayouts | None = None,
) -> tuple[dict[str, Any], list[Segment]]:
    """The row of the table Model, and the segments of data. layouts: those of another program with the same
    constants, uses and padding.
    """
    goldens = [golden] if isinstance(golden, Golden) else list(golden or ())
    layouts = ConstantLayouts(program, padding) if layouts is None else layouts
    writer = _Writer(program, layouts, runtime)
    row = writer.model(goldens)
    return row, writer.segments


# -- rows ------------------------------------------------------------------------------------------


class _Writer:
    """Rows of one program, and the constants they refer to."""

    def __init__(
        self,
        program: Program,
        layouts: ConstantLayouts,
        runtime: tuple[int, ...] | None = None,
    ) -> None:
        self.program = program
        self.runtime = runtime
        self.weights = Segment("weights")
        self.golden = Segment("golden")
        self.segments: list[Segment] = []
        self.constants: list[dict[str, Any]] = []
        self._known: dict[Any, int] = {}
        self._layouts = layouts
        self._functions = {name: i for i, name in enumerate(program.functions)}
        self._variables = {v.name: i for i, v in enumerate(program.variables)}
        self._sources: dict[Source, int] = {}
        self._records = records_of(program)
        self._answers = answers_of(program)

    def model(self, goldens: Sequence[Golden]) -> dict[str, Any]:
        p = self.program
        functions = [self._function(f) for f in p.functions.values()]
        variables = self._variable_rows()
        golden_rows = [self._golden(g) for g in goldens]
        tokenizer = Segment(schema.TOKENIZER)
        if p.tokenizer is not None:
            tokenizer.add(p.tokenizer)
        self.segments = [s for s in (self.weights, tokenizer, self.golden) if s.parts]
        numbers = {id(s): i for i, s in enumerate(self.segments)}
        for row in self.constants:
            row["segment"] = numbers[id(row.pop("_segment"))]
        return {
            "schema_version": schema.SCHEMA_VERSION,
            "min_runtime": _min_runtime(p, self.runtime),
            "producer": PRODUCER,
            "functions": functions,
            "entries": [self._functions[name] for name in p.entries],
            "variables": variables,
            "constants": self.constants,
            "segments": [s.row() for s in self.segments],
            "metadata": [{"key": k, "value": v} for k, v in p.metadata.items() if k not in _TABLES],
            "golden": golden_rows,
            "sources": [
                {"file": s.file or None, "line": s.line, "detail": s.detail or None}
                for s in self._sources
            ],
            "operators": operators_text(n for f in p.functions.values() for n in f.nodes),
            "labels": labels_of(p) if self._answers else [],
            "exact": is_exact(p),
        }

    def _function(self, f: Function) -> dict[str, Any]:
        values = {v: i for i, v in enumerate(f.values())}
        exprs = ExprWriter(f, values)
        symbols = [
            {
                "name": s.name,
                "expr": exprs.input_dim(*place),
                "lower": s.lower,
                "upper": -1 if s.upper is None else s.upper,
            }
            for s, place in exprs.symbols.items()
        ]
        node_of: dict[str, int] = {}
        for i, n in enumerate(f.nodes):
            node_of.setdefault(n.name, i)
        guards = [
            {
                "relation": 0,
                "a": exprs.input_dim(i, axis),
                "b": exprs.dim(d),
                "message": f"input '{f.inputs[i].name}': axis {axis} must be {d}",
            }
            for i, axis, d in exprs.checked_inputs()
        ]
        guards += [
            {
                "relation": schema.RELATIONS.index(g.relation),
                "a": exprs.dim(g.a),
                "b": exprs.dim(g.b),
                "node": node_of.get(g.node, -1),
                "message": g.message or None,
            }
            for g in f.guards
        ]
        positions = {v.name: i for i, v in enumerate(f.inputs)}
        row = {
            "name": f.name,
            "guards": guards,
            "values": [self._value(v, exprs) for v in values],
            "inputs": [values[v] for v in f.inputs],
            "outputs": [values[v] for v in f.outputs],
            "output_names": list(f.output_names),
            "nodes": [self._node(n, values, exprs) for n in f.nodes],
            "reads": [
                {"position": positions[name], "variable": self._variables[variable]}
                for name, variable in f.reads.items()
            ],
            "writes": [
                {"position": position, "variable": self._variables[variable]}
                for position, variable in f.writes.items()
            ],
            "symbols": symbols,
            "input_records": record_rows(f, self._records)
            if f.name in self.program.entries
            else [],
            "answer": answer_row(f, self._answers.get(f.name), image_records_of(self.program)),
        }
        row["exprs"] = exprs.rows
        return row

    def _value(self, v: Value, exprs: ExprWriter) -> dict[str, Any]:
        index = -1
        if v.constant is not None:
            index = self._constant(v.name, v.type.dtype, v.constant, self.weights)
        return {
            "name": v.name,
            "dtype": int(v.type.dtype),
            "dims": [exprs.dim(d) for d in v.type.shape],
            "constant": index,
            "quant": _quant(v.type.quant),
        }

    def _node(self, n: Node, values: Mapping[Value, int], exprs: ExprWriter) -> dict[str, Any]:
        inputs = [-1 if v is None else values[v] for v in n.inputs]
        # A loop lists its trip count and its condition even if they are absent.
        wanted = 2 if n.op is ops.loop else 0
        inputs += [-1] * (wanted - len(inputs))
        attrs = {}
        stated = n.op.attrs_for(n.attrs, self.runtime)
        for a in n.op.attrs:
            stored = self._attr(n.op, a, stated[a.name], exprs)
            if stored is not None:
                attrs[a.name] = stored
        return {
            "op": n.op.code,
            "inputs": inputs,
            "outputs": [values[v] for v in n.outputs],
            schema.union_field(n.op.code): (n.op.code, attrs) if attrs else None,
            "name": n.name,
            "source": self._source(n.source),
            "absorbed": list(n.absorbed),
        }

    def _attr(self, op: OpSpec, attr: Attr, value: Any, exprs: ExprWriter) -> Any:
        """The attributes to store; None for a default."""
        table = schema.union_table(op.code)
        assert table is not None
        if not table.field(attr.name).required and value == default_of(op, attr):
            return None
        if attr.type == "dim":
            return exprs.dim(value)
        if attr.type == "dims":
            return [exprs.dim(d) for d in value]
        if attr.type == "enum":
            return attr.choices.index(value)
        if attr.type == "dtype":
            return int(value)
        if attr.type == "function":
            return self._functions[value]
        if attr.type == "named":
            return named_rows(value)
        return value

    def _source(self, source: Source | None) -> int:
        return -1 if source is None else self._sources.setdefault(source, len(self._sources))

    def _variable_rows(self) -> list[dict[str, Any]]:
        variables = self.program.variables
        initial = {
            v.name: self._constant(v.name, v.type.dtype, v.initial, self.weights)
            for v in variables
            if not v.length
        }
        # One that grows has no initial rows; its length's constant stands where an index must.
        return [
            {
                "name": v.name,
                "dtype": int(v.type.dtype),
                "dims": list(v.type.static_shape()),
                "initial": initial[v.length or v.name],
                "quant": _quant(v.type.quant),
                "length": self._variables[v.length] if v.length else -1,
            }
            for v in variables
        ]

    def _constant(self, name: str, dtype: DType, array: Array, segment: Segment) -> int:
        packed = self._layouts.pack(array) if segment is self.weights else pack_plain(array)
        # Equal weights have one packed form. The segment keeps its bytes, so that their id stays theirs.
        data = id(packed.data) if segment is self.weights else packed.data
        key = (dtype, array.shape, packed.layout, packed.groups, segment.name, data)
        found = self._known.get(key)
        if found is not None:
            return found
        self._known[key] = len(self.constants)
        self.constants.append(
            {
                "name": name,
                "dtype": int(dtype),
                "dims": list(array.shape),
                "layout": int(packed.layout),
                "groups": packed.groups,
                "panel_stride": packed.panel_stride,
                "_segment": segment,
                "offset": segment.add(packed.data),
                "size": len(packed.data),
            }
        )
        return len(self.constants) - 1

    def _golden(self, g: Golden) -> dict[str, Any]:
        f = self.program.functions[g.function]
        inputs = [v.name for v in f.inputs if v.name not in f.reads]
        names = f.output_names or tuple(v.name for v in f.outputs)
        outputs = [name for i, name in enumerate(names) if i not in f.writes]
        return {
            "function": self._functions[g.function],
            "inputs": [self._golden_tensor(g, n, g.inputs[n], inputs, False) for n in g.inputs],
            "outputs": [self._golden_tensor(g, n, g.outputs[n], outputs, True) for n in g.outputs],
        }

    def _golden_tensor(
        self, g: Golden, name: str, array: Array, names: Sequence[str], is_output: bool
    ) -> dict[str, Any]:
        if name not in names:
            raise ShapeError(f"golden data for '{name}', which '{g.function}' does not have")
        row: dict[str, Any] = {"index": list(names).index(name), "dims": list(array.shape)}
        dtype = DType.from_numpy(array.dtype)
        if not is_output and dtype is DType.I8:  # int8 data of a qs8 input
            dtype = next(
                v for v in self.program.functions[g.function].inputs if v.name == name
            ).type.dtype
        if is_output and not dtype.is_float:
            row["digest"] = fnv1a(pack_plain(array).data)
            return row
        row["constant"] = self._constant(name, dtype, array, self.golden)
        row["abs_tol"], row["rel_tol"] = g.tolerances.get(name, (0.0, 0.0))
        return row


def default_of(op: OpSpec, attr: Attr) -> Any:
    """The default of an attribute, normalised as a node holds it."""
    found = _defaults.get(op.name)
    if found is None or found[0] is not op:
        required = {a.name: _some(a) for a in op.attrs if schema.is_required(a)}
        found = _defaults[op.name] = (op, op.complete(required))
    return found[1][attr.name]


_defaults: dict[str, tuple[OpSpec, dict[str, Any]]] = {}


def _some(attr: Attr) -> Any:
    """Some valid value of the attribute."""
    if attr.type == "enum":
        return attr.choices[0]
    return {"dtype": DType.F32, "bool": False, "string": "", "function": ""}.get(
        attr.type, () if attr.type in ("ints", "floats", "dims", "named") else 0
    )


def _min_runtime(program: Program, runtime: tuple[int, ...] | None) -> int:
    """The runtime that knows every operator and dtype used, as major << 16 | minor << 8 | patch."""
    newest = (0, 1, 0)
    for since, _ in needs_of(program, runtime):
        major, minor, patch = (int(part) for part in since.split("."))
        newest = max(newest, (major, minor, patch))
    return newest[0] << 16 | newest[1] << 8 | newest[2]


def needs_of(program: Program, runtime: tuple[int, ...] | None = None) -> list[tuple[str, str]]:
    """(runtime version, name) of every operator and dtype that the program uses, oldest first.

    runtime: take nodes as they are written for that version.
    """
    found = set()
    dtypes = {v.type.dtype for v in program.variables}
    for f in program.functions.values():
        dtypes.update(v.type.dtype for v in (*f.inputs, *f.outputs))
        for n in f.nodes:
            found.add((n.op.since, n.op.name))
            found.update(_newer_forms(n, runtime))
            dtypes.update(v.type.dtype for v in (*n.inputs, *n.outputs) if v is not None)
    found.update((d.since, d.public_name) for d in dtypes)
    if any(v.length for v in program.variables):
        found.add(("0.16.0", "a variable that grows"))
    if is_exact(program):
        found.add(("0.16.0", 'accuracy="exact"'))
    if any(getattr(record, "quant", None) for record in answers_of(program).values()):
        found.add(("0.12.0", "an answer of plain integers with quant"))
    return sorted(found)


def _newer_forms(n: Node, runtime: tuple[int, ...] | None) -> Iterator[tuple[str, str]]:
    """(runtime version, name) of everything that a node needs beyond its operator."""
    attrs = n.op.attrs_for(n.attrs, runtime)
    for a in n.op.attrs:
        if isinstance(a.since, str) and attrs[a.name] != default_of(n.op, a):
            yield a.since, f"{n.op.name} with {a.name}"
    types = [None if v is None else v.type for v in n.inputs]
    for form in n.op.newer:
        if form.holds(types):
            yield form.since, f"{n.op.name} with {form.what}"


def _quant(quant: Quant | None) -> dict[str, Any] | None:
    if quant is None:
        return None
    return {
        "scales": quant.scales,
        "zero_points": quant.zero_points,
        "axis": -1 if quant.axis is None else quant.axis,
        "block": 0 if quant.block is None else quant.block,
    }
