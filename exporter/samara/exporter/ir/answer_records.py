# SPDX-License-Identifier: Apache-2.0
"""Answer records: what the outputs of an entry mean. A Program keeps them in its metadata, a file in tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from samara.exporter.ir import flat
from samara.exporter.ir.program import Function, Program
from samara.exporter.types import ArgumentError, ModelFormatError
from samara.pybridge.answer_record import (
    AnswerRecord,
    BoxesRecord,
    ClassifyRecord,
    KeypointsRecord,
    MaskRecord,
    Part,
    Prior,
    parse_answer_record,
)
from samara.pybridge.files import kind_of
from samara.pybridge.names import unknown

ANSWERS: Final = "postprocess"
"""The entry of Program.metadata: JSON, {function: text of its record}."""

Answers = AnswerRecord | str | Mapping[str, AnswerRecord | str]

_KINDS: Final = (ClassifyRecord, MaskRecord, BoxesRecord, KeypointsRecord)
# A word's code is its position.
_FORMS: Final = ("corners", "center", "anchors", "sides")
_ACTIVATIONS: Final = ("none", "sigmoid", "softmax")
_LAYOUTS: Final = ("nchw", "nhwc", "nhw")
_REFINES: Final = ("none", "quarter", "parabola")
_PARTS: Final = ("objectness", "points", "anchors")  # optional parts of boxes


def answers_of(program: Program) -> dict[str, AnswerRecord]:
    """{function: its record}"""
    return {name: parse_answer_record(text) for name, text in _texts(program).items()}


def with_answers(program: Program, given: Answers) -> Program:
    """The program with this record for its first entry, or these records by function; "" removes one.

    ArgumentError for a text that is no record, UnknownNameError for an unknown function or output.
    """
    texts = _texts(program)
    table = given if isinstance(given, Mapping) else {program.entries[0]: given}
    for name, one in table.items():
        if name not in program.entries:
            raise unknown("postprocess: the model has no function", name, program.entries, "it has")
        if not one:
            texts.pop(name, None)
            continue
        record = parse_answer_record(one) if isinstance(one, str) else one
        if not isinstance(record, _KINDS):
            raise ArgumentError(
                f"the record of an answer is {kind_of(record)}",
                fix='give a record, or its text: "classify logits softmax"',
            )
        _resolve(record, _outputs(program.functions[name]))
        texts[name] = str(record)
    return _with_texts(program, texts)


def renamed_answers(program: Program, names: Mapping[str, str]) -> Program:
    """The program whose outputs were renamed, {old: new}, with its records renamed too."""
    moved = {
        function: str(_with_outputs(record, lambda name: names.get(name, name)))
        for function, record in answers_of(program).items()
    }
    return _with_texts(program, moved)


def joined_answers(metadata: Mapping[str, str], functions: Mapping[str, str]) -> dict[str, str]:
    """The records of a program whose functions go into another program as {old: new}."""
    texts = json.loads(metadata.get(ANSWERS, "{}"))
    return {functions[name]: text for name, text in texts.items() if name in functions}


def labels_of(program: Program) -> list[str]:
    """The labels of classes in the metadata, which holds them as a JSON list."""
    try:
        labels = json.loads(program.metadata.get("labels", "[]"))
    except ValueError:
        return []
    sound = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    return labels if sound else []


def _texts(program: Program) -> dict[str, str]:
    texts: dict[str, str] = json.loads(program.metadata.get(ANSWERS, "{}"))
    return texts


def _with_texts(program: Program, texts: Mapping[str, str]) -> Program:
    metadata = {k: v for k, v in program.metadata.items() if k != ANSWERS}
    return replace(
        program, metadata={**metadata, ANSWERS: json.dumps(texts)} if texts else metadata
    )


def _outputs(f: Function) -> list[str]:
    """Names of outputs that are not bound to variables."""
    names = f.output_names or tuple(v.name for v in f.outputs)
    return [name for i, name in enumerate(names) if i not in f.writes]


# ---- outputs that a record names ----


def _with_outputs(record: AnswerRecord, to: Any) -> AnswerRecord:
    """The record with each name of an output replaced by `to(name)`."""
    changed: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Part):
            changed[field.name] = replace(value, outputs=tuple(to(n) for n in value.outputs))
        elif field.name == "output" or (
            isinstance(record, KeypointsRecord) and field.name in ("heatmaps", "points") and value
        ):
            changed[field.name] = to(value)
    return replace(record, **changed)


def _resolve(record: AnswerRecord, outputs: list[str]) -> None:
    """Raise UnknownNameError for an unknown output."""
    _with_outputs(record, lambda name: f"#{_position(name, outputs)}")


def _position(name: str, outputs: list[str]) -> int:
    if name in outputs:
        return outputs.index(name)
    if name.startswith("#") and name[1:].isdecimal() and int(name[1:]) < len(outputs):
        return int(name[1:])
    raise unknown("postprocess: the model has no output", name, outputs, "it gives")


# ---- in files ----


def answer_row(f: Function, record: AnswerRecord | None, pictured: Iterable[str]) -> Any:
    """A row of the table AnswerRecord, None without a record. `pictured`: the inputs that are made of pictures."""
    if record is None:
        return None
    outputs = _outputs(f)
    inputs = [v.name for v in f.inputs if v.name not in f.reads]
    about = [i for i, name in enumerate(inputs) if name in set(pictured)]
    row: dict[str, Any] = {
        "kind": 1 + _KINDS.index(type(record)),
        "input": about[0] if about else 0,
    }

    def part(given: Part | str | None) -> dict[str, Any] | None:
        if given is None:
            return None
        each = Part((given,)) if isinstance(given, str) else given
        return {
            "outputs": [_position(name, outputs) for name in each.outputs],
            "begin": each.begin,
            "end": each.end or 0,
        }

    if isinstance(record, BoxesRecord):
        return (
            row
            | _boxes_row(record)
            | {
                "main": part(record.box),
                "score": part(record.score),
                **{name: part(getattr(record, name)) for name in _PARTS},
            }
        )
    if isinstance(record, KeypointsRecord):
        return row | {
            "main": part(record.heatmaps or record.points),
            "heatmaps": record.heatmaps is not None,
            "layout": _LAYOUTS.index(record.layout),
            "refine": _REFINES.index(record.refine),
            "activation": int(record.sigmoid),
            "yx": record.yx,
            "ratio": record.units == "ratio",
            "step": record.step,
        }
    limit = {"limited": record.threshold is not None, "threshold": record.threshold or 0.0}
    kind: dict[str, int | float]
    if isinstance(record, MaskRecord):
        layout = _LAYOUTS.index(record.layout)
        kind = {"layout": layout, "activation": int(record.sigmoid)}
    else:
        scale, zero = record.quant or (0.0, 0)
        kind = {
            "activation": _ACTIVATIONS.index(record.activation),
            "top": record.top,
            "scale": scale,
            "zero_point": zero,
        }
    return row | limit | kind | {"main": part(record.output)}


def _boxes_row(r: BoxesRecord) -> dict[str, Any]:
    return {
        "form": _FORMS.index(r.form),
        "activation": _ACTIVATIONS.index(r.activation),
        "step": r.point_step,
        "root": r.combine == "sqrt",
        "channels_first": r.channels_first,
        "yx": r.yx,
        "ratio": r.units == "ratio",
        "corner": r.at == "corner",
        "agnostic": r.agnostic,
        "top": r.top,
        "threshold": r.threshold,
        "iou": r.iou,
        "variances": list(r.variances) if set(r.variances) != {1.0} else [],
        "levels": [
            {"stride": p.stride, "sizes": [side for size in p.sizes for side in size]}
            for p in r.priors
        ],
    }


def answer_read(row: flat.Row | None, f: Function) -> str | None:
    """The text of a function's row."""
    if row is None:
        return None
    try:
        return str(_record(row, _outputs(f)))
    except (ArgumentError, ValueError, IndexError) as error:
        raise ModelFormatError(f"an answer record: {error}") from error


