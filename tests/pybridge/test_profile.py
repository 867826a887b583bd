# SPDX-License-Identifier: Apache-2.0
"""Profiles of runs: timed ones, and runs repeated to be timed."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import numpy as np
import pytest
from tests.pybridge.conftest import numbers

from samara.pybridge import SamaraError, Session

Files = dict[str, Path]


def test_profile_names_nodes_and_kernels(files: Files) -> None:
    session = Session(files["static"])
    with pytest.raises(SamaraError, match="the session has not run"):
        session.profile()
    session.run({"x": numbers(2, 4)})
    rows = session.profile()
    found = [(r.node, r.op, r.function, r.count) for r in rows]
    assert found == [("h", "matmul", "main", 1), ("r", "relu", "main", 1)]
    assert all(r.kernel for r in rows)
    assert all(r.total_us >= 0 and r.start_us >= 0 for r in rows)
    assert [r.source for r in rows] == ["", ""]  # tests/exporter/frontend/script has some
    events = json.loads(session.trace())["traceEvents"]
    assert [e["name"] for e in events] == ["h", "r"]


def test_profile_repeats_the_last_run_and_leaves_no_trace(files: Files) -> None:
    session = Session(files["counter"])
    session.run({"x": np.array([1, 1], np.float32)})
    assert session.profile()
    assert session.state["total"].tolist() == [11, 21]
    loop = Session(files["loop"])
    loop.run({"trips": 5, "x": np.zeros(64, np.float32)})
    gc.collect()
    inner = [r for r in loop.profile() if r.op == "add"]
    assert [r.count for r in inner] == [5]
    loop.run({"trips": 7, "x": np.zeros(64, np.float32)})
    assert [r.count for r in loop.profile() if r.op == "add"] == [7]


def test_profile_after_resize_has_nothing_to_repeat(files: Files) -> None:
    session = Session(files["dense"])
    session.run({"x": numbers(2, 4)})
    session.resize({"x": (1000, 4)})
    with pytest.raises(SamaraError, match="the session has not run"):
        session.profile()


def test_profile_of_a_bound_call(files: Files) -> None:
    session = Session(files["loop"])
    feeds = {"trips": np.array(4), "x": np.zeros(64, np.float32)}
    session.bind(feeds, {"y": np.empty(64, np.float32)})()
    assert [r.count for r in session.profile() if r.op == "add"] == [4]
