# SPDX-License-Identifier: Apache-2.0
"""SyncBatchNorm: the statistics of all ranks, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.frontend.distributed import get_rank, get_world_size, run_threads

X = np.random.default_rng(0).standard_normal((12, 3, 4, 5)).astype(np.float32) * 3 + 1


def _make() -> Any:
    samara.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Tanh())


def _run(net: Any, x: Any) -> list[Any]:
    x = samara.tensor(x).requires_grad_()
    net(x).square().sum().backward()
    grads = [p.grad.numpy().copy() for p in net.parameters()]
    return [x.grad.numpy(), *grads, *(b.numpy().copy() for b in net.buffers())]


@pytest.mark.parametrize("cuts", [[6], [1, 5], [0, 7]])
def test_it_equals_a_batch_norm_of_the_whole_batch(cuts: list[int]) -> None:
    def train() -> Any:
        net: Any = nn.SyncBatchNorm.convert_sync_batchnorm(_make())
        assert isinstance(net[1], nn.SyncBatchNorm)
        return _run(net, np.split(X, cuts)[get_rank()])

    results = run_threads(train, len(cuts) + 1)
    expected = _run(_make(), X)
    np.testing.assert_allclose(np.concatenate([r[0] for r in results]), expected[0], 1e-3, 1e-5)
    for i in range(1, 5):
        np.testing.assert_allclose(sum(r[i] for r in results), expected[i], 1e-3, 1e-3)
    for result in results:
        for found, buffer in zip(result[5:], expected[5:], strict=True):
            np.testing.assert_allclose(found, buffer, 1e-5, 1e-6)


def test_alone_and_in_evaluation_it_is_a_batch_norm() -> None:
    def alone() -> Any:
        if get_world_size() == 2:
            net = nn.SyncBatchNorm.convert_sync_batchnorm(_make()).eval()
            return net(samara.tensor(X)).detach().numpy()
        return _run(nn.SyncBatchNorm.convert_sync_batchnorm(_make()), X)

    for found, expected in zip(run_threads(alone, 1)[0], _run(_make(), X), strict=True):
        np.testing.assert_array_equal(found, expected)
    expected = _make().eval()(samara.tensor(X)).detach().numpy()
    np.testing.assert_array_equal(run_threads(alone, 2)[1], expected)
    layer = nn.SyncBatchNorm(3)
    assert layer(samara.tensor(X)).shape == X.shape  # without a process group


def test_too_few_values() -> None:
    with pytest.raises(samara.ShapeError, match="1 values per channel over all ranks"):
        run_threads(lambda: nn.SyncBatchNorm(2)(samara.ones(1 - get_rank(), 2)), 2)
    with pytest.raises(samara.ShapeError, match="at least 2 dimensions"):
        run_threads(lambda: nn.SyncBatchNorm(2)(samara.ones(2)), 2)
