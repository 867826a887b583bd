# SPDX-License-Identifier: Apache-2.0
"""Input records in programs and files."""

from __future__ import annotations

from pathlib import Path

import pytest

import samara
from samara import ArgumentError, ImageRecord, ModelFormatError, ShapeError, UnknownNameError
from samara.exporter.ir import Program, records, schema, to_bytes
from samara.exporter.ir.file_read import from_bytes
from samara.exporter.ir.program import Function, Value
from samara.exporter.ir.records import RECORDS, records_of, relaid, renamed_records, with_records
from samara.exporter.types import DType, Quant, TensorType, as_dim
from samara.pybridge.image_planes import FORMATS
from samara.pybridge.image_text import CHANNELS, FILTERS, LAYOUTS, MATRICES, RANGES

EVERY_FIELD = (
    "rgb float32 nchw resize=40 filter=area crop=32x24 mean=1,2,3 scale=0.5,-0.25,4 matrix=bt709 range=full",
    "bgr float32 nchw letterbox=32x24:7,8,9 antialias",
    "rgb float32 nchw resize=32x24 filter=nearest scale=0.003921569",
    "rgb float32 nchw",
)


@pytest.fixture
def program() -> Program:
    return samara.trace(
        lambda image: image * 2.0 + 1.0,
        (samara.zeros(1, 3, 24, 32),),
        input_names=["image"],
        output_names=["y"],
    )


@pytest.mark.parametrize("text", EVERY_FIELD)
def test_files_keep_every_field(program: Program, text: str) -> None:
    made = with_records(program, {"image": text})
    read = from_bytes(to_bytes(made)).program
    assert records_of(read) == records_of(made) == {"image": ImageRecord.parse(text)}
    assert read.metadata.keys() == {"producer", RECORDS} | made.metadata.keys()
    model = samara.Model(to_bytes(made))
    assert model.function(None).inputs[0].record == ImageRecord.parse(text)
    assert RECORDS not in model.metadata


def test_a_program_without_records_is_as_it_was(program: Program) -> None:
    assert records_of(program) == {}
    assert to_bytes(with_records(program, {})) == to_bytes(program)
    taken = with_records(with_records(program, {"image": EVERY_FIELD[0]}), {"image": ""})
    assert to_bytes(taken) == to_bytes(program)


def test_records_follow_layouts_and_names(program: Program) -> None:
    made = with_records(program, {"image": "rgb float32 nchw resize=32x24"})
    assert str(records_of(relaid(made, {"image": "NHWC"}))["image"]) == (
        "rgb float32 nhwc resize=32x24"
    )
    assert records_of(relaid(made, {"y": "NHWC"})) == records_of(made)
    assert records_of(renamed_records(made, {"image": "x"})).keys() == {"x"}


