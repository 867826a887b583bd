# SPDX-License-Identifier: Apache-2.0
"""The reference of pre-processing against values made by hand and by the page's formulas, term by term."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from samara.exporter.reference_image import MATRIX, laid_out, oriented, preprocess, weights
from samara.pybridge.errors import ArgumentError, ShapeError
from samara.pybridge.image import Image
from samara.pybridge.image_record import ImageRecord

GRAY = np.array([[0, 100], [50, 255]], np.uint8)


def run(text: str, data: Any, format: str = "gray", **options: Any) -> npt.NDArray[Any]:
    return preprocess(ImageRecord.parse(text), Image(data, format, **options))


# ---- the picture ----


@pytest.mark.parametrize(
    ("rotation", "mirror", "wanted"),
    [
        (0, False, [[1, 2, 3], [4, 5, 6]]),
        (90, False, [[4, 1], [5, 2], [6, 3]]),
        (180, False, [[6, 5, 4], [3, 2, 1]]),
        (270, False, [[3, 6], [2, 5], [1, 4]]),
        (0, True, [[3, 2, 1], [6, 5, 4]]),
        (90, True, [[1, 4], [2, 5], [3, 6]]),
        (180, True, [[4, 5, 6], [1, 2, 3]]),
        (270, True, [[6, 3], [5, 2], [4, 1]]),
    ],
)
def test_rotation_is_clockwise_and_before_mirror(
    rotation: int, mirror: bool, wanted: list[list[int]]
) -> None:
    frame = np.zeros((4, 5), np.uint8)
    frame[1:3, 2:5] = [[1, 2, 3], [4, 5, 6]]
    options: dict[str, Any] = {"crop": (2, 1, 3, 2), "rotation": rotation, "mirror": mirror}
    assert run("gray uint8 hw", frame, **options).tolist() == wanted


@pytest.mark.parametrize("format", ["rgb", "bgr", "rgba", "bgra"])
@pytest.mark.parametrize("colour", ["rgb", "bgr", "gray"])
def test_channels(format: str, colour: str) -> None:
    rgb = {"r": 200, "g": 100, "b": 31, "a": 77}
    pixel = np.array([[[rgb[c] for c in format]]], np.uint8)
    gray = (19595 * 200 + 38470 * 100 + 7471 * 31 + 32768) >> 16
    wanted = [gray] if colour == "gray" else [rgb[c] for c in colour]
    assert run(f"{colour} uint8 hwc", pixel, format).ravel().tolist() == wanted


def test_gray_becomes_all_channels() -> None:
    assert run("rgb uint8 chw", GRAY).tolist() == [GRAY.tolist()] * 3


@pytest.mark.parametrize(("matrix", "span"), MATRIX)
def test_yuv_terms(matrix: str, span: str) -> None:
    cy, rv, gu, gv, bu, black = MATRIX[matrix, span]
    y, u, v = 120, 90, 200
    terms = (
        (cy * (y - black) + rv * (v - 128) + 32768) >> 16,
        (cy * (y - black) + gu * (u - 128) + gv * (v - 128) + 32768) >> 16,
        (cy * (y - black) + bu * (u - 128) + 32768) >> 16,
    )
    wanted = [min(max(t, 0), 255) for t in terms]
    says = f"matrix={matrix} range={span}"
    other = {"matrix": "bt601" if matrix == "bt709" else "bt709", "range": "full"}
    planes = {"nv12": (y, u, v), "nv21": (y, v, u), "i420": (y, u, v)}
    for format, values in planes.items():
        data = bytes(values)
        assert (
            run(f"rgb uint8 hwc {says}", data, format, width=1, height=1).ravel().tolist() == wanted
        )
        assert (
            run(f"bgr uint8 hwc {says}", data, format, width=1, height=1).ravel().tolist()
            == (wanted[::-1])
        )
        # What the picture says goes before what the record says.
        said = {"matrix": matrix, "range": span, "width": 1, "height": 1}
        text = "rgb uint8 hwc matrix={matrix} range={range}".format(**other)
        assert run(text, data, format, **said).ravel().tolist() == wanted
    gray = (cy * (y - black) + 32768) >> 16
    assert run(f"gray uint8 hw {says}", bytes((y, u, v)), "nv12", width=1, height=1) == gray


def test_yuv_without_a_word_is_bt601_limited() -> None:
    data = bytes((120, 90, 200))
    plain = run("rgb uint8 hwc", data, "i420", width=1, height=1)
    said = run("rgb uint8 hwc matrix=bt601 range=limited", data, "i420", width=1, height=1)
    assert plain.tolist() == said.tolist()
    assert run("gray uint8 hw", bytes((255, 0, 0)), "i420", width=1, height=1) == 255
    assert run("gray uint8 hw", bytes((3, 0, 0)), "i420", width=1, height=1) == 0


def test_chroma_is_counted_in_the_whole_picture() -> None:
    luma = np.full((3, 5), 128, np.uint8)
    chroma = np.full((2, 3, 2), 128, np.uint8)
    chroma[1, 1] = (20, 240)
    got = run("rgb uint8 hwc", (luma, chroma), "nv12", crop=(1, 1, 4, 2))
    coloured = np.ptp(got.astype(int), axis=2) > 0
    assert coloured.tolist() == [[False] * 4, [False, True, True, False]]


# ---- weights ----


def term(filter: str, antialias: bool, n: int, m: int, d: int, i: int) -> int:
    """a(i) as the page writes it."""
    if filter == "nearest":
        return int(i == ((2 * d + 1) * n) // (2 * m))
    if filter == "area":
        return max(0, min((i + 1) * m, (d + 1) * n) - max(i * m, d * n))
    if antialias and m < n:
        return max(0, 2 * n - abs((2 * i + 1) * m - (2 * d + 1) * n))
    t = (2 * d + 1) * n - m
    taps = ((t // (2 * m), 2 * m - t % (2 * m)), (t // (2 * m) + 1, t % (2 * m)))
    return sum(w for at, w in taps if min(max(at, 0), n - 1) == i)


KINDS = ("filter=nearest", "filter=bilinear", "antialias", "filter=area")


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_the_pages(kind: str) -> None:
    record = ImageRecord.parse(f"gray uint8 hw {kind}")
    for n in range(1, 14):
        for m in range(1, 14):
            for d in range(m):
                a = [term(record.filter, record.antialias, n, m, d, i) for i in range(n)]
                c = [sum(a[:i]) for i in range(n + 1)]
                r = [(2 * 16384 * v + c[n]) // (2 * c[n]) for v in c]
                wanted = {i: r[i + 1] - r[i] for i in range(n) if a[i]}
                got = weights(record, n, m, d)
                assert got == wanted
                assert sum(got.values()) == 16384
                assert min(got.values()) >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_long_axes(kind: str) -> None:
    record = ImageRecord.parse(f"gray uint8 hw {kind}")
    for n, m in ((16384, 1), (1, 16384), (16384, 16383), (16383, 7)):
        for d in {0, m // 2, m - 1}:
            got = weights(record, n, m, d)
            assert sum(got.values()) == 16384
            assert min(got) >= 0
            assert max(got) < n


# ---- new pixels ----


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_size_changes_nothing(kind: str, rng: np.random.Generator) -> None:
    frame = rng.integers(0, 256, (7, 9, 3), dtype=np.uint8)
    assert np.array_equal(run(f"rgb uint8 hwc {kind} resize=9x7", frame, "rgb"), frame)
    assert np.array_equal(run(f"rgb uint8 hwc {kind}", frame, "rgb"), frame)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0, 1, 254, 255])
def test_one_colour_stays_that_colour(kind: str, value: int) -> None:
    frame = np.full((13, 5), value, np.uint8)
    for size in ("1x1", "7x3", "29x31"):
        assert set(run(f"gray uint8 hw {kind} resize={size}", frame).ravel().tolist()) == {value}


def test_pixels_by_hand() -> None:
    row = np.array([[0, 100, 200, 255]], np.uint8)
    assert run("gray uint8 hw resize=2x1", row).tolist() == [[50, 228]]
    assert run("gray uint8 hw resize=2x1 filter=area", row).tolist() == [[50, 228]]
    assert run("gray uint8 hw resize=2x1 filter=nearest", row).tolist() == [[100, 255]]
    # Triangles of two old pixels' half width: (3·0 + 3·100 + 1·200) / 7, (1·100 + 3·200 + 3·255) / 7.
    assert run("gray uint8 hw resize=2x1 antialias", row).tolist() == [[71, 209]]
    assert run("gray uint8 hw resize=4x1", np.array([[0, 100]], np.uint8)).tolist() == [
        [0, 25, 75, 100]
    ]
    assert run("gray uint8 hw resize=1x1 filter=area", GRAY).tolist() == [[101]]
    assert run("gray uint8 hw resize=3x1 filter=area", row).tolist() == [[25, 150, 241]]


def test_crop_and_letterbox() -> None:
    frame = np.arange(15, dtype=np.uint8).reshape(3, 5)
    assert run("gray uint8 hw crop=2", frame).tolist() == [[2, 3], [7, 8]]
    assert run("gray uint8 hw letterbox=5x6:9", frame).tolist() == [
        *([9] * 5, *frame.tolist(), [9] * 5, [9] * 5)
    ]
    boxed = run("bgr uint8 chw letterbox=1x3:7,8,9", np.array([[[1, 2, 3]]], np.uint8), "rgb")
    assert boxed.tolist() == [[[7], [3], [7]], [[8], [2], [8]], [[9], [1], [9]]]


def test_a_crop_is_a_part_of_the_resized_picture(rng: np.random.Generator) -> None:
    frame = rng.integers(0, 256, (20, 31, 3), dtype=np.uint8)
    for kind in KINDS:
        whole = run(f"rgb uint8 hwc {kind} resize=17x13", frame, "rgb")
        part = run(f"rgb uint8 hwc {kind} resize=17x13 crop=8x6", frame, "rgb")
        assert np.array_equal(part, whole[4:10, 4:12])  # rne(3.5) = 4, rne(4.5) = 4


# ---- elements ----


def test_float_elements() -> None:
    text = "gray float32 hw mean=123.675 std=58.395"
    wanted = (GRAY.astype(np.float32) - np.float32(123.675)) * np.float32(1 / 58.395)
    assert run(text, GRAY).dtype == np.float32
    assert run(text, GRAY).tobytes() == wanted.tobytes()
    assert run(text.replace("32", "16", 1), GRAY).tobytes() == wanted.astype(np.float16).tobytes()
    assert run("gray float32 hw mean=0.1", GRAY)[1, 1] == np.float32(255) - np.float32(0.1)
    assert run("gray float32 hw scale=0.1", GRAY)[0, 1] == np.float32(100) * np.float32(0.1)
    assert run("gray float16 hw scale=1e5", GRAY).tolist() == [[0, np.inf], [np.inf, np.inf]]


def test_each_channel_has_its_own_mean_and_scale() -> None:
    pixel = np.array([[[10, 20, 30]]], np.uint8)
    got = run("bgr float32 hwc mean=1,2,3 scale=2,4,8", pixel, "rgb")
    assert got.ravel().tolist() == [58, 72, 56]


def test_integer_elements() -> None:
    values = np.array([[0, 1, 2, 3, 4, 5, 255]], np.uint8)
    # Halves go to the even step.
    assert run("gray uint8 hw quant=2,0", values).tolist() == [[0, 0, 1, 2, 2, 2, 128]]
    assert run("gray int8 hw quant=2,-1", values).tolist() == [[-1, -1, 0, 1, 1, 1, 127]]
    assert run("gray int8 hw quant=0.001,-128", values)[0].tolist() == [-128, *[127] * 6]
    assert run("gray int8 hw mean=255 scale=1e30 quant=1e-6,127", values).ravel().tolist() == (
        [-128] * 6 + [127]
    )
    assert run("gray uint8 hw mean=2 quant=1,3", values)[0].tolist() == [1, 2, 3, 4, 5, 6, 255]
    with pytest.raises(ArgumentError, match="need a scale"):
        run("gray int8 hw", values)


def test_layouts() -> None:
    pixels = np.arange(6).reshape(1, 2, 3)
    assert laid_out(pixels, "nhwc").tolist() == [pixels.tolist()]
    assert laid_out(pixels, "hwc").tolist() == pixels.tolist()
    assert laid_out(pixels, "chw").tolist() == [[[0, 3]], [[1, 4]], [[2, 5]]]
    assert laid_out(pixels, "nchw").shape == (1, 3, 1, 2)
    assert laid_out(pixels[:, :, :1], "nhw").tolist() == [[[0, 3]]]
    assert laid_out(pixels[:, :, :1], "hw").tolist() == [[0, 3]]


def test_a_crop_that_does_not_fit() -> None:
    with pytest.raises(ShapeError, match="larger than the resized picture"):
        run("gray uint8 hw crop=3", GRAY)


def test_bytes_outside_the_crop_do_not_count(rng: np.random.Generator) -> None:
    frame = rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)
    record = ImageRecord.parse("rgb uint8 hwc")
    other = np.full((9, 9, 3), 7, np.uint8)
    other[3:8, 2:6] = frame[3:8, 2:6]
    first, second = (oriented(Image(f, "rgb", crop=(2, 3, 4, 5)), record) for f in (frame, other))
    assert np.array_equal(first, second)
