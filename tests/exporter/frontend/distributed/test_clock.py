# SPDX-License-Identifier: Apache-2.0
"""Clocks of ranks: ranks that are threads have one clock; a clock that is ahead is found out."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from samara import distributed as dist
from samara.exporter.frontend.distributed import _clock
from samara.exporter.frontend.distributed.group import world


def test_offsets_are_found_within_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted() -> float:
        return time.monotonic() + 100 * dist.get_rank()

    monkeypatch.setattr(_clock, "time", SimpleNamespace(monotonic=shifted))
    found = dist.run_threads(lambda: _clock.compare(world()), 3)
    assert found[0] == found[1] == found[2]
    assert len(found[0].ahead) == 3
    for rank, ahead in enumerate(found[0].ahead):
        assert abs(ahead - 100 * rank) <= found[0].error < 0.5


def test_two_measurements() -> None:
    early, late = _clock.Clocks([0.0, 2.0], 0.25), _clock.Clocks([0.0, 3.0], 0.125)
    assert early.between(late) == _clock.Clocks([0.0, 2.5], 0.75)
    assert dist.run_threads(lambda: _clock.compare(world()), 1) == [_clock.Clocks([0.0], 0.0)]
