# SPDX-License-Identifier: Apache-2.0
"""Train a small CNN on handwritten digits, script it, export it, run the file, compare.

    python examples/digits_cnn.py

The first half is the same as in PyTorch. The second half exports the net to one file, which the C
runtime runs for any number of images. It must give the same classes as the trained net.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import samara
from samara import nn, optim


class Net(nn.Module):
    """Two convolutions with batch-norm, two linear layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()),
            nn.MaxPool2d(2),
            *(nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))

    def forward(self, image):
        return {"logits": self.head(self.features(image).flatten(1))}


def train(model, epochs):
    """AdamW under a cosine schedule."""
    loader = samara.data.DataLoader(
        samara.data.digits(train=True), batch_size=32, shuffle=True, drop_last=True
    )
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images)["logits"], labels)
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("digits_cnn.samara"))
    options = parser.parse_args()

    samara.manual_seed(0)
    model = Net()
    train(model, options.epochs)

    model.eval()
    images, labels = samara.data.digits(train=False).tensors
    with samara.no_grad():
        trained = model(images)["logits"].numpy()
    example = images[:2]
    program = samara.script(model, example, dynamic={"image": {0: "batch"}})
    print(samara.export(program, options.out))

    session = samara.Session(options.out)
    exported = session.run({"image": images})["logits"]

    truth = labels.numpy()
    for name, logits in (("samara.nn", trained), ("C runtime", exported)):
        accuracy = samara.metrics.Accuracy()(logits, truth)
        print(f"{name}: {100 * accuracy:.2f} % of {len(truth)} test digits")
    print(f"largest difference of a logit: {abs(trained - exported).max():.1e}")
    return 0 if (trained.argmax(1) == exported.argmax(1)).all() else 1


if __name__ == "__main__":
    raise SystemExit(main())
