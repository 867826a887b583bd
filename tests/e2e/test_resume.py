# SPDX-License-Identifier: Apache-2.0
"""A training that SIGKILL ends several times has the same losses as an uninterrupted one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e import resumed_training
from tests.e2e.resumed_training import PHASES, SAVE_EVERY, SAVE_PLACES

SECONDS = 120


def _run(folder: Path, steps: int, kill: str = "") -> int:
    """Train in a process group of its own. Returns the exit status."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(resumed_training.__file__), str(folder), str(steps), kill],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, -9), done.stderr
    return done.returncode


def _losses(folder: Path) -> list[tuple[int, str]]:
    rows = (folder / "losses").read_text(encoding="ascii").split("\n")[:-1]
    return [(int(step), bits) for step, bits in (row.split() for row in rows)]


def _kills(r: random.Random, done: int, steps: int, inside: bool) -> str:
    """A place to die at, at or a little after step `done`, which comes next."""
    step = min(done + r.randrange(2 * SAVE_EVERY), steps - 1)
    if not inside:
        return f"{step}:{r.choice(PHASES)}"
    step = min((step // SAVE_EVERY + 1) * SAVE_EVERY, steps)  # as counted when it is saved
    return f"{step - 1}:save.{r.choice(SAVE_PLACES)}"


def _check(tmp_path: Path, steps: int, kills: int, kills_inside: int) -> None:
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    alone.mkdir()
    killed.mkdir()
    assert _run(alone, steps) == 0
    want = dict(_losses(alone))
    assert sorted(want) == list(range(steps))
    assert len(set(want.values())) > steps // 2  # it learns something
    r = random.Random(steps)
    insides = [i < kills_inside for i in range(kills)]
    r.shuffle(insides)
    rows_before = 0
    for inside in insides:
        rows = _losses(killed) if (killed / "losses").exists() else []
        saved = (rows[-1][0] + 1) // SAVE_EVERY * SAVE_EVERY if rows else 0
        kill = _kills(r, min(saved, steps - SAVE_EVERY), steps, inside)
        assert _run(killed, steps, kill) == -9, f"{kill} was not reached"
        rows_before = len(rows)
    assert _run(killed, steps) == 0
    rows = _losses(killed)
    assert len(rows) > rows_before
    assert dict(rows) == want
    assert all(want[step] == bits for step, bits in rows)  # also those that came twice
    assert sorted(p.name for p in killed.iterdir()) == ["checkpoint", "losses"]


def test_a_killed_training_goes_on_bit_for_bit(tmp_path: Path) -> None:
    _check(tmp_path, steps=12, kills=2, kills_inside=1)


@pytest.mark.extended
def test_a_training_killed_often_goes_on_bit_for_bit(tmp_path: Path) -> None:
    _check(tmp_path, steps=100, kills=24, kills_inside=10)
