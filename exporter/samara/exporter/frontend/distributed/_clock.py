# SPDX-License-Identifier: Apache-2.0
"""How far the clocks of the ranks are apart, by messages to and fro."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.distributed.group import ProcessGroup
from samara.exporter.frontend.distributed.objects import share
from samara.exporter.frontend.distributed.point_to_point import recv, send
from samara.exporter.frontend.tensor import wrap

_ROUNDS: Final = 6
_TAG: Final = 10_001  # one that users hardly choose


@dataclass(frozen=True, slots=True)
class Clocks:
    """The members' clocks: seconds that each is ahead of the first one's, within `error` seconds."""

    ahead: list[float]
    error: float

    def between(self, later: Clocks) -> Clocks:
        """The mean of two measurements; how much they differ adds to the error."""
        pairs = list(zip(self.ahead, later.ahead, strict=True))
        drift = max(abs(b - a) for a, b in pairs) / 2
        return Clocks([(a + b) / 2 for a, b in pairs], max(self.error, later.error) + drift)


def compare(group: ProcessGroup) -> Clocks:
    """Measure on all ranks of a group; all get the same answer.

    Each member answers the first one with its time, some times over. The quickest answer was read half
    way between question and answer, within half the time that both took (Cristian 1989).
    """
    own = group.rank()
    found = Clocks([0.0], 0.0)
    if own == 0:
        measured = [_ask(group, member) for member in range(1, group.size())]
        ahead = [0.0, *(offset for offset, _ in measured)]
        found = Clocks(ahead, max((error for _, error in measured), default=0.0))
    else:
        _answer(group)
    told: list[Any] = [found]
    share(told, group, 0)
    result: Clocks = told[0]
    return result


def _ask(group: ProcessGroup, member: int) -> tuple[float, float]:
    """How far a member's clock is ahead, and how exact that is."""
    best = (0.0, float("inf"))
    time_there = np.zeros(1)
    for _ in range(_ROUNDS):
        asked = time.monotonic()
        send(wrap(np.zeros(1)), group=group, group_dst=member, tag=_TAG)
        recv(wrap(time_there), group=group, group_src=member, tag=_TAG)
        took = time.monotonic() - asked
        if took / 2 < best[1]:
            best = (float(time_there[0]) - asked - took / 2, took / 2)
    return best


def _answer(group: ProcessGroup) -> None:
    for _ in range(_ROUNDS):
        recv(wrap(np.zeros(1)), group=group, group_src=0, tag=_TAG)
        now = wrap(np.array([time.monotonic()]))
        send(now, group=group, group_dst=0, tag=_TAG)
