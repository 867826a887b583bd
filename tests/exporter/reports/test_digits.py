# SPDX-License-Identifier: Apache-2.0
"""The demo's net: its gradients, its fit, its ONNX file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.reports import _digits


def _images(rng: np.random.Generator, count: int) -> tuple[_digits.Floats, _digits.Ints]:
    """Bars whose place is their class: easy to learn."""
    labels = rng.integers(0, 4, count)
    images = rng.uniform(0, 0.2, (count, 1, 8, 8)).astype(np.float32)
    for image, label in zip(images, labels, strict=True):
        if label < 2:
            image[0, 2 + 3 * label, 1:7] = 1
        else:
            image[0, 1:7, 2 + 3 * (label - 2)] = 1
    return images, labels.astype(np.int64)


def _loss(net: _digits.Net, images: Any, labels: _digits.Ints) -> float:
    logits = _digits._forward(net, images)[0]
    top = logits.max(axis=1, keepdims=True)
    logs = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    return float(-np.mean(logs[np.arange(len(labels)), labels]))


def test_gradients_are_those_of_finite_differences(rng: np.random.Generator) -> None:
    net = _digits._initial(rng)
    # In double precision a step can be so small that it crosses no kink of relu or max.
    for name in _digits.Net.__dataclass_fields__:
        setattr(net, name, getattr(net, name).astype(np.float64))
    images, labels = _images(rng, 6)
    wide: Any = images.astype(np.float64)
    gradients = _digits._gradients(net, wide, labels)
    step = 1e-6
    for p, g in zip(net.parameters(), gradients, strict=True):
        assert g.shape == p.shape
        for index in rng.choice(p.size, 6, replace=False):
            at = np.unravel_index(index, p.shape)
            kept = p[at]
            p[at] = kept + step
            above = _loss(net, wide, labels)
            p[at] = kept - step
            below = _loss(net, wide, labels)
            p[at] = kept
            assert g[at] == pytest.approx((above - below) / (2 * step), rel=1e-3, abs=1e-6)


def test_fit_learns_and_repeats(rng: np.random.Generator) -> None:
    images, labels = _images(rng, 200)
    epochs: list[int] = []
    net = _digits.fit(images, labels, 3, lambda done, _of: epochs.append(done))
    assert epochs == list(range(1, _digits._EPOCHS + 1))
    other, truth = _images(rng, 100)
    assert np.mean(np.argmax(net.probabilities(other), axis=1) == truth) > 0.95
    again = _digits.fit(images, labels, 3)
    assert all(
        np.array_equal(a, b) for a, b in zip(net.parameters(), again.parameters(), strict=True)
    )


def test_onnx_model_is_the_net(rng: np.random.Generator) -> None:
    net = _digits._initial(rng)
    images, _ = _images(rng, 5)
    program = import_onnx(_digits.onnx_model(net))
    got = program.run({"image": images})["probability"]
    np.testing.assert_allclose(got, net.probabilities(images), rtol=1e-4, atol=1e-6)
