# SPDX-License-Identifier: Apache-2.0
"""CausalConvWithState: a depthwise convolution over past inputs, the last of which are its state."""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.layout import channels_last
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value


@onnx_op("CausalConvWithState")
def causal_conv_with_state(n: NodeContext) -> Any:
    """x [B, C, L] behind the state [B, C, k - 1], w [C, 1, k]: y [B, C, L], and the last k - 1 inputs."""
    x, w = n.value(0), n.value(1)
    batch, channels, length = n.shape(0, 3)
    count, _, taps = n.shape(1, 3)
    if not (count.is_static and taps.is_static):
        raise n.unsupported(
            f"weights of a symbolic size ({w.type})", "give the weights a static shape"
        )
    before = taps.as_int() - 1
    behind = n.value(3) if n.has(3) else None
    long = x
    wants_state = len(n.node.output) > 1 and bool(n.node.output[1])
    if behind is None and before and wants_state:
        zero = n.const(np.zeros((), x.type.dtype.numpy))
        behind = n.emit("expand", zero, shape=(batch, channels, before))
    if behind is not None and before:
        long = n.emit("concat", behind, x, axis=2)
    y = n.emit(
        "conv",
        channels_last(n, long),
        n.emit("transpose", w, perm=(0, 2, 1)),
        n.optional(2),
        strides=[1],
        dilations=[1],
        pads=[before if long is x else 0, 0],
        groups=count.as_int(),
    )
    y = _activated(n, n.emit("transpose", y, perm=(0, 2, 1)))
    if not wants_state:
        return y
    end = [batch, channels, length + before]
    state = n.emit("slice", long, begin=[0, 0, length], end=end, step=[1, 1, 1])
    return [y, state]


def _activated(n: NodeContext, y: Value) -> Value:
    kind = n.attr("activation", "none")
    if kind in ("silu", "swish"):
        y = n.emit("silu", y)
    elif kind != "none":
        raise n.unsupported(f"activation {kind!r}", "use none, silu or swish")
    return y
