# SPDX-License-Identifier: Apache-2.0
"""The distinct rows of a matrix: sorted rows are distinct where they differ from the one before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from samara.exporter.importers.common.emitter import Emitter
from samara.exporter.ir.program import Value
from samara.exporter.types import DType


@dataclass(frozen=True, slots=True)
class Distinct:
    """int64 vectors. first: the index of each distinct row's first occurrence; count: how often it occurs; place:
    for every row its index among the distinct ones.
    """

    first: Value
    place: Value
    count: Value


def distinct(n: Emitter, rows: Value, *, by_appearance: bool) -> Distinct:
    """The distinct rows of [items, width], sorted, or in the order in which they first occur."""
    order, starts = n.emit("sort_rows", rows)
    items = rows.type.shape[0]
    found = n.emit("nonzero", starts)
    total = found.type.shape[1]
    heads = n.emit("reshape", found, shape=(total,))  # positions in the sorted order
    first = n.emit("gather", order, heads)
    group = n.emit("sub", n.emit("cumsum", n.emit("cast", starts, to=DType.I64), axis=0), 1)
    zeros = n.emit("expand", n.const(np.zeros((), np.int64)), shape=(items,))
    place = n.emit("scatter_elements", zeros, order, group)
    zeros = n.emit("expand", n.const(np.zeros((), np.int64)), shape=(total,))
    ones = n.emit("expand", n.const(np.ones((), np.int64)), shape=(items,))
    count = n.emit("scatter_elements", zeros, place, ones, reduction="add")
    if by_appearance:
        column = n.emit("reshape", first, shape=(total, 1))
        appearance, _ = n.emit("sort_rows", column)
        rank_of = n.emit("scatter_elements", zeros, appearance, n.emit("iota", length=total))
        first, count = (n.emit("gather", v, appearance) for v in (first, count))
        place = n.emit("gather", rank_of, place)
    return Distinct(first, place, count)
