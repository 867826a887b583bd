# SPDX-License-Identifier: Apache-2.0
"""Where the pixels of a model's input lie in the caller's picture (docs/guides/postprocessing.md, step 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from samara.pybridge.errors import ShapeError

__all__ = ["PictureGeometry"]

_MOST_SIZE = 16384  # the largest side of a picture and of an input


class _Sized(Protocol):
    """The fields of an image record that this module reads."""

    @property
    def resize(self) -> int | tuple[int, int] | None: ...
    @property
    def crop(self) -> tuple[int, int] | None: ...
    @property
    def letterbox(self) -> tuple[int, int] | None: ...


class _Turned(Protocol):
    """The attributes of a picture that this module reads."""

    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def crop(self) -> tuple[int, int, int, int] | None: ...
    @property
    def rotation(self) -> int: ...
    @property
    def mirror(self) -> bool: ...


def _nearest(numerator: int, denominator: int) -> int:
    """numerator / denominator to the nearest integer, half to even."""
    whole, rest = divmod(numerator, denominator)
    up = 2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1)
    return whole + up


@dataclass(frozen=True, slots=True)
class PictureGeometry:
    """Where a picture lies in a model's input.

    The rectangle `crop` (x, y, width, height) of a picture of `width` by `height` pixels is rotated
    clockwise by `rotation` degrees, mirrored if `mirror` is set, resized to `resized` (width, height),
    and placed with its corner at `offset` (column, row) of an input of `tensor` (width, height)
    pixels. A negative offset means that the resized picture is cropped.

    >>> PictureGeometry.of_sizes(640, 480, letterbox=(320, 320)).offset
    (0, 40)
    """

    width: int
    height: int
    crop: tuple[int, int, int, int]
    rotation: int
    mirror: bool
    resized: tuple[int, int]
    offset: tuple[int, int]
    tensor: tuple[int, int]

    def __post_init__(self) -> None:
        sizes = (self.width, self.height, *self.crop[2:], *self.resized, *self.tensor)
        if not all(1 <= size <= _MOST_SIZE for size in sizes):
            raise ShapeError(
                f"a picture of {self.width}x{self.height}, crop {self.crop}, resized {self.resized},"
                f" input {self.tensor}: expected sizes of 1 to {_MOST_SIZE}"
            )
        x, y, w, h = self.crop
        if x < 0 or y < 0 or x + w > self.width or y + h > self.height:
            raise ShapeError(
                f"the crop {self.crop} is not inside a picture of {self.width}x{self.height}",
                fix="give (x, y, width, height) inside the picture",
            )
        if self.rotation not in (0, 90, 180, 270):
            raise ShapeError(f"a rotation by {self.rotation}, expected 0, 90, 180 or 270 degrees")
        if any(abs(offset) > _MOST_SIZE for offset in self.offset):
            raise ShapeError(f"an offset of {self.offset}, expected at most {_MOST_SIZE}")

    @classmethod
    def of(cls, record: _Sized, picture: _Turned) -> PictureGeometry:
        """The geometry of a picture that `record` makes an input of.

        ShapeError if the record crops more than the resized picture has.
        """
        return cls.of_sizes(
            picture.width,
            picture.height,
            crop=picture.crop,
            rotation=picture.rotation,
            mirror=picture.mirror,
            resize=record.resize,
            center=record.crop,
            letterbox=record.letterbox,
        )

    @classmethod
    def of_sizes(
        cls,
        width: int,
        height: int,
        *,
        crop: tuple[int, int, int, int] | None = None,
        rotation: int = 0,
        mirror: bool = False,
        resize: int | tuple[int, int] | None = None,
        center: tuple[int, int] | None = None,
        letterbox: tuple[int, int] | None = None,
    ) -> PictureGeometry:
        """The geometry of a picture of `width` by `height` pixels, by step 3 of docs/guides/preprocessing.md.

        `crop`, `rotation` and `mirror` belong to the picture; `resize`, `center` (the record's crop) and
        `letterbox` to the image record. ShapeError for sizes out of range.
        """
        rectangle = (0, 0, width, height) if crop is None else crop
        ow, oh = rectangle[2:] if rotation in (0, 180) else (rectangle[3], rectangle[2])
        if ow < 1 or oh < 1:
            raise ShapeError(f"a picture of {ow}x{oh} pixels, expected at least 1x1")
        resized, offset, tensor = _placed(ow, oh, resize, center, letterbox)
        return cls(width, height, rectangle, rotation, mirror, resized, offset, tensor)

    @property
    def oriented(self) -> tuple[int, int]:
        """(width, height) after the rotation."""
        w, h = self.crop[2:]
        return (w, h) if self.rotation in (0, 180) else (h, w)

    def to_picture(self, points: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Map points [..., 2] (x, y) from pixels of the input to pixels of the picture, as float32.

        (0, 0) is the upper left corner of the upper left pixel in both.

        >>> PictureGeometry.of_sizes(640, 480, letterbox=(320, 320)).to_picture(np.array([[0, 40]]))
        array([[0., 0.]], dtype=float32)
        """
        given = np.asarray(points, np.float32)
        f = np.float32
        ow, oh = self.oriented
        scale_x, scale_y = f(ow) / f(self.resized[0]), f(oh) / f(self.resized[1])
        with np.errstate(all="ignore"):
            u = (given[..., 0] - f(self.offset[0])) * scale_x
            v = (given[..., 1] - f(self.offset[1])) * scale_y
            if self.mirror:
                u = f(ow) - u
            x, y, w, h = self.crop
            p, q = {
                0: lambda: (u, v),
                90: lambda: (v, f(h) - u),
                180: lambda: (f(w) - u, f(h) - v),
                270: lambda: (f(w) - v, u),
            }[self.rotation]()
            return np.stack([f(x) + p, f(y) + q], -1)


def _placed(
    ow: int,
    oh: int,
    resize: int | tuple[int, int] | None,
    center: tuple[int, int] | None,
    letterbox: tuple[int, int] | None,
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """(resized, offset, tensor) of an oriented picture."""
    if letterbox is not None:
        w, h = letterbox
        if ow * h >= oh * w:
            rw, rh = w, max(1, _nearest(oh * w, ow))
        else:
            rw, rh = max(1, _nearest(ow * h, oh)), h
        return (rw, rh), ((w - rw) // 2, (h - rh) // 2), letterbox
    if resize is None:
        rw, rh = ow, oh
    elif isinstance(resize, tuple):
        rw, rh = resize
    elif ow <= oh:
        rw, rh = resize, max(1, resize * oh // ow)
    else:
        rw, rh = max(1, resize * ow // oh), resize
    if center is None:
        return (rw, rh), (0, 0), (rw, rh)
    w, h = center
    if w > rw or h > rh:
        raise ShapeError(
            f"a crop of {w}x{h} from a resized picture of {rw}x{rh}",
            fix="resize to more, or crop less",
        )
    return (rw, rh), (-_nearest(rw - w, 2), -_nearest(rh - h, 2)), center
