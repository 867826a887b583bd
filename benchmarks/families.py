# SPDX-License-Identifier: Apache-2.0
"""The share of the roof that every kernel family reaches in whole nets: `python -m benchmarks.families FILE.samara…`.

Every node of every net is timed with one thread. Its minimum time is the longer of two: its operations at the
measured peak of the core, and its bytes at the measured rate of the cache, or of memory if they do not fit the
cache. A family's fraction is the sum of its nodes' minimum times divided by the sum of their times.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from samara.exporter.measure.bench import bench
from samara.exporter.measure.node_times import NodeTime
from samara.exporter.opening import OpenedFile
from samara.exporter.types.text import table

# Kernels of one family are named FAMILY_TILE__ISA, or FAMILY__ISA.
_VARIANT = re.compile(r"(_\d+x\d+\w*?)?(__\w+)?$")


def family(node: NodeTime) -> tuple[str, str]:
    """The family of the kernel that ran, and the algorithm if the operator has several."""
    return _VARIANT.sub("", node.kernel, count=1), node.algorithm


def rows(nodes: Iterable[NodeTime]) -> list[tuple[str, ...]]:
    """Per family and algorithm: nodes, share of all time, fraction of the roof, and the fractions below which a
    tenth and nine tenths of its time are. The longest time first.
    """
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for node in nodes:
        if node.roof_share is not None:
            found[family(node)].append((node.roof_share, node.median_us))
    total = sum(us for times in found.values() for _, us in times)
    lines = []
    for (name, algorithm), times in found.items():
        spent = sum(us for _, us in times)
        whole = sum(share * us for share, us in times) / spent
        cells = (whole, _below(times, 0.1), _below(times, 0.9))
        texts = [f"{100 * share:.0f} %" for share in cells]
        lines.append((spent, (name, algorithm, len(times), f"{100 * spent / total:.1f} %", *texts)))
    return [tuple(map(str, line)) for _, line in sorted(lines, reverse=True)]


def _below(times: list[tuple[float, float]], quantile: float) -> float:
    """The share of the roof at or below which `quantile` of the time is."""
    left = quantile * sum(us for _, us in times)
    for share, us in sorted(times):
        left -= us
        if left <= 0:
            return share
    return max(share for share, _ in times)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args(arguments)
    nodes: list[NodeTime] = []
    for path in given.files:
        report = bench(OpenedFile(str(path), path), node="", runs=given.runs)
        nodes += report.nodes
        print(f"{path}: {len(report.nodes)} nodes, {report.roof}", file=sys.stderr)
    heads = ("family", "algorithm", "nodes", "of all time", "of the roof", "10 %", "90 %")
    print(table(heads, rows(nodes), right={2, 3, 4, 5, 6}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
