# SPDX-License-Identifier: Apache-2.0
"""A transposed convolution to few channels computes the columns of a window as channels.

If windows do not overlap along a row, the output row [W * kw, O] is the row [W, kw * O] of a transposed
convolution without that tap axis. A product of fewer than 16 columns leaves lanes of a vector empty, and a product
per phase of a row has few rows.
"""

from __future__ import annotations

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.panels import PANEL_CHANNELS
from samara.exporter.ir.program import Array, Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, is_fusable, per_function
from samara.exporter.types import as_dim


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        if node.op is not ops.conv_transpose or not _fits(node):
            continue
        x, weights, bias, residual = (*node.inputs, None, None)[:4]
        assert x is not None
        assert weights is not None
        assert weights.constant is not None
        count = node.attrs["strides"][-1]
        # [O, k…, kw, C] to [kw * O, k…, 1, C]
        joined = np.moveaxis(weights.constant, -2, 0)
        joined = joined.reshape(-1, *joined.shape[2:-1], 1, joined.shape[-1])
        y = node.outputs[0].type.shape
        wide = (*y[:-2], x.type.shape[-2], y[-1] * count)
        given: list[Value | None] = [x, r.const(joined, weights.name, weights.type.dtype)]
        if bias is not None:
            assert bias.constant is not None
            given.append(r.const(np.tile(bias.constant, count), bias.name, bias.type.dtype))
        elif residual is not None:
            given.append(None)
        if residual is not None:
            given.append(r.op(ops.reshape, residual, before=node, shape=wide))
        attrs = {**node.attrs, "strides": (*node.attrs["strides"][:-1], 1)}
        made = r.op(ops.conv_transpose, *given, before=node, name=node.outputs[0].name, **attrs)
        r.replace_node(node, ops.reshape, made, shape=y)


def _fits(node: Node) -> bool:
    """Whether the windows of a row lie side by side, and a window's columns need few channels."""
    x, weights = node.inputs[0], node.inputs[1]
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    kernel: Array | None = None if weights is None else weights.constant
    if x is None or kernel is None or (bias is not None and bias.constant is None):
        return False
    assert weights is not None
    attrs, spatial = node.attrs, kernel.ndim - 2
    edges = (attrs["pads"][spatial - 1], attrs["pads"][-1])
    return (
        is_fusable(weights)
        and attrs["groups"] == 1
        and kernel.shape[0] < PANEL_CHANNELS
        and 1 < kernel.shape[-2] == attrs["strides"][-1]
        and all(pad == as_dim(0) for pad in edges)
        and attrs["output_padding"][-1] == 0
    )


PASS = Pass(
    "join_columns",
    "let a transposed convolution to few channels compute a window's columns as channels",
    per_function(_rewrite, ops.conv_transpose),
)
