# SPDX-License-Identifier: Apache-2.0
"""Einstein sums as matrix products, for any kind of tensor: a plan over a few axis operations."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any, Protocol

from samara.exporter.types import Dim, ShapeError, UnsupportedError, deq, select

__all__ = ["AxisOps", "einsum"]


class AxisOps(Protocol):
    """The operations that a sum of products is made of, for one kind of tensor."""

    def shape(self, t: Any) -> Sequence[Any]:
        """Sizes of the axes, as integers or dims."""

    def sum(self, t: Any, axes: Sequence[int]) -> Any:
        """The sum over axes, which are removed."""

    def permute(self, t: Any, axes: Sequence[int]) -> Any:
        """The tensor with its axes in another order."""

    def diagonal(self, t: Any, first: int, second: int) -> Any:
        """The diagonal of two axes of equal size, as the last axis."""

    def reshape(self, t: Any, shape: Sequence[Any]) -> Any:
        """The tensor in another shape."""

    def expand(self, t: Any, shape: Sequence[Any]) -> Any:
        """The tensor with axes of size 1 repeated to `shape`."""

    def matmul(self, a: Any, b: Any) -> Any:
        """Batched matrix product."""

    def mul(self, a: Any, b: Any) -> Any:
        """Elementwise product."""


def einsum(ops: AxisOps, equation: str, tensors: Sequence[Any]) -> Any:
    """Sum of products of elements of the tensors, whose axes the equation names.

    "bij,bjk->bik": letters left of the arrow name axes; those missing on the right are summed over.
    Without an arrow the letters that occur once are kept, in alphabetical order. "..." stands for axes that
    broadcast. Tensors are multiplied from left to right, each pair as one (batched) matrix product. Raises
    ShapeError if sizes of one letter differ.
    """
    terms, out, dots = _parse(equation, [len(ops.shape(t)) for t in tensors])
    sizes = _sizes(terms, [ops.shape(t) for t in tensors], dots)
    labels, result = _diagonals(ops, terms[0], tensors[0])
    for i in range(1, len(tensors)):
        other_labels, other = _diagonals(ops, terms[i], tensors[i])
        later = set("".join(terms[i + 1 :])) | set(out)
        labels, result = _pair(ops, labels, result, other_labels, other, later, sizes, dots)
    gone = [i for i, c in enumerate(labels) if c not in out]
    if gone:
        result = ops.sum(result, gone)
        labels = "".join(c for c in labels if c in out)
    if missing := set(out) - set(labels):
        raise ShapeError(f"einsum: the result names {sorted(missing)}, which no operand has")
    return result if labels == out else ops.permute(result, [labels.index(c) for c in out])


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[str], str, str]:
    """(letters of every operand, letters of the result, new letters that stand for "...")"""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ShapeError(f"einsum: {equation!r} names {len(terms)} operands, got {len(ranks)}")
    free = [c for c in string.ascii_letters if c not in text]
    widths = [rank - len(s.replace("...", "")) for s, rank in zip(terms, ranks, strict=True)]
    most = max((w for w, s in zip(widths, terms, strict=True) if "..." in s), default=0)
    dots = "".join(free[:most])
    full = []
    for s, w in zip(terms, widths, strict=True):
        if w < 0 or ("..." not in s and w != 0):
            raise ShapeError(f"einsum: {s!r} names another number of axes than its operand has")
        full.append(s.replace("...", dots[most - w :]))
    letters = "".join(full)
    if any(not c.isalpha() for c in letters):
        raise UnsupportedError(f"einsum: {equation!r} has characters that are not letters")
    if arrow:
        result = right.replace("...", dots)
        if len(set(result)) != len(result):
            raise ShapeError(f"einsum: the result of {equation!r} names an axis twice")
        return full, result, dots
    once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots)
    return full, dots + "".join(once), dots


def _sizes(terms: Sequence[str], shapes: Sequence[Sequence[Any]], dots: str) -> dict[str, Any]:
    """The size of every letter: the one that is not 1 if several are broadcast together.

    Of two symbolic dims the first is taken, except for letters of "...", which may broadcast.
    """
    sizes: dict[str, Any] = {}
    for s, shape in zip(terms, shapes, strict=True):
        for c, n in zip(s, shape, strict=True):
            known = sizes.get(c, 1)
            if _is_number(known) and _is_number(n) and known != 1 and n != 1 and known != n:
                raise ShapeError(f"einsum: axis {c!r} has sizes {known} and {n}")
            if c not in sizes or known == 1:
                sizes[c] = n
            elif c in dots and n not in (1, known):
                sizes[c] = select(deq(known, 1), n, known)
    return sizes


def _is_number(n: Any) -> bool:
    return not isinstance(n, Dim) or n.is_static


def _diagonals(ops: AxisOps, labels: str, t: Any) -> tuple[str, Any]:
    """Take the diagonal over axes with the same letter."""
    for c in dict.fromkeys(labels):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            t = ops.diagonal(t, i, j)
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + c
    return labels, t


def _pair(
    ops: AxisOps,
    la: str,
    a: Any,
    lb: str,
    b: Any,
    later: set[str],
    sizes: dict[str, Any],
    dots: str,
) -> tuple[str, Any]:
    """Multiply two operands: shared letters are batched or summed, other letters are rows or columns."""
    batch = [c for c in la if c in lb and c in later]
    summed = [c for c in la if c in lb and c not in later]
    la, a = _without(ops, la, a, [c for c in la if c not in lb and c not in later])
    lb, b = _without(ops, lb, b, [c for c in lb if c not in la and c not in later])
    rows = [c for c in la if c not in lb]
    columns = [c for c in lb if c not in la]
    a = _ordered(ops, la, a, (*batch, *rows, *summed), sizes, dots)
    b = _ordered(ops, lb, b, (*batch, *summed, *columns), sizes, dots)
    if not summed and not rows and not columns:
        return "".join(batch), ops.mul(a, b)
    lead, m, n = ([sizes[c] for c in group] for group in (batch, rows, columns))
    k = _product([sizes[c] for c in summed])
    x = ops.reshape(a, (*lead, _product(m), k))
    y = ops.reshape(b, (*lead, k, _product(n)))
    return "".join([*batch, *rows, *columns]), ops.reshape(ops.matmul(x, y), (*lead, *m, *n))


def _without(ops: AxisOps, labels: str, t: Any, gone: Sequence[str]) -> tuple[str, Any]:
    """The sum over the axes of some letters."""
    if not gone:
        return labels, t
    t = ops.sum(t, [labels.index(c) for c in gone])
    return "".join(c for c in labels if c not in gone), t


def _ordered(
    ops: AxisOps, labels: str, t: Any, order: Sequence[str], sizes: dict[str, Any], dots: str
) -> Any:
    """The tensor with its axes in this order, and expanded to the sizes of its letters."""
    if labels != "".join(order):
        t = ops.permute(t, [labels.index(c) for c in order])
    full = [sizes[c] for c in order]
    shape = ops.shape(t)
    grows = any(
        a != b and (a == 1 or c in dots) for a, b, c in zip(shape, full, order, strict=True)
    )
    return ops.expand(t, full) if grows else t


def _product(sizes: Sequence[Any]) -> Any:
    total: Any = 1
    for n in sizes:
        total = total * n
    return total
