# SPDX-License-Identifier: Apache-2.0
"""The text of an audio record: the words of each kind, and their numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from fractions import Fraction
from typing import Any, Final

import numpy as np

from samara.pybridge.errors import ArgumentError
from samara.pybridge.files import kind_of
from samara.pybridge.names import is_one_of, meant

KINDS: Final = ("samples", "spectrum", "mel", "logmel", "mfcc")
# Integer types and their range; None for float types.
DTYPES: Final[dict[str, tuple[int, int] | None]] = {
    "float32": None,
    "float16": None,
    "uint8": (0, 255),
    "int8": (-128, 127),
}
SHAPES: Final = ("hann", "hamming", "povey", "sine", "none")
EXAMPLE: Final = "logmel float32 ntf rate=16000 window=400 hop=160 bins=40"

# Words with a choice of values, and words without a value.
CHOICES: Final[dict[str, Collection[str]]] = {
    "mel": ("htk", "slaney"),
    "norm": ("none", "slaney"),
    "triangles": ("hz", "mel"),
    "log": ("ln", "log10", "db"),
    "dct": ("ortho", "plain"),
}
ALONE: Final[dict[str, dict[str, Any]]] = {
    "center": {"center": True},
    "dc": {"dc": True},
    "power": {"spectrum": "power"},
    "magnitude": {"spectrum": "magnitude"},
    "complex": {"spectrum": "complex"},
}
# Words with one whole number, and its range.
WHOLE: Final[dict[str, tuple[int, int]]] = {
    "rate": (1000, 192000),
    "hop": (1, 65536),
    "fft": (16, 8192),
    "lead": (0, 16383),
    "unit": (1, 32768),
    "bins": (1, 256),
    "first": (0, 4096),
    "coefficients": (1, 256),
    "lifter": (0, 100),
    "frames": (1, 4096),
    "step": (1, 4096),
}
NUMBERS: Final = ("preemphasis", "floor", "offset")
MAX_WINDOW: Final = 16384
# The words that a kind allows in addition to those of the kinds before it.
SAID: Final[dict[str, tuple[str, ...]]] = {
    "samples": (
        "rate",
        "window",
        "hop",
        "lead",
        "unit",
        "frames",
        "step",
        "mean",
        "scale",
        "quant",
    ),
    "spectrum": ("fft", "center", "dc", "preemphasis", "power", "magnitude", "complex"),
    "mel": ("bins", "range", "first", "mel", "norm", "triangles"),
    "logmel": ("log", "floor", "offset"),
    "mfcc": ("coefficients", "dct", "lifter"),
}
EXAMPLES: Final = {
    "window": "window=400 or window=400,hamming or window=400,hann,symmetric",
    "range": "range=20,8000 in hertz",
    "mean": "mean=-4.5 or one value per feature",
    "scale": "scale=0.25 or one value per feature",
    "std": "std=4 or one value per feature",
    "quant": "quant=0.0078125,0",
}
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LEAST: Final = 2.0**-126  # some instructions treat smaller float32 numbers as zero


# ---- reading ----


def has_word(kind: str, word: str) -> bool:
    """Whether records of a kind may have a word."""
    return any(word in SAID[k] for k in KINDS[: KINDS.index(kind) + 1])


def fields_of(word: str) -> tuple[str, ...]:
    return ("low", "high") if word == "range" else (word,)


def not_of(kind: str, word: str) -> None:
    raise ArgumentError(
        f"{word} does not belong to {kind}",
        fix=f"leave it out, or take one of {', '.join(KINDS)}, for example {EXAMPLE!r}",
    )


def read_record(text: str) -> dict[str, Any]:
    if not isinstance(text, str):
        raise ArgumentError(
            f"the record is {kind_of(text)}, not a text", fix=f"give a text as {EXAMPLE!r}"
        )
    words = text.split()
    if len(words) < 3:
        raise ArgumentError(
            f"the record {text!r} has {len(words)} words, expected kind, type and layout at least",
            fix=f"write it as {EXAMPLE!r}",
        )
    found: dict[str, Any] = dict(zip(("kind", "dtype", "layout"), words[:3], strict=True))
    one_of("kind", found["kind"], KINDS)
    said: dict[str, str] = {}
    for word in words[3:]:
        name = word.partition("=")[0]
        known = [w for k in KINDS[: KINDS.index(found["kind"]) + 1] for w in SAID[k]] + ["std"]
        if name not in known:
            anywhere = any(name in words for words in SAID.values())
            if anywhere:
                not_of(found["kind"], name)
            raise ArgumentError(
                f"the record has no word {word!r}",
                fix=meant(name, known, "after the layout stand"),
            )
        group = {"std": "scale", "magnitude": "power", "complex": "power"}.get(name, name)
        if group in said:
            raise ArgumentError(
                f"{word!r} stands after {said[group]!r}; only one of them counts",
                fix="leave out one of them",
            )
        said[group] = word
        found.update(_read_word(word))
    for name in ("rate", "window"):
        if name not in found:
            raise ArgumentError(
                f"the record {text!r} does not say {name}", fix=f"write it as {EXAMPLE!r}"
            )
    return found


def _read_word(word: str) -> dict[str, Any]:
    name, equals, value = word.partition("=")
    if name in ALONE:
        if equals:
            raise ArgumentError(f"{word!r} has a value", fix=f"write {name} alone")
        return ALONE[name]
    if name in CHOICES:
        one_of(name, value, CHOICES[name])
        return {name: value}
    if name in WHOLE:
        least, most = WHOLE[name]
        if not re.fullmatch("[0-9]{1,9}", value):
            raise ArgumentError(
                f"{word!r} is not a whole number", fix=f"give {name}= a number of {least}..{most}"
            )
        return {name: int(value)}
    if name == "window":
        return _read_window(word, value.split(","))
    numbers = [_exact(word, v) for v in value.split(",")]
    if name in NUMBERS and len(numbers) == 1:
        return {name: held(numbers[0])}
    if name == "range" and len(numbers) == 2:
        return {"low": held(numbers[0]), "high": held(numbers[1])}
    if name == "quant" and len(numbers) == 2 and numbers[1].denominator == 1:
        return {"quant": (held(numbers[0]), int(numbers[1]))}
    if name == "std" and all(v > 0 for v in numbers):
        return {"scale": tuple(held(1 / v) for v in numbers)}
    if name in ("mean", "scale"):
        return {name: tuple(map(held, numbers))}
    raise ArgumentError(
        f"{word!r} is not understood", fix=f"write it as {EXAMPLES.get(name, name + '=0.97')}"
    )


def _read_window(word: str, parts: list[str]) -> dict[str, Any]:
    if not re.fullmatch("[0-9]{1,9}", parts[0]):
        raise ArgumentError(f"{word!r} is not a number of samples", fix=EXAMPLES["window"])
    found: dict[str, Any] = {"window": int(parts[0])}
    for part in parts[1:]:
        name = "symmetric" if part == "symmetric" else "shape"
        if name in found or part not in (*SHAPES, "symmetric"):
            raise ArgumentError(
                f"{word!r} has {part!r}, expected a shape ({', '.join(SHAPES)}) or symmetric",
                fix=f"write it as {EXAMPLES['window']}",
            )
        found[name] = part == "symmetric" or part
    return found


# ---- values ----


def one_of(name: str, value: object, known: Collection[str]) -> None:
    if not is_one_of(value, known):
        raise ArgumentError(
            f"{name} is {value!r}, expected one of {', '.join(known)}",
            fix=meant(value, known, f"a record begins as {EXAMPLE!r}; there are"),
        )


def whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ArgumentError(
            f"{name} is {value!r}, expected a whole number of {least}..{most}",
            fix=f"give {name}={least}" if least == most else f"give {name} in {least}..{most}",
        )


def _exact(word: str, value: str) -> Fraction:
    if len(value) > 64 or not _NUMBER.fullmatch(value):
        raise ArgumentError(
            f"{word!r}: {value!r} is not a decimal number",
            fix=f"write it as {EXAMPLES.get(word.partition('=')[0], 'NAME=0.5')}, without spaces",
        )
    return Fraction(value)


def held(value: Fraction) -> float:
    return single("a number", float(value) if abs(value) < 2**128 else math.inf)


def single(name: str, value: Any) -> float:
    """The nearest float32, which must be 0 or a normal finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)):
        raise ArgumentError(f"{name} is {kind_of(value)}, not a number", fix="give a number")
    with np.errstate(over="ignore", under="ignore"):
        single = float(np.float32(value))
    if not math.isfinite(single) or (value != 0 and abs(single) < _LEAST):
        raise ArgumentError(
            f"{name} is {value!r}, which is outside the normal range of float32",
            fix="give 0, or a number of 1.2e-38..3.4e38",
        )
    return single


def shortest(value: float) -> str:
    """The shortest decimal number that reads back as the same float32."""
    return (
        np.format_float_positional(np.float32(value), unique=True, trim="-")
        if (1e-4 <= abs(value) < 1e7 or value == 0)
        else np.format_float_scientific(np.float32(value), unique=True, trim="-")
    )
