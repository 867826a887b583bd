# SPDX-License-Identifier: Apache-2.0
"""Times of nodes, including those in branches and loops: kernel, algorithm, runner-up, shares of the run
and of the machine's limits.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from samara.exporter.ir import Function, Node, open_program
from samara.exporter.measure.costs import bytes_of, flops_of, symbol_sizes
from samara.exporter.measure.feeds import Feeds
from samara.exporter.measure.inside import Inside, functions_inside
from samara.exporter.measure.machine import Roof
from samara.exporter.measure.modules import module_path
from samara.exporter.opening import OpenedFile
from samara.exporter.types import DType, ShapeError
from samara.exporter.types.text import table
from samara.pybridge import ProfileRow, Session
from samara.pybridge.tuned import NodeChoice


@dataclass(frozen=True, slots=True)
class NodeTime:
    """The median time of one node in microseconds, summed over its executions in a run, and its kernel.

    algorithm, runner_up: the operator's choice and the next best, "" if it has only one; `tuned`: whether
    a measurement decided. estimates_us: the cost model's estimates of the two. roof_share: the minimum
    time for its operations and bytes here divided by the median; None if either is unknown. path: for a node
    inside a branch or a loop, the control nodes that contain it, as `If_0/then/conv1`; else its name.
    function: that contains it. executions: in one run. share: of the time of the run; that of a control
    node includes the nodes inside it. source: the author's line and the module's path, `net.py:12 in
    layers.0.conv`, if the model has them. module: the modules that contain it, as `layers/0`.
    """

    node: str
    op: str
    kernel: str
    median_us: float
    gflops: float | None
    algorithm: str = ""
    runner_up: str = ""
    tuned: bool = False
    estimates_us: tuple[float, ...] = ()
    roof_share: float | None = None
    path: str = ""
    function: str = ""
    executions: int = 1
    share: float | None = None
    source: str = ""
    module: str = ""


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """The requested nodes; and the best share of a run that the nodes of its function account for.
    not_reached: paths of requested nodes that did not run.
    """

    nodes: tuple[NodeTime, ...]
    share: float
    not_reached: tuple[str, ...]


def node_times(
    file: OpenedFile, session: Session, chosen: Feeds, wanted: str, runs: int, roof: Roof | None
) -> NodeTimes:
    """Medians over `runs` profiled runs of the nodes that `wanted` names: a part of the path, operator or
    function, or of a tensor that was fused into the node.

    ShapeError if no node has such a name, or none of them ran.
    """
    program = open_program(file.path)
    main = program.functions[session.function]
    inside = functions_inside(program, main.name, symbol_sizes(main, chosen.arrays))
    nodes = named_nodes(inside, wanted)
    session.set_profiling(True)
    rows: dict[NodeKey, list[ProfileRow]] = {}
    run_us: list[float] = []
    share = 0.0
    for _ in range(runs):
        session.reset()  # state that grows is full in the end
        session.run(chosen.arrays)
        profile = session.profile()
        run_us.append(run_time_us(profile, main.name))
        outer = sum(row.total_us for row in profile if row.function == main.name)
        share = max(share, outer / max(run_us[-1], 1e-3))
        for key, row in profile_keys(profile).items():
            if key in nodes:
                rows.setdefault(key, []).append(row)
    session.set_profiling(False)
    not_reached = tuple(inside[k[0]].place(n.name) for k, n in nodes.items() if k not in rows)
    if not rows:
        raise ShapeError(
            f"no node whose path or operator contains {wanted!r} ran: {', '.join(not_reached[:4])}"
            + (" …" if len(not_reached) > 4 else ""),
            fix="they are in branches that these inputs do not take; give others with --input",
        )
    choices = {(c.function, c.node): c for c in session.choices()}
    found = [
        _node_time(
            nodes[k], inside[k[0]], every, choices.get(k[:2]), statistics.median(run_us), roof
        )
        for k, every in rows.items()
    ]
    return NodeTimes(tuple(found), share, not_reached)


NodeKey = tuple[str, str, str, int]
"""A node: function, name, operator, and its index among equal ones, because names need not be unique."""


def named_nodes(inside: Mapping[str, Inside], wanted: str) -> dict[NodeKey, Node]:
    """The nodes whose path, operator or function contains `wanted`, or that a tensor of such a name was fused
    into. ShapeError if there are none.
    """
    found = {
        key: n
        for f in inside.values()
        for key, n in keyed(f.function).items()
        if _is_named(f, n, wanted)
    }
    if not found:
        names = [f.place(n.name) for f in inside.values() for n in f.function.nodes]
        raise ShapeError(
            f"no node's path or operator contains {wanted!r}",
            fix=f"nodes are {', '.join(names[:10])}" + (" …" if len(names) > 10 else ""),
        )
    return found


def keyed(f: Function) -> dict[NodeKey, Node]:
    """The nodes of a function by the keys of profile_keys."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found: dict[NodeKey, Node] = {}
    for n in f.nodes:
        named = f.name, n.name, n.op.name
        found[*named, seen[named]] = n
        seen[named] += 1
    return found


