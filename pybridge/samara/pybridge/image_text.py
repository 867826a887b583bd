# SPDX-License-Identifier: Apache-2.0
"""The text of an image record: its words, and its numbers exactly rounded to float32."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from samara.pybridge.errors import ArgumentError
from samara.pybridge.files import kind_of
from samara.pybridge.names import is_one_of, meant

MAX_SIDE: Final = 16384  # pixels; twice the product of two sides fits the 32 bits of the weights
# Colours, layouts, filters, matrices and ranges are listed in the order of their codes in
# samara_media.h and in files, which begin at 1.
CHANNELS: Final = {"rgb": 3, "bgr": 3, "gray": 1}
# Integer types and their range; None for float types.
DTYPES: Final[dict[str, tuple[int, int] | None]] = {
    "float32": None,
    "float16": None,
    "uint8": (0, 255),
    "int8": (-128, 127),
}
LAYOUTS: Final = ("nchw", "nhwc", "chw", "hwc", "nhw", "hw")
FILTERS: Final = ("bilinear", "nearest", "area")
MATRICES: Final = ("bt601", "bt709")
RANGES: Final = ("limited", "full")

EXAMPLE = "rgb uint8 nhwc resize=256 crop=224"
_LEAST = 2.0**-126  # some instructions treat smaller float32 numbers as zero
_SIZE = re.compile(r"[0-9]{1,9}(x[0-9]{1,9})?")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_MOST_DIGITS = 64


# ---- words ----


def read_record(text: str) -> dict[str, Any]:
    """The fields of the record in `text`. ArgumentError names the word that is wrong."""
    if not isinstance(text, str):
        raise ArgumentError(
            f"the record is {kind_of(text)}, not a text", fix=f"give a text as {EXAMPLE!r}"
        )
    words = text.split()
    if words and words[0].endswith(":"):
        raise ArgumentError(
            f"the record begins with {words[0]!r}, expected a colour",
            fix=f"leave out the input's name here: {EXAMPLE!r}",
        )
    if len(words) < 3:
        raise ArgumentError(
            f"the record {text!r} has {len(words)} words, expected colour, type and layout at"
            " least",
            fix=f"write it as {EXAMPLE!r}",
        )
    found: dict[str, Any] = {}
    heads: tuple[tuple[str, Collection[str]], ...] = (
        *(("colour", CHANNELS), ("dtype", DTYPES), ("layout", LAYOUTS)),
    )
    for word, (name, known) in zip(words[:3], heads, strict=True):
        one_of(name, word, known)
        found[name] = word
    said: dict[str, str] = {}
    for word in words[3:]:
        _read(word, found, said)
    return found


def one_of(name: str, value: object, known: Collection[str]) -> None:
    """ArgumentError if `value` is not in `known`; `name` is the field."""
    if not is_one_of(value, known):
        raise ArgumentError(
            f"{name} is {value!r}",
            fix=meant(value, known, f"a record begins as {EXAMPLE!r}; there are"),
        )


def _read(word: str, found: dict[str, Any], said: dict[str, str]) -> None:
    """Add the fields of `word` to `found`; `said` holds the earlier words."""
    name, equals, value = word.partition("=")
    if name not in _WORDS:
        raise ArgumentError(
            f"the record has no word {word!r}", fix=meant(name, _WORDS, "after the layout stand")
        )
    for other in (name, {"std": "scale", "scale": "std"}.get(name)):
        if other in said:
            raise ArgumentError(
                f"{word!r} stands after {said[other]!r}; only one of them counts",
                fix="leave out one of them",
            )
    said[name] = word
    expected, read = _WORDS[name]
    if bool(equals) != (name != "antialias"):
        raise ArgumentError(f"{word!r} is not understood", fix=f"write it as {expected}")
    try:
        found.update(read(value))
    except UnreadableError as error:
        raise ArgumentError(f"{word!r}: {error}", fix=f"write it as {expected}") from None


class UnreadableError(Exception):
    """A value that its word cannot have; the message says why."""


def _resize_word(value: str) -> dict[str, Any]:
    sides = _sides(value)
    return {"resize": sides[0] if len(sides) == 1 else sides}


def _crop_word(value: str) -> dict[str, Any]:
    sides = _sides(value)
    return {"crop": sides * 2 if len(sides) == 1 else sides}


def _letterbox_word(value: str) -> dict[str, Any]:
    size, colon, fill = value.partition(":")
    sides = _sides(size)
    if len(sides) == 1:
        raise UnreadableError("expected a width and a height")
    if not colon:
        return {"letterbox": sides}
    values = fill.split(",")
    for each in values:
        if not re.fullmatch("[0-9]{1,3}", each) or int(each) > 255:
            raise UnreadableError(f"the fill {each!r} is not a whole number of 0..255")
    return {"letterbox": sides, "fill": tuple(map(int, values))}


def _std_word(value: str) -> dict[str, Any]:
    values = _exact_numbers(value)
    if any(v <= 0 for v in values):
        raise UnreadableError("a standard deviation is more than 0")
    return {"scale": tuple(held(1 / v) for v in values)}


def _mean_word(value: str) -> dict[str, Any]:
    return {"mean": tuple(map(held, _exact_numbers(value)))}


def _scale_word(value: str) -> dict[str, Any]:
    values = _exact_numbers(value)
    if 0 in values:
        raise UnreadableError("a scale of 0 makes all elements 0")
    return {"scale": tuple(map(held, values))}


def _quant_word(value: str) -> dict[str, Any]:
    scale, comma, zero = value.partition(",")
    if not comma or not re.fullmatch("[+-]?[0-9]{1,3}", zero):
        raise UnreadableError("expected a scale and a whole zero point")
    (exact,) = _exact_numbers(scale)
    if exact <= 0:
        raise UnreadableError("the scale must be more than 0")
    return {"quant": (held(exact), int(zero))}


def _choice(name: str, known: Sequence[str]) -> Callable[[str], dict[str, Any]]:
    def read(value: str) -> dict[str, Any]:
        if value not in known:
            raise UnreadableError(meant(value, known))
        return {name: value}

    return read


# Word -> how it is written, and the function that reads its value.
_WORDS: Final[dict[str, tuple[str, Callable[[str], dict[str, Any]]]]] = {
    "resize": ("resize=256 (the shorter side) or resize=640x480", _resize_word),
    "filter": ("filter=bilinear, filter=nearest or filter=area", _choice("filter", FILTERS)),
    "antialias": ("antialias, without a value", lambda _: {"antialias": True}),
    "crop": ("crop=224 or crop=224x192", _crop_word),
    "letterbox": ("letterbox=320x320 or letterbox=320x320:114", _letterbox_word),
    "mean": ("mean=127.5 or mean=123.675,116.28,103.53, without spaces", _mean_word),
    "scale": ("scale=0.0078125 or scale=0.017,0.018,0.017, without spaces", _scale_word),
    "std": ("std=255 or std=58.395,57.12,57.375, without spaces", _std_word),
    "quant": ("quant=0.0078125,128", _quant_word),
    "matrix": ("matrix=bt601 or matrix=bt709", _choice("matrix", MATRICES)),
    "range": ("range=limited or range=full", _choice("range", RANGES)),
}


def _sides(value: str) -> tuple[int, ...]:
    if not _SIZE.fullmatch(value):
        raise UnreadableError("expected a size in pixels")
    sides = tuple(map(int, value.split("x")))
    if not all(1 <= side <= MAX_SIDE for side in sides):
        raise UnreadableError(f"a side is outside 1..{MAX_SIDE} pixels")
    return sides


def _exact_numbers(value: str) -> tuple[Fraction, ...]:
    words = value.split(",")
    for word in words:
        if len(word) > _MOST_DIGITS or not _NUMBER.fullmatch(word):
            raise UnreadableError(f"{word!r} is not a decimal number")
    return tuple(map(Fraction, words))


# ---- numbers ----


def held(value: Fraction) -> float:
    """The float32 nearest to `value`, half to even, as a float. UnreadableError outside the normal
    range.
    """
    try:
        double = float(value)
    except OverflowError:
        double = math.inf
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(double)
        below, above = (np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf))
    if not np.isfinite(near):
        raise UnreadableError("the number is too large for float32")
    # Rounding twice may end on the wrong side of the middle of two float32: compare with the exact value.
    around = (below, near, above)
    finite = [c for c in around if np.isfinite(c)]
    best = min(finite, key=lambda c: (abs(Fraction(float(c)) - value), int(c.view(np.uint32)) & 1))
    if value != 0 and abs(float(best)) < _LEAST:
        raise UnreadableError("the number is too small for float32")
    return float(best)


def shortest(value: float) -> str:
    """The shortest decimal number that reads back as this float32."""
    if value.is_integer() and abs(value) < 1e9:
        return str(int(value))
    return str(np.float32(value))
