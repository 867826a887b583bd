# SPDX-License-Identifier: Apache-2.0
"""Programs as text, and counts of their nodes by operator."""

from __future__ import annotations

from collections import Counter
from typing import Any

from samara.exporter.ir.file_write import default_of
from samara.exporter.ir.program import Function, Node, Program, Value
from samara.exporter.ir.schema import is_required


def print_program(program: Program) -> str:
    """Every function of the program, one node per line."""
    parts = [
        f"variable {v.name}: {v.type}" + (f", grows by {v.length}" if v.length else "")
        for v in program.variables
    ]
    for name, f in program.functions.items():
        role = "entry" if name in program.entries else "function"
        parts.append(f"{role} {print_function(f)}")
    return "\n\n".join(parts) + "\n"


def print_function(f: Function) -> str:
    """Inputs, nodes with their types, guards, outputs."""
    inputs = ", ".join(
        f"%{v.name}: {_type(v)}" + (f" = {f.reads[v.name]}" if v.name in f.reads else "")
        for v in f.inputs
    )
    lines = [f"{f.name}({inputs}) {{"]
    lines += [f"  {print_node(n)}" for n in f.nodes]
    signs = {"eq": "==", "le": "<=", "lt": "<"}
    lines += [f"  guard {g.a} {signs[g.relation]} {g.b}  # {g.message}" for g in f.guards]
    lines += sorted(f"  bound {atom} <= {bound}" for atom, bound in f.bounds.items())
    names = f.output_names or tuple(v.name for v in f.outputs)
    outputs = [
        (f"{name}=" if name != v.name else "")
        + _ref(v)
        + (f" -> {f.writes[i]}" if i in f.writes else "")
        for i, (name, v) in enumerate(zip(names, f.outputs, strict=True))
    ]
    return "\n".join([*lines, f"  return {', '.join(outputs)}", "}"])


def print_node(n: Node) -> str:
    """`%y: f32[n, 8] = conv(%x, const w f32[8, 3, 3, 3], strides=(1, 1))`, without default attributes."""
    outputs = ", ".join(f"%{v.name}: {_type(v)}" for v in n.outputs)
    args = ["_" if v is None else _ref(v) for v in n.inputs]
    for a in n.op.attrs:
        value = n.attrs[a.name]
        if is_required(a) or value != default_of(n.op, a):
            args.append(f"{a.name}={_attr(value)}")
    return f"{outputs} = {n.op.name}({', '.join(args)})"


def count_ops(program: Program) -> dict[str, int]:
    """Operator -> number of nodes, the most frequent first."""
    counts = Counter(n.op.name for f in program.functions.values() for n in f.nodes)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def constant_bytes(program: Program) -> int:
    """Bytes of all constants; a shared object counts once."""
    arrays = {
        id(v.constant): v.constant.nbytes
        for f in program.functions.values()
        for v in f.values()
        if v.constant is not None
    }
    return sum(arrays.values())


def _attr(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{" + ", ".join(f"{name}: {_attr(v)}" for name, v in value) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_attr, value)) + ")"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _type(v: Value) -> str:
    quant = "" if v.type.quant is None else f"{{{v.type.quant}}}"
    return f"{v.type}{quant}"


def _ref(v: Value) -> str:
    if v.constant is None:
        return f"%{v.name}"
    if v.constant.size == 1:
        return f"{_attr(v.constant.reshape(-1)[0].item())}:{v.type}"
    return f"const {v.name} {_type(v)}"
