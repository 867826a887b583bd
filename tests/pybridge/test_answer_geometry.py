# SPDX-License-Identifier: Apache-2.0
"""From pixels of an input back to those of the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.errors import ShapeError


def test_sizes() -> None:
    letterbox = PictureGeometry.of_sizes(640, 360, letterbox=(320, 240))
    assert (letterbox.resized, letterbox.offset) == ((320, 180), (0, 30))
    tall = PictureGeometry.of_sizes(360, 640, letterbox=(320, 240))
    assert (tall.resized, tall.offset) == ((135, 240), (92, 0))
    assert PictureGeometry.of_sizes(1, 16384, letterbox=(8, 8)).resized == (1, 8)
    # 2.5 rounds to even, 1.5 too.
    assert PictureGeometry.of_sizes(10, 5, letterbox=(5, 9)).resized == (5, 2)
    assert PictureGeometry.of_sizes(10, 5, letterbox=(3, 9)).resized == (3, 2)
    shorter = PictureGeometry.of_sizes(500, 375, resize=256, center=(224, 224))
    assert (shorter.resized, shorter.offset) == ((341, 256), (-58, -16))
    assert PictureGeometry.of_sizes(375, 500, resize=256).tensor == (256, 341)
    plain = PictureGeometry.of_sizes(7, 5, rotation=90)
    assert plain.resized == plain.tensor == plain.oriented == (5, 7)
    cut = PictureGeometry.of_sizes(64, 48, crop=(4, 8, 20, 10), rotation=270, resize=(5, 5))
    assert (cut.oriented, cut.tensor) == ((10, 20), (5, 5))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("mirror", [False, True])
def test_pixels_come_back(rotation: int, mirror: bool) -> None:
    """A picture of its own coordinates is cropped, turned and mirrored by numpy: each pixel says where."""
    x, y, w, h = 3, 1, 6, 4
    picture = np.stack(np.meshgrid(np.arange(11), np.arange(9)), -1)
    seen = np.rot90(picture[y : y + h, x : x + w], -rotation // 90)
    seen = seen[:, ::-1] if mirror else seen
    geometry = PictureGeometry.of_sizes(11, 9, crop=(x, y, w, h), rotation=rotation, mirror=mirror)
    rows, columns = np.mgrid[0 : seen.shape[0], 0 : seen.shape[1]]
    back = geometry.to_picture(np.stack([columns, rows], -1) + 0.5)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, seen + 0.5)


def test_scale_and_offset() -> None:
    geometry = PictureGeometry.of_sizes(640, 360, letterbox=(320, 240))
    corners = geometry.to_picture(np.array([[0, 30], [320, 210], [160, 120]]))
    np.testing.assert_array_equal(corners, [[0, 0], [640, 360], [320, 180]])
    cropped = PictureGeometry.of_sizes(512, 512, resize=256, center=(224, 224))
    np.testing.assert_array_equal(cropped.to_picture(np.array([0, 0])), [32, 32])


@dataclass
class _Record:
    resize: int | tuple[int, int] | None = None
    crop: tuple[int, int] | None = None
    letterbox: tuple[int, int] | None = None


@dataclass
class _Picture:
    width: int
    height: int
    crop: tuple[int, int, int, int] | None = None
    rotation: int = 0
    mirror: bool = False


def test_of_record_and_picture() -> None:
    picture = _Picture(64, 48, (0, 0, 32, 48), 90, True)
    turned: Any = {"crop": (0, 0, 32, 48), "rotation": 90, "mirror": True}
    want = PictureGeometry.of_sizes(64, 48, **turned, letterbox=(24, 24))
    assert PictureGeometry.of(_Record(letterbox=(24, 24)), picture) == want
    cut = PictureGeometry.of(_Record(resize=20, crop=(10, 10)), _Picture(40, 40))
    assert cut.offset == (-5, -5)


def test_refused() -> None:
    for sizes in [(0, 5), (5, 16385)]:
        with pytest.raises(ShapeError, match=r"at least 1x1|1 to 16384"):
            PictureGeometry.of_sizes(*sizes)
    with pytest.raises(ShapeError, match="not inside a picture of 8x8"):
        PictureGeometry.of_sizes(8, 8, crop=(1, 0, 8, 8))
    with pytest.raises(ShapeError, match="a crop of 9x9 from a resized picture of 8x8"):
        PictureGeometry.of_sizes(8, 8, center=(9, 9))
    right = PictureGeometry.of_sizes(8, 8)
    with pytest.raises(ShapeError, match="a rotation by 45"):
        replace(right, rotation=45)
    with pytest.raises(ShapeError, match="offset"):
        replace(right, offset=(0, 20000))
