# SPDX-License-Identifier: Apache-2.0
"""`backend="auto"` compared with the CPU and the device, on twenty networks: `python -m benchmarks.auto`.

Sessions take turns in one process. Times are minima over their rounds, because other load on the machine only
adds time. Ratios are those of "auto", and of a second session on the CPU (which shows the noise), to the first
CPU session. SAMARA_MODELS is the folder of recorded models.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks import zoo

import samara
from samara.exporter.ir import Array
from samara.exporter.measure.device_use import device_use, settle
from samara.exporter.measure.feeds import session_feeds
from samara.exporter.measure.machine import interleave
from samara.exporter.types.text import table
from samara.pybridge.device import BackendChoice

# Nets of the benchmark's families that are small enough to run whole; of others the smallest form is used.
WHOLE = ("ds_cnn", "resnet8", "mobilenet_v1_025")
TINY = ("mobilenet_v2", "resnet18", "squeezenet", "vit_tiny", "minilm")
MOST = 1.05  # highest allowed time of "auto" relative to the CPU
_HOST, _DEVICE = 1_000_000, 1_000_000_000  # work per millisecond of the imaginary rates


@dataclass(frozen=True, slots=True)
class Row:
    """One network: medians in milliseconds, ratios to the CPU, and where its nodes run."""

    name: str
    cpu_ms: float
    auto_ms: float
    device_ms: float
    auto_ratio: float
    noise_ratio: float
    auto_nodes: int
    device_nodes: int
    of_nodes: int
    launches: int


def recorded(folder: Path) -> dict[str, Array]:
    """The inputs of the first recorded run."""
    with np.load(folder / "inputs.npz") as inputs:
        names = [row[0] for row in _meta(folder)["inputs"]]
        return {name: inputs[f"c0_i{j}"] for j, name in enumerate(names)}


def _meta(folder: Path) -> dict[str, list[list[str]]]:
    return dict(json.loads((folder / "meta.json").read_text()))


def networks(models: Path, folder: Path) -> Iterator[tuple[str, Path, dict[str, Array] | None]]:
    """Name, file and inputs (None: random) of each."""
    for home in sorted(p.parent for p in models.glob("*/model.onnx")):
        path = folder / f"{home.name}.samara"
        samara.export(samara.import_onnx(home / "model.onnx"), path, check=False)
        yield home.name, path, recorded(home)
    for name in (*WHOLE, *TINY):
        made = zoo.MODELS[name].build() if name in WHOLE else zoo.MODELS[name].tiny()
        path = folder / f"{name}.samara"
        samara.export(samara.import_onnx(made.SerializeToString()), path, check=False)
        yield name if name in WHOLE else f"{name}, small", path, None


def imaginary_rates(path: Path, host: int = _HOST, device: int = _DEVICE) -> Path:
    """A file of rates: `host` and `device` are the work per millisecond of all kinds."""
    kinds = ("product_float32", "product_float16", "product_int8", "depthwise", "memory")
    times = ("launch_ns", "wait_ns", "copy_ns", "product_ns")
    lines = ["samara-rates 2", "host.launch_ns 1000", "host.product_ns 1000"]
    lines += [f"host.{kind} {host}" for kind in kinds]
    lines += [f"device.{time} 1" for time in times]
    lines += [f"device.{kind} {device}" for kind in (*kinds, "to_device", "from_device")]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


def mislead(device: samara.Backend, cache: Path, threads: int) -> None:
    """Replace the measured rates in the cache by imaginary ones."""
    path = cache.parent / "any.samara"
    samara.export(samara.trace(lambda x: x + x, (samara.ones(4),)), path)
    samara.Session(path, threads=threads, backend=[device, "auto"], wait=True)
    for path in cache.glob("rates-*.txt"):
        imaginary_rates(path)


def measure(
    name: str,
    path: Path,
    feeds: dict[str, Array] | None,
    device: samara.Backend,
    threads: int,
    runs: int,
) -> Row:
    """Measure the network in all sessions, in turns."""
    model = samara.Model(path)
    choices: tuple[BackendChoice, ...] = ("cpu", "cpu", [device, "auto"], device)
    sessions = [
        samara.Session(model, threads=threads, backend=choice, wait=True) for choice in choices
    ]
    given = feeds if feeds is not None else dict(session_feeds(sessions[0]).arrays)
    settle(sessions[2], given)
    calls = [lambda s=s: s.run(given) for s in sessions]
    cpu, noise, auto, there = interleave(calls, runs)
    for session in sessions[2:]:
        if session.backend_report().failure:
            raise SystemExit(f"{name}: {session.backend_report().failure}")
    on_auto, on_device = device_use(sessions[2]), device_use(sessions[3])
    return Row(
        name,
        statistics.median(cpu) * 1e3,
        statistics.median(auto) * 1e3,
        statistics.median(there) * 1e3,
        min(auto) / min(cpu),
        min(noise) / min(cpu),
        on_auto.nodes,
        on_device.nodes,
        on_device.of_nodes,
        on_device.launches,
    )


def text(rows: list[Row]) -> str:
    """The table that the script prints."""
    heads: tuple[str, ...] = (
        "network",
        "cpu ms",
        "auto ms",
        "device ms",
        "auto/cpu",
        "cpu/cpu",
        "auto's nodes",
    )
    heads += ("device's nodes", "of", "launches")
    cells = [
        (
            r.name,
            *(f"{ms:.3f}" for ms in (r.cpu_ms, r.auto_ms, r.device_ms)),
            f"{r.auto_ratio:.3f}",
            f"{r.noise_ratio:.3f}",
            *map(str, (r.auto_nodes, r.device_nodes, r.of_nodes, r.launches)),
        )
        for r in rows
    ]
    return table(heads, cells, right=set(range(1, len(heads))))


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 if "auto" was slower than allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="some of them")
    parser.add_argument("--runs", type=int, default=31, help="rounds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="opencl")
    parser.add_argument(
        "--imaginary", action="store_true", help="given rates by which the device is far faster"
    )
    parser.add_argument(
        "--misled", action="store_true", help="measured rates by which the device is far faster"
    )
    options = parser.parse_args(arguments)
    models = Path(os.environ.get("SAMARA_MODELS", ""))
    if not any(models.glob("*/model.onnx")):
        parser.error("SAMARA_MODELS is not the folder of recorded models")
    rows = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        rates = imaginary_rates(folder / "rates.txt") if options.imaginary else None
        device = samara.Backend(options.backend, cache=folder / "cache", rates=rates)
        if options.misled:
            mislead(device, folder / "cache", options.threads)
        print(f"{device.device.description}, {options.threads} threads on the CPU")
        for name, path, feeds in networks(models, folder):
            if options.networks and name.split(",")[0] not in options.networks:
                continue
            rows.append(measure(name, path, feeds, device, options.threads, options.runs))
            print(text(rows[-1:]).splitlines()[-1], flush=True)
    print(text(rows))
    slow = [r.name for r in rows if r.auto_ratio > MOST * max(1.0, r.noise_ratio)]
    if slow and not options.imaginary:
        print(f'slower than {MOST} times the CPU with "auto": {", ".join(slow)}')
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
