# SPDX-License-Identifier: Apache-2.0
"""Training steps of PyTorch's DistributedDataParallel with gloo, for distributed.py.

Runs in an environment with PyTorch: `distributed_torch.py FILE OPTIONS`, with OPTIONS as for distributed_ranks.py.
It starts the second process itself, and writes FILE. Times are milliseconds.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import distributed_nets as nets
import torch
from torch import distributed

RANK = "SAMARA_BENCHMARK_RANK"


def timed(step: Callable[[], object]) -> float:
    """Milliseconds of a call."""
    begin = time.perf_counter()
    step()
    return (time.perf_counter() - begin) * 1e3


def steps(name: str, rank: int, rounds: int, threads: int) -> dict[str, Any]:
    """Medians of a step in one process and in two, taken in turns."""
    alone, shape = nets.build(torch, name)
    model = torch.nn.parallel.DistributedDataParallel(nets.build(torch, name)[0])
    whole = [torch.from_numpy(a) for a in nets.batch(shape)]
    part = [torch.from_numpy(a) for a in nets.batch(shape, rank, 2)]
    of_alone, of_model = nets.sgd(torch, alone), nets.sgd(torch, model)
    times: dict[str, list[float]] = {"single": [], "plain": []}
    for _ in range(rounds + 2):
        distributed.barrier()
        if rank == 0:
            torch.set_num_threads(threads)
            times["single"].append(timed(lambda: nets.plain_step(torch, alone, of_alone, *whole)))
            torch.set_num_threads(1)
        distributed.barrier()
        times["plain"].append(timed(lambda: nets.plain_step(torch, model, of_model, *part)))
    return {"net": name, **{f"{k}_ms": statistics.median(v[2:] or [0]) for k, v in times.items()}}


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def main() -> None:
    """Be one of the two processes; the first one starts the second."""
    options = json.loads(sys.argv[2])
    rank = int(os.environ.get(RANK, "0"))
    other = None
    if rank == 0:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
        other = subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, RANK: "1"})
    try:
        torch.set_num_threads(1)
        distributed.init_process_group("gloo", rank=rank, world_size=2)
        found = [steps(n, rank, options["rounds"], options["threads"]) for n in options["nets"]]
        distributed.destroy_process_group()
        if rank == 0:
            text = json.dumps({"version": torch.__version__, "steps": found})
            Path(sys.argv[1]).write_text(text, encoding="ascii")
    finally:
        if other is not None:
            try:
                other.wait(20)
            finally:
                other.kill()


if __name__ == "__main__":
    main()
