# SPDX-License-Identifier: Apache-2.0
"""The cost of nodes by the table's rules, for the sizes of one run."""

from __future__ import annotations

from collections.abc import Mapping

from samara.exporter.ir import Array, Function, Node
from samara.exporter.types import Dim, Sym


def flops_of(node: Node, sizes: Mapping[str, int] | None = None) -> int | None:
    """Floating-point operations of one execution by the table's cost rule; None if dims are unknown."""
    return _evaluated(_cost(node)[0], sizes)


def bytes_of(node: Node, sizes: Mapping[str, int] | None = None) -> int | None:
    """Bytes that one execution reads and writes at least; None if dims are unknown."""
    return _evaluated(_cost(node)[1], sizes)


def _cost(node: Node) -> tuple[Dim, Dim]:
    assert node.op.cost is not None
    inputs = [None if v is None else v.type for v in node.inputs]
    return node.op.cost(node.attrs, inputs, [v.type for v in node.outputs])


def _evaluated(dim: Dim, sizes: Mapping[str, int] | None) -> int | None:
    try:
        return dim.evaluate(dict(sizes or {}))
    except (KeyError, TypeError, OverflowError, ZeroDivisionError):
        return None


def symbol_sizes(f: Function, arrays: Mapping[str, Array]) -> dict[str, int]:
    """Values of a function's symbols, from these inputs."""
    sizes: dict[str, int] = {}
    for v in f.inputs:
        shape = arrays[v.name].shape if v.name in arrays else ()
        for d, n in zip(v.type.shape, shape, strict=False):
            atom = d.sole_atom()
            if isinstance(atom, Sym):
                sizes.setdefault(atom.name, n)
    return sizes
