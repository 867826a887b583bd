# SPDX-License-Identifier: Apache-2.0
"""Answers from the record in a file: by sessions the bits of the reference, by the command line a drawing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.answer_cases import FACE_RECORDS, random_case
from tests.e2e.models import recorded
from tests.e2e.test_answer_bits import assert_same
from typer.testing import CliRunner, Result

import samara
from samara import Image, ImageRecord, SamaraError, ShapeError, UnknownNameError, UnsupportedError
from samara.exporter.ir import Function, Program, Value, save_program
from samara.exporter.ir.answer_records import answers_of, with_answers
from samara.exporter.ir.records import with_records
from samara.exporter.reference_answers import Output, answer
from samara.exporter.types import DType, Quant, TensorType
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answers import Detections

Samara = Callable[..., Result]
CASES = 300


@pytest.fixture
def samara_cli() -> Samara:
    from samara.cli.main import app

    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


def _passing(outputs: dict[str, Output], record: ImageRecord, tensor: tuple[int, int]) -> Program:
    """A program whose outputs are its inputs, with a picture as the last."""
    values = []
    for name, given in outputs.items():
        quant = None if given.scale == 1 else Quant((given.scale,), (given.zero,))
        dtype = DType.parse(given.data.dtype.name) if quant is None else DType.QS8
        values.append(Value(name, TensorType.of(dtype, given.data.shape, quant)))
    width, height = tensor
    values.append(Value("image", TensorType.of(DType.parse("uint8"), (1, height, width, 3))))
    names = tuple(v.name for v in values)
    f = Function("main", tuple(values), tuple(values), (), names)
    return with_records(Program({"main": f}, ("main",)), {"image": record})


def _pictured(geometry: PictureGeometry, rng: np.random.Generator) -> tuple[Image, ImageRecord]:
    """A picture and a record that make that geometry."""
    pixels = rng.integers(0, 256, (geometry.height, geometry.width, 3), np.uint8)
    image = Image(
        pixels, "rgb", crop=geometry.crop, rotation=geometry.rotation, mirror=geometry.mirror
    )
    letterbox = ImageRecord("rgb", "uint8", "nhwc", letterbox=geometry.tensor)
    crop = None if geometry.resized == geometry.tensor else geometry.tensor
    if PictureGeometry.of(letterbox, image) == geometry:
        return image, letterbox
    return image, ImageRecord("rgb", "uint8", "nhwc", resize=geometry.resized, crop=crop)


@pytest.mark.parametrize("seed", range(2))
def test_sessions_give_the_reference_s_bits(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    labels = [f"label {i}" for i in range(7)]
    for number in range(CASES):
        record, outputs, geometry = random_case(rng)
        image, picture = _pictured(geometry, rng)
        assert PictureGeometry.of(picture, image) == geometry
        program = with_answers(_passing(outputs, picture, geometry.tensor), record)
        metadata = {**program.metadata, "labels": json.dumps(labels)}
        program = Program(program.functions, program.entries, (), metadata)
        path = tmp_path / f"{number}.samara"
        save_program(program, path)
        assert answers_of(samara.open_program(path)).keys() == {"main"}
        session = samara.Session(path, threads=1)
        feeds = {name: given.data for name, given in outputs.items()} | {"image": image}
        try:
            want = answer(record, outputs, geometry, labels)
        except ShapeError:
            with pytest.raises(SamaraError):
                session.predict(feeds)
            continue
        try:
            got = session.predict(feeds)
            assert_same(got, want)
        except (AssertionError, SamaraError) as error:
            error.add_note(f"case {number}: {record} {geometry}")
            raise
        assert getattr(got, "labels", ()) == getattr(want, "labels", ())
        assert repr(got) == repr(want)


# ---- real nets ----


@pytest.mark.parametrize("name", FACE_RECORDS)
def test_faces(models: Path, tmp_path: Path, name: str, rng: np.random.Generator) -> None:
    """Tensors that are given as they are have boxes in their own pixels; pictures in theirs."""
    (onnx,) = (models / name).glob("*.onnx")
    program = samara.import_onnx(onnx)
    path = tmp_path / "faces.samara"
    samara.export(program, path, postprocess=FACE_RECORDS[name], labels=["face"], check=False)
    session = samara.Session(path)
    run = recorded(models / name)[1]
    (tensor,) = run.inputs.values()
    size = (tensor.shape[3], tensor.shape[2])
    found = session.predict(tensor)
    assert isinstance(found, Detections)
    want = answer(
        answers_of(samara.open_program(path))[session.function],
        session.run(tensor),
        PictureGeometry.of_sizes(*size),
        ["face"],
    )
    assert_same(found, want)
    assert len(found) == 19
    assert found[0].label == "face"


# ---- what users meet ----


@pytest.fixture
def net() -> Program:
    samara.manual_seed(3)
    layers = samara.nn.Sequential(
        samara.nn.Conv2d(3, 8, 3, stride=2), samara.nn.Flatten(), samara.nn.Linear(8 * 11 * 11, 4)
    )
    return samara.trace(
        layers, (samara.zeros(1, 3, 24, 24),), input_names=["image"], output_names=["scores"]
    )


PICTURE = {"image": "rgb float32 nchw resize=24x24 std=255"}
LABELS = ["ant", "bee", "cat", "dog"]


@pytest.fixture
def path(net: Program, tmp_path: Path) -> Path:
    samara.export(
        net,
        tmp_path / "net.samara",
        preprocess=PICTURE,
        postprocess="classify scores softmax top=2",
        labels=LABELS,
    )
    return tmp_path / "net.samara"


def test_classes_of_a_picture(path: Path, rng: np.random.Generator) -> None:
    session = samara.Session(path)
    picture = rng.integers(0, 256, (30, 40, 3), np.uint8)
    scores = session.run(picture)["scores"][0]
    found = session.predict(picture)
    assert isinstance(found, samara.Classification)
    assert found.label == LABELS[int(scores.argmax())]
    assert [guess.index for guess in found.top] == list(np.argsort(-scores)[:2])
    assert session.predict({"image": picture}) == found
    assert session.profile()
    # A run of another kind in between changes nothing.
    session.run(np.zeros((1, 3, 24, 24), np.float32))
    assert session.predict(picture) == found
    assert session.model.labels == tuple(LABELS)
    assert session.model.function(None).answer == "classes"


def test_records_follow_names_and_files(net: Program, path: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.samara"
    samara.export(samara.open_program(path), again, rename={"scores": "y"})
    (record,) = answers_of(samara.open_program(again)).values()
    assert str(record) == "classify y softmax top=2"
    # Beside another function, and taken away.
    both = tmp_path / "both.samara"
    samara.export({"a": samara.open_program(path), "b": net}, both)
    assert set(answers_of(samara.open_program(both))) == {"a"}
    samara.export(samara.open_program(both), both, postprocess={"a": "", "b": "classify scores"})
    assert set(answers_of(samara.open_program(both))) == {"b"}
    session = samara.Session(both, function="b")
    assert session.predict(np.zeros((1, 3, 24, 24), np.float32))


def test_quantized_nets_answer(path: Path, rng: np.random.Generator, tmp_path: Path) -> None:
    pictures = [{"image": rng.integers(0, 256, (24, 24, 3), np.uint8)} for _ in range(8)]
    quantized = samara.quantize(samara.open_program(path), pictures)
    samara.export(quantized, tmp_path / "int8.samara")
    one = samara.Session(path).predict(pictures[0])
    other = samara.Session(tmp_path / "int8.samara").predict(pictures[0])
    assert isinstance(one, samara.Classification)
    assert isinstance(other, samara.Classification)
    assert one.label == other.label


@pytest.mark.parametrize(
    ("record", "kind", "part"),
    [
        ("classify logits", UnknownNameError, "no output 'logits'"),
        ("mask scores nchw", ShapeError, "does not fit function 'forward'"),
        ("boxes corners box=scores[1:] score=scores", ShapeError, "does not fit"),
        ("guess scores", samara.ArgumentError, "kind of answer"),
    ],
)
def test_records_that_do_not_fit(
    net: Program, tmp_path: Path, record: str, kind: type[SamaraError], part: str
) -> None:
    with pytest.raises(kind, match=part):
        samara.export(net, tmp_path / "no.samara", postprocess=record)
    assert not (tmp_path / "no.samara").exists()


def test_a_file_without_a_record_says_so(net: Program, tmp_path: Path) -> None:
    samara.export(net, tmp_path / "plain.samara")
    session = samara.Session(tmp_path / "plain.samara")
    with pytest.raises(UnsupportedError, match="does not say what the outputs of 'forward' mean"):
        session.predict(np.zeros((1, 3, 24, 24), np.float32))


def test_the_command_line_answers_and_draws(
    net: Program, samara_cli: Samara, tmp_path: Path, rng: np.random.Generator
) -> None:
    pil = pytest.importorskip("PIL.Image", reason="NOT RUN: pictures in files (no pillow)")
    pixels = rng.integers(0, 256, (30, 40, 3), np.uint8)
    pil.fromarray(pixels).save(tmp_path / "cat.png")
    samara.export(net, tmp_path / "plain.samara", preprocess=PICTURE, labels=LABELS)
    made = samara_cli(
        *("export", tmp_path / "plain.samara", "-o", tmp_path / "net.samara"),
        *("--postprocess", "classify scores softmax top=2"),
    )
    assert made.exit_code == 0, made.output
    assert "answer of forward: classify scores softmax top=2" in (
        samara_cli("inspect", tmp_path / "net.samara").output
    )
    image = f"image={tmp_path / 'cat.png'}"
    drawn = tmp_path / "out.png"
    run = samara_cli("run", tmp_path / "net.samara", "--input", image, "--draw", drawn)
    assert run.exit_code == 0, run.output
    best = samara.Session(tmp_path / "net.samara").predict(tmp_path / "cat.png")
    assert str(best) in run.output
    with pil.open(drawn) as picture:
        assert picture.size == (40, 30)
        assert not np.array_equal(np.asarray(picture), pixels)
    said = samara_cli("run", tmp_path / "net.samara", "--input", image, "--json")
    assert json.loads(said.output)["answer"]["kind"] == "Classification"
    refused = samara_cli(
        "run", tmp_path / "plain.samara", "--input", image, "--draw", tmp_path / "no.png"
    )
    assert refused.exit_code != 0
    assert "--postprocess" in refused.output
    unnamed = samara_cli("run", tmp_path / "net.samara", "--input", image, "--draw", "out.xyz")
    assert unnamed.exit_code != 0
    assert "name it .png or .jpg" in unnamed.output
    random = samara_cli("run", tmp_path / "net.samara", "--draw", tmp_path / "no.png")
    assert random.exit_code != 0
    assert "give one: --input image=FILE.jpg" in random.output
    assert not (tmp_path / "no.png").exists()
