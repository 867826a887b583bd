# SPDX-License-Identifier: Apache-2.0
"""What arrays and buffers become: planes with strides, in the caller's memory where that is possible."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from samara.pybridge.errors import ArgumentError, ShapeError
from samara.pybridge.image_planes import FORMATS, Plane, planes_of


def read(plane: Plane, columns: int, rows: int, sample: int) -> npt.NDArray[np.uint8]:
    """The samples of a plane, one by one, as a runtime reads them: [rows, columns, sample]."""
    data, row, pixel = plane
    y, x, c = np.ogrid[:rows, :columns, :sample]
    return np.asarray(data[y * row + x * pixel + c], np.uint8)


def shares(plane: Plane, owner: Any) -> bool:
    return np.shares_memory(plane.data, np.frombuffer(memoryview(owner).cast("B"), np.uint8))


def pixels(rng: np.random.Generator, *shape: int) -> npt.NDArray[np.uint8]:
    return rng.integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("sample", [1, 3, 4])
def test_an_array_is_not_copied(rng: np.random.Generator, sample: int) -> None:
    name = {1: "gray", 3: "bgr", 4: "rgba"}[sample]
    whole = pixels(rng, 9, 11, sample)
    parts = (whole, whole[1:6, 2:9], whole[::2, ::3], whole[:1], whole[:, :1], whole[3:4, 4:5])
    # The stride of an axis of one row or column means nothing.
    for view in (*parts, whole[::-1][:1], whole[:, ::-1][:, :1]):
        (plane,), size = planes_of(view, name, None, None, None)
        assert size == (view.shape[1], view.shape[0])
        assert np.array_equal(read(plane, *size, sample), view)
        assert np.shares_memory(plane.data, whole)
        assert not plane.data.flags.writeable
        last = (size[1] - 1) * plane.row_stride + (size[0] - 1) * plane.pixel_stride
        assert plane.data.size == last + sample


def test_channels_of_a_wider_array(rng: np.random.Generator) -> None:
    whole = pixels(rng, 5, 7, 4)
    (plane,), _ = planes_of(whole[:, :, :3], "rgb", None, None, None)
    assert plane[1:] == (28, 4)
    assert np.shares_memory(plane.data, whole)
    (plane,), _ = planes_of(whole[:, :, 2], "gray", None, None, None)
    assert np.array_equal(read(plane, 7, 5, 1)[:, :, 0], whole[:, :, 2])
    assert np.shares_memory(plane.data, whole)


def test_strides_that_cannot_serve_are_copied(rng: np.random.Generator) -> None:
    whole = pixels(rng, 6, 6, 3)
    row = pixels(rng, 1, 6, 3)
    for view in (
        *(whole[::-1], whole[:, ::-1], whole[:, :, ::-1], np.swapaxes(whole, 0, 1)),
        np.broadcast_to(row, (4, 6, 3)),
        np.asfortranarray(whole),
    ):
        (plane,), size = planes_of(view, "rgb", None, None, None)
        assert np.array_equal(read(plane, *size, 3), view)
        assert not np.shares_memory(plane.data, view)


def test_a_transposed_gray_picture_is_copied(rng: np.random.Generator) -> None:
    whole = pixels(rng, 6, 4)
    (plane,), size = planes_of(whole.T, "gray", None, None, None)
    assert size == (6, 4)
    assert np.array_equal(read(plane, 6, 4, 1)[:, :, 0], whole.T)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, array.array, np.asarray])
def test_buffers(rng: np.random.Generator, kind: Any) -> None:
    values = pixels(rng, 4 * 3 * 3)
    made = kind("B", values.tolist()) if kind is array.array else kind(values.data)
    (plane,), size = planes_of(made, "rgb", 4, 3, None)
    assert size == (4, 3)
    assert plane[1:] == (12, 3)
    assert np.array_equal(read(plane, 4, 3, 3), values.reshape(3, 4, 3))
    assert shares(plane, made)


def test_strides_of_a_buffer(rng: np.random.Generator) -> None:
    data = pixels(rng, 64)
    (plane,), _ = planes_of(data, "gray", 3, 4, 10)
    assert plane[1:] == (10, 1)
    assert plane.data.size == 33
    (plane,), _ = planes_of(data, "rgb", 3, 4, [(16, 5)])
    assert plane[1:] == (16, 5)
    assert plane.data.size == 61
    assert np.array_equal(read(plane, 3, 4, 3)[2, 1], data[37:40])


@pytest.mark.parametrize("size", [(4, 6), (5, 3), (1, 1), (1, 2)])
def test_planes_that_follow_each_other(rng: np.random.Generator, size: tuple[int, int]) -> None:
    width, height = size
    half = ((width + 1) // 2, (height + 1) // 2)
    luma, chroma = width * height, half[0] * half[1]
    data = pixels(rng, luma + 2 * chroma)
    for name in ("nv12", "nv21"):
        (y, uv), _ = planes_of(data, name, *size, None)
        assert np.array_equal(read(y, *size, 1).ravel(), data[:luma])
        assert np.array_equal(read(uv, *half, 2).ravel(), data[luma:])
    (y, u, v), _ = planes_of(data, "i420", *size, None)
    assert np.array_equal(read(y, *size, 1).ravel(), data[:luma])
    assert np.array_equal(read(u, *half, 1).ravel(), data[luma : luma + chroma])
    assert np.array_equal(read(v, *half, 1).ravel(), data[luma + chroma :])


def test_planes_that_follow_each_other_with_strides(rng: np.random.Generator) -> None:
    data = pixels(rng, 200)
    (y, uv), _ = planes_of(data, "nv12", 5, 4, (8, (12, 4)))
    assert [plane[1:] for plane in (y, uv)] == [(8, 1), (12, 4)]
    assert uv.data[0] == data[32]
    with pytest.raises(ShapeError, match="has 53 bytes, plane 1 of 3x2 ends at byte 54"):
        planes_of(data[:53], "nv12", 5, 4, (8, (12, 4)))


def test_a_frame_as_opencv_shapes_it(rng: np.random.Generator) -> None:
    frame = pixels(rng, 9, 4)  # 6 rows of Y, 3 of chroma
    (y, uv), size = planes_of(frame, "nv21", 4, 6, None)
    assert size == (4, 6)
    assert np.array_equal(read(uv, 2, 3, 2).reshape(3, 4), frame[6:])
    assert np.shares_memory(y.data, frame)


def test_planes_apart(rng: np.random.Generator) -> None:
    luma, chroma = pixels(rng, 5, 7), pixels(rng, 3, 4, 2)
    for second in (chroma, chroma.reshape(3, 8), chroma.tobytes(), chroma.ravel()):
        (y, uv), size = planes_of((luma, second), "nv12", None, None, None)
        assert size == (7, 5)
        assert np.array_equal(read(y, 7, 5, 1)[:, :, 0], luma)
        assert np.array_equal(read(uv, 4, 3, 2), chroma)
    # Cameras hand out chroma as two planes that overlap: every second byte each.
    buffer = chroma.tobytes()
    planes = (luma.tobytes(), buffer[:-1], buffer[1:])
    (_, u, v), _ = planes_of(planes, "i420", 7, 5, (7, (8, 2), (8, 2)))
    assert np.array_equal(read(u, 4, 3, 1)[:, :, 0], chroma[:, :, 0])
    assert np.array_equal(read(v, 4, 3, 1)[:, :, 0], chroma[:, :, 1])
    (_, u, v), _ = planes_of((luma, chroma[:, :, 0], chroma[:, :, 1]), "i420", None, None, None)
    assert (u.row_stride, u.pixel_stride) == (8, 2)
    assert np.shares_memory(u.data, v.data)


@pytest.mark.parametrize("name", FORMATS)
def test_a_buffer_that_is_one_byte_short(name: str) -> None:
    planes = [(sample, int(halved)) for sample, halved in FORMATS[name]]
    size = sum(sample * ((7 + h) >> h) * ((5 + h) >> h) for sample, h in planes)
    assert planes_of(bytes(size), name, 7, 5, None)[1] == (7, 5)
    with pytest.raises(ShapeError, match=f"has {size - 1} bytes"):
        planes_of(bytes(size - 1), name, 7, 5, None)
    with pytest.raises(ShapeError, match="has 0 bytes"):
        planes_of(b"", name, 7, 5, None)


BYTES = bytes(1000)
ZEROS = np.zeros((4, 5, 3), np.uint8)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((BYTES, "rgb", None, None, None), ArgumentError, "width and height"),
        ((BYTES, "rgb", 4, None, None), ArgumentError, "width and height"),
        ((np.zeros((9, 4), np.uint8), "nv21", None, None, None), ArgumentError, "width and height"),
        ((BYTES, "rgb", 4.0, 4, None), ArgumentError, "width is 4.0"),
        ((BYTES, "rgb", True, 4, None), ArgumentError, "width is True"),
        ((BYTES, "rgb", 0, 4, None), ShapeError, "0x4 pixels"),
        ((BYTES, "rgb", 4, 16385, None), ShapeError, "4x16385 pixels"),
        ((BYTES, "rgb", 4, 4, 11), ShapeError, "rows of rgb are 11 bytes apart, 4 samples take 12"),
        ((BYTES, "rgb", 4, 4, -12), ShapeError, "rows of rgb are -12 bytes apart"),
        ((BYTES, "rgb", 4, 1, 2**31), ShapeError, "rows of rgb are 2147483648 bytes apart"),
        ((BYTES, "rgb", 4, 4, [(12, 2)]), ShapeError, "2 bytes apart and have 3"),
        ((BYTES, "rgb", 4, 4, (12, 3)), ArgumentError, "strides has 2 entries, rgb has 1 planes"),
        ((BYTES, "rgb", 4, 4, [(1, 2, 3)]), ArgumentError, r"a row stride is \(1, 2, 3\)"),
        ((BYTES, "nv12", 4, 4, 4), ArgumentError, "strides has 1 entries, nv12 has 2 planes"),
        ((BYTES, "nv12", 4, 4, (4, (4, 1))), ShapeError, "1 bytes apart and have 2"),
        (((BYTES,), "nv12", 4, 4, None), ShapeError, "has 1 planes, nv12 has 2"),
        (((BYTES, b"123"), "nv12", 4, 4, None), ShapeError, "plane 1 of nv12 has 3 bytes"),
        ((ZEROS, "rgb", None, None, 15), ArgumentError, "strides are given for rgb, an array"),
        ((ZEROS, "rgb", 6, None, None), ShapeError, r"the shape \[4, 5, 3\], expected \[4, 6, 3\]"),
        ((ZEROS, "gray", None, None, None), ShapeError, r"expected \[height, width\]"),
        ((ZEROS, "rgba", None, None, None), ShapeError, r"expected \[height, width, 4\]"),
        ((ZEROS[0], "rgb", None, None, None), ShapeError, r"expected \[height, width, 3\]"),
        ((ZEROS[:0], "rgb", None, None, None), ShapeError, "5x0 pixels"),
        ((ZEROS[None], "rgb", None, None, None), ShapeError, "expected"),
        ((np.zeros((3, 8, 9), np.uint8), "rgb", None, None, None), ShapeError, "expected"),
        ((ZEROS.astype("f4"), "rgb", None, None, None), ArgumentError, "is float32, expected"),
        ((ZEROS.astype(bool), "rgb", None, None, None), ArgumentError, "is bool, expected uint8"),
        ((3, "rgb", 4, 4, None), ArgumentError, "is an int, not an array or adjacent bytes"),
        ((memoryview(BYTES)[::2], "rgb", 4, 4, None), ArgumentError, "adjacent bytes"),
    ],
)
def test_what_does_not_fit(given: Any, error: type[ShapeError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        planes_of(*given)
    assert caught.value.fix


def test_fixes_of_wrong_shapes() -> None:
    with pytest.raises(ShapeError) as caught:
        planes_of(np.zeros((3, 8, 9), np.uint8), "rgb", None, None, None)
    assert caught.value.fix == "put the channels last: np.moveaxis(x, 0, -1)"
    with pytest.raises(ShapeError) as caught:
        planes_of(ZEROS[None], "rgb", None, None, None)
    assert caught.value.fix == "give one picture of the batch: x[0]"
