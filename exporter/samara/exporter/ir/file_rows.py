# SPDX-License-Identifier: Apache-2.0
"""Fields of rows in a file's tables: indices, dtypes, quantization."""

from __future__ import annotations

from collections.abc import Sequence

from samara.exporter.ir import flat
from samara.exporter.types import DType, ModelFormatError, Quant


def indices_among(found: Sequence[int], count: int, what: str) -> list[int]:
    """The indices, checked to be below `count`; `what` names them in the error."""
    for i in found:
        if not 0 <= i < count:
            raise ModelFormatError(f"{what}: there is no {i} among {count}")
    return list(found)


def dtype_of(code: int, where: str) -> DType:
    """The dtype of a code; `where` names its owner in the error."""
    try:
        return DType(code)
    except ValueError:
        raise ModelFormatError(f"{where} has the unknown dtype {code}") from None


def quant_of(row: flat.Row | None) -> Quant | None:
    """The quantization of a value or variable, None if it has none."""
    if row is None:
        return None
    return Quant(
        tuple(row["scales"]),
        tuple(row["zero_points"]),
        None if row["axis"] == -1 else row["axis"],
        row["block"] or None,
    )
