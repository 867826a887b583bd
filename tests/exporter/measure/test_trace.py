# SPDX-License-Identifier: Apache-2.0
"""Traces: paths, shares, and lanes for the functions of branches and loops."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import open_program
from samara.exporter.measure._trace import trace_of
from samara.pybridge import Session


def events_of(path: Path, rate: int) -> list[dict[str, Any]]:
    session = Session(path, threads=1)
    session.set_profiling(True)
    session.run({"x": np.ones((2, 50), np.float32), "rate": np.int64(rate)})
    events: list[dict[str, Any]] = json.loads(trace_of(session, open_program(path)))["traceEvents"]
    return events


def test_nodes_of_branches_and_loops(steered_path: Path) -> None:
    events = events_of(steered_path, 16000)
    nodes = {e["args"]["path"]: e for e in events if e["ph"] == "X"}
    assert {path: e["tid"] for path, e in nodes.items()} == {
        "is_fast": 1,
        "choose": 1,
        "choose/then/repeat": 2,
        "choose/then/repeat/body/grown": 3,
    }
    assert nodes["choose/then/repeat/body/grown"]["args"]["count"] == 3
    assert all(0 <= e["args"]["share"] <= 1 for e in nodes.values())
    assert nodes["choose"]["args"]["share"] >= nodes["choose/then/repeat"]["args"]["share"]
    lanes = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    assert lanes == {1: "main", 2: "choose/then", 3: "choose/then/repeat/body"}
    other = {e["args"]["path"] for e in events_of(steered_path, 8000) if e["ph"] == "X"}
    assert other == {"choose/else/magnitude", "is_fast", "choose"}


def test_a_lane_of_repeated_nodes_does_not_overlap(tmp_path: Path) -> None:
    from samara.exporter.ir import ProgramBuilder, save_program

    main = ProgramBuilder().function("main")
    x = main.input("x", "f32", [1000])
    body = main.child("body")
    body.input("i", "i64", [])
    go, acc = body.input("go", "bool", []), body.input("acc", "f32", [1000])
    more = body.op("abs", body.op("sin", body.op("exp", acc)))
    main.finish(
        list(main.loop(main.const(np.array(5, np.int64)), None, [x], (body, [go, more]))), ["y"]
    )
    save_program(main.program.finish(["main"]), tmp_path / "m.samara")
    session = Session(tmp_path / "m.samara", threads=1)
    session.set_profiling(True)
    session.run({"x": np.zeros(1000, np.float32)})
    events = json.loads(trace_of(session, open_program(tmp_path / "m.samara")))["traceEvents"]
    inner = [e for e in events if e["ph"] == "X" and e["tid"] == 2]
    assert len(inner) == 3
    for before, after in itertools.pairwise(inner):
        assert after["ts"] == pytest.approx(before["ts"] + before["dur"], abs=0.002)


def test_a_plain_function_has_no_lanes(samara_path: Path) -> None:
    session = Session(samara_path, threads=1)
    session.set_profiling(True)
    session.run({"image": np.ones((1, 3, 8, 8), np.float32)})
    events = json.loads(trace_of(session, open_program(samara_path)))["traceEvents"]
    assert {(e["ph"], e["tid"]) for e in events} == {("X", 1)}
    assert all(e["args"]["path"] == e["name"] for e in events)
