# SPDX-License-Identifier: Apache-2.0
"""Common subexpressions: equal nodes over equal inputs are computed once."""

from __future__ import annotations

from collections.abc import Hashable

from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, per_function

# Constants up to this size are compared by content.
_COMPARED_BYTES = 4096


def _rewrite(r: Rewriter) -> None:
    seen: dict[Hashable, Node] = {}
    for node in r.nodes():
        if "control" in node.op.flags or node.op.measured:
            continue
        key = (
            node.op.name,
            tuple([_operand(v) for v in node.inputs]),
            tuple([node.attrs[a.name] for a in node.op.attrs]),
            len(node.outputs),
            tuple([v.type.quant for v in node.outputs]),
        )
        first = seen.get(key)
        if first is None or (first := r.current(first)) is None:
            seen[key] = node
            continue
        if any(r.is_output(v) for v in node.outputs) and any(r.is_output(v) for v in first.outputs):
            continue  # two outputs of the function must stay two tensors
        for old, new in zip(node.outputs, first.outputs, strict=True):
            r.replace_value(old, new)
        r.remove(node)


def _operand(value: Value | None) -> Hashable:
    if value is None or value.constant is None or value.constant.nbytes > _COMPARED_BYTES:
        return None if value is None else id(value)
    t, data = value.type, value.constant
    return (t.dtype, data.shape, t.quant, data.tobytes())


PASS = Pass("deduplicate", "compute equal subexpressions once", per_function(_rewrite))
