# SPDX-License-Identifier: Apache-2.0
"""Metadata: licence, labels from the archive, records of pictures and answers."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Graph, Op, T, built, const

import samara
from samara import import_tflite
from samara.exporter.export import export
from samara.exporter.importers.tflite.metadata import IDENTIFIER, METADATA
from samara.exporter.importers.tflite.schema import metadata_format
from samara.exporter.ir import flat, read_file
from samara.exporter.ir.answer_records import answers_of
from samara.exporter.ir.records import records_of
from samara.exporter.types import ModelFormatError

IMAGE = {"content": {"content_properties": (2, {"color_space": 1})}}
LABELS = {"associated_files": [{"name": "labels.txt", "type": 2}]}


def _normalized(mean: Sequence[float], std: Sequence[float]) -> dict[str, Any]:
    return {**IMAGE, "process_units": [{"options": (1, {"mean": mean, "std": std})}]}


def _model(
    image: Mapping[str, Any],
    output: Mapping[str, Any] | None = None,
    kind: str = "FLOAT32",
    *,
    files: Mapping[str, bytes] | None = None,
    scale: float | None = None,
    zero: int = 0,
    **more: Any,
) -> bytes:
    """The mean over a picture [1, 4, 6, 3], with metadata about both."""
    row = {
        "name": "Net",
        "license": "MIT",
        "author": "somebody",
        "subgraph_metadata": [
            {"input_tensor_metadata": [image], "output_tensor_metadata": [output or {}]}
        ],
        **more,
    }
    said = flat.encode(metadata_format().schema, "ModelMetadata", row, IDENTIFIER)
    tensors = [
        T(kind=kind, shape=(1, 4, 6, 3), name="image", scale=scale, zero=zero),
        const(np.array([1, 2], np.int32)),
        T(kind=kind, shape=(1, 3), name="scores", scale=scale, zero=zero),
    ]
    graph = Graph(tensors, [Op("MEAN", [0, 1], [2])], [0], [2])
    data = built(graph, metadata={METADATA: said})
    archive = io.BytesIO(data)
    with zipfile.ZipFile(archive, "a") as held:
        for name, text in (files or {}).items():
            held.writestr(name, text)
    return archive.getvalue()


def test_texts_and_labels() -> None:
    program = import_tflite(_model(IMAGE, LABELS, files={"labels.txt": b"cat\ndog\nbird\n"}))
    said = program.metadata
    assert (said["license"], said["author"], said["source.name"]) == ("MIT", "somebody", "Net")
    assert json.loads(said["labels"]) == ["cat", "dog", "bird"]


@pytest.mark.parametrize("files", [{}, {"labels.txt": b"\xff\xfe"}, {"other.txt": b"x"}])
def test_labels_that_cannot_be_read_are_left_out(files: Mapping[str, bytes]) -> None:
    assert "labels" not in import_tflite(_model(IMAGE, LABELS, files=files)).metadata


@pytest.mark.parametrize(
    ("kind", "scale", "zero", "image", "text"),
    [
        (
            "FLOAT32",
            None,
            0,
            _normalized([127.5], [127.5]),
            "rgb float32 nhwc resize=6x4 mean=127.5 std=127.5",
        ),
        (
            "FLOAT32",
            None,
            0,
            _normalized([1, 2, 3], [4, 5, 6]),
            "rgb float32 nhwc resize=6x4 mean=1,2,3 std=4,5,6",
        ),
        ("FLOAT32", None, 0, IMAGE, "rgb float32 nhwc resize=6x4"),
        # Bytes that are the pixels, within what rounding explains.
        ("UINT8", 1 / 128, 128, _normalized([127.5], [127.5]), "rgb uint8 nhwc resize=6x4"),
        (
            "INT8",
            1 / 127.5,
            -1,
            _normalized([127.5], [127.5]),
            "rgb int8 nhwc resize=6x4 quant=1,-128",
        ),
        (
            "INT8",
            0.5,
            3,
            _normalized([100], [2]),
            "rgb int8 nhwc resize=6x4 mean=100 std=2 quant=0.5,3",
        ),
    ],
)
def test_records_of_pictures(kind: str, scale: Any, zero: int, image: Any, text: str) -> None:
    program = import_tflite(_model(image, kind=kind, scale=scale, zero=zero))
    record = records_of(program)["image"]
    assert record == samara.ImageRecord.parse(text)


def test_a_picture_goes_in_and_a_class_comes_out(tmp_path: Any) -> None:
    image = _normalized([0], [255])
    data = _model(image, LABELS, files={"labels.txt": b"red\ngreen\nblue"})
    export(import_tflite(data), tmp_path / "m.samara")
    picture = np.zeros((9, 9, 3), np.uint8)
    picture[..., 1] = 255
    session = samara.Session(tmp_path / "m.samara")
    answer = session.predict(samara.Image(picture.tobytes(), "rgb", width=9, height=9))
    assert isinstance(answer, samara.Classification)
    assert str(answer).startswith("Classification(green 1.000")


def test_scores_of_bytes_are_read_by_their_scale(tmp_path: Any) -> None:
    files = {"labels.txt": b"red\ngreen\nblue"}
    data = _model(_normalized([0], [255]), LABELS, "UINT8", files=files, scale=1 / 255, zero=0)
    program = import_tflite(data)
    assert program.metadata["source.quant.image"].endswith(",0")
    assert float(program.metadata["source.quant.scores"].split(",")[0]) == np.float32(1 / 255)
    record = answers_of(program)["main"]
    assert record == samara.ClassifyRecord("scores", quant=(1 / 255, 0))
    export(program, tmp_path / "m.samara")
    assert read_file(tmp_path / "m.samara").min_runtime == (0, 12, 0)
    session = samara.Session(tmp_path / "m.samara")
    picture = np.full((4, 6, 3), (9, 131, 5), np.uint8)
    answer = session.predict(samara.Image(picture.tobytes(), "rgb", width=6, height=4))
    assert isinstance(answer, samara.Classification)
    assert [g.label for g in answer] == ["green", "red", "blue"]
    assert [g.score for g in answer] == pytest.approx([131 / 255, 9 / 255, 5 / 255], rel=1e-6)
    moved = samara.ClassifyRecord("scores", top=1, quant=(0.5, 100))
    export(program, tmp_path / "m.samara", postprocess=moved)
    answer = samara.Session(tmp_path / "m.samara").predict(
        samara.Image(picture.tobytes(), "rgb", width=6, height=4)
    )
    assert isinstance(answer, samara.Classification)
    assert [g.score for g in answer] == [15.5]


def test_inputs_that_are_no_pictures_have_no_record() -> None:
    assert records_of(import_tflite(_model({}))) == {}


def test_damaged_metadata_are_said_to_be() -> None:
    tensors = [T(np.zeros(2, np.float32)), T(kind="FLOAT32", shape=(2,))]
    graph = Graph(tensors, [Op("ABS", [0], [1])], [0], [1])
    with pytest.raises(ModelFormatError, match="the metadata of the model"):
        import_tflite(built(graph, metadata={METADATA: b"\x10\0\0\0" + IDENTIFIER + b"\xff" * 24}))
    # Another format is not read.
    assert import_tflite(built(graph, metadata={METADATA: b"something else"})).entries == ("main",)
