# SPDX-License-Identifier: Apache-2.0
"""The runtime's dtypes in numpy: names, stand-ins without ml_dtypes, two elements to a byte."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from samara.pybridge._native import ffi, library
from samara.pybridge.dtypes import (
    NAMES,
    PACKED,
    numpy_dtype,
    pack_nibbles,
    packed_bytes,
    unpack_nibbles,
)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without ml_dtypes."""
    numpy_dtype.cache_clear()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    yield
    numpy_dtype.cache_clear()


def test_names_are_those_of_numpy() -> None:
    library()
    for code, name in NAMES.items():
        assert numpy_dtype(name).name == name
        assert ffi.typeof("samara_dtype").elements[code].startswith("SAMARA_")
    assert set(NAMES) == set(ffi.typeof("samara_dtype").elements)
    assert numpy_dtype("bfloat16") == np.dtype(ml_dtypes.bfloat16)


def test_stand_ins(bare: None) -> None:
    assert numpy_dtype("bfloat16") == np.uint16
    assert numpy_dtype("int4") == np.int8
    assert numpy_dtype("uint4") == np.uint8
    assert numpy_dtype("float32") == np.float32
    values = np.array([[-8, -1, 0], [1, 7, 3], [-3, 2, 4]], np.int8)
    packed = pack_nibbles(values)
    np.testing.assert_array_equal(unpack_nibbles(packed, np.dtype(np.int8), values.shape), values)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 16])
def test_nibbles_come_back(count: int) -> None:
    signed = np.arange(-8, 8).astype(ml_dtypes.int4)[:count]
    plain = np.arange(16).astype(ml_dtypes.uint4)[:count]
    for values in (signed, plain):
        packed = pack_nibbles(values)
        assert packed.nbytes == packed_bytes(values.shape) == (count + 1) // 2
        back = unpack_nibbles(packed, values.dtype, values.shape)
        assert back.dtype == values.dtype
        assert back.tobytes() == values.tobytes()
        np.testing.assert_array_equal(back, values)


def test_the_first_lies_in_the_low_half() -> None:
    assert pack_nibbles(np.array([1, 2, -1], np.int8)).tolist() == [0x21, 0x0F]
    assert pack_nibbles(np.array([[1, 2], [3, 4]], np.uint8).T).tolist() == [0x31, 0x42]
    assert packed_bytes(()) == 1
    assert {"int4", "uint4"} == PACKED
