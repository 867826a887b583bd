# SPDX-License-Identifier: Apache-2.0
"""The recordings of all ranks as one trace, and as times per rank."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from samara.exporter.frontend.distributed._recorder import Collective, Key, Recorder, Wait

_COMPUTE: Final = 1  # rows of a rank; those of the collectives follow
_WAIT: Final = 2
_COPY: Final = 3

Starts = Mapping[Key, Mapping[int, float]]
"""When each rank called a collective."""


@dataclass(frozen=True, slots=True)
class RankTimes:
    """Where the time of one rank went, in seconds.

    compute: all but waiting. wait: until other ranks had joined a collective. copy: from then on,
    until the data was there, as far as it was not hidden behind computing. waited_for: how long the
    others, on average, waited while this rank had not joined. parts: compute by "data", "forward",
    "backward" and "optimizer".
    """

    rank: int
    seconds: float
    compute: float
    wait: float
    copy: float
    waited_for: float
    parts: Mapping[str, float]


def starts_of(recordings: Mapping[int, Recorder]) -> Starts:
    """When each rank called each collective that ended on it."""
    found: dict[Key, dict[int, float]] = defaultdict(dict)
    for rank, recorder in recordings.items():
        for collective in (*recorder.collectives, *(w.what for w in recorder.waits)):
            if collective.key is not None:
                found[collective.key][rank] = collective.started
    return found


def missing(wait: Wait, starts: Starts) -> dict[int, float]:
    """Seconds of a wait in which each of the other ranks had not called the collective."""
    if wait.what.key is None:
        return {}
    late = {
        rank: min(at, wait.joined) - wait.begin
        for rank, at in starts.get(wait.what.key, {}).items()
    }
    return {rank: seconds for rank, seconds in late.items() if seconds > 0}


def times_of(recordings: Mapping[int, Recorder]) -> list[RankTimes]:
    """The times of all ranks; their clocks are aligned."""
    starts = starts_of(recordings)
    caused: dict[int, float] = defaultdict(float)
    for recorder in recordings.values():
        for wait in recorder.waits:
            for rank, seconds in missing(wait, starts).items():
                caused[rank] += seconds
    others = max(len(recordings) - 1, 1)
    found = []
    for rank, recorder in recordings.items():
        waited = sum(w.joined - w.begin for w in recorder.waits)
        copied = sum(w.end - w.joined for w in recorder.waits)
        whole = recorder.end - recorder.begin
        found.append(
            RankTimes(
                *(rank, whole, whole - waited - copied, waited, copied, caused[rank] / others),
                _parts(recorder),
            )
        )
    return found


def _parts(recorder: Recorder) -> dict[str, float]:
    """Seconds of each kind of part, without waits in it."""
    found: dict[str, float] = defaultdict(float)
    for span in recorder.spans:
        inside = sum(
            max(0.0, min(w.end, span.end) - max(w.begin, span.begin)) for w in recorder.waits
        )
        found[span.name] += span.end - span.begin - inside
    return dict(found)


# ---- the trace


def trace_of(recordings: Mapping[int, Recorder]) -> str:
    """Chrome trace JSON: a process per rank, with rows for compute, wait, copy and the collectives."""
    zero = min(recorder.begin for recorder in recordings.values())
    starts = starts_of(recordings)
    events: list[dict[str, Any]] = []
    for rank, recorder in recordings.items():
        rows = [(_COMPUTE, "compute"), (_WAIT, "wait"), (_COPY, "copy")]
        events += _spans(rank, recorder, zero)
        for wait in recorder.waits:
            events += _wait(rank, wait, starts, zero)
        for lane, collectives in enumerate(_lanes(recorder.collectives)):
            row = _COPY + 1 + lane
            rows.append((row, f"collectives {lane + 1}"))
            events += [
                _event(
                    rank, row, c.started - zero, c.ended - zero, _name(c), "collective", _args(c)
                )
                for c in collectives
            ]
        events.append(_title(rank, 0, "process_name", f"rank {rank}"))
        events += [_title(rank, row, "thread_name", name) for row, name in rows]
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}) + "\n"


def _spans(rank: int, recorder: Recorder, zero: float) -> Iterator[dict[str, Any]]:
    for s in recorder.spans:
        yield _event(rank, _COMPUTE, s.begin - zero, s.end - zero, s.name, "compute", {})


def _wait(rank: int, wait: Wait, starts: Starts, zero: float) -> Iterator[dict[str, Any]]:
    """What a wait was for: first for ranks, then for data."""
    what = _name(wait.what)
    args = _args(wait.what)
    late = missing(wait, starts)
    if wait.joined > wait.begin:
        told = {**args, "missing_ms": {str(r): round(1e3 * s, 3) for r, s in late.items()}}
        yield _event(rank, _WAIT, wait.begin - zero, wait.joined - zero, what, "wait", told)
    if wait.end > wait.joined:
        yield _event(rank, _COPY, wait.joined - zero, wait.end - zero, what, "copy", args)


def _lanes(collectives: Iterable[Collective]) -> list[list[Collective]]:
    """Rows in which no two overlap."""
    lanes: list[list[Collective]] = []
    for c in sorted(collectives, key=lambda c: c.started):
        free = next((lane for lane in lanes if lane[-1].ended <= c.started), None)
        if free is None:
            lanes.append([c])
        else:
            free.append(c)
    return lanes


def _name(collective: Collective) -> str:
    return collective.text.partition(" at ")[0]


def _args(collective: Collective) -> dict[str, Any]:
    """Bytes, the user's line, and when all ranks had joined, from the call on."""
    args: dict[str, Any] = {"bytes": collective.moved, "at": collective.text.partition(" at ")[2]}
    if collective.joined is not None:
        args["joined_ms"] = round(1e3 * (collective.joined - collective.started), 3)
    return args


def _event(
    rank: int, row: int, begin: float, end: float, name: str, kind: str, args: Mapping[str, Any]
) -> dict[str, Any]:
    place = {"ph": "X", "pid": rank, "tid": row, "name": name, "cat": kind}
    return {
        **place,
        "ts": round(1e6 * begin, 3),
        "dur": round(1e6 * (end - begin), 3),
        "args": dict(args),
    }


def _title(rank: int, row: int, kind: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": rank, "tid": row, "name": kind, "args": {"name": name}}


def table_of(ranks: Sequence[RankTimes]) -> str:
    """The times of all ranks as lines of text."""
    names = list(dict.fromkeys(name for times in ranks for name in times.parts))
    lines = [
        "  ".join(f"{n:>10}" for n in ("rank", "compute", *names, "wait", "copy", "waited for"))
    ]
    for times in ranks:
        parts = (times.parts.get(name, 0.0) for name in names)
        seconds = (times.compute, *parts, times.wait, times.copy, times.waited_for)
        lines.append("  ".join((f"{times.rank:>10}", *(f"{s:>9.4f}s" for s in seconds))))
    return "\n".join(lines)
