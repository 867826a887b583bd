# SPDX-License-Identifier: Apache-2.0
"""What one rank does while a profile runs: parts of the step, collectives, and waits for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samara.exporter.frontend.distributed._engine import Work

Key = tuple[int, int]
"""A collective: the number of its group, and how many the group had started before."""


@dataclass(slots=True)
class Collective:
    """One collective, from the rank's call to its end. Times are those of time.monotonic."""

    key: Key | None  # None: a message between two ranks
    text: str
    moved: int  # bytes
    started: float
    joined: float | None  # when this rank knew that all had called it
    ended: float

    def shifted(self, by: float) -> Collective:
        """The same by another clock."""
        joined = None if self.joined is None else self.joined + by
        return Collective(
            self.key, self.text, self.moved, self.started + by, joined, self.ended + by
        )


@dataclass(slots=True)
class Span:
    """A named part of the rank's own thread."""

    name: str
    begin: float
    end: float


@dataclass(slots=True)
class Wait:
    """A wait of the rank's own thread: until all ranks had joined, then for the data."""

    what: Collective
    begin: float
    end: float

    @property
    def joined(self) -> float:
        """When waiting for ranks ended, and waiting for data began."""
        known = self.end if self.what.joined is None else self.what.joined
        return min(max(known, self.begin), self.end)


@dataclass(slots=True)
class Recorder:
    """The events of one rank."""

    begin: float = 0.0
    end: float = 0.0
    spans: list[Span] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)

    def span(self, name: str, begin: float, end: float) -> None:
        """A part of the rank's own thread has ended."""
        self.spans.append(Span(name, begin, end))

    def ended(self, work: Work, at: float) -> None:
        """A collective has ended. Called by whichever thread polls."""
        self.collectives.append(_collective(work, at))

    def waited(self, work: Work, begin: float, end: float) -> None:
        """A wait has ended."""
        if work.ended is None or work.ended > begin:
            self.waits.append(Wait(_collective(work, end), begin, end))

    def shifted(self, by: float) -> Recorder:
        """The same by another clock, without what lies outside of begin and end."""
        return Recorder(
            self.begin + by,
            self.end + by,
            [Span(s.name, s.begin + by, s.end + by) for s in self.spans if s.end <= self.end],
            [c.shifted(by) for c in self.collectives if c.started <= self.end],
            [
                Wait(w.what.shifted(by), max(w.begin, self.begin) + by, w.end + by)
                for w in self.waits
                if w.end <= self.end
            ],
        )


def _collective(work: Work, end: float) -> Collective:
    call = work.call
    key = None if call.number is None else (call.group, call.number)
    return Collective(key, call.text, call.moved, work.started, work.joined_at, end)
