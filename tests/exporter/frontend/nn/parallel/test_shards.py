# SPDX-License-Identifier: Apache-2.0
"""Micro-shards: the sum's grouping, statistics and random numbers by shard, and wrong batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.frontend.distributed import (
    DistError,
    MismatchError,
    get_rank,
    get_world_size,
    run_threads,
)

DDP = nn.parallel.DistributedDataParallel
X = np.random.default_rng(0).standard_normal((24, 4)).astype(np.float32) * 1e3


def _part(whole: Any = X) -> Any:
    size = len(whole) // get_world_size()
    return samara.tensor(whole[get_rank() * size : (get_rank() + 1) * size])


def _shard_gradients() -> list[Any]:
    """The gradient of each of 12 shards of X, by plain backward passes."""
    samara.manual_seed(1)
    net = nn.Linear(4, 3)
    grads = []
    for k in range(12):
        net.zero_grad()
        net(samara.tensor(X[2 * k : 2 * k + 2])).square().mean().backward()
        grads.append([np.array(p.grad) for p in net.parameters()])
    return grads


@pytest.mark.parametrize("ranks", [1, 2, 3, 12])
@pytest.mark.parametrize("zero", [True, False])
def test_gradients_are_added_from_left_to_right(ranks: int, zero: bool) -> None:
    expected = [np.zeros((3, 4), np.float32), np.zeros(3, np.float32)]
    for grads in _shard_gradients():
        expected = [total + g for total, g in zip(expected, grads, strict=True)]

    def train() -> Any:
        samara.manual_seed(1)
        net = DDP(nn.Linear(4, 3))
        for _ in range(3):  # the first ends without overlap, the others reduce during backward
            net.zero_grad(set_to_none=zero)
            for x in net.shards(_part()):
                net(x).square().mean().backward()
        return [np.array(p.grad) for p in net.parameters()]

    for grads in run_threads(train, ranks):
        for found, total in zip(grads, expected, strict=True):
            np.testing.assert_array_equal(found, total / np.float32(12))


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_large_gradients_travel_in_pieces(ranks: int) -> None:
    """0.6 MB and 0.3 MB in one bucket: pieces of 256 KB cut through both."""

    def train() -> Any:
        samara.manual_seed(1)
        net = DDP(nn.Sequential(nn.Linear(4, 37500), nn.Linear(37500, 2)), bucket_cap_mb=8)
        for x in net.shards(_part()):
            net(x).square().mean().backward()
        return [np.array(p.grad) for p in net.parameters()]

    alone = run_threads(train, 1)[0]
    for grads in run_threads(train, ranks):
        assert all((a == b).all() for a, b in zip(alone, grads, strict=True))


def test_gradients_from_before_are_added() -> None:
    def train() -> Any:
        net = DDP(nn.Linear(4, 1, bias=False))
        for _ in range(2):
            for x in net.shards(_part()):
                net(x).sum().backward()
        twice = net.module.weight.grad.numpy().copy()
        net.zero_grad()
        for x in net.shards(_part()):
            net(x).sum().backward()
        return twice, net.module.weight.grad.numpy()

    twice, once = run_threads(train, 2)[0]
    np.testing.assert_array_equal(twice, once + once)


def test_several_passes_per_shard_and_unused_parameters() -> None:
    def train(ranks_differ: bool) -> Any:
        samara.manual_seed(0)
        layers: Any = nn.ModuleDict({name: nn.Linear(4, 1) for name in "abc"})
        net = DDP(layers)
        for _ in range(2):
            net.zero_grad()
            for x in net.shards(_part()):
                layers["a"](x).sum().backward()
                layers["a"](x * 2).sum().backward()
                if ranks_differ and get_rank() == 0:
                    layers["b"](x).sum().backward()
        return [None if p.grad is None else p.grad.numpy().copy() for p in net.parameters()]

    for grads in run_threads(train, 2, True):
        assert [g is None for g in grads] == [False] * 4 + [True] * 2
        np.testing.assert_array_equal(grads[1], [4])  # of the bias: two samples, two passes
    for grads in run_threads(train, 2, False):
        assert [g is None for g in grads] == [False] * 2 + [True] * 4


def test_statistics_and_random_numbers_are_those_of_shards() -> None:
    """The same as one process that takes the 12 shards as 12 batches."""

    def train() -> Any:
        samara.manual_seed(4)
        norm = nn.BatchNorm1d(4, momentum=None)
        net = DDP(nn.Sequential(norm, nn.Dropout(0.5)))
        seen = [net(x).detach().numpy().copy() for x in net.shards(_part())]
        return seen, norm.running_mean.numpy().copy(), samara.rand(1).item()

    plain = nn.BatchNorm1d(4, momentum=None)
    for k in range(12):
        plain(samara.tensor(X[2 * k : 2 * k + 2]))
    once = run_threads(train, 1)[0]
    for ranks in (2, 4):
        results = run_threads(train, ranks)
        masks = np.concatenate([y for seen, _, _ in results for y in seen])
        np.testing.assert_array_equal(masks, np.concatenate(once[0]))
        for _, mean, after in results:
            np.testing.assert_array_equal(mean, plain.running_mean.numpy())
            assert after == once[2]
    drawn = [y == 0 for y in once[0]]
    assert not all((mask == drawn[0]).all() for mask in drawn)


def test_nested_batches() -> None:
    def train() -> Any:
        net = DDP(nn.Linear(4, 1), shards=2)
        return [
            (b["x"].shape, pair[1].shape, k)
            for b, pair, k in net.shards({"x": _part()}, (_part(), _part()), 7)
        ]

    assert run_threads(train, 1) == [[((12, 4), (12, 4), 7)] * 2]


def test_counts_that_do_not_fit() -> None:
    def first(shards: int) -> Any:
        return next(DDP(nn.Linear(4, 1), shards=shards).shards(_part()))

    with pytest.raises(samara.ShapeError, match="start 1, 3 ranks"):
        run_threads(first, 2, 3)
    with pytest.raises(samara.ShapeError, match="0 shards cannot"):
        run_threads(first, 2, 0)


def test_batches_that_do_not_fit() -> None:
    def with_batch(*batch: Any) -> Any:
        return lambda: list(DDP(nn.Linear(4, 1)).shards(*batch))

    with pytest.raises(samara.ShapeError, match="local batch of 7 samples cannot be cut into 6"):
        run_threads(with_batch(samara.ones(7, 4)), 2)
    with pytest.raises(samara.ShapeError, match=r"tensors of \[6, 12\] samples"):
        run_threads(with_batch(samara.ones(6, 4), samara.ones(12)), 2)
    with pytest.raises(samara.ShapeError, match=r"tensors of \[\] samples"):
        run_threads(with_batch(3), 2)

    def different() -> None:
        list(DDP(nn.Linear(4, 1)).shards(samara.ones(6 + 6 * get_rank(), 4)))

    with pytest.raises(
        MismatchError, match="shards of one size on all ranks, got rank 0: 1, rank 1: 2"
    ):
        run_threads(different, 2)

    def seeds() -> None:
        net = DDP(nn.Linear(4, 1))
        samara.manual_seed(get_rank())
        list(net.shards(samara.ones(6, 4)))

    with pytest.raises(MismatchError, match="the same random numbers on all ranks"):
        run_threads(seeds, 2)


def test_a_second_pass_in_the_last_shard_is_refused() -> None:
    def train() -> None:
        net = DDP(nn.Linear(4, 1))
        for k, x in enumerate(net.shards(_part())):
            net(x).sum().backward()
            if k == 5:
                net(x).sum().backward()

    with pytest.raises(samara.SamaraError, match="call backward once per shard"):
        run_threads(train, 2)


def test_leaving_the_loop_early_restores_the_gradients() -> None:
    def train() -> Any:
        net = DDP(nn.Linear(4, 1))
        net(_part()).sum().backward()
        before = net.module.weight.grad.numpy().copy()
        for x in net.shards(_part()):
            net(x).sum().backward()
            break
        assert (net.module.weight.grad.numpy() == before).all()
        net.zero_grad()
        net(_part()).sum().backward()  # the plain loop works as before
        return (net.module.weight.grad.numpy() == before).all()

    assert all(run_threads(train, 2))


def test_sync_batch_norm_is_refused() -> None:
    def train() -> None:
        net = DDP(nn.SyncBatchNorm(4))
        for x in net.shards(_part()):
            net(x)

    with pytest.raises(samara.SamaraError, match="cannot be used inside shards"):
        run_threads(train, 2)


def test_without_a_group() -> None:
    with pytest.raises(DistError, match="init_process_group"):
        DDP(nn.Linear(4, 1))
