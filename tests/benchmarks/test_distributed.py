# SPDX-License-Identifier: Apache-2.0
"""The benchmark of ranks: what a rank measures, in threads, and the tables of figures that a formula made."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks import distributed as bench
from benchmarks import distributed_cost as cost
from benchmarks import distributed_nets as nets
from benchmarks import distributed_ranks as ranks

import samara
from samara.pybridge import op as bridge

OVERHEAD, SHARE = 100e-6, 0.5


@pytest.fixture
def threads_put_back() -> Iterator[None]:
    yield
    bridge.set_num_threads(None)


@pytest.mark.usefixtures("threads_put_back")
def test_a_rank_measures_steps_and_collectives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nets, "BATCH", 24)

    def measure() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        idle = ranks.Idle(tmp_path, samara.distributed.get_rank(), 2)
        return ranks.steps("MLP 1 MB", 1, idle, 2), ranks.collectives([4, 1 << 16], 1)

    (first, calls), _ = samara.distributed.run_threads(measure, 2)
    keys = ("single_ms", "compute_ms", "backward_ms", "plain_ms", "shards_ms")
    assert all(first[key] > 0 for key in keys)
    assert first["bytes"] >= 1 << 20
    assert first["buckets"] >= 1
    assert [call["bytes"] for call in calls] == [4, 1 << 16]


def test_nets_have_the_gradients_that_they_say() -> None:
    for name in nets.NAMES:
        net, _ = nets.build(samara, name)
        size = sum(p.numel() * 4 for p in net.parameters()) / (1 << 20)
        assert size == pytest.approx(int(name.split()[1]), rel=0.12), name


def made_by_the_formula() -> dict[str, Any]:
    """What a measurement finds where the formula is true; one network could not be measured."""
    network = cost.Network("one host", 30e-6, 1e9)
    calls = [
        {"bytes": n, "ms": cost.plain(network, OVERHEAD, 2, n) * 1e3} for n in (4, 65536, 1 << 22)
    ]
    step = {"network": "one host", "ranks": 2, "net": "MLP 4 MB", "bytes": 4 << 20, "buckets": 4}
    times = {"single_ms": 30.0, "compute_ms": 28.0, "backward_ms": 4.0, "shards_ms": 40.0}
    moving = cost.plain(network, OVERHEAD, 2, 4 << 20, 4) * 1e3
    plain = 28.0 + moving - SHARE * 4.0
    absent = {"network": "two nodes, 1 ms", "large": 3, "ranks": 2, "reason": "only root may"}
    return {
        "all_reduce": [{"network": "one host", "large": 1, "ranks": 2, "calls": calls}, absent],
        "steps": [{**step, **times, "plain_ms": plain}],
        "torch_steps": [{"net": "MLP 4 MB", "single_ms": 20.0, "plain_ms": 25.0}],
        "torch": "2.13.0",
    }


def test_the_page_shows_figures_and_what_did_not_run() -> None:
    found = made_by_the_formula()
    found["model"] = bench.model(found)
    assert found["model"]["share"] == SHARE
    (row,) = found["model"]["steps"]
    assert row["fitted_ms"] == pytest.approx(row["ms"], rel=1e-6)
    assert len(found["model"]["predictions"]) == len(bench.CLUSTERS) * len(bench.CLUSTER_RANKS)
    page = bench.page(found)
    assert "| two nodes, 1 ms | 2 | NOT RUN: only root may |" in page
    ratio = f"{30.0 / row['ms']:.2f}"
    assert (
        f"| MLP 4 MB | 30.0 | {row['ms']:.1f} | {ratio} | 40.0 | 0.75 | 20.0 | 25.0 | 0.80 |"
        in page
    )
    assert "PyTorch 2.13.0 with gloo" in page
    assert "| one host | 2 | MLP 4 MB |" in page
    assert page.count("| 64 |") == 2


def test_medians_are_of_equal_rows() -> None:
    rows = [{"net": "a", "ms": v} for v in (3.0, 1.0, 2.0)] + [{"net": "b", "ms": 9.0}]
    assert bench.medians(rows, ("net",)) == [{"net": "a", "ms": 2.0}, {"net": "b", "ms": 9.0}]


def test_a_program_that_cannot_run_gives_its_reason(tmp_path: Path) -> None:
    say = "import sys; print('NOT RUN: no netem', file=sys.stderr); print('x', file=sys.stderr); sys.exit(3)"
    with pytest.raises(bench.NotRunError, match=r"^no netem$"):
        bench.run([sys.executable, "-c", say], tmp_path)
