# SPDX-License-Identifier: Apache-2.0
"""A small training that can be killed anywhere and goes on from its checkpoint; a program.

    resumed_training.py FOLDER STEPS [KILL]

It appends "step loss" to FOLDER/losses, the loss as the bits of its float32, and saves after every
second step. KILL is STEP:PLACE, where the process ends itself with SIGKILL: PLACE is a phase of the
step, or "save." and a place inside the save that follows it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import samara
from samara import data, nn, optim
from samara.exporter.frontend import tensor_file

PHASES = ("fetched", "forward", "backward", "updated")
SAVE_PLACES = ("begin", "array 1", "array 9", "written", "synced", "renamed", "done")
SAVE_EVERY = 2
SAMPLES, FEATURES, CLASSES, BATCH = 22, 6, 3, 4


class Noisy(data.Dataset):
    """Samples that the fetching thread or process augments at random."""

    def __init__(self) -> None:
        numbers = np.random.default_rng(1)
        self.x = numbers.standard_normal((SAMPLES, FEATURES)).astype(np.float32)
        self.y = numbers.integers(0, CLASSES, SAMPLES)

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        noise = samara.rand(FEATURES).numpy() + np.random.random(FEATURES).astype(np.float32)
        return self.x[index] + 0.1 * noise, self.y[index]


class Killer:
    """Ends this process where it was told to."""

    def __init__(self, where: str) -> None:
        step, _, self.place = where.partition(":")
        self.step = int(step) if step else -1
        self.now = -1

    def reach(self, place: str) -> None:
        if self.now == self.step and place == self.place:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch_saves(self) -> None:
        """Reach the places inside a save."""
        bytes_of, sync, rename = tensor_file._bytes_of, os.fsync, Path.replace
        arrays = 0

        def counted(array: Any) -> Any:
            nonlocal arrays
            arrays += 1
            self.reach(f"save.array {arrays}")
            return bytes_of(array)

        def synced(fd: Any) -> None:
            nonlocal arrays
            arrays = 0
            self.reach("save.written")
            sync(fd)
            self.reach("save.synced")

        def renamed(source: Path, target: Any) -> Path:
            result = rename(source, target)
            self.reach("save.renamed")
            return result

        tensor_file._bytes_of = counted
        os.fsync = synced
        Path.replace = renamed  # type: ignore[method-assign, assignment]


class Training:
    """Everything that a step depends on."""

    def __init__(self) -> None:
        samara.manual_seed(3)
        self.model = nn.Sequential(
            nn.Linear(FEATURES, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, CLASSES)
        )
        self.optimizer = optim.AdamW(self.model.parameters(), lr=0.05)
        self.scheduler = optim.lr_scheduler.StepLR(self.optimizer, step_size=3, gamma=0.8)
        self.loader = data.DataLoader(
            Noisy(), BATCH, shuffle=True, num_workers=2, persistent_workers=True
        )
        self.step = 0

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "loader": self.loader.state_dict(),
            "random": samara.get_rng_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.loader.load_state_dict(state["loader"])
        samara.set_rng_state(state["random"])

    def update(self, x: Any, y: Any, killer: Killer) -> float:
        loss = nn.functional.cross_entropy(self.model(x), y)
        killer.reach("forward")
        self.optimizer.zero_grad()
        loss.backward()
        killer.reach("backward")
        self.optimizer.step()
        self.scheduler.step()
        killer.reach("updated")
        return float(loss.item())


def train(folder: Path, steps: int, killer: Killer) -> None:
    """Train up to `steps`, from the checkpoint where there is one."""
    training = Training()
    checkpoint = folder / "checkpoint"
    if checkpoint.exists():
        training.restore(samara.load(checkpoint))
    with open(folder / "losses", "a", encoding="ascii") as losses:
        while training.step < steps:
            for x, y in training.loader:
                killer.now = training.step
                killer.reach("fetched")
                loss = training.update(x, y, killer)
                losses.write(f"{training.step} {np.float32(loss).view(np.uint32):08x}\n")
                losses.flush()
                training.step += 1
                if training.step % SAVE_EVERY == 0:
                    killer.reach("save.begin")
                    samara.save(training.state(), checkpoint)
                    killer.reach("save.done")
                if training.step == steps:
                    break


def main() -> None:
    killer = Killer(sys.argv[3] if len(sys.argv) > 3 else "")
    killer.watch_saves()
    train(Path(sys.argv[1]), int(sys.argv[2]), killer)


if __name__ == "__main__":
    main()
