# SPDX-License-Identifier: Apache-2.0
"""A custom differentiable operation: write forward and backward, check them, and train with them.

    python examples/custom_function.py

It is a squared relu. Its gradient is written by hand, compared with central differences by gradcheck,
and used in a net that learns two interleaved spirals.
"""

from __future__ import annotations

import argparse
import math

import samara
from samara import nn, optim
from samara.autograd import Function, gradcheck, gradgradcheck


class SquaredRelu(Function):
    """y = max(x, 0)^2 (So et al. 2021, arXiv:2109.08668), which saves max(x, 0) for backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) ** 2

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return dy * 2 * x.clamp(min=0)


class Activation(nn.Module):
    """The operation as a layer."""

    def forward(self, x):
        return SquaredRelu.apply(x)


def spirals(count):
    """Points [count, 2] of two spirals, and the spiral of each point."""
    label = (samara.arange(count) % 2).long()
    t = samara.rand(count).sqrt() * 3 * math.pi
    angle = t + label.float() * math.pi
    points = samara.stack([t * angle.cos(), t * angle.sin()], dim=1) / (3 * math.pi)
    return points + 0.01 * samara.randn(count, 2), label


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    samara.manual_seed(0)

    # Central differences need float64, and points away from the kink at zero.
    x = samara.randn(3, 5, dtype=samara.float64)
    x = (x + 0.1 * x.sign()).requires_grad_()
    assert gradcheck(SquaredRelu.apply, (x,))
    assert gradgradcheck(SquaredRelu.apply, (x,))
    print("gradcheck: first and second derivatives agree with central differences")

    model = nn.Sequential(
        *(nn.Linear(2, 32), Activation(), nn.LayerNorm(32)),
        *(nn.Linear(32, 32), Activation(), nn.LayerNorm(32)),
        nn.Linear(32, 2),
    )
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(options.steps):
        points, labels = spirals(128)
        loss = nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0 or step == options.steps - 1:
            print(f"step {step}: loss {loss.item():.4f}")

    points, labels = spirals(500)
    with samara.no_grad():
        right = (model(points).argmax(1) == labels).float().mean().item()
    print(f"{100 * right:.1f} % of new points are on the right spiral")

    # What forward computes becomes part of a Program like any other operator.
    program = samara.trace(model, points[:4], dynamic={"input": {0: "points"}})
    exported = program.run({"input": points.numpy()})["output"].argmax(1)
    print(
        f"the traced program agrees on {(exported == model(points).argmax(1).numpy()).sum()} of 500"
    )


if __name__ == "__main__":
    main()
