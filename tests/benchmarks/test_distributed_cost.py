# SPDX-License-Identifier: Apache-2.0
"""The cost model: a fit finds the constants that made the figures, and more ranks cost what they should."""

from __future__ import annotations

import pytest
from benchmarks import distributed_cost as cost

LOCAL = cost.Network("local", 20e-6, 2e9)
FAR = cost.Network("far", 1e-3, 1e9, large=3)
OVERHEAD = 150e-6


def test_a_fit_finds_the_constants() -> None:
    calls = [
        cost.Call(n.name, n.large, ranks, size, cost.plain(n, OVERHEAD, ranks, size))
        for n in (LOCAL, FAR)
        for ranks in (2, 3, 4)
        for size in (4, 16384, 65536, 1 << 20, 16 << 20)
    ]
    overhead, found = cost.fit_networks(calls)
    assert overhead == pytest.approx(OVERHEAD, rel=1e-6)
    for network in (LOCAL, FAR):
        assert found[network.name].latency == pytest.approx(network.latency, rel=1e-6)
        assert found[network.name].bandwidth == pytest.approx(network.bandwidth, rel=1e-6)
        assert found[network.name].large == network.large


def test_unknowns_are_not_negative() -> None:
    calls = [cost.Call("x", 1, 2, size, 1e-3) for size in (4, 65536)]  # no bandwidth to be seen
    overhead, found = cost.fit_networks(calls)
    assert overhead >= 0
    assert found["x"].latency >= 0
    assert found["x"].bandwidth > 0


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_fit_finds_the_share_of_backward(share: float) -> None:
    def step(size: int, measured: float) -> cost.Step:
        return cost.Step("far", "net", 2, size, 4, 20e-3, 5e-3, measured)

    sizes = (4 << 20, 8 << 20, 16 << 20)
    made = [step(n, cost.step_seconds(step(n, 0.0), share, FAR, OVERHEAD)) for n in sizes]
    assert cost.fit_share(made, {"far": FAR}, OVERHEAD) == share


def test_the_formula_for_more_ranks() -> None:
    assert cost.plain(FAR, OVERHEAD, 1, 1 << 20) == cost.chain(FAR, OVERHEAD, 1, 1 << 20) == 0
    assert [cost.messages(p, 1 << 20, 1) for p in (2, 3, 4, 8)] == [3, 5, 6, 11]
    assert [cost.messages(p, 4, 3) for p in (2, 3, 4, 8)] == [2, 4, 4, 6]
    assert cost.volume(4, 1 << 20) == 1.5 * (1 << 20)
    # A piece goes down the chain and round, and the others follow it.
    hop, follow = 3e-3 + (256 << 10) / 1e9, 2 * (1 << 20) / 1e9
    assert cost.chain(FAR, OVERHEAD, 4, 1 << 20) == pytest.approx(
        OVERHEAD + 2e-3 + 6 * hop + follow
    )
    times = [cost.chain(LOCAL, OVERHEAD, ranks, 16 << 20) for ranks in (2, 8, 64)]
    assert times == sorted(times)
    assert cost.buckets_of(LOCAL, OVERHEAD, 2, 16 << 20) > cost.buckets_of(FAR, OVERHEAD, 2, 4096)


def test_a_prediction_is_the_formula() -> None:
    step = cost.Step("far", "net", 2, 4 << 20, 1, 20e-3, 5e-3, 30e-3)
    found = cost.prediction(step, 0.5, FAR, OVERHEAD, 8, 6)
    moving = cost.plain(FAR, OVERHEAD, 8, 4 << 20, found["buckets"])
    assert found["moving_ms"] == pytest.approx(moving * 1e3)
    assert found["plain_ms"] == pytest.approx((20e-3 + moving - 2.5e-3) * 1e3)
    assert found["efficiency"] == pytest.approx(20 / found["plain_ms"])
    assert found["shards_efficiency"] < found["efficiency"] < 1
