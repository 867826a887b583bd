# SPDX-License-Identifier: Apache-2.0
"""Train a net for handwritten digits, and write it as an npm package for the pages beside this file.

    python -m pip install ziglang
    python examples/web/make_model.py

The record in the file makes the input of any picture: dark ink on light paper, one digit. So no page needs to
resize or to convert pixels.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import samara
from samara import nn, optim
from samara.exporter.build import write_web

HERE = Path(__file__).resolve().parent
INK = "gray float32 nchw resize=8x8 filter=area mean=255 scale=-0.00392156862745098"


def train(epochs):
    """A small convolutional net, trained on digits of 8 by 8 pixels."""
    samara.manual_seed(0)
    net = nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)),
    )
    loader = samara.data.DataLoader(samara.data.digits(train=True), batch_size=32, shuffle=True)
    optimizer = optim.AdamW(net.parameters(), lr=3e-3)
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(images), labels).backward()
            optimizer.step()
    images, labels = samara.data.digits(train=False).tensors
    with samara.no_grad():
        accuracy = samara.metrics.Accuracy()(net(images).numpy(), labels.numpy())
    print(f"{100 * accuracy:.1f} % of {len(labels.numpy())} test digits")
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()

    net = train(options.epochs).eval()
    file = options.out / "digits.samara"
    samara.export(
        samara.trace(
            net, (samara.zeros(1, 1, 8, 8),), input_names=["image"], output_names=["scores"]
        ),
        file,
        preprocess={"image": INK},
        postprocess="classify scores softmax",
        labels=[str(digit) for digit in range(10)],
    )
    print(write_web([file], out=options.out / "digits"))


if __name__ == "__main__":
    main()
