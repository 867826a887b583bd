# SPDX-License-Identifier: Apache-2.0
"""Charts are well-formed SVG, drawn to scale, with escaped texts."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest

from samara.exporter.types.charts import Bar, bars, grouped_bars, lines, number_text, shortened

_SVG = "{http://www.w3.org/2000/svg}"
BAD = "<script>alert(1)</script>\x01\"'&"


def _parsed(chart: str) -> ET.Element:
    assert "http" not in chart.replace("http://www.w3.org/2000/svg", "")
    return ET.fromstring(chart)


def _widths(chart: str, kind: str) -> list[float]:
    # A legend's square is 10 high and has no title.
    drawn = _parsed(chart).findall(f".//{_SVG}g/{_SVG}rect")
    return [float(r.get("width", "")) for r in drawn if r.get("class") == kind]


def test_bars_are_drawn_to_scale() -> None:
    one, four = _widths(bars([Bar("a", 1.0), Bar("b", 4.0)], unit="ms"), "c0")
    assert four == pytest.approx(4 * one, rel=0.01)


def test_equal_ratios_are_equal_steps_of_a_logarithmic_axis() -> None:
    a, b, c = _widths(bars([Bar("a", 1.0), Bar("b", 10.0), Bar("c", 100.0)], log=True), "c0")
    assert c - b == pytest.approx(b - a, rel=0.01)
    assert a > 5  # the shortest bar is visible


def test_negative_bars_go_to_the_left() -> None:
    chart = _parsed(bars([Bar("faster", -20.0), Bar("slower", 40.0)], unit="%"))
    left, right = chart.findall(f".//{_SVG}g/{_SVG}rect")
    zero = float(left.get("x", "")) + float(left.get("width", ""))
    assert zero == pytest.approx(float(right.get("x", "")), abs=0.2)


def test_texts_stand_where_values_are_missing() -> None:
    chart = grouped_bars(
        ["m", "n"], {"samara": [1.0, 2.0], "other": ["does not load", None]}, unit="ms"
    )
    assert len(_widths(chart, "c0")) == 2
    assert not _widths(chart, "c1")
    assert ">does not load<" in chart
    assert ">–<" in chart


def test_infinite_and_limited_values_end_with_the_axis() -> None:
    rows = [Bar("a", math.inf, "good"), Bar("b", 90.0, "good"), Bar("c", 30.0, "good")]
    a, b, c = _widths(bars(rows, limit=(0, 60)), "good")
    assert a == b
    assert c == pytest.approx(a / 2, rel=0.01)


def test_groups_need_a_value_of_each_series() -> None:
    with pytest.raises(ValueError, match="series 'a' has 1 values for 2 groups"):
        grouped_bars(["x", "y"], {"a": [1.0]})


def test_lines_break_where_there_is_no_number() -> None:
    points = [(0.0, 1.0), (1.0, 2.0), (2.0, math.nan), (3.0, 1.0), (4.0, 0.5)]
    chart = _parsed(lines({"loss": points}, x_label="epoch", y_label="loss"))
    drawn = chart.findall(f"{_SVG}polyline")
    assert [len(p.get("points", "").split()) for p in drawn] == [2, 2]


@pytest.mark.parametrize(
    "chart",
    [
        bars([Bar(BAD, 1.0, tip=BAD, href=BAD, shown=BAD)], title=BAD, unit=BAD),
        bars([Bar(BAD, BAD)]),
        grouped_bars([BAD], {BAD: [1.0], "b": [None]}, title=BAD),
        lines({BAD: [(1, 1), (2, 2)], "b": []}, title=BAD, x_label=BAD, y_label=BAD),
        bars([]),
        bars([Bar("a", 0.0)]),
        bars([Bar("a", 0.0)], log=True),
        lines({}),
        lines({"a": [(1, 5)]}, log_x=True, log_y=True),
    ],
)
def test_every_text_is_escaped(chart: str) -> None:
    _parsed(chart)
    assert "<script" not in chart
    assert "nan" not in re.sub(r"<style>.*?</style>", "", chart)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.01234, "0.0123"), (4.567, "4.57"), (128.4, "128"), (12345.0, "12,345"),
     (2.5e10, "2.5e+10"), (math.inf, "∞")],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str) -> None:
    assert number_text(value) == text


def test_long_names_keep_their_end() -> None:
    assert shortened("conv", 200) == "conv"
    short = shortened("/very/long/" + "x" * 100 + "/conv_17", 120)
    assert short.startswith("…")
    assert short.endswith("/conv_17")
