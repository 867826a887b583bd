# SPDX-License-Identifier: Apache-2.0
"""Times of nodes: what they say of algorithms, and that they account for the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.ir import open_program
from samara.exporter.measure._trace import trace_of
from samara.exporter.measure.feeds import choose_feeds
from samara.exporter.measure.machine import Roof, measure_roof, program_beside_library
from samara.exporter.measure.node_times import node_times, nodes_text
from samara.exporter.opening import opened
from samara.exporter.types import ShapeError
from samara.pybridge import Session


def test_nodes_account_for_the_run(samara_path: Path) -> None:
    session = Session(samara_path, threads=1)
    feeds = choose_feeds(session, shapes={"image": (64, 3, 8, 8)})
    roof = Roof(gflops=1e6, int8_gops=1e6, cache_gbs=1e6, memory_gbs=1e6)
    with opened(samara_path) as file:
        times = node_times(file, session, feeds, "", 30, roof)
    nodes, share = times.nodes, times.share
    # Of the best run: whatever else the machine does falls into some node or between two.
    assert 0.9 < share <= 1.0
    convs = [n for n in nodes if n.op == "conv"]
    assert convs
    for n in convs:
        assert n.algorithm
        assert n.runner_up not in ("", n.algorithm)
        assert n.estimates_us[0] <= n.estimates_us[1]
        assert n.roof_share is not None
        assert 0 < n.roof_share < 0.5
    text = nodes_text(nodes, share, roof)
    assert "runner-up" in text
    assert "% of the run" in text
    with opened(samara_path) as file, pytest.raises(ShapeError, match="no node"):
        node_times(file, session, feeds, "nothing", 1, None)


def test_nodes_of_branches_and_loops(steered_path: Path) -> None:
    session = Session(steered_path, threads=1)
    feeds = choose_feeds(session, given={"rate": np.array(16000)}, shapes={"x": (2, 50)})
    with opened(steered_path) as file:
        every = node_times(file, session, feeds, "", 3, None)
        [grown] = node_times(file, session, feeds, "mul", 3, None).nodes
        by_path = node_times(file, session, feeds, "choose/then", 3, None).nodes
        by_function = node_times(file, session, feeds, "main/fast", 3, None).nodes
        with pytest.raises(ShapeError, match="choose/else/magnitude") as caught:
            node_times(file, session, feeds, "abs", 1, None)
    assert "--input" in (caught.value.fix or "")
    assert grown.path == "choose/then/repeat/body/grown"
    assert (grown.function, grown.executions) == ("main/fast/body", 3)
    assert grown.gflops == pytest.approx(2 * 50 * 3 / grown.median_us / 1e3)
    found, same = ({n.path for n in nodes} for nodes in (by_path, by_function))
    assert found == same == {"choose/then/repeat", "choose/then/repeat/body/grown"}
    assert {n.path for n in every.nodes} == {n.path for n in by_path} | {"is_fast", "choose"}
    assert every.not_reached == ("choose/else/magnitude",)
    assert 0.5 < every.share <= 1.0  # inner nodes are not counted twice
    shares = {n.path: n.share for n in every.nodes}
    assert (shares["choose"] or 0) > (shares["choose/then/repeat/body/grown"] or 1) > 0
    text = nodes_text(every.nodes, every.share, None, every.not_reached)
    assert "choose/then/repeat/body/grown" in text
    assert "times" in text
    assert "not reached with these inputs: choose/else/magnitude" in text


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: Any) -> Any:
        return (self.layers(x) * 2).tanh()


def test_nodes_say_where_they_were_written(tmp_path: Path) -> None:
    path, x = tmp_path / "m.samara", samara.ones(2, 4)
    samara.export(samara.trace(Net(), (x,)), path)
    session = Session(path, threads=1)
    feeds = choose_feeds(session)
    with opened(path) as file:
        nodes = node_times(file, session, feeds, "", 1, None).nodes
    line = Net.forward.__code__.co_firstlineno + 1
    assert {n.op: n.source for n in nodes} == {
        "matmul": f"{__file__}:{line} in layers.0",
        "mul": f"{__file__}:{line}",
        "tanh": f"{__file__}:{line}",
    }
    text = nodes_text(nodes, None, None)
    assert f"{__file__}:{line} in layers.0" in text
    trace = json.loads(trace_of(session, open_program(path)))["traceEvents"]
    rows = session.profile()
    assert [(r.op, r.source, r.module) for r in rows] == [
        ("matmul", f"{__file__}:{line}", "layers.0"),
        ("mul", f"{__file__}:{line}", ""),
        ("tanh", f"{__file__}:{line}", ""),
    ]
    said = {e["args"]["op"]: e["args"]["source"] for e in trace}
    assert said == {n.op: n.source for n in nodes}


def test_a_measured_choice_is_named(samara_path: Path) -> None:
    plain = Session(samara_path, threads=1)
    plain.run({"image": np.zeros((1, 3, 8, 8), np.float32)})
    [choice, *_] = [c for c in plain.choices() if len(c.algorithms) > 1]
    from samara.pybridge.tuned import tuned_header

    text = f"{tuned_header(plain.model)}{choice.function}\t{choice.node}\t{choice.algorithms[1][0]}"
    session = Session(samara_path, threads=1, tuned=text.encode())
    feeds = choose_feeds(session, shapes={"image": (1, 3, 8, 8)})
    with opened(samara_path) as file:
        [node] = node_times(file, session, feeds, choice.node, 1, None).nodes
    assert node.tuned
    assert node.algorithm == choice.algorithms[1][0]
    assert node.roof_share is None
    assert "(tuned)" in nodes_text([node], None, None)


def test_a_roof_is_the_longer_of_computing_and_moving() -> None:
    roof = Roof(gflops=100, int8_gops=400, cache_gbs=50, memory_gbs=10)
    assert roof.microseconds(1_000_000, 1000) == pytest.approx(10)
    assert roof.microseconds(1_000_000, 1000, is_int8=True) == pytest.approx(2.5)
    assert roof.microseconds(0, 500_000) == pytest.approx(10)
    assert roof.microseconds(0, 5_000_000) == pytest.approx(500)


def test_the_roof_is_measured() -> None:
    if program_beside_library("samara-bench") is None:
        pytest.skip("samara-bench is not beside the library")
    roof, scalar = measure_roof(), measure_roof("scalar")
    assert roof is not None
    assert scalar is not None
    assert min(roof.gflops, roof.int8_gops, roof.cache_gbs, roof.memory_gbs) > 0
    assert scalar.gflops <= 1.5 * roof.gflops
