# SPDX-License-Identifier: Apache-2.0
"""Matrix products."""

from __future__ import annotations

from typing import Any

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.differences import FLOAT_SUMS, SHORT_MULTIPLIER, TWICE
from samara.exporter.importers.tflite.handlers.windows import is_hybrid, weights_of
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.types import Dim, as_dim, floordiv


@tflite_op("FULLY_CONNECTED", newest=14, differences=(FLOAT_SUMS,))
def fully_connected(ctx: OperatorContext) -> Any:
    """x [..., K] by weights [N, K]; all axes but the last are joined unless keep_num_dims."""
    if ctx.option("weights_format", "DEFAULT") != "DEFAULT":
        raise ctx.unsupported(
            f"weights in the form {ctx.option('weights_format')}", "convert the model again"
        )
    if ctx.rank(1) != 2:
        raise ctx.wrong(f"weights are {ctx.type(1)}, expected rank 2")
    units, depth = need_static(ctx, ctx.shape(1), "the shape of the weights")
    x, w = ctx.value(0), weights_of(ctx, 1)
    bias = ctx.value(2) if ctx.has(2) else None
    shape = x.type.shape
    keep = bool(ctx.option("keep_num_dims", False)) and x.type.rank > 1
    matches = x.type.rank > 0 and shape[-1] == as_dim(depth)
    if keep and not matches:
        raise ctx.wrong(f"x {ctx.type(0)} does not fit weights {ctx.type(1)}")
    if not keep and not (matches and x.type.rank == 2):
        x = ctx.emit("reshape", x, shape=(_rows(ctx, x.type.numel(), depth), as_dim(depth)))
    if bias is not None and bias.type.rank != 1:
        bias = ctx.emit("reshape", bias, shape=(units,))
    op = "matmul_dynamic" if is_hybrid(ctx) else "matmul"
    return ctx.activated(op, x, w, bias, transpose_w=True)


def _rows(ctx: OperatorContext, count: Dim, depth: int) -> Dim:
    if depth == 0:
        raise ctx.wrong("weights without inputs")
    if count.is_static and count.as_int() % depth:
        raise ctx.wrong(f"x {ctx.type(0)} does not fit weights {ctx.type(1)}")
    return floordiv(count, depth)


@tflite_op("BATCH_MATMUL", newest=4, differences=(TWICE.of("int8"), SHORT_MULTIPLIER))
def batch_matmul(ctx: OperatorContext) -> Any:
    """x [..., M, K] by y [..., K, N]; either may be given with its last two axes swapped."""
    x, y = ctx.value(0), ctx.value(1)
    if min(x.type.rank, y.type.rank) < 2:
        raise ctx.wrong(f"needs matrices, got {x.type} and {y.type}")
    return ctx.final(
        "matmul",
        x,
        y,
        transpose_x=bool(ctx.option("adj_x", False)),
        transpose_w=bool(ctx.option("adj_y", False)),
    )
