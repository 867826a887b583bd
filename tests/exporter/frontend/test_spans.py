# SPDX-License-Identifier: Apache-2.0
"""Named parts of a step reach whoever measures this thread, and nobody else."""

from __future__ import annotations

import threading
import time

import pytest

import samara
from samara import nn
from samara.exporter.frontend import spans
from samara.utils.data import DataLoader, TensorDataset


def test_parts_of_a_step() -> None:
    found: list[tuple[str, float, float]] = []
    net = nn.Linear(2, 1)
    opt = samara.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        for (x,) in DataLoader(TensorDataset(samara.ones(2, 2)), 2):
            with spans.span("own"):
                loss = net(x).sum()
            loss.backward()
            opt.step()

    step()
    assert spans.measure(lambda *part: found.append(part)) is None
    begin = time.monotonic()
    try:
        other = threading.Thread(target=step)  # threads have recorders of their own
        other.start()
        other.join()
        assert found == []
        step()
    finally:
        spans.measure(None)
    step()
    assert [name for name, _, _ in found] == ["data", "own", "backward", "optimizer", "data"]
    times = [t for _, *both in found for t in both]
    assert [begin, *times] == sorted([begin, *times])


def test_errors_pass_and_end_the_part() -> None:
    found: list[str] = []

    spans.measure(lambda name, *_: found.append(name))
    try:
        with pytest.raises(ZeroDivisionError):
            list(spans.each("data", (1 // k for k in (0,))))
    finally:
        spans.measure(None)
    assert found == ["data"]
