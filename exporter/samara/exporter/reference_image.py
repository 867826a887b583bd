# SPDX-License-Identifier: Apache-2.0
"""Reference of picture pre-processing in integers: docs/guides/preprocessing.md step by step."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.pybridge.image import Image
from samara.pybridge.image_planes import Plane
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.image_text import DTYPES

Ints = npt.NDArray[np.int64]

# (matrix, range) -> cy, rv, gu, gv, bu, and the offset of Y.
MATRIX: Final = {
    ("bt601", "limited"): (76309, 104597, -25675, -53279, 132201, 16),
    ("bt601", "full"): (65536, 91881, -22553, -46802, 116130, 0),
    ("bt709", "limited"): (76309, 117489, -13975, -34925, 138438, 16),
    ("bt709", "full"): (65536, 103206, -12276, -30679, 121609, 0),
}
_ONE = 16384  # the sum of a pixel's weights


def preprocess(record: ImageRecord, image: Image) -> npt.NDArray[Any]:
    """The tensor that `record` makes of `image`, of the shape `record.shape(*image.size)`.

    It is written to be read beside docs/guides/preprocessing.md, not to be fast. ArgumentError if the record
    has no scale to quantize by, ShapeError if the picture does not fit it.

    >>> record = ImageRecord.parse("gray uint8 hw resize=2x1")
    >>> preprocess(record, Image(np.array([[10, 20, 30, 41]], np.uint8), "gray"))
    array([[15, 36]], dtype=uint8)
    """
    record.check()
    geometry = record.geometry(*image.size)
    picture = oriented(image, record)
    (rw, rh), (x, y), (w, h) = geometry.resized, geometry.start, geometry.kept
    # Step 5: along rows, then along columns. Rows outside the crop are not computed.
    half = _along(np.moveaxis(picture, 1, 0), record, rw, (x, w), 7)
    new = _along(np.moveaxis(half, 1, 0), record, rh, (y, h), 21)
    columns, rows = geometry.size
    fill = np.array(record.fill or (0,), np.int64)
    whole = np.empty((rows, columns, record.channels), np.int64)
    whole[:] = fill
    left, top = geometry.at
    whole[top : top + h, left : left + w] = new
    return laid_out(elements(whole, record), record.layout)


# ---- steps 1 and 2: the oriented picture ----


def oriented(image: Image, record: ImageRecord) -> Ints:
    """The pixels of the oriented picture, [height, width, channels of the record]."""
    pixels = _channels(image, record)
    turned = np.rot90(pixels, -image.rotation // 90)
    return turned[:, ::-1] if image.mirror else turned


def _channels(image: Image, record: ImageRecord) -> Ints:
    """The crop rectangle's pixels in the record's channels, before the rotation."""
    x, y, w, h = image.crop
    columns, rows = np.arange(x, x + w), np.arange(y, y + h)
    if image.format in ("nv12", "nv21", "i420"):
        return _from_yuv(image, record, columns, rows)
    samples = _samples(image.planes[0], columns, rows, _BYTES[image.format])
    if image.format == "gray":
        return np.repeat(samples, record.channels, axis=2)
    r, g, b = (samples[:, :, i] for i in _RGB[image.format])
    if record.colour == "gray":
        return ((19595 * r + 38470 * g + 7471 * b + 32768) >> 16)[:, :, None]
    return np.stack((r, g, b) if record.colour == "rgb" else (b, g, r), axis=2)


# Format -> bytes of a pixel, and the positions of R, G and B.
_BYTES: Final = {"gray": 1, "rgb": 3, "bgr": 3, "rgba": 4, "bgra": 4}
_RGB: Final = {"rgb": (0, 1, 2), "bgr": (2, 1, 0), "rgba": (0, 1, 2), "bgra": (2, 1, 0)}


def _from_yuv(image: Image, record: ImageRecord, columns: Ints, rows: Ints) -> Ints:
    matrix = image.matrix or record.matrix or "bt601"
    span = image.range or record.range or "limited"
    cy, rv, gu, gv, bu, black = MATRIX[matrix, span]
    y = _samples(image.planes[0], columns, rows, 1)[:, :, 0] - black
    if record.colour == "gray":
        return _clip((cy * y + 32768) >> 16)[:, :, None]
    if image.format == "i420":
        u, v = (_samples(p, columns // 2, rows // 2, 1)[:, :, 0] for p in image.planes[1:])
    else:
        pair = _samples(image.planes[1], columns // 2, rows // 2, 2)
        u, v = (pair[:, :, i] for i in ((0, 1) if image.format == "nv12" else (1, 0)))
    u, v = u - 128, v - 128
    r = _clip((cy * y + rv * v + 32768) >> 16)
    g = _clip((cy * y + gu * u + gv * v + 32768) >> 16)
    b = _clip((cy * y + bu * u + 32768) >> 16)
    return np.stack((r, g, b) if record.colour == "rgb" else (b, g, r), axis=2)


def _samples(plane: Plane, columns: Ints, rows: Ints, sample: int) -> Ints:
    """The samples of a plane in these columns and rows, [rows, columns, bytes of a sample]."""
    at = rows[:, None] * plane.row_stride + columns[None, :] * plane.pixel_stride
    found: Ints = plane.data[at[:, :, None] + np.arange(sample)].astype(np.int64)
    return found


def _clip(values: Ints) -> Ints:
    return np.clip(values, 0, 255)


# ---- steps 4 and 5: resizing ----


def weights(record: ImageRecord, n: int, m: int, d: int) -> dict[int, int]:
    """Old pixel -> its weight in new pixel `d` when n pixels become m; the weights sum to 16384."""
    a = _shares(record, n, m, d)
    total = sum(a.values())
    found, before = {}, 0
    for i in sorted(a):
        found[i] = _rounded(before + a[i], total) - _rounded(before, total)
        before += a[i]
    return found


def _rounded(c: int, total: int) -> int:
    return (2 * _ONE * c + total) // (2 * total)


def _shares(record: ImageRecord, n: int, m: int, d: int) -> dict[int, int]:
    """a(i) of the page for the old pixels where it is not 0."""
    if record.filter == "nearest":
        return {((2 * d + 1) * n) // (2 * m): 1}
    if record.filter == "area":
        olds = range(d * n // m, ((d + 1) * n - 1) // m + 1)
        return {i: min((i + 1) * m, (d + 1) * n) - max(i * m, d * n) for i in olds}
    if record.antialias and m < n:
        middle = (2 * d + 1) * n
        olds = range(max(0, (middle - 2 * n) // (2 * m)), min(n, (middle + 2 * n) // (2 * m) + 1))
        a = {i: 2 * n - abs((2 * i + 1) * m - middle) for i in olds}
        return {i: share for i, share in a.items() if share > 0}
    t = (2 * d + 1) * n - m
    first, rest = divmod(t, 2 * m)
    a = {min(max(first, 0), n - 1): 2 * m - rest}
    if rest > 0:
        second = min(max(first + 1, 0), n - 1)
        a[second] = a.get(second, 0) + rest
    return a


def _along(pixels: Ints, record: ImageRecord, m: int, kept: tuple[int, int], shift: int) -> Ints:
    """New pixels start .. start + count - 1 along the first axis, with kept = (start, count)."""
    start, count = kept
    new = np.empty((count, *pixels.shape[1:]), np.int64)
    for k in range(count):
        w = weights(record, len(pixels), m, start + k)
        total = sum(weight * pixels[i] for i, weight in w.items())
        new[k] = (total + (1 << (shift - 1))) >> shift
    return new


# ---- step 6: elements ----


def elements(v: Ints, record: ImageRecord) -> npt.NDArray[Any]:
    """The elements of the tensor for pixels v, [height, width, channels] of 0..255."""
    y = v.astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        if record.mean:
            y = y - np.array(record.mean, np.float32)
        if record.scale:
            y = y * np.array(record.scale, np.float32)
        if record.dtype in ("float32", "float16"):
            return y.astype(record.dtype)
        if record.quant is None:
            return v.astype(np.uint8)
        ends = DTYPES[record.dtype]
        assert ends is not None
        (low, high), (s, zero) = ends, record.quant
        steps = np.clip(y / np.float32(s), np.float32(low - zero), np.float32(high - zero))
    whole: Ints = np.rint(steps).astype(np.int64) + zero
    return whole.astype(record.dtype)


def laid_out(pixels: npt.NDArray[Any], layout: str) -> npt.NDArray[Any]:
    """[height, width, channels] in the record's layout, C-contiguous; N is 1."""
    rows, columns, channels = pixels.shape
    if "c" in layout and layout.index("c") < layout.index("h"):
        pixels = np.moveaxis(pixels, 2, 0)
    sides = {"n": 1, "c": channels, "h": rows, "w": columns}
    return np.ascontiguousarray(pixels).reshape([sides[axis] for axis in layout])
