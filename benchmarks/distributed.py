# SPDX-License-Identifier: Apache-2.0
"""Benchmark of data-parallel training: collectives, steps of two ranks beside two threads, and a cost model.

Usage: python -m benchmarks.distributed [--quick] [--torch PYTHON] [--json FILE] [--page FILE]. Ranks have one thread.
The networks are one host (shared memory) and two nodes made by examples/two_nodes.py, which needs root. With
--torch PyTorch's DistributedDataParallel with gloo takes the same steps in turns with samara's. The tables are
Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import distributed_cost as cost
from benchmarks import distributed_nets as nets

ROOT = Path(__file__).resolve().parent.parent
RANKS = ROOT / "benchmarks" / "distributed_ranks.py"
TORCH = ROOT / "benchmarks" / "distributed_torch.py"
TWO_NODES = ROOT / "examples" / "two_nodes.py"
LAUNCH = (sys.executable, "-c", "from samara.cli.main import main; main()", "launch")
THREADS = 2
SHARDS_EACH = 6  # of a rank, at two ranks

# Name, milliseconds between two nodes (None: one host), latencies of a large message: libfabric asks first.
NETWORKS: tuple[tuple[str, float | None, int], ...] = (
    ("one host", None, 1),
    ("two nodes, 0 ms", 0.0, 3),
    ("two nodes, 1 ms", 1.0, 3),
    ("two nodes, 20 ms", 20.0, 1),
)
SIZES = (4, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20)
# Networks of clusters for which the formula is evaluated: 10 Gb/s.
CLUSTERS = (cost.Network("20 us", 20e-6, 1.25e9), cost.Network("1 ms", 1e-3, 1.25e9))
CLUSTER_RANKS = (2, 8, 64)
SHOWN = ("MLP 4 MB", "CNN 4 MB")  # nets in the table of clusters; all are in the JSON file


class NotRunError(Exception):
    """A measurement that this machine cannot make."""


def on(network: str, count: int) -> str:
    """The network, as a machine with fewer cores than ranks has it: each message waits for a core."""
    return network if count <= (os.cpu_count() or count) else f"{network}, shared cores"


def run(words: Sequence[str], folder: Path, python_path: Sequence[str] = ()) -> Any:
    """What a program writes to found.json of `folder`. python_path: where its modules are."""
    path = os.pathsep.join(python_path)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        told = [line for line in lines if line.startswith("NOT RUN: ")]
        raise NotRunError((told or lines or ["no message"])[-1].removeprefix("NOT RUN: "))
    return json.loads((folder / "found.json").read_text(encoding="ascii"))


def ranks(count: int, delay: float | None, options: dict[str, Any]) -> Any:
    """Measure with `count` ranks; see distributed_ranks.py for the options."""
    start = [*LAUNCH, "-n", str(count), "--threads", "1"]
    if delay is not None:
        start = [sys.executable, str(TWO_NODES), "--delay", f"{delay:g}", "-n", str(count)]
    with tempfile.TemporaryDirectory() as folder:
        words = [*start, str(RANKS), folder, json.dumps(options)]
        return run(words, Path(folder), [str(ROOT), *filter(None, sys.path)])


def torch_steps(python: str, options: dict[str, Any]) -> Any:
    """The steps of PyTorch, measured by the interpreter `python`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        return run([python, str(TORCH), str(file), json.dumps(options)], Path(folder))


# ---- what is measured


