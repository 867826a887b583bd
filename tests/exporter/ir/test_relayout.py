# SPDX-License-Identifier: Apache-2.0
"""Channels-last inputs and outputs: refusals. The tests of export run such programs."""

from __future__ import annotations

import pytest
from tests.exporter.passes.programs import conv, program

import samara
from samara.exporter.ir import Program
from samara.exporter.ir.relayout import with_layout


def small() -> Program:
    return program(lambda b: b.op("relu", conv(b, b.input("x", "f32", ["n", 4, 4, 2]), 3)))


def test_layout_that_does_not_fit() -> None:
    with pytest.raises(samara.ShapeError, match="no input or output 'y'"):
        with_layout(small(), "y", "NHWC")
    with pytest.raises(samara.ShapeError, match="does not fit"):
        with_layout(small(), "x", "NWC")
