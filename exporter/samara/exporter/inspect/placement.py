# SPDX-License-Identifier: Apache-2.0
"""Where the nodes of a model run, and why: the table of `samara inspect --placement`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samara.exporter.ir import Node, open_program
from samara.exporter.measure.costs import flops_of, symbol_sizes
from samara.exporter.measure.device_use import DeviceUse, device_use, settle
from samara.exporter.measure.feeds import Given, session_feeds
from samara.exporter.measure.inside import Inside, functions_inside
from samara.exporter.measure.node_times import keyed
from samara.exporter.ops.facts import Kind
from samara.exporter.types.text import count_text, plain, table
from samara.pybridge import PlacementRow, Session
from samara.pybridge.device import AUTO, BackendChoice

# Their cost in the table counts multiply-adds, which are two operations each.
_PRODUCTS = (Kind.PRODUCT, Kind.RECURRENT)


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node and its device.

    path: for a node inside a branch or a loop, the control nodes that contain it. cost_us: its estimated
    time there, runner_up_us at the second-best place; 0 without an estimate. region: nodes with the same
    number run as a whole; 0 on the CPU. flops, multiply_adds: of one execution; None if sizes depend on
    data.
    """

    function: str
    node: str
    path: str
    op: str
    device: str
    reason: str
    cost_us: float
    runner_up: str | None
    runner_up_us: float
    region: int
    flops: int | None
    multiply_adds: int | None


@dataclass(frozen=True, slots=True)
class DeviceTotal:
    """The totals of a device. unknown: nodes whose operations depend on data."""

    device: str
    nodes: int
    multiply_adds: int
    flops: int
    unknown: int


@dataclass(frozen=True, slots=True)
class PlacementReport:
    """Where every node runs, after a run on inputs of `sizes`."""

    model: str
    backend: str
    use: DeviceUse
    sizes: Mapping[str, int]
    nodes: tuple[PlacedNode, ...]
    totals: tuple[DeviceTotal, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return dict(plain(self))

    def text(self) -> str:
        """A table of the nodes, and totals by device."""
        lines = [f"{self.model} on {self.backend}: {self.use.text()}"]
        if self.sizes:
            lines.append("sizes: " + ", ".join(f"{k}={v}" for k, v in self.sizes.items()))
        rows = [
            (
                n.path,
                n.op,
                n.device,
                str(n.region) if n.region else "-",
                n.reason,
                _us(n.cost_us),
                "-" if n.runner_up is None else f"{n.runner_up} {_us(n.runner_up_us)}",
            )
            for n in self.nodes
        ]
        heads = ("node", "op", "device", "region", "reason", "us", "runner-up us")
        lines.append(table(heads, rows, right={3, 5}))
        totals = [
            (
                t.device,
                str(t.nodes),
                count_text(t.multiply_adds),
                count_text(t.flops),
                f"{t.unknown} nodes depend on data" if t.unknown else "",
            )
            for t in self.totals
        ]
        sums = ("device", "nodes", "multiply-adds", "flops", "")
        lines.append(table(sums, totals, right={1, 2, 3}))
        return "\n".join(lines)


def placement(
    path: str | os.PathLike[str],
    *,
    backend: BackendChoice = AUTO,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    isa: str | None = None,
    threads: int = 1,
    name: str | None = None,
) -> PlacementReport:
    """Where the nodes of a `.samara` file's default function run, on devices as a Session takes them.

    The function is run, because "auto" decides by the sizes of inputs and by measured times. inputs, files:
    as read_feeds takes them; other inputs get random data. name: the file's name in the report.
    SamaraError if it cannot run.
    """
    program = open_program(path)
    session = Session(path, backend=backend, wait=True, isa=isa, threads=threads)
    chosen = session_feeds(session, inputs=inputs, files=files, shapes=shapes)
    session.run(chosen.arrays)
    settle(session, chosen.arrays)
    main = program.main
    inside = functions_inside(program, main.name, symbol_sizes(main, chosen.arrays))
    nodes = tuple(_placed(session.placement(), inside))
    devices = dict.fromkeys(n.device for n in nodes)
    return PlacementReport(
        model=os.fspath(path) if name is None else name,
        backend=_listed(backend),
        use=device_use(session),
        sizes=dict(chosen.sizes),
        nodes=nodes,
        totals=tuple(_total(d, [n for n in nodes if n.device == d]) for d in devices),
    )


def _placed(rows: Sequence[PlacementRow], inside: Mapping[str, Inside]) -> list[PlacedNode]:
    """The rows together with the program's data about their nodes, matched by name in order."""
    known = {name: keyed(f.function) for name, f in inside.items()}
    seen: dict[tuple[str, str, str], int] = {}
    found = []
    for row in rows:
        key = row.function, row.node, row.op
        index = seen[key] = seen.get(key, -1) + 1
        node = known.get(row.function, {}).get((*key, index))
        place = inside[row.function].place(row.node) if row.function in inside else row.node
        sizes = inside[row.function].sizes if row.function in inside else {}
        flops = _flops(node, sizes)
        runner_up, runner_up_us = (None, 0.0) if row.runner_up is None else row.runner_up
        found.append(
            PlacedNode(
                function=row.function,
                node=row.node,
                path=place,
                op=row.op,
                device=row.device,
                reason=row.reason,
                cost_us=row.cost_us,
                runner_up=runner_up,
                runner_up_us=runner_up_us,
                region=row.region,
                flops=flops,
                multiply_adds=_multiply_adds(node, flops),
            )
        )
    return found


def _flops(node: Node | None, sizes: Mapping[str, int]) -> int | None:
    if node is None:
        return None
    return 0 if "control" in node.op.flags else flops_of(node, sizes)


def _multiply_adds(node: Node | None, flops: int | None) -> int | None:
    if node is None or flops is None:
        return None
    return flops // 2 if node.op.kind in _PRODUCTS else 0


def _total(device: str, nodes: Sequence[PlacedNode]) -> DeviceTotal:
    return DeviceTotal(
        device=device,
        nodes=len(nodes),
        multiply_adds=sum(n.multiply_adds or 0 for n in nodes),
        flops=sum(n.flops or 0 for n in nodes),
        unknown=sum(n.flops is None for n in nodes),
    )


def _listed(backend: BackendChoice) -> str:
    several = backend if isinstance(backend, (list, tuple)) else [backend]
    return ", ".join(getattr(b, "source", None) or str(b) for b in several)


def _us(value: float) -> str:
    return "-" if value == 0.0 else f"{value:.3g}"
