# SPDX-License-Identifier: Apache-2.0
"""Every ONNX operator has a status that the importer keeps."""

from __future__ import annotations

import onnx

from samara.exporter.importers.onnx.coverage import coverage, coverage_of
from samara.exporter.importers.onnx.registry import supported_operators

NEWEST_OPSET = 28  # of onnx 1.23


def test_every_operator_once() -> None:
    rows = list(coverage())
    names = [(r.domain, r.operator) for r in rows]
    assert names == sorted(set(names))
    assert set(supported_operators()) <= set(names)
    assert {s.name for s in onnx.defs.get_all_schemas() if not s.domain} <= {
        r.operator for r in rows if not r.domain
    }


def test_nothing_is_missing() -> None:
    # Operators that came after the newest opset we know are not ours to have yet.
    missing = [r.name for r in coverage() if r.status == "missing" and r.since <= NEWEST_OPSET]
    assert missing == []


def test_statuses() -> None:
    assert coverage_of("", "Conv", 22).status == "rule"
    assert coverage_of("ai.onnx", "Loop", 22).status == "rule"
    assert coverage_of("", "SoftmaxCrossEntropyLoss", 13).status == "definition"
    limited = coverage_of("", "StringSplit", 20)
    assert limited.status == "out of scope"
    assert "text" in limited.note
    assert coverage_of("com.example", "Conv", 1).status == "missing"
    assert coverage_of("com.microsoft", "FusedMatMul", 0).name == "com.microsoft.FusedMatMul"
