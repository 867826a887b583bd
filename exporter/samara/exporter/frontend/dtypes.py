# SPDX-License-Identifier: Apache-2.0
"""The dtypes of eager tensors, which are numpy dtypes, and their promotion."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from samara.exporter.types import ArgumentError
from samara.pybridge.errors import UnsupportedError

__all__ = [
    "bfloat16",
    "bool_",
    "dtype",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
]

dtype = np.dtype
float16: Final = np.dtype("float16")
float32: Final = np.dtype("float32")
float64: Final = np.dtype("float64")
int8: Final = np.dtype("int8")
int16: Final = np.dtype("int16")
int32: Final = np.dtype("int32")
int64: Final = np.dtype("int64")
uint8: Final = np.dtype("uint8")
bool_: Final = np.dtype("bool")


class Lacking:
    """A dtype of PyTorch that tensors cannot have. Programs may name it; using it raises."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"samara.{self.name}"


bfloat16: Final = Lacking("bfloat16")

# PyTorch's order for promotion: bool < integers < floats.
RANK: Final = {"b": 0, "u": 1, "i": 1, "f": 2}
KNOWN: Final[frozenset[np.dtype[Any]]] = frozenset(
    (float16, float32, float64, int8, int16, int32, int64, uint8, bool_)
)


def as_dtype(value: Any) -> np.dtype[Any]:
    """A dtype from anything numpy understands. UnsupportedError if tensors cannot have it."""
    if isinstance(value, Lacking):
        raise UnsupportedError(
            f"tensors cannot be {value.name}", fix="use float32, or float16 for storage"
        )
    names = ", ".join(sorted(d.name for d in KNOWN))
    try:
        found = np.dtype(value)
    except TypeError:
        raise ArgumentError(f"there is no dtype {value!r}", fix=f"use one of {names}") from None
    if found.kind in "USO":
        raise ArgumentError(f"tensors cannot be {found.name}", fix=f"use one of {names}")
    if found not in KNOWN:
        raise UnsupportedError(f"tensors cannot be {found.name}", fix=f"use one of {names}")
    return found


def is_dtype(value: Any) -> bool:
    """Whether `value` names a dtype (a numpy dtype or a scalar class) rather than a device."""
    return isinstance(value, (np.dtype, type, Lacking))


def promote(a: np.dtype[Any], a_rank: int, b: np.dtype[Any], b_rank: int) -> np.dtype[Any]:
    """The dtype in which two tensors of these dtypes and ranks are computed.

    PyTorch's rule: the higher kind wins (float over integer over bool). Within one kind a tensor with
    axes wins over a 0-d one; otherwise the wider dtype wins.
    """
    if a == b:
        return a
    kind_a, kind_b = RANK[a.kind], RANK[b.kind]
    if kind_a != kind_b:
        return a if kind_a > kind_b else b
    if (a_rank == 0) != (b_rank == 0):
        return b if a_rank == 0 else a
    return np.promote_types(a, b)