def _record(row: flat.Row, outputs: list[str]) -> AnswerRecord:
    def part(given: flat.Row | None) -> Part | None:
        if given is None:
            return None
        names = tuple(_spoken(i, outputs) for i in given["outputs"])
        return Part(names, given["begin"], given["end"] or None)

    def sole() -> str:
        found = part(row["main"])
        if found is None or len(found.outputs) != 1:
            raise ModelFormatError("an answer record: it names no single output")
        return found.outputs[0]

    kind = row["kind"]
    limit = row["threshold"] if row["limited"] else None
    activation: Any = _word(_ACTIVATIONS, row["activation"])
    layout: Any = _word(_LAYOUTS, row["layout"])
    if kind == 1:
        quant = (row["scale"], row["zero_point"]) if row["scale"] else None
        return ClassifyRecord(sole(), activation, row["top"], limit, quant)
    if kind == 2:
        return MaskRecord(sole(), layout, activation == "sigmoid", limit)
    units: Any = "ratio" if row["ratio"] else "pixels"
    if kind == 3:
        return _boxes(row, activation, units, part)
    if kind == 4:
        maps = bool(row["heatmaps"])
        refine: Any = _word(_REFINES, row["refine"])
        return KeypointsRecord(
            sole() if maps else None,
            None if maps else sole(),
            layout,
            refine,
            activation == "sigmoid",
            bool(row["yx"]),
            units,
            row["step"],
        )
    raise ModelFormatError(f"an answer record: no kind has code {kind}")


def _boxes(row: flat.Row, activation: Any, units: Any, part: Any) -> BoxesRecord:
    box, score = part(row["main"]), part(row["score"])
    if box is None or score is None:
        raise ModelFormatError("an answer record: boxes without their parts")
    form: Any = _word(_FORMS, row["form"])
    sizes = [list(level["sizes"]) for level in row["levels"]]
    return BoxesRecord(
        form,
        box,
        score,
        **{name: part(row[name]) for name in _PARTS},
        activation=activation,
        combine="sqrt" if row["root"] else "product",
        channels_first=bool(row["channels_first"]),
        yx=bool(row["yx"]),
        units=units,
        priors=tuple(
            Prior(level["stride"], tuple(zip(s[::2], s[1::2], strict=True)))
            for level, s in zip(row["levels"], sizes, strict=True)
        ),
        at="corner" if row["corner"] else "center",
        variances=tuple(row["variances"]) or (1.0, 1.0, 1.0, 1.0),
        point_step=row["step"],
        threshold=row["threshold"],
        iou=row["iou"],
        top=row["top"],
        agnostic=bool(row["agnostic"]),
    )


def _spoken(position: int, outputs: list[str]) -> str:
    """The name of an output, or its position if a record's text cannot hold the name."""
    if position >= len(outputs):
        raise ModelFormatError(f"an answer record: output {position} of {len(outputs)}")
    try:
        Part((outputs[position],))
    except ArgumentError:
        return f"#{position}"
    return outputs[position]


def _word(words: tuple[str, ...], code: int) -> str:
    if code >= len(words):
        raise ModelFormatError(f"an answer record: code {code} is none of {', '.join(words)}")
    return words[code]
