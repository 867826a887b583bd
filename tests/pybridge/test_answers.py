# SPDX-License-Identifier: Apache-2.0
"""Typed answers: how they read, what they refuse, and how they are drawn."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from samara.pybridge.answers import (
    Classification,
    Detections,
    Guess,
    Keypoints,
    Mask,
    colour_of,
    draw,
    write_picture,
)
from samara.pybridge.errors import ArgumentError, ShapeError, UnsupportedError
from samara.pybridge.image import Image


def detections(n: int, points: int | None = None) -> Detections:
    boxes = np.array([[4, 30, 20 + i, 50] for i in range(n)], np.float32).reshape(n, 4)
    moved = None if points is None else np.full((n, points, 2), 40, np.float32)
    scores = np.linspace(0.75, 0.5, n, dtype=np.float32)
    return Detections(boxes, scores, np.arange(n, dtype=np.int32), ("face",), moved)


def test_classification() -> None:
    result = Classification((Guess("cat", 2, 0.75), Guess("dog", 0, 0.25)))
    assert (result.label, result.index, result.score) == ("cat", 2, 0.75)
    assert [guess.label for guess in result] == ["cat", "dog"]
    assert len(result) == 2
    assert repr(result) == "Classification(cat 0.750, dog 0.250)"
    nothing = Classification(())
    assert (nothing.label, nothing.index, nothing.score, bool(nothing)) == ("", -1, 0.0, False)


def test_detections() -> None:
    found = detections(2, 5)
    assert [each.label for each in found] == ["face", "1"]
    assert found[0].box == (4.0, 30.0, 20.0, 50.0)
    assert found[1].score == 0.5
    assert found[0].points is not None
    assert repr(found) == (
        "Detections(2:\n  Detection(face 0.750, 4.0,30.0 to 20.0,50.0, 5 points)"
        "\n  Detection(1 0.500, 4.0,30.0 to 21.0,50.0, 5 points))"
    )
    assert repr(detections(0)) == "Detections(none)"
    assert repr(detections(9)).endswith("\n  … 5 more)")
    with pytest.raises(ShapeError, match=r"scores \(2,\)"):
        Detections(found.boxes[:1], found.scores, found.classes)
    with pytest.raises(ShapeError, match=r"keypoints \(1, 5, 2\)"):
        Detections(found.boxes, found.scores, found.classes, (), np.zeros((1, 5, 2), np.float32))


def test_mask_and_keypoints() -> None:
    mask = Mask(np.array([[0, 1], [1, 255]], np.uint8), ("sky", "road"))
    assert repr(mask) == "Mask(2x2, road 50%, sky 25%, unseen 25%)"
    assert Mask(np.zeros((1, 1), np.uint16)).unseen == 65535
    with pytest.raises(ShapeError, match=r"float32 \[2, 2\]"):
        Mask(np.zeros((2, 2), np.float32))  # type: ignore[arg-type]
    points = np.array([[3, 4.5], [1, 2]], np.float32)
    scores = np.array([0.5, 1], np.float32)
    found = Keypoints(points, scores, ("nose",))
    assert repr(found) == "Keypoints(nose 3.0,4.5 0.500, 1 1.0,2.0 1.000)"
    with pytest.raises(ShapeError, match=r"expected \[n, 2\] and \[n\]"):
        Keypoints(points, scores[:1])


# ---- drawing ----


def test_box_and_points_are_drawn() -> None:
    picture = np.full((60, 80, 3), 9, np.uint8)
    drawn = np.asarray(draw(picture, detections(1, 1)))
    assert (picture == 9).all()
    red = (drawn == colour_of(0)).all(-1)
    # The box covers pixels 4..19 and 30..49; its label lies above it.
    assert red[[30, 49], 4:20].all()
    assert red[30:50, [4, 19]].all()
    assert not red[31:39, 5:19].any()
    assert red[25, 4:20].any()
    assert not red[50:, :].any()
    assert not red[:, :4].any()
    assert red[40, 40]
    assert (drawn[55, 70] == 9).all()


def test_mask_is_blended() -> None:
    picture = PIL.Image.new("L", (3, 1), 100)
    mask = Mask(np.array([[0, 1, 255]], np.uint8))
    drawn = np.asarray(draw(picture, mask, opacity=0.25))
    expected = np.rint(100 + (np.array(colour_of(1)) - 100) * 0.25)
    np.testing.assert_array_equal(drawn, [[[100] * 3, expected, [100] * 3]])
    with pytest.raises(ShapeError, match="a mask of 3x1 for a picture of 3x2"):
        draw(np.zeros((2, 3), np.uint8), mask)


def test_points_without_a_score_are_not_drawn() -> None:
    points = np.array([[10, 10], [30, 10]], np.float32)
    drawn = draw(np.zeros((20, 40, 3), np.uint8), Keypoints(points, np.array([1, 0], np.float32)))
    assert drawn.getpixel((10, 10)) == colour_of(0)
    assert drawn.getpixel((30, 10)) == (0, 0, 0)


def test_classes_are_written() -> None:
    picture = PIL.Image.new("RGB", (90, 40))
    drawn = draw(picture, Classification((Guess("cat", 1, 0.5),)))
    assert (np.asarray(drawn) == colour_of(1)).all(-1).any()
    assert not np.asarray(picture).any()
    np.testing.assert_array_equal(draw(picture, Classification(())), np.asarray(picture))


def test_drawing_refuses() -> None:
    with pytest.raises(ArgumentError, match=r"float32 \[2, 2, 3\]"):
        draw(np.zeros((2, 2, 3), np.float32), Classification(()))
    with pytest.raises(ArgumentError, match="is str, expected a PIL image"):
        draw("cat.jpg", Classification(()))
    with pytest.raises(ArgumentError, match="draw takes an answer, got int"):
        draw(np.zeros((2, 2, 3), np.uint8), 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="opacity 2"):
        draw(np.zeros((2, 2, 3), np.uint8), Classification(()), opacity=2)


def test_drawing_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(UnsupportedError, match="pip install pillow"):
        draw(np.zeros((2, 2, 3), np.uint8), Classification(()))


def test_pictures_are_written_by_their_names(tmp_path: Path) -> None:
    picture = draw(np.full((2, 3, 3), 9, np.uint8), Mask(np.zeros((2, 3), np.uint8)))
    for name in ("out.png", "out.JPG"):
        write_picture(tmp_path / name, picture)
        with PIL.Image.open(tmp_path / name) as opened:
            assert opened.size == (3, 2)
    for name in ("out", "out.txt"):
        with pytest.raises(ArgumentError, match="does not say how to write it"):
            write_picture(tmp_path / name, picture)
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("format", ["rgb", "bgr", "rgba", "bgra", "gray"])
def test_pictures_of_every_order_are_drawn_on(format: str) -> None:
    channels = {"gray": 1, "rgba": 4, "bgra": 4}.get(format, 3)
    pixels = np.arange(4 * channels, dtype=np.uint8).reshape(2, 2, channels)
    made = np.asarray(draw(Image(pixels, format), Mask(np.zeros((2, 2), np.uint8))))
    order = {"b": [2, 1, 0], "g": [0, 0, 0]}.get(format[0], [0, 1, 2])
    assert np.array_equal(made, pixels[..., order])
