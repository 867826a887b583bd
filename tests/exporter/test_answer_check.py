# SPDX-License-Identifier: Apache-2.0
"""Records of answers that outputs cannot be read by."""

from __future__ import annotations

import pytest

import samara
from samara.exporter.answer_check import answer_faults, check_answers, sizes_of_pictures
from samara.exporter.ir import Function, Program, Value
from samara.exporter.ir.answer_records import with_answers
from samara.exporter.ir.records import image_records_of, with_records
from samara.exporter.types import Dim, DType, Quant, ShapeError, Sym, TensorType


def program_of(shape: tuple[int | Dim, ...], dtype: str = "float32") -> Program:
    quant = Quant((0.5,), (3,)) if dtype == "qint8" else None
    kind = DType.QS8 if quant else DType.parse(dtype)
    image = Value("image", TensorType.of(DType.parse("float32"), (1, 3, 16, 16)))
    y = Value("y", TensorType.of(kind, shape, quant))
    f = Function("main", (image, y), (y,), (), ("y",))
    return Program({"main": f}, ("main",))


@pytest.mark.parametrize(
    ("record", "shape", "dtype"),
    [
        ("classify y softmax", (1, 10), "float32"),
        ("classify y", (1, 1, 1, 10), "qint8"),
        ("mask y", (1, 2, 8, 8), "float16"),
        ("boxes anchors priors=8:8 box=y[:4] score=y[4]", (1, 4, 5), "float32"),
        ("keypoints heatmaps=y", (1, 17, 8, 8), "uint8"),
    ],
)
def test_what_fits(record: str, shape: tuple[int, ...], dtype: str) -> None:
    check_answers(with_answers(program_of(shape, dtype), record))


@pytest.mark.parametrize(
    ("record", "shape", "dtype", "part"),
    [
        ("classify y", (2, 10), "float32", "output 'y'"),
        ("classify y", (1, 10), "float64", "float64, expected one of"),
        ("mask y", (1, 8, 8), "float32", "output 'y'"),
        ("boxes anchors priors=8:8 box=y[:4] score=y[4]", (1, 5, 5), "float32", "4"),
        ("keypoints points=y step=3", (1, 17, 2), "float32", "output 'y'"),
    ],
)
def test_what_does_not(record: str, shape: tuple[int, ...], dtype: str, part: str) -> None:
    with pytest.raises(ShapeError, match="does not fit function 'main'") as error:
        check_answers(with_answers(program_of(shape, dtype), record))
    assert part in error.value.message
    assert error.value.fix


@pytest.mark.parametrize(
    ("size", "count", "fits"),
    [("letterbox=16x24", 6, True), ("resize=16x16", 6, False), ("resize=16", 7, True)],
)
def test_records_of_pictures_give_symbolic_dims_a_size(size: str, count: int, fits: bool) -> None:
    """Six boxes are those of 16x24 pixels; a size that follows the picture says nothing."""
    program = samara.trace(
        lambda image: samara.ones(1, count, 5) * image.mean(),
        (samara.zeros(1, 3, 24, 16),),
        output_names=["y"],
        dynamic={"image": {0: "n", 2: "h", 3: "w"}},
    )
    program = with_records(program, {"image": f"rgb float32 nchw {size}"})
    program = with_answers(program, "boxes anchors priors=8:8 box=y[:4] score=y[4]")
    assert bool(answer_faults(program)) != fits
    (f,) = program.functions.values()
    sides = {} if size == "resize=16" else {"w": 16, "h": int(size[-2:])}
    assert sizes_of_pictures(f, image_records_of(program)) == {"n": 1, **sides}


def test_symbolic_shapes_are_left_to_the_run() -> None:
    check_answers(with_answers(program_of((2, Dim.atom(Sym("n")))), "classify y"))
    check_answers(program_of((2, 10)))
