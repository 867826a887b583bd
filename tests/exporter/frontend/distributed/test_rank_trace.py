# SPDX-License-Identifier: Apache-2.0
"""Times and traces from recordings that are made by hand."""

from __future__ import annotations

import json

import pytest

from samara.exporter.frontend.distributed._rank_trace import table_of, times_of, trace_of
from samara.exporter.frontend.distributed._recorder import Collective, Recorder, Span, Wait


def _recordings() -> dict[int, Recorder]:
    """Three ranks in two collectives: rank 1 is late in the first, ranks 1 and 2 in the second.

    All have joined the first at 4, it ends at 5; the second at 9, ends at 9. Computing takes the rest.
    """
    starts = {0: (1.0, 6.0), 1: (4.0, 9.0), 2: (2.0, 8.0)}
    found = {}
    for rank, (first, second) in starts.items():
        one = Collective((0, 0), "bucket a at x.py:3 in f", 400, first, 4.0, 5.0)
        two = Collective((0, 1), "bucket b at x.py:4 in f", 80, second, 9.0, 9.0)
        spans = [Span("forward", 0.0, 1.0), Span("backward", 1.0, 5.5)]
        waits = [Wait(one, first, 5.0), Wait(two, second, 9.0)]
        found[rank] = Recorder(0.0, 10.0, spans, [one, two], waits)
    return found


def test_times() -> None:
    times = times_of(_recordings())
    assert [t.wait for t in times] == [6.0, 0.0, 3.0]
    assert [t.copy for t in times] == [1.0, 1.0, 1.0]
    assert [t.compute for t in times] == [3.0, 9.0, 6.0]
    # Rank 1: 3 + 3 s by rank 0, 2 + 1 s by rank 2. Rank 2: 1 + 2 s by rank 0.
    assert [t.waited_for for t in times] == [0.0, 4.5, 1.5]
    assert [t.parts for t in times] == [
        {"forward": 1.0, "backward": 0.5},
        {"forward": 1.0, "backward": 3.5},
        {"forward": 1.0, "backward": 1.5},
    ]
    head, row, *_ = table_of(times).splitlines()
    assert head.split() == [
        "rank",
        "compute",
        "forward",
        "backward",
        "wait",
        "copy",
        "waited",
        "for",
    ]
    assert row.split() == ["0", "3.0000s", "1.0000s", "0.5000s", "6.0000s", "1.0000s", "0.0000s"]


def test_a_message_is_waited_for_but_nobody_is_blamed() -> None:
    message = Collective(None, "recv() from any rank", 8, 1.0, None, 3.0)
    (times,) = times_of({4: Recorder(0.0, 4.0, [], [message], [Wait(message, 1.0, 3.0)])})
    assert (times.rank, times.wait, times.copy, times.waited_for) == (4, 2.0, 0.0, 0.0)


def test_trace() -> None:
    trace = json.loads(trace_of(_recordings()))
    assert trace["displayTimeUnit"] == "ms"
    events = trace["traceEvents"]
    titles = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert [titles[0, row] for row in (1, 2, 3, 4)] == ["compute", "wait", "copy", "collectives 1"]
    ranks = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert ranks == ["rank 0", "rank 1", "rank 2"]
    mine = [e for e in events if e["ph"] == "X" and e["pid"] == 0]
    shown = [(titles[0, e["tid"]], e["name"], e["ts"] / 1e6, e["dur"] / 1e6) for e in mine]
    assert shown == [
        ("compute", "forward", 0.0, 1.0),
        ("compute", "backward", 1.0, 4.5),
        ("wait", "bucket a", 1.0, 3.0),
        ("copy", "bucket a", 4.0, 1.0),
        ("wait", "bucket b", 6.0, 3.0),
        ("collectives 1", "bucket a", 1.0, 4.0),
        ("collectives 1", "bucket b", 6.0, 3.0),
    ]
    assert mine[2]["args"] == {
        "bytes": 400,
        "at": "x.py:3 in f",
        "joined_ms": 3000.0,
        "missing_ms": {"1": 3000.0, "2": 1000.0},
    }


@pytest.mark.parametrize(("second", "rows"), [(2.0, 2), (3.0, 1)])
def test_collectives_that_overlap_have_rows_of_their_own(second: float, rows: int) -> None:
    works = [Collective((0, k), "x", 1, at, None, at + 2) for k, at in enumerate((1.0, second))]
    events = json.loads(trace_of({0: Recorder(0.0, 9.0, [], works, [])}))["traceEvents"]
    assert len({e["tid"] for e in events if e["ph"] == "X"}) == rows
