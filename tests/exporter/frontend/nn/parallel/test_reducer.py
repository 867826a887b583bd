# SPDX-License-Identifier: Apache-2.0
"""The reducer: buckets leave in order, while backward still runs, and follow the order of use."""

from __future__ import annotations

import time
from typing import Any

import pytest

import samara
from samara import nn
from samara.exporter.frontend.distributed import DistTimeoutError, get_rank, run_threads
from samara.exporter.frontend.distributed.group import world
from samara.exporter.frontend.nn.parallel._reducer import Reducer


class _Backwards(nn.Module):
    """Uses its layers in the reverse of their order."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(3))

    def forward(self, x: Any) -> Any:
        for layer in reversed(self.layers):
            x = layer(x)
        return x


def test_buckets_leave_during_backward_in_the_order_of_use() -> None:
    def train() -> Any:
        net = _Backwards()
        reducer = Reducer(list(net.named_parameters()), world(), (1, 1))
        orders, left = [], []
        net.layers[0].weight.register_post_accumulate_grad_hook(
            lambda _: left.append(len(reducer._works))
        )
        for _ in range(2):
            net(samara.ones(1, 4)).sum().backward()
            orders.append(reducer.layout.order)
        return orders, left

    # Layer 0 is used last, so its gradient is there first.
    assert run_threads(train, 2) == [([[0, 1, 2], [0, 1, 2]], [0, 1])] * 2


def test_a_rank_that_skips_backward_is_named_with_the_parameters() -> None:
    def train() -> None:
        net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        y = net(samara.ones(1, 2)).sum()
        if get_rank() == 0:
            y.backward()
        else:
            samara.distributed.monitored_barrier(timeout=5)

    with pytest.raises(samara.distributed.MismatchError) as caught:
        run_threads(train, 2)
    assert "reduction of the gradients of bias to weight" in str(caught.value)
    assert "rank 1: barrier()" in str(caught.value)

    def hang() -> None:
        net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        y = net(samara.ones(1, 2)).sum()
        if get_rank() == 0:
            y.backward()
        else:
            time.sleep(0.9)

    with pytest.raises(DistTimeoutError, match=r"rank 1 has not joined it: it is at .*in hang"):
        run_threads(hang, 2, timeout=0.2)
