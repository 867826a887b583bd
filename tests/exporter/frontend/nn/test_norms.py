# SPDX-License-Identifier: Apache-2.0
"""Normalisation layers: float32, running statistics, PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import ShapeError

CASES: parity.Cases = {
    "batch_norm1d": (lambda m: m.nn.BatchNorm1d(3), (4, 3)),
    "batch_norm1d_3d": (lambda m: m.nn.BatchNorm1d(3, momentum=0.3), (4, 3, 2)),
    "batch_norm2d": (lambda m: m.nn.BatchNorm2d(3, eps=1e-3), (2, 3, 4, 2)),
    "batch_norm2d_average": (lambda m: m.nn.BatchNorm2d(3, momentum=None), (2, 3, 4, 2)),
    "batch_norm2d_plain": (lambda m: m.nn.BatchNorm2d(3, affine=False, track_running_stats=False), (2, 3, 4, 2)),
    "batch_norm2d_eval": (lambda m: m.nn.BatchNorm2d(3).eval(), (2, 3, 4, 2)),
    "batch_norm1d_no_bias": (lambda m: m.nn.BatchNorm1d(3, bias=False), (4, 3)),
    "group_norm_no_bias": (lambda m: m.nn.GroupNorm(2, 4, bias=False), (2, 4, 3)),
    "batch_norm3d": (lambda m: m.nn.BatchNorm3d(2), (2, 2, 2, 2, 2)),
    "instance_norm1d": (lambda m: m.nn.InstanceNorm1d(3), (2, 3, 4)),
    "instance_norm2d": (lambda m: m.nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 4, 2)),
    "instance_norm3d": (lambda m: m.nn.InstanceNorm3d(2), (2, 2, 2, 2, 2)),
    "layer_norm": (lambda m: m.nn.LayerNorm(4), (2, 3, 4)),
    "layer_norm_shape": (lambda m: m.nn.LayerNorm((3, 4), bias=False), (2, 3, 4)),
    "layer_norm_plain": (lambda m: m.nn.LayerNorm(4, elementwise_affine=False), (2, 3, 4)),
    "rms_norm": (lambda m: m.nn.RMSNorm(4), (2, 3, 4)),
    "group_norm": (lambda m: m.nn.GroupNorm(2, 4), (2, 4, 3)),
    "local_response": (lambda m: m.nn.LocalResponseNorm(3), (2, 5, 3, 3)),
}  # fmt: skip


test_float32, test_exported, test_as_pytorch = parity.proofs(CASES, *parity.LAYERS)


def test_statistics_move_in_training_only() -> None:
    samara.manual_seed(0)
    layer = samara.nn.BatchNorm1d(2)
    x = samara.randn(50, 2) * 3.0 + 1.0
    for _ in range(80):
        layer(x)
    a = x.numpy()
    np.testing.assert_allclose(layer.running_mean.numpy(), a.mean(0), rtol=1e-3)
    np.testing.assert_allclose(layer.running_var.numpy(), a.var(0, ddof=1), rtol=1e-3)
    assert layer.num_batches_tracked.item() == 80
    before = layer.running_mean.numpy().copy()
    layer.eval()(x * 9)
    np.testing.assert_array_equal(layer.running_mean.numpy(), before)
    layer.reset_running_stats()
    assert layer.running_var.tolist() == [1, 1]


def test_errors() -> None:
    with pytest.raises(ShapeError, match="4 dimensions"):
        samara.nn.BatchNorm2d(3)(samara.zeros(2, 3))
    with pytest.raises(ShapeError, match="features"):
        samara.nn.BatchNorm1d(3)(samara.zeros(2, 4))
    with pytest.raises(ShapeError, match="groups"):
        samara.nn.GroupNorm(2, 3)
