# SPDX-License-Identifier: Apache-2.0
"""Pictures in the forms that callers have: pixels in common formats, with strides, crop and rotation."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.pybridge.errors import (
    ArgumentError,
    FileError,
    SamaraError,
    ShapeError,
    UnsupportedError,
)
from samara.pybridge.files import AnyPath, check_readable, kind_of, path_of
from samara.pybridge.image_planes import FORMATS, Plane, check_sides, planes_of, whole
from samara.pybridge.image_text import MATRICES, RANGES
from samara.pybridge.names import is_one_of, meant

_ROTATIONS: Final = (0, 90, 180, 270)
# EXIF orientation -> clockwise rotation, and whether left and right are swapped after it.
_EXIF: Final = {
    1: (0, False),
    2: (0, True),
    3: (180, False),
    4: (180, True),
    5: (90, True),
    6: (90, False),
    7: (270, True),
    8: (270, False),
}
_ORIENTATION = 0x0112  # EXIF's tag
_DIRECT: Final = {"L": "gray", "RGB": "rgb", "RGBA": "rgba"}  # Pillow's modes
_DEEP: Final = ("I", "F")  # modes (or their first letters) with more than 8 bits


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Image:
    """A picture with 8 bits per channel. It borrows the caller's memory if possible.

    data: one of
    - an array uint8 [height, width, channels], or [height, width] of "gray". It is copied only where
      its strides are negative, channels are not adjacent, or rows overlap.
    - bytes, or anything with the buffer protocol, together with width and height. The planes of
      "nv12", "nv21" (Y; then pairs of U and V, or V and U) and "i420" (Y; U; V) follow each other;
      those of chroma are ceil(width / 2) by ceil(height / 2).
    - a tuple with one array or buffer per plane.
    format: "rgb", "bgr", "rgba", "bgra", "gray", "nv21", "nv12" or "i420".
    width, height: pixels, 1..16384; may be left out if `data` is an array with axes.
    strides: for buffers, one entry per plane: bytes between rows, or (bytes between rows, bytes between
    samples). None: samples and rows are adjacent.
    crop: (x, y, width, height) of the part to use, in pixels of `data`; None: everything.
    rotation: 0, 90, 180 or 270 degrees clockwise, after the crop. mirror: whether left and right are
    swapped after the rotation.
    matrix, range: for YUV "bt601" or "bt709", "limited" or "full"; None: the record's, or bt601, limited.

    ArgumentError for an argument of the wrong kind, ShapeError if sizes do not fit each other.
    The caller must not change the memory during a run.

    >>> frame = np.zeros((480, 640, 3), np.uint8)
    >>> Image(frame, "bgr", crop=(80, 0, 480, 480), rotation=90)
    Image(bgr 640x480, crop=(80, 0, 480, 480), rotation=90)
    >>> Image(bytes(640 * 480 * 3 // 2), "nv21", 640, 480, rotation=270).size
    (480, 640)
    """

    format: str
    width: int
    height: int
    planes: tuple[Plane, ...]
    crop: tuple[int, int, int, int]
    rotation: int
    mirror: bool
    matrix: str | None
    range: str | None

    def __init__(
        self,
        data: Any,
        format: str,
        width: int | None = None,
        height: int | None = None,
        strides: int | Sequence[int | tuple[int, int]] | None = None,
        crop: tuple[int, int, int, int] | None = None,
        rotation: int = 0,
        mirror: bool = False,
        matrix: str | None = None,
        range: str | None = None,
    ) -> None:
        if not is_one_of(format, FORMATS):
            raise ArgumentError(f"the picture's format is {format!r}", fix=meant(format, FORMATS))
        for name, value, known in (("matrix", matrix, MATRICES), ("range", range, RANGES)):
            if value is not None and not is_one_of(value, known):
                raise ArgumentError(f"{name} is {value!r}", fix=meant(value, known))
            if value is not None and len(FORMATS[format]) == 1:
                raise ArgumentError(
                    f"{name}={value!r} is given for a picture in {format}, but applies to YUV only",
                    fix=f"leave {name} out",
                )
        if not _is_one_of_ints(rotation, _ROTATIONS):
            raise ArgumentError(
                f"rotation is {rotation!r}, expected degrees clockwise",
                fix="give 0, 90, 180 or 270",
            )
        if not isinstance(mirror, (bool, np.bool_)):
            raise ArgumentError(f"mirror is {kind_of(mirror)}", fix="give True or False")
        planes, size = planes_of(data, format, width, height, strides)
        for name, made in (
            ("format", format),
            ("width", size[0]),
            ("height", size[1]),
            ("planes", planes),
            ("crop", _crop(crop, *size)),
            ("rotation", int(rotation)),
            ("mirror", bool(mirror)),
            ("matrix", matrix),
            ("range", range),
        ):
            object.__setattr__(self, name, made)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) after the crop and the rotation."""
        _, _, width, height = self.crop
        return (height, width) if self.rotation in (90, 270) else (width, height)

    def pixels(self) -> npt.NDArray[np.uint8]:
        """All pixels as [height, width, channels] without a copy, ignoring the crop and the rotation.

        UnsupportedError for planes of YUV.

        >>> Image(np.zeros((4, 6), np.uint8), "gray").pixels().shape
        (4, 6, 1)
        """
        channels = FORMATS[self.format][0][0]
        if len(self.planes) != 1:
            raise UnsupportedError(
                f"a picture in {self.format} has planes, not interleaved pixels",
                fix="make it RGB first: samara.preprocess('rgb uint8 nhwc', image)",
            )
        (plane,) = self.planes
        shape = (self.height, self.width, channels)
        return np.ndarray(shape, np.uint8, plane.data, 0, (*plane[1:], 1))

    def upright(self) -> Image:
        """A copy of the picture as models see it: cropped, rotated and mirrored.

        UnsupportedError for planes of YUV.

        >>> Image(np.zeros((4, 6), np.uint8), "gray", rotation=90).upright()
        Image(gray 4x6)
        """
        x, y, width, height = self.crop
        seen = np.rot90(self.pixels()[y : y + height, x : x + width], -self.rotation // 90)
        return Image(np.array(seen[:, ::-1] if self.mirror else seen), self.format)

    def __repr__(self) -> str:
        parts = [f"{self.format} {self.width}x{self.height}"]
        if self.crop != (0, 0, self.width, self.height):
            parts.append(f"crop={self.crop}")
        if self.rotation:
            parts.append(f"rotation={self.rotation}")
        if self.mirror:
            parts.append("mirror=True")
        for name in ("matrix", "range"):
            if getattr(self, name) is not None:
                parts.append(f"{name}={getattr(self, name)!r}")
        return f"Image({', '.join(parts)})"

    # ---- Pillow ----

    @classmethod
    def open(cls, path: AnyPath) -> Image:
        """Read the picture of a file with Pillow; its EXIF orientation becomes rotation and mirror.

        FileError if the file cannot be read or Pillow does not know the format, UnsupportedError if
        Pillow is not installed or pixels have more than 8 bits per channel, ShapeError for sides
        outside 1..16384 pixels.
        """
        file = path_of(path, "the picture")
        try:
            from PIL import Image as pillow
        except ImportError:
            raise UnsupportedError(
                f"{file}: reading a picture needs pillow, which is not installed",
                fix="pip install pillow",
            ) from None
        check_readable(file, "the picture")
        with _by_pillow(f"the picture {file}"), pillow.open(file) as opened:
            return cls._of_pil(opened, f"the picture {file}")

    @classmethod
    def from_pil(cls, image: Any) -> Image:
        """The picture of a `PIL.Image.Image`.

        L, RGB and RGBA keep their pixels, other modes of 8 bits are converted to RGB. For an image as
        Pillow opened it, the EXIF orientation becomes rotation and mirror without moving pixels; one that
        a method of Pillow returned (its `format` is None) is used unchanged.

        ArgumentError for another kind of object, UnsupportedError for modes of more than 8 bits,
        FileError if its file is broken.
        """
        if not _is_pil(image):
            raise ArgumentError(
                f"the picture is {kind_of(image)}, not an image of Pillow", fix="give a PIL.Image"
            )
        return cls._of_pil(image, "the picture")

    @classmethod
    def _of_pil(cls, image: Any, what: str) -> Image:
        check_sides(*image.size)
        if image.mode.startswith(_DEEP):
            raise UnsupportedError(
                f"{what} is of Pillow's mode {image.mode}, which has more than 8 bits",
                fix='scale it to 0..255 first and convert it: image.convert("L")',
            )
        with _by_pillow(what):
            opened = image.format is not None
            orientation = image.getexif().get(_ORIENTATION, 1) if opened else 1
            direct = image if image.mode in _DIRECT else image.convert("RGB")
            pixels = np.asarray(direct)
        rotation, mirror = _EXIF.get(orientation, (0, False))
        return cls(pixels, _DIRECT[direct.mode], rotation=rotation, mirror=mirror)


def is_picture(value: object, rank: int, dtype: Any = None) -> bool:
    """Whether a value for an input with a record is a picture and not a tensor of `rank` and `dtype`: an
    Image, an image of Pillow, a path, or an array uint8 [height, width, channels] or [height, width]
    that cannot be the tensor.
    """
    if isinstance(value, np.ndarray):
        other = value.ndim != rank or (dtype is not None and value.dtype != dtype)
        return value.dtype == np.uint8 and value.ndim in (2, 3) and other
    return isinstance(value, (Image, str, os.PathLike)) or _is_pil(value)


def as_image(value: Any) -> Image:
    """Anything that holds a picture as an Image.

    An Image is returned unchanged. A PIL image and the path of a file are read as by `Image.from_pil` and
    `Image.open`. An array uint8 [height, width] is gray, [height, width, 3] RGB, [height, width, 4] RGBA.

    ArgumentError for anything else, ShapeError for an array of another shape.

    >>> as_image(np.zeros((4, 6, 3), np.uint8))
    Image(rgb 6x4)
    """
    if isinstance(value, Image):
        return value
    if isinstance(value, (str, os.PathLike)):
        return Image.open(value)
    if _is_pil(value):
        return Image.from_pil(value)
    if not isinstance(value, np.ndarray):
        raise ArgumentError(
            f"the picture is {kind_of(value)}",
            fix="give an array [height, width, 3], a path, an image of Pillow, or a samara.Image",
        )
    last = value.shape[-1] if value.ndim == 3 else None
    formats = {None: "gray", 1: "gray", 3: "rgb", 4: "rgba"}
    return Image(value, formats.get(last, "rgb"))


def _is_one_of_ints(value: object, known: Sequence[int]) -> bool:
    """Whether `value` is an integer (not a bool) and one of `known`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and value in known


@contextlib.contextmanager
def _by_pillow(what: str) -> Iterator[None]:
    """Turn Pillow's errors about a broken file, while the block reads `what`, into a FileError."""
    bomb: type[Exception] = sys.modules["PIL.Image"].DecompressionBombError
    try:
        yield
    except (SamaraError, MemoryError):
        raise
    except bomb as error:
        raise FileError(
            f"{what} is larger than Pillow opens: {error}",
            fix="set PIL.Image.MAX_IMAGE_PIXELS if you trust the file",
        ) from None
    except Exception as error:  # Pillow raises TypeError, KeyError and others for broken files
        raise FileError(
            f"{what} cannot be read by Pillow: {error}",
            fix="check that it is a whole picture, or save it as PNG or JPEG",
        ) from error


def _is_pil(value: object) -> bool:
    module = sys.modules.get("PIL.Image")  # without that module no PIL image exists
    return module is not None and isinstance(value, module.Image)


def _crop(given: object, width: int, height: int) -> tuple[int, int, int, int]:
    if given is None:
        return 0, 0, width, height
    if not isinstance(given, (tuple, list)) or len(given) != 4:
        raise ArgumentError(
            f"crop is {given!r}, expected (x, y, width, height)", fix="give four whole numbers"
        )
    x, y, w, h = (whole("crop", value) for value in given)
    if x < 0 or y < 0 or w < 1 or h < 1 or x + w > width or y + h > height:
        raise ShapeError(
            f"crop is ({x}, {y}, {w}, {h}), outside the picture of {width}x{height}",
            fix="give (x, y, width, height) inside it, at least 1x1, before the rotation",
        )
    return x, y, w, h
