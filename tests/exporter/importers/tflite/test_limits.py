# SPDX-License-Identifier: Apache-2.0
"""Reasons why an operator is not imported, and ways out."""

from __future__ import annotations

import pytest

from samara.exporter.importers.tflite.limits import limit_of, out_of_scope
from samara.exporter.importers.tflite.model import Operator


def _operator(name: str, is_custom: bool = False) -> Operator:
    return Operator(0, name, is_custom, 1, (), (), {}, b"", ())


@pytest.mark.parametrize(
    ("operator", "reason", "fix"),
    [
        (_operator("FlexErf", True), "TensorFlow's own operator Erf", "SELECT_TF_OPS"),
        (_operator("Mine", True), "custom operator 'Mine'", "tflite::Mine"),
        (_operator("HASHTABLE_FIND"), "table of keys", "GATHER"),
        (_operator("CALL"), "has no kernel for it", "convert the model again"),
        (_operator("operator 250"), "newer than", "newer samara"),
    ],
)
def test_reasons(operator: Operator, reason: str, fix: str) -> None:
    limit = limit_of(operator)
    assert reason in limit.reason
    assert fix in limit.fix


def test_what_is_left_out_on_purpose() -> None:
    assert out_of_scope("ADD") is None
    found = out_of_scope("LSH_PROJECTION")
    assert found is not None
    assert "strings" in found.reason
