# SPDX-License-Identifier: Apache-2.0
"""Tests of dtypes: pinned codes, names and the way to and from numpy."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.types import DType, UnsupportedError


def test_codes_are_pinned() -> None:
    assert {dtype.short: dtype.code for dtype in DType} == {
        "f32": 1,
        "f16": 2,
        "i8": 3,
        "qs8": 4,
        "u8": 5,
        "i32": 6,
        "i64": 7,
        "bool": 8,
        "f64": 9,
        "bf16": 10,
        "i16": 11,
        "u16": 12,
        "u32": 13,
        "u64": 14,
        "i4": 15,
        "u4": 16,
    }


def test_numpy_round_trip() -> None:
    for dtype in DType:
        if dtype in (DType.BF16, DType.I4, DType.U4):
            with pytest.raises(UnsupportedError):
                _ = dtype.numpy
            assert dtype.public_name == dtype.short
            continue
        expected = DType.I8 if dtype is DType.QS8 else dtype
        assert DType.from_numpy(dtype.numpy) is expected
        assert dtype.itemsize == dtype.numpy.itemsize
        assert dtype.bits == 8 * dtype.itemsize
        assert dtype.public_name == dtype.numpy.name


def test_from_numpy_takes_any_spelling() -> None:
    assert DType.from_numpy(np.float32) is DType.F32
    assert DType.from_numpy("int64") is DType.I64
    assert DType.from_numpy(np.dtype(">i4")) is DType.I32
    with pytest.raises(UnsupportedError, match="complex64"):
        DType.from_numpy(np.complex64)


def test_parse_takes_short_and_numpy_names() -> None:
    assert DType.parse("qs8") is DType.QS8
    assert DType.parse("float16") is DType.F16
    assert DType.parse("int8") is DType.I8
    assert DType.parse("bool") is DType.BOOL
    for dtype in DType:
        assert DType.parse(dtype.short) is dtype
    with pytest.raises(UnsupportedError, match="unknown dtype 'float'"):
        DType.parse("float")


def test_kinds() -> None:
    assert [d.short for d in DType if d.is_float] == ["f32", "f16", "f64", "bf16"]
    assert [d.short for d in DType if d.is_quantized] == ["qs8"]
    assert {d.short for d in DType if not (d.is_float or d.is_int)} == {"qs8", "bool"}
    assert {d.short for d in DType if not d.is_signed} == {"bool", "u4", "u8", "u16", "u32", "u64"}
    assert str(DType.F32) == "f32"
    assert DType.BF16.itemsize == 2


def test_packed_types_have_no_itemsize() -> None:
    assert DType.I4.bits == 4
    with pytest.raises(UnsupportedError):
        _ = DType.U4.itemsize
