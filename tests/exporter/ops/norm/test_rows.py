# SPDX-License-Identifier: Apache-2.0
"""Known answers of softmax and normalisations."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.types import ShapeError, TensorType


def test_softmax_does_not_overflow() -> None:
    x = np.array([[1000, 1000, -np.inf]], np.float32)
    np.testing.assert_array_equal(ops.softmax(x), [[0.5, 0.5, 0]])
    np.testing.assert_allclose(ops.log_softmax(x), [[-np.log(2), -np.log(2), -np.inf]], rtol=1e-6)
    np.testing.assert_array_equal(ops.softmax(x.T, axis=0), [[0.5], [0.5], [0]])


def test_hardmax_takes_the_first() -> None:
    x = np.array([[1, 3, 3], [2, 1, 0]], np.float32)
    assert ops.hardmax(x).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_layer_norm() -> None:
    x = np.array([[1, 3], [2, 2]], np.float32)
    got = ops.layer_norm(x, np.array([2, 2], np.float32), np.array([0, 1], np.float32), eps=0)
    np.testing.assert_array_equal(got[0], [-2, 3])
    whole = ops.layer_norm(x, axis=0, eps=0)
    np.testing.assert_allclose(whole, (x - 2) / np.sqrt(0.5), rtol=1e-6)


def test_rms_norm() -> None:
    got = ops.rms_norm(np.array([3, 4], np.float32), np.array([5, 10], np.float32), eps=0)
    np.testing.assert_allclose(got, np.array([15, 40]) / np.sqrt(12.5), rtol=1e-6)


def test_instance_norm_is_per_sample_and_channel() -> None:
    x = np.array([[[1, 10], [3, 30]]], np.float32)
    one = np.ones(2, np.float32)
    np.testing.assert_allclose(ops.instance_norm(x, one, 0 * one, eps=0), [[[-1, -1], [1, 1]]])


def test_batch_norm_is_per_channel_over_all_else() -> None:
    x = np.array([[[1, 10], [3, 30]], [[1, 10], [3, 30]]], np.float32)
    y, mean, var = ops.batch_norm(x, np.array([2, 1], np.float32), eps=0)
    assert mean.tolist() == [2, 20]
    assert var.tolist() == [1, 100]  # biased
    np.testing.assert_array_equal(y[0], [[-2, -1], [2, 1]])


def test_group_norm_between_instance_and_layer_norm() -> None:
    x = np.random.default_rng(2).standard_normal((2, 5, 6)).astype(np.float32)
    one, zero = np.ones(6, np.float32), np.zeros(6, np.float32)
    every = ops.instance_norm(x, one, zero)
    for groups in (0, 6):
        np.testing.assert_array_equal(ops.group_norm(x, groups=groups), every)
    np.testing.assert_array_equal(ops.group_norm(x, groups=1), ops.layer_norm(x, axis=1))
    halves = [ops.layer_norm(part, axis=1) for part in (x[..., :3], x[..., 3:])]
    np.testing.assert_array_equal(ops.group_norm(x, groups=2), np.concatenate(halves, axis=-1))


def test_lrn_of_even_size_has_fewer_before() -> None:
    x = np.array([[1, 2, 3, 4]], np.float32)
    got = ops.lrn(x, size=2, alpha=2.0, beta=1.0, bias=0.0)
    # The window of channel i is i and i + 1, because (size - 1) // 2 = 0 channels precede it.
    np.testing.assert_allclose(got, [[1 / 5, 2 / 13, 3 / 25, 4 / 16]], rtol=1e-6)


def test_scale_has_the_shape_of_the_normalised_axes() -> None:
    types = [TensorType.of("f32", (2, 3, 4)), TensorType.of("f32", (3,))]
    attrs = ops.layer_norm.complete({})
    with pytest.raises(ShapeError, match="axis 0 of scale"):
        ops.layer_norm.infer(InferContext(ops.layer_norm, types, attrs))
    with pytest.raises(ShapeError, match="out of range"):
        ops.softmax.infer(InferContext(ops.softmax, types[:1], {"axis": 3}))
