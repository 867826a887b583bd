# SPDX-License-Identifier: Apache-2.0
"""Records of answers: of two real face detectors, and random ones with outputs that fit them, and
pictures; many ties, some NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from samara.exporter.reference_answers import Output
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import (
    AnswerRecord,
    BoxesRecord,
    ClassifyRecord,
    KeypointsRecord,
    MaskRecord,
    Part,
    Prior,
)

Case = tuple[AnswerRecord, dict[str, Output], PictureGeometry]
_T = TypeVar("_T")

# By the name of the model's folder.
FACE_RECORDS = {
    "ultraface_rfb320": (
        "boxes corners box=boxes score=scores[1:] units=ratio threshold=0.7 iou=0.3"
    ),
    "yunet_s_dynamic": (
        "boxes anchors at=corner priors=8:8;16:16;32:32 box=bbox_8,bbox_16,bbox_32"
        " score=cls_8,cls_16,cls_32 objectness=obj_8,obj_16,obj_32 combine=sqrt"
        " points=kps_8,kps_16,kps_32 threshold=0.6 iou=0.3"
    ),
}

_HOSTILE = (np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 1e-45)


def _one(rng: np.random.Generator, choices: Sequence[_T]) -> _T:
    return choices[int(rng.integers(len(choices)))]


def _word(rng: np.random.Generator, *words: str) -> Any:
    """One of the words that a record's field takes."""
    return words[int(rng.integers(len(words)))]


def _chance(rng: np.random.Generator, share: float = 0.5) -> bool:
    return bool(rng.random() < share)


def random_case(rng: np.random.Generator) -> Case:
    """A record, the outputs it reads, and a picture."""
    make = _one(rng, (_classify, _mask, _boxes, _boxes, _boxes, _keypoints))
    return make(rng)


def random_geometry(
    rng: np.random.Generator, tensor: tuple[int, int] | None = None
) -> PictureGeometry:
    """Any picture of up to 40 pixels a side, for an input of `tensor` pixels where that is given."""
    width, height = (int(n) for n in rng.integers(1, 41, 2))
    crop = None
    if _chance(rng):
        x, y = int(rng.integers(width)), int(rng.integers(height))
        w, h = int(rng.integers(1, width - x + 1)), int(rng.integers(1, height - y + 1))
        crop = (x, y, w, h)
    rotation, mirror = _one(rng, (0, 90, 180, 270)), _chance(rng)
    size = tensor if tensor is not None else _pair(rng, 1, 33)
    how = _one(rng, ("letterbox", "resize", "crop", "none" if tensor is None else "resize"))
    options: dict[str, Any] = {}
    if how == "letterbox":
        options = {"letterbox": size}
    elif how == "resize":
        options = {"resize": size}
    elif how == "crop":
        more = _pair(rng, 0, 9)
        options = {"resize": (size[0] + more[0], size[1] + more[1]), "center": size}
    return PictureGeometry.of_sizes(
        width, height, crop=crop, rotation=rotation, mirror=mirror, **options
    )


def _pair(rng: np.random.Generator, low: int, high: int) -> tuple[int, int]:
    return int(rng.integers(low, high)), int(rng.integers(low, high))


