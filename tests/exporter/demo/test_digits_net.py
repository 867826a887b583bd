# SPDX-License-Identifier: Apache-2.0
"""The demo's net: its training, its Program, its ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.demo import digits_net
from samara.exporter.export import export
from samara.exporter.frontend.random import manual_seed
from samara.exporter.frontend.tensor import wrap
from samara.exporter.importers.onnx import import_onnx
from samara.pybridge import Session


def _images(rng: np.random.Generator, count: int) -> tuple[digits_net.Floats, digits_net.Ints]:
    """Bars whose place is their class: easy to learn."""
    labels = rng.integers(0, 4, count)
    images = rng.uniform(0, 0.2, (count, 1, 8, 8)).astype(np.float32)
    for image, label in zip(images, labels, strict=True):
        if label < 2:
            image[0, 2 + 3 * label, 1:7] = 1
        else:
            image[0, 1:7, 2 + 3 * (label - 2)] = 1
    return images, labels.astype(np.int64)


@pytest.fixture
def net() -> Any:
    """A net that has learned nothing."""
    manual_seed(4)
    return digits_net.net().eval()


def test_fit_learns_and_repeats(rng: np.random.Generator) -> None:
    images, labels = _images(rng, 200)
    told: list[tuple[int, int, float, float]] = []
    net = digits_net.fit(images, labels, 3, lambda *row: told.append(row), epochs=4)
    assert [row[:2] for row in told] == [(i, 24) for i in range(1, 25)]
    assert told[0][2] > 1
    assert told[-1][2] < 0.3
    assert told[-1][3] > 0.9
    other, truth = _images(rng, 100)
    assert np.mean(np.argmax(digits_net.probabilities(net, other), axis=1) == truth) > 0.95
    again = digits_net.fit(images, labels, 3, epochs=4)
    for a, b in zip(net.parameters(), again.parameters(), strict=True):
        assert np.array_equal(a.detach().numpy(), b.detach().numpy())
    another = digits_net.fit(images, labels, 5, epochs=1)
    assert not np.array_equal(
        digits_net.probabilities(another, other), digits_net.probabilities(net, other)
    )


def test_fit_quantized_goes_on_from_the_float_net(rng: np.random.Generator, tmp_path: Path) -> None:
    images, labels = _images(rng, 200)
    net = digits_net.fit(images, labels, 3, epochs=3)
    told: list[tuple[int, int, float, float]] = []
    quantized = digits_net.fit_quantized(
        net, images, labels, 3, lambda *row: told.append(row), epochs=2
    )
    assert [row[:2] for row in told] == [(i, 12) for i in range(1, 13)]
    assert not quantized.training
    other, truth = _images(rng, 100)
    want = digits_net.probabilities(quantized, other)
    assert np.mean(np.argmax(want, axis=1) == truth) > 0.95
    program = digits_net.program(quantized)
    names = [n.op.name for n in program.main.nodes]
    assert names.count("qconv") == names.count("qmatmul") == 2
    export(program, tmp_path / "digits.samara")
    (got,) = Session(tmp_path / "digits.samara").run({"image": other}).values()
    assert np.allclose(got, want, atol=1e-6)
    again = digits_net.fit_quantized(net, images, labels, 3, epochs=2)
    assert np.array_equal(digits_net.probabilities(again, other), want)


def test_images_are_moved_by_at_most_a_pixel(rng: np.random.Generator) -> None:
    images, labels = _images(rng, 1)
    manual_seed(0)
    samples = digits_net.Shifted(*map(wrap, (images, labels)))
    seen = {samples[0][0].numpy().tobytes() for _ in range(200)}
    padded = np.pad(images[0], ((0, 0), (1, 1), (1, 1)))
    want = {padded[:, y : y + 8, x : x + 8].tobytes() for y in range(3) for x in range(3)}
    assert seen == want
    assert int(samples[0][1]) == labels[0]


def test_program_is_the_net(net: Any, rng: np.random.Generator) -> None:
    images, _ = _images(rng, 5)
    want = digits_net.probabilities(net, images)
    np.testing.assert_allclose(want.sum(axis=1), 1, rtol=1e-5)
    got = digits_net.program(net).run({"image": images})["probability"]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_onnx_model_is_the_net(net: Any, rng: np.random.Generator) -> None:
    images, _ = _images(rng, 5)
    program = import_onnx(digits_net.onnx_model(net))
    got = program.run({"image": images})["probability"]
    np.testing.assert_allclose(got, digits_net.probabilities(net, images), rtol=1e-4, atol=1e-6)
