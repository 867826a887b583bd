# SPDX-License-Identifier: Apache-2.0
"""The reference of answers: docs/guides/postprocessing.md in numpy, step by step, to the last bit.

It is written to be read beside the page. Python's floats occur only for numbers without a fraction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import (
    AnswerRecord,
    BoxesRecord,
    ClassifyRecord,
    KeypointsRecord,
    MaskRecord,
    Part,
)
from samara.pybridge.answers import (
    Answer,
    Classification,
    Detections,
    Guess,
    Keypoints,
    Mask,
    label_of,
)
from samara.pybridge.errors import ShapeError, UnknownNameError
from samara.pybridge.names import meant

__all__ = ["Output", "answer", "exp", "floats_of", "output_of", "rows_of", "sigmoid"]

Floats = npt.NDArray[np.float32]

_MOST_SIZE = 16384  # cells of a side of a mask or a heat map
_DTYPES = ("float32", "float16", "int8", "uint8", "int32", "int64")


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """An output of a model: its elements, and the scale and zero point if it is quantized."""

    data: npt.NDArray[Any]
    scale: float = 1.0
    zero: int = 0


def answer(
    record: AnswerRecord,
    outputs: Mapping[str, npt.NDArray[Any] | Output],
    geometry: PictureGeometry,
    labels: Sequence[str] = (),
) -> Answer:
    """The answer of `outputs` (by name, in the model's order) about a picture placed as in `geometry`.

    ShapeError if an output's shape or dtype does not fit the record, UnknownNameError if there is no
    output of a name.

    >>> picture = PictureGeometry.of_sizes(32, 32)
    >>> logits = np.array([[1.0, 3.0, 2.0]], np.float32)
    >>> answer(ClassifyRecord("y", top=2), {"y": logits}, picture, ["a", "b", "c"])
    Classification(b 3.000, c 2.000)
    """
    made = {
        name: given if isinstance(given, Output) else Output(given)
        for name, given in outputs.items()
    }
    names = tuple(labels)
    with np.errstate(all="ignore"):
        if isinstance(record, ClassifyRecord):
            return _classify(record, made, names)
        if isinstance(record, MaskRecord):
            return _mask(record, made, geometry, names)
        if isinstance(record, BoxesRecord):
            return _boxes(record, made, geometry, names)
        return _keypoints(record, made, geometry, names)


# ---- 1. elements ----


def output_of(outputs: Mapping[str, Output], name: str) -> Output:
    """An output by its name, or by its position."""
    if name.startswith("#") and name[1:].isdecimal() and int(name[1:]) < len(outputs):
        return list(outputs.values())[int(name[1:])]
    if name not in outputs:
        raise UnknownNameError(f"there is no output {name!r}", fix=meant(name, outputs))
    return outputs[name]


def floats_of(output: Output, name: str) -> Floats:
    """The elements of an output as float32."""
    dtype = output.data.dtype
    if dtype.name not in _DTYPES:
        raise ShapeError(f"output {name!r} is {dtype}, expected one of {', '.join(_DTYPES)}")
    if dtype.kind == "f":
        return output.data.astype(np.float32, copy=False)
    centred: Floats = (output.data.astype(np.int64) - output.zero).astype(np.float32)
    return centred * np.float32(output.scale)


# ---- 2. exp and sigmoid ----


def exp(x: npt.ArrayLike) -> Floats:
    """e^x of float32 in float32, by step 2 of the page; NaN stays NaN.

    >>> exp(np.float32(1)).item().hex()
    '0x1.5bf0a80000000p+1'
    """
    f = np.float32
    given: Floats = np.asarray(x, np.float32)
    nan = np.isnan(given)
    t: Floats = np.where(nan, f(0), np.clip(given, f(-104), f(89)))
    whole: Floats = np.rint(t * f(float.fromhex("0x1.715476p+0")))
    r = t - whole * f(float.fromhex("0x1.62e4p-1"))
    r = r - whole * f(float.fromhex("0x1.7f7d1cp-20"))
    p: Floats = f(float.fromhex("0x1.6a4b98p-10")) * r + f(float.fromhex("0x1.123e5cp-7"))
    for c in ("0x1.5558bap-5", "0x1.55548cp-3", "0x1.fffffcp-2"):
        p = p * r + f(float.fromhex(c))
    p = p * (r * r)
    v = (p + r) + f(1)
    n = whole.astype(np.int32)
    half = n >> 1
    with np.errstate(over="ignore", under="ignore"):
        made = np.ldexp(np.ldexp(v, half), n - half)
    return np.asarray(np.where(nan, given, made), f)


def sigmoid(x: npt.ArrayLike) -> Floats:
    """1 / (1 + e^-x) of float32 in float32, by step 2 of the page; NaN stays NaN.

    >>> sigmoid(np.float32(0)).item()
    0.5
    """
    given = np.asarray(x, np.float32)
    one = np.float32(1)
    e = exp(-np.abs(given))
    return np.asarray(np.where(given < 0, e, one) / (one + e), np.float32)


# ---- 3. softmax ----


def _softmax(x: Floats) -> Floats:
    """Over the last axis."""
    nan = np.isnan(x)
    largest = np.where(nan, np.float32(-np.inf), x).max(-1, keepdims=True)
    e = exp(np.where(x == largest, np.float32(0), x - largest))
    total = np.zeros(x.shape[:-1], np.float32)
    for i in range(x.shape[-1]):
        total = np.where(nan[..., i], total, total + e[..., i])
    return np.asarray(e / total[..., None], np.float32)


def _activated(x: Floats, activation: str) -> Floats:
    if activation == "none":
        return x
    return sigmoid(x) if activation == "sigmoid" else _softmax(x)


# ---- 4. classify ----


def _classify(
    record: ClassifyRecord, outputs: Mapping[str, Output], labels: tuple[str, ...]
) -> Classification:
    output = output_of(outputs, record.output)
    if record.quant is not None:
        output = Output(output.data, *record.quant)
    x = floats_of(output, record.output)
    if x.size == 0 or x.size != max(x.shape, default=1):
        raise ShapeError(
            f"output {record.output!r} is {list(x.shape)}, expected one axis longer than 1"
        )
    scores = _activated(x.reshape(-1), record.activation)
    taken = [
        i
        for i, score in enumerate(scores)
        if not math.isnan(score) and (record.threshold is None or score > record.threshold)
    ]
    best = sorted(taken, key=lambda i: (-scores[i], i))[: record.top]
    return Classification(tuple(Guess(label_of(labels, i), i, float(scores[i])) for i in best))


# ---- 5. boxes ----


def rows_of(
    part: Part, record: BoxesRecord, outputs: Mapping[str, Output], activation: str = "none"
) -> Floats:
    """The part's channels of all boxes, [N, channels]."""
    rows = []
    widths = set()
    for name in part.outputs:
        x = floats_of(output_of(outputs, name), name)
        fits = x.ndim == 2 or (x.ndim > 2 and x.shape[0] == 1)
        if x.ndim > 2 and fits:
            x = x[0]
        channels = (x.shape[0] if record.channels_first else x.shape[-1]) if fits else 0
        end = channels if part.end is None else part.end
        if not part.begin < end <= channels:
            raise ShapeError(
                f"output {name!r} is {list(x.shape)}, expected channels for {part}",
                fix="[1, N, channels], or with channels-first [1, channels, N]",
            )
        flat = x.reshape(channels, -1).T if record.channels_first else x.reshape(-1, channels)
        widths.add(channels)
        rows.append(_activated(flat, activation)[:, part.begin : end])
    if len(widths) != 1:
        raise ShapeError(
            f"the outputs of {part} have {sorted(widths)} channels, expected the same number in all"
        )
    return np.concatenate(rows)


def _anchors(
    record: BoxesRecord, outputs: Mapping[str, Output], geometry: PictureGeometry
) -> Floats:
    """x, y, width and height of each anchor in pixels, [N, 4]."""
    width, height = geometry.tensor
    if record.anchors is not None:
        return _pixels(rows_of(record.anchors, record, outputs, "none"), record, geometry)
    shift = 0.5 if record.at == "center" else 0.0
    rows = [
        ((x + shift) * prior.stride, (y + shift) * prior.stride, w, h)
        for prior in record.priors
        for y in range(-(-height // prior.stride))
        for x in range(-(-width // prior.stride))
        for w, h in prior.sizes
    ]
    return np.array(rows, np.float32)


def _pixels(pairs: Floats, record: BoxesRecord, geometry: PictureGeometry) -> Floats:
    """Pairs of numbers [N, 2k], x before y, in pixels."""
    x = _x_first(pairs, record)
    if record.units == "pixels":
        return x
    return x * np.tile(np.array(geometry.tensor, np.float32), x.shape[1] // 2)


def _x_first(pairs: Floats, record: BoxesRecord) -> Floats:
    if not record.yx:
        return pairs
    return pairs.reshape(len(pairs), -1, 2)[:, :, ::-1].reshape(pairs.shape)


def _scores(record: BoxesRecord, outputs: Mapping[str, Output]) -> tuple[Floats, npt.NDArray[Any]]:
    """The score and the class of each box."""
    scores = rows_of(record.score, record, outputs, record.activation)
    known = np.where(np.isnan(scores), np.float32(-np.inf), scores)
    classes = known.argmax(1)
    best = known[np.arange(len(known)), classes]
    best = np.where(best == -np.inf, np.float32(np.nan), best)
    if record.objectness is not None:
        activation = "sigmoid" if record.activation == "sigmoid" else "none"
        best = best * rows_of(record.objectness, record, outputs, activation)[:, 0]
        if record.combine == "sqrt":
            best = np.sqrt(best)
    return best, classes


def _corners(
    record: BoxesRecord, box: Floats, anchors: Floats | None, place: PictureGeometry
) -> Floats:
    """x0, y0, x1, y1 of each box in pixels of the input, [N, 4]."""
    if record.form == "corners":
        return _pixels(box, record, place)
    if record.form == "sides":
        assert anchors is not None
        sides = _x_first(box, record)
        point, size = anchors[:, :2], anchors[:, 2:]
        return np.concatenate([point - sides[:, :2] * size, point + sides[:, 2:] * size], 1)
    if record.form == "center":
        pixels = _pixels(box, record, place)
        middle, size = pixels[:, :2], pixels[:, 2:]
    else:
        assert anchors is not None
        given = _x_first(box, record)
        variances = np.array(record.variances, np.float32)
        middle = anchors[:, :2] + (given[:, :2] * variances[:2]) * anchors[:, 2:]
        size = anchors[:, 2:] * exp(given[:, 2:] * variances[2:])
    half = size * np.float32(0.5)
    return np.concatenate([middle - half, middle + half], 1)


def _points(
    record: BoxesRecord,
    outputs: Mapping[str, Output],
    anchors: Floats | None,
    place: PictureGeometry,
) -> Floats | None:
    """Points of each box in pixels of the input, [N, points, 2]."""
    if record.points is None:
        return None
    rows = rows_of(record.points, record, outputs, "none")
    if rows.shape[1] % record.point_step:
        raise ShapeError(
            f"points={record.points} has {rows.shape[1]} channels, expected a multiple of"
            f" {record.point_step}"
        )
    pairs = rows.reshape(len(rows), -1, record.point_step)[:, :, :2].reshape(len(rows), -1)
    if anchors is None:
        return _pixels(pairs, record, place).reshape(len(rows), -1, 2)
    given = _x_first(pairs, record).reshape(len(rows), -1, 2)
    variances = np.array(record.variances[:2], np.float32)
    return anchors[:, None, :2] + (given * variances) * anchors[:, None, 2:]


def _meet(kept: Floats, box: Floats, iou: float) -> bool:
    """Whether the intersection of two boxes is more than `iou` of their union."""
    w = min(kept[2], box[2]) - max(kept[0], box[0])
    h = min(kept[3], box[3]) - max(kept[1], box[1])
    both = w * h
    union = (
        (kept[2] - kept[0]) * (kept[3] - kept[1]) + (box[2] - box[0]) * (box[3] - box[1])
    ) - both
    return bool(w > 0 and h > 0 and both / union > np.float32(iou))


def _boxes(
    record: BoxesRecord,
    outputs: Mapping[str, Output],
    geometry: PictureGeometry,
    labels: tuple[str, ...],
) -> Detections:
    given = rows_of(record.box, record, outputs)
    anchored = record.form in ("anchors", "sides")
    anchors = _anchors(record, outputs, geometry) if anchored else None
    _check_counts(record, outputs, given, anchors, geometry)
    scores, classes = _scores(record, outputs)
    points = _points(record, outputs, anchors, geometry)
    corners = _corners(record, given, anchors, geometry)
    kept: list[int] = []
    for i in sorted(
        np.flatnonzero(scores > np.float32(record.threshold)), key=lambda i: (-scores[i], i)
    ):
        box = corners[i]
        if len(kept) == record.top:
            break
        if not (np.isfinite(box).all() and box[0] < box[2] and box[1] < box[3]):
            continue
        rivals = (k for k in kept if record.agnostic or classes[k] == classes[i])
        if not any(_meet(corners[k], box, record.iou) for k in rivals):
            kept.append(int(i))
    return _in_picture(kept, scores, classes, corners, points, geometry, labels)


def _check_counts(
    record: BoxesRecord,
    outputs: Mapping[str, Output],
    given: Floats,
    anchors: Floats | None,
    geometry: PictureGeometry,
) -> None:
    """ShapeError unless all parts describe the same number of boxes."""
    if given.shape[1] != 4:
        raise ShapeError(f"box={record.box} has {given.shape[1]} channels, expected 4")
    counts = {
        name: len(rows_of(getattr(record, name), record, outputs))
        for name in ("score", "objectness", "points")
        if getattr(record, name) is not None
    }
    counts = {"box": len(given), **counts}
    if anchors is not None:
        width, height = geometry.tensor
        counts["anchors" if record.anchors else f"priors of {width}x{height} pixels"] = len(anchors)
    if len(set(counts.values())) != 1:
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ShapeError(
            f"the parts hold different numbers of boxes: {said}",
            fix="change the anchors or the parts: anchors follow from the size of the input",
        )


def _in_picture(
    kept: list[int],
    scores: Floats,
    classes: npt.NDArray[Any],
    corners: Floats,
    points: Floats | None,
    geometry: PictureGeometry,
    labels: tuple[str, ...],
) -> Detections:
    ends = geometry.to_picture(corners[kept].reshape(-1, 2, 2))
    limit = np.array([geometry.width, geometry.height], np.float32)
    ends = np.concatenate([ends.min(1), ends.max(1)], 1).reshape(-1, 2, 2)
    ends = np.where(ends > 0, ends, np.float32(0))
    ends = np.where(ends < limit, ends, limit)
    solid = (ends[:, 0] < ends[:, 1]).all(1)
    left = np.array(kept, np.int64)[solid]
    moved = None
    if points is not None:
        moved = geometry.to_picture(points[left])
        moved = np.where(np.isfinite(moved).all(-1, keepdims=True), moved, np.float32(0))
    return Detections(
        ends.reshape(-1, 4)[solid], scores[left], classes[left].astype(np.int32), labels, moved
    )


# ---- 6. mask ----


def _cells(record: MaskRecord, outputs: Mapping[str, Output]) -> tuple[npt.NDArray[Any], int]:
    """The class of each cell [height, width], and the number of classes."""
    output = output_of(outputs, record.output)
    shape = output.data.shape
    rank = 3 if record.layout == "nhw" else 4
    sides = shape[1:3] if record.layout != "nchw" else shape[2:]
    if len(shape) != rank or shape[0] != 1 or output.data.size == 0 or max(sides) > _MOST_SIZE:
        raise ShapeError(
            f"output {record.output!r} is {list(shape)}, expected {record.layout} of 1, of up to"
            f" {_MOST_SIZE} cells a side"
        )
    if record.layout == "nhw" and record.threshold is None:
        numbers = output.data[0]
        most = 255 if numbers.dtype.itemsize == 1 else 65535
        if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= most:
            raise ShapeError(
                f"output {record.output!r} of {numbers.dtype} holds no classes of 0..{most - 1}"
            )
        return numbers.astype(np.int64), most
    x = floats_of(output, record.output)[0]
    x = {"nchw": x, "nhwc": np.moveaxis(x, -1, 0) if rank == 4 else x, "nhw": x[None]}[
        record.layout
    ]
    if record.threshold is not None:
        if len(x) != 1:
            raise ShapeError(f"output {record.output!r} has {len(x)} channels, a threshold needs 1")
        scores = sigmoid(x[0]) if record.sigmoid else x[0]
        return (scores > np.float32(record.threshold)).astype(np.int64), 2
    if len(x) > 65535:
        raise ShapeError(f"output {record.output!r} has {len(x)} channels, expected up to 65535")
    return np.where(np.isnan(x), np.float32(-np.inf), x).argmax(0), len(x)


def _mask(
    record: MaskRecord,
    outputs: Mapping[str, Output],
    geometry: PictureGeometry,
    labels: tuple[str, ...],
) -> Mask:
    cells, count = _cells(record, outputs)
    dtype = np.uint8 if count <= 255 else np.uint16
    classes = np.full((geometry.height, geometry.width), np.iinfo(dtype).max, dtype)
    x, y, w, h = geometry.crop
    q, p = np.mgrid[0:h, 0:w].astype(np.int64)
    u, v = {
        0: (p, q),
        90: (h - 1 - q, p),
        180: (w - 1 - p, h - 1 - q),
        270: (q, w - 1 - p),
    }[geometry.rotation]
    (ow, oh), (rw, rh), (ox, oy) = geometry.oriented, geometry.resized, geometry.offset
    (tw, th), (mh, mw) = geometry.tensor, cells.shape
    if geometry.mirror:
        u = ow - 1 - u
    column = ((2 * u + 1) * rw + 2 * ow * ox) * mw // (2 * ow * tw)
    row = ((2 * v + 1) * rh + 2 * oh * oy) * mh // (2 * oh * th)
    seen = (column >= 0) & (column < mw) & (row >= 0) & (row < mh)
    inside = classes[y : y + h, x : x + w]
    inside[seen] = cells[row[seen], column[seen]].astype(dtype)
    return Mask(classes, labels)


# ---- 7. keypoints ----


def _offset(refine: str, left: np.float32, c: np.float32, right: np.float32) -> np.float32:
    zero = np.float32(0)
    if refine == "quarter":
        return np.float32(0.25 if right > left else -0.25 if left > right else 0)
    bend = (left - c) + (right - c)
    if not bend < 0:
        return zero
    offset = ((left - right) * np.float32(0.5)) / bend
    return zero if np.isnan(offset) else np.clip(offset, np.float32(-0.5), np.float32(0.5))


def _peak(record: KeypointsRecord, map_: Floats) -> tuple[np.float32, np.float32, np.float32]:
    """x and y in cells of a map's largest value, and that value."""
    nan = np.isnan(map_)
    if nan.all():
        return np.float32(0), np.float32(0), np.float32(np.nan)
    largest = np.where(nan, np.float32(-np.inf), map_).max()
    j, i = divmod(int(((map_ == largest) & ~nan).argmax()), map_.shape[1])
    dx = dy = np.float32(0)
    if record.refine != "none":
        if 0 < i < map_.shape[1] - 1:
            dx = _offset(record.refine, map_[j, i - 1], map_[j, i], map_[j, i + 1])
        if 0 < j < map_.shape[0] - 1:
            dy = _offset(record.refine, map_[j - 1, i], map_[j, i], map_[j + 1, i])
    half = np.float32(0.5)
    return (np.float32(i) + half) + dx, (np.float32(j) + half) + dy, map_[j, i]


def _keypoints(
    record: KeypointsRecord,
    outputs: Mapping[str, Output],
    geometry: PictureGeometry,
    labels: tuple[str, ...],
) -> Keypoints:
    size = np.array(geometry.tensor, np.float32)
    if record.heatmaps is not None:
        x = floats_of(output_of(outputs, record.heatmaps), record.heatmaps)
        sides = x.shape[2:] if record.layout == "nchw" else x.shape[1:3]
        if x.ndim != 4 or x.shape[0] != 1 or x.size == 0 or max(sides) > _MOST_SIZE:
            raise ShapeError(
                f"output {record.heatmaps!r} is {list(x.shape)}, expected {record.layout} of 1, of up"
                f" to {_MOST_SIZE} cells a side"
            )
        maps = x[0] if record.layout == "nchw" else np.moveaxis(x[0], -1, 0)
        peaks = np.array([_peak(record, each) for each in maps], np.float32)
        cells = np.array(maps.shape[:0:-1], np.float32)
        points, scores = peaks[:, :2] * (size / cells), peaks[:, 2]
        scores = sigmoid(scores) if record.sigmoid else scores
    else:
        name = str(record.points)
        x = floats_of(output_of(outputs, name), name)
        if x.size == 0 or x.size % record.step:
            raise ShapeError(
                f"output {name!r} has {x.size} elements, expected {record.step} a point"
            )
        rows = x.reshape(-1, record.step)
        points = rows[:, 1::-1] if record.yx else rows[:, :2]
        points = points * size if record.units == "ratio" else points
        scores = rows[:, 2] if record.step == 3 else np.ones(len(rows), np.float32)
    points = geometry.to_picture(points)
    right = np.isfinite(points).all(1) & ~np.isnan(scores)
    zero = np.float32(0)
    return Keypoints(np.where(right[:, None], points, zero), np.where(right, scores, zero), labels)
