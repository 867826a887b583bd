# SPDX-License-Identifier: Apache-2.0
"""Records that describe a model's outputs, and their text form (docs/guides/postprocessing.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np

from samara.pybridge.errors import ArgumentError
from samara.pybridge.names import meant

__all__ = [
    "AnswerRecord",
    "BoxesRecord",
    "ClassifyRecord",
    "KeypointsRecord",
    "MaskRecord",
    "Part",
    "Prior",
    "parse_answer_record",
]

Activation = Literal["none", "sigmoid", "softmax"]

_MOST_OUTPUTS = 16  # outputs of one part: one for each stride of a detector
_MOST_PRIORS = 64  # anchor sizes of all strides together
_MOST_SIZE = 16384  # the largest side of a picture
_MOST_TOP = 65535
_MOST_CHANNEL = 2**31 - 1
_MOST_ZERO = 65535

_EXAMPLES = {
    "classify": "classify logits softmax top=5",
    "mask": "mask logits nchw",
    "boxes": "boxes corners box=boxes score=scores[1:] units=ratio threshold=0.7 iou=0.3",
    "keypoints": "keypoints heatmaps=heatmaps refine=quarter",
}
_FORMS = ("corners", "center", "anchors", "sides")
_PART = re.compile(r"(?P<names>[^\[\]]+)(\[(?P<begin>\d*)(?P<colon>:?)(?P<end>\d*)\])?")


def _float32(value: float) -> float:
    return float(np.float32(value))


def _number(value: float) -> str:
    """The shortest text that parses to the same float32."""
    return np.format_float_positional(np.float32(value), unique=True, trim="-")


@dataclass(frozen=True, slots=True)
class Part:
    """Channels of one output, or of several outputs that are concatenated.

    `outputs` are names, or `#0`, `#1`, … by position. The channels are `begin` to `end` - 1; with
    end=None all from `begin` on.

    >>> str(Part(("scores",), 1))
    'scores[1:]'
    """

    outputs: tuple[str, ...]
    begin: int = 0
    end: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.outputs) <= _MOST_OUTPUTS:
            raise ArgumentError(
                f"a part has {len(self.outputs)} outputs, expected 1 to {_MOST_OUTPUTS}",
                fix="name its outputs, as box=bbox_8,bbox_16",
            )
        for name in self.outputs:
            if not name or re.search(r"[\s\[\],=]", name):
                raise ArgumentError(
                    f"{name!r} is not the name of an output: it is empty, or has a space or one of [ ] , =",
                    fix="give the output's position instead, as #0",
                )
        last = _MOST_CHANNEL if self.end is None else self.end
        if not 0 <= self.begin < last <= _MOST_CHANNEL:
            raise ArgumentError(
                f"channels {self.begin}:{self.end} select nothing",
                fix="give the first channel and the one after the last, as [0:4]",
            )

    def __str__(self) -> str:
        names = ",".join(self.outputs)
        if self.end is not None and self.end == self.begin + 1:
            return f"{names}[{self.begin}]"
        if self.begin == 0 and self.end is None:
            return names
        begin = "" if self.begin == 0 else str(self.begin)
        return f"{names}[{begin}:{'' if self.end is None else self.end}]"


@dataclass(frozen=True, slots=True)
class Prior:
    """Anchors of one stride: every cell of `stride` pixels has a box of each (width, height) in pixels.

    >>> str(Prior(16, ((32.0, 32.0), (48.0, 24.0))))
    '16:32,48x24'
    """

    stride: int
    sizes: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not 1 <= self.stride <= _MOST_SIZE:
            raise ArgumentError(
                f"a stride of {self.stride} pixels, expected 1 to {_MOST_SIZE}",
                fix="give pixels of the model's input, as 8:16,32",
            )
        if not self.sizes:
            raise ArgumentError(f"stride {self.stride} has no sizes", fix="give some, as 8:16,32")
        sizes = tuple((_float32(w), _float32(h)) for w, h in self.sizes)
        if not all(0 < side < math.inf for size in sizes for side in size):
            raise ArgumentError(
                f"sizes {self.sizes} of stride {self.stride}, expected numbers above 0",
                fix="give pixels of the model's input, as 8:16,32x24",
            )
        object.__setattr__(self, "sizes", sizes)

    def __str__(self) -> str:
        sizes = (_number(w) if w == h else f"{_number(w)}x{_number(h)}" for w, h in self.sizes)
        return f"{self.stride}:{','.join(sizes)}"


# ---- the kinds ----


@dataclass(frozen=True, slots=True)
class ClassifyRecord:
    """One output holds a score for each class.

    quant: (scale, zero point) of an output of plain integers, whose numbers are scale * (q - zero point); a
    quantized output brings its own.

    >>> str(ClassifyRecord("logits", "softmax"))
    'classify logits softmax'
    >>> str(ClassifyRecord("scores", quant=(0.00390625, 0)))
    'classify scores quant=0.00390625,0'
    """

    output: str
    activation: Activation = "none"
    top: int = 5
    threshold: float | None = None
    quant: tuple[float, int] | None = None

    def __post_init__(self) -> None:
        _check_common(self, "classify")
        if self.quant is not None:
            object.__setattr__(self, "quant", _checked_quant(*self.quant))

    def __str__(self) -> str:
        return _text(self, "classify", self.output)

    @classmethod
    def parse(cls, text: str) -> ClassifyRecord:
        """Parse a record such as "classify logits softmax top=5".

        ArgumentError names the word that is wrong.
        """
        return _of_kind(cls, text, "classify")


@dataclass(frozen=True, slots=True)
class MaskRecord:
    """One output holds the class of each pixel, or scores of which the largest is the class.

    >>> str(MaskRecord("out", sigmoid=True, threshold=0.5))
    'mask out sigmoid threshold=0.5'
    """

    output: str
    layout: Literal["nchw", "nhwc", "nhw"] = "nchw"
    sigmoid: bool = False
    threshold: float | None = None

    def __post_init__(self) -> None:
        _check_common(self, "mask")
        _check_choice("mask", "layout", self.layout, ("nchw", "nhwc", "nhw"))
        if self.sigmoid and self.threshold is None:
            raise ArgumentError(
                "mask: sigmoid without threshold= changes no class",
                fix="leave out sigmoid, or give the threshold, as threshold=0.5",
            )

    def __str__(self) -> str:
        return _text(self, "mask", self.output)

    @classmethod
    def parse(cls, text: str) -> MaskRecord:
        """Parse a record such as "mask logits nchw".

        ArgumentError names the word that is wrong.
        """
        return _of_kind(cls, text, "mask")


@dataclass(frozen=True, slots=True)
class BoxesRecord:
    """Outputs hold boxes and their scores. A box that overlaps a better one of its class is dropped.

    docs/guides/postprocessing.md describes each field under its name.

    >>> record = BoxesRecord("center", Part(("out",), 0, 4), Part(("out",), 4), threshold=0.25)
    >>> str(record)
    'boxes center box=out[:4] score=out[4:] threshold=0.25'
    """

    form: Literal["corners", "center", "anchors", "sides"]
    box: Part
    score: Part
    objectness: Part | None = None
    points: Part | None = None
    activation: Activation = "none"
    combine: Literal["product", "sqrt"] = "product"
    channels_first: bool = False
    yx: bool = False
    units: Literal["pixels", "ratio"] = "pixels"
    priors: tuple[Prior, ...] = ()
    anchors: Part | None = None
    at: Literal["center", "corner"] = "center"
    variances: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    point_step: int = 2
    threshold: float = 0.5
    iou: float = 0.5
    top: int = 100
    agnostic: bool = False

    def __post_init__(self) -> None:
        _check_common(self, "boxes")
        _check_choice("boxes", "the form", self.form, _FORMS)
        _check_choice("boxes", "combine=", self.combine, ("product", "sqrt"))
        _check_choice("boxes", "units=", self.units, ("pixels", "ratio"))
        _check_choice("boxes", "at=", self.at, ("center", "corner"))
        _check_choice("boxes", "point_step=", self.point_step, (2, 3))
        object.__setattr__(self, "iou", _float32(self.iou))
        object.__setattr__(self, "variances", tuple(_float32(v) for v in self.variances))
        if not 0 <= self.iou <= 1:
            raise ArgumentError(
                f"boxes: iou={self.iou:g}, expected 0 to 1", fix="for example iou=0.5"
            )
        variances: tuple[float, ...] = self.variances
        if len(variances) != 4 or not all(0 < v < math.inf for v in variances):
            raise ArgumentError(
                f"boxes: variances={self.variances}, expected four numbers above 0",
                fix="for example variances=0.1,0.1,0.2,0.2",
            )
        self._check_anchors()
        self._check_parts()

    def _check_anchors(self) -> None:
        sources = int(bool(self.priors)) + int(self.anchors is not None)
        if self.form in ("anchors", "sides"):
            if sources != 1:
                raise ArgumentError(
                    f"boxes: the form {self.form} needs priors= or anchors=, one of them; got {sources}",
                    fix="give the anchors' rule, as priors=8:16,32;16:64,128, or anchors=OUTPUT",
                )
        elif sources:
            raise ArgumentError(
                f"boxes: the form {self.form} has no anchors, but priors= or anchors= is given",
                fix="leave that out, or take the form anchors or sides",
            )
        if not self.priors and self.at != "center":
            raise ArgumentError(
                "boxes: at= applies to priors=, which is not given", fix="leave it out"
            )
        if self.form != "anchors" and self.variances != (1.0, 1.0, 1.0, 1.0):
            raise ArgumentError(
                f"boxes: variances= applies to the form anchors, this is {self.form}",
                fix="leave it out",
            )
        if self.units == "ratio" and self.priors:
            raise ArgumentError(
                "boxes: priors are in pixels, so units=ratio has no effect", fix="leave it out"
            )
        if sum(len(prior.sizes) for prior in self.priors) > _MOST_PRIORS:
            raise ArgumentError(
                f"boxes: priors= with more than {_MOST_PRIORS} sizes",
                fix="give anchors=OUTPUT, a constant output of the model",
            )

    def _check_parts(self) -> None:
        for name, width in (("box", 4), ("objectness", 1), ("anchors", 4)):
            part: Part | None = getattr(self, name)
            if part is not None and part.end is not None and part.end - part.begin != width:
                raise ArgumentError(
                    f"boxes: {name}={part} has {part.end - part.begin} channels, expected {width}",
                    fix=f"take {width}, as {name}=output[0:{width}]",
                )
        if self.combine == "sqrt" and self.objectness is None:
            raise ArgumentError(
                "boxes: combine= joins a class's score and objectness=, which is not given",
                fix="name its output, as objectness=obj, or leave combine= out",
            )
        if self.point_step != 2 and self.points is None:
            raise ArgumentError(
                "boxes: point_step= applies to points=, which is not given", fix="leave it out"
            )
        points = self.points
        if points is not None and points.end is not None:
            count = points.end - points.begin
            if count % self.point_step:
                raise ArgumentError(
                    f"boxes: points={points} has {count} channels, which is not a multiple of"
                    f" {self.point_step}",
                    fix="take all channels of all points",
                )

    def __str__(self) -> str:
        return _text(self, "boxes", self.form)

    @classmethod
    def parse(cls, text: str) -> BoxesRecord:
        """Parse a record such as "boxes corners box=boxes score=scores[1:] units=ratio".

        ArgumentError names the word that is wrong.
        """
        return _of_kind(cls, text, "boxes")


@dataclass(frozen=True, slots=True)
class KeypointsRecord:
    """Outputs hold points, either as a heat map of each or as coordinates.

    >>> str(KeypointsRecord(points="out", yx=True, units="ratio", step=3))
    'keypoints points=out yx units=ratio step=3'
    """

    heatmaps: str | None = None
    points: str | None = None
    layout: Literal["nchw", "nhwc"] = "nchw"
    refine: Literal["none", "quarter", "parabola"] = "none"
    sigmoid: bool = False
    yx: bool = False
    units: Literal["pixels", "ratio"] = "pixels"
    step: int = 2

    def __post_init__(self) -> None:
        if (self.heatmaps is None) == (self.points is None):
            raise ArgumentError(
                "keypoints: expected heatmaps= or points=, one of them",
                fix=f"name the output, as {_EXAMPLES['keypoints']!r}",
            )
        Part((str(self.points if self.heatmaps is None else self.heatmaps),))
        _check_choice("keypoints", "layout", self.layout, ("nchw", "nhwc"))
        _check_choice("keypoints", "refine=", self.refine, ("none", "quarter", "parabola"))
        _check_choice("keypoints", "units=", self.units, ("pixels", "ratio"))
        _check_choice("keypoints", "step=", self.step, (2, 3))
        of_points = {"yx": False, "units": "pixels", "step": 2}
        of_maps = {"layout": "nchw", "refine": "none", "sigmoid": False}
        wrong = of_maps if self.heatmaps is None else of_points
        for name, default in wrong.items():
            if getattr(self, name) != default:
                other, mine = ("heatmaps", "points") if wrong is of_maps else ("points", "heatmaps")
                raise ArgumentError(
                    f"keypoints: {name} applies to {other}=, but {mine}= is given",
                    fix="leave it out",
                )

    def __str__(self) -> str:
        return _text(self, "keypoints", None)

    @classmethod
    def parse(cls, text: str) -> KeypointsRecord:
        """Parse a record such as "keypoints heatmaps=heatmaps refine=quarter".

        ArgumentError names the word that is wrong.
        """
        return _of_kind(cls, text, "keypoints")


AnswerRecord = ClassifyRecord | MaskRecord | BoxesRecord | KeypointsRecord


def _check_choice(kind: str, what: str, got: object, choices: Sequence[object]) -> None:
    if got not in choices:
        names = [str(choice) for choice in choices]
        raise ArgumentError(
            f"{kind}: {what} is {got!r}, expected one of {', '.join(names)}",
            fix=meant(got, names, "the choices are"),
        )


def _check_common(record: ClassifyRecord | MaskRecord | BoxesRecord, kind: str) -> None:
    if not isinstance(record, BoxesRecord):
        Part((record.output,))
    if not isinstance(record, MaskRecord):
        _check_choice(kind, "the activation", record.activation, ("none", "sigmoid", "softmax"))
        if not 1 <= record.top <= _MOST_TOP:
            raise ArgumentError(
                f"{kind}: top={record.top}, expected 1 to {_MOST_TOP}", fix="for example top=5"
            )
    if record.threshold is not None:
        object.__setattr__(record, "threshold", _float32(record.threshold))
        if not math.isfinite(record.threshold):
            raise ArgumentError(
                f"{kind}: threshold={record.threshold}, expected a finite number",
                fix="for example threshold=0.5",
            )


def _checked_quant(scale: float, zero: int) -> tuple[float, int]:
    scale = _float32(scale)
    if not 0 < scale < math.inf or not -_MOST_ZERO <= zero <= _MOST_ZERO:
        raise ArgumentError(
            f"classify: quant={scale:g},{zero}, expected a scale above 0 and a zero point of at most {_MOST_ZERO}",
            fix="for example quant=0.00390625,0",
        )
    return scale, zero


# ---- text ----

# Words without a value: the field that each sets, and to what.
_FLAGS: dict[str, dict[str, tuple[str, Any]]] = {
    "classify": {"softmax": ("activation", "softmax"), "sigmoid": ("activation", "sigmoid")},
    "mask": {
        **{layout: ("layout", layout) for layout in ("nchw", "nhwc", "nhw")},
        "sigmoid": ("sigmoid", True),
    },
    "boxes": {
        "softmax": ("activation", "softmax"),
        "sigmoid": ("activation", "sigmoid"),
        "channels-first": ("channels_first", True),
        "yx": ("yx", True),
        "agnostic": ("agnostic", True),
    },
    "keypoints": {
        **{layout: ("layout", layout) for layout in ("nchw", "nhwc")},
        "sigmoid": ("sigmoid", True),
        "yx": ("yx", True),
    },
}
_VALUES: dict[str, tuple[str, ...]] = {
    "classify": ("top", "threshold", "quant"),
    "mask": ("threshold",),
    "boxes": (
        *("box", "score", "objectness", "points", "combine", "units", "priors", "anchors"),
        *("at", "variances", "point_step", "threshold", "iou", "top"),
    ),
    "keypoints": ("heatmaps", "points", "refine", "units", "step"),
}


def _text(record: AnswerRecord, kind: str, first: str | None) -> str:
    """The canonical text: fields in their order, without those that have their default."""
    words = [kind] if first is None else [kind, first]
    flags = {pair: word for word, pair in _FLAGS[kind].items()}
    for field in fields(record):
        value = getattr(record, field.name)
        if value == field.default or field.name in ("output", "form"):
            continue
        flag = flags.get((field.name, value)) if isinstance(value, str | bool) else None
        words.append(f"{field.name}={_value(value)}" if flag is None else flag)
    return " ".join(words)


def _value(value: object) -> str:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, tuple):
        between = ";" if isinstance(value[0], Prior) else ","
        return between.join(_value(each) for each in value)
    return str(value)


def parse_answer_record(text: str) -> AnswerRecord:
    """Parse the text of a record: "classify logits softmax", "boxes corners box=… score=…".

    Words are separated by spaces; docs/guides/postprocessing.md lists them. `str(record)` is the canonical
    text, which parses to an equal record. ArgumentError names the word that is wrong, what was
    expected, and an example.

    >>> parse_answer_record("classify logits softmax").activation
    'softmax'
    """
    if not isinstance(text, str):
        raise ArgumentError(
            f"a record of an answer is a text, got {type(text).__name__}",
            fix=f"write it as {_EXAMPLES['classify']!r}",
        )
    words = text.split()
    kind = words[0] if words else ""
    if kind not in _EXAMPLES:
        raise ArgumentError(
            f"{text!r} begins with {kind!r}, expected the kind of answer",
            fix=f"{meant(kind, _EXAMPLES, 'kinds are')}; for example {_EXAMPLES['classify']!r}",
        )
    given: dict[str, Any] = {}
    rest = words[1:]
    if kind != "keypoints":
        if not rest or "=" in rest[0]:
            what = f"a form: {', '.join(_FORMS)}" if kind == "boxes" else "the name of an output"
            raise _wrong(kind, rest[0] if rest else "the end", what)
        given["form" if kind == "boxes" else "output"] = rest.pop(0)
    for word in rest:
        name, value = _parse_word(kind, word)
        if name in given:
            raise _wrong(kind, word, f"each word once; {name} is {given[name]} already")
        given[name] = value
    for name in ("box", "score") if kind == "boxes" else ():
        if name not in given:
            raise _wrong(kind, "the end", f"{name}=OUTPUT")
    return _KINDS[kind](**given)


def _wrong(kind: str, word: str, expected: str) -> ArgumentError:
    return ArgumentError(
        f"{kind}: {word!r}, expected {expected}", fix=f"for example {_EXAMPLES[kind]!r}"
    )


def _parse_word(kind: str, word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if not equals:
        if word in _FLAGS[kind]:
            return _FLAGS[kind][word]
        known = [*_FLAGS[kind], *(f"{each}=" for each in _VALUES[kind])]
        raise _wrong(kind, word, f"a word of it: {meant(word, known)}")
    if name not in _VALUES[kind]:
        known = [*(f"{each}=" for each in _VALUES[kind]), *_FLAGS[kind]]
        raise _wrong(kind, word, f"a word of it: {meant(name + '=', known)}")
    if kind == "keypoints" and name in ("heatmaps", "points"):
        return name, value
    expected, parse = _PARSERS.get(name, ("a choice", str))
    try:
        return name, parse(value)
    except ArgumentError as error:
        raise ArgumentError(f"{kind}: {word!r}: {error.message}", fix=error.fix) from None
    except ValueError:
        raise _wrong(kind, word, f"{name}= {expected}") from None


def _parse_part(text: str) -> Part:
    match = _PART.fullmatch(text)
    if match is None:
        raise ValueError(text)
    begin, colon, end = match["begin"], match["colon"], match["end"]
    names = tuple(match["names"].split(","))
    if begin is None:
        return Part(names)
    if not colon:
        return Part(names, int(begin), int(begin) + 1)
    return Part(names, int(begin) if begin else 0, int(end) if end else None)


def _parse_priors(text: str) -> tuple[Prior, ...]:
    priors = []
    for each in text.split(";"):
        stride, _, sizes = each.partition(":")
        priors.append(Prior(int(stride), tuple(_parse_size(size) for size in sizes.split(","))))
    return tuple(priors)


def _parse_size(text: str) -> tuple[float, float]:
    width, times, height = text.partition("x")
    return float(width), float(height if times else width)


def _parse_variances(text: str) -> tuple[float, ...]:
    return tuple(float(each) for each in text.split(","))


def _parse_quant(text: str) -> tuple[float, int]:
    scale, zero = text.split(",")
    return float(scale), int(zero)


_ONE_PART = ("the name of an output, with channels where they are not all: out[0:4]", _parse_part)
_PARSERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("box", "score", "objectness", "points", "anchors"), _ONE_PART),
    **dict.fromkeys(("threshold", "iou"), ("a number, as 0.5", float)),
    **dict.fromkeys(("top", "point_step", "step"), ("a whole number", int)),
    "priors": ("strides and their sizes, as 8:16,32;16:64x48", _parse_priors),
    "quant": ("a scale and a zero point, as 0.00390625,0", _parse_quant),
    "variances": ("four numbers, as 0.1,0.1,0.2,0.2", _parse_variances),
}
_KINDS: dict[str, Callable[..., AnswerRecord]] = {
    "classify": ClassifyRecord,
    "mask": MaskRecord,
    "boxes": BoxesRecord,
    "keypoints": KeypointsRecord,
}

_R = TypeVar("_R", ClassifyRecord, MaskRecord, BoxesRecord, KeypointsRecord)


def _of_kind(cls: type[_R], text: str, kind: str) -> _R:
    record = parse_answer_record(text)
    if not isinstance(record, cls):
        raise ArgumentError(
            f"{text!r} is not a {kind} record", fix=f"for example {_EXAMPLES[kind]!r}"
        )
    return record
