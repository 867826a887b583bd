# SPDX-License-Identifier: Apache-2.0
"""The report on operators agrees with the table, the library and the importer."""

from __future__ import annotations

import json

from samara.exporter.importers.onnx.coverage import coverage
from samara.exporter.inspect.operators import operators
from samara.exporter.ops import all_ops
from samara.pybridge.probe import inspect_library


def test_everything_is_listed() -> None:
    report = operators()
    assert [o.name for o in report.operators] == [o.name for o in all_ops()]
    assert {o.name for o in report.operators if o.here} == inspect_library().operators
    assert [o.name for o in report.onnx] == [c.name for c in coverage()]
    assert json.loads(json.dumps(report.to_json()))["operators"][0]["code"] == 1


def test_a_pattern_chooses() -> None:
    report = operators("^CONV$")
    assert [o.name for o in report.operators] == ["conv"]
    assert [o.name for o in report.onnx] == ["Conv"]
    text = report.text()
    assert "1 operators of the IR" in text
    assert "1 ONNX operators: 1 by a rule" in text
    assert operators("no such").text() == "no operator matches"


def test_training_rows_say_so() -> None:
    (row,) = operators("^conv_grad_input$").operators
    assert row.training
    assert row.since == "0.2.0"
