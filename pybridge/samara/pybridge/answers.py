# SPDX-License-Identifier: Apache-2.0
"""Answers about a picture (classes, boxes, masks, points), and drawing them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from samara.pybridge.atomic import replacing
from samara.pybridge.errors import ArgumentError, ShapeError, UnsupportedError
from samara.pybridge.files import AnyPath
from samara.pybridge.image import Image

if TYPE_CHECKING:
    import PIL.Image

__all__ = [
    "Answer",
    "Classification",
    "Detection",
    "Detections",
    "Guess",
    "Keypoints",
    "Mask",
    "draw",
    "label_of",
]

_SHOWN = 4  # boxes that a repr lists


def label_of(labels: Sequence[str], index: int) -> str:
    """The label of class `index`, or the number if there is no label.

    >>> label_of(["cat", "dog"], 1), label_of([], 7)
    ('dog', '7')
    """
    return labels[index] if 0 <= index < len(labels) else str(index)


# ---- classes ----


@dataclass(frozen=True, slots=True)
class Guess:
    """A class and its score."""

    label: str
    index: int
    score: float

    def __str__(self) -> str:
        return f"{self.label} {self.score:.3f}"


@dataclass(frozen=True, slots=True)
class Classification:
    """The classes of a picture: the best one, and in `top` the best ones in falling order.

    If no class has a score above the record's threshold, `top` and `label` are empty, `index` is -1,
    `score` is 0, and the result is false in a condition.

    >>> result = Classification((Guess("cat", 0, 0.75), Guess("dog", 1, 0.25)))
    >>> result.label, result.score
    ('cat', 0.75)
    >>> result
    Classification(cat 0.750, dog 0.250)
    """

    top: tuple[Guess, ...]

    @property
    def label(self) -> str:
        """The best class's label."""
        return self.top[0].label if self.top else ""

    @property
    def index(self) -> int:
        """The best class's number."""
        return self.top[0].index if self.top else -1

    @property
    def score(self) -> float:
        """The best class's score."""
        return self.top[0].score if self.top else 0.0

    def __len__(self) -> int:
        return len(self.top)

    def __iter__(self) -> Iterator[Guess]:
        return iter(self.top)

    def __repr__(self) -> str:
        return f"Classification({', '.join(map(str, self.top))})"


# ---- boxes ----


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """One box: `box` is x0, y0, x1, y1 in the picture's pixels, `points` float32 [n, 2] or None."""

    label: str
    index: int
    score: float
    box: tuple[float, float, float, float]
    points: npt.NDArray[np.float32] | None = None

    def __repr__(self) -> str:
        x0, y0, x1, y1 = self.box
        points = "" if self.points is None else f", {len(self.points)} points"
        return f"Detection({self.label} {self.score:.3f}, {x0:.1f},{y0:.1f} to {x1:.1f},{y1:.1f}{points})"


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """Boxes of a picture, best first.

    `boxes` are float32 [n, 4], x0, y0, x1, y1 in the picture's pixels, (0, 0) the upper left corner of
    its first pixel; `scores` float32 [n]; `classes` int32 [n]; `labels` the labels of all classes, by
    their number, or empty; `keypoints` float32 [n, points, 2] or None. Iterating gives a Detection for
    each. ShapeError if lengths differ.

    >>> boxes = np.array([[1, 2, 30, 40]], np.float32)
    >>> found = Detections(boxes, np.array([0.5], np.float32), np.array([0], np.int32), ("face",))
    >>> found[0]
    Detection(face 0.500, 1.0,2.0 to 30.0,40.0)
    """

    boxes: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]
    classes: npt.NDArray[np.int32]
    labels: tuple[str, ...] = ()
    keypoints: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        n = len(self.boxes)
        points = (n, 0, 2) if self.keypoints is None else self.keypoints.shape
        shapes = (self.boxes.shape, self.scores.shape, self.classes.shape)
        right = shapes == ((n, 4), (n,), (n,)) and len(points) == 3
        if not right or (points[0], points[2]) != (n, 2):
            raise ShapeError(
                f"boxes {shapes[0]}, scores {shapes[1]}, classes {shapes[2]}, keypoints {points};"
                " expected [n, 4], [n], [n], [n, points, 2]"
            )

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, index: int) -> Detection:
        x0, y0, x1, y1 = (float(v) for v in self.boxes[index])
        number = int(self.classes[index])
        points = None if self.keypoints is None else self.keypoints[index]
        score = float(self.scores[index])
        return Detection(label_of(self.labels, number), number, score, (x0, y0, x1, y1), points)

    def __iter__(self) -> Iterator[Detection]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        lines = [f"\n  {self[i]}" for i in range(min(len(self), _SHOWN))]
        more = f"\n  … {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"Detections({len(self)}:{''.join(lines)}{more})" if lines else "Detections(none)"


