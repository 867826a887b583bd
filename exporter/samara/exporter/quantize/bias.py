# SPDX-License-Identifier: Apache-2.0
"""Bias correction: subtract from a layer's bias the mean error that its rounded weights cause.

Rounding errors of weights do not cancel if inputs have a mean: each output channel is shifted by the
errors times the mean input (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
Correction", 2019, section 4.2). Calibration has observed that mean, so the shift is known without
another run. Padding is treated as if it were image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from samara.exporter import ops
from samara.exporter.ir import Array, Node, Value, constant
from samara.exporter.quantize._layers import TensorStats
from samara.exporter.quantize._shapes import by_input, channels_of


@dataclass(frozen=True, slots=True)
class Bias:
    """A new bias, and its preferred name."""

    name: str
    data: Array

    def renamed(self, name: str) -> Value:
        """The constant under a free name."""
        return constant(name, self.data)


def shift(node: Node, back: Array, seen: TensorStats | None) -> Array | None:
    """The mean error per output channel of weights that dequantize to `back`; None if it is unknown."""
    channels = channels_of(node)
    w = node.inputs[1]
    if channels is None or seen is None or w is None or w.constant is None:
        return None
    if node.op is ops.conv_transpose or node.attrs.get("transpose_x", False):
        return None
    error = by_input(node, back - w.constant.astype(np.float64))
    mean = seen.channel_mean
    if not len(mean) or error.shape[1] != len(mean):
        return None
    moved: Array = error @ mean
    return moved


def corrected(node: Node, back: Array, seen: TensorStats | None) -> Bias | None:
    """The bias that compensates weights that dequantize to `back`; None if there is nothing to correct."""
    moved = shift(node, back, seen)
    if moved is None or not np.isfinite(moved).all() or not np.any(moved):
        return None
    old = node.inputs[2] if len(node.inputs) > 2 else None
    if old is not None and old.constant is None:
        return None
    known = 0.0 if old is None or old.constant is None else old.constant.astype(np.float64)
    name = f"{node.outputs[0].name}.bias" if old is None else f"{old.name}.corrected"
    return Bias(name, (known - moved).astype(np.float32))
