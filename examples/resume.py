# SPDX-License-Identifier: Apache-2.0
"""Interrupt a training and continue it: the losses equal those of an uninterrupted training, bit for bit.

    python examples/resume.py

A checkpoint is one file with everything that a step depends on: weights, optimizer, schedule, the loader's
position in its epoch, and the state of the generator for dropout and shuffling.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import samara
from samara import nn, optim


class Training:
    """A training with dropout and shuffled data, as an object whose state can be saved."""

    def __init__(self):
        samara.manual_seed(1)
        self.model = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 10)
        )
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        self.scheduler = optim.lr_scheduler.StepLR(self.optimizer, step_size=40, gamma=0.5)
        self.loader = samara.data.DataLoader(
            samara.data.digits(train=True), batch_size=64, shuffle=True
        )
        self.losses = []

    def state_dict(self):
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "loader": self.loader.state_dict(),
            "random": samara.get_rng_state(),
            "losses": self.losses,
        }

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.loader.load_state_dict(state["loader"])
        samara.set_rng_state(state["random"])
        self.losses = list(state["losses"])

    def run(self, steps):
        """Train until `steps` steps are done; the loader continues in the middle of an epoch."""
        while len(self.losses) < steps:
            for images, labels in self.loader:
                loss = nn.functional.cross_entropy(self.model(images), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                self.losses.append(loss.item())
                if len(self.losses) == steps:
                    break


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--interrupt", type=int, default=37, help="after so many steps")
    options = parser.parse_args()

    alone = Training()
    alone.run(options.steps)

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "checkpoint.safetensors"
        first = Training()
        first.run(options.interrupt)
        samara.save(first.state_dict(), checkpoint)
        print(
            f"interrupted after step {options.interrupt}, {checkpoint.stat().st_size:,} bytes kept"
        )
        del first

        second = Training()  # as in a new process
        second.load_state_dict(samara.load(checkpoint))
        second.run(options.steps)

    weights = zip(alone.model.parameters(), second.model.parameters(), strict=True)
    equal = alone.losses == second.losses and all(samara.equal(a, b) for a, b in weights)
    print(f"loss {second.losses[0]:.4f} to {second.losses[-1]:.4f} in {options.steps} steps")
    print("every loss and weight is equal" if equal else "THE RUNS DIFFER")
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
