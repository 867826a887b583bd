# SPDX-License-Identifier: Apache-2.0
"""The report of a quantization as one self-contained page: a picture of every layer, and its row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from samara.exporter.quantize.report import LayerReport, QuantizationReport
from samara.exporter.types.text import byte_text, count_text

_STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:24px;color:#222;background:#fff}
h1{font-size:20px;margin:0 0 4px}h2{font-size:16px;margin:28px 0 6px}p,ul{margin:4px 0}
pre,svg text,td.m{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px}
table{border-collapse:collapse;font-size:12.5px}th,td{padding:3px 9px;
  border-bottom:1px solid #e5e5e5;text-align:left;vertical-align:top}
th{position:sticky;top:0;background:#fff}td.r{text-align:right}
.warn{background:#fff3d6;border-left:4px solid #e0a100;padding:6px 10px;margin:6px 0}
.box{overflow:auto;max-height:80vh;border:1px solid #ddd;background:#fafafa;padding:8px}
tr:target{background:#fff6d6}svg a:hover rect{stroke:#000}
"""
_ROW = 18
_NAMES = 300  # width of the column of names
_BARS = 460
_FULL_DB = 60.0  # a bar of this SQNR is full
_POOR, _FAIR, _GOOD, _FLOAT = "#d9534f", "#e9b44c", "#6aa84f", "#c8c8c8"


def quantization_page(report: QuantizationReport, title: str) -> str:
    """One page without any external resource. Everything that comes from the model is escaped."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        _summary(report),
        *(f'<div class="warn">{escape(str(f))}</div>' for f in report.findings),
        *(f"<p>{escape(n)}</p>" for n in report.notes),
        "<h2>Signal that is left, layer by layer</h2>",
        f'<div class="box">{_picture(report.layers)}</div>',
        "<h2>Layers</h2>",
        _layers(report.layers),
        "<h2>Estimated time on one core</h2>",
        _latency(report),
        *_search(report),
        "<h2>Recipe</h2>",
        "<p>Edit it and feed it back with <code>--recipe</code>.</p>",
        f"<pre>{escape(report.to_toml())}</pre>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _summary(report: QuantizationReport) -> str:
    ratio = report.bytes_after / max(1, report.bytes_before)
    said = [
        f"scheme {report.scheme}, {report.samples} calibration samples",
        f"file {byte_text(report.bytes_before)} → {byte_text(report.bytes_after)} ({ratio:.2f}x)",
    ]
    if report.metric_before is not None and report.metric_after is not None:
        said.append(f"metric {report.metric_before:.4f} → {report.metric_after:.4f}")
    said += [f"output {name}: {_number(db)} dB" for name, db in report.outputs.items()]
    if report.slower:
        said.append(f"slower than float on {', '.join(report.slower)}")
    return "<ul>" + "".join(f"<li>{escape(s)}</li>" for s in said) + "</ul>"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else f"{value:.1f}"


def _colour(layer: LayerReport) -> str:
    if layer.scheme == "float" or layer.sqnr_db is None:
        return _FLOAT
    return _POOR if layer.sqnr_db < 15 else _FAIR if layer.sqnr_db < 25 else _GOOD


def _picture(layers: Sequence[LayerReport]) -> str:
    """A bar per layer: how much signal is left in its result, in dB."""
    height = _ROW * len(layers) + 24
    lines = [
        f'<svg width="{_NAMES + _BARS + 80}" height="{height}" role="img">',
        *_grid(height),
    ]
    for i, layer in enumerate(layers):
        y = 20 + i * _ROW
        db = layer.sqnr_db
        share = 0.0 if db is None else 1.0 if math.isinf(db) else max(0.0, min(1.0, db / _FULL_DB))
        name = layer.name if len(layer.name) <= 38 else "…" + layer.name[-37:]
        tip = escape(f"{layer.name}: {layer.op}, {layer.scheme}, {_number(db)} dB")
        lines += [
            f'<a href="#l{i}"><title>{tip}</title>',
            f'<text x="{_NAMES - 8}" y="{y + 12}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_NAMES}" y="{y + 2}" width="{max(1.0, share * _BARS):.1f}" height="{_ROW - 5}"'
            f' fill="{_colour(layer)}"/>',
            f'<text x="{_NAMES + share * _BARS + 6:.1f}" y="{y + 12}">{_number(db)}</text></a>',
        ]
    return "\n".join([*lines, "</svg>"])


def _grid(height: int) -> Iterable[str]:
    for db in range(0, int(_FULL_DB) + 1, 10):
        x = _NAMES + db / _FULL_DB * _BARS
        yield f'<line x1="{x:.1f}" y1="16" x2="{x:.1f}" y2="{height}" stroke="#e2e2e2"/>'
        yield f'<text x="{x:.1f}" y="11" text-anchor="middle">{db} dB</text>'


def _table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], right: range) -> str:
    """Rows of (id, cells); the columns in `right` are flush right."""
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = []
    for anchor, cells in rows:
        tds = "".join(
            f'<td class="{"r" if i in right else "m"}">{escape(c)}</td>'
            for i, c in enumerate(cells)
        )
        body.append(f'<tr id="{anchor}">{tds}</tr>' if anchor else f"<tr>{tds}</tr>")
    return f"<table><tr>{head}</tr>{''.join(body)}</table>"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"


def _layers(layers: Sequence[LayerReport]) -> str:
    heads = (
        "layer", "operator", "scheme", "SQNR dB", "weights dB", "saturated %", "range used %",
        "dead", "constant", "flops", "weights before", "after", "remarks",
    )  # fmt: skip
    rows = (
        (
            f"l{i}",
            (
                x.name,
                x.op,
                x.scheme,
                _number(x.sqnr_db),
                _number(x.weights_db),
                _percent(x.saturation),
                _percent(x.range_used),
                str(len(x.dead_channels)),
                str(len(x.constant_channels)),
                count_text(x.flops),
                byte_text(x.bytes_before),
                byte_text(x.bytes_after),
                "; ".join(x.remarks),
            ),
        )
        for i, x in enumerate(layers)
    )
    return _table(heads, rows, range(3, 12))


def _latency(report: QuantizationReport) -> str:
    rows = (
        (
            "",
            (
                isa,
                f"{1e6 * before:.0f}",
                f"{1e6 * report.seconds_after[isa]:.0f}",
                "slower than float here" if isa in report.slower else "",
            ),
        )
        for isa, before in report.seconds_before.items()
    )
    return _table(("instruction set", "float µs", "quantized µs", ""), rows, range(1, 3))


def _search(report: QuantizationReport) -> list[str]:
    if not report.evaluations:
        return []
    rows = (
        (
            "",
            (
                str(e.number),
                f"{e.cost:.4g}",
                _number(e.sqnr_db),
                f"{e.kilobytes:.1f}",
                "–" if e.metric is None else f"{e.metric:.4f}",
                "met" if e.accepted else "missed",
                ", ".join(f"{n}: {s}" for n, s in e.layers.items()) or "the recipe as it is",
            ),
        )
        for e in report.evaluations
    )
    heads = ("", "cost", "SQNR dB", "KiB", "metric", "limits", "layers that differ")
    return [
        f"<h2>Search: {len(report.evaluations)} recipes evaluated</h2>",
        _table(heads, rows, range(5)),
    ]
