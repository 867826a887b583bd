# SPDX-License-Identifier: Apache-2.0
"""Padding of convolutions and pools."""

from __future__ import annotations

from samara.exporter.types import Dim, ceildiv, dmax


def same_padding(size: Dim, kernel: int, stride: int, dilation: int) -> Dim:
    """The padding of both ends together with which there is an output per stride, ceil(size / stride) of them."""
    return dmax((ceildiv(size, stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
