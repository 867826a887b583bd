# SPDX-License-Identifier: Apache-2.0
"""Pictures to tensors by the runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara import ArgumentError, Image, ImageRecord, ShapeError
from samara.pybridge.preprocess import record_of, record_struct


@pytest.fixture
def picture(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (30, 40, 3), np.uint8)


def test_bytes_of_a_picture_stay_as_they_are(picture: np.ndarray) -> None:
    made = samara.preprocess("rgb uint8 nhwc", picture)
    assert made.dtype == np.uint8
    np.testing.assert_array_equal(made[0], picture)
    np.testing.assert_array_equal(samara.preprocess("bgr uint8 hwc", picture), picture[..., ::-1])
    planes = samara.preprocess("rgb uint8 chw", picture)
    np.testing.assert_array_equal(planes, picture.transpose(2, 0, 1))


def test_crop_rotation_and_mirror_are_those_of_numpy(picture: np.ndarray) -> None:
    part = picture[5:25, 3:33]
    for turns in range(4):
        turned: Any = {"rotation": 90 * turns, "mirror": turns % 2 == 0}
        image = Image(picture, "rgb", crop=(3, 5, 30, 20), **turned)
        wanted = np.rot90(part, -turns)
        wanted = wanted[:, ::-1] if turns % 2 == 0 else wanted
        np.testing.assert_array_equal(samara.preprocess("rgb uint8 hwc", image), wanted)


def test_floats_are_normalized_in_float32(picture: np.ndarray) -> None:
    text = "rgb float32 nchw crop=24x20 mean=123.675,116.28,103.53 std=58.4,57.1,57.4"
    record = ImageRecord.parse(text)
    made = samara.preprocess(record, picture)
    x = picture[5:25, 8:32].astype(np.float32)
    wanted = (x - np.array(record.mean, np.float32)) * np.array(record.scale, np.float32)
    np.testing.assert_array_equal(made[0], wanted.transpose(2, 0, 1))
    half = samara.preprocess(str(record).replace("float32", "float16"), picture)
    np.testing.assert_array_equal(half, made.astype(np.float16))


def test_integers_are_quantized(picture: np.ndarray) -> None:
    made = samara.preprocess("rgb int8 nhwc mean=127.5 scale=0.00784 quant=0.0078125,-3", picture)
    y = (picture.astype(np.float32) - np.float32(127.5)) * np.float32(0.00784)
    q = np.rint(np.clip(y / np.float32(0.0078125), -125, 130)) - 3
    np.testing.assert_array_equal(made[0], q.astype(np.int8))


def test_letterbox_keeps_the_shape(picture: np.ndarray) -> None:
    made = samara.preprocess("rgb uint8 hwc letterbox=40x40:1,2,3", picture)
    np.testing.assert_array_equal(made[5:35], picture)
    for rows in (made[:5], made[35:]):
        np.testing.assert_array_equal(rows, np.broadcast_to([1, 2, 3], rows.shape))


def test_strides_are_followed_without_copies(picture: np.ndarray) -> None:
    whole = np.zeros((30, 50, 4), np.uint8)
    whole[:, 10:, :3] = picture
    view = whole[:, 10:]
    made = samara.preprocess("rgb uint8 hwc", Image(view, "rgba"))
    np.testing.assert_array_equal(made, picture)


@pytest.mark.parametrize("format", ["nv21", "nv12", "i420"])
def test_gray_yuv_is_gray(format: str) -> None:
    luma = np.arange(16, 236, dtype=np.uint8)[:216].reshape(12, 18)
    data = luma.tobytes() + bytes([128]) * (6 * 9 * 2)
    image = Image(data, format, 18, 12)
    made = samara.preprocess("rgb uint8 hwc", image)
    wanted = np.clip((76309 * (luma.astype(int) - 16) + 32768) >> 16, 0, 255)
    for c in range(3):
        np.testing.assert_array_equal(made[..., c], wanted)
    np.testing.assert_array_equal(samara.preprocess("gray uint8 hw", image), wanted)


def test_records_survive_the_struct() -> None:
    for text in (
        "rgb float32 nchw",
        "bgr uint8 nhwc resize=256 crop=224x200 mean=1,2,3 scale=0.5 quant=2,7",
        "gray int8 hw letterbox=28x28:9 filter=area quant=1,-128",
        "gray float16 nhw resize=10x20 antialias mean=3 matrix=bt709 range=full",
    ):
        record = ImageRecord.parse(text)
        again = record_of(record_struct(record))
        assert record_struct(again)[0].quant_zero == record_struct(record)[0].quant_zero
        gray = np.full((300, 290), 77, np.uint8)
        got, wanted = (samara.preprocess(r, gray) for r in (again, record))
        np.testing.assert_array_equal(got, wanted)
        assert again.shape(300, 290) == record.shape(300, 290)


def test_refused(picture: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="crop"):
        samara.preprocess("rgb uint8 nhwc crop=41x30", picture)
    with pytest.raises(ArgumentError, match="quant"):
        samara.preprocess("rgb int8 nhwc", picture)
    with pytest.raises(ArgumentError, match="record is"):
        samara.preprocess(5, picture)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="picture"):
        samara.preprocess("rgb uint8 nhwc", 5)
