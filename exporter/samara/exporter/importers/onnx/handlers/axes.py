# SPDX-License-Identifier: Apache-2.0
"""Axes that are known only at run time, as 0/1 expressions per axis.

The IR's axes are static, so run-time axes are expressed by dims: an axis that may be reduced is split in
two, one of which is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from samara.exporter.types import Dim, as_dim, deq, dlt, select

Flags = list[Dim]


def flags(axes: Sequence[Dim], rank: int) -> Flags:
    """For each of `rank` axes 1 where `axes` (negative ones count from the end) names it, else 0."""
    out = []
    for a in range(rank):
        absent = as_dim(1)
        for axis in axes:
            absent = absent * (1 - named(axis, a, rank))
        out.append(1 - absent)
    return out


def named(axis: Dim, a: int, rank: int) -> Dim:
    """1 where `axis` names axis `a`."""
    if axis.is_static:
        return as_dim(int(axis.as_int() % rank == a))
    return deq(axis, a) + deq(axis, a - rank)


def split_shape(shape: Sequence[Dim], chosen: Flags) -> list[Dim]:
    """Each dim as (kept, chosen): (d, 1), or (1, d) where the axis is chosen."""
    out: list[Dim] = []
    for d, c in zip(shape, chosen, strict=True):
        out += [select(c, 1, d), select(c, d, 1)]
    return out


def around(shape: Sequence[Dim], axis: Dim) -> tuple[Dim, Dim, Dim]:
    """(product of the dims before, the dim itself, product of the dims after) a run-time axis."""
    front = from_front(axis, len(shape))
    before, at, after = as_dim(1), as_dim(1), as_dim(1)
    for a, d in enumerate(shape):
        before = before * select(dlt(a, front), d, 1)
        at = at * select(deq(front, a), d, 1)
        after = after * select(dlt(front, a), d, 1)
    return before, at, after


def from_front(axis: Dim, rank: int) -> Dim:
    """The axis counted from the front."""
    return select(dlt(axis, 0), axis + rank, axis)


def without_one(shape: Sequence[Dim], axis: Dim) -> list[Dim]:
    """The dims without the one at `axis`."""
    front = from_front(axis, len(shape))
    return [select(dlt(j, front), shape[j], shape[j + 1]) for j in range(len(shape) - 1)]


def without(shape: Sequence[Dim], chosen: Flags, count: int) -> list[Dim]:
    """The `count` dims that remain after the chosen axes are removed."""
    out = []
    for j in range(count):
        size = as_dim(0)
        before = as_dim(0)  # remaining axes in front of a
        for d, c in zip(shape, chosen, strict=True):
            size = size + (1 - c) * deq(before, j) * d
            before = before + (1 - c)
        out.append(size)
    return out


def with_ones(shape: Sequence[Dim], chosen: Flags) -> list[Dim]:
    """The dims with 1 inserted at the chosen axes of the result."""
    out = []
    before = as_dim(0)  # dims of `shape` used so far
    for c in chosen:
        size = as_dim(0)
        for j, d in enumerate(shape):
            size = size + deq(before, j) * d
        out.append(select(c, 1, size))
        before = before + (1 - c)
    return out


def spread(values: Sequence[Dim], axes: Sequence[Dim], defaults: Sequence[Dim]) -> list[Dim]:
    """values[k] at the axis that axes[k] names, defaults elsewhere."""
    rank = len(defaults)
    out = list(defaults)
    for a in range(rank):
        for value, axis in zip(values, axes, strict=True):
            out[a] = select(named(axis, a, rank), value, out[a])
    return out