def profile_keys(rows: Sequence[ProfileRow]) -> dict[NodeKey, ProfileRow]:
    """The rows of a profile by the keys of their nodes."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found: dict[NodeKey, ProfileRow] = {}
    for row in rows:
        named = row.function, row.node, row.op
        found[*named, seen[named]] = row
        seen[named] += 1
    return found


def run_time_us(profile: Sequence[ProfileRow], function: str) -> float:
    """The duration of a run of `function`, by its profile."""
    return max((r.start_us + r.total_us for r in profile if r.function == function), default=0.0)


def _node_time(
    node: Node,
    inside: Inside,
    rows: Sequence[ProfileRow],
    choice: NodeChoice | None,
    run_us: float,
    roof: Roof | None,
) -> NodeTime:
    algorithms = choice.algorithms if choice is not None else ()
    median, last = statistics.median(r.total_us for r in rows), rows[-1]
    rates = node_rates(node, last.kernel, median / max(last.count, 1), inside.sizes, roof)
    return NodeTime(
        node.name,
        node.op.name,
        last.kernel,
        median,
        rates[0],
        algorithm=algorithms[0][0] if algorithms else "",
        runner_up=algorithms[1][0] if len(algorithms) > 1 else "",
        tuned=choice is not None and choice.tuned,
        estimates_us=tuple(us for _, us in algorithms[:2]),
        roof_share=rates[1],
        path=inside.place(node.name),
        function=last.function,
        executions=last.count,
        share=median / run_us if run_us > 0 else None,
        source=source_of(node),
        module=module_path(node),
    )


def source_of(node: Node) -> str:
    """Where the author wrote a node, if the model says it."""
    return "" if node.source is None else node.source.place


def node_rates(
    node: Node, kernel: str, us: float, sizes: Mapping[str, int], roof: Roof | None
) -> tuple[float | None, float | None]:
    """1e9 operations per second, and the share of the roof, of a node whose `kernel` took `us` per execution;
    None if they have no meaning for it.
    """
    cost, moved = flops_of(node, sizes), bytes_of(node, sizes)
    if us <= 0 or kernel == "view" or "control" in node.op.flags:
        return None, None
    share = None
    if roof is not None and cost is not None and moved is not None:
        is_int8 = any(v is not None and v.type.dtype is DType.QS8 for v in node.inputs)
        share = roof.microseconds(cost, moved, is_int8) / us
    return cost / us / 1e3 if cost else None, share


def _is_named(inside: Inside, n: Node, wanted: str) -> bool:
    names = (inside.place(n.name), n.op.name, *n.absorbed)
    within = inside.path != "" and wanted in inside.function.name
    return within or any(wanted in name for name in names)


def nodes_text(
    nodes: Sequence[NodeTime],
    share: float | None,
    roof: Roof | None,
    not_reached: Sequence[str] = (),
) -> str:
    """A table of nodes, and the limits that it refers to."""
    repeated = any(n.executions > 1 for n in nodes)
    sourced = any(n.source for n in nodes)
    rows = [
        (
            n.path or n.node,
            n.op,
            n.kernel,
            n.algorithm + (" (tuned)" if n.tuned else "") or "-",
            n.runner_up or "-",
            *([str(n.executions)] if repeated else []),
            f"{n.median_us:.1f}",
            "-" if n.share is None else f"{100 * n.share:.1f} %",
            "-" if n.gflops is None else f"{n.gflops:.1f}",
            "-" if n.roof_share is None else f"{100 * n.roof_share:.0f} %",
            *([n.source or "-"] if sourced else []),
        )
        for n in nodes
    ]
    heads = (
        "node",
        "op",
        "kernel",
        "algorithm",
        "runner-up",
        *(["times"] if repeated else []),
        "us",
        "of the run",
        "GFLOP/s",
        "of the roof",
        *(["source"] if sourced else []),
    )
    text = table(heads, rows, right={*range(5, len(heads) - sourced)})
    if roof is not None:
        r = roof
        text += (
            f"\nroof of one thread: {r.gflops:.0f} GFLOP/s, {r.int8_gops:.0f} Gop/s of int8,"
            f" {r.cache_gbs:.0f} GB/s in cache, {r.memory_gbs:.0f} GB/s in memory"
        )
    if share is not None:
        text += f"\nall nodes together: {100 * share:.1f} % of the run"
    if not_reached:
        more = f" and {len(not_reached) - 4} more" if len(not_reached) > 4 else ""
        text += f"\nnot reached with these inputs: {', '.join(not_reached[:4])}{more}"
    return text
