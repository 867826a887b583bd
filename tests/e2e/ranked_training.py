# SPDX-License-Identifier: Apache-2.0
"""A small training of several ranks that can be ended anywhere and goes on from its checkpoint; a program.

    ranked_training.py FOLDER STEPS [END]

It saves after every second step, and the parameters to FOLDER/final at the end. END is
RANK:STEP:PHASE:HOW, where that rank kills itself ("kill") or raises RuntimeError ("raise").
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import samara
from samara import data, distributed, nn, optim
from samara.distributed import checkpoint

PHASES = ("fetched", "backward", "averaged", "updated", "saved")
SAVE_EVERY = 2
SAMPLES, FEATURES, CLASSES, BATCH = 72, 6, 3, 24


def _end(where: str, step: int, phase: str) -> None:
    """End this rank if it was told to end here."""
    rank, _, place = where.partition(":")
    if place.startswith(f"{step}:{phase}:") and rank == str(distributed.get_rank()):
        if place.endswith("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError(f"step {step}, {phase}")


def train(folder: Path, steps: int, where: str) -> None:
    """Train to the end or to `where`, from the last checkpoint."""
    distributed.init_process_group()
    samara.manual_seed(0)
    numbers = np.random.default_rng(1)
    x = numbers.standard_normal((SAMPLES, FEATURES)).astype(np.float32)
    rows = data.TensorDataset(
        samara.tensor(x), samara.tensor(numbers.integers(0, CLASSES, SAMPLES))
    )
    sampler = data.DistributedSampler(rows, shards=12)
    loader = data.DataLoader(rows, BATCH // distributed.get_world_size(), sampler=sampler)
    layers = (nn.Linear(FEATURES, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2))
    net = nn.parallel.DistributedDataParallel(nn.Sequential(*layers, nn.Linear(16, CLASSES)))
    optimizer = optim.AdamW(net.parameters(), lr=1e-2)
    state: dict[str, Any] = {
        "net": net,
        "optimizer": optimizer,
        "loader": loader,
        "sampler": sampler,
    }
    state |= {"step": 0, "epoch": 0}
    if (folder / "run").exists():
        checkpoint.load(state, checkpoint_id=folder / "run")
    while state["step"] < steps:
        sampler.set_epoch(state["epoch"])
        for x_local, y_local in loader:
            _end(where, state["step"], "fetched")
            optimizer.zero_grad()
            for x_shard, y_shard in net.shards(x_local, y_local):
                nn.functional.cross_entropy(net(x_shard), y_shard).backward()
                _end(where, state["step"], "backward")
            _end(where, state["step"], "averaged")
            optimizer.step()
            _end(where, state["step"], "updated")
            state["step"] += 1
            if state["step"] % SAVE_EVERY == 0:
                checkpoint.save(state, checkpoint_id=folder / "run")
            _end(where, state["step"] - 1, "saved")
            if state["step"] == steps:
                break
        state["epoch"] += 1
    if distributed.get_rank() == 0:
        samara.save(net.module.state_dict(), folder / "final")
    distributed.destroy_process_group()


if __name__ == "__main__":
    (Path(sys.argv[1]) / "pids" / str(os.getpid())).touch()
    train(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
