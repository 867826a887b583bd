# SPDX-License-Identifier: Apache-2.0
"""Problems of an import: one error for all, and failures that nobody raised on purpose."""

from __future__ import annotations

from samara.exporter.importers.common.problems import Problem, malformed, report
from samara.exporter.types import ShapeError, UnsupportedError


def test_malformed_keeps_the_cause() -> None:
    error = KeyError("body")
    assert malformed(error, "ONNX", "check it").__cause__ is error
    assert "KeyError" in malformed(error, "ONNX", "check it").message
    assert "(TypeError)" in malformed(TypeError(), "ONNX", "check it").message


def test_equal_problems_share_a_row() -> None:
    rows = [Problem("CONV_2D", f"node {i}", "no weights", "give some", False) for i in range(5)]
    error = report([*rows, Problem("ADD", "sum", "odd", "", True)])
    assert type(error) is UnsupportedError
    assert "6 problems found" in error.message
    assert error.message.count("no weights") == 1
    assert "node 0, node 1, node 2 and 2 more" in error.message
    assert type(report(rows)) is ShapeError
