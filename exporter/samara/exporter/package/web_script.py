# SPDX-License-Identifier: Apache-2.0
"""The JavaScript of a web package without the parts that its models have no use of."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from samara.exporter.ir import read_file
from samara.exporter.ir.answer_records import answers_of
from samara.pybridge.answer_record import (
    BoxesRecord,
    ClassifyRecord,
    KeypointsRecord,
    MaskRecord,
)

_MARK = re.compile(r"/\*! (part \w+|end) \*/")
_ORIGIN = re.compile(r"^// What .*\n", re.MULTILINE)
_OF_ANSWERS = {
    ClassifyRecord: "classes",
    MaskRecord: "mask",
    BoxesRecord: "boxes",
    KeypointsRecord: "keypoints",
}


def parts_of(features: Collection[str], models: Sequence[Path]) -> frozenset[str]:
    """The parts of web/source/ that a package with the features and models needs.

    A package whose models have no records of answers, but which shall have the feature, gets all kinds.
    """
    parts = {name for name in ("images", "audio", "answers") if name in features}
    if "answers" in parts:
        records = [
            record for path in models for record in answers_of(read_file(path).program).values()
        ]
        kinds = {_OF_ANSWERS[type(record)] for record in records}
        parts |= kinds or set(_OF_ANSWERS.values())
    return frozenset(parts)


def cut(text: str, parts: Collection[str]) -> str:
    """Leave out what is between `/*! part NAME */` and its `/*! end */` for every NAME that is not in `parts`, and
    the line that says where the script comes from.
    """
    kept, open_parts = [], []
    for piece in _MARK.split(text):
        if piece.startswith("part "):
            open_parts.append(piece.removeprefix("part "))
        elif piece == "end":
            open_parts.pop()
        elif all(part in parts for part in open_parts):
            kept.append(piece)
    return _ORIGIN.sub("", "".join(kept), count=1)
