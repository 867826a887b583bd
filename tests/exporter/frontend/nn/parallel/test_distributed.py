# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel: averaged gradients, equal parameters, and the cases between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.nn.parallel import nets

import samara
from samara import nn
from samara.exporter.frontend.distributed import MismatchError, get_rank, run_threads

DDP = nn.parallel.DistributedDataParallel
X = np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32)


def _part(ranks: int) -> Any:
    return samara.tensor(np.array_split(X, ranks)[get_rank()])


def _grads(net: Any) -> list[Any]:
    return [None if p.grad is None else p.grad.numpy().copy() for p in net.parameters()]


def _net() -> Any:
    samara.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("cap", [None, 0.0001])
def test_gradients_are_those_of_the_whole_batch(ranks: int, cap: float | None) -> None:
    whole = _net()
    whole(samara.tensor(X)).square().mean().backward()

    def train() -> Any:
        net = DDP(_net(), bucket_cap_mb=cap)
        for _ in range(2):  # buckets follow the order of use from the second step on
            net.zero_grad()
            net(_part(ranks)).square().mean().backward()
        grads: list[Any] = [p.grad for p in net.parameters()]
        assert cap is not None or len({id(g._data.base) for g in grads}) == 1
        return _grads(net)

    results = run_threads(train, ranks)
    for grads in results:
        for mine, first, expected in zip(grads, results[0], _grads(whole), strict=True):
            assert (mine == first).all()
            np.testing.assert_allclose(mine, expected, 1e-5, 1e-6)


def test_parameters_begin_equal_and_state_has_prefix() -> None:
    def make() -> Any:
        samara.manual_seed(get_rank())
        net = DDP(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
        assert all(name.startswith("module.") for name in net.state_dict())
        return [p.detach().numpy().copy() for p in net.parameters()]

    first, second = run_threads(make, 2)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_no_sync_accumulates_and_the_next_pass_averages() -> None:
    def train() -> Any:
        net = DDP(_net())
        x = _part(2)
        with net.no_sync():
            net(x).sum().backward()
        local = _grads(net)
        net(x).sum().backward()
        return local, _grads(net)

    (a, both), (b, again) = run_threads(train, 2)
    for one, other, mean, same in zip(a, b, both, again, strict=True):
        np.testing.assert_allclose(mean, one + other, 1e-5)  # two passes each, averaged over two
        assert (mean == same).all()
    assert any((one != other).any() for one, other in zip(a, b, strict=True))


def test_parameters_that_some_or_no_ranks_use() -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(1, 1, bias=False)
            self.b = nn.Linear(1, 1, bias=False)
            self.never = nn.Linear(1, 1, bias=False)
            self.frozen = nn.Linear(1, 1, bias=False).requires_grad_(False)

        def forward(self, x: Any) -> Any:
            return self.frozen(self.a(x) if get_rank() == 0 else self.b(x)) * 0 + (
                self.a(x) if get_rank() == 0 else self.b(x)
            )

    def train() -> Any:
        net = DDP(Branches())
        for _ in range(2):
            net.zero_grad()
            net(samara.ones(1, 1)).sum().backward()
        return _grads(net)

    for grads in run_threads(train, 2):
        assert [None if g is None else g.tolist() for g in grads] == [[[0.5]], [[0.5]], None, None]


def test_buffers_follow_rank_0() -> None:
    def train() -> Any:
        net = DDP(nn.BatchNorm1d(4))
        net(_part(2))
        own = net.module.running_mean.numpy().copy()
        net(_part(2))
        return own, net.module.running_mean.numpy().copy()

    (first, first_after), (second, _) = run_threads(train, 2)
    assert (first != second).any()
    expected = nn.BatchNorm1d(4)
    for _ in range(2):
        expected(samara.tensor(X[:6]))
    np.testing.assert_array_equal(first_after, expected.running_mean.numpy())


def test_clipping_sees_the_averages() -> None:
    def train() -> float:
        net = DDP(_net())
        net(_part(3)).square().mean().backward()
        return float(nn.utils.clip_grad_norm_(net.parameters(), 1e-3))

    assert len(set(run_threads(train, 3))) == 1


def test_modules_that_differ_and_modules_without_parameters() -> None:
    with pytest.raises(MismatchError, match=r"rank 1 has parameter weight \(float32 \[3, 2\]\)"):
        run_threads(lambda: DDP(nn.Linear(2, 2 + get_rank())), 2)
    with pytest.raises(samara.SamaraError, match="parameters that require gradients"):
        run_threads(lambda: DDP(nn.ReLU()), 2)


def test_an_error_in_one_rank_ends_the_step_of_all() -> None:
    def train() -> None:
        net = DDP(_net())
        y = net(_part(2))
        if get_rank() == 1:
            raise ValueError("a bad sample")
        y.sum().backward()

    with pytest.raises(ValueError, match="a bad sample"):
        run_threads(train, 2)


def test_a_module_in_evaluation_and_in_a_trace_needs_nobody() -> None:
    def run() -> Any:
        net = DDP(_net())
        if get_rank() == 0:
            with samara.no_grad():
                net(samara.tensor(X))
            samara.trace(net, samara.tensor(X))

    run_threads(run, 2)


@pytest.mark.parametrize("kind", nets.NETS)
def test_shards_give_the_same_bits_for_any_number_of_ranks(kind: str) -> None:
    found = {d for ranks in (1, 2, 3, 4) for d in run_threads(nets.trained, ranks, kind, 3)}
    assert len(found) == 1


def test_gradients_are_made_in_the_flat_array(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[Any] = []

    def copyto(out: Any, *args: Any, **options: Any) -> None:
        copied.append(out)
        real(out, *args, **options)

    real = np.copyto
    monkeypatch.setattr(np, "copyto", copyto)

    def run() -> None:
        net = DDP(nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128)))
        for _ in range(2):  # after the first pass they are laid out by the order of use
            net.zero_grad()
            copied.clear()
            net(samara.randn(8, 128)).square().mean().backward()
        gradients = net._reducer.gradients
        for param, view in zip(net.parameters(), gradients.views, strict=True):
            assert param.grad is view
            assert np.shares_memory(view._data, gradients.flat[np.dtype("f4")])
            assert view.ndim == 1 or not any(out is view._data for out in copied)

    run_threads(run, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", nets.NETS)
def test_shards_give_the_same_bits_after_50_steps(kind: str) -> None:
    found = {d for ranks in (1, 2, 3, 4) for d in run_threads(nets.trained, ranks, kind, 50)}
    assert len(found) == 1
