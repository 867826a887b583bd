# SPDX-License-Identifier: Apache-2.0
"""Rank 0 alone shows how far a loop is: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import re

import pytest

import samara
from samara import distributed as dist
from samara.exporter.frontend.distributed import progress_bar

BATCHES = [(samara.ones(4, 2), samara.ones(4)) for _ in range(3)]


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def _loop(file: io.StringIO) -> int:
    bar = dist.progress(BATCHES, desc="epoch [0]", file=file)
    seen = 0
    for x, _ in bar:
        seen += len(x)
        bar.set_postfix(loss=samara.tensor(0.123456), kind="a")
    return seen + len(bar)


def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line at the end, or one each time if the interval is over; of rank 0 only."""
    for seconds, count in ((10.0, 1), (0.0, 3)):
        monkeypatch.setattr(progress_bar, "_LINE_SECONDS", seconds)
        files = [io.StringIO(), io.StringIO()]
        assert dist.run_threads(lambda given: _loop(given[dist.get_rank()]), 2, files) == [15, 15]
        assert files[1].getvalue() == ""
        lines = files[0].getvalue().splitlines()
        assert len(lines) == count
        pattern = r"epoch \[0\]: 3/3, (\S+) it/s, (\S+) samples/s, loss 0\.1235, kind a"
        found = re.fullmatch(pattern, lines[-1])
        assert found is not None
        assert float(found[2]) / float(found[1]) == pytest.approx(8, rel=0.02)  # 4 on each rank


def test_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    file = Terminal()
    assert _loop(file) == 15  # without a process group
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    last = shown.replace("\r", "\n").strip().splitlines()[-1]
    assert last.startswith("epoch [0] ━")
    assert "3/3" in last
    assert last.rstrip().endswith("samples/s, loss 0.1235, kind a")


def test_loops_that_end_early_and_unknown_lengths() -> None:
    file = io.StringIO()
    for k in dist.progress((k for k in range(9)), file=file):
        if k == 2:
            break
    with pytest.raises(ZeroDivisionError):
        [1 // (1 - k) for k in dist.progress(range(4), total=7, file=file)]
    assert [re.sub(r"\S+ it/s", "it/s", line) for line in file.getvalue().splitlines()] == [
        "2, it/s",
        "1/7, it/s",
    ]
    with pytest.raises(TypeError):
        len(dist.progress(iter([])))
    assert [
        progress_bar._samples_of(item)
        for item in ({"n": 3, "x": BATCHES[0][0]}, 3, "text", [], samara.tensor(1.0), [["a"]])
    ] == [4, 0, 0, 0, 0, 0]
