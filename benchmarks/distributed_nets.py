# SPDX-License-Identifier: Apache-2.0
"""The nets of distributed.py, which both frameworks build by the same names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

BATCH = 240  # samples of a global batch: 20 per shard of 12
CLASSES = 10
MEGABYTES = (1, 4, 16)  # of gradients, each 2**20 bytes
NAMES = tuple(f"{kind} {size} MB" for kind in ("MLP", "CNN") for size in MEGABYTES)


def build(t: Any, name: str) -> tuple[Any, tuple[int, ...]]:
    """A net of the framework `t` and the shape of one sample. `name`: one of NAMES."""
    kind, size, _ = name.split()
    nn, floats = t.nn, int(size) << 18
    if kind == "MLP":
        width = math.isqrt(floats // 4)
        layers = [nn.Linear(width, width) for _ in range(4)]
        body = [part for layer in layers for part in (layer, nn.ReLU())]
        return nn.Sequential(*body, nn.Linear(width, CLASSES)), (width,)
    hidden = floats // 1024
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
        *(nn.Linear(1024, hidden), nn.ReLU(), nn.Linear(hidden, CLASSES)),
    ), (3, 16, 16)


def batch(shape: tuple[int, ...], part: int = 0, parts: int = 1) -> tuple[Any, Any]:
    """Samples and labels of one of `parts` equal slices of a global batch, as arrays."""
    source = np.random.default_rng(0)
    x = source.standard_normal((BATCH, *shape), np.float32)
    y = source.integers(0, CLASSES, BATCH)
    size = BATCH // parts
    return x[part * size : (part + 1) * size], y[part * size : (part + 1) * size]


def plain_step(t: Any, model: Any, optimizer: Any, x: Any, y: Any) -> None:
    """One training step of either framework."""
    optimizer.zero_grad()
    t.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


def sgd(t: Any, net: Any) -> Any:
    """The optimiser of all measurements."""
    return t.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
