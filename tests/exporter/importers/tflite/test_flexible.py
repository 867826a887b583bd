# SPDX-License-Identifier: Apache-2.0
"""Options of custom operators: a map, and errors for what is none."""

from __future__ import annotations

import numpy as np
import pytest
from flatbuffers import flexbuffers
from tests.exporter.importers.tflite.models import Case, T

from samara.exporter.types import ShapeError

X = np.zeros((64, 1), np.float32)


def _spectrogram(options: bytes) -> Case:
    return Case("AudioSpectrogram", [T(X)], is_custom=True, custom=options)


def test_a_map() -> None:
    options = flexbuffers.Dumps({"window_size": 16, "stride": 8, "magnitude_squared": True})
    program = _spectrogram(bytes(options)).check()
    assert program.main.outputs[0].type.static_shape() == (1, 7, 9)


def test_no_options() -> None:
    _spectrogram(b"").refused(ShapeError, "windows of 0 samples")


@pytest.mark.parametrize(
    "options", [b"\x01", bytes(range(250, 256)), bytes(flexbuffers.Dumps([1]))]
)
def test_what_is_no_map(options: bytes) -> None:
    _spectrogram(options).refused(ShapeError, "its options")
