# SPDX-License-Identifier: Apache-2.0
"""Train one net in one process, in threads, in several processes and on two nodes, and compare the times.

    python examples/distributed.py
    sudo python examples/distributed.py --rows "2 processes, two nodes, 1 ms"

Every row trains the same CNN for three epochs with the same global batches, in processes of its own that
`samara launch` starts. A rank has one thread. The rows "… shards" have the same bits for any number of
processes (`net.shards`): the column "parameters" shows a digest of the trained net. The two nodes are network
namespaces (`two_nodes.py`); rows that this machine cannot run say why.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import samara
from samara import nn, optim

SHARDS = 12
BATCH = 240  # samples of a global batch: 20 per shard
REPORT = "SAMARA_EXAMPLE_REPORT"  # the file to which rank 0 writes its row
TWO_NODES = Path(__file__).resolve().with_name("two_nodes.py")
LAUNCH = (sys.executable, "-c", "from samara.cli.main import main; main()", "launch")

# name -> how it trains, processes, milliseconds between two nodes (None: one node)
ROWS = {
    "single": ("single", 1, None),
    "data_parallel": ("threads", 1, None),
    "2 processes": ("plain", 2, None),
    "3 processes": ("plain", 3, None),
    "2 processes, two nodes, 1 ms": ("plain", 2, 1.0),
    "2 processes, two nodes, 20 ms": ("plain", 2, 20.0),
    "1 process, shards": ("shards", 1, None),
    "2 processes, shards": ("shards", 2, None),
    "3 processes, shards": ("shards", 3, None),
    "2 processes, shards, two nodes, 1 ms": ("shards", 2, 1.0),
}


class Net(nn.Module):
    """A CNN whose gradients are 1.2 MB; most of them belong to the first linear layer."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
            *(nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(
            nn.Linear(1024, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10)
        )

    def forward(self, image):
        return self.head(self.features(image).flatten(1))


def shifted(count):
    """`count` training digits: all, then all again, each time moved by a pixel to another side."""
    images, labels = (t.numpy() for t in samara.data.digits(train=True).tensors)
    moves = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1))
    moved = [np.roll(images, move, (2, 3)) for move in moves]
    all_labels = np.tile(labels, len(moves))
    return samara.data.TensorDataset(
        samara.from_numpy(np.concatenate(moved)[:count]), samara.from_numpy(all_labels[:count])
    )


# ---- one row, in each of its processes


