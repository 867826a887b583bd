# SPDX-License-Identifier: Apache-2.0
"""The page: whole, self-contained, with everything from the model escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from tests.exporter.quantize.programs import cnn, samples

from samara.exporter.inspect.quantization_html import quantization_page
from samara.exporter.quantize.quantize import quantize
from samara.exporter.quantize.report import QuantizationReport

_VOID = {"meta", "br"}


class _Balance(HTMLParser):
    """Every element that opens closes; counts what it meets."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.links += [v or "" for k, v in attrs if k in ("href", "src")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _report() -> QuantizationReport:
    made: QuantizationReport = quantize(cnn(), samples(4), min_sqnr=5).report
    return made


def test_a_bar_and_a_row_for_every_layer() -> None:
    report = _report()
    page = _Balance()
    page.feed(quantization_page(report, "small.onnx, int8"))
    assert page.open == []
    drawn = [x for x in report.layers if x.sqnr_db is not None]
    assert page.count["rect"] == 1 + len(drawn)  # and the ground
    assert set(page.links) == {f"#l{i}" for i in range(len(report.layers))}
    assert len(page.links) == len(report.layers) + len(report.worst())


def test_the_worst_layers_are_named_and_bars_say_how_good() -> None:
    report = _report()
    layers = tuple(
        replace(x, sqnr_db=db) for x, db in zip(report.layers, (10.0, 20.0, 40.0), strict=False)
    )
    chart = replace(report, layers=layers).layer_bars()
    assert re.findall(r'<rect class="(\w+)" x', chart) == ["poor", "fair", "good"]
    text = quantization_page(replace(report, layers=layers), "t")
    named = text.partition("Least signal is left in ")[2].partition("</p>")[0]
    assert named.startswith(f'<a href="#l0">{layers[0].name}</a> (10.0 dB), ')


def test_a_notebook_shows_the_worst_layers_and_the_bars() -> None:
    report = _report()
    shown = report._repr_html_()
    assert report.worst()[0].name in shown
    assert report.layer_bars() in shown
    bad = replace(report.layers[0], name="<script>alert(1)</script>", reason="<b>")
    shown = replace(report, layers=(bad,), outputs={"<i>": 3.0})._repr_html_()
    assert "<script>" not in shown
    assert "<i>" not in shown
    assert "&lt;b&gt;" in shown


def test_names_are_escaped() -> None:
    report = _report()
    bad = replace(report.layers[0], name="<script>alert(1)</script>")
    text = quantization_page(replace(report, layers=(bad,)), "<b>title</b>")
    assert "<script>alert" not in text
    assert "<b>title" not in text
    assert "too few calibration samples" in text
