# SPDX-License-Identifier: Apache-2.0
"""The inspect report as one self-contained page: the graph drawn as SVG, and every node in a
table.
"""

from __future__ import annotations

import itertools
from html import escape

from samara.exporter.inspect._drawing import Drawing, draw
from samara.exporter.inspect.contents import FunctionReport, NodeRow, Report, TensorRow
from samara.exporter.inspect.memory_html import memory_section
from samara.exporter.types.text import byte_text, count_text

# Fill per family of the op table; everything else is grey.
_COLOURS = {
    "linear": "#f4a259",
    "attention": "#ef8f6b",
    "pool": "#e9c46a",
    "pointwise": "#b7d7a8",
    "norm": "#c9b6e4",
    "reduce": "#d9ead3",
    "movement": "#cfd8dc",
    "indexing": "#bcccdc",
    "resampling": "#f6bdc0",
    "recurrent": "#f08a8a",
    "control": "#ffd166",
    "quantization": "#a0c4ff",
}
_OTHER = "#e0e0e0"
_TEXT_WIDTH = 6.7  # of one character in the font below
_LINE = 15.0
_NAME_LIMIT = 34

_STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:24px;color:#222;background:#fff}
h1{font-size:20px;margin:0 0 4px}h2{font-size:16px;margin:28px 0 6px}
p,ul{margin:4px 0}code,svg text,td.m{font-family:ui-monospace,Menlo,Consolas,monospace}
table{border-collapse:collapse;font-size:12.5px}th,td{padding:3px 9px;
  border-bottom:1px solid #e5e5e5;text-align:left;vertical-align:top}
th{position:sticky;top:0;background:#fff}td.r{text-align:right}
.graph{overflow:auto;max-height:85vh;border:1px solid #ddd;background:#fafafa}
.key span{display:inline-block;padding:1px 8px;margin:2px 4px 2px 0;border-radius:3px;font-
size:12px} svg text{font-size:11px;fill:#222}svg .s{fill:#555;font-size:10px} svg a:hover
rect{stroke:#000;stroke-width:2}tr:target{background:#fff6d6} .muted{color:#666}
"""


def html_page(report: Report) -> str:
    """One page without any external resource. Everything that comes from the model is escaped."""
    body = [_summary(report)]
    for i, f in enumerate(report.functions):
        body.append(_function(f, f"f{i}"))
    body.append(memory_section(report.memory))
    body.append(_constants(report))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(report.path)}</title><style>{_STYLE}</style></head>\n<body>"
        + "\n".join(body)
        + "</body></html>\n"
    )


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
    facts += list(report.metadata.items())
    rows = "".join(
        f"<tr><th>{escape(k)}</th><td>{escape(_short(v, 400))}</td></tr>" for k, v in facts
    )
    return f"<h1>{escape(report.path)}</h1><table>{rows}</table>"


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
    used = sorted({n.family for n in f.nodes})
    legend = "".join(
        f'<span style="background:{_COLOURS.get(name, _OTHER)}">{escape(name)}</span>'
        for name in used
    )
    return (
        f"<h2>{kind} <code>{escape(f.name)}</code>{place}</h2><p>{len(f.nodes)} nodes.{growing}</p><ul>{ends}</ul>"
        f'<p class="key">{legend}</p>{_graph(f, key)}<h2>Nodes of <code>{escape(f.name)}</code></h2>'
        f"{_nodes(f, key)}"
    )


# ---- the graph ----


def _graph(f: FunctionReport, key: str) -> str:
    """Boxes for inputs, nodes and outputs in this order, and the tensors between them."""
    sources = [*f.inputs, *f.reads]
    labels = [_end_label(t) for t in sources]
    labels += [_node_label(n) for n in f.nodes]
    labels += [_end_label(t) for t in (*f.outputs, *f.writes)]
    maker = {t.name: i for i, t in enumerate(sources)}
    edges: dict[tuple[int, int], str] = {}
    first = len(sources)
    for i, n in enumerate(f.nodes):
        for name in n.inputs:
            if name in maker:
                edges.setdefault((maker[name], first + i), name)
        maker |= {t.name: first + i for t in n.outputs}
    for i, name in enumerate(f.results):
        if name in maker:
            edges.setdefault((maker[name], first + len(f.nodes) + i), name)
    sizes = [_size(lines) for lines in labels]
    picture = draw(sizes, list(edges))
    parts = [
        _line(points, name) for points, name in zip(picture.lines, edges.values(), strict=True)
    ]
    for i, (lines, box) in enumerate(zip(labels, picture.boxes, strict=True)):
        node = f.nodes[i - first] if first <= i < first + len(f.nodes) else None
        fill = "#ffffff" if node is None else _COLOURS.get(node.family, _OTHER)
        drawn = _box(
            box.x, box.y, box.width, box.height, fill, lines, None if node is None else node.text
        )
        parts.append(drawn if node is None else f'<a href="#{key}n{i - first}">{drawn}</a>')
    return f'<div class="graph">{_svg(picture, "".join(parts))}</div>'


def _svg(picture: Drawing, inner: str) -> str:
    width, height = picture.width + 24, picture.height + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="-12 -12 {width:.0f} {height:.0f}">'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#888"/></marker></defs>'
        f"{inner}</svg>"
    )


def _line(points: tuple[tuple[float, float], ...], name: str) -> str:
    """A smooth line through the points: vertical where it meets boxes and bends."""
    x, y = points[0]
    path = f"M{x:.1f} {y:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if abs(x0 - x1) < 0.5:
            path += f"L{x1:.1f} {y1:.1f}"
        else:
            middle = (y0 + y1) / 2
            path += f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
    return f'<path d="{path}" fill="none" stroke="#999" marker-end="url(#arrow)"><title>{escape(name)}</title></path>'


def _box(
    x: float, y: float, width: float, height: float, fill: str, lines: list[str], title: str | None
) -> str:
    small = ' class="s"'
    texts = "".join(
        f'<text x="{x + width / 2:.1f}" y="{y + 14 + i * _LINE:.1f}" text-anchor="middle"'
        f"{small if i else ''}>{escape(line)}</text>"
        for i, line in enumerate(lines)
    )
    tip = "" if title is None else f"<title>{escape(title)}</title>"
    return (
        f'<g>{tip}<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" fill="{fill}"'
        f' stroke="#777"/>{texts}</g>'
    )


def _size(lines: list[str]) -> tuple[float, float]:
    return max(len(line) for line in lines) * _TEXT_WIDTH + 16, len(lines) * _LINE + 6


def _node_label(n: NodeRow) -> list[str]:
    shapes = [_shape(t) for t in n.outputs]
    return [n.op, _short(n.name, _NAME_LIMIT), _short(" ".join(shapes), _NAME_LIMIT)]


def _end_label(t: TensorRow) -> list[str]:
    return [_short(t.name, _NAME_LIMIT), _short(_shape(t), _NAME_LIMIT)]


def _shape(t: TensorRow) -> str:
    return f"{t.dtype}[{','.join(map(str, t.shape))}]"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ---- tables ----


def _nodes(f: FunctionReport, key: str) -> str:
    slowest = max((n.microseconds or 0.0 for n in f.nodes), default=0.0)
    heads = (
        "",
        "op",
        "node",
        "output",
        "promise",
        "flops",
        "kernel",
        "us",
        "from",
        "fused in",
        "as text",
    )
    rows = []
    for i, n in enumerate(f.nodes):
        time = "" if n.microseconds is None else f"{n.microseconds:.1f}"
        heat = "" if not slowest or n.microseconds is None else _heat(n.microseconds / slowest)
        cells = [
            (f"{i}", "r"),
            (n.op, "m"),
            (n.name, "m"),
            (" ".join(_shape(t) for t in n.outputs), "m"),
            (n.promise, ""),
            (count_text(n.flops), "r"),
            (n.kernel or "", "m"),
            (time, "r"),
            (n.source, ""),
            (", ".join(n.absorbed), ""),
            (n.text, "m"),
        ]
        inner = "".join(
            f'<td class="{kind}"{heat if h == "us" else ""}>{escape(text)}</td>'
            for h, (text, kind) in zip(heads, cells, strict=True)
        )
        rows.append(f'<tr id="{key}n{i}">{inner}</tr>')
    head = "".join(f"<th>{h}</th>" for h in heads)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _heat(share: float) -> str:
    return f' style="background:rgba(244,162,89,{share:.2f})"'


def _constants(report: Report) -> str:
    rows = "".join(
        f'<tr><td class="m">{escape(c.name)}</td><td>{c.dtype}</td><td class="m">{"x".join(map(str, c.shape))}</td>'
        f'<td>{escape(c.layout)}</td><td class="r">{c.size_bytes:,}</td></tr>'
        for c in report.memory.constants
    )
    head = "".join(f"<th>{h}</th>" for h in ("name", "dtype", "shape", "layout", "bytes"))
    return f"<h2>Constants</h2><table><tr>{head}</tr>{rows}</table>"
