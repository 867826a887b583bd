# SPDX-License-Identifier: Apache-2.0
"""The inspect report as one self-contained page: a picture of the graph whose groups open and fold, and
every node in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from samara.exporter.inspect._groups import fold, to_json
from samara.exporter.inspect.contents import FunctionReport, Report, TensorRow
from samara.exporter.inspect.memory_html import memory_section
from samara.exporter.inspect.page import page
from samara.exporter.types.text import byte_text, count_text
from samara.pybridge.notebook import html_facts, html_table

# Of the op table, each with a colour in page.css.
_FAMILIES: Final = (
    *("linear", "attention", "pool", "pointwise", "norm", "reduce", "movement", "indexing"),
    *(
        "resampling",
        "recurrent",
        "control",
        "quantization",
        "columns",
        "signal",
        "custom",
        "training",
    ),
    *("random", "other"),
)
_SCRIPTS: Final = ("layout.js", "graph.js", "tables.js")
_OPEN_TABLE_UP_TO: Final = 40  # rows


def html_page(report: Report) -> str:
    """One page without any external resource. Everything that comes from the model is escaped."""
    sizes = {c.name: c.size_bytes for c in report.memory.constants}
    keys = [f"f{i}" for i in range(len(report.functions))]
    parts = [_summary(report)]
    parts += [_function(f, key) for f, key in zip(report.functions, keys, strict=True)]
    parts += [memory_section(report.memory), _constants(report)]
    data = {
        "families": _FAMILIES,
        "constants": list(sizes.values()),
        "functions": [
            _graph_data(f, key, sizes) for f, key in zip(report.functions, keys, strict=True)
        ],
    }
    return page(report.path, parts, scripts=_SCRIPTS, data=data)


def _summary(report: Report) -> str:
    m = report.memory
    facts = [
        ("file", f"{byte_text(report.size_bytes)} ({byte_text(m.weights_bytes)} of weights)"),
        ("needs runtime", report.min_runtime),
        ("written by", report.producer or "unknown"),
        ("checksums", "every byte matches" if report.checksums else "none of the data"),
        ("arena", "unknown" if m.arena_bytes is None else byte_text(m.arena_bytes)),
        (
            "transposes left",
            f"{len(report.transposes)}, {sum(t.interior for t in report.transposes)} interior",
        ),
    ]
    if m.sizes:
        facts.append(("run with", ", ".join(f"{k}={v}" for k, v in m.sizes.items())))
    if report.not_run:
        facts.append(("not run here", report.not_run))
    facts += [(f"pre-processing of {name}", record) for name, record in report.records.items()]
    facts += [(f"answer of {name}", record) for name, record in report.answers.items()]
    if report.tokenizer is not None:
        facts.append(("tokenizer", str(report.tokenizer)))
    facts += list(report.metadata.items())
    return f"<h1>{escape(report.path)}</h1>{html_facts({k: _short(v, 400) for k, v in facts})}"


def _function(f: FunctionReport, key: str) -> str:
    kind = "function" if f.entry else "body"
    growing = " It is growing: a run may allocate." if f.growing else ""
    ends = "".join(f"<li>in <code>{escape(str(t))}</code></li>" for t in f.inputs)
    ends += "".join(f"<li>out <code>{escape(str(t))}</code></li>" for t in f.outputs)
    ends += "".join(
        f"<li>state <code>{escape(a)}</code> is variable <code>{escape(b)}</code></li>"
        for a, b in f.state.items()
    )
    place = f", at <code>{escape(f.path)}</code>" if f.path else ""
    used = {n.family if n.family in _FAMILIES else "other" for n in f.nodes}
    legend = "".join(f'<span class="k-{name}">{name}</span>' for name in _FAMILIES if name in used)
    opened = " open" if len(f.nodes) <= _OPEN_TABLE_UP_TO else ""
    return (
        f"<h2>{kind} <code>{escape(f.name)}</code>{place}</h2><p>{len(f.nodes)} nodes.{growing}</p>"
        f'<ul class="ends">{ends}</ul>'
        f'<p class="key">{legend}</p><div id="{key}graph"><p class="muted">The picture needs JavaScript. The'
        " table has all that it shows.</p></div>"
        f"<details{opened}><summary>{len(f.nodes)} nodes as a table</summary>"
        f'<div class="wide">{_nodes(f, key)}</div></details>'
    )


# ---- the graph ----


def _graph_data(f: FunctionReport, key: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """What the script draws: tensors by number, nodes with what they read and make, and their groups.

    sizes: bytes of constants by name, in the order of their numbers.
    """
    rows = {t.name: t for n in f.nodes for t in n.outputs}
    rows = {t.name: t for t in (*f.inputs, *f.reads)} | rows
    number = {name: i for i, name in enumerate(rows)}
    constant = {name: i for i, name in enumerate(sizes)}
    for name in f.results:  # a constant that is an output, without a node that makes it
        number.setdefault(name, len(number))
    results = zip((*f.outputs, *f.writes), f.results, strict=True)
    nodes = []
    for n in f.nodes:
        node: dict[str, Any] = {
            "name": n.name,
            "op": n.op,
            "family": _FAMILIES.index(n.family if n.family in _FAMILIES else "other"),
            "in": list(dict.fromkeys(number[x] for x in n.inputs if x in number)),
            "out": [number[t.name] for t in n.outputs],
            "consts": [constant[x] for x in dict.fromkeys(n.inputs) if x in constant],
            "flops": n.flops,
            "share": None if n.share is None else round(n.share, 6),
            "us": n.microseconds,
            "kernel": n.kernel,
            "from": n.place or n.source,
            "fused": ", ".join(n.absorbed),
        }
        nodes.append({k: v for k, v in node.items() if v is not None and v != ""})
    unknown = {t.name: t for t in (*f.outputs, *f.writes)}
    return {
        "key": key,
        "name": f.name,
        "values": [
            [name, _dims(rows[name] if name in rows else unknown.get(name))] for name in number
        ],
        "inputs": [number[t.name] for t in (*f.inputs, *f.reads)],
        "outputs": [[t.name, number[name]] for t, name in results],
        "nodes": nodes,
        "tree": to_json(fold(f.nodes)),
    }


def _dims(t: TensorRow | None) -> str:
    """`1×112×112×32`, or `int8 1×32`; float32 is not said."""
    if t is None:
        return ""
    dims = "×".join(map(str, t.shape)) or "scalar"
    return dims if t.dtype == "float32" else f"{t.dtype} {dims}"


def _shape(t: TensorRow) -> str:
    return f"{t.dtype}[{','.join(map(str, t.shape))}]"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ---- tables ----

_HEADS: Final = (
    *("", "op", "node", "output", "promise", "flops", "kernel", "µs"),
    *("share", "from", "fused in", "as text"),
)


def _nodes(f: FunctionReport, key: str) -> str:
    rows = [
        (
            str(i),
            n.op,
            n.name,
            " ".join(_shape(t) for t in n.outputs),
            n.promise,
            count_text(n.flops),
            n.kernel or "",
            "" if n.microseconds is None else f"{n.microseconds:.1f}",
            "" if n.share is None else f"{100 * n.share:.1f} %",
            n.source,
            ", ".join(n.absorbed),
            n.text,
        )
        for i, n in enumerate(f.nodes)
    ]
    ids = [f"{key}n{i}" for i in range(len(rows))]
    return html_table(_HEADS, rows, right={0, 5, 7, 8}, ids=ids, sortable=True)


def _constants(report: Report) -> str:
    rows = [
        (c.name, c.dtype, "x".join(map(str, c.shape)), c.layout, f"{c.size_bytes:,}")
        for c in report.memory.constants
    ]
    heads = ("name", "dtype", "shape", "layout", "bytes")
    return (
        f"<h2>Constants</h2><details><summary>{len(rows)} constants</summary>"
        f'<div class="wide">{html_table(heads, rows, right={4}, sortable=True)}</div></details>'
    )
