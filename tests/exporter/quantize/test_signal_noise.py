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
    joint_share,
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
