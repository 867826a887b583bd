# SPDX-License-Identifier: Apache-2.0
"""Runs over a recording, by the command line's function and in its words."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import samara
from samara.exporter.measure.hearing import Heard
from samara.exporter.measure.run import run
from samara.pybridge.answers import Classification, Guess

RECORD = "mel float32 ntf rate=8000 window=200 hop=80 bins=4 frames=5"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    samara.manual_seed(1)
    net = samara.nn.Sequential(samara.nn.Flatten(), samara.nn.Linear(20, 2))
    program = samara.trace(
        net, (samara.zeros(1, 5, 4),), input_names=["audio"], output_names=["scores"]
    )
    samara.export(
        program,
        tmp_path / "net.samara",
        preprocess={"audio": RECORD},
        postprocess="classify scores softmax",
        labels=["a", "b"],
    )
    return tmp_path / "net.samara"


@pytest.fixture
def recording(tmp_path: Path, rng: np.random.Generator) -> Path:
    with wave.open(str(tmp_path / "a.wav"), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes((rng.standard_normal(4000) * 5000).astype(np.int16).tobytes())
    return tmp_path / "a.wav"


def test_outputs_have_an_axis_of_runs(path: Path, recording: Path) -> None:
    result = run(path, inputs={"audio": recording})
    session = samara.Session(path)
    want = [o["scores"] for o in session.listen(recording)]
    np.testing.assert_array_equal(result.outputs["scores"], want)
    assert result.answer is None
    assert result.heard is not None
    assert result.heard.runs == len(want) == 9
    assert (result.heard.seconds, result.heard.step_seconds) == (0.065, 0.05)
    assert list(result.heard.answers) == list(session.predict_each(recording))
    assert not result.random_inputs
    json = result.to_json()["heard"]
    assert json["runs"] == len(json["answers"]) == 9
    assert json["answers"][0]["kind"] == "Classification"


def test_the_command_line(path: Path, recording: Path) -> None:
    from samara.cli.main import app

    for given in (f"audio={recording}", str(recording)):
        shown = CliRunner().invoke(app, ["run", str(path), "--input", given])
        assert shown.exit_code == 0, shown.output
        assert "9 runs, each on 0.065 s of sound, one every 0.05 s" in shown.output
        assert "ms a run" in shown.output
    recording.write_bytes(recording.read_bytes()[:60])
    shown = CliRunner().invoke(app, ["run", str(path), "--input", f"audio={recording}"])
    assert shown.exit_code == 1
    assert "is shorter than the 0.065 s that one tensor takes" in str(shown.output)


def test_other_commands_take_the_middle(path: Path, recording: Path) -> None:
    from samara.exporter.measure.feeds import read_feeds

    tensors = samara.preprocess(RECORD, recording)
    specs = samara.Session(path).inputs
    np.testing.assert_array_equal(read_feeds({}, [recording], specs)["audio"], tensors[4])


def test_calibration_takes_all(path: Path, recording: Path, tmp_path: Path) -> None:
    from samara.exporter.quantize._calibration_data import read_samples

    program = samara.open_program(path)
    records = samara.exporter.ir.records.records_of(program)
    folder = tmp_path / "sounds"
    folder.mkdir()
    recording.rename(folder / "a.wav")
    tensors = samara.preprocess(RECORD, folder / "a.wav")
    for data in (folder, folder / "a.wav", [{"audio": folder / "a.wav"}], [str(folder / "a.wav")]):
        feeds = list(read_samples(data, program.main.inputs, records))
        np.testing.assert_array_equal([f["audio"] for f in feeds], tensors)


def test_times_of_classes() -> None:
    def answer(label: str, score: float) -> Classification:
        return Classification((Guess(label, 0, score),))

    heard = Heard(
        4, 0.5, 0.25, (answer("a", 0.5), answer("a", 0.75), Classification(()), answer("b", 1.0))
    )
    assert heard.text().splitlines() == [
        "4 runs, each on 0.5 s of sound, one every 0.25 s",
        "      0.00 to 0.75 s  a  0.7500",
        "      0.75 to 1.25 s  b  1.0000",
    ]
