# SPDX-License-Identifier: Apache-2.0
"""The precision of a function, and how far outputs of two precisions may differ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from samara.exporter.ir import Array, Function
from samara.exporter.passes import difference
from samara.exporter.types import DType

FLOAT16_RANGE: Final = 2e-2  # of an output's range, as in docs/reference/numerics.md for float16
INTEGER_DB: Final = 10.0  # signal to noise of an output; with less the result is useless

_NAMES: Final[Mapping[DType, str]] = {
    DType.F16: "float16",
    DType.QS8: "int8",
    DType.I4: "int4",
    DType.U4: "int4",
}
_BITS: Final[Mapping[str, int]] = {"int4": 4, "int8": 8, "bfloat16": 15, "float16": 16}


@dataclass(frozen=True, slots=True)
class Precision:
    """The dtypes that a function uses besides float32, for constants and for computed values.

    `coarsest` is the one with the fewest bits, "float32" if there is none.
    """

    weights: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()

    @property
    def coarsest(self) -> str:
        return min(self.weights | self.values, key=lambda n: _BITS[n], default="float32")

    @property
    def bits(self) -> int:
        """Bits of the coarsest dtype. A dtype of activations counts as coarser than one of weights only."""
        return 2 * _BITS.get(self.coarsest, 32) - (self.coarsest in self.values)


def precision_of(function: Function, accuracy: str = "default") -> Precision:
    """The precision of a function in a session of that accuracy; "float16" means on a device."""
    weights: set[str] = set()
    values: set[str] = set()
    for v in function.values():
        name = _NAMES.get(v.type.dtype)
        if name is not None:
            (weights if v.is_constant else values).add(name)
    if any(n.op.name.endswith("_dynamic") for n in function.nodes):
        values.add("int8")
    if accuracy in ("bfloat16", "float16"):
        values.add(accuracy)
    return Precision(frozenset(weights), frozenset(values))


@dataclass(frozen=True, slots=True)
class Bound:
    """How far an output may differ when two runs are compared.

    kind: "tolerance": a model's tolerance, if both have one precision; "range": a share of the output's
    range, if one has float16 or bfloat16 instead of float32; "sqnr": decibels of signal to noise, if one
    has integers with fewer bits. `name` is the precision that sets the bound.
    """

    kind: str
    limit: float
    name: str

    def used(self, wanted: Array, got: Array, sqnr_db: float) -> float:
        """The difference of an output as a share of the bound: up to 1 is within."""
        if self.kind == "tolerance" or np.array_equal(
            wanted, got, equal_nan=wanted.dtype.kind == "f"
        ):
            return difference(wanted, got)
        if self.kind == "sqnr":
            if math.isnan(sqnr_db):
                return math.inf
            return float(10.0 ** ((self.limit - sqnr_db) / 20.0))
        if wanted.dtype.kind != "f":
            return math.inf
        x, y = wanted.astype(np.float64), got.astype(np.float64)
        with np.errstate(invalid="ignore"):
            span = float(np.max(x) - np.min(x)) if np.isfinite(x).all() else math.nan
            span = max(span, float(np.max(np.abs(x)))) if x.size else 0.0
            share = float(np.max(np.abs(x - y))) / span if span > 0.0 else math.inf
        return share / self.limit if math.isfinite(share) else math.inf

    def __str__(self) -> str:
        if self.kind == "range":
            return f"{100 * self.limit:g} % of the range, for {self.name}"
        if self.kind == "sqnr":
            return f"{self.limit:g} dB, for {self.name}"
        return "the tolerance of a model"


TOLERANCE: Final = Bound("tolerance", 1.0, "float32")


def bound_of(a: Precision, b: Precision, min_sqnr: float | None = None) -> Bound:
    """The bound for the outputs of two runs. min_sqnr: decibels instead of INTEGER_DB."""
    if min_sqnr is not None:
        coarser = min(a, b, key=lambda p: p.bits)
        return Bound("sqnr", min_sqnr, coarser.coarsest)
    if a == b:
        return Bound("tolerance", 1.0, a.coarsest)
    name = min(a, b, key=lambda p: p.bits).coarsest
    if name in ("float16", "bfloat16"):
        return Bound("range", FLOAT16_RANGE, name)
    return Bound("sqnr", INTEGER_DB, name)
