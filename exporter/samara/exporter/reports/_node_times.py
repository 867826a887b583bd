# SPDX-License-Identifier: Apache-2.0
"""The times of nodes: kernel, algorithm, runner-up, and the share of what the machine can do."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from samara.exporter.ir import Node, open_program
from samara.exporter.reports._costs import bytes_of, flops_of, symbol_sizes
from samara.exporter.reports._feeds import Feeds
from samara.exporter.reports._files import OpenedFile
from samara.exporter.reports._measure import Roof
from samara.exporter.types import DType, ShapeError
from samara.exporter.types.text import table
from samara.pybridge import Session
from samara.pybridge.tuned import NodeChoice


@dataclass(frozen=True, slots=True)
class NodeTime:
    """The median time of one node in microseconds, with the kernel that ran.

    algorithm, runner_up: what the operator chose and what came next, "" where it knows one way only;
    `tuned` says that a measurement decided. estimates_us: what the cost model gives these.
    roof_share: the least time for its operations and bytes here over the median; None where either
    is unknown.
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


def node_times(
    file: OpenedFile, session: Session, chosen: Feeds, wanted: str, runs: int, roof: Roof | None
) -> tuple[tuple[NodeTime, ...], float]:
    """Medians over `runs` profiled runs of the nodes that `wanted` names: a part of the name or
    operator, or of a tensor that was fused into the node. And the share of a run, the best of them,
    that all nodes of the function together account for.
    """
    f = open_program(file.path).functions[session.function]
    sizes = symbol_sizes(f, chosen.arrays)
    nodes = {n.name: n for n in f.nodes if _is_named(n, wanted)}
    if not nodes:
        names = ", ".join(n.name for n in f.nodes[:10])
        raise ShapeError(f"no node's name contains {wanted!r}", fix=f"nodes are {names} …")
    session.set_profiling(True)
    times: dict[tuple[str, str, str], list[float]] = {}
    share = 0.0
    for _ in range(runs):
        session.run(chosen.arrays)
        profile = [row for row in session.profile() if row.function == session.function]
        end = max(row.start_us + row.total_us for row in profile)
        share = max(share, sum(row.total_us for row in profile) / max(end, 1e-3))
        for row in profile:
            if row.node in nodes:
                times.setdefault((row.node, row.op, row.kernel), []).append(row.total_us)
    session.set_profiling(False)
    choices = {c.node: c for c in session.choices() if c.function == session.function}
    found = [
        _node_time(nodes[key[0]], key, statistics.median(values), choices.get(key[0]), sizes, roof)
        for key, values in times.items()
    ]
    return tuple(found), share


def _node_time(
    node: Node,
    key: tuple[str, str, str],
    median: float,
    choice: NodeChoice | None,
    sizes: Mapping[str, int],
    roof: Roof | None,
) -> NodeTime:
    algorithms = choice.algorithms if choice is not None else ()
    gflops, share = node_rates(node, key[2], median, sizes, roof)
    return NodeTime(
        *key,
        median,
        gflops,
        algorithm=algorithms[0][0] if algorithms else "",
        runner_up=algorithms[1][0] if len(algorithms) > 1 else "",
        tuned=choice is not None and choice.tuned,
        estimates_us=tuple(us for _, us in algorithms[:2]),
        roof_share=share,
    )


def node_rates(
    node: Node, kernel: str, us: float, sizes: Mapping[str, int], roof: Roof | None
) -> tuple[float | None, float | None]:
    """1e9 operations per second and the share of the roof of a node that `kernel` took `us` for;
    None where they mean nothing.
    """
    cost, moved = flops_of(node, sizes), bytes_of(node, sizes)
    if us <= 0 or kernel == "view":
        return None, None
    share = None
    if roof is not None and cost is not None and moved is not None:
        is_int8 = any(v is not None and v.type.dtype is DType.QS8 for v in node.inputs)
        share = roof.microseconds(cost, moved, is_int8) / us
    return cost / us / 1e3 if cost else None, share


def _is_named(node: Node, wanted: str) -> bool:
    return any(wanted in name for name in (node.name, node.op.name, *node.absorbed))


def nodes_text(nodes: Sequence[NodeTime], share: float | None, roof: Roof | None) -> str:
    """A table of nodes, and what it is measured by."""
    rows = [
        (
            n.node,
            n.op,
            n.kernel,
            n.algorithm + (" (tuned)" if n.tuned else "") or "-",
            n.runner_up or "-",
            f"{n.median_us:.1f}",
            "-" if n.gflops is None else f"{n.gflops:.1f}",
            "-" if n.roof_share is None else f"{100 * n.roof_share:.0f} %",
        )
        for n in nodes
    ]
    heads = ("node", "op", "kernel", "algorithm", "runner-up", "us", "GFLOP/s", "of the roof")
    text = table(heads, rows, right={5, 6, 7})
    if roof is not None:
        r = roof
        text += (
            f"\nroof of one thread: {r.gflops:.0f} GFLOP/s, {r.int8_gops:.0f} Gop/s of int8,"
            f" {r.cache_gbs:.0f} GB/s in cache, {r.memory_gbs:.0f} GB/s in memory"
        )
    if share is not None:
        text += f"\nall nodes together: {100 * share:.1f} % of the run"
    return text
