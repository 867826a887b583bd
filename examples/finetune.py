# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning on a device, in C: one file contains inference and a complete training step.

    make build && python examples/finetune.py

Python trains a small net on upright digits and exports two functions over the same weights, "infer"
and "train_step" (forward, backward and optimizer). The C program runtime_c/examples/finetune.c
continues training with digits rotated by 90 degrees, is killed with SIGKILL in between, continues from
its checkpoint, and runs inference. Python then reads the weights back into the module, which must
classify as many digits right as the C program.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
from pathlib import Path

import numpy as np

import samara
from samara import nn, optim

BATCH = 32


class Net(nn.Module):
    """A small net with batch-norm, with its number of training steps in a variable."""

    def __init__(self):
        super().__init__()
        # Batch-norm would cancel a bias.
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(128, 10)
        self.register_buffer("steps", samara.zeros((), dtype=samara.int64))

    def forward(self, x):
        x = self.pool(self.norm1(self.conv1(x)).relu())
        x = self.pool(self.norm2(self.conv2(x)).relu())
        return self.head(x.flatten(1))


def optimizer_of(model, name):
    """AdamW, or SGD with momentum."""
    if name == "sgd":
        return optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return optim.AdamW(model.parameters(), lr=2e-3)


def sideways(images):
    """The digits that the device gets, rotated by 90 degrees."""
    return np.ascontiguousarray(np.rot90(images, axes=(2, 3)))


def train(model, images, labels, epochs, optimizer):
    """Train in Python, as in PyTorch."""
    model.train()
    loader = samara.data.DataLoader(
        samara.data.TensorDataset(samara.from_numpy(images), samara.from_numpy(labels)),
        batch_size=BATCH,
        shuffle=True,
        drop_last=True,
    )
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


def right_of(model, images, labels):
    """The number of images that the module classifies right."""
    model.eval()
    with samara.no_grad():
        found = model(samara.from_numpy(images)).argmax(1).numpy()
    return int((found == labels).sum())


def export(model, name, path):
    """Write "infer" and "train_step", which share their weights as variables of the same names."""
    x = samara.zeros(BATCH, 1, 8, 8)
    y = samara.zeros(BATCH, dtype=samara.int64)
    model.eval()
    infer = samara.trace(model, x, variables=True, output_names=["logits"])
    model.train()
    optimizer = optimizer_of(model, name)

    def train_step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        model.steps += 1
        return {"loss": loss}

    step = samara.trace(train_step, (x, y))
    for passes in (False, True):  # the second, optimized file replaces the first
        report = samara.export({"infer": infer, "train_step": step}, path, optimize=passes)
        nodes = len(report.program.functions["train_step"].nodes)
        arena = samara.Session(path, function="train_step").arena_bytes
        when = "after" if passes else "before"
        print(f"train_step {when} the passes: {nodes} nodes, {arena:,} bytes of arena")
    print(report)


def write_batches(path, images, labels):
    """Write whole batches as the C program reads them: images, then labels, then the next batch."""
    with open(path, "wb") as file:
        for i in range(0, len(images) - BATCH + 1, BATCH):
            file.write(images[i : i + BATCH].tobytes())
            file.write(labels[i : i + BATCH].tobytes())


def prepare(folder, name="adamw", epochs=3):
    """Write model.samara, train.raw and test.raw; returns the net before fine-tuning."""
    folder.mkdir(parents=True, exist_ok=True)
    samara.manual_seed(0)
    images, labels = (t.numpy() for t in samara.data.digits(train=True).tensors)
    model = Net()
    train(model, images, labels, epochs, optim.AdamW(model.parameters(), lr=2e-3))
    export(model, name, folder / "model.samara")
    order = np.random.default_rng(0).permutation(len(images))
    write_batches(folder / "train.raw", sideways(images)[order], labels[order])
    images, labels = test_digits()
    write_batches(folder / "test.raw", images, labels)
    return model


def test_digits():
    """Sideways test digits, whole batches only."""
    images, labels = (t.numpy() for t in samara.data.digits(train=False).tensors)
    whole = len(images) // BATCH * BATCH
    return sideways(images)[:whole], labels[:whole]


def command(program, folder, checkpoint, steps):
    """The C program's command line."""
    files = [folder / "model.samara", folder / "train.raw", checkpoint]
    return [*map(str, (program, *files, steps, folder / "test.raw"))]


def killed_after(lines, arguments):
    """Start the C program and kill it after it printed so many lines; returns its exit status."""
    # A pipe of one page holds less than 200 unread lines, so the program cannot finish before it is
    # killed.
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, bufsize=0, pipesize=4096) as running:
        for _ in range(lines):
            last = running.stdout.readline().decode()
        running.send_signal(signal.SIGKILL)
    print(f"killed after: {last.strip()}")
    return running.returncode


def finished(arguments):
    """Run the C program to its end; returns the losses by step, and how many digits it got right."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    losses = {int(s): float(v) for s, v in re.findall(r"step (\d+) loss (\S+)", done.stdout)}
    return losses, int(re.search(r"right (\d+) of", done.stdout)[1])


def read_back(model, checkpoint):
    """Load the weights of the checkpoint, which also has the optimizer's state, into the module."""
    state = samara.load(checkpoint)
    model.load_state_dict({name: state[name] for name in model.state_dict()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/finetune"))
    parser.add_argument("--program", type=Path, default=Path("build/dev/finetune"))
    parser.add_argument("--optimizer", choices=["adamw", "sgd"], default="adamw")
    parser.add_argument("--epochs", type=int, default=3, help="of upright digits, in Python")
    parser.add_argument("--steps", type=int, default=300, help="of sideways digits, in C")
    parser.add_argument("--kill", type=int, default=60, help="after so many steps")
    options = parser.parse_args()
    model = prepare(options.folder, options.optimizer, options.epochs)
    images, labels = test_digits()
    print(f"before: {right_of(model, images, labels)} of {len(labels)} sideways digits are right")

    checkpoint = options.folder / "weights.safetensors"
    if checkpoint.exists():
        os.remove(checkpoint)
    arguments = command(options.program, options.folder, checkpoint, options.steps)
    killed_after(options.kill, arguments)
    losses, right_in_c = finished(arguments)
    print(
        f"continued from step {min(losses)} to step {max(losses)}, loss {losses[max(losses)]:.4f}"
    )

    read_back(model, checkpoint)
    right = right_of(model, images, labels)
    print(f"after: {right_in_c} are right in C, {right} in Python with the same weights")
    return 0 if right == right_in_c else 1


if __name__ == "__main__":
    raise SystemExit(main())
