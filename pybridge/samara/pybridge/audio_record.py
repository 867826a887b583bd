# SPDX-License-Identifier: Apache-2.0
"""The record that describes how sound becomes an input of a model: fields, sizes, text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from samara.pybridge.audio_text import (
    ALONE,
    CHOICES,
    DTYPES,
    EXAMPLE,
    EXAMPLES,
    KINDS,
    MAX_WINDOW,
    NUMBERS,
    SAID,
    SHAPES,
    WHOLE,
    fields_of,
    has_word,
    not_of,
    one_of,
    read_record,
    shortest,
    single,
    whole,
)
from samara.pybridge.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class AudioRecord:
    """How sound becomes the tensor of an input (docs/guides/preprocessing-audio.md).

    kind: "samples", "spectrum", "mel", "logmel" or "mfcc". dtype: "float32", "float16", "uint8"
    or "int8". layout: letters of n (1), t (frames), f (features) and c (2 of a complex spectrum,
    else 1). rate: samples per second that the features are made at. window, hop, fft, lead:
    samples. shape: "hann", "hamming", "povey", "sine" or "none". symmetric: whether the window's
    last value equals its first. center: frame t has its middle at sample t * hop. dc: whether a
    frame's mean is removed. unit: the value of a full-scale sample, 1 or 32768. spectrum: "power",
    "magnitude" or "complex". bins, low, high, first, mel, norm, triangles: mel bands; low and high
    in hertz. log, floor, offset: the logarithm of max(x + offset, floor). coefficients, dct,
    lifter: the cosine transform. frames, step: frames of a tensor, and new ones in the next. mean,
    scale: one value or one per feature, or none: y = (x - mean) * scale. quant: None or (scale,
    zero point). Numbers are held as the nearest float32.

    ArgumentError for a value that is none of these, or for values that contradict each other.

    >>> text = "logmel float32 ntf rate=16000 window=400 hop=160 bins=40 frames=98"
    >>> record = AudioRecord.parse(text)
    >>> record.fft, record.features, record.tensor_shape
    (512, 40, (1, 98, 40))
    >>> str(record)
    'logmel float32 ntf rate=16000 window=400 hop=160 fft=512 bins=40 frames=98'
    """

    kind: str
    dtype: str
    layout: str
    rate: int
    window: int
    shape: str = ""
    symmetric: bool = False
    hop: int = 0
    fft: int = 0
    lead: int = 0
    center: bool = False
    dc: bool = False
    preemphasis: float = 0.0
    unit: int = 1
    spectrum: str = "power"
    bins: int = 0
    low: float = 0.0
    high: float = 0.0
    first: int = 0
    mel: str = "htk"
    norm: str = "none"
    triangles: str = "hz"
    log: str = "ln"
    floor: float = 1e-10
    offset: float = 0.0
    coefficients: int = 0
    dct: str = "ortho"
    lifter: int = 0
    frames: int = 1
    step: int = 0
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    quant: tuple[float, int] | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        one_of("dtype", self.dtype, DTYPES)
        for name, value in self._completed().items():
            object.__setattr__(self, name, value)
        for name in ("low", "high", *NUMBERS):
            object.__setattr__(self, name, single(name, getattr(self, name)))
        for name in ("mean", "scale"):
            values = tuple(single(name, v) for v in getattr(self, name))
            object.__setattr__(self, name, values)
        self._check_sizes()
        self._check_words()
        self._check_layout()
        self._check_elements()

    def _completed(self) -> dict[str, Any]:
        """Fill in the fields that the caller left out."""
        made: dict[str, Any] = {}
        if not self.shape:
            made["shape"] = "none" if self.kind == "samples" else "hann"
        whole("window", self.window, 1, MAX_WINDOW)
        if not self.hop:
            made["hop"] = self.window
        if not self.fft and self.kind != "samples":
            made["fft"] = max(16, 1 << (self.window - 1).bit_length())
        if not self.high and has_word(self.kind, "bins"):
            made["high"] = self.rate / 2
        if not self.coefficients and self.kind == "mfcc":
            made["coefficients"] = min(13, self.bins)
        if not self.step:
            made["step"] = self.frames
        return made

    # ---- text ----

    @classmethod
    def parse(cls, text: str) -> AudioRecord:
        """The record that `text` says, as docs/guides/preprocessing-audio.md describes it.

        ArgumentError names the word that is wrong, what was expected there, and an example.

        >>> AudioRecord.parse("samples float32 nf rate=16000 window=512").tensor_shape
        (1, 512)
        """
        return cls(**read_record(text))

    def __str__(self) -> str:
        """The canonical text; `parse` makes an equal record of it."""
        words = [self.kind, self.dtype, self.layout, f"rate={self.rate}", self._window_word()]
        words.append(f"hop={self.hop}")
        if self.kind != "samples":
            words.append(f"fft={self.fft}")
        words += [word for word, says in ALONE.items() if self._says(says)]
        fields = {f.name: f.default for f in dataclasses.fields(self)}
        for name in (
            "bins",
            *CHOICES,
            "coefficients",
            "lead",
            "unit",
            "first",
            "lifter",
            *NUMBERS,
        ):
            value = getattr(self, name)
            default = single(name, fields[name]) if name in NUMBERS else fields[name]
            if value != default:
                words.append(f"{name}={shortest(value) if name in NUMBERS else value}")
        if self.bins and (self.low, self.high) != (0.0, self.rate / 2):
            words.append(f"range={shortest(self.low)},{shortest(self.high)}")
        words += [f"frames={self.frames}"] if self.frames != 1 else []
        words += [f"step={self.step}"] if self.step != self.frames else []
        for name, values in (("mean", self.mean), ("scale", self.scale)):
            words += [f"{name}={','.join(map(shortest, values))}"] if values else []
        if self.quant is not None:
            words.append(f"quant={shortest(self.quant[0])},{self.quant[1]}")
        return " ".join(words)

    def _says(self, fields: dict[str, Any]) -> bool:
        """Whether the record differs from its defaults by these fields."""
        return all(getattr(self, n) == v and v != "power" for n, v in fields.items())

    def _window_word(self) -> str:
        usual = self.shape == ("none" if self.kind == "samples" else "hann")
        shape = "" if usual and not self.symmetric else f",{self.shape}"
        return f"window={self.window}{shape}{',symmetric' if self.symmetric else ''}"

    # ---- quantization ----

    @property
    def needs_quant(self) -> bool:
        """Whether elements are integers and the record has no scale and zero point for them."""
        return self.quant is None and DTYPES[self.dtype] is not None

    def quantized(self, scale: float | None = None, zero: int = 0) -> AudioRecord:
        """The record with `quant` taken from the quantization of the model's input, if it needs one.

        scale: real units per step; None if the input has none. zero: the integer that means 0.
        ArgumentError if the record needs a scale and there is none.
        >>> AudioRecord.parse("samples int8 nf rate=16000 window=512").quantized(0.0078125, 0).quant
        (0.0078125, 0)
        """
        if self.needs_quant and scale is not None:
            return replace(self, quant=(scale, zero))
        if self.needs_quant:
            raise ArgumentError(
                f"the record '{self}' makes {self.dtype} elements, which need a scale and a zero"
                " point; neither the record nor the input says them",
                fix="give quant=SCALE,ZERO, for example quant=0.0078125,0, or quantize the input",
            )
        return self

    # ---- sizes ----

    @property
    def features(self) -> int:
        """The number of features of a frame: samples, bins of the spectrum, bands or coefficients."""
        return {
            "samples": self.window,
            "spectrum": self.fft // 2 + 1,
            "mel": self.bins,
            "logmel": self.bins,
            "mfcc": self.coefficients,
        }[self.kind]

    @property
    def parts(self) -> int:
        """Numbers per feature: 2 (real, imaginary) for a complex spectrum, else 1."""
        return 2 if self.spectrum == "complex" else 1

    @property
    def tensor_shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        sides = {"n": 1, "t": self.frames, "f": self.features, "c": self.parts}
        return tuple(sides[axis] for axis in self.layout)

    @property
    def seconds(self) -> float:
        """Seconds of sound that one tensor covers."""
        return (self.window + (self.frames - 1) * self.hop) / self.rate

    @property
    def step_seconds(self) -> float:
        """Seconds between the beginnings of two successive tensors."""
        return self.step * self.hop / self.rate

    # ---- checks ----

    def _check_sizes(self) -> None:
        one_of("the window's shape", self.shape, SHAPES)
        for name, known in CHOICES.items():
            one_of(name, getattr(self, name), known)
        for name, (least, most) in WHOLE.items():
            idle = name in ("fft", "bins", "coefficients") and not has_word(self.kind, name)
            whole(name, getattr(self, name), 0 if idle else least, 0 if idle else most)
        if self.unit not in (1, 32768):
            raise ArgumentError(
                f"unit is {self.unit}, expected 1 or 32768", fix="leave it out for 1"
            )
        if self.kind != "samples":
            self._check_fft()
        if has_word(self.kind, "bins"):
            self._check_bands()
        if self.lead >= self.window:
            raise ArgumentError(
                f"lead={self.lead} leaves only zeros in the first window of {self.window} samples",
                fix="give fewer than the window",
            )
        if self.step > self.frames:
            raise ArgumentError(
                f"step={self.step} is more than the {self.frames} frames of a tensor",
                fix="give at most frames",
            )

    def _check_fft(self) -> None:
        if self.fft & (self.fft - 1) or self.fft < self.window:
            raise ArgumentError(
                f"fft={self.fft} for a window of {self.window} samples, expected a power of two"
                " that is no less than the window",
                fix=f"give fft={max(16, 1 << (self.window - 1).bit_length())}, or leave it out",
            )
        if not 0 <= self.preemphasis <= 1:
            raise ArgumentError(
                f"preemphasis is {self.preemphasis:g}, expected 0..1", fix="for example 0.97"
            )
        if self.center and self.lead:
            raise ArgumentError(
                "center and lead are given together; center sets lead itself", fix="leave out lead"
            )

    def _check_bands(self) -> None:
        if not 0 <= self.low < self.high <= self.rate / 2:
            raise ArgumentError(
                f"range={self.low:g},{self.high:g} hertz, expected two frequencies that rise, of"
                f" 0..{self.rate / 2:g}, half the rate",
                fix="for example range=20,4000, or leave it out",
            )
        if self.coefficients > self.bins:
            raise ArgumentError(
                f"coefficients={self.coefficients} is more than the {self.bins} bins",
                fix="give at most as many as bins",
            )
        if not (self.floor > 0 and self.offset >= 0):
            raise ArgumentError(
                f"floor={self.floor:g} and offset={self.offset:g}, expected more than 0 and"
                " at least 0",
                fix="for example floor=1e-10",
            )

    def _check_words(self) -> None:
        """Refuse fields that do not apply to the kind."""
        fields = {f.name: f.default for f in dataclasses.fields(self)}
        for kind in KINDS[KINDS.index(self.kind) + 1 :]:
            for word in SAID[kind]:
                names = ALONE[word] if word in ALONE else fields_of(word)
                for name in names:
                    value, default = getattr(self, name, None), fields.get(name)
                    if isinstance(default, float):
                        default = single(name, default)
                    if name in fields and value != default:
                        not_of(self.kind, word)
        if self.kind == "samples" and (self.shape != "none" or self.symmetric):
            not_of("samples", "a shape of the window")
        if self.spectrum == "complex" and self.kind != "spectrum":
            not_of(self.kind, "complex")
        if self.spectrum not in ("power", "magnitude", "complex"):
            one_of("spectrum", self.spectrum, ("power", "magnitude", "complex"))

    def _check_layout(self) -> None:
        letters = self.layout
        if not letters or set(letters) - set("ntfc") or len(set(letters)) != len(letters):
            raise ArgumentError(
                f"layout is {self.layout!r}, expected letters of n, t, f and c, each at most once",
                fix=f"a record begins as {EXAMPLE!r}",
            )
        for letter, size, what in (
            *(("f", self.features, "features"), ("t", self.frames, "frames")),
            ("c", self.parts, "parts of a complex number"),
        ):
            if letter not in letters and (size > 1 or letter == "f"):
                raise ArgumentError(
                    f"the layout {letters} has no axis {letter} for {size} {what}",
                    fix=f"add {letter} to the layout",
                )

    def _check_elements(self) -> None:
        count = self.features * self.parts
        for name, values in (("mean", self.mean), ("scale", self.scale)):
            if len(values) not in (0, 1, count):
                raise ArgumentError(
                    f"{name} has {len(values)} values, expected 1, or one per feature, {count}",
                    fix=f"for example {EXAMPLES[name]}",
                )
        if 0.0 in self.scale:
            raise ArgumentError("a scale is 0, which makes all elements 0", fix="give scale=1/std")
        if self.quant is None:
            return
        ends = DTYPES[self.dtype]
        if ends is None:
            raise ArgumentError(
                f"quant is given for {self.dtype} elements, which are not quantized",
                fix="leave it out, or make the type uint8 or int8",
            )
        scale, zero = single("the scale of quant", self.quant[0]), self.quant[1]
        whole("the zero point of quant", zero, *ends)
        if scale <= 0:
            raise ArgumentError(
                f"the scale of quant is {scale:g}, expected more than 0",
                fix="for example quant=0.0078125,0",
            )
        object.__setattr__(self, "quant", (scale, zero))


def per_feature(values: Sequence[float], count: int) -> tuple[float, ...]:
    """mean or scale for each of `count` features; empty if the record has none.

    >>> per_feature((2.0,), 3)
    (2.0, 2.0, 2.0)
    """
    return tuple(values) * (count if len(values) == 1 else 1)
