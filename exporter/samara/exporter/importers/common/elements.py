# SPDX-License-Identifier: Apache-2.0
"""Elements of small run-time tensors as dims, found behind nodes that only move them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Node, Value
from samara.exporter.types import Dim, DType, as_dim

# Per builder: the number of nodes seen, and for each value its node and output index.
_MAKERS: WeakKeyDictionary[Builder, tuple[int, dict[Value, tuple[Node, int]]]] = WeakKeyDictionary()


def element(builder: Builder, value: Value, k: int) -> Dim:
    """Element k of an integer tensor of rank 0 or 1, as a dim.

    The second element of `Concat(n, [2, 3])` is 2, whatever n is: if the tensor was put together from
    parts, the element is taken from the part. Else it is read at run time.
    """
    found = _known(builder, value, k)
    return builder.read(value, k) if found is None else found


def _known(builder: Builder, value: Value, k: int) -> Dim | None:
    """The element in terms of other tensors, or None."""
    if value.type.dtype not in (DType.I32, DType.I64):
        return None
    if value.constant is not None:
        return as_dim(int(value.constant.reshape(-1)[k]))
    maker = _maker(builder, value)
    if maker is None:
        return _captured(builder, value, k)
    node, output = maker
    inner = _part(node, output, k)
    if isinstance(inner, Dim) or inner is None:
        return inner
    return element(builder, *inner)


def _captured(builder: Builder, value: Value, k: int) -> Dim | None:
    """A constant element of a captured tensor. Other elements are read where they are used."""
    if builder.parent is None:
        return None
    outer = next((o for o, inner in builder.captures.items() if inner is value), None)
    found = None if outer is None else _known(builder.parent, builder.parent.resolve(outer), k)
    return found if found is not None and found.is_static else None


def _maker(builder: Builder, value: Value) -> tuple[Node, int] | None:
    count, made = _MAKERS.get(builder, (0, {}))
    for node in builder.nodes[count:]:
        for i, out in enumerate(node.outputs):
            made[out] = (node, i)
    _MAKERS[builder] = (len(builder.nodes), made)
    return made.get(value)


def _part(node: Node, output: int, k: int) -> Dim | tuple[Value, int] | None:
    """The element as a dim, or its source: (tensor, element)."""
    x = node.inputs[0] if node.inputs else None
    attrs = node.attrs
    match node.op.name:
        case "dims":
            found: Dim = attrs["values"][k]
            return found
        case "concat":
            return _of_parts([v for v in node.inputs if v is not None], k)
    if x is None:
        return None
    match node.op.name:
        case "reshape":
            return x, k
        case "cast" if attrs["to"] is DType.I64 and x.type.dtype is DType.I32:
            return x, k
        case "split" if x.type.rank == 1 and all(s.is_static for s in attrs["sizes"]):
            return x, sum(s.as_int() for s in attrs["sizes"][:output]) + k
        case "slice" if x.type.rank == 1:
            begin, step = attrs["begin"][0], attrs["step"][0]
            if begin.is_static and step.is_static:
                return x, begin.as_int() + k * step.as_int()
    return None


def _of_parts(parts: list[Value], k: int) -> tuple[Value, int] | None:
    for v in parts:
        if v.type.rank != 1 or not v.type.is_static:
            return None
        length = v.type.numel().as_int()
        if k < length:
            return v, k
        k -= length
    return None
