# SPDX-License-Identifier: Apache-2.0
"""The notebook view of a Program: inputs and outputs, operators, weights."""

from __future__ import annotations

from samara.exporter.ir.printer import count_ops
from samara.exporter.ir.program import Program, Value
from samara.exporter.types.charts import Bar, bars
from samara.exporter.types.text import byte_text
from samara.pybridge.notebook import html_report, html_table

_OPERATORS = 12  # bars, the most frequent first


def program_html(program: Program) -> str:
    """The report of a Program as HTML, with every text escaped."""
    counts = count_ops(program)
    weights = {
        id(v): v.constant.nbytes
        for f in program.functions.values()
        for n in f.nodes
        for v in n.inputs
        if v is not None and v.constant is not None
    }
    facts = {
        "nodes": f"{sum(len(f.nodes) for f in program.functions.values()):,}",
        "constants": byte_text(sum(weights.values())),
    }
    if program.variables:
        facts["variables"] = ", ".join(v.name for v in program.variables)
    rows = []
    for name in program.entries:
        f = program.functions[name]
        rows += [(name, "input", v.name, *_type(v)) for v in f.inputs]
        names = f.output_names or tuple(v.name for v in f.outputs)
        rows += [(name, "output", n, *_type(v)) for n, v in zip(names, f.outputs, strict=True)]
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    chart = bars([Bar(op, float(n)) for op, n in most[:_OPERATORS]], title="Nodes by operator")
    title = f"Program {', '.join(program.entries)}"
    heads = ("function", "", "name", "dtype", "shape")
    return html_report(title, facts, html_table(heads, rows), chart if most else "")


def _type(v: Value) -> tuple[str, str]:
    return v.type.dtype.public_name, ", ".join(map(str, v.type.shape)) or "scalar"
