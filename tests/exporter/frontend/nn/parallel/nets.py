# SPDX-License-Identifier: Apache-2.0
"""Three nets, and a loop that trains them by shards; what the parameters become must not depend on the ranks."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import samara
from samara import nn
from samara.exporter.frontend.tensor import Tensor

SAMPLES = 24  # of a global batch: 2 for each of 12 shards


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 5))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (3, 2, 2)),
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.3)),
        *(nn.Flatten(), nn.Linear(32, 5)),
    )


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(6, 2, 12, dropout=0.1, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (2, 6)), layer, nn.Flatten(), nn.Linear(12, 5))


NETS = {"mlp": mlp, "cnn": cnn, "transformer": transformer}


def batch(step: int) -> tuple[Tensor, Tensor]:
    """This rank's part of the global batch of a step."""
    rank, size = samara.distributed.get_rank(), samara.distributed.get_world_size()
    rng = np.random.default_rng(step)
    x = rng.standard_normal((SAMPLES, 12)).astype(np.float32)
    y = rng.integers(0, 5, SAMPLES)
    own = slice(rank * SAMPLES // size, (rank + 1) * SAMPLES // size)
    return samara.tensor(x[own]), samara.tensor(y[own])


def trained(kind: str, steps: int) -> str:
    """The digest of a net's state and its optimiser's after some steps."""
    samara.manual_seed(5)
    net = nn.parallel.DistributedDataParallel(NETS[kind](), bucket_cap_mb=0.001)
    opt = samara.optim.AdamW(net.parameters(), lr=1e-2)
    for step in range(steps):
        opt.zero_grad()
        for x, y in net.shards(*batch(step)):
            nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    found = hashlib.sha256()
    for state in (net.state_dict(), *opt.state_dict()["state"].values()):
        for value in state.values():
            found.update(np.asarray(_array(value)).tobytes())
    return found.hexdigest()


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else value


def main(steps: int) -> None:
    """What one rank of an MPI run prints."""
    samara.distributed.init_process_group("mpi")
    digests = {kind: trained(kind, steps) for kind in NETS}
    if samara.distributed.get_rank() == 0:
        print(digests)
