# SPDX-License-Identifier: Apache-2.0
"""Constants and quantized tensors as values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.importers.tflite import tensors
from samara.exporter.importers.tflite.model import Parameters, Tensor
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import DType, UnsupportedError


def _tensor(kind: str, array: Any = None, shape: Any = (2, 3), **parameters: Any) -> Tensor:
    data = None if array is None else np.frombuffer(np.asarray(array).tobytes(), np.uint8)
    shape = shape if array is None else np.shape(array)
    made = Parameters(**{"zero_points": (0,), "axis": 0, **parameters}) if parameters else None
    return Tensor(0, "t", kind, shape, shape, True, made, False, data, None, False)


def test_uint8_is_shifted() -> None:
    builder = ProgramBuilder().function("main")
    given = np.array([[0, 128, 255]], np.uint8)
    value = tensors.constant_of(builder, _tensor("UINT8", given, scales=(0.5,), zero_points=(130,)))
    assert value.type.dtype is DType.QS8
    assert value.constant is not None
    assert value.constant.tolist() == [[-128, 0, 127]]
    quant = value.type.quant
    assert quant is not None
    assert (quant.scale, quant.zero_point) == (0.5, 2)


def test_elements_of_four_bits() -> None:
    packed = np.array([0x1F, 0x08], np.uint8)
    tensor = Tensor(0, "t", "INT4", (3,), (3,), True, None, False, packed, None, False)
    array, dtype = tensors.constant_array(tensor)
    assert dtype is DType.I4
    assert array.astype(int).tolist() == [-1, 1, -8]


def test_a_scale_of_zero_is_none() -> None:
    assert tensors.quant_of(_tensor("UINT8", scales=(0.0,))) is None
    assert tensors.quant_of(_tensor("FLOAT32", scales=(1.0,))) is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scales": (-1.0,)}, "cannot be used"),
        ({"scales": (1.0,), "zero_points": (400,)}, "cannot be used"),
        ({"scales": (), "details": "BlockwiseQuantization"}, "of kind BlockwiseQuantization"),
    ],
)
def test_parameters_that_cannot_be_used(parameters: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        tensors.quant_of(_tensor("INT8", **parameters))


@pytest.mark.parametrize("kind", ["INT8", "UINT8", "INT16", "INT32"])
def test_real_numbers_and_back(kind: str) -> None:
    """Every integer survives that float32 tells from its neighbours after a product."""
    zero = 3 if kind in ("INT8", "UINT8") else 0
    tensor = _tensor(kind, shape=(256,), scales=(0.37,), zero_points=(zero,))
    program = ProgramBuilder()
    builder = program.function("main")
    dtype = {"INT8": DType.I8, "UINT8": DType.U8, "INT16": DType.I16, "INT32": DType.I32}[kind]
    x = builder.input("x", dtype, [256])
    quant = tensors.quant_of(tensor)
    if quant is None:
        given = x
    else:
        given = builder.op("reinterpret", x, to=DType.QS8, **tensors.attributes_of(quant))
    y = tensors.stored(builder, tensors.real(builder, given, tensor), tensor)
    builder.finish([tensors.plain(builder, y, tensor)], ["y"])
    info = np.iinfo(dtype.numpy)
    numbers = np.linspace(max(info.min, -(2**20)), min(info.max, 2**20), 256).astype(dtype.numpy)
    got = program.finish(["main"]).run({"x": numbers})["y"]
    assert got.dtype == numbers.dtype
    np.testing.assert_array_equal(got, numbers)


def test_a_scale_per_index_of_an_axis() -> None:
    given = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    tensor = _tensor("INT32", given, scales=(0.5, 2.0), zero_points=(0, 0))
    builder = ProgramBuilder().function("main")
    value = tensors.real(builder, tensors.constant_of(builder, tensor), tensor)
    assert value.constant is not None
    assert value.constant.tolist() == [[0.5, 1.0, 1.5], [8.0, 10.0, 12.0]]
