# SPDX-License-Identifier: Apache-2.0
"""Signal and noise: ratios of known arrays, tensors of programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.exporter.quantize.programs import cnn, samples

from samara.exporter.quantize._signal_noise import (
    Noise,
    Probe,
    gains,
    joint_share,
    loses,
    output_noise,
    reference_outputs,
    worst_db,
)
from samara.exporter.quantize.quantize import quantize


def test_ratio_of_known_arrays() -> None:
    noise = Noise()
    noise.add(np.array([3.0, 4.0]), np.array([3.0, 3.5]))
    assert noise.sqnr_db == pytest.approx(20.0)
    assert noise.share == pytest.approx(0.01)
    noise.add(np.array([np.inf]), np.array([1.0]))
    assert noise.sqnr_db == pytest.approx(20.0)
    assert Noise().sqnr_db == math.inf


def test_a_probe_gives_inner_tensors_as_numbers() -> None:
    p, feeds = cnn(), samples(1)[0]
    inner = next(n.outputs[0].name for n in p.main.nodes if n.op.name == "max_pool")
    out, kept = Probe(p, [inner, "x", "nothing"]).run(feeds)
    want = p.run(feeds, keep=[inner])
    np.testing.assert_allclose(kept[inner], want[inner], atol=1e-5)
    np.testing.assert_allclose(out["out0"], want["out0"], atol=1e-5)
    assert set(kept) == {inner}


def test_noise_of_a_quantized_program() -> None:
    p, data = cnn(), samples(4)
    reference = reference_outputs(p, data)
    same = output_noise(reference, p, data)
    assert worst_db(same) > 100
    done = output_noise(reference, quantize(p, data), data)
    assert 15 < worst_db(done) < 70
    assert joint_share(done) == pytest.approx(10 ** (-worst_db(done) / 10))


@pytest.mark.parametrize(
    ("rises", "gained"),
    [
        ([[1.0, 1.2], [0.9, 1.1]], True),
        ([[0.05, 0.05], [0.05, 0.05]], False),  # under 0.1 dB
        ([[3.0, 3.0], [-0.1, -0.1]], False),  # one fold loses
        ([[0.1, 1.1], [3.9, 12.0]], False),  # the mean gain is less than two standard errors
        ([[0.1, 1.1] * 2, [3.9, 12.0] * 2], True),  # as unequal, but more samples
        ([[4.0, -1.0] * 2, [4.0, -1.0] * 2], False),
        ([[4.0, -1.0] * 4, [4.0, -1.0] * 4], True),  # enough samples: both halves gain
        ([[1.0], [1.0]], True),
        ([[0.8, 26.1], [1.6, 12.0]], True),  # unequal, but half of the noise is gone
    ],
)
def test_a_change_gains_by_more_than_chance(rises: list[list[float]], gained: bool) -> None:
    before = [[{"y": Noise(1.0, 1e-3)} for _ in fold] for fold in rises]
    after = [[{"y": Noise(1.0, 1e-3 * 10 ** (-r / 10))} for r in fold] for fold in rises]
    assert gains(before, after) is gained
    assert [loses(a, b) for a, b in zip(before, after, strict=True)] == [sum(f) < 0 for f in rises]


def test_a_change_may_not_cost_an_output_much() -> None:
    before = [[{"y": Noise(1.0, 1e-3), "z": Noise(1.0, 1e-3)}]] * 2
    for factor, gained in ((1.05, True), (1.1, False)):  # 0.21 and 0.41 dB
        after = [[{"y": Noise(1.0, 1e-4), "z": Noise(1.0, 1e-3 * factor)}]] * 2
        assert gains(before, after) is gained
