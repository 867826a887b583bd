# SPDX-License-Identifier: Apache-2.0
"""Measure the algorithms of each node here, and keep the winners for sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samara.exporter.ir import Array, open_program
from samara.exporter.measure.device_use import DeviceUse, device_use
from samara.exporter.measure.feeds import Given, session_feeds
from samara.exporter.measure.inside import functions_inside
from samara.exporter.measure.machine import Progress
from samara.exporter.opening import OpenedFile
from samara.exporter.passes import difference
from samara.exporter.types import SamaraError
from samara.exporter.types.text import plain, table
from samara.pybridge import Model, Session
from samara.pybridge.atomic import make_folder, write_text
from samara.pybridge.device import CPU, BackendChoice
from samara.pybridge.tuned import NodeChoice, cache_path, tuned_header

# Another algorithm must save this share to replace the cost model's choice; less is noise.
_LEAST_GAIN = 0.03

# Function and name of a node.
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TunedNode:
    """A node with several possible algorithms: microseconds of each, and the winner.

    `default` is the cost model's choice; it stays unless another one is 3 % faster. microseconds: empty for
    a node of a branch that the inputs do not take. path: the node's name, with the control nodes that
    contain it in front.
    """

    function: str
    node: str
    op: str
    default: str
    winner: str
    microseconds: Mapping[str, float]
    path: str = ""


@dataclass(frozen=True, slots=True)
class TuneReport:
    """The measurements, and the file of the winners: `path`, for sessions with the lines `key`.

    tolerances: the largest difference of the tuned outputs from those of the cost model's choices, in units
    of the model tolerance. use: of the devices, if there were some; nodes on them are not measured.
    """

    model: str
    path: str
    key: str
    threads: int
    runs: int
    nodes: tuple[TunedNode, ...]
    before_us: float
    after_us: float
    tolerances: float
    use: DeviceUse | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return dict(plain(self))

    def text(self) -> str:
        """A table of the nodes, and what the changes save."""
        changed = [n for n in self.nodes if n.winner != n.default]
        where = "" if self.use is None else f"; {self.use.text()}"
        lines = [f"{self.model}: {len(self.nodes)} nodes have several algorithms{where}"]
        if self.nodes:
            rows = [
                (
                    n.path or n.node,
                    n.op,
                    n.default,
                    n.winner if n.winner != n.default else "the same",
                    ", ".join(f"{name} {us:.1f}" for name, us in n.microseconds.items())
                    or "not reached with these inputs",
                )
                for n in self.nodes
            ]
            lines.append(table(("node", "op", "cost model", "measured best", "us of each"), rows))
        lines.append(
            f"{len(changed)} change: {self.before_us:.1f} us of these nodes become"
            f" {self.after_us:.1f} us; outputs differ by {self.tolerances:.2g} of the tolerance"
        )
        lines.append(f"stored in {self.path}; sessions use it with tuned=True or SAMARA_TUNED")
        return "\n".join(lines)


def tune(
    file: OpenedFile,
    *,
    function: str | None = None,
    threads: int = 1,
    isa: str | None = None,
    backend: BackendChoice = CPU,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    runs: int = 20,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = lambda _done, _total: None,
) -> TuneReport:
    """Measure every algorithm of each node of the function, and write the winners.

    inputs, files: for these runs, as read_feeds takes them; other inputs get seeded random data. Nodes of
    branches that these inputs do not take keep the cost model's choice. backend: devices, as a Session
    takes them; only nodes that stay on the CPU are measured.

    Sessions that differ in the algorithms of their nodes take turns, so that other load on the machine
    affects all alike; a node's time is its minimum. out: the file; default: the cache, where
    Session(tuned=True) looks. SamaraError if the tuned outputs exceed the tolerance.
    """
    model = Model(file.path)
    header = tuned_header(model, isa)
    common: dict[str, Any] = {"function": function, "threads": threads, "isa": isa}
    common |= {"backend": backend, "wait": True}
    first = Session(model, tuned=False, **common)
    chosen = session_feeds(first, inputs=inputs, files=files, shapes=shapes, seed=seed)
    feeds = chosen.arrays
    answers = first.run(feeds)
    away = {(row.function, row.node) for row in first.placement() if row.device != CPU}
    open_nodes = [c for c in first.choices() if len(c.algorithms) > 1 and _key(c) not in away]
    most = max((len(c.algorithms) for c in open_nodes), default=1)
    sessions = [first]
    for rank in range(1, most):
        forced = {_key(c): _names(c)[min(rank, len(c.algorithms) - 1)] for c in open_nodes}
        sessions.append(_forced(model, header, forced, common))
    times = _measured(sessions, feeds, runs if open_nodes else 0, progress)
    program = open_program(file.path)
    inside = functions_inside(program, first.function, {})
    nodes = tuple(_decided(c, times, inside[c.function].place(c.node)) for c in open_nodes)
    winners = {(n.function, n.node): n.winner for n in nodes}
    tuned = _forced(model, header, winners, common)
    got = tuned.run(feeds)
    worst = max((difference(got[name], want) for name, want in answers.items()), default=0.0)
    if not worst <= 1.0:
        raise SamaraError(
            f"the measured choices change the answers by {worst:.2g} of the tolerance",
            fix="nothing was written; please report the model",
        )
    path = cache_path(header) if out is None else Path(out)
    make_folder(path.parent)
    write_text(path, _text(header, winners))
    return TuneReport(
        model=file.given,
        path=os.fspath(path),
        key=header,
        threads=threads,
        runs=runs,
        nodes=nodes,
        before_us=sum(n.microseconds.get(n.default, 0.0) for n in nodes),
        after_us=sum(n.microseconds.get(n.winner, 0.0) for n in nodes),
        tolerances=worst,
        use=None if backend == CPU else device_use(tuned),
    )


def _key(choice: NodeChoice) -> _Key:
    return choice.function, choice.node


def _names(choice: NodeChoice) -> list[str]:
    return [name for name, _ in choice.algorithms]


def _text(header: str, winners: Mapping[_Key, str]) -> str:
    return header + "".join(f"{f}\t{node}\t{name}\n" for (f, node), name in winners.items())


def _forced(
    model: Model, header: str, winners: Mapping[_Key, str], common: Mapping[str, Any]
) -> Session:
    """A session whose nodes use these algorithms."""
    return Session(model, tuned=_text(header, winners).encode(), **common)


def _measured(
    sessions: Sequence[Session], feeds: Mapping[str, Array], runs: int, progress: Progress
) -> dict[_Key, dict[str, float]]:
    """The minimum time of every node by algorithm, over `runs` rounds in which all take turns."""
    taken = []
    for session in sessions:
        session.run(feeds)
        session.set_profiling(True)
        taken.append({_key(c): _names(c)[0] for c in session.choices() if c.algorithms})
    least: dict[_Key, dict[str, float]] = {}
    for done in range(runs):
        for session, algorithms in zip(sessions, taken, strict=True):
            session.reset()
            session.run(feeds)
            for row in session.profile():
                name = algorithms.get((row.function, row.node))
                if name is not None:
                    known = least.setdefault((row.function, row.node), {})
                    known[name] = min(row.total_us, known.get(name, row.total_us))
        progress(done + 1, runs)
    return least


def _decided(choice: NodeChoice, times: Mapping[_Key, Mapping[str, float]], path: str) -> TunedNode:
    winner = default = _names(choice)[0]
    # A node of a branch that was not taken has no times and keeps the cost model's choice.
    found = times.get(_key(choice), {})
    if found:
        best = min(found, key=lambda name: found[name])
        winner = best if found[best] < (1 - _LEAST_GAIN) * found[default] else default
    return TunedNode(choice.function, choice.node, choice.op, default, winner, dict(found), path)
