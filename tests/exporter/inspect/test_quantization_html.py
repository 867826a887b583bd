# SPDX-License-Identifier: Apache-2.0
"""The page: whole, self-contained, with everything from the model escaped."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from tests.exporter.quantize.programs import cnn, samples

from samara.exporter.inspect.quantization_html import quantization_page
from samara.exporter.quantize.quantize import quantize
from samara.exporter.quantize.report import QuantizationReport

_VOID = {"meta", "line", "rect", "br"}


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
    assert page.count["rect"] == len(report.layers)
    assert all(link.startswith("#l") for link in page.links)
    assert len(page.links) == len(report.layers)


def test_names_are_escaped() -> None:
    report = _report()
    bad = replace(report.layers[0], name="<script>alert(1)</script>")
    text = quantization_page(replace(report, layers=(bad,)), "<b>title</b>")
    assert "<script>" not in text
    assert "<b>title" not in text
    assert "too few calibration samples" in text
