# SPDX-License-Identifier: Apache-2.0
"""Calibration: what is gathered of a running program."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program
from tests.exporter.quantize.programs import cnn, images, samples

from samara.exporter.ir import Array, Builder, Program, Value, Variable
from samara.exporter.quantize import calibration
from samara.exporter.quantize._layers import TensorStats
from samara.exporter.quantize.calibration import calibrate, observe
from samara.exporter.types import QuantizationError


def two() -> Program:
    return program(lambda b: b.op("relu", b.op("neg", b.input("x", "f32", ["n", 4]), name="y")))


def test_statistics_are_those_of_the_tensors() -> None:
    data = [normal(3, 4, seed=i) for i in range(5)]
    p = two()
    output = p.main.outputs[0].name
    found = calibrate(p, data, ["x", "y", output])
    y = -np.concatenate(data)
    for name, want in (("x", -y), ("y", y), (output, np.maximum(y, 0))):
        s = found.stats[name]
        assert (s.samples, s.count, s.nonfinite, s.rows) == (5, 60, 0, 15)
        assert (s.minimum, s.maximum) == (want.min(), want.max())
        assert s.histogram.total == 60
        assert np.array_equal(s.channel_minimum, want.min(axis=0))
        assert np.array_equal(s.channel_maximum, want.max(axis=0))
        assert s.channel_mean == pytest.approx(want.mean(axis=0), abs=1e-6)
    assert found.count == 5
    assert len(found.samples) == 5


def test_tensors_within_the_network_match_the_reference() -> None:
    p = cnn()
    names = [v.name for n in p.main.nodes for v in n.outputs]
    found = calibrate(p, samples(4), names)
    want = [p.run(f, keep=True) for f in samples(4)]
    inner = [n for n in names if n in want[0]]
    assert len(inner) > 4
    for name in inner:
        values = np.stack([w[name] for w in want])
        assert found.stats[name].minimum == pytest.approx(values.min(), abs=1e-4)
        assert found.stats[name].maximum == pytest.approx(values.max(), abs=1e-4)


def test_values_that_are_not_finite_are_counted_and_passed_over() -> None:
    bad = np.array([[1.0, np.nan, np.inf, -2.0]], np.float32)
    s = calibrate(two(), [np.zeros((1, 4), np.float32), bad], ["x"]).stats["x"]
    assert (s.nonfinite, s.minimum, s.maximum) == (2, -2.0, 1.0)
    only = calibrate(two(), [np.full((1, 4), np.nan, np.float32)], ["x"]).stats["x"]
    assert only.histogram.total == 0


def test_a_last_axis_that_changes_has_no_channels() -> None:
    p = program(lambda b: b.op("neg", b.input("x", "f32", ["n", "m"])))
    s = calibrate(p, [np.ones((1, 3), np.float32), np.ones((1, 4), np.float32)], ["x"]).stats["x"]
    assert s.count == 7
    assert len(s.channel_sum) == 0


def test_state_goes_on_from_sample_to_sample() -> None:
    def build(b: Builder) -> list[Value]:
        new = b.op("add", b.input("x", "f32", [1]), b.input("old", "f32", [1]))
        return [b.op("neg", new), new]

    p = program(build)
    f = replace(p.main, reads={"old": "total"}, writes={1: "total"})
    total = Variable("total", p.main.inputs[1].type, np.zeros(1, np.float32))
    p = replace(p.with_function(f), variables=(total,))
    y = p.main.outputs[0].name
    assert calibrate(p, [np.ones(1, np.float32)] * 4, [y]).stats[y].minimum == -4.0


def test_a_stream_is_not_held() -> None:
    made: list[weakref.ref[Array]] = []
    most = 0

    def stream() -> Iterator[Array]:
        nonlocal most
        for i in range(60):
            image = images(1, seed=i).copy()
            made.append(weakref.ref(image))
            most = max(most, sum(r() is not None for r in made))
            yield image

    found = calibrate(cnn(), stream(), ["x"])
    assert found.count == 60
    assert most <= 20
    # Evenly over the stream, whatever its length.
    kept = [float(f["x"].ravel()[0]) for f in found.samples]
    assert kept == [float(images(1, seed=i).ravel()[0]) for i in range(0, 60, 4)]


def test_progress() -> None:
    told: list[tuple[str, int]] = []
    calibrate(cnn(), images(3), ["x"], progress=lambda step, n: told.append((step, n)))
    assert told == [("calibrate", 1), ("calibrate", 2), ("calibrate", 3)]


def test_no_sample_is_refused() -> None:
    with pytest.raises(QuantizationError, match="no calibration sample"):
        calibrate(cnn(), [], ["x"])


def test_a_sample_that_the_program_refuses_is_named() -> None:
    def build(b: Builder) -> Value:
        a, c = b.input("a", "f32", ["n"]), b.input("c", "f32", ["m"])
        total: Value = b.op("add", a, c)
        return total

    p = program(build)
    fits = {"a": np.ones(2, np.float32), "c": np.ones(2, np.float32)}
    with pytest.raises(QuantizationError, match="sample 1"):
        calibrate(p, [fits, {**fits, "c": np.ones(3, np.float32)}], ["a"])


def test_statistics_of_earlier_runs_are_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first samples are observed only for tensors that are new."""
    p, data = two(), [normal(3, 4, seed=i) for i in range(5)]
    output = p.main.outputs[0].name
    seen: list[tuple[str, int]] = []

    def counted(stats: TensorStats, array: Array) -> None:
        seen.append((stats.name, stats.samples))
        observe(stats, array)

    before = calibrate(p, data[:2], ["x", "y"], outputs=True)
    assert np.array_equal(before.outputs[1]["out0"], np.maximum(-data[1], 0))
    monkeypatch.setattr(calibration, "observe", counted)
    found = calibrate(p, data, ["x", output], before=before)
    assert seen == [
        *((output, i) for i in range(2)),
        *((name, i) for i in range(2, 5) for name in ("x", output)),
    ]
    assert before.stats["x"].samples == 2
    assert (found.count, len(found.samples), found.outputs) == (5, 5, ())
    whole = calibrate(p, data, ["x", output]).stats
    for name in ("x", output):
        assert found.stats[name].minimum == whole[name].minimum
        assert found.stats[name].histogram.total == 60
