# SPDX-License-Identifier: Apache-2.0
"""Functions of a `.samara` file: values, nodes, guards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samara.exporter.ir import flat, schema
from samara.exporter.ir.constant_layout import PLAIN, Demand, demand_of, layout_demand
from samara.exporter.ir.exprs import ExprReader
from samara.exporter.ir.file_constants import Constants
from samara.exporter.ir.file_rows import dtype_of, indices_among, quant_of
from samara.exporter.ir.named_rows import values_of
from samara.exporter.ir.program import Function, Node, Source, Value
from samara.exporter.ops import Guard, OpSpec, op_by_code
from samara.exporter.types import ModelFormatError, SamaraError, Sym, TensorType


@dataclass(frozen=True, slots=True)
class FileTables:
    """The tables that functions refer to by index. `operators`: names by code, empty before 0.6.0."""

    constants: Constants
    sources: Sequence[Source]
    operators: Mapping[int, str]
    functions: Sequence[str]
    variables: Sequence[str]

    def source(self, index: int) -> Source | None:
        """The origin of a node; None for -1."""
        if index < 0:
            return None
        if index >= len(self.sources):
            raise ModelFormatError(f"there is no source {index}")
        return self.sources[index]

    def function_name(self, index: int) -> str:
        if index >= len(self.functions):
            raise ModelFormatError(f"there is no function {index}")
        return self.functions[index]

    def variable_name(self, index: int) -> str:
        if index >= len(self.variables):
            raise ModelFormatError(f"there is no variable {index}")
        return self.variables[index]


class FunctionReader:
    """One function while it is read: first its dims, then its data, when all uses are known."""

    def __init__(self, tables: FileTables, row: flat.Row) -> None:
        self.tables = tables
        self.row = row
        self.name: str = row["name"]
        values = row["values"]
        count = len(values)
        self.dtypes = [dtype_of(v["dtype"], f"'{v['name']}'") for v in values]
        self.inputs = indices_among(row["inputs"], count, "inputs")
        self.outputs = indices_among(row["outputs"], count, "outputs")
        nodes = row["nodes"]
        self.node_outputs = [indices_among(n["outputs"], count, "outputs") for n in nodes]
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
            TensorType(t, tuple(self.exprs[d] for d in v["dims"]), quant_of(v["quant"]))
            for v, t in zip(values, self.dtypes, strict=True)
        ]
        self.ops: list[OpSpec] = [self._op(n, tables.operators) for n in nodes]
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
            # An absent vector or text, or a dim of -1, means the default.
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
                value = dtype_of(value, a.name)
            elif a.type == "function":
                value = self.tables.function_name(value)
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
        """Note how every use reads every constant."""
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
        """The function; `demands` are those of all functions."""
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
            reads[values[position].name] = self.tables.variable_name(r["variable"])
        writes = {}
        for r in row["writes"]:
            if r["position"] in writes:
                raise ModelFormatError(f"output {r['position']} is assigned to two variables")
            writes[r["position"]] = self.tables.variable_name(r["variable"])
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
        array = self.tables.constants.array(index, layout_demand(demands.get(index, {PLAIN})))
        if self.tables.constants.infos[index].dtype is not self.dtypes[i]:
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
            self.tables.source(row["source"]),
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
            a, b = indices_among([row["a"], row["b"]], count, "expressions")
            # Such a guard follows from the inputs' shapes; the writer makes it again.
            if row["relation"] == 0 and self.exprs.dims[a] is None:
                continue
            relation: Any = schema.RELATIONS[row["relation"]]
            name = nodes[row["node"]]["name"] if row["node"] >= 0 else ""
            message = row["message"] or ""
            found.append(Guard(relation, self.exprs[a], self.exprs[b], message, name))
        return found
