# SPDX-License-Identifier: Apache-2.0
"""The record of an image: what it holds, its text, its quantization, its sizes."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import samara
from samara.pybridge.errors import ArgumentError, ShapeError
from samara.pybridge.image_record import ImageRecord

CANONICAL = [
    "rgb uint8 nhwc",
    "rgb float32 nchw resize=256 crop=224x224 mean=123.675,116.28,103.53 scale=0.01,0.02,0.03",
    "bgr float16 chw resize=640x480 filter=area",
    "gray int8 hw resize=28 filter=nearest mean=-0.5 scale=-3 quant=0.1,-128",
    "gray uint8 nhw antialias crop=3x5",
    "rgb uint8 hwc letterbox=320x256:1,2,3 quant=2e-05,255 matrix=bt709 range=full",
    "rgb int8 nhwc letterbox=320x256 matrix=bt601 range=limited",
]


@pytest.mark.parametrize("text", CANONICAL)
def test_the_canonical_text_comes_back(text: str) -> None:
    record = samara.ImageRecord.parse(text)
    assert str(record) == text
    assert ImageRecord.parse(str(record)) == record
    assert hash(ImageRecord.parse(text)) == hash(record)
    assert pickle.loads(pickle.dumps(record)) == record


def test_texts_that_mean_the_same() -> None:
    def same(text: str) -> str:
        return str(ImageRecord.parse(text))

    assert same("rgb uint8 nhwc crop=5 resize=5 filter=bilinear") == (
        "rgb uint8 nhwc resize=5 crop=5x5"
    )
    assert same("rgb uint8 nhwc letterbox=3x3:0") == "rgb uint8 nhwc letterbox=3x3"
    assert same("rgb float32 nhwc std=58.395,57.12,57.375") == (
        "rgb float32 nhwc scale=0.017124753,0.017507004,0.017429193"
    )
    assert same("rgb float32 nhwc mean=-0 std=1e2") == "rgb float32 nhwc mean=0 scale=0.01"


def test_numbers_are_held_as_float32() -> None:
    record = ImageRecord("gray", "float32", "hw", mean=(0.1,), scale=(np.float64(1 / 255),))
    assert record.mean == (float(np.float32(0.1)),)
    assert record == ImageRecord.parse("gray float32 hw mean=0.1 std=255")
    assert ImageRecord("gray", "float32", "hw", mean=(2**24 + 1,)).mean == (2.0**24,)


def test_lists_and_arrays_become_tuples() -> None:
    listed: dict[str, Any] = {"crop": [3, 2], "resize": [4, 5], "mean": np.arange(1, 4)}
    record = ImageRecord("rgb", "float32", "nhwc", **listed)
    assert (record.crop, record.resize, record.mean) == ((3, 2), (4, 5), (1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rgb uint8 nhwc resize=3 letterbox=3x3", "letterbox and resize"),
        ("rgb uint8 nhwc letterbox=3x3 crop=2", "letterbox and crop"),
        ("rgb uint8 nhwc antialias filter=area", "antialias is given with filter=area"),
        ("bgr uint8 nhw", "the layout nhw has no channel axis for bgr"),
        ("rgb uint8 nhwc mean=1,2", "mean has 2 values for rgb, expected 1, or one per channel, 3"),
        ("gray uint8 nhwc scale=1,2,3", "scale has 3 values for gray, expected 1"),
        ("rgb uint8 nhwc letterbox=3x3:1,2", "fill has 2 values for rgb"),
        ("rgb float32 nhwc quant=1,2", "quant is given for float32 elements"),
        ("rgb int8 nhwc quant=1,128", "the zero point 128 of quant is outside int8, -128..127"),
        ("rgb uint8 nhwc quant=1,-1", "the zero point -1 of quant is outside uint8, 0..255"),
        ("rgb uint8 nhwc resize=4 crop=5", "crop=5x5 is larger than resize=4"),
        ("rgb uint8 nhwc resize=4x9 crop=5x2", "crop=5x2 is larger than resize=4x9"),
    ],
)
def test_contradictions_are_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        ImageRecord.parse(text)
    assert message in caught.value.message
    assert caught.value.fix


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("colour", "yuv", "colour is 'yuv'"),
        ("dtype", None, "dtype is None"),
        ("filter", "cubic", "filter is 'cubic'"),
        ("antialias", 1, "antialias is an int"),
        ("resize", 0, "resize has a side of 0 pixels"),
        ("resize", True, "resize is True"),
        ("resize", 2.5, "resize is 2.5"),
        ("resize", (1, 2, 3), r"resize is \(1, 2, 3\)"),
        ("crop", 224, "crop is an int, not a tuple"),
        ("crop", (1, 20000), "crop has a side of 20000"),
        ("letterbox", (3,), "letterbox is"),
        ("fill", (3,), "fill is given without letterbox"),
        ("mean", 3.0, "mean is a float, not a tuple"),
        ("mean", (float("nan"),), "mean is nan"),
        ("mean", ("1",), "mean is '1'"),
        ("mean", (1e39,), "too large for float32"),
        ("scale", (0.0,), "a scale is 0"),
        ("scale", (1e-40,), "too small for float32"),
        ("scale", (float("inf"),), "scale is inf"),
        ("quant", (0.0, 1), "the scale of quant is 0"),
        ("quant", (1.0,), "quant has 1 values"),
        ("quant", (1.0, 1.5), "the zero point is 1.5"),
        ("matrix", "bt2020", "matrix is 'bt2020'"),
        ("range", "tv", "range is 'tv'"),
    ],
)
def test_fields_are_checked(field: str, value: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        dataclasses.replace(ImageRecord("rgb", "uint8", "nhwc"), **{field: value})
    with pytest.raises(ArgumentError, match="the fill 256"):
        ImageRecord("rgb", "uint8", "nhwc", letterbox=(3, 3), fill=(256,))


# ---- quantization ----


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("rgb uint8 nhwc", False),
        ("rgb int8 nhwc", True),
        ("rgb uint8 nhwc mean=1", True),
        ("rgb uint8 nhwc scale=1", True),
        ("rgb uint8 nhwc mean=1 quant=1,0", False),
        ("rgb float32 nhwc mean=1", False),
        ("rgb float16 nhwc scale=1", False),
    ],
)
def test_who_needs_a_scale(text: str, needs: bool) -> None:
    record = ImageRecord.parse(text)
    assert record.needs_quant == needs
    if needs:
        assert record.quantized(0.5, 3).quant == (0.5, 3)
        assert not record.quantized(0.5, 3).needs_quant
        for refuse in (record.check, record.quantized):
            with pytest.raises(ArgumentError, match="need a scale and a zero point") as caught:
                refuse()
            assert caught.value.fix is not None
            assert caught.value.fix.startswith("give quant=SCALE,ZERO")
    else:
        record.check()
        assert record.quantized(0.5, 3) is record
        assert record.quantized() is record


def test_a_scale_that_does_not_fit() -> None:
    with pytest.raises(ArgumentError, match="zero point 200 of quant is outside int8"):
        ImageRecord.parse("rgb int8 nhwc").quantized(0.5, 200)


# ---- sizes ----


@pytest.mark.parametrize(
    ("text", "size", "shape"),
    [
        ("rgb uint8 nhwc", (640, 480), (1, 480, 640, 3)),
        ("rgb uint8 nchw resize=256", (640, 480), (1, 3, 256, 341)),
        ("rgb uint8 chw resize=256", (480, 640), (3, 341, 256)),
        ("gray uint8 hw resize=300x200", (7, 9), (200, 300)),
        ("gray uint8 nhw resize=10", (1, 3), (1, 30, 10)),
        ("gray uint8 hwc crop=5x3", (5, 3), (3, 5, 1)),
        ("gray uint8 hw resize=4 crop=5x3", (8, 4), (3, 5)),
        ("rgb uint8 hwc letterbox=320x256", (9, 9), (256, 320, 3)),
    ],
)
def test_shapes(text: str, size: tuple[int, int], shape: tuple[int, ...]) -> None:
    assert ImageRecord.parse(text).shape(*size) == shape


@pytest.mark.parametrize(
    ("text", "size", "geometry"),
    [
        # Halves go to the even column: (5 - 2) / 2 = 1.5 -> 2, (3 - 2) / 2 = 0.5 -> 0.
        ("rgb uint8 nhwc crop=2", (5, 3), ((5, 3), (2, 0), (2, 2), (0, 0), (2, 2))),
        ("rgb uint8 nhwc letterbox=10x10", (4, 3), ((10, 8), (0, 0), (10, 8), (0, 1), (10, 10))),
        ("rgb uint8 nhwc letterbox=10x10", (3, 4), ((8, 10), (0, 0), (8, 10), (1, 0), (10, 10))),
        ("rgb uint8 nhwc letterbox=5x5", (10, 3), ((5, 2), (0, 0), (5, 2), (0, 1), (5, 5))),
        ("rgb uint8 nhwc letterbox=5x3", (999, 1), ((5, 1), (0, 0), (5, 1), (0, 1), (5, 3))),
        ("rgb uint8 nhwc letterbox=5x3", (5, 3), ((5, 3), (0, 0), (5, 3), (0, 0), (5, 3))),
    ],
)
def test_geometry(text: str, size: tuple[int, int], geometry: tuple[tuple[int, int], ...]) -> None:
    assert tuple(ImageRecord.parse(text).geometry(*size)) == geometry


def test_sizes_that_do_not_fit() -> None:
    for more, size, said in (
        (" crop=224", (200, 300), "crop=224x224 is larger than the resized picture, 200x300"),
        (" resize=256", (1, 100), "the height of the 1x100 picture after resize=256 is 25600"),
        ("", (0, 5), r"expected 1\.\.16384"),
        ("", (5, 16385), r"expected 1\.\.16384"),
    ):
        with pytest.raises(ShapeError, match=said):
            ImageRecord.parse(f"rgb uint8 nhwc{more}").shape(*size)
