# SPDX-License-Identifier: Apache-2.0
"""The report of a quantization as one self-contained page: a picture of every layer, and its row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from samara.exporter.inspect.page import page
from samara.exporter.quantize.report import LayerReport, QuantizationReport
from samara.exporter.types.text import byte_text, count_text
from samara.pybridge.notebook import html_facts, html_table


def quantization_page(report: QuantizationReport, title: str) -> str:
    """One page without any external resource. Everything that comes from the model is escaped."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        html_facts(report.summary()),
        *(f'<div class="warn">{escape(str(f))}</div>' for f in report.findings),
        *(f"<p>{escape(n)}</p>" for n in report.notes),
        "<h2>Signal that is left, layer by layer</h2>",
        _worst(report),
        f'<div class="wide">{report.layer_bars(links=True)}</div>',
        "<h2>Layers</h2>",
        f'<div class="wide">{_layers(report.layers)}</div>',
        "<h2>Estimated time on one core</h2>",
        _latency(report),
        *_search(report),
        "<h2>Recipe</h2>",
        "<p>Edit it and feed it back with <code>--recipe</code>.</p>",
        f"<pre>{escape(report.to_toml())}</pre>",
    ]
    return page(title, parts, scripts=("tables.js",))


def _worst(report: QuantizationReport) -> str:
    """The layers with the least signal left, by name, with links to their rows."""
    place = {x.name: i for i, x in enumerate(report.layers)}
    named = ", ".join(
        f'<a href="#l{place[x.name]}">{escape(x.name)}</a> ({_number(x.sqnr_db)} dB)'
        for x in report.worst()
    )
    if not named:
        return ""
    return (
        f"<p>Least signal is left in {named}. Bars are green from 25 dB on, amber from 15 dB, red below, and"
        " grey where a layer stays in float. A click on a bar leads to its row.</p>"
    )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else f"{value:.1f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"


def _layers(layers: Sequence[LayerReport]) -> str:
    heads = (
        "layer", "operator", "scheme", "SQNR dB", "weights dB", "saturated %", "range used %",
        "dead", "constant", "flops", "weights before", "after", "remarks",
    )  # fmt: skip
    rows = [
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
        )
        for x in layers
    ]
    ids = [f"l{i}" for i in range(len(rows))]
    return html_table(heads, rows, right=range(3, 12), ids=ids, sortable=True)


def _latency(report: QuantizationReport) -> str:
    rows = (
        (
            isa,
            f"{1e6 * before:.0f}",
            f"{1e6 * report.seconds_after[isa]:.0f}",
            "slower than float here" if isa in report.slower else "",
        )
        for isa, before in report.seconds_before.items()
    )
    heads = ("instruction set", "float µs", "quantized µs", "")
    return html_table(heads, rows, right=range(1, 3))


def _search(report: QuantizationReport) -> list[str]:
    if not report.evaluations:
        return []
    rows = (
        (
            str(e.number),
            f"{e.cost:.4g}",
            _number(e.sqnr_db),
            f"{e.kilobytes:.1f}",
            "–" if e.metric is None else f"{e.metric:.4f}",
            "met" if e.accepted else "missed",
            ", ".join(f"{n}: {s}" for n, s in e.layers.items()) or "the recipe unchanged",
        )
        for e in report.evaluations
    )
    heads = ("", "cost", "SQNR dB", "KiB", "metric", "limits", "layers that differ")
    return [
        f"<h2>Search: {len(report.evaluations)} recipes evaluated</h2>",
        html_table(heads, rows, right=range(5)),
    ]