def _output(
    rng: np.random.Generator, shape: tuple[int, ...], scale: float = 1.0, shift: float = 0.0
) -> Output:
    """Numbers of any element type around `shift`, as many ties as few levels give."""
    kind = _one(
        rng, ("float32", "float32", "float32", "float16", "qint8", "int8", "uint8", "i32", "i64")
    )
    values = rng.normal(shift, scale, shape)
    if _chance(rng, 0.3):
        values = np.round(values / scale * 2) / 2 * scale
    if kind == "qint8":
        step, zero = np.float32(scale / 24), int(rng.integers(-40, 40))
        levels = np.clip(np.round(values / step) + zero, -128, 127)
        return Output(levels.astype(np.int8), float(step), zero)
    if kind in ("int8", "uint8"):
        low = -128 if kind == "int8" else 0
        return Output(np.clip(np.round(values), low, low + 255).astype(kind))
    if kind in ("i32", "i64"):
        wide = np.round(values * _one(rng, (1, 1, 2**29)) / max(1, scale))
        return Output(
            np.clip(wide, -(2**31), 2**31 - 1).astype({"i32": "int32", "i64": "int64"}[kind])
        )
    made = values.astype(kind)
    if _chance(rng, 0.25) and made.size:
        at = rng.integers(made.size, size=max(1, made.size // 8))
        with np.errstate(over="ignore"):
            made.reshape(-1)[at] = np.array(_HOSTILE)[rng.integers(len(_HOSTILE), size=len(at))]
    return Output(made)


def _threshold(rng: np.random.Generator) -> float:
    return float(_one(rng, (0.0, 0.5, 0.25, -1.0, rng.random())))


# ---- the kinds ----


def _classify(rng: np.random.Generator) -> Case:
    n = int(_one(rng, (1, 2, 10, 63, 64, 65, 300)))
    shape = _one(rng, ((n,), (1, n), (1, n, 1, 1), (1, 1, 1, n)))
    record = ClassifyRecord(
        _word(rng, "y", "#0"),
        _word(rng, "none", "sigmoid", "softmax"),
        int(_one(rng, (1, 2, 5, 100))),
        _threshold(rng) if _chance(rng, 0.3) else None,
        (float(rng.uniform(0.001, 2)), int(rng.integers(-40, 300))) if _chance(rng, 0.3) else None,
    )
    return record, {"y": _output(rng, shape, 4)}, random_geometry(rng)


def _mask(rng: np.random.Generator) -> Case:
    mask_h, mask_w = _pair(rng, 1, 20)
    channels = int(_one(rng, (1, 2, 21, 300) if _chance(rng, 0.1) else (1, 2, 21)))
    limit = _threshold(rng) if _chance(rng, 0.4) else None
    layout = _word(rng, "nchw", "nhwc", "nhw")
    channels = 1 if limit is not None else channels
    shape = {
        "nchw": (1, channels, mask_h, mask_w),
        "nhwc": (1, mask_h, mask_w, channels),
        "nhw": (1, mask_h, mask_w),
    }[layout]
    sigmoid = limit is not None and _chance(rng)
    record = MaskRecord("y", layout, sigmoid, limit)
    output = _output(rng, shape, 2)
    if layout == "nhw" and limit is None:
        dtype = _one(rng, ("int8", "uint8", "int32", "int64"))
        output = Output(rng.integers(0, 127, shape).astype(dtype))
    return record, {"x": Output(np.zeros(3, np.int8)), "y": output}, random_geometry(rng)


def _keypoints(rng: np.random.Generator) -> Case:
    points = int(rng.integers(1, 6))
    if _chance(rng):
        size = _pair(rng, 1, 12)
        layout = _word(rng, "nchw", "nhwc")
        shape = (1, points, *size) if layout == "nchw" else (1, *size, points)
        refine = _word(rng, "none", "quarter", "parabola")
        record = KeypointsRecord("y", layout=layout, refine=refine, sigmoid=_chance(rng))
        return record, {"y": _output(rng, shape, 2)}, random_geometry(rng)
    step, units = _one(rng, (2, 3)), _word(rng, "pixels", "ratio")
    record = KeypointsRecord(points="y", yx=_chance(rng), units=units, step=step)
    size_of = 10.0 if units == "pixels" else 0.5
    return record, {"y": _output(rng, (1, points, step), size_of, size_of)}, random_geometry(rng)


def _boxes(rng: np.random.Generator) -> Case:
    form = _word(rng, "corners", "center", "anchors", "sides")
    tensor = _pair(rng, 1, 33)
    anchored = form in ("anchors", "sides")
    priors: tuple[Prior, ...] = ()
    if anchored and _chance(rng, 0.7):
        priors = tuple(
            Prior(stride, tuple((float(w), float(h)) for w, h in rng.uniform(2, 20, (k, 2))))
            for stride, k in zip(rng.integers(4, 20, 2).tolist(), (1, 2), strict=False)
        )[: int(rng.integers(1, 3))]
    counts = [
        -(-tensor[0] // p.stride) * -(-tensor[1] // p.stride) * len(p.sizes) for p in priors
    ] or [int(n) for n in rng.integers(1, 90, _one(rng, (1, 1, 2)))]
    shapes = _Shapes(rng, counts)
    unit: Any = _word(rng, *("pixels",) if priors else ("pixels", "ratio"))
    pixels = 10.0 if unit == "pixels" else 0.4
    activation = _word(rng, "none", "sigmoid", "softmax")
    objectness = shapes.part("o", 1, 0.3, 0.5) if _chance(rng, 0.4) else None
    step = _one(rng, (2, 3))
    record = BoxesRecord(
        form,
        shapes.part("b", 4, 0.8 if anchored else pixels, 0 if anchored else pixels),
        shapes.part("s", int(_one(rng, (1, 2, 5))), 0.4 if activation == "none" else 2, 0.4),
        objectness,
        shapes.part("p", step * 2, pixels, pixels) if _chance(rng, 0.4) else None,
        activation=activation,
        combine=_word(rng, "product", "sqrt") if objectness is not None else "product",
        channels_first=shapes.channels_first,
        yx=_chance(rng),
        units=unit,
        priors=priors,
        anchors=shapes.part("a", 4, pixels, pixels) if anchored and not priors else None,
        at=_word(rng, "center", "corner") if priors else "center",
        variances=_one(rng, ((1, 1, 1, 1), (0.1, 0.1, 0.2, 0.2)))
        if form == "anchors"
        else (1, 1, 1, 1),
        threshold=_threshold(rng),
        iou=float(_one(rng, (0.0, 0.3, 0.5, 1.0, rng.random()))),
        top=int(_one(rng, (1, 5, 100))),
        agnostic=_chance(rng, 0.3),
    )
    if record.points is not None:
        given = {name: getattr(record, name) for name in BoxesRecord.__slots__}
        record = BoxesRecord(**given | {"point_step": step})
    return record, shapes.outputs, random_geometry(rng, tensor)


class _Shapes:
    """Outputs of parts of one record: all by rows or all by channels, in one list of counts."""

    def __init__(self, rng: np.random.Generator, counts: list[int]) -> None:
        self.rng, self.counts = rng, counts
        self.channels_first = _chance(rng)
        self.outputs: dict[str, Output] = {}

    def part(self, name: str, width: int, scale: float, shift: float) -> Part:
        """Outputs of some more channels than the part takes."""
        rng = self.rng
        before, after = (int(n) for n in rng.integers(0, 3, 2)) if _chance(rng, 0.4) else (0, 0)
        # A part may also have all boxes in one output.
        counts = self.counts if _chance(rng, 0.7) else [sum(self.counts)]
        names = []
        for i, count in enumerate(counts):
            channels = before + width + after
            batch = (1,) if _chance(rng, 0.8) else ()
            shape = (channels, count) if self.channels_first else (count, channels)
            names.append(f"{name}{i}")
            self.outputs[names[-1]] = _output(rng, (*batch, *shape), scale, shift)
        return Part(tuple(names), before, before + width if after else None)
