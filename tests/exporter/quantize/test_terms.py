# SPDX-License-Identifier: Apache-2.0
"""Words of quantization reports."""

from __future__ import annotations

import re

import pytest
from tests.exporter.quantize.programs import cnn, images, samples

from samara.exporter.quantize.quantize import quantize
from samara.exporter.quantize.terms import TERMS, term_of


def test_every_column_and_figure_of_a_report_is_explained() -> None:
    program, data = cnn(), images(4)
    report = quantize(program, samples(4), evaluate={"x": data}, labels=[0] * 4).report
    lines = str(report).splitlines()
    head = next(x for x in lines if x.split()[:2] == ["layer", "operator"])
    columns = re.split(r"  +", head.strip())
    assert len(columns) == 11
    words = [*columns, "metric", "observer", "bias correction", "equalization", report.measured_on]
    assert {w for w in words if term_of(w) is None} == {"operator"}  # an operator has its own page
    text = " ".join(lines)
    assert all(w in text for w in words)
    assert len(TERMS) == len(words) - 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sqnr", "SQNR dB"),
        ("Range-Used", "range used %"),
        ("weights", "weights"),
        ("weights_db", "weights dB"),
        ("held out samples", "held-out samples"),
        ("conv", None),
        ("", None),
    ],
)
def test_terms_are_found_in_any_spelling(text: str, name: str | None) -> None:
    found = term_of(text)
    assert (None if found is None else found[0]) == name
