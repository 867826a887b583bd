# SPDX-License-Identifier: Apache-2.0
"""Pools: shared by thread count, one set per process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from samara.pybridge import Session, ShapeError, _native, _pool
from samara.pybridge.errors import ArgumentError


def test_one_pool_per_thread_count() -> None:
    assert _pool.pool_for(1) == _native.NULL
    two = _pool.pool_for(2)
    assert two == _pool.pool_for(2)
    assert two != _pool.pool_for(3)
    assert _native.library().samara_pool_threads(two) == 2


def test_default_is_four_or_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pool, "usable_cores", lambda: 64)
    assert _pool.pool_for(None) == _pool.pool_for(4)
    monkeypatch.setattr(_pool, "usable_cores", lambda: 2)
    assert _pool.pool_for(None) == _pool.pool_for(2)


@pytest.mark.parametrize("threads", [0, -1])
def test_threads_start_at_one(threads: int) -> None:
    with pytest.raises(ShapeError, match="at least 1"):
        _pool.pool_for(threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT RUN: fork (this system has none)")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_child_of_a_fork_runs_the_parents_session_and_its_own(files: dict[str, Path]) -> None:
    session = Session(files["dense"], threads=2)
    x = np.ones((64, 4), np.float32)
    want = session.run({"x": x})["y"]
    child = os.fork()
    if child == 0:
        # No pytest in the child: only the exit status speaks.
        code = 1
        try:
            same = np.array_equal(session.run({"x": x})["y"], want)
            own = Session(files["dense"], threads=2)
            code = 0 if same and np.array_equal(own.run({"x": x})["y"], want) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert np.array_equal(session.run({"x": x})["y"], want)


@pytest.mark.slow
def test_idle_pool_takes_no_time(files: dict[str, Path]) -> None:
    """Workers sleep soon after a run: 5 s without one cost less than 10 ms of processor time."""
    program = (
        "import sys, time, numpy as np\n"
        "from samara.pybridge import Session\n"
        "session = Session(sys.argv[1], threads=2)\n"
        "for _ in range(100):\n"
        "    session.run({'x': np.ones((100_000, 4), np.float32)})\n"
        "before = time.process_time_ns()\n"
        "time.sleep(5)\n"
        "print(time.process_time_ns() - before)\n"
    )
    command = [sys.executable, "-c", program, str(files["dense"])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 10_000_000


def test_the_environment_sets_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pool, "usable_cores", lambda: 64)
    for text, count in (("", 4), ("1", 1), ("12", 12)):
        monkeypatch.setenv("SAMARA_NUM_THREADS", text)
        assert _pool.default_threads() == count
    for text in ("0", "-1", "two", "²"):
        monkeypatch.setenv("SAMARA_NUM_THREADS", text)
        with pytest.raises(ArgumentError, match=f"SAMARA_NUM_THREADS to '{text}'"):
            _pool.pool_for(None)
