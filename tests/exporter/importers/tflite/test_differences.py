# SPDX-License-Identifier: Apache-2.0
"""Reasons for other integers: which kernels and types they are about."""

from __future__ import annotations

from samara.exporter.importers.tflite.coverage import coverage
from samara.exporter.importers.tflite.differences import KERNELS, TWICE, Difference
from samara.exporter.importers.tflite.registry import differences_of

TYPES = {"int8", "uint8", "int16", "float32"}


def test_what_a_reason_is_about() -> None:
    of_bytes = TWICE.of("int8", is_coarse=True)
    assert of_bytes.concerns("reference", "int8")
    assert not of_bytes.concerns("reference", "int16")
    assert not of_bytes.concerns("XNNPACK", "int8")
    assert (of_bytes.is_coarse, TWICE.is_coarse) == (True, False)
    assert Difference("so", ("XNNPACK",)).concerns("XNNPACK", "int8")


def test_registered_reasons() -> None:
    """They name kernels and types that exist, and reach a page as one cell."""
    found = [
        d for row in coverage() for e in (False, True) for d in differences_of(row.operator, e)
    ]
    assert len(found) > 20
    for d in found:
        assert set(d.types) <= TYPES
        assert d.kernels
        assert set(d.kernels) <= set(KERNELS)
        assert d.why
        assert not {"|", "\n"} & set(d.why)
