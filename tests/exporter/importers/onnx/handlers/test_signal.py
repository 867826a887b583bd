# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, mel filters, determinants and unique elements, natively, against two witnesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, ints, kinds, normal, scalar

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import SamaraError, ShapeError, UnsupportedError

REFERENCE: dict[str, Any] = {"reference": True, "atol": 2e-5}
REAL, COMPLEX = normal(3, 8, 1), normal(2, 6, 5, 2)


def whole(value: int) -> Array:
    return scalar(value, np.int64)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("inputs", "attrs", "opset"),
    [
        ([REAL], {}, 17),
        ([COMPLEX], {"axis": 2, "inverse": 1}, 17),
        ([COMPLEX, whole(4)], {"axis": -4}, 19),
        ([REAL], {"onesided": 1}, 20),
        ([COMPLEX, None, whole(-3)], {}, 20),
        ([COMPLEX, whole(7), whole(1)], {"inverse": 1, "onesided": 1}, 20),
        ([COMPLEX, None, whole(1)], {"inverse": 1, "onesided": 1}, 20),
        ([COMPLEX, whole(74), whole(0)], {}, 20),
        ([normal(0, 4, 1)], {}, 20),
    ],
)
def test_dft(inputs: list[Array | None], attrs: dict[str, Any], opset: int, symbolic: bool) -> None:
    """Lengths and axes that are inputs stay inputs."""
    Case("DFT", inputs, attrs, opset, symbolic=symbolic, **REFERENCE).check_native()


def test_dft_with_constants() -> None:
    inputs = [REAL, whole(12), whole(1)]
    program = Case("DFT", inputs, {"onesided": 1}, 20, (1, 2), **REFERENCE).check_native()
    assert kinds(program) == ["dft"]


def test_dft_along_the_numbers() -> None:
    Case("DFT", [COMPLEX], {"axis": 3}, 17).refused(ShapeError, "holds the numbers")
    Case("DFT", [COMPLEX, None, whole(3)], {}, 20).fails(SamaraError, "not the last")


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("constants", [(), (1, 3)])
def test_stft(constants: tuple[int, ...], symbolic: bool) -> None:
    signal, window = normal(2, 40, 1), normal(8)
    how: dict[str, Any] = {**REFERENCE, "symbolic": symbolic}
    Case("STFT", [signal, whole(5), window, whole(8)], {}, 17, constants, **how).check_native()
    Case("STFT", [signal, whole(5), window], {"onesided": 0}, 17, constants, **how).check_native()
    Case("STFT", [signal, whole(7), None, whole(16)], {}, 17, constants, **how).check_native()


def test_stft_of_complex_signals() -> None:
    inputs = [normal(1, 50, 2), whole(7), normal(10), whole(10)]
    Case("STFT", inputs, {"onesided": 0}, 17, atol=2e-5).check_native()


def test_stft_needs_a_length() -> None:
    with pytest.raises(ShapeError, match="window or a frame_length"):
        import_onnx(Case("STFT", [normal(1, 50, 1), whole(7)], {}, 17).model())
    case = Case("STFT", [normal(1, 5, 1), whole(7), None, whole(9)], {}, 17)
    case.fails(SamaraError, "no longer than the signal")


@pytest.mark.parametrize("constants", [(), (0, 1, 2, 3, 4)])
@pytest.mark.parametrize(
    "numbers", [(8, 16, 8192, 0.0, 4096.0), (40, 400, 16000, 20.0, 7600.0), (1, 8, 8000, 0.0, 9.0)]
)
def test_mel_weight_matrix(numbers: tuple[float, ...], constants: tuple[int, ...]) -> None:
    for kind in (np.int32, np.int64):
        inputs = [scalar(v, kind if i < 3 else np.float32) for i, v in enumerate(numbers)]
        Case("MelWeightMatrix", inputs, {}, 17, constants, reference=True).check_native()


def test_mel_weight_matrix_of_another_type() -> None:
    inputs = [whole(8), whole(16), whole(8192), scalar(0), scalar(4096)]
    attrs = {"output_datatype": 10}
    Case("MelWeightMatrix", inputs, attrs, 17, reference=True).check_native()


@pytest.mark.parametrize("symbolic", [False, True])
def test_det(symbolic: bool) -> None:
    for x in (normal(3, 4, 4), normal(5, 5), normal(0, 3, 3), normal(2, 0, 0)):
        Case("Det", [x], {}, 22, symbolic=symbolic, **REFERENCE).check_native()


ROWS = np.array([[2, 1, 1], [2, 1, 1], [0, 5, 5], [2, 1, 1]])


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unique(axis: int | None, ordered: int, symbolic: bool) -> None:
    attrs = {"sorted": ordered} | ({} if axis is None else {"axis": axis})
    for dtype in (np.float32, np.int64, np.int8):
        case = Case("Unique", [ROWS.astype(dtype)], attrs, 11, outputs=4, symbolic=symbolic)
        case.check_native()
    case = Case("Unique", [ROWS.astype(np.float32)], attrs, 11, outputs=1, symbolic=symbolic)
    case.check_native()


def test_unique_of_higher_rank_and_of_nothing() -> None:
    x = np.stack([ROWS, ROWS[::-1], ROWS], axis=1).astype(np.float32)
    Case("Unique", [x], {"axis": 1}, 11, outputs=4).check_native()
    Case("Unique", [normal(0)], {}, 11, outputs=4).check_native()
    x = np.array([3, 3, np.inf, -np.inf, -0.0, 0.0], np.float32)
    Case("Unique", [x], {}, 11, outputs=4).check()


def test_axes_that_do_not_exist() -> None:
    for op, opset in (("Unique", 11), ("DFT", 17)):
        Case(op, [REAL], {"axis": 3}, opset).refused((ShapeError, UnsupportedError), "out of range")


def test_unique_keeps_the_rest_of_the_graph_going() -> None:
    """A dim that data decides goes on into shapes."""
    case = Case("Unique", [ROWS.astype(np.float32)], {}, 11, outputs=1)
    program = import_onnx(case.model())
    assert program.main.outputs[0].type.rank == 1
    np.testing.assert_array_equal(program.run({"x0": normal(4, 3)})["y0"].shape, ints(12))
