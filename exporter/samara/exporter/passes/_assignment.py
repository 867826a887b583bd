# SPDX-License-Identifier: Apache-2.0
"""Assignments to a slice, which exporters write as scatter_nd with an index for every element.

The indices of y[:, :, 2:6] = u have as many bytes as the elements times the rank times 8. Axes at the end that
are assigned as a whole need no indices. If much is left, parts of x and u are concatenated.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Array, Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.types import Dim, as_dim

# Below this many bytes of indices scatter_nd stays, because it can change x in place.
_SMALL: Final = 4096

Range = tuple[int, int]  # begin and end along an axis


def assignment(r: Rewriter, node: Node) -> Value | None:
    """What replaces a scatter_nd whose constant indices name a slice; None if they do not, or are few."""
    x, indices, updates = node.inputs
    if (
        x is None
        or indices is None
        or updates is None
        or indices.constant is None
        or node.attrs["reduction"] != "none"
    ):
        return None
    box = assigned_box(indices.constant, x.type.shape, wrap=node.attrs["wrap"])
    if box is None:
        return None
    depth = len(box)
    while depth and box[depth - 1] == (0, x.type.shape[depth - 1].as_int()):
        depth -= 1
    place: tuple[Any, ...] = (..., *[0] * (len(box) - depth), slice(0, depth))
    first = indices.constant[place]
    made: Value
    if depth == 0:
        made = r.replace_node(node, ops.identity, updates)
    elif first.nbytes > _SMALL:
        partial = [
            (axis, *extent)
            for axis, extent in enumerate(box)
            if extent != (0, x.type.shape[axis].as_int())
        ]
        pieces = _pieces(r, node, x, updates, partial)
        made = r.replace_node(node, ops.concat, *pieces, axis=partial[0][0])
    elif depth < len(box):
        fewer = r.const(first, indices.name)
        made = r.replace_node(node, node.op, x, fewer, updates, **node.attrs)
    else:
        return None
    return made


def assigned_box(
    indices: Array, shape: tuple[Dim, ...], *, wrap: bool = True
) -> list[Range] | None:
    """The range along each indexed axis, if the indices name a slice, element by element in its order.

    wrap: negative indices count from the end; otherwise, and beyond the end, the run must refuse them.
    """
    depth = indices.shape[-1]
    if indices.ndim - 1 != depth or not indices.size:
        return None
    box = []
    for axis, dim in enumerate(shape[:depth]):
        column, count = indices[..., axis], indices.shape[axis]
        begin = int(column.flat[0])
        wanted = np.arange(begin, begin + count).reshape(-1, *[1] * (depth - axis - 1))
        if not dim.is_static or not np.array_equal(column, np.broadcast_to(wanted, column.shape)):
            return None
        size = dim.as_int()
        begin += size if begin < 0 and wrap else 0
        if begin < 0 or begin + count > size:
            return None
        box.append((begin, begin + count))
    return box


def _pieces(
    r: Rewriter, node: Node, x: Value, updates: Value, partial: list[tuple[int, int, int]]
) -> list[Value]:
    """The pieces, along the first axis of `partial`, of x with `updates` in a slice. partial: (axis, begin, end)
    of the axes that are not assigned as a whole.
    """
    (axis, begin, end), *rest = partial
    size = x.type.shape[axis].as_int()
    if rest:
        inside = _sliced(r, node, x, axis, begin, end)
        pieces = _pieces(r, node, inside, updates, rest)
        updates = r.op(ops.concat, *pieces, axis=rest[0][0], before=node)
    head = [_sliced(r, node, x, axis, 0, begin)] if begin else []
    tail = [_sliced(r, node, x, axis, end, size)] if end < size else []
    return [*head, updates, *tail]


def _sliced(r: Rewriter, node: Node, x: Value, axis: int, begin: int, end: int) -> Value:
    rank = x.type.rank
    first, last = [as_dim(0)] * rank, list(x.type.shape)
    first[axis], last[axis] = as_dim(begin), as_dim(end)
    made: Value = r.op(ops.slice_, x, before=node, begin=first, end=last, step=[as_dim(1)] * rank)
    return made
