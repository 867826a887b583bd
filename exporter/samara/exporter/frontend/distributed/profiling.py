# SPDX-License-Identifier: Apache-2.0
"""`profile`: where the time of all ranks goes, and which rank the others wait for."""

from __future__ import annotations

import os
import time
from typing import Any, Final, Self

from samara.exporter.frontend import spans
from samara.exporter.frontend.distributed import _clock
from samara.exporter.frontend.distributed._outcome import at_first
from samara.exporter.frontend.distributed._rank_trace import (
    RankTimes,
    table_of,
    times_of,
    trace_of,
)
from samara.exporter.frontend.distributed._recorder import Recorder
from samara.exporter.frontend.distributed.errors import DistError
from samara.exporter.frontend.distributed.group import ProcessGroup, group_of
from samara.exporter.frontend.distributed.objects import gather_object, share
from samara.pybridge.atomic import write_text

__all__ = ["profile"]

_STANDS_OUT: Final = 0.05  # share of the time that others wait for a rank, from which it is named


class profile:
    """Within the block, record what every rank does. All ranks of the group enter and leave it together.

        with samara.distributed.profile("step.json") as report:
            for x, y in net.shards(x_local, y_local):
                F.cross_entropy(net(x), y).backward()
            opt.step()
        print(report)

    path: a file that rank 0 writes, a Chrome trace, which https://ui.perfetto.dev opens: one process
    per rank, with rows for compute (data, forward, backward, optimizer), wait (ranks are missing), copy
    (all ranks are there, the data is on its way) and the collectives, with name, bytes and line. None
    writes nothing, which suits a block of many steps.

    Afterwards, on every rank: `ranks` has the times of each rank in seconds (compute, wait, copy,
    waited_for, parts), `straggler` is the rank that the others waited for, or None where they waited
    for each less than 5 % of the time, `seconds` is the time of the slowest rank, `clock_error` says
    within how many seconds the clocks of the ranks are aligned. `print` shows all that.

    It costs a few messages between rank 0 and each other rank at both ends. Raises DistError for a
    profile inside another, FileError on all ranks if the file cannot be written. PyTorch's
    `torch.profiler.profile` is about one process.

    >>> def step():
    ...     with samara.distributed.profile() as report:
    ...         samara.distributed.all_reduce(samara.ones(4))
    ...     return len(report.ranks), "waited for" in str(report)
    >>> samara.distributed.run_threads(step, 2)
    [(2, True), (2, True)]
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, group: Any = None) -> None:
        self.path = path
        self.ranks: list[RankTimes] = []
        self.clock_error = 0.0
        self._group: ProcessGroup = group_of(group)

    def __enter__(self) -> Self:
        engine = self._group.engine
        if engine.recorder is not None:
            raise DistError("a profile runs already", fix="leave it before the next one begins")
        self._clocks = _clock.compare(self._group)
        self._recorder = Recorder(time.monotonic())
        self._before = spans.measure(self._recorder.span)
        engine.recorder = self._recorder
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        recorder = self._recorder
        recorder.end = time.monotonic()
        self._group.engine.recorder = None
        spans.measure(self._before)
        if error is None:
            self._collect()

    def _collect(self) -> None:
        """Bring the recordings of all ranks together."""
        group = self._group
        clocks = self._clocks.between(_clock.compare(group))
        own = self._recorder.shifted(-clocks.ahead[group.rank()])
        found: list[Any] = [None] * group.size()
        gather_object(own, found if group.rank() == 0 else None, group=group, group_dst=0)

        def summarize() -> list[RankTimes]:
            recordings = dict(zip(group.ranks, found, strict=True))
            if self.path is not None:
                write_text(self.path, trace_of(recordings))
            return times_of(recordings)

        told: list[Any] = [at_first(group, summarize, group.timeout)]
        share(told, group, 0)
        self.ranks = told[0]
        self.clock_error = clocks.error

    # ---- the report

    @property
    def seconds(self) -> float:
        """The time of the slowest rank, 0 before the block has ended."""
        return max((times.seconds for times in self.ranks), default=0.0)

    @property
    def straggler(self) -> int | None:
        """The rank that the others waited for most, if that is at least 5 % of the time."""
        if not self.ranks:
            return None
        last = max(self.ranks, key=lambda times: times.waited_for)
        return last.rank if last.waited_for >= _STANDS_OUT * self.seconds else None

    def __str__(self) -> str:
        if not self.ranks:
            return "a profile whose block has not ended"
        count = len(self.ranks)
        clocks = f"clocks agree within {1e3 * self.clock_error:.2g} ms"
        head = f"{self.seconds:.4f} s on {count} rank{'s' if count > 1 else ''}, {clocks}"
        return "\n".join((head, table_of(self.ranks), self._verdict()))

    def _verdict(self) -> str:
        last = max(self.ranks, key=lambda times: times.waited_for)
        share = 100 * last.waited_for / self.seconds if self.seconds else 0.0
        if self.straggler is None:
            return f"no rank stands out: the others waited for rank {last.rank} {share:.0f} % of the time"
        return f"rank {last.rank} was waited for: {share:.0f} % of the time"

    def __repr__(self) -> str:
        return f"profile(straggler={self.straggler}, seconds={self.seconds:.4f})"
