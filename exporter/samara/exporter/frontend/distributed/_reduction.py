# SPDX-License-Identifier: Apache-2.0
"""ReduceOp, and reductions in rank order: equal bits on all ranks, for any library and bucket size."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError

__all__ = ["ReduceOp"]

Array = np.ndarray[Any, Any]


class ReduceOp(enum.Enum):
    """How the values of the ranks are combined: SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR.

    Values are combined in rank order, so all ranks get the same bits. AVG divides the sum by the number of
    ranks and takes floats only; BAND, BOR and BXOR take integers and bool only.

    >>> samara.distributed.ReduceOp.SUM.name
    'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


_UFUNCS: Final[dict[ReduceOp, Any]] = {
    ReduceOp.SUM: np.add,
    ReduceOp.AVG: np.add,
    ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
    ReduceOp.BAND: np.bitwise_and,
    ReduceOp.BOR: np.bitwise_or,
    ReduceOp.BXOR: np.bitwise_xor,
}
_PIECE: Final = 128 << 10  # bytes that stay in a core's cache until the last part is combined
_OF_INTEGERS: Final = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def check_reducible(op: ReduceOp, dtype: np.dtype[Any]) -> None:
    """Raise where values of this dtype cannot be combined so."""
    if not isinstance(op, ReduceOp):
        raise ArgumentError(f"op is {op!r}, expected a member of ReduceOp")
    if op in _OF_INTEGERS and dtype.kind == "f":
        raise ShapeError(f"{op.name} takes integers and bool, got {dtype}", fix="use SUM or MAX")
    if op is ReduceOp.AVG and dtype.kind != "f":
        raise ShapeError(f"AVG takes floats, got {dtype}", fix="use SUM and divide")


def fold(op: ReduceOp, parts: Sequence[Array], out: Array) -> None:
    """Combine the flat arrays of the ranks, in rank order, into `out`, which may be one of them.

    Overflows and NaN are results like others: no warnings.
    """
    ufunc, step = _UFUNCS[op], _PIECE // out.itemsize
    with np.errstate(all="ignore"):
        for start in range(0, out.size, step):
            piece = out[start : start + step]
            cut = [piece if part is out else part[start : start + step] for part in parts]
            _fold(op, ufunc, cut, piece)


def _fold(op: ReduceOp, ufunc: Any, parts: Sequence[Array], out: Array) -> None:
    if len(parts) == 1:
        np.copyto(out, parts[0])
    elif not any(part is out for part in parts[2:]):
        ufunc(parts[0], parts[1], out=out)
        for part in parts[2:]:
            ufunc(out, part, out=out)
    else:
        result = ufunc(parts[0], parts[1])
        for part in parts[2:]:
            ufunc(result, part, out=result)
        np.copyto(out, result)
    if op is ReduceOp.AVG:
        np.divide(out, out.dtype.type(len(parts)), out=out)
