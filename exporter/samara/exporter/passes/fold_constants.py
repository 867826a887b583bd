# SPDX-License-Identifier: Apache-2.0
"""Constant folding: nodes over constants become constants."""

from __future__ import annotations

from samara.exporter.ir.fold import fold_node
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, per_function


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        arrays = fold_node(node)
        if arrays is None or any(v.type.quant is not None for v in node.outputs):
            continue
        for value, array in zip(node.outputs, arrays, strict=True):
            r.replace_value(value, r.const(array, value.name, value.type.dtype))
        r.remove(node)


PASS = Pass("fold_constants", "compute what depends on constants only", per_function(_rewrite))
