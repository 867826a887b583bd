# SPDX-License-Identifier: Apache-2.0
"""The profile of a run as a Chrome trace, with the paths of nodes inside branches and loops, and every
node's share of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from samara.exporter.ir import Program
from samara.exporter.measure.inside import functions_inside
from samara.exporter.measure.node_times import source_of
from samara.pybridge import Session


def trace_of(session: Session, program: Program) -> str:
    """JSON for chrome://tracing and Perfetto, of the last run of a session that runs `program`.

    The functions of branches and loops have lanes of their own, named by their paths. A lane whose nodes
    ran several times shows each with the time of all its executions, one after the other.
    """
    trace = json.loads(session.trace())
    inside = functions_inside(program, session.function, {})
    lanes: dict[str, list[dict[str, Any]]] = {}
    for event in trace["traceEvents"]:
        lanes.setdefault(event["args"]["function"], []).append(event)
    run_us = max((e["ts"] + e["dur"] for e in lanes.get(session.function, ())), default=0.0)
    sources = {(name, n.name): source_of(n) for name, f in inside.items() for n in f.function.nodes}
    order = [name for name in inside if name in lanes]
    order += [name for name in lanes if name not in inside]
    for tid, name in enumerate(order, 1):
        place = inside[name].place if name in inside else lambda node: node
        for event in _laid_out(lanes[name]):
            event["tid"] = tid
            event["args"]["path"] = place(event["name"])
            if source := sources.get((name, event["name"])):
                event["args"]["source"] = source
            if run_us > 0:
                event["args"]["share"] = round(event["dur"] / run_us, 4)
    if len(order) > 1:
        titles = {name: (inside[name].path if name in inside else "") or name for name in order}
        trace["traceEvents"] += [_title(tid, titles[name]) for tid, name in enumerate(order, 1)]
    return json.dumps(trace) + "\n"


def _laid_out(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events of one function. If they stand for several executions they are placed one after the other,
    because their starts and total times would overlap.
    """
    several = any(e["args"]["count"] > 1 for e in events)
    at = min(e["ts"] for e in events)
    for event in events:
        if several:
            event["ts"] = at
            at = round(at + event["dur"], 3)
        yield event


def _title(tid: int, name: str) -> Mapping[str, Any]:
    return {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}}
