# SPDX-License-Identifier: Apache-2.0
"""Bias correction: what rounded weights add to a layer's results on average is taken off its bias.

Rounding errors of weights do not cancel when inputs have a mean: each output channel is shifted
by the errors times the mean input (Nagel et al., "Data-Free Quantization Through Weight
Equalization and Bias Correction", 2019, section 4.2). Calibration has seen that mean, so the shift
is known without another run. Padding is counted as if it were image.
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
    """A new bias and the name it should have, or nearly."""

    name: str
    data: Array

    def renamed(self, name: str) -> Value:
        """The constant under a name that is free."""
        return constant(name, self.data)


def shift(node: Node, back: Array, seen: TensorStats | None) -> Array | None:
    """What weights that read back as `back` add to each output channel on average; None where that
    is not known.
    """
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
    """The bias that makes up for weights that read back as `back`; None where there is nothing to
    correct.
    """
    moved = shift(node, back, seen)
    if moved is None or not np.isfinite(moved).all() or not np.any(moved):
        return None
    old = node.inputs[2] if len(node.inputs) > 2 else None
    if old is not None and old.constant is None:
        return None
    known = 0.0 if old is None or old.constant is None else old.constant.astype(np.float64)
    name = f"{node.outputs[0].name}.bias" if old is None else f"{old.name}.corrected"
    return Bias(name, (known - moved).astype(np.float32))
