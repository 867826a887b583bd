# SPDX-License-Identifier: Apache-2.0
"""Einstein sums, by way of matrix products."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from samara.exporter.frontend._operands import as_tensor
from samara.exporter.frontend._shape import product
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ShapeError, UnsupportedError

__all__ = ["einsum", "tensordot"]


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sum of products of elements of the operands, whose axes the equation names.

    "bij,bjk->bik": letters left of the arrow name axes, those missing on the right are summed
    over; without an arrow the letters that occur once are kept, in alphabetical order. "..." stands
    for axes that broadcast. Operands are taken in from left to right, each pair as one (batched)
    matrix product. Raises ShapeError where sizes of one letter differ.
    """
    given = (
        operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    )
    tensors = [as_tensor(t) for t in given]
    terms, out = _parse(equation, tensors)
    sizes = _sizes(terms, tensors)
    labels, result = terms[0], tensors[0]
    labels, result = _diagonals(labels, result)
    for i in range(1, len(tensors)):
        other_labels, other = _diagonals(terms[i], tensors[i])
        later = set("".join(terms[i + 1 :])) | set(out)
        labels, result = _pair(labels, result, other_labels, other, later, sizes)
    gone = [i for i, c in enumerate(labels) if c not in out]
    if gone:
        result = result.sum(tuple(gone))
        labels = "".join(c for c in labels if c in out)
    if missing := set(out) - set(labels):
        raise ShapeError(f"einsum: the result names {sorted(missing)}, which no operand has")
    return result if labels == out else result.permute(*(labels.index(c) for c in out))


def _parse(equation: str, tensors: Sequence[Any]) -> tuple[list[str], str]:
    """Letters of every operand and of the result; "..." becomes letters of its own."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ShapeError(f"einsum: {equation!r} names {len(terms)} operands, got {len(tensors)}")
    free = [c for c in string.ascii_letters if c not in text]
    widths = [t.ndim - len(s.replace("...", "")) for s, t in zip(terms, tensors, strict=True)]
    most = max((w for w, s in zip(widths, terms, strict=True) if "..." in s), default=0)
    dots = "".join(free[:most])
    full = []
    for s, w in zip(terms, widths, strict=True):
        if w < 0 or ("..." not in s and w != 0):
            raise ShapeError(f"einsum: {s!r} names another number of axes than its operand has")
        full.append(s.replace("...", dots[most - w :]))
    letters = "".join(full)
    if any(not c.isalpha() for c in letters):
        raise UnsupportedError(f"einsum: {equation!r} holds something else than letters")
    if arrow:
        return full, right.replace("...", dots)
    once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots)
    return full, dots + "".join(once)


def _sizes(terms: Sequence[str], tensors: Sequence[Any]) -> dict[str, Any]:
    sizes: dict[str, Any] = {}
    for s, t in zip(terms, tensors, strict=True):
        for c, n in zip(s, t.shape, strict=True):
            known = sizes.get(c, 1)
            if known != 1 and n != 1 and known != n:
                raise ShapeError(f"einsum: axis {c!r} has sizes {known} and {n}")
            if c not in sizes or known == 1:
                sizes[c] = n
    return sizes


def _diagonals(labels: str, t: Any) -> tuple[str, Any]:
    """Axes of one letter as the diagonal over them."""
    for c in dict.fromkeys(labels):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            t = t.diagonal(0, i, j)
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + c
    return labels, t


def _pair(
    la: str, a: Any, lb: str, b: Any, later: set[str], sizes: dict[str, Any]
) -> tuple[str, Any]:
    """Two operands as one: letters of both are batch or summed, others rows or columns."""
    batch = [c for c in la if c in lb and c in later]
    summed = [c for c in la if c in lb and c not in later]
    rows = [c for c in la if c not in lb]
    columns = [c for c in lb if c not in la]
    for c in [c for c in rows if c not in later]:
        a = a.sum(la.index(c))
        la = la.replace(c, "")
        rows.remove(c)
    for c in [c for c in columns if c not in later]:
        b = b.sum(lb.index(c))
        lb = lb.replace(c, "")
        columns.remove(c)
    both = [*batch, *summed]
    a = _spread(
        a.permute(*(la.index(c) for c in (*batch, *rows, *summed))), batch, rows, summed, sizes
    )
    b = _spread(
        b.permute(*(lb.index(c) for c in (*batch, *summed, *columns))),
        batch,
        summed,
        columns,
        sizes,
    )
    if not both and not rows and not columns:
        return "", a * b
    k = len(batch)
    lead = tuple(sizes[c] for c in batch)
    x = a.reshape((*lead, _size(a.shape[k : k + len(rows)]), _size(a.shape[k + len(rows) :])))
    y = b.reshape((*lead, _size(b.shape[k : k + len(summed)]), _size(b.shape[k + len(summed) :])))
    out = x.matmul(y)
    shape = (*lead, *a.shape[k : k + len(rows)], *b.shape[k + len(summed) :])
    return "".join([*batch, *rows, *columns]), out.reshape(shape)


def _spread(
    t: Any, batch: Sequence[str], second: Sequence[str], third: Sequence[str], sizes: dict[str, Any]
) -> Any:
    """Axes of size 1 whose letter is larger elsewhere, expanded."""
    full = tuple(sizes[c] for c in (*batch, *second, *third))
    return t if tuple(t.shape) == full else t.expand(*full)


def _size(sizes: Sequence[Any]) -> Any:
    return product(sizes)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum over the last `dims` axes of a and the first of b, or over the axes that two lists name."""
    if isinstance(dims, int):
        axes_a = list(range(a.ndim - dims, a.ndim))
        axes_b = list(range(dims))
    else:
        axes_a, axes_b = ([d % t.ndim for d in ds] for ds, t in zip(dims, (a, b), strict=True))
    letters = iter(string.ascii_letters)
    la = [next(letters) for _ in range(a.ndim)]
    lb = [next(letters) for _ in range(b.ndim)]
    for i, j in zip(axes_a, axes_b, strict=True):
        lb[j] = la[i]
    out = [c for i, c in enumerate(la) if i not in axes_a]
    out += [c for j, c in enumerate(lb) if j not in axes_b]
    return einsum(f"{''.join(la)},{''.join(lb)}->{''.join(out)}", a, b)
