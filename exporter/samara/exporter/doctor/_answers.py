# SPDX-License-Identifier: Apache-2.0
"""Faults of answer records: outputs that do not fit, and numbers that mean something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.answer_check import answer_faults, own_pixels, sizes_of_pictures
from samara.exporter.doctor._runs_on import Finding
from samara.exporter.ir import Function, Program, Value
from samara.exporter.ir.answer_records import answers_of, labels_of
from samara.exporter.ir.records import image_records_of
from samara.exporter.reference_answers import Floats, Output, floats_of, output_of, rows_of
from samara.exporter.types import SamaraError, Sym
from samara.pybridge.answer_record import (
    AnswerRecord,
    BoxesRecord,
    ClassifyRecord,
    KeypointsRecord,
    MaskRecord,
    Part,
)

# Activations that a net may end in, by their words in records.
_ACTIVATIONS: Final = {
    ops.softmax: "softmax",
    ops.qsoftmax: "softmax",
    ops.sigmoid: "sigmoid",
    ops.hard_sigmoid: "sigmoid",
}
_ROUNDED: Final = 0.02  # int8 and float16 probabilities deviate from 0, 1 and their sum by less
_ENOUGH: Final = 64  # this many numbers do not all lie in 0..1 by chance
_RATIOS: Final = 2.0  # coordinates below this are shares of a side, not pixels
_SMALL_IOU: Final = 0.1

Outputs = Mapping[str, Output]


def answer_findings(program: Program, outputs: Outputs | None = None) -> Iterator[Finding]:
    """Findings for every function with an answer record. `outputs` are those of a run of the default function,
    if there was one.
    """
    faults = answer_faults(program)
    for name, record in answers_of(program).items():
        if name in faults:
            fault = faults[name]
            yield Finding("missing", "answer", (name,), fault.message, fault.fix or "")
            continue
        f = program.functions[name]
        yield from _labels(program, f, record)
        yield from _scores(f, record, outputs if name == program.entries[0] else None)
        if outputs is not None and name == program.entries[0]:
            yield from _coordinates(program, f, record, outputs)


# ---- labels ----


def _labels(program: Program, f: Function, record: AnswerRecord) -> Iterator[Finding]:
    labels = len(labels_of(program))
    classes = _classes(program, f, record)
    if not labels or classes is None or labels == classes:
        return
    what = "points" if isinstance(record, KeypointsRecord) else "classes"
    fix = f"give {classes} labels, one a line"
    if classes == labels + 1:
        fix += "; the first class may be the background, which needs one, too"
        if isinstance(record, BoxesRecord):
            part = f"{','.join(record.score.outputs)}[{record.score.begin + 1}:]"
            fix += f" or is left out by score={part}"
    yield Finding(
        "doubtful",
        "labels",
        (_place(record),),
        f"there are {labels} labels for {classes} {what}",
        fix,
    )


def _classes(program: Program, f: Function, record: AnswerRecord) -> int | None:
    """The number of classes or points; None if the shape does not tell."""
    sizes = sizes_of_pictures(f, image_records_of(program))
    part = _main(record)
    value = _value(f, part.outputs[0])
    dims = value.type.shape
    atom = dims[0].sole_atom() if dims else None
    if isinstance(atom, Sym):
        sizes = {atom.name: 1, **sizes}  # the batch: answers need a batch of 1
    try:
        shape = [dim.evaluate(sizes) for dim in dims]
    except (KeyError, TypeError, OverflowError, ZeroDivisionError):
        return None
    if isinstance(record, ClassifyRecord):
        return max(shape, default=1)
    if isinstance(record, BoxesRecord):
        first = record.channels_first
        channels = shape[1 if len(shape) > 2 else 0] if first else shape[-1]
        return (channels if part.end is None else part.end) - part.begin
    if isinstance(record, MaskRecord):
        if record.threshold is not None or record.layout == "nhw":
            return None
        return shape[1 if record.layout == "nchw" else -1]
    if record.heatmaps is None:
        return int(np.prod(shape)) // record.step
    return shape[1 if record.layout == "nchw" else -1]


# ---- scores ----


def _scores(f: Function, record: AnswerRecord, outputs: Outputs | None) -> Iterator[Finding]:
    if not isinstance(record, (ClassifyRecord, BoxesRecord)):
        return
    part = _main(record)
    made = {_last_activation(f, _value(f, name)) for name in part.outputs}
    own = made.pop() if len(made) == 1 else None
    rows = _rows(record, outputs)
    if own is None and rows is not None:
        own = _looks_like(rows)
    said = record.activation
    if said != "none" and own is not None:
        yield _doubt(
            record,
            f"the record asks for {said}, and the net already applies {own}",
            f"leave {said} out",
        )
    if said == "none" and own is None and rows is not None and not _in_unit(rows):
        yield _doubt(
            record,
            f"the scores of a run lie in {rows.min():.3g}..{rows.max():.3g}, as those of a net without a"
            " final activation do",
            "add softmax if exactly one class is right, sigmoid if each is judged alone",
        )
        return
    bounded = said != "none" or own is not None or (rows is not None and _in_unit(rows))
    yield from _thresholds(record, bounded)


def _thresholds(record: ClassifyRecord | BoxesRecord, bounded: bool) -> Iterator[Finding]:
    threshold = record.threshold
    if bounded and threshold is not None and threshold >= 1:
        share = f", as threshold={threshold / 100:g}" if 1 < threshold <= 100 else ""
        yield _doubt(
            record,
            f"scores are at most 1, so threshold={threshold:g} drops every result",
            f"write it as a share of 1{share}",
        )
    if not isinstance(record, BoxesRecord):
        return
    if bounded and record.threshold <= 0:
        yield _doubt(
            record,
            f"threshold={record.threshold:g} keeps all boxes, however small their scores",
            "detectors usually take 0.2 to 0.7",
        )
    if record.iou < _SMALL_IOU:
        yield _doubt(
            record,
            f"iou={record.iou:g} drops boxes that hardly touch a better one",
            "detectors usually take 0.3 to 0.7; iou is a share of 1",
        )


def _last_activation(f: Function, value: Value) -> str | None:
    """The activation that makes an output, looking through nodes that only move or round elements."""
    makers = {id(v): n for n in f.nodes for v in n.outputs}
    for _ in range(len(f.nodes)):
        node = makers.get(id(value))
        if node is None:
            return None
        if node.op in _ACTIVATIONS:
            return _ACTIVATIONS[node.op]
        sources = [v for v in node.inputs if v is not None and v.constant is None]
        passing = node.op.copies or node.op in (ops.cast, ops.dequantize, ops.quantize)
        if not passing or len(sources) != 1:
            return None
        (value,) = sources
    return None


def _rows(record: ClassifyRecord | BoxesRecord, outputs: Outputs | None) -> Floats | None:
    """The numbers of a run that become scores, [things, classes]; None if they cannot be read."""
    if outputs is None:
        return None
    try:
        if isinstance(record, ClassifyRecord):
            rows = floats_of(output_of(outputs, record.output), record.output).reshape(1, -1)
        else:
            rows = rows_of(record.score, record, outputs)
    except SamaraError:
        return None
    return rows if rows.size and bool(np.isfinite(rows).all()) else None


def _looks_like(rows: Floats) -> str | None:
    """Whether numbers look like the result of a softmax or a sigmoid."""
    if not _in_unit(rows):
        return None
    if rows.shape[1] > 1 and bool((np.abs(rows.sum(1) - 1) < _ROUNDED).all()):
        return "softmax"
    return "sigmoid" if rows.size >= _ENOUGH else None


def _in_unit(rows: Floats) -> bool:
    return bool(rows.min() >= -_ROUNDED and rows.max() <= 1 + _ROUNDED)


# ---- coordinates ----


def _coordinates(
    program: Program, f: Function, record: AnswerRecord, outputs: Outputs
) -> Iterator[Finding]:
    """Check the units of boxes and points, and the input size for which anchors were made."""
    geometry = own_pixels(f, image_records_of(program))
    try:
        numbers = _numbers(record, outputs)
        anchors = (
            rows_of(record.anchors, record, outputs)
            if isinstance(record, BoxesRecord) and record.anchors is not None
            else None
        )
    except SamaraError:
        return
    if numbers is not None:
        yield from _units(record, numbers)
    if anchors is None or geometry is None or not anchors.size:
        return
    sides = np.array(geometry.tensor, np.float32)
    centres = anchors[:, 1::-1] if getattr(record, "yx", False) else anchors[:, :2]
    full = np.ones(2, np.float32) if getattr(record, "units", "") == "ratio" else sides
    spans = centres.max(0) / full
    if bool((spans > 1.1).any() or (spans < 0.6).any()):
        ends = " x ".join(f"{x:.4g}" for x in centres.max(0))
        size = "1 x 1" if full[0] == 1 else f"{geometry.tensor[0]} x {geometry.tensor[1]}"
        yield _doubt(
            record,
            f"the last anchor is at {ends} of {size}: the anchors are for another input size, or in"
            " other units",
            "make the anchors for this size, or change units=",
        )


def _numbers(record: AnswerRecord, outputs: Outputs) -> Floats | None:
    """Coordinates that the net outputs directly."""
    if isinstance(record, BoxesRecord) and record.form in ("corners", "center"):
        return rows_of(record.box, record, outputs)
    if isinstance(record, KeypointsRecord) and record.points is not None:
        numbers = floats_of(output_of(outputs, record.points), record.points)
        return numbers.reshape(-1, record.step)[:, :2]
    return None


def _units(record: Any, numbers: Floats) -> Iterator[Finding]:
    if not numbers.size or not np.isfinite(numbers).all():
        return
    most = float(np.quantile(np.abs(numbers), 0.95))
    if record.units == "pixels" and most <= _RATIOS:
        yield _doubt(
            record,
            f"units are pixels, but the coordinates of a run are at most {most:.3g}",
            "add units=ratio if they are shares of the width and height",
        )
    if record.units == "ratio" and most > 4 * _RATIOS:
        yield _doubt(
            record,
            f"units are shares of a side, but the coordinates of a run go up to {most:.3g}",
            "leave units=ratio out if they are pixels",
        )


# ---- parts of records ----


def _doubt(record: AnswerRecord, reason: str, fix: str) -> Finding:
    return Finding("doubtful", "answer", (_place(record),), reason, fix)


def _place(record: AnswerRecord) -> str:
    return ",".join(_main(record).outputs)


def _main(record: AnswerRecord) -> Part:
    """The part that holds scores, or points."""
    if isinstance(record, BoxesRecord):
        return record.score
    if isinstance(record, KeypointsRecord):
        return Part((record.heatmaps or record.points or "",))
    return Part((record.output,))


def _value(f: Function, name: str) -> Value:
    """The output with a name, or at a position."""
    names = f.output_names or tuple(v.name for v in f.outputs)
    kept = [
        (n, v) for i, (n, v) in enumerate(zip(names, f.outputs, strict=True)) if i not in f.writes
    ]
    for known, value in kept:
        if known == name:
            return value
    return kept[int(name[1:])][1]
