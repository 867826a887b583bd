# SPDX-License-Identifier: Apache-2.0
"""Which axes of a reshape's input become which axes of its output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samara.exporter.types import Dim, Tri, as_dim, compare


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive input axes and the consecutive output axes that hold the same elements in the
    same order.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def reshape_groups(before: Sequence[Dim], after: Sequence[Dim]) -> list[Group] | None:
    """The finest grouping of a reshape; None if symbolic dims do not determine it.

    Axes of 1 without a counterpart form groups with an empty side.
    """
    groups: list[Group] = []
    i = j = 0
    while i < len(before) or j < len(after):
        ins, outs = [], []
        left = right = as_dim(1)
        if i < len(before) and j < len(after):
            ins.append(i)
            outs.append(j)
            left, right = before[i], after[j]
            i, j = i + 1, j + 1
            if left == as_dim(1) and right != as_dim(1):
                groups.append(Group((ins[0],), ()))
                j -= 1
                continue
            if right == as_dim(1) and left != as_dim(1):
                groups.append(Group((), (outs[0],)))
                i -= 1
                continue
            while left != right:
                grown = _grow(left, right, i < len(before), j < len(after))
                if grown is None:
                    return None
                if grown:
                    left = left * before[i]
                    ins.append(i)
                    i += 1
                else:
                    right = right * after[j]
                    outs.append(j)
                    j += 1
            groups.append(Group(tuple(ins), tuple(outs)))
        elif i < len(before):
            if before[i] != as_dim(1):
                return None
            groups.append(Group((i,), ()))
            i += 1
        else:
            if after[j] != as_dim(1):
                return None
            groups.append(Group((), (j,)))
            j += 1
    return groups


def _grow(left: Dim, right: Dim, more_left: bool, more_right: bool) -> bool | None:
    """Which side to multiply on: True the left, False the right, None if that is undetermined."""
    if left.is_static and right.is_static:
        smaller_left = left.as_int() < right.as_int()
        if smaller_left:
            return True if more_left else None
        return False if more_right else None
    if compare(left, right) is Tri.NO and not (more_left or more_right):
        return None
    # A symbolic side is complete if it divides the other; otherwise the side with fewer factors grows.
    if more_right and _divides(right, left):
        return False
    if more_left and _divides(left, right):
        return True
    return None


def _divides(small: Dim, large: Dim) -> bool:
    """Whether large is a whole multiple of small as polynomials."""
    quotient = large // small
    return quotient * small == large
