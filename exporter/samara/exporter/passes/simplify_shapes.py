# SPDX-License-Identifier: Apache-2.0
"""Shape simplification: tensors of dims, and dims read from tensors, become expressions or constants."""

from __future__ import annotations

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Node
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, per_function
from samara.exporter.types import Born, Dim, Read, as_dim


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        if node.op is ops.dims:
            _known_dims(r, node)
        elif node.op is ops.iota:
            _known_iota(r, node)


def _known_dims(r: Rewriter, node: Node) -> None:
    """Reads of a dims tensor become its expressions; a static dims tensor becomes a constant."""
    values: tuple[Dim, ...] = node.attrs["values"]
    result = node.outputs[0]
    if r.is_read(result):
        for k, d in enumerate(values):
            if not any(isinstance(a, (Read, Born)) and a.key == result.name for a in d.all_atoms()):
                r.substitute(Read(result.name, k), d)
    if all(d.is_static for d in values):
        data = np.array([d.as_int() for d in values], result.type.dtype.numpy).reshape(
            result.type.static_shape()
        )
        r.replace_value(result, r.const(data, result.name, result.type.dtype))
        r.remove(node)


def _known_iota(r: Rewriter, node: Node) -> None:
    """A short static range becomes a constant."""
    length, start, step = (as_dim(node.attrs[k]) for k in ("length", "start", "step"))
    result = node.outputs[0]
    if not (length.is_static and start.is_static and step.is_static) or length.as_int() > 4096:
        return
    data = start.as_int() + step.as_int() * np.arange(length.as_int(), dtype=np.int64)
    r.replace_value(
        result, r.const(data.astype(result.type.dtype.numpy), result.name, result.type.dtype)
    )
    r.remove(node)


PASS = Pass(
    "simplify_shapes",
    "turn tensors of dims into expressions",
    per_function(_rewrite, ops.dims, ops.iota),
)
