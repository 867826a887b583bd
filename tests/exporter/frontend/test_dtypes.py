# SPDX-License-Identifier: Apache-2.0
"""Dtypes and how they combine: PyTorch's table, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend import dtypes
from samara.pybridge.errors import ArgumentError, UnsupportedError

NAMES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool")
# Of two tensors with axes; rows and columns in the order of NAMES. u: uint8, i: int8, s: int16,
# w: int32, l: int64, h: float16, f: float32, d: float64, b: bool.
TABLE = """
u s s w l h f d u
s i s w l h f d i
s s s w l h f d s
w w w w l h f d w
l l l l l h f d l
h h h h h h f d h
f f f f f f f d f
d d d d d d d d d
u i s w l h f d b
"""
LETTER = dict(zip("uiswlhfdb", NAMES, strict=True))
PAIRS = [
    (a, b, LETTER[letter])
    for a, row in zip(NAMES, TABLE.strip().splitlines(), strict=True)
    for b, letter in zip(NAMES, row.split(), strict=True)
]


def of(name: str, value: Any) -> Any:
    return samara.tensor(value, dtype=np.dtype(name))


@pytest.mark.parametrize(("a", "b", "expected"), PAIRS)
def test_two_tensors(a: str, b: str, expected: str) -> None:
    found = of(a, [1, 0]) + of(b, [1, 1])
    assert found.dtype.name == expected
    assert (of(a, [1, 0]) * of(b, [1, 1])).dtype.name == expected
    assert samara.maximum(of(a, [1, 0]), of(b, [1, 1])).dtype.name == expected
    assert samara.cat([of(a, [1, 0]), of(b, [1, 1])]).dtype.name == expected
    assert (of(a, [1, 0]) == of(b, [1, 1])).tolist() == [True, False]


@pytest.mark.parametrize(("a", "b", "wide"), PAIRS)
def test_a_0d_tensor_counts_by_its_kind_only(a: str, b: str, wide: str) -> None:
    rank = {"b": 0, "u": 1, "i": 1, "f": 2}
    expected = b if rank[np.dtype(b).kind] > rank[np.dtype(a).kind] else a
    assert (of(a, [1, 0]) + of(b, 1)).dtype.name == expected
    assert (of(b, 1) + of(a, [1, 0])).dtype.name == expected
    assert (of(a, 1) + of(b, 1)).dtype.name == wide


@pytest.mark.parametrize("name", NAMES)
def test_python_scalars_are_weak(name: str) -> None:
    kind = np.dtype(name).kind
    x = of(name, [1, 0])
    integer = "int64" if kind == "b" else name
    floating = name if kind == "f" else "float32"
    assert (x + 1).dtype.name == (2 * x).dtype.name == (3 - x).dtype.name == integer
    assert (x + 1.5).dtype.name == (0.5 * x).dtype.name == (1.5 - x).dtype.name == floating
    assert (x + True).dtype.name == name
    assert (x / 2).dtype.name == (2 / (x + 1)).dtype.name == floating
    assert (x + np.float64(1.5)).dtype.name == floating
    assert (x * np.float32(1.5)).dtype.name == floating
    assert (x + np.int32(1)).dtype.name == (np.int8(1) - (x + 1)).dtype.name == integer


@pytest.mark.parametrize(("a", "b", "expected"), PAIRS)
def test_pytorch_agrees(a: str, b: str, expected: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    found = torch.promote_types(getattr(torch, a), getattr(torch, b))
    assert str(found) == f"torch.{expected}"


def test_dtypes_that_tensors_cannot_have() -> None:
    for value in (np.complex64, np.uint64, np.float128):
        with pytest.raises(UnsupportedError, match="tensors cannot be"):
            dtypes.as_dtype(value)
    for other in (np.dtype("U3"), "nope", object):
        with pytest.raises(ArgumentError, match=r"tensors cannot be|there is no dtype"):
            dtypes.as_dtype(other)
    for array in (np.zeros(2, complex), np.zeros(2, np.uint16)):
        with pytest.raises(UnsupportedError, match="tensors cannot be"):
            samara.from_numpy(array)
        with pytest.raises(UnsupportedError, match="tensors cannot be"):
            samara.tensor(array)
    assert dtypes.as_dtype("float32") is dtypes.as_dtype(np.float32)
    assert dtypes.promote(dtypes.int8, 1, dtypes.uint8, 1) == dtypes.int16
