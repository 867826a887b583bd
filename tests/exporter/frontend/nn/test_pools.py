# SPDX-License-Identifier: Apache-2.0
"""Pooling and padding layers: float32, PyTorch."""

from __future__ import annotations

import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import UnsupportedError

CASES: parity.Cases = {
    "max_pool1d": (lambda m: m.nn.MaxPool1d(2), (2, 3, 6)),
    "max_pool2d": (lambda m: m.nn.MaxPool2d(3, 2, 1, ceil_mode=True), (1, 2, 6, 6)),
    "max_pool3d": (lambda m: m.nn.MaxPool3d(2), (1, 2, 2, 4, 2)),
    "avg_pool1d": (lambda m: m.nn.AvgPool1d(3, 1, 1), (2, 3, 6)),
    "avg_pool2d": (lambda m: m.nn.AvgPool2d(3, 2, 1, count_include_pad=False), (1, 2, 6, 6)),
    "avg_pool3d": (lambda m: m.nn.AvgPool3d(2), (1, 2, 2, 4, 2)),
    "adaptive_avg1d": (lambda m: m.nn.AdaptiveAvgPool1d(2), (1, 2, 5)),
    "adaptive_avg2d": (lambda m: m.nn.AdaptiveAvgPool2d((2, None)), (1, 2, 5, 3)),
    "adaptive_avg3d": (lambda m: m.nn.AdaptiveAvgPool3d(1), (1, 2, 5, 3, 2)),
    "adaptive_max1d": (lambda m: m.nn.AdaptiveMaxPool1d(2), (1, 2, 5)),
    "adaptive_max2d": (lambda m: m.nn.AdaptiveMaxPool2d(2), (1, 2, 5, 4)),
    "adaptive_max3d": (lambda m: m.nn.AdaptiveMaxPool3d(2), (1, 2, 4, 3, 2)),
    "zero_pad1d": (lambda m: m.nn.ZeroPad1d(2), (1, 2, 3)),
    "zero_pad2d": (lambda m: m.nn.ZeroPad2d((1, 0, 2, 1)), (1, 2, 3, 3)),
    "zero_pad3d": (lambda m: m.nn.ZeroPad3d(1), (1, 2, 2, 2, 2)),
    "constant_pad1d": (lambda m: m.nn.ConstantPad1d(1, 2.5), (1, 2, 3)),
    "constant_pad2d": (lambda m: m.nn.ConstantPad2d(1, 2.5), (1, 2, 3, 3)),
    "constant_pad3d": (lambda m: m.nn.ConstantPad3d(1, 2.5), (1, 2, 2, 2, 2)),
    "reflection_pad1d": (lambda m: m.nn.ReflectionPad1d(2), (1, 2, 3)),
    "reflection_pad2d": (lambda m: m.nn.ReflectionPad2d((1, 2, 0, 1)), (1, 2, 3, 3)),
    "reflection_pad3d": (lambda m: m.nn.ReflectionPad3d(1), (1, 2, 2, 2, 2)),
    "replication_pad1d": (lambda m: m.nn.ReplicationPad1d(2), (1, 2, 3)),
    "replication_pad2d": (lambda m: m.nn.ReplicationPad2d((1, 2, 0, 1)), (1, 2, 3, 3)),
    "replication_pad3d": (lambda m: m.nn.ReplicationPad3d(1), (1, 2, 2, 2, 2)),
    "circular_pad1d": (lambda m: m.nn.CircularPad1d(2), (1, 2, 3)),
    "circular_pad2d": (lambda m: m.nn.CircularPad2d((1, 2, 0, 1)), (1, 2, 3, 3)),
    "circular_pad3d": (lambda m: m.nn.CircularPad3d(1), (1, 2, 2, 2, 2)),
}


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


@pytest.mark.parametrize("name", ["MaxPool2d", "AdaptiveMaxPool2d"])
def test_indices_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="return_indices"):
        getattr(samara.nn, name)(2, return_indices=True)