def test_export_relays_and_renames(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    samara.export(program, path, preprocess={"image": "rgb float32 nchw resize=32x24"})
    kept = samara.open_program(path)
    samara.export(kept, path, layout={"image": "NHWC"}, rename={"image": "picture"})
    spec = samara.Model(path).function(None).inputs[0]
    assert (spec.name, str(spec.record)) == ("picture", "rgb float32 nhwc resize=32x24")
    assert spec.shape == (1, 24, 32, 3)


def test_a_quantized_input_makes_integers() -> None:
    graph = samara.trace(
        lambda x: x, (samara.zeros(1, 2, 2, 3),), input_names=["x"], output_names=["y"]
    )
    quant = Quant((0.5,), (-3,))
    dims = tuple(as_dim(n) for n in (1, 2, 2, 3))
    value = Value("x", TensorType(DType.QS8, dims, quant))
    made = Program({"f": Function("f", (value,), (value,), (), ("y",))}, ("f",), (), graph.metadata)
    texts = {RECORDS: '{"x": "rgb float32 nhwc resize=2x2 mean=128"}'}
    model = samara.Model(to_bytes(Program(made.functions, made.entries, (), texts)))
    record = model.function(None).inputs[0].record
    assert record == ImageRecord.parse("rgb int8 nhwc resize=2x2 mean=128 quant=0.5,-3")


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"picture": EVERY_FIELD[0]}, UnknownNameError, "image"),
        ({"image": 5}, ArgumentError, "ImageRecord"),
        ({"image": "rgb uint8 nchw"}, ShapeError, "rgb float32 LAYOUT"),
        ({"image": "rgb float32 chw"}, ShapeError, "rank 3"),
        ({"image": "rgb float32 nhwc"}, ShapeError, "3 channels"),
        ({"image": "gray float32 nchw"}, ShapeError, "1 channels"),
        ({"image": "rgb float32"}, ArgumentError, "words"),
    ],
)
def test_refused(
    program: Program, given: dict[str, str], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        with_records(program, given)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"colour": 0}, "colour"),
        ({"colour": 9}, "colour"),
        ({"layout": 7}, "layout"),
        ({"layout": 2}, "channels"),
        ({"layout": 6}, "without channels"),
        ({"dtype": 6}, "dtype 6"),
        ({"dtype": 5}, "dtype 5"),
        ({"filter": 4}, "filter"),
        ({"resize": [0, 3]}, "resize is 0x3"),
        ({"resize": [1, 2, 3]}, "lists"),
        ({"resize": [20000]}, "20000"),
        ({"crop": [4]}, "lists"),
        ({"crop": [4, 0]}, "crop is 4x0"),
        ({"letterbox": [3, 4]}, "lists"),
        ({"resize": [], "letterbox": [3, 4], "crop": [1, 1]}, "exclude"),
        ({"resize": [], "letterbox": [3, 4], "fill": [256]}, "256"),
        ({"fill": [1, 2]}, "lists"),
        ({"mean": [1.0, 2.0]}, "lists"),
        ({"mean": [float("nan")]}, "finite"),
        ({"scale": [0.0]}, "0"),
        ({"scale": [1.0, float("inf"), 1.0]}, "channel 1"),
        ({"antialias": True, "filter": 3}, "antialias"),
        ({"matrix": 3}, "matrix"),
        ({"range": 3}, "range"),
    ],
)
def test_damaged_records_are_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object], says: str
) -> None:
    right = records._image_row
    monkeypatch.setattr(records, "_image_row", lambda record: {**right(record), **fields})
    data = bytes(to_bytes(with_records(program, {"image": "rgb float32 nchw resize=32x24"})))
    monkeypatch.undo()
    with pytest.raises(ModelFormatError, match=says):
        samara.Model(data)
    with pytest.raises(ModelFormatError):
        from_bytes(data)


def test_a_record_of_no_input_is_refused(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(f: Function, given: dict[str, ImageRecord]) -> list[dict[str, object]]:
        return [{**row, "input": 1} for row in records.record_rows(f, given)]

    monkeypatch.setattr("samara.exporter.ir.file_write.record_rows", moved)
    data = bytes(to_bytes(with_records(program, {"image": "rgb float32 nchw"})))
    with pytest.raises(ModelFormatError, match="input 1"):
        samara.Model(data)
    with pytest.raises(ModelFormatError, match="input 1"):
        from_bytes(data)


def test_the_schema_is_the_header() -> None:
    """Codes in files are those of samara_media.h, and words in records are the names there."""
    header = Path(__file__).parents[3] / "runtime_c/include/samara/samara_media.h"
    text = header.read_text(encoding="utf-8")
    for prefix, names in (
        ("SAMARA_", FORMATS),
        ("SAMARA_COLOUR_", CHANNELS),
        ("SAMARA_", LAYOUTS),
        ("SAMARA_", FILTERS),
        ("SAMARA_", MATRICES),
    ):
        for code, name in enumerate(names, 1):
            assert f"{prefix}{name.upper()} = {code}" in text
    for code, name in enumerate(RANGES, 1):
        assert f"SAMARA_{name.upper()}_RANGE = {code}" in text
    assert [f.name for f in schema.table("InputRecord").fields] == ["input", "image", "audio"]
