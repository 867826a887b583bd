# SPDX-License-Identifier: Apache-2.0
"""How much running independent branches in parallel could gain: `python -m benchmarks.lanes MODEL…`.

Every node is timed with one thread and with two. A schedule of two lanes may run a node in one lane (time of one
thread) or split over both (time of two threads). Synchronization is assumed to cost nothing, and memory to be
shared without loss. Compared with running the nodes one after the other, each split, the table has

* bound: the limit of any such schedule, from the longest chain and half of all work;
* found: what list scheduling reaches (Graham 1969), with the longest way to the end first;
* lanes only: the same without splitting any node.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import samara
from samara.exporter.ir import Function
from samara.exporter.measure.machine import interleave
from samara.exporter.types.text import table


@dataclass(frozen=True)
class Timed:
    """A node: microseconds with one thread and with two, and the nodes that it depends on."""

    one: float
    two: float
    after: tuple[int, ...]

    @property
    def split(self) -> float:
        """The time over both lanes, at most the time in one."""
        return min(self.one, self.two)


def dependencies(function: Function) -> list[tuple[int, ...]]:
    """For every node the indices of those whose results it reads."""
    producer = {value: i for i, node in enumerate(function.nodes) for value in node.outputs}
    return [
        tuple(sorted({producer[v] for v in node.inputs if v in producer}))
        for node in function.nodes
    ]


def ways(nodes: Sequence[Timed]) -> list[float]:
    """The longest chain from every node to the end."""
    found = [0.0] * len(nodes)
    for i in reversed(range(len(nodes))):
        found[i] += nodes[i].split
        for before in nodes[i].after:
            found[before] = max(found[before], found[i])
    return found


def bound(nodes: Sequence[Timed]) -> float:
    """A lower bound for the time of any schedule of two lanes."""
    work = sum(min(node.one, 2 * node.split) for node in nodes)
    return max(max(ways(nodes), default=0.0), work / 2)


def schedule(nodes: Sequence[Timed], *, split: bool = True) -> float:
    """The time of a list schedule; split: a node may use both lanes if both are free."""
    rank, lanes = ways(nodes), [0.0, 0.0]
    ends: dict[int, float] = {}
    left = set(range(len(nodes)))
    while left:
        ready = [i for i in left if all(b in ends for b in nodes[i].after)]
        starts = {i: max((ends[b] for b in nodes[i].after), default=0.0) for i in ready}
        now = min(lanes)
        # Of the nodes that can start first, take the one with the longest way to the end.
        chosen = min(ready, key=lambda i: (max(starts[i], now), -rank[i]))
        begin = max(starts[chosen], now)
        others = [i for i in ready if i != chosen and starts[i] <= begin]
        if split and not others and max(lanes) <= begin:
            ends[chosen] = begin + nodes[chosen].split
            lanes = [ends[chosen]] * 2
        else:
            ends[chosen] = begin + nodes[chosen].one
            lanes[lanes.index(now)] = ends[chosen]
        left.remove(chosen)
    return max(ends.values(), default=0.0)


def measure(path: Path, runs: int) -> list[Timed]:
    """The nodes of the entry with the medians of their times over interleaved runs."""
    program = samara.open_program(path)
    function = program.main
    feeds = samples(path)
    sessions = [samara.Session(path, threads=threads) for threads in (1, 2)]
    times: list[list[list[float]]] = [[], []]

    def run(at: int) -> None:
        sessions[at].run(feeds)
        rows = sessions[at].profile()
        if len(rows) != len(function.nodes):
            raise SystemExit(
                f"{path.name}: the profile has {len(rows)} rows, expected one for each of {len(function.nodes)} nodes"
            )
        times[at].append([row.total_us / max(1, row.count) for row in rows])

    interleave([lambda: run(0), lambda: run(1)], runs)
    one, two = (
        [statistics.median(column) for column in zip(*rows[1:], strict=True)] for rows in times
    )
    return [Timed(*row) for row in zip(one, two, dependencies(function), strict=True)]


def samples(path: Path) -> Mapping[str, np.ndarray]:
    """Seeded random inputs."""
    rng = np.random.default_rng(0)
    specs = samara.Session(path, threads=1).inputs
    return {
        spec.name: rng.standard_normal([int(d) for d in spec.shape]).astype(spec.dtype)
        for spec in specs
    }


def row(name: str, nodes: Sequence[Timed]) -> list[str]:
    """The row of a model."""
    one, two = sum(node.one for node in nodes), sum(node.split for node in nodes)
    times = (bound(nodes), schedule(nodes), schedule(nodes, split=False))
    return [name, f"{one:,.0f}", f"{two:,.0f}", f"{one / two:.2f}"] + [
        f"{two / t:.2f}" for t in times
    ]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "models", nargs="+", type=Path, help=".samara or .onnx files of known sizes"
    )
    parser.add_argument("--runs", type=int, default=60)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in args.models:
            path = model
            if model.suffix == ".onnx":
                path = Path(folder) / f"{model.parent.name}.samara"
                samara.export(samara.import_onnx(model), path, check=False)
            rows.append(row(f"{model.parent.name}/{model.stem}", measure(path, args.runs)))
    head = ["model", "1 thread, us", "2 threads, us", "speed-up", "bound", "found", "lanes only"]
    print(table(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
