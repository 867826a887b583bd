# SPDX-License-Identifier: Apache-2.0
"""Join: ranks with different numbers of steps, from none on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.frontend.distributed import DistError, get_rank, run_threads

X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)


@pytest.mark.parametrize("steps", [(3, 0, 5), (2, 2, 2), (0, 0, 1)])
@pytest.mark.parametrize("by_all", [True, False])
def test_uneven_steps(steps: tuple[int, ...], by_all: bool) -> None:
    def train() -> Any:
        samara.manual_seed(0)
        net = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
        opt = samara.optim.SGD(net.parameters(), lr=0.1)
        with net.join(divide_by_initial_world_size=by_all):
            for _ in range(steps[get_rank()]):
                opt.zero_grad()
                net(samara.tensor(X * (get_rank() + 1))).mean().backward()
                opt.step()
        return [p.detach().numpy().copy() for p in net.parameters()]

    # The loss is linear, so each step moves the parameters by the mean gradient of the active ranks.
    samara.manual_seed(0)
    expected = nn.Linear(4, 1).weight.detach().numpy().copy()
    for k in range(max(steps)):
        active = [r + 1 for r in range(3) if k < steps[r]]
        expected -= 0.1 * sum(active) / (3 if by_all else len(active)) * X.mean(0)
    for weight, _ in run_threads(train, 3):
        np.testing.assert_allclose(weight, expected, 1e-5, 1e-6)


def test_buffers_two_modules_and_errors() -> None:
    def two() -> Any:
        nets = [nn.parallel.DistributedDataParallel(nn.BatchNorm1d(4)) for _ in range(2)]
        with nn.parallel.Join(nets):
            for _ in range(1 + get_rank()):
                for net in nets:
                    net(samara.tensor(X)).sum().backward()
        return [n.module.num_batches_tracked.item() for n in nets]

    assert run_threads(two, 2) == [[2, 2], [2, 2]]

    def early() -> None:
        net = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
        with net.join(throw_on_early_termination=True):
            for _ in range(1 + get_rank()):
                net(samara.tensor(X)).sum().backward()

    with pytest.raises(DistError, match="the inputs of rank 0 have run out"):
        run_threads(early, 2)

    def off() -> None:
        net = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
        with net.join(enable=False):
            net(samara.tensor(X)).sum().backward()

    run_threads(off, 2)