# ---- masks and points ----


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """The class of every pixel of a picture: `classes` is uint8 or uint16 [height, width].

    Pixels that the model did not see hold `unseen`, which is 255 or 65535. `labels` are the labels of
    all classes by number, or empty.

    >>> Mask(np.array([[0, 1], [1, 255]], np.uint8), ("sky", "road"))
    Mask(2x2, road 50%, sky 25%, unseen 25%)
    """

    classes: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.classes.ndim != 2 or self.classes.dtype not in (np.uint8, np.uint16):
            raise ShapeError(
                f"classes are {self.classes.dtype} {list(self.classes.shape)}, expected uint8 or"
                " uint16 [height, width]"
            )

    @property
    def unseen(self) -> int:
        """The value of pixels that the model did not see."""
        return int(np.iinfo(self.classes.dtype).max)

    def __repr__(self) -> str:
        height, width = self.classes.shape
        numbers, counts = np.unique(self.classes, return_counts=True)
        order = sorted(range(len(numbers)), key=lambda i: (-int(counts[i]), int(numbers[i])))
        shares = [
            f"{'unseen' if numbers[i] == self.unseen else label_of(self.labels, int(numbers[i]))}"
            f" {100 * int(counts[i]) / self.classes.size:.0f}%"
            for i in order[:_SHOWN]
        ]
        more = ", …" if len(order) > _SHOWN else ""
        return f"Mask({width}x{height}, {', '.join(shares)}{more})"


@dataclass(frozen=True, slots=True, eq=False)
class Keypoints:
    """Points of a picture: `points` float32 [n, 2], x and y in its pixels, `scores` float32 [n].

    `labels` are their names, or empty. ShapeError if lengths differ.

    >>> points = np.array([[3, 4.5]], np.float32)
    >>> Keypoints(points, np.array([0.5], np.float32), ("nose",))
    Keypoints(nose 3.0,4.5 0.500)
    """

    points: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.points)
        if self.points.shape != (n, 2) or self.scores.shape != (n,):
            raise ShapeError(
                f"points {self.points.shape} and scores {self.scores.shape}, expected [n, 2] and [n]"
            )

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        shown = [
            f"{label_of(self.labels, i)} {x:.1f},{y:.1f} {self.scores[i]:.3f}"
            for i, (x, y) in enumerate(self.points[:_SHOWN])
        ]
        more = f", … {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"Keypoints({', '.join(shown)}{more})"


Answer = Classification | Detections | Mask | Keypoints


# ---- drawing ----

# Colours with hues far from each other, used in turn for classes and points.
_COLOURS = (
    *((230, 25, 75), (60, 180, 75), (0, 130, 200), (245, 130, 48), (145, 30, 180), (70, 240, 240)),
    *((240, 50, 230), (210, 245, 60), (0, 128, 128), (170, 110, 40), (128, 0, 0), (0, 0, 128)),
)


def colour_of(index: int) -> tuple[int, int, int]:
    """The colour (red, green, blue in 0..255) in which class `index` is drawn."""
    return _COLOURS[index % len(_COLOURS)]


def draw(picture: Any, answer: Answer, *, opacity: float = 0.5) -> PIL.Image.Image:
    """Draw `answer` on a copy of `picture`: boxes and labels, a blended mask, or points.

    `picture` is a samara.Image (not YUV), a PIL image, or a uint8 array [height, width] or
    [height, width, 3] in RGB. It must be the picture that was given to the model, neither rotated nor
    cropped. `opacity` is the weight of a mask's colour; class 0 and pixels that the model did not see
    keep their colour. Returns an RGB image.

    ArgumentError for other pictures and answers, ShapeError for a mask of another size, UnsupportedError
    without Pillow.

    >>> mask = Mask(np.array([[0, 1]], np.uint8))
    >>> draw(np.zeros((1, 2, 3), np.uint8), mask, opacity=1).getpixel((1, 0))
    (60, 180, 75)
    """
    if not 0 <= opacity <= 1:
        raise ArgumentError(f"opacity {opacity}, expected 0 to 1", fix="for example opacity=0.5")
    image = _rgb(picture)
    if isinstance(answer, Mask):
        return _draw_mask(image, answer, opacity)
    canvas = _pillow("ImageDraw").Draw(image)
    # Thicker lines keep boxes visible in large pictures.
    line = max(1, round(max(image.size) / 400))
    if isinstance(answer, Classification):
        _write(canvas, (0, 0), "\n".join(map(str, answer.top)), colour_of(answer.index))
    elif isinstance(answer, Detections):
        for found in answer:
            _draw_box(canvas, found, line, image.size)
    elif isinstance(answer, Keypoints):
        for i, (x, y) in enumerate(answer.points):
            if answer.scores[i] > 0:
                _dot(canvas, float(x), float(y), 2 * line, colour_of(i))
    else:
        raise ArgumentError(
            f"draw takes an answer, got {type(answer).__name__}",
            fix="give a Classification, Mask, Detections or Keypoints",
        )
    return image


