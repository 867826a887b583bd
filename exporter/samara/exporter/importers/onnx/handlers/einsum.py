# SPDX-License-Identifier: Apache-2.0
"""Einsum, as matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.einsum import einsum
from samara.exporter.ir.program import Value
from samara.exporter.types import as_dim


class _NodeOps:
    """The operations of a sum of products, as nodes of the IR."""

    def __init__(self, n: NodeContext) -> None:
        self._n = n

    def shape(self, t: Value) -> Sequence[Any]:
        return t.type.shape

    def sum(self, t: Value, axes: Sequence[int]) -> Any:
        return self._n.emit("reduce_sum", t, axes=list(axes))

    def permute(self, t: Value, axes: Sequence[int]) -> Any:
        return self._n.emit("transpose", t, perm=tuple(axes))

    def diagonal(self, t: Value, first: int, second: int) -> Any:
        """Both axes moved to the front and merged; every (size + 1)-th element is on the diagonal."""
        shape = t.type.shape
        rest = [i for i in range(t.type.rank) if i not in (first, second)]
        size = shape[first]
        flat = self.reshape(
            self.permute(t, [first, second, *rest]),
            [shape[first] * shape[second], *(shape[i] for i in rest)],
        )
        rows = self._n.emit("iota", length=size, step=size + 1)
        picked = self._n.emit("gather", flat, rows, axis=0)
        return self.permute(picked, [*range(1, len(rest) + 1), 0])

    def reshape(self, t: Value, shape: Sequence[Any]) -> Any:
        wanted = tuple(as_dim(d) for d in shape)
        return t if t.type.shape == wanted else self._n.emit("reshape", t, shape=wanted)

    def expand(self, t: Value, shape: Sequence[Any]) -> Any:
        return self._n.emit("expand", t, shape=tuple(shape))

    def matmul(self, a: Value, b: Value) -> Any:
        return self._n.emit("matmul", a, b)

    def mul(self, a: Value, b: Value) -> Any:
        return self._n.emit("mul", a, b)


@onnx_op("Einsum")
def einsum_(n: NodeContext) -> Any:
    return einsum(_NodeOps(n), n.attr("equation", ""), n.values())