def train(kind, epochs, samples):
    """Train; returns the row of rank 0, with times in seconds."""
    samara.set_num_threads(1)
    samara.manual_seed(0)
    net = Net()
    rank, ranks, model = 0, 1, net
    if kind == "threads":
        model = nn.DataParallel(net, replicas=2)
    elif kind != "single":
        samara.distributed.init_process_group("mpi")
        rank, ranks = samara.distributed.get_rank(), samara.distributed.get_world_size()
        model = nn.parallel.DistributedDataParallel(net, shards=SHARDS)
    dataset = shifted(samples)
    sampler = samara.data.DistributedSampler(
        dataset, num_replicas=ranks, rank=rank, shards=SHARDS, drop_last=True
    )
    loader = samara.data.DataLoader(dataset, BATCH // ranks, sampler=sampler)
    optimizer = optim.AdamW(model.parameters(), lr=2e-3)
    step = shard_step if kind == "shards" else plain_step
    times = []
    begin = time.perf_counter()
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            start = time.perf_counter()
            optimizer.zero_grad()
            step(model, images, labels)
            optimizer.step()
            times.append(time.perf_counter() - start)
    return {
        "rank": rank,
        "batch_ms": 1e3 * statistics.median(times),
        "seconds": time.perf_counter() - begin,
        "accuracy": accuracy(net),
        "digest": digest(net),
        "megabytes": sum(p.numel() * 4 for p in net.parameters()) / 1e6,
    }


def plain_step(model, images, labels):
    nn.functional.cross_entropy(model(images), labels).backward()


def shard_step(model, images, labels):
    for part, target in model.shards(images, labels):
        nn.functional.cross_entropy(model(part), target).backward()


def accuracy(net):
    """On the digits that no row trains on."""
    net.eval()
    images, labels = samara.data.digits(train=False).tensors
    with samara.no_grad():
        found = net(images).numpy().argmax(1)
    return float((found == labels.numpy()).mean())


def digest(net):
    """Equal for nets with equal bits."""
    found = hashlib.sha256()
    for name, value in sorted(net.state_dict().items()):
        found.update(name.encode())
        found.update(value.numpy().tobytes())
    return found.hexdigest()[:12]


def run_row(kind, options):
    """Be one process of a row."""
    row = train(kind, options.epochs, options.samples)
    if row["rank"] == 0:
        Path(os.environ[REPORT]).write_text(json.dumps(row), encoding="ascii")


# ---- all rows


def measure(name, options):
    """Start the processes of a row; returns what rank 0 wrote, or {"reason": …}."""
    kind, processes, delay = ROWS[name]
    words = [os.path.abspath(__file__), "--row", kind]
    words += ["--epochs", str(options.epochs), "--samples", str(options.samples)]
    if delay is not None:
        start = [sys.executable, str(TWO_NODES), "--delay", f"{delay:g}", "-n", str(processes)]
    elif kind in ("single", "threads"):
        start = [sys.executable]
    else:
        start = [*LAUNCH, "-n", str(processes), "--threads", "1"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "row.json"
        variables = {REPORT: str(report), "OMP_NUM_THREADS": "1", "SAMARA_NUM_THREADS": "1"}
        done = subprocess.run(
            [*start, *words],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return json.loads(report.read_text(encoding="ascii"))
    return {"reason": _reason(done.stderr), "failed": not _cannot(done.stderr)}


_CANNOT = ("NOT RUN: ", "no mpiexec", "mpi4py is not installed", "mpi4py finds no MPI library")


def _cannot(printed):
    """Whether a row failed because of this machine."""
    return any(text in printed for text in _CANNOT)


def _reason(printed):
    lines = [line for line in printed.splitlines() if line.strip()]
    told = [line for line in lines if _cannot(line) or line.startswith("samara: ")]
    line = (told or lines or ["no message"])[-1]
    return line.partition("NOT RUN: ")[2] or line


def table(rows):
    """The rows as text."""
    heads = ("batch ms", "all epochs s", "accuracy", "parameters")
    first = max(map(len, rows))
    lines = [" " * first + "".join(f"{head:>14}" for head in heads)]
    for name, row in rows.items():
        if "reason" in row:
            word = "FAILED" if row["failed"] else "NOT RUN"
            lines.append(f"{name:<{first}}  {word}: {row['reason']}")
            continue
        cells = (
            f"{row['batch_ms']:.1f}",
            f"{row['seconds']:.1f}",
            f"{100 * row['accuracy']:.2f} %",
            row["digest"],
        )
        lines.append(f"{name:<{first}}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), metavar="ROW")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--samples", type=int, default=7200, help="at most 10,059")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row is not None:
        run_row(options.row, options)
        return 0
    rows = {}
    for name in options.rows:
        print(f"{name} …", file=sys.stderr)
        rows[name] = measure(name, options)
    print(table(rows))
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2), encoding="ascii")
    ran = {name: row for name, row in rows.items() if "reason" not in row}
    digests = {row["digest"] for name, row in ran.items() if ROWS[name][0] == "shards"}
    if digests:
        same = len(digests) == 1
        print(f"rows with shards: {'equal bits' if same else 'THE PARAMETERS DIFFER'}")
    failed = any(row.get("failed") for row in rows.values())
    return 1 if failed or len(digests) > 1 else 0


if __name__ == "__main__":
    raise SystemExit(main())
