# SPDX-License-Identifier: Apache-2.0
"""Folding one node: its outputs as arrays, if its inputs and dims are known."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from samara.exporter.ir.evaluate import concrete_attrs, evaluate_node
from samara.exporter.ir.infer import attr_dims
from samara.exporter.ir.program import Array, Node
from samara.exporter.types import DType, SamaraError

MAX_FOLDED_BYTES: Final = 64 << 20

# Larger 4-bit weights are not folded: a wider dtype would dominate the file's size.
_UNPACKED_BYTES: Final = 64 << 10
_PACKED: Final = (DType.I4, DType.U4)


def can_fold(node: Node, limit: int = MAX_FOLDED_BYTES) -> bool:
    """Whether the node's inputs and dims are known and its outputs with known sizes are small."""
    if "control" in node.op.flags or not node.outputs:
        return False
    if any(v is not None and v.constant is None for v in node.inputs):
        return False
    if not all(d.is_static for d in attr_dims(node.op, node.attrs)):
        return False
    size = 0
    for v in node.outputs:
        if v.type.is_static:
            size += v.type.dtype.bytes_of(math.prod(v.type.static_shape()))
    widens = any(v.type.dtype not in _PACKED for v in node.outputs)
    if widens and any(v is not None and v.type.dtype in _PACKED for v in node.inputs):
        limit = min(limit, _UNPACKED_BYTES)
    return size <= limit


def fold_node(node: Node, limit: int = MAX_FOLDED_BYTES) -> tuple[Array, ...] | None:
    """The outputs of a node of constants; None if it cannot or should not be folded.

    Also None if the reference refuses the data: the node may never run, so a run raises the error.
    """
    if not can_fold(node, limit):
        return None
    arrays = [None if v is None else v.constant for v in node.inputs]
    try:
        results = evaluate_node(
            node, arrays, concrete_attrs(node.op, node.attrs, lambda d: d.as_int())
        )
    except SamaraError:
        return None
    if sum(a.nbytes for a in results) > limit:
        return None
    fits = all(
        a.dtype == v.type.dtype.numpy and a.ndim == v.type.rank
        for a, v in zip(results, node.outputs, strict=True)
    )
    return tuple(np.ascontiguousarray(a).reshape(a.shape) for a in results) if fits else None
