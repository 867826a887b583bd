# SPDX-License-Identifier: Apache-2.0
"""The record that describes how a picture becomes an input of a model: fields, text, sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from samara.pybridge.errors import ArgumentError, ShapeError
from samara.pybridge.files import kind_of
from samara.pybridge.image_text import (
    CHANNELS,
    DTYPES,
    FILTERS,
    LAYOUTS,
    MATRICES,
    MAX_SIDE,
    RANGES,
    UnreadableError,
    held,
    one_of,
    read_record,
    shortest,
)


class Geometry(NamedTuple):
    """Where the pixels of a tensor come from: step 3 of docs/guides/preprocessing.md.

    resized: (width, height) of the whole resized picture. start: the first (column, row) of it that the
    tensor holds. kept: how many (columns, rows) the tensor holds from there. at: the (column, row) of
    the tensor at which they begin. size: (width, height) of the tensor; the rest is filled.
    """

    resized: tuple[int, int]
    start: tuple[int, int]
    kept: tuple[int, int]
    at: tuple[int, int]
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """How a picture becomes the tensor of an input (docs/guides/preprocessing.md).

    colour: "rgb", "bgr" or "gray", the channels of the tensor in their order. dtype: "float32",
    "float16", "uint8" or "int8". layout: "nchw", "nhwc", "chw", "hwc", and of gray also "nhw", "hw".
    resize: None, the pixels of the shorter side, or (width, height). filter: "bilinear", "nearest" or
    "area". antialias: whether `bilinear` widens its triangle where the picture shrinks. crop,
    letterbox: None or (width, height) in pixels. fill: what lies around a letterboxed picture, one
    value of 0..255 or one per channel. mean, scale: one value or one per channel, or none: y =
    (x - mean) * scale for x in 0..255; each is held as the nearest float32. quant: None or
    (scale, zero point) of an integer tensor. matrix, range: "bt601" or "bt709", "limited" or "full" of
    YUV pictures that do not say theirs; None if the record does not say either.

    ArgumentError for a value that is none of these, or for values that contradict each other.

    >>> record = ImageRecord.parse("rgb float32 nchw resize=256 crop=224 mean=127.5 std=127.5")
    >>> record.shape(640, 480)
    (1, 3, 224, 224)
    >>> str(record)
    'rgb float32 nchw resize=256 crop=224x224 mean=127.5 scale=0.007843138'
    """

    colour: str
    dtype: str
    layout: str
    resize: int | tuple[int, int] | None = None
    filter: str = "bilinear"
    antialias: bool = False
    crop: tuple[int, int] | None = None
    letterbox: tuple[int, int] | None = None
    fill: tuple[int, ...] = ()
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    quant: tuple[float, int] | None = None
    matrix: str | None = None
    range: str | None = None

    def __post_init__(self) -> None:
        one_of("colour", self.colour, CHANNELS)
        one_of("dtype", self.dtype, DTYPES)
        one_of("layout", self.layout, LAYOUTS)
        one_of("filter", self.filter, FILTERS)
        if self.matrix is not None:
            one_of("matrix", self.matrix, MATRICES)
        if self.range is not None:
            one_of("range", self.range, RANGES)
        if not isinstance(self.antialias, bool):
            raise ArgumentError(f"antialias is {kind_of(self.antialias)}", fix="give True or False")
        for name, value in (
            ("resize", _resize(self.resize)),
            ("crop", _pair("crop", self.crop)),
            ("letterbox", _pair("letterbox", self.letterbox)),
            ("fill", self._fill()),
            ("mean", self._numbers("mean", self.mean)),
            ("scale", self._numbers("scale", self.scale)),
            ("quant", self._quant(self.quant)),
        ):
            object.__setattr__(self, name, value)
        self._agree()

    # ---- text ----

    @classmethod
    def parse(cls, text: str) -> ImageRecord:
        """The record that `text` says, as docs/guides/preprocessing.md describes it.

        ArgumentError names the word that is wrong, what was expected there, and an example.

        >>> ImageRecord.parse("gray uint8 hw resize=28x28 filter=area").shape(100, 80)
        (28, 28)
        """
        return cls(**read_record(text))

    def __str__(self) -> str:
        """The canonical text; `parse` makes an equal record of it."""
        words = [self.colour, self.dtype, self.layout]
        if isinstance(self.resize, int):
            words.append(f"resize={self.resize}")
        elif self.resize is not None:
            words.append(f"resize={_wxh(self.resize)}")
        if self.filter != "bilinear":
            words.append(f"filter={self.filter}")
        if self.antialias:
            words.append("antialias")
        if self.crop is not None:
            words.append(f"crop={_wxh(self.crop)}")
        if self.letterbox is not None:
            fill = "" if self.fill == (0,) else ":" + ",".join(map(str, self.fill))
            words.append(f"letterbox={_wxh(self.letterbox)}{fill}")
        for name, values in (("mean", self.mean), ("scale", self.scale)):
            if values:
                words.append(f"{name}={','.join(map(shortest, values))}")
        if self.quant is not None:
            words.append(f"quant={shortest(self.quant[0])},{self.quant[1]}")
        words += [f"matrix={self.matrix}"] if self.matrix is not None else []
        words += [f"range={self.range}"] if self.range is not None else []
        return " ".join(words)

    # ---- quantization ----

    @property
    def needs_quant(self) -> bool:
        """Whether elements need a scale and a zero point that the record lacks: those of int8, and those
        of uint8 with a mean or a scale.
        """
        return (
            self.quant is None
            and DTYPES[self.dtype] is not None
            and (self.dtype == "int8" or bool(self.mean) or bool(self.scale))
        )

    def quantized(self, scale: float | None = None, zero: int = 0) -> ImageRecord:
        """The record with `quant` taken from the quantization of the model's input, if it needs one.

        scale: real units per step; None if the input has none. zero: the integer that means 0.
        ArgumentError if the record needs a scale and there is none, or if it does not fit the tensor.

        >>> str(ImageRecord.parse("rgb int8 nhwc mean=128").quantized(0.5, -3))
        'rgb int8 nhwc mean=128 quant=0.5,-3'
        """
        if self.needs_quant and scale is not None:
            return replace(self, quant=(scale, zero))
        self.check()
        return self

    def check(self) -> None:
        """ArgumentError if elements need a scale and a zero point and the record has none."""
        if self.needs_quant:
            why = "whatever they hold" if self.dtype == "int8" else "after a mean or a scale"
            raise ArgumentError(
                f"the record '{self}' makes {self.dtype} elements, which need a scale and a zero point"
                f" {why}; neither the record nor the input says them",
                fix="give quant=SCALE,ZERO, for example quant=0.0078125,0, or quantize the input",
            )

    # ---- sizes ----

    @property
    def channels(self) -> int:
        """Channels of the tensor: 3 or 1."""
        return CHANNELS[self.colour]

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest real value that an element can have.

        >>> ImageRecord.parse("rgb float32 nchw mean=127.5 std=127.5").limits
        (-1.0, 1.0)
        """
        scales, means = self.scale or (1.0,), self.mean or (0.0,)
        channels = max(len(scales), len(means))
        ends = [
            float(
                np.float32(np.float32(x) - np.float32(means[c % len(means)]))
                * np.float32(scales[c % len(scales)])
            )
            for x in (0, 255)
            for c in range(channels)
        ]
        return min(ends), max(ends)

    def geometry(self, width: int, height: int) -> Geometry:
        """The sizes of docs/guides/preprocessing.md, step 3, for an oriented picture of width by height pixels.

        ShapeError if the crop is larger than the resized picture or a side is not in 1..16384.

        >>> ImageRecord.parse("rgb uint8 nhwc letterbox=320x320").geometry(640, 360)[:4]
        ((320, 180), (0, 0), (320, 180), (0, 70))
        """
        _check_side("width", width, "of the picture")
        _check_side("height", height, "of the picture")
        resized = self._resized(width, height)
        for name, side in zip(("width", "height"), resized, strict=True):
            _check_side(name, side, f"of the {width}x{height} picture after resize={self.resize}")
        if self.crop is not None:
            if self.crop[0] > resized[0] or self.crop[1] > resized[1]:
                raise ShapeError(
                    f"crop={_wxh(self.crop)} is larger than the resized picture, {_wxh(resized)}, of a"
                    f" picture of {width}x{height}",
                    fix="resize to at least the crop, crop less, or use letterbox",
                )
            start = (_half(resized[0] - self.crop[0]), _half(resized[1] - self.crop[1]))
            return Geometry(resized, start, self.crop, (0, 0), self.crop)
        if self.letterbox is not None:
            at = ((self.letterbox[0] - resized[0]) // 2, (self.letterbox[1] - resized[1]) // 2)
            return Geometry(resized, (0, 0), resized, at, self.letterbox)
        return Geometry(resized, (0, 0), resized, (0, 0), resized)

    def shape(self, width: int, height: int) -> tuple[int, ...]:
        """The shape of the tensor of an oriented picture of width by height pixels; N is 1.

        ShapeError as for `geometry`.

        >>> ImageRecord.parse("gray float32 nchw resize=64").shape(100, 50)
        (1, 1, 64, 128)
        """
        columns, rows = self.geometry(width, height).size
        sides = {"n": 1, "c": self.channels, "h": rows, "w": columns}
        return tuple(sides[axis] for axis in self.layout)

    def _resized(self, width: int, height: int) -> tuple[int, int]:
        if self.letterbox is not None:
            w, h = self.letterbox
            if width * h >= height * w:
                return w, max(1, _rne(height * w, width))
            return max(1, _rne(width * h, height)), h
        if self.resize is None:
            return width, height
        if isinstance(self.resize, tuple):
            return self.resize
        longer = max(1, self.resize * max(width, height) // min(width, height))
        return (self.resize, longer) if width <= height else (longer, self.resize)

    # ---- checks ----

    def _fill(self) -> tuple[int, ...]:
        given = self.fill
        if self.letterbox is None:
            if given:
                raise ArgumentError(
                    "fill is given without letterbox", fix="give letterbox=WxH:FILL"
                )
            return ()
        values = tuple(_whole("fill", v) for v in _sequence("fill", given)) or (0,)
        self._count("fill", values, "letterbox=320x320:114")
        for value in values:
            if not 0 <= value <= 255:
                raise ArgumentError(
                    f"the fill {value} of the letterbox is outside 0..255",
                    fix="give values of 0..255, for example letterbox=320x320:114",
                )
        return values

    def _numbers(self, name: str, given: Sequence[float]) -> tuple[float, ...]:
        values = tuple(_single(name, v) for v in _sequence(name, given))
        if values:
            self._count(name, values, f"{name}=127.5")
        if name == "scale" and 0.0 in values:
            raise ArgumentError("a scale is 0, which makes all elements 0", fix="give scale=1/std")
        return values

    def _count(self, name: str, values: Sequence[object], example: str) -> None:
        if len(values) not in (1, self.channels):
            wanted = "1" if self.channels == 1 else f"1, or one per channel, {self.channels}"
            raise ArgumentError(
                f"{name} has {len(values)} values for {self.colour}, expected {wanted}",
                fix=f"for example {example}",
            )

    def _quant(self, given: object) -> tuple[float, int] | None:
        if given is None:
            return None
        ends = DTYPES[self.dtype]
        if ends is None:
            raise ArgumentError(
                f"quant is given for {self.dtype} elements, which are not quantized",
                fix="leave it out, or make the type uint8 or int8",
            )
        pair = _sequence("quant", given)
        if len(pair) != 2:
            raise ArgumentError(
                f"quant has {len(pair)} values, expected a scale and a zero point",
                fix="for example quant=0.0078125,128",
            )
        scale, zero = _single("the scale of quant", pair[0]), _whole("the zero point", pair[1])
        if scale <= 0:
            raise ArgumentError(
                f"the scale of quant is {scale:g}, expected more than 0",
                fix="for example quant=0.0078125,128",
            )
        if not ends[0] <= zero <= ends[1]:
            raise ArgumentError(
                f"the zero point {zero} of quant is outside {self.dtype}, {ends[0]}..{ends[1]}",
                fix="give a zero point of the type",
            )
        return scale, zero

    def _agree(self) -> None:
        """Refuse fields that contradict each other."""
        if self.letterbox is not None:
            for name, other in (("resize", self.resize), ("crop", self.crop)):
                if other is not None:
                    raise ArgumentError(
                        f"letterbox and {name} are given together; letterbox sets the size alone",
                        fix=f"leave out {name}, or letterbox",
                    )
        if self.antialias and self.filter != "bilinear":
            raise ArgumentError(
                f"antialias is given with filter={self.filter}, but applies to bilinear only",
                fix="leave out antialias, or the filter",
            )
        if "c" not in self.layout and self.colour != "gray":
            raise ArgumentError(
                f"the layout {self.layout} has no channel axis for {self.colour}",
                fix="take nchw, nhwc, chw or hwc, or the colour gray",
            )
        if self.crop is not None and self.resize is not None:
            wide, high = self.crop
            if isinstance(self.resize, tuple):
                outside = wide > self.resize[0] or high > self.resize[1]
            else:
                outside = (
                    wide > self.resize and high > self.resize
                )  # the shorter side has exactly this length
            if outside:
                size = self.resize if isinstance(self.resize, int) else _wxh(self.resize)
                raise ArgumentError(
                    f"crop={_wxh(self.crop)} is larger than resize={size}",
                    fix="resize to at least the crop, for example resize=256 crop=224",
                )


# ---- fields ----


def _single(name: str, value: object) -> float:
    """A number as the nearest float32. ArgumentError for another value, or one that is not finite."""
    number = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(
        value, bool
    )
    if not number or not math.isfinite(value):  # type: ignore[arg-type]
        raise ArgumentError(
            f"{name} is {value!r}, expected a finite number", fix="give numbers, as 127.5"
        )
    try:
        return held(Fraction(value if isinstance(value, int) else float(value)))  # type: ignore[arg-type]
    except UnreadableError as error:
        raise ArgumentError(f"{name} is {value!r}: {error}", fix="give numbers, as 127.5") from None


def _whole(name: str, value: object) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise ArgumentError(f"{name} is {value!r}, expected a whole number", fix="give an int")


def _rne(a: int, b: int) -> int:
    """a / b, both positive, to the nearest integer, half to even."""
    whole, rest = divmod(a, b)
    return whole + (2 * rest > b or (2 * rest == b and whole % 2 == 1))


def _half(a: int) -> int:
    return _rne(a, 2)


def _sequence(name: str, value: object) -> tuple[Any, ...]:
    if isinstance(value, (tuple, list, np.ndarray)):
        return tuple(value)
    raise ArgumentError(f"{name} is {kind_of(value)}, not a tuple", fix=f"give {name}=(…,)")


def _resize(value: object) -> int | tuple[int, int] | None:
    if value is None or isinstance(value, (tuple, list)):
        return _pair("resize", value)
    side = _whole("resize", value)
    _check_field("resize", side)
    return side


def _pair(name: str, value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    sides = _sequence(name, value)
    if len(sides) != 2:
        raise ArgumentError(
            f"{name} is {value!r}, expected (width, height)", fix=f"give {name}=(224, 224)"
        )
    width, height = (_whole(name, side) for side in sides)
    _check_field(name, width)
    _check_field(name, height)
    return width, height


def _check_field(name: str, side: int) -> None:
    if not 1 <= side <= MAX_SIDE:
        raise ArgumentError(
            f"{name} has a side of {side} pixels, expected 1..{MAX_SIDE}", fix=f"change {name}"
        )


def _check_side(name: str, side: int, of: str) -> None:
    if not 1 <= side <= MAX_SIDE:
        raise ShapeError(
            f"the {name} {of} is {side} pixels, expected 1..{MAX_SIDE}",
            fix="scale the picture down first, or give both sides with resize=WxH",
        )


def _wxh(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