def write_picture(path: AnyPath, picture: PIL.Image.Image) -> None:
    """Write a picture in the format that the file's name ends in, as a whole or not at all.

    ArgumentError for a name without a known ending, FileError if the file cannot be written.
    """
    kind = picture_kind(path)
    with replacing(path) as file:
        picture.save(file, kind)


def picture_kind(path: AnyPath) -> str:
    """Pillow's name of the format that a file name ends in. ArgumentError for an unknown ending.

    >>> picture_kind("out.png")
    'PNG'
    """
    pil = _pillow("Image")
    kind: str = pil.registered_extensions().get(os.path.splitext(os.fspath(path))[1].lower(), "")
    if kind not in pil.SAVE:
        raise ArgumentError(
            f"picture {os.fspath(path)}: the name does not say how to write it",
            fix="name it .png or .jpg",
        )
    return kind


def _pillow(name: str) -> Any:
    try:
        return importlib.import_module(f"PIL.{name}")
    except ImportError:
        raise UnsupportedError(
            "drawing needs Pillow, which is not installed", fix="pip install pillow"
        ) from None


def _rgb(picture: Any) -> PIL.Image.Image:
    """A copy of the picture as a PIL image in RGB."""
    pil = _pillow("Image")
    if isinstance(picture, pil.Image):
        made: PIL.Image.Image = picture.convert("RGB")
        return made.copy() if made is picture else made
    if isinstance(picture, Image):
        pixels = picture.pixels()
        order = [2, 1, 0] if picture.format.startswith("bgr") else [0, 1, 2][: pixels.shape[2]]
        picture = pixels[..., order].squeeze(2) if len(order) == 1 else pixels[..., order]
    array = np.asarray(picture) if isinstance(picture, np.ndarray) else None
    if array is None or array.dtype != np.uint8 or array.shape[2:] not in ((), (3,)):
        got = type(picture).__name__ if array is None else f"{array.dtype} {list(array.shape)}"
        raise ArgumentError(
            f"a picture to draw on is {got}, expected a PIL image or uint8 [height, width, 3]",
            fix="give the picture that the model was given",
        )
    copy: PIL.Image.Image = pil.fromarray(np.ascontiguousarray(array)).convert("RGB")
    return copy


def _draw_mask(image: PIL.Image.Image, mask: Mask, opacity: float) -> PIL.Image.Image:
    height, width = mask.classes.shape
    if image.size != (width, height):
        raise ShapeError(
            f"a mask of {width}x{height} for a picture of {image.size[0]}x{image.size[1]}",
            fix="draw on the picture that the model was given",
        )
    pixels = np.asarray(image, np.float32)
    colours = np.array(_COLOURS, np.float32)[mask.classes % len(_COLOURS)]
    shown = (mask.classes != 0) & (mask.classes != mask.unseen)
    mixed = np.where(shown[..., None], pixels + (colours - pixels) * np.float32(opacity), pixels)
    made: PIL.Image.Image = _pillow("Image").fromarray(np.rint(mixed).astype(np.uint8))
    return made


def _draw_box(canvas: Any, found: Detection, line: int, size: tuple[int, int]) -> None:
    colour = colour_of(found.index)
    x0, y0, x1, y1 = found.box
    # The box covers the centres of these pixels.
    left, top = min(round(x0), size[0] - 1), min(round(y0), size[1] - 1)
    right, bottom = max(left, round(x1) - 1), max(top, round(y1) - 1)
    canvas.rectangle((left, top, right, bottom), outline=colour, width=line)
    # Small dots leave a small face visible.
    radius = min(2 * line, max(1, (right - left) // 24))
    for x, y in () if found.points is None else found.points:
        _dot(canvas, float(x), float(y), radius, colour)
    text = f"{found.label} {found.score:.2f}"
    height = canvas.textbbox((0, 0), text)[3]
    _write(canvas, (left, top - height if top >= height else top), text, colour)


def _dot(canvas: Any, x: float, y: float, radius: int, colour: tuple[int, int, int]) -> None:
    canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


def _write(canvas: Any, at: tuple[int, int], text: str, colour: tuple[int, int, int]) -> None:
    """Draw text on a background of `colour`, in black or white, whichever is easier to read."""
    if not text:
        return
    # Pillow's built-in font has Latin letters only, and draws a box in place of others.
    ground = canvas.textbbox(at, text)
    canvas.rectangle(ground, fill=colour)
    bright = 299 * colour[0] + 587 * colour[1] + 114 * colour[2] > 128000
    canvas.text(at, text, fill=(0, 0, 0) if bright else (255, 255, 255))
