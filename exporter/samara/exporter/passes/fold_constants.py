# SPDX-License-Identifier: Apache-2.0
"""Constant folding: nodes over constants become constants.

Dequantized constants are left for fuse_quantized, which may use them in int8.
"""

from __future__ import annotations

from samara.exporter import ops
from samara.exporter.ir.fold import fold_node
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, per_function


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        arrays = None if node.op is ops.dequantize else fold_node(node)
        if arrays is None:
            continue
        for value, array in zip(node.outputs, arrays, strict=True):
            r.replace_value(value, r.const(array, value.name, value.type.dtype, value.type.quant))
        r.remove(node)


PASS = Pass("fold_constants", "compute what depends on constants only", per_function(_rewrite))
