# SPDX-License-Identifier: Apache-2.0
"""Random pictures and records, for tests that compare two ways of pre-processing bit by bit."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.pybridge.image import Image
from samara.pybridge.image_planes import FORMATS
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.image_text import (
    CHANNELS,
    DTYPES,
    FILTERS,
    LAYOUTS,
    MATRICES,
    MAX_SIDE,
    RANGES,
)

Bytes = npt.NDArray[np.uint8]

_MEANS: Final = (0.0, 127.5, 123.675, 116.28, 255.0, -3.0, 1e6, 0.1)
_SCALES: Final = (1 / 255, 1 / 127.5, 1 / 58.395, 1.0, -1.0, 0.5, 257.0, 1e30, 1e-30)
_STEPS: Final = (1 / 255, 1 / 128, 0.0186, 1.0, 0.5, 3.7, 1e-6, 1e6)
_MOST = 400  # pixels of the longer side after resize=S, because the Python reference is slow


def random_case(rng: np.random.Generator) -> tuple[ImageRecord, Image]:
    """A record and a picture that fits it, of any format, strides, size, crop, rotation and options.

    The memory of each plane ends with its last byte, so that tools can detect a read beyond it.
    """
    image = random_image(rng)
    return random_record(rng, *image.size), image


# ---- pictures ----


def random_image(rng: np.random.Generator) -> Image:
    """A picture of random bytes in random memory."""
    format = str(rng.choice(list(FORMATS)))
    width, height = _picture_size(rng)
    layout = FORMATS[format]
    yuv = len(layout) > 1
    options: dict[str, Any] = {
        "crop": _crop(rng, width, height) if _chance(rng, 0.5) else None,
        "rotation": int(rng.choice((0, 90, 180, 270))),
        "mirror": _chance(rng, 0.3),
        "matrix": _pick(rng, MATRICES) if yuv and _chance(rng, 0.5) else None,
        "range": _pick(rng, RANGES) if yuv and _chance(rng, 0.5) else None,
    }
    data: list[Bytes] = []
    strides: list[tuple[int, int]] = []
    for sample, halved in layout:
        columns, rows = ((width + 1) // 2, (height + 1) // 2) if halved else (width, height)
        pixel = sample + (int(rng.integers(1, 4)) if _chance(rng, 0.3) else 0)
        tight = (columns - 1) * pixel + sample
        row = tight + int(rng.integers(0, 20)) if _chance(rng, 0.5) else columns * pixel
        strides.append((row, pixel))
        data.append(_content(rng, (rows - 1) * row + tight))
    if format == "i420" and _chance(rng, 0.3):
        return _overlapping(rng, width, height, data[0], strides[0], options)
    if yuv and _chance(rng, 0.3):  # one buffer
        counts = [height, *[(height + 1) // 2] * (len(layout) - 1)]
        ends = [row * count for (row, _), count in zip(strides, counts, strict=True)]
        size = sum(ends[:-1]) + data[-1].size
        return Image(_content(rng, size), format, width, height, strides, **options)
    planes = tuple(data) if yuv else data[0]
    return Image(planes, format, width, height, strides, **options)


def _overlapping(
    rng: np.random.Generator,
    width: int,
    height: int,
    luma: Bytes,
    stride: tuple[int, int],
    options: dict[str, Any],
) -> Image:
    """I420 with U and V interleaved in the same memory, as cameras deliver it."""
    columns, rows = (width + 1) // 2, (height + 1) // 2
    row = 2 * columns + int(rng.integers(0, 5))
    both = _content(rng, (rows - 1) * row + 2 * columns)
    chroma = (both[:-1], both[1:]) if _chance(rng, 0.5) else (both[1:], both[:-1])
    planes = (luma, *chroma)
    return Image(planes, "i420", width, height, (stride, (row, 2), (row, 2)), **options)


def _content(rng: np.random.Generator, size: int) -> Bytes:
    kind = rng.integers(0, 10)
    if kind == 0:
        return np.full(size, rng.integers(0, 256), np.uint8)
    if kind == 1:
        return (rng.integers(0, 2, size) * 255).astype(np.uint8)
    return rng.integers(0, 256, size, dtype=np.uint8)


def _picture_size(rng: np.random.Generator) -> tuple[int, int]:
    kind = rng.integers(0, 100)
    if kind == 0:
        size = [MAX_SIDE, int(rng.integers(1, 3))]
    elif kind < 10:
        size = [int(rng.integers(1, 300)), 1]
    elif kind < 30:
        size = [int(rng.integers(1, 90)), int(rng.integers(1, 90))]
    else:
        size = [int(rng.integers(1, 25)), int(rng.integers(1, 25))]
    return (size[0], size[1]) if _chance(rng, 0.5) else (size[1], size[0])


def _crop(rng: np.random.Generator, width: int, height: int) -> tuple[int, int, int, int]:
    w, h = int(rng.integers(1, width + 1)), int(rng.integers(1, height + 1))
    return int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1)), w, h


# ---- records ----


def random_record(rng: np.random.Generator, width: int, height: int) -> ImageRecord:
    """A record that an oriented picture of width by height pixels fits."""
    colour = _pick(rng, tuple(CHANNELS))
    dtype = _pick(rng, tuple(DTYPES))
    layouts = [name for name in LAYOUTS if "c" in name or colour == "gray"]
    filter = _pick(rng, FILTERS)
    fields: dict[str, Any] = {
        "filter": filter,
        "antialias": filter == "bilinear" and _chance(rng, 0.5),
        "mean": _values(rng, colour, _MEANS, (-300.0, 600.0)),
        "scale": _values(rng, colour, _SCALES, (0.001, 0.1)),
        "matrix": _pick(rng, MATRICES) if _chance(rng, 0.5) else None,
        "range": _pick(rng, RANGES) if _chance(rng, 0.5) else None,
        **_sizes(rng, colour, width, height),
    }
    record = ImageRecord(colour, dtype, _pick(rng, tuple(layouts)), **fields)
    ends = DTYPES[dtype]
    if ends is None or not (record.needs_quant or _chance(rng, 0.3)):
        return record
    step = float(rng.choice(_STEPS)) if _chance(rng, 0.5) else float(rng.uniform(0.001, 2.0))
    zero = int(rng.integers(ends[0], ends[1] + 1))
    return ImageRecord(colour, dtype, record.layout, **fields, quant=(step, zero))


def _sizes(rng: np.random.Generator, colour: str, width: int, height: int) -> dict[str, Any]:
    """Fields that set the tensor's size: resize, crop, letterbox and fill."""
    if _chance(rng, 0.25):
        count = int(rng.choice((0, 1, CHANNELS[colour])))
        fill = tuple(int(v) for v in rng.integers(0, 256, count))
        return {"letterbox": _tensor_size(rng), "fill": fill}
    resize: int | tuple[int, int] | None = None
    resized = (width, height)
    if _chance(rng, 0.7):
        side = int(rng.integers(1, 40))
        longer = side * max(resized) // min(resized)
        if _chance(rng, 0.5) and longer <= _MOST:
            resize = side
            resized = (side, longer) if width <= height else (longer, side)
        else:
            resize = resized = _tensor_size(rng)
    if _chance(rng, 0.4):
        wide, high = (int(rng.integers(1, min(side, 60) + 1)) for side in resized)
        return {"resize": resize, "crop": (wide, high)}
    return {"resize": resize}


def _tensor_size(rng: np.random.Generator) -> tuple[int, int]:
    if _chance(rng, 0.01):
        size = (MAX_SIDE, int(rng.integers(1, 3)))
        return size if _chance(rng, 0.5) else size[::-1]
    return int(rng.integers(1, 48)), int(rng.integers(1, 48))


def _values(
    rng: np.random.Generator, colour: str, usual: tuple[float, ...], ends: tuple[float, float]
) -> tuple[float, ...]:
    """Nothing, one value, or one per channel."""
    count = int(rng.choice((0, 1, CHANNELS[colour])))
    some = [rng.choice(usual) if _chance(rng, 0.5) else rng.uniform(*ends) for _ in range(count)]
    return tuple(float(v) for v in some)


def _pick(rng: np.random.Generator, names: tuple[str, ...]) -> str:
    return str(rng.choice(names))


def _chance(rng: np.random.Generator, of: float) -> bool:
    return bool(rng.random() < of)
