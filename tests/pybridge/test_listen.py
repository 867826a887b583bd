# SPDX-License-Identifier: Apache-2.0
"""Sessions that listen: the tensors of a recording one by one, in portions of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import ArgumentError, Audio, SamaraError, ShapeError, UnsupportedError

RECORD = "logmel float32 ntf rate=16000 window=400 hop=160 bins=8 frames=6 step=2"
LABELS = ["no", "yes", "maybe"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    samara.manual_seed(1)
    net = samara.nn.Sequential(samara.nn.Flatten(), samara.nn.Linear(48, 3))
    names: Any = {"input_names": ["audio"], "output_names": ["scores"]}
    program = samara.trace(net, (samara.zeros(1, 6, 8),), **names)
    path, answer = tmp_path / "net.samara", "classify scores softmax"
    samara.export(program, path, preprocess={"audio": RECORD}, postprocess=answer, labels=LABELS)
    return path


@pytest.fixture
def samples(rng: np.random.Generator) -> np.ndarray:
    return (rng.standard_normal(9000) * 4000).astype(np.int16)


def wanted(path: Path, audio: Audio) -> list[np.ndarray]:
    session = samara.Session(path)
    return [session.run({"audio": t})["scores"] for t in samara.preprocess(RECORD, audio)]


def heard(session: samara.Session, sound: object, *, end: bool = True) -> list[np.ndarray]:
    return [outputs["scores"] for outputs in session.listen(sound, end=end)]


def test_a_recording_as_one_and_in_portions(path: Path, samples: np.ndarray) -> None:
    session = samara.Session(path)
    for rate, channels in ((16000, 1), (44100, 1), (22050, 2)):
        whole = samples.reshape(-1, channels)
        want = wanted(path, Audio(whole, rate))
        assert len(want) > 3
        np.testing.assert_array_equal(heard(session, Audio(whole, rate)), want)
        for portion in (37, 160, 2000):
            got = []
            for at in range(0, len(whole), portion):
                got += heard(session, Audio(whole[at : at + portion], rate), end=False)
            got += heard(session, Audio(whole[:0], rate))
            np.testing.assert_array_equal(got, want)


def test_arrays_have_the_rate_of_the_record(path: Path, samples: np.ndarray) -> None:
    want = wanted(path, Audio(samples, 16000))
    np.testing.assert_array_equal(heard(samara.Session(path), samples), want)


def test_who_stops_early_begins_anew(path: Path, samples: np.ndarray) -> None:
    session = samara.Session(path)
    want = wanted(path, Audio(samples, 16000))
    for number, _ in enumerate(session.listen(samples)):
        if number == 2:
            break
    np.testing.assert_array_equal(heard(session, samples), want)
    # A portion is no end: what was pushed stays.
    first = next(iter(session.listen(samples[:4000], end=False)))
    np.testing.assert_array_equal(first["scores"], want[0])


def test_other_runs_between(path: Path, samples: np.ndarray) -> None:
    session = samara.Session(path)
    got = []
    for outputs in session.listen(samples):
        got.append(outputs["scores"])
        session.run({"audio": np.ones((1, 6, 8), np.float32)})
    np.testing.assert_array_equal(got, wanted(path, Audio(samples, 16000)))


def test_the_last_run_can_be_profiled(path: Path, samples: np.ndarray) -> None:
    session = samara.Session(path)
    assert len(heard(session, samples)) > 0
    assert session.profile()
    steps = session.listen(samples)
    next(steps)
    assert len(session.profile()) > 0
    np.testing.assert_array_equal(next(steps)["scores"], wanted(path, Audio(samples, 16000))[1])


def test_answers(path: Path, samples: np.ndarray) -> None:
    session = samara.Session(path)
    answers = list(session.predict_each(samples))
    scores = np.array(heard(session, samples))[:, 0]
    best = [a.label for a in answers if isinstance(a, samara.Classification)]
    assert best == [LABELS[i] for i in scores.argmax(1)]
    assert session.predict(samples[: 400 + 5 * 160]) == answers[0]


def test_one_run_takes_one_tensor(path: Path, samples: np.ndarray) -> None:
    session = samara.Session(path)
    want = wanted(path, Audio(samples, 16000))
    one = samples[: 400 + 5 * 160]
    np.testing.assert_array_equal(session.run(one)["scores"], want[0])
    np.testing.assert_array_equal(session.run({"audio": Audio(one, 16000)})["scores"], want[0])
    with pytest.raises(ShapeError, match=r"makes \d+ tensors, and a run takes one") as caught:
        session.run(samples)
    assert "session.listen" in str(caught.value.fix)
    with pytest.raises(ShapeError, match="makes 0 tensors"):
        session.run(one[:-1])
    with pytest.raises(ArgumentError, match="the samples are int64"):
        session.run(one.astype(np.int64))


def test_state_and_other_inputs(tmp_path: Path, samples: np.ndarray) -> None:
    class Sum(samara.nn.Module):
        total: samara.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", samara.zeros(1))

        def forward(self, gain: samara.Tensor, audio: samara.Tensor) -> samara.Tensor:
            self.total = self.total + (audio * gain).sum().reshape(1)
            return self.total

    names: Any = {"input_names": ["gain", "audio"], "output_names": ["total"]}
    program = samara.trace(Sum(), (samara.zeros(1), samara.zeros(1, 500)), **names)
    record = "samples float32 nf rate=16000 window=500"
    samara.export(program, tmp_path / "sum.samara", preprocess={"audio": record})
    session = samara.Session(tmp_path / "sum.samara")
    feeds = {"gain": np.array([2], np.float32)}
    totals = [outputs["total"][0] for outputs in session.listen(samples, feeds)]
    parts = samples.reshape(18, 500).astype(np.float64).sum(1) / 32768
    np.testing.assert_allclose(totals, 2 * np.cumsum(parts), rtol=1e-4, atol=1e-3)
    with pytest.raises(SamaraError, match="gain"):
        next(session.listen(samples))


def test_flat_inputs(tmp_path: Path, samples: np.ndarray) -> None:
    names: Any = {"input_names": ["audio"], "output_names": ["y"]}
    program = samara.trace(lambda audio: audio * 1.0, (samara.zeros(1, 48),), **names)
    samara.export(program, tmp_path / "flat.samara", preprocess={"audio": RECORD})
    session = samara.Session(tmp_path / "flat.samara")
    got = [outputs["y"] for outputs in session.listen(samples)]
    np.testing.assert_array_equal(got, samara.preprocess(RECORD, samples).reshape(len(got), 1, 48))


def test_models_that_hear_nothing(tmp_path: Path, path: Path, samples: np.ndarray) -> None:
    program = samara.trace(lambda x: x + 1.0, (samara.zeros(1, 48),), input_names=["x"])
    samara.export(program, tmp_path / "deaf.samara")
    session = samara.Session(tmp_path / "deaf.samara")
    with pytest.raises(UnsupportedError, match=r"how sound becomes one of its inputs \(x\)"):
        session.listen(samples)
    with pytest.raises(UnsupportedError, match="what the outputs"):
        session.predict_each(samples)
    with pytest.raises(SamaraError, match="no such file"):
        samara.Session(path).listen("none.wav")


def test_sessions_that_are_busy(path: Path, samples: np.ndarray) -> None:
    session = samara.Session(path)
    steps = session.listen(samples)
    next(steps)
    session._lock.acquire()
    with pytest.raises(SamaraError, match="another thread"):
        next(steps)
    session._lock.release()
    np.testing.assert_array_equal(heard(session, samples), wanted(path, Audio(samples, 16000)))
