# SPDX-License-Identifier: Apache-2.0
"""Computing one node with its C kernel instead of the numpy reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ir.program import Array, Node, Value
from samara.exporter.types import Dim, SamaraError
from samara.pybridge import op as bridge


def kernel_node(
    node: Node,
    arrays: Sequence[Array | None],
    attrs: Mapping[str, Any],
    dim: Callable[[Dim], int],
) -> tuple[Array, ...] | None:
    """The outputs of a node from the kernel that the tests hold equal to its reference; None if the node has
    no such kernel.

    attrs are concrete, `dim` gives the current value of a dim. Algorithms that transform the numbers, such
    as Winograd's, are not used. The kernel may refuse data that the reference takes; so None also means
    that the reference must be asked for the error.
    """
    if node.op.function_attrs or any(
        v is not None and v.type.dtype.is_packed for v in (*node.inputs, *node.outputs)
    ):
        return None
    try:
        outputs = [
            np.empty([dim(d) for d in v.type.shape], v.type.dtype.numpy) for v in node.outputs
        ]
        given = {a.name: _plain(a.type, attrs[a.name]) for a in node.op.attrs}
        prepared = bridge.prepare(
            node.op.code,
            given,
            [
                None if v is None else _operand(v, a)
                for v, a in zip(node.inputs, arrays, strict=True)
            ],
            [_operand(v, a) for v, a in zip(node.outputs, outputs, strict=True)],
            strict=True,
        )
        prepared(arrays, outputs)
    except (SamaraError, KeyError):
        return None
    return tuple(outputs)


def _operand(v: Value, array: Array | None) -> Any:
    assert array is not None
    kind = array.dtype if v.type.quant is None else "qint8"
    return kind, array.shape, array.strides, v.type.quant


def _plain(kind: str, value: Any) -> Any:
    return value.code if kind == "dtype" else value
