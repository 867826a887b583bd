# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms and complex numbers: what the suite of cases does not say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, Graph, Op, T, built, const
from tests.exporter.importers.tflite.suite import spectra as suite

from samara import import_tflite
from samara.exporter.importers.tflite.handlers.spectra import mel_filters
from samara.exporter.types import ShapeError, UnsupportedError

X = np.random.default_rng(0).normal(size=(1, 8)).astype(np.float32)


def _transformed(*ops: Op, outputs: Any) -> bytes:
    tensors = [
        T(X), const(np.array([1, 8], np.int32)), T(kind="COMPLEX64", shape=(1, 5)),
        T(kind="FLOAT32", shape=(1, 5)), T(kind="COMPLEX64", shape=(1, 5)), T(kind="INT32", shape=(2,)),
    ]  # fmt: skip
    return built(Graph(tensors, [Op("RFFT2D", [0, 1], [2]), *ops], [0], outputs))


def test_a_row_is_transformed_along_one_axis() -> None:
    program = import_tflite(_transformed(Op("REAL", [2], [3]), outputs=[3]))
    assert [n.op.name for n in program.main.nodes].count("dft") == 1


def test_complex_results() -> None:
    with pytest.raises(UnsupportedError, match="complex numbers"):
        import_tflite(_transformed(outputs=[2]))


def test_an_operator_that_takes_no_complex_numbers() -> None:
    with pytest.raises(UnsupportedError, match="input 0 is complex"):
        import_tflite(_transformed(Op("MUL", [2, 2], [4]), Op("REAL", [4], [3]), outputs=[3]))


def test_the_shape_of_a_complex_tensor() -> None:
    program = import_tflite(_transformed(Op("SHAPE", [2], [5]), outputs=[5]))
    (found,) = program.run({"t0": X}).values()
    np.testing.assert_array_equal(found, [1, 5])


def test_real_parts_of_real_numbers() -> None:
    Case("REAL", [T(X)]).refused(ShapeError, "not complex")


def test_windows_that_cannot_be() -> None:
    case = suite.spectrogram(np.random.default_rng(0), "float32", 50, 1, 1, 8, False)
    case.refused(ShapeError, "windows of 1 samples")


def test_bands_above_the_spectrum() -> None:
    case = suite.mfcc(np.random.default_rng(0), "float32", 65, 4000, 20, 10)
    case.refused(ShapeError, "lies above")
    rate = T(np.array([8000], np.int32))
    replace(case, inputs=[case.inputs[0], rate]).refused(UnsupportedError, "must be a constant")


def test_filters_share_each_bin_between_two_bands() -> None:
    filters = mel_filters(129, 16000, 10, 20, 4000)
    assert filters.shape == (129, 10)
    assert np.all(filters >= 0)
    assert filters[0].sum() == 0
    inside = filters[5:40].sum(1)
    np.testing.assert_allclose(inside, 1)
