# SPDX-License-Identifier: Apache-2.0
"""Where the channels of a product lie in its weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from samara.exporter import ops
from samara.exporter.ir import Array, Node

Floats = npt.NDArray[np.float64]


def channel_axis(node: Node) -> int:
    """The axis of the weights that output channels run along."""
    w = node.inputs[1]
    assert w is not None
    if node.op is ops.matmul:
        return w.type.rank - (2 if node.attrs["transpose_w"] else 1)
    return 0


def channels_of(node: Node) -> int | None:
    """The number of output channels of a product with constant weights and room for a bias [N]; else None."""
    w = node.inputs[1] if len(node.inputs) > 1 else None
    if w is None or w.constant is None or (node.op is ops.matmul and w.type.rank != 2):
        return None
    return int(w.constant.shape[channel_axis(node)])


def by_input(node: Node, weights: Array) -> Floats:
    """Weights summed over the filter's taps, as [output channel, input channel of all groups]: the factor of
    an image that is constant in each channel.
    """
    wide = weights.astype(np.float64)
    if node.op is ops.matmul:
        return wide if node.attrs["transpose_w"] else wide.T
    summed = wide.sum(axis=tuple(range(1, wide.ndim - 1)))
    groups = int(node.attrs["groups"])
    if groups == 1:
        return np.asarray(summed)
    outputs, inner = summed.shape
    full = np.zeros((outputs, inner * groups))
    each = outputs // groups
    for g in range(groups):
        full[g * each : (g + 1) * each, g * inner : (g + 1) * inner] = summed[
            g * each : (g + 1) * each
        ]
    return full
