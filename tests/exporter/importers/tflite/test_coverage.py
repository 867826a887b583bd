# SPDX-License-Identifier: Apache-2.0
"""Every TFLite operator has a status that the importer keeps."""

from __future__ import annotations

from samara.exporter.importers.tflite.coverage import coverage, coverage_of
from samara.exporter.importers.tflite.registry import (
    supported_custom_operators,
    supported_operators,
)
from samara.exporter.importers.tflite.schema import model_format


def test_every_operator_once() -> None:
    names = [r.operator for r in coverage() if not r.is_custom]
    assert names == sorted(set(names))
    assert (
        set(supported_operators())
        <= set(names)
        <= {*model_format().enums["BuiltinOperator"].values()}
    )
    custom = [r.operator for r in coverage() if r.is_custom]
    assert custom == list(supported_custom_operators())


def test_statuses() -> None:
    conv = coverage_of("CONV_2D")
    assert (conv.status, conv.newest, conv.note) == ("rule", 8, "")
    skip = coverage_of("SKIP_GRAM")
    assert skip.status == "out of scope"
    assert "strings" in skip.note
    assert coverage_of("Nothing", is_custom=True).status == "missing"
