# SPDX-License-Identifier: Apache-2.0
"""A profile names the rank that the others waited for, and writes one trace of all ranks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samara
from samara import distributed as dist
from samara import nn
from samara.exporter.frontend.distributed._rank_trace import RankTimes
from samara.exporter.frontend.distributed.group import world


def _step(slow: int, together: threading.Barrier) -> Callable[[], None]:
    """A step of DistributedDataParallel in which one rank computes 0.2 s more than the others."""
    net = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)), bucket_cap_mb=0.0005
    )
    opt = samara.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        loss = net(samara.ones(4, 8)).sum()
        together.wait()
        if dist.get_rank() == slow:
            time.sleep(0.2)
        loss.backward()
        opt.step()

    step()
    return step


def test_a_step_of_three_ranks(tmp_path: Path) -> None:
    together = threading.Barrier(3)

    def run() -> Any:
        step = _step(1, together)
        with dist.profile(tmp_path / "step.json") as report:
            step()
        assert world().engine.recorder is None
        return report

    reports = dist.run_threads(run, 3)
    for report in reports:
        assert report.ranks == reports[0].ranks
        assert report.straggler == 1
    report = reports[0]
    last = str(report).splitlines()[-1]
    share = 100 * report.ranks[1].waited_for / report.seconds
    assert last == f"rank 1 was waited for: {share:.0f} % of the time"
    assert [times.rank for times in report.ranks] == [0, 1, 2]
    assert report.clock_error < 0.5
    for times in report.ranks:
        assert times.compute + times.wait + times.copy == pytest.approx(times.seconds)
        assert {"forward", "backward", "optimizer"} == set(times.parts)
    assert min(reports[0].ranks[rank].wait for rank in (0, 2)) > 0.1
    events = json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    buckets = [e for e in events if e["name"].startswith("reduction of the gradients")]
    names = {e["name"] for e in buckets if e["cat"] == "collective"}
    assert len(names) == 3
    assert sum(e["args"]["bytes"] for e in buckets if e["cat"] == "collective") >= 3 * 4 * 420
    assert {e["pid"] for e in events} == {0, 1, 2}
    assert {e["cat"] for e in events if e["ph"] == "X"} == {"compute", "wait", "copy", "collective"}


def test_nobody_stands_out_and_many_steps() -> None:
    together = threading.Barrier(2)

    def run() -> Any:
        step = _step(0, together)
        report = dist.profile()
        assert (report.straggler, report.seconds) == (None, 0.0)
        with report:
            for _ in range(2):
                step()
        assert report.straggler == 0
        return report

    report, _ = dist.run_threads(run, 2)
    assert report.ranks[0].waited_for > 0.2
    for waited_for, straggler, verdict in (
        (0.04, None, "no rank stands out: the others waited for rank 1 4 % of the time"),
        (0.06, 1, "rank 1 was waited for: 6 % of the time"),
    ):
        times = (1.0, 0.9, 0.08, 0.02)
        report.ranks = [RankTimes(0, *times, 0.0, {}), RankTimes(1, *times, waited_for, {})]
        assert report.straggler == straggler
        assert str(report).splitlines()[-1] == verdict


def test_errors(tmp_path: Path) -> None:
    def run() -> None:
        with dist.profile():
            with pytest.raises(dist.DistError, match="runs already"), dist.profile():
                pass
            dist.barrier()
        with pytest.raises(KeyError), dist.profile() as report:
            raise KeyError("of the user")
        assert "has not ended" in str(report)
        assert world().engine.recorder is None
        with (
            pytest.raises(samara.SamaraError, match="absent"),
            dist.profile(tmp_path / "absent" / "x.json"),
        ):
            pass
        dist.barrier()

    dist.run_threads(run, 2)
