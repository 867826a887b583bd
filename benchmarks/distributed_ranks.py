# SPDX-License-Identifier: Apache-2.0
"""What distributed.py runs as ranks: `samara launch -n 2 distributed_ranks.py FOLDER OPTIONS`.

OPTIONS are JSON: "sizes" (bytes) and "repeats" of all_reduce, "nets" and "rounds" of training steps. Rank 0
writes FOLDER/found.json. Times are milliseconds.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import distributed_nets as nets

import samara
import samara.nn
import samara.optim
from samara import distributed

Step = Callable[[], object]


def collectives(sizes: list[int], repeats: int) -> list[dict[str, Any]]:
    """all_reduce, one after the other: the mean time of a call, the median of several such series."""
    found = []
    for size in sizes:
        values = samara.zeros(max(size // 4, 1))
        series = []
        for _ in range(6):  # the first one touches the memory
            distributed.barrier()
            begin = time.perf_counter()
            for _ in range(repeats):
                distributed.all_reduce(values)
            series.append((time.perf_counter() - begin) * 1e3 / repeats)
        found.append({"bytes": size, "ms": statistics.median(series[1:])})
    return found


class Idle:
    """Lets the other ranks sleep while rank 0 measures something by itself."""

    def __init__(self, folder: Path, rank: int, ranks: int) -> None:
        self.rank = rank
        paths = [folder / f"idle{k}" for k in range(1, ranks)]
        if rank == 0:
            for path in paths:
                os.mkfifo(path)
        distributed.barrier()
        mine = paths if rank == 0 else [paths[rank - 1]]
        self.files = [os.open(path, os.O_RDWR) for path in mine]

    def run(self, step: Step) -> float:
        """Milliseconds of `step`, which only rank 0 runs."""
        distributed.barrier()
        if self.rank:
            os.read(self.files[0], 1)
            return 0.0
        took = timed(step)
        for file in self.files:
            os.write(file, b".")
        return took


def timed(step: Step) -> float:
    """Milliseconds of a call."""
    begin = time.perf_counter()
    step()
    return (time.perf_counter() - begin) * 1e3


class Steps:
    """One net, trained in all ways that are compared."""

    def __init__(self, name: str, threads: int) -> None:
        rank, ranks = distributed.get_rank(), distributed.get_world_size()
        self.threads = threads
        self.alone, shape = nets.build(samara, name)
        self.model = samara.nn.parallel.DistributedDataParallel(nets.build(samara, name)[0])
        self.whole = [samara.from_numpy(a) for a in nets.batch(shape)]
        self.part = [samara.from_numpy(a) for a in nets.batch(shape, rank, ranks)]
        self.optimizers = {n: nets.sgd(samara, n) for n in (self.alone, self.model)}
        self.backward_ms: list[float] = []

    def single(self) -> None:
        """One process, the whole batch, several threads."""
        samara.set_num_threads(self.threads)
        nets.plain_step(samara, self.alone, self.optimizers[self.alone], *self.whole)
        samara.set_num_threads(1)

    def compute(self) -> None:
        """A rank's part without the others."""
        optimizer = self.optimizers[self.alone]
        optimizer.zero_grad()
        loss = samara.nn.functional.cross_entropy(self.alone(self.part[0]), self.part[1])
        self.backward_ms.append(timed(loss.backward))
        optimizer.step()

    def plain(self) -> None:
        """A rank's part, gradients averaged."""
        nets.plain_step(samara, self.model, self.optimizers[self.model], *self.part)

    def shards(self) -> None:
        """The same by micro-shards."""
        optimizer = self.optimizers[self.model]
        optimizer.zero_grad()
        for x, y in self.model.shards(*self.part):
            samara.nn.functional.cross_entropy(self.model(x), y).backward()
        optimizer.step()


def steps(name: str, rounds: int, idle: Idle, threads: int) -> dict[str, Any]:
    """Medians of a step in all ways, taken in turns."""
    side = Steps(name, threads)
    ways: dict[str, Step] = {"compute": side.compute, "plain": side.plain, "shards": side.shards}
    times: dict[str, list[float]] = {"single": [], **{way: [] for way in ways}}
    for _ in range(rounds + 2):
        times["single"].append(idle.run(side.single))
        for way, step in ways.items():
            distributed.barrier()
            times[way].append(timed(step))
    found: dict[str, Any] = {f"{k}_ms": statistics.median(v[2:]) for k, v in times.items()}
    layout = side.model._reducer.layout
    return found | {
        "net": name,
        "backward_ms": statistics.median(side.backward_ms[2:]),
        "bytes": sum(p.numel() * 4 for p in side.alone.parameters()),
        "buckets": len(layout.buckets),
    }


def main() -> None:
    """Measure what the options ask for."""
    folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    samara.set_num_threads(1)
    distributed.init_process_group("mpi")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    found: dict[str, Any] = {"ranks": ranks}
    found["all_reduce"] = collectives(options["sizes"], options["repeats"])
    if options["nets"]:
        idle = Idle(folder, rank, ranks)
        rounds, threads = options["rounds"], options["threads"]
        found["steps"] = [steps(name, rounds, idle, threads) for name in options["nets"]]
    if rank == 0:
        (folder / "found.json").write_text(json.dumps(found), encoding="ascii")


if __name__ == "__main__":
    main()