def collectives(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """all_reduce over all networks."""
    rows = []
    for name, delay, large in NETWORKS:
        for count in plan["counts"] if delay is None else plan["counts"][:2]:
            row: dict[str, Any] = {"network": on(name, count), "large": large, "ranks": count}
            options = {"sizes": plan["sizes"], "repeats": plan["repeats"], "nets": []}
            try:
                row["calls"] = ranks(count, delay, options)["all_reduce"]
            except NotRunError as reason:
                row["reason"] = str(reason)
            rows.append(row)
            say(f"all_reduce, {name}, {count} ranks")
    return rows


def steps(plan: dict[str, Any], python: str | None) -> tuple[list[Any], list[Any], str]:
    """Steps of this package on all networks and of PyTorch, and PyTorch's version."""
    rows: list[Any] = []
    others: list[Any] = []
    version = ""
    options = {"sizes": [], "repeats": 1, "nets": plan["nets"], "threads": THREADS}
    options["rounds"] = max(plan["rounds"] // plan["turns"], 1)
    for _ in range(plan["turns"]):
        rows += _marked(ranks(2, None, options), "one host", 2)
        say("steps, one host, 2 ranks")
        if python is not None:
            found = torch_steps(python, options)
            version = found["version"]
            others += found["steps"]
            say("steps of PyTorch")
    for name, delay, count in plan["other_steps"]:
        try:
            rows += _marked(ranks(count, delay, options), name, count)
        except NotRunError as reason:
            say(f"{name}: NOT RUN: {reason}")
        say(f"steps, {name}, {count} ranks")
    keys = ("network", "ranks", "net")
    return medians(rows, keys), medians(others, ("net",)), version


def _marked(found: Any, network: str, count: int) -> list[Any]:
    return [{"network": on(network, count), "ranks": count, **row} for row in found["steps"]]


def medians(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """One row for all rows with equal `keys`: the median of each number."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = []
    for group in groups.values():
        values = {k: statistics.median(r[k] for r in group) for k in group[0] if k not in keys}
        found.append({**{key: group[0][key] for key in keys}, **values})
    return found


def model(found: dict[str, Any]) -> dict[str, Any]:
    """Fit the cost model to what was found, and evaluate it."""
    calls = [
        cost.Call(row["network"], row["large"], row["ranks"], call["bytes"], call["ms"] / 1e3)
        for row in found["all_reduce"]
        for call in row.get("calls", ())
    ]
    overhead, networks = cost.fit_networks(calls)
    measured = [
        cost.Step(
            row["network"],
            row["net"],
            row["ranks"],
            row["bytes"],
            int(row["buckets"]),
            row["compute_ms"] / 1e3,
            row["backward_ms"] / 1e3,
            row["plain_ms"] / 1e3,
        )
        for row in found["steps"]
        if row["network"] in networks
    ]
    share = cost.fit_share([s for s in measured if s.ranks == 2], networks, overhead)
    fitted = [cost.step_seconds(s, share, networks[s.network], overhead) * 1e3 for s in measured]
    two = [s for s in measured if s.network == "one host" and s.ranks == 2]
    return {
        "overhead_ms": overhead * 1e3,
        "share": share,
        "networks": [
            {
                "network": n.name,
                "latency_ms": n.latency * 1e3,
                "gb_per_s": n.bandwidth / 1e9,
                "large": n.large,
            }
            for n in networks.values()
        ],
        "calls": [
            {
                "network": c.network,
                "ranks": c.ranks,
                "bytes": c.nbytes,
                "ms": c.seconds * 1e3,
                "fitted_ms": cost.plain(networks[c.network], overhead, c.ranks, c.nbytes) * 1e3,
            }
            for c in calls
        ],
        "steps": [
            {
                "network": s.network,
                "ranks": s.ranks,
                "net": s.net,
                "ms": s.plain * 1e3,
                "fitted_ms": ms,
            }
            for s, ms in zip(measured, fitted, strict=True)
        ],
        "predictions": [
            cost.prediction(s, share, network, overhead, count, SHARDS_EACH)
            for network in CLUSTERS
            for s in two
            for count in CLUSTER_RANKS
        ],
    }


# ---- tables


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; all columns but the first are aligned to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def size_text(count: int) -> str:
    """Bytes for people."""
    units = ((1 << 20, "MB"), (1 << 10, "KB"), (1, "B"))
    unit, name = next(pair for pair in units if count >= pair[0])
    return f"{count // unit} {name}"


def collectives_table(rows: Sequence[dict[str, Any]]) -> str:
    """Milliseconds of all_reduce."""
    ran = [row for row in rows if "calls" in row]
    sizes = [call["bytes"] for call in ran[0]["calls"]]
    heads = ("network", "ranks", *map(size_text, sizes), "MB/s of the largest")
    cells = []
    for row in rows:
        start = (row["network"], str(row["ranks"]))
        if "reason" in row:
            cells.append((*start, f"NOT RUN: {row['reason']}", *[""] * len(sizes)))
            continue
        last = row["calls"][-1]
        moved = cost.volume(row["ranks"], last["bytes"]) / 1e3 / last["ms"]
        times = (f"{call['ms']:.2f}" for call in row["calls"])
        cells.append((*start, *times, f"{moved:.0f}"))
    return markdown(heads, cells)


def steps_table(rows: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> str:
    """Two threads beside two ranks: milliseconds, and throughput relative to two threads."""
    heads = ["net", "2 threads", "2 ranks", "relative", "2 ranks, shards", "relative"]
    theirs = {row["net"]: row for row in others}
    if theirs:
        heads += ["PyTorch 2 threads", "PyTorch 2 ranks", "relative"]
    cells = []
    for row in rows:
        if row["network"] != "one host" or row["ranks"] != 2:
            continue
        single = row["single_ms"]
        cell = [row["net"], f"{single:.1f}"]
        for way in ("plain_ms", "shards_ms"):
            cell += [f"{row[way]:.1f}", f"{single / row[way]:.2f}"]
        if other := theirs.get(row["net"]):
            ours, ranks_ms = other["single_ms"], other["plain_ms"]
            cell += [f"{ours:.1f}", f"{ranks_ms:.1f}", f"{ours / ranks_ms:.2f}"]
        cells.append(cell)
    return markdown(heads, cells)


def residuals_table(rows: Sequence[dict[str, Any]]) -> str:
    """Measured and fitted steps."""
    heads = ("network", "ranks", "net", "measured ms", "formula ms", "formula / measured")
    cells = [
        (
            row["network"],
            str(row["ranks"]),
            row["net"],
            f"{row['ms']:.1f}",
            f"{row['fitted_ms']:.1f}",
            f"{row['fitted_ms'] / row['ms']:.2f}",
        )
        for row in rows
    ]
    return markdown(heads, cells)


def networks_table(fitted: dict[str, Any]) -> str:
    """The constants, and how far all_reduce is from them: the median and the largest relative error."""
    heads = ("network", "L, ms", "B, GB/s", "h", "median error", "largest error")
    cells = []
    for row in fitted["networks"]:
        of = [c for c in fitted["calls"] if c["network"] == row["network"]]
        errors = [abs(c["fitted_ms"] / c["ms"] - 1) for c in of]
        far = (f"{100 * statistics.median(errors):.0f} %", f"{100 * max(errors):.0f} %")
        rate = f"{row['gb_per_s']:.2f}"
        cells.append((row["network"], f"{row['latency_ms']:.3f}", rate, str(row["large"]), *far))
    return markdown(heads, cells)


def predictions_table(rows: Sequence[dict[str, Any]]) -> str:
    """What the formula says for clusters."""
    rows = [row for row in rows if row["net"] in SHOWN] or rows
    heads = (
        *("network", "net", "ranks", "all-reduce ms", "step ms", "efficiency"),
        *("chain ms", "step with shards ms", "efficiency"),
    )
    cells = [
        (
            *(row["network"], row["net"], str(row["ranks"])),
            *(f"{row['moving_ms']:.1f}", f"{row['plain_ms']:.1f}", f"{row['efficiency']:.2f}"),
            *(f"{row['summing_ms']:.1f}", f"{row['shards_ms']:.1f}"),
            f"{row['shards_efficiency']:.2f}",
        )
        for row in rows
    ]
    return markdown(heads, cells)


def page(found: dict[str, Any]) -> str:
    """All tables."""
    fitted = found["model"]
    beside = f" PyTorch {found['torch']} with gloo." if found["torch"] else ""
    return "\n\n".join(
        (
            "Milliseconds of `all_reduce` (float32):",
            collectives_table(found["all_reduce"]),
            f"A training step, {nets.BATCH} samples, milliseconds; relative: throughput over that of two "
            f"threads.{beside}",
            steps_table(found["steps"], found["torch_steps"]),
            f"Constants: o = {fitted['overhead_ms']:.3f} ms, share = {fitted['share']:.2f}, and",
            networks_table(fitted),
            "Steps with plain loops, measured and by the formula:",
            residuals_table(fitted["steps"]),
            "What the formula says for 10 Gb/s, each rank with as many samples as in the measurement:",
            predictions_table(fitted["predictions"]),
            "",
        )
    )


def say(text: str) -> None:
    """Progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


def plan_of(quick: bool) -> dict[str, Any]:
    """How much is measured."""
    if quick:
        return {
            "counts": (2, 3),
            "sizes": (4, 64 << 10, 1 << 20),
            "repeats": 2,
            "nets": ("MLP 1 MB", "CNN 1 MB"),
            "rounds": 3,
            "turns": 1,
            "other_steps": (("two nodes, 1 ms", 1.0, 2),),
        }
    host = (("one host", None, 3), ("one host", None, 4))
    return {
        "counts": (2, 3, 4),
        "sizes": SIZES,
        "repeats": 10,
        "nets": nets.NAMES,
        "rounds": 40,
        "turns": 4,
        "other_steps": (*host, ("two nodes, 1 ms", 1.0, 2), ("two nodes, 20 ms", 20.0, 2)),
    }


def main() -> int:
    """Measure, fit and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--rounds", type=int, help="steps of each kind on one host")
    parser.add_argument("--turns", type=int, help="times that samara and PyTorch take turns")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has PyTorch")
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    parser.add_argument("--page", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    plan = plan_of(options.quick)
    plan |= {k: v for k in ("rounds", "turns") if (v := getattr(options, k)) is not None}
    found: dict[str, Any] = {"all_reduce": collectives(plan)}
    found["steps"], found["torch_steps"], found["torch"] = steps(plan, options.torch)
    found["model"] = model(found)
    text = page(found)
    print(text)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2), encoding="ascii")
    if options.page is not None:
        options.page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
