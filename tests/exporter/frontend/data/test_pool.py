# SPDX-License-Identifier: Apache-2.0
"""Workers that fail: what the loader says, and what is left behind."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from tests.exporter.frontend.checks import shared

from samara.exporter.frontend.data import DataLoader
from samara.pybridge.errors import LimitError, SamaraError


def test_an_exception_comes_with_the_workers_traceback(samples: Any) -> None:
    loader = DataLoader(samples.Failing("raise"), 2, num_workers=2)
    batches = iter(loader)
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="five") as caught:
        next(batches)
    text = "".join(traceback.format_exception(caught.value))
    assert "loader_samples.py" in text
    assert 'raise KeyError("five")' in text


def test_an_exception_of_a_type_that_is_not_known_here(samples: Any) -> None:
    with pytest.raises(SamaraError, match="LocalError: only here"):
        list(DataLoader(samples.Failing("local"), 2, num_workers=1))
    with pytest.raises(ValueError, match="not in here"):
        list(DataLoader(samples.Unwilling(), 2, num_workers=1))


def test_a_killed_worker_is_told_and_leaves_nothing(samples: Any) -> None:
    before = shared()
    loader = DataLoader(samples.Failing("kill"), 2, num_workers=2, persistent_workers=True)
    batches = iter(loader)
    assert [next(batches)[:, 0].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(SamaraError, match=r"worker 0 of the loader .* was killed by SIGKILL"):
        next(batches)
    assert shared() <= before


def test_an_ended_worker_and_a_slow_one(samples: Any) -> None:
    with pytest.raises(SamaraError, match="ended with exit code 3"):
        list(DataLoader(samples.Failing("exit"), 3, num_workers=1))
    with pytest.raises(LimitError, match=r"gave no batch for 0\.3 s"):
        list(DataLoader(samples.Failing("hang"), 6, num_workers=1, timeout=0.3))
