# SPDX-License-Identifier: Apache-2.0
"""Tests of dtypes: codes, names and conversion to and from numpy."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from samara.exporter.types import DType, UnsupportedError
from samara.exporter.types.dtype import _ml_dtype


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
        expected = DType.I8 if dtype is DType.QS8 else dtype
        assert DType.from_numpy(dtype.numpy) is expected
        assert dtype.public_name == dtype.numpy.name
        assert DType.parse(dtype.public_name) is expected
        if dtype.is_packed:  # arrays are not packed
            assert dtype.numpy.itemsize == 1
            continue
        assert dtype.itemsize == dtype.numpy.itemsize
        assert dtype.bits == 8 * dtype.itemsize


def test_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    _ml_dtype.cache_clear()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(UnsupportedError, match="bfloat16 needs ml_dtypes") as caught:
        _ = DType.BF16.numpy
    assert "install ml_dtypes" in str(caught.value)
    assert DType.BF16.public_name == "bfloat16"
    assert DType.F64.numpy == np.float64


def test_bytes_and_versions() -> None:
    assert [DType.F64.bytes_of(3), DType.BF16.bytes_of(3), DType.U4.bytes_of(3)] == [24, 6, 2]
    assert [d.short for d in DType if d.is_packed] == ["i4", "u4"]
    assert {d.short for d in DType if d.since == "0.1.0"} == {
        "f32", "f16", "i8", "qs8", "u8", "i32", "i64", "bool",
    }  # fmt: skip
    assert {d.since for d in DType} == {"0.1.0", "0.3.0"}


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
