# SPDX-License-Identifier: Apache-2.0
"""Pictures from the record in a file to the answer: in Python, by the command line, while calibrating."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import samara
from samara import Image, ShapeError
from samara.data.transforms import FromRecord
from samara.exporter.ir import Program
from samara.exporter.ir.records import records_of

Samara = Callable[..., Result]
RECORD = "rgb float32 nchw resize=32 crop=24 mean=127.5,120,110 std=60,61,62"


@pytest.fixture
def samara_cli() -> Samara:
    from samara.cli.main import app

    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def net() -> Program:
    samara.manual_seed(3)
    layers = samara.nn.Sequential(
        samara.nn.Conv2d(3, 8, 3, stride=2), samara.nn.ReLU(), samara.nn.Flatten(),
        samara.nn.Linear(8 * 11 * 11, 4),
    )  # fmt: skip
    return samara.trace(
        layers, (samara.zeros(1, 3, 24, 24),), input_names=["image"], output_names=["scores"]
    )


@pytest.fixture
def path(net: Program, tmp_path: Path) -> Path:
    samara.export(net, tmp_path / "net.samara", preprocess={"image": RECORD})
    return tmp_path / "net.samara"


@pytest.fixture
def picture(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (40, 50, 3), np.uint8)


def ppm(path: Path, picture: np.ndarray) -> Path:
    """The picture as a file."""
    pytest.importorskip("PIL", reason="NOT RUN: pictures in files (no pillow)")
    height, width, _ = picture.shape
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + picture.tobytes())
    return path


def test_a_session_takes_pictures(path: Path, picture: np.ndarray) -> None:
    session = samara.Session(path)
    tensor = samara.preprocess(RECORD, picture)
    wanted = session.run({"image": tensor})["scores"]
    assert np.array_equal(session.run({"image": picture})["scores"], wanted)
    assert np.array_equal(session.run(picture)["scores"], wanted)
    assert np.array_equal(session(Image(picture, "rgb")), wanted)
    turned = np.ascontiguousarray(np.rot90(picture))
    assert np.array_equal(session(Image(turned, "rgb", rotation=90)), wanted)
    future = session.run_async({"image": Image(picture[..., ::-1], "bgr")})
    assert np.array_equal(future.result()["scores"], wanted)


def test_a_session_takes_files(path: Path, picture: np.ndarray, tmp_path: Path) -> None:
    file = ppm(tmp_path / "cat.ppm", picture)
    session = samara.Session(path)
    wanted = session.run(picture)["scores"]
    assert np.array_equal(session.run({"image": file})["scores"], wanted)
    assert np.array_equal(session.run(str(file))["scores"], wanted)


def test_tensors_stay_tensors(path: Path, net: Program, picture: np.ndarray) -> None:
    session = samara.Session(path)
    with pytest.raises(ShapeError):
        session.run({"image": np.zeros((1, 3, 24, 25), np.float32)})
    with pytest.raises(ShapeError):
        session.run({"image": np.zeros((24, 24, 3), np.float32)})  # no picture: not bytes
    with pytest.raises(ShapeError):
        session.run({"image": picture[np.newaxis, ..., :2]})


def test_symbolic_sides_follow_the_picture(tmp_path: Path, picture: np.ndarray) -> None:
    free = samara.trace(
        lambda image: image * 1.0,
        (samara.zeros(1, 3, 24, 32),),
        input_names=["image"],
        output_names=["y"],
        dynamic={"image": {2: "h", 3: "w"}},
    )
    samara.export(
        free, tmp_path / "free.samara", preprocess={"image": "rgb float32 nchw resize=16"}
    )
    session = samara.Session(tmp_path / "free.samara")
    assert session.run(picture)["y"].shape == (1, 3, 16, 20)
    assert session.run(picture.transpose(1, 0, 2))["y"].shape == (1, 3, 20, 16)


def test_training_sees_the_same_bits(path: Path, picture: np.ndarray) -> None:
    transform = FromRecord(RECORD)
    seen = transform(picture)
    assert tuple(seen.shape) == (3, 24, 24)
    record = samara.Model(path).function(None).inputs[0].record
    assert record is not None
    assert np.array_equal(np.asarray(seen.numpy()), samara.preprocess(record, picture)[0])
    assert repr(transform).startswith("FromRecord('rgb float32 nchw resize=32 crop=24x24")


def test_calibration_reads_a_folder_of_pictures(
    net: Program, tmp_path: Path, rng: np.random.Generator
) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    pictures = [rng.integers(0, 256, (40, 50, 3), np.uint8) for _ in range(16)]
    for number, picture in enumerate(pictures):
        ppm(folder / f"{number:02}.ppm", picture)
    from samara.exporter.ir.records import with_records

    recorded = with_records(net, {"image": RECORD})
    by_files = samara.quantize(recorded, folder)
    by_tensors = samara.quantize(recorded, [samara.preprocess(RECORD, p) for p in pictures])
    by_pictures = samara.quantize(recorded, [{"image": p} for p in pictures])
    feeds = {"image": samara.preprocess(RECORD, pictures[0])}
    wanted = by_tensors.run(feeds)["scores"]
    for made in (by_files, by_pictures):
        assert records_of(made) == records_of(recorded)
        assert np.array_equal(made.run(feeds)["scores"], wanted)


def test_data_in_other_units_than_the_record_is_named(net: Program) -> None:
    from samara.exporter.ir.records import with_records

    recorded = with_records(net, {"image": RECORD})
    samples = [np.full((1, 3, 24, 24), 50.0 + i, np.float32) for i in range(16)]
    report = samara.quantize(recorded, samples).report
    assert [f.kind for f in report.findings if f.input == "image"] == ["range"]


def test_the_command_line(
    samara_cli: Samara, net: Program, tmp_path: Path, picture: np.ndarray
) -> None:
    plain, file = tmp_path / "plain.samara", tmp_path / "net.samara"
    samara.export(net, plain)
    made = samara_cli("export", plain, "-o", file, "--preprocess", f"image: {RECORD}")
    assert made.exit_code == 0, made.output
    shown = samara_cli("inspect", file)
    assert "pre-processing of image: rgb float32 nchw resize=32 crop=24x24" in shown.output
    found = samara_cli("doctor", file)
    assert found.exit_code == 0
    assert "record" not in found.output
    cat, out = ppm(tmp_path / "cat.ppm", picture), tmp_path / "out.npy"
    ran = samara_cli("run", file, "--input", f"image={cat}", "--output", out)
    assert ran.exit_code == 0, ran.output
    assert np.array_equal(np.load(out), samara.Session(file).run(picture)["scores"])


@pytest.mark.parametrize("text", ["image rgb", "image:", ": rgb float32 nchw", "image: rgb"])
def test_the_command_line_refuses(
    samara_cli: Samara, path: Path, tmp_path: Path, text: str
) -> None:
    made = samara_cli("export", path, "-o", tmp_path / "x.samara", "--preprocess", text)
    assert made.exit_code in (1, 2)
    assert not (tmp_path / "x.samara").exists()
