# SPDX-License-Identifier: Apache-2.0
"""Faults of input records: pictures or sound that do not fit the input, and implausible numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from samara.exporter.doctor._runs_on import Finding
from samara.exporter.doctor._sound import sound_findings
from samara.exporter.ir import Program, Value
from samara.exporter.ir.records import fixed_size, records_of
from samara.pybridge.image_record import ImageRecord

# Inputs of nets lie in -1..1, about -3..3 or 0..255; larger ones come from a mean or std in other units.
_LARGE: Final = 300.0
_NARROW: Final = 0.02


def record_findings(program: Program) -> Iterator[Finding]:
    """Findings for every input with a record: sizes that never or rarely fit, implausible numbers."""
    records = records_of(program)
    for value in program.main.inputs:
        record = records.get(value.name)
        if isinstance(record, ImageRecord):
            yield from _sizes(value, record)
            yield from _numbers(value, record)
        elif record is not None:
            yield from sound_findings(value, record)


def _sizes(value: Value, record: ImageRecord) -> Iterator[Finding]:
    axes = {axis: value.type.shape[record.layout.index(axis)] for axis in "wh"}
    wants = tuple(dim.as_int() if dim.is_static else None for dim in axes.values())
    if wants == (None, None):
        return
    asked = " x ".join("any" if side is None else str(side) for side in wants)
    made = fixed_size(record)
    if made is None:
        yield Finding(
            "doubtful",
            "record",
            (value.name,),
            f"the record does not resize pictures, and the input takes only {asked} pixels",
            f"add resize={asked.replace(' ', '')} to the record"
            if None not in wants
            else "add resize=",
        )
    elif any(w is not None and w != m for w, m in zip(wants, made, strict=True)):
        yield Finding(
            "missing",
            "record",
            (value.name,),
            f"the record makes {made[0]} x {made[1]} pixels, and the input takes {asked}",
            f"end the sizes of the record with {asked.replace(' ', '')}",
        )


def _numbers(value: Value, record: ImageRecord) -> Iterator[Finding]:
    if not record.dtype.startswith("float"):
        return
    low, high = record.limits
    text = f"the record gives numbers from {low:.4g} to {high:.4g}"
    if not record.mean and not record.scale:
        why = "", "add scale=0.003921569 if the net was trained on 0..1"
    elif max(-low, high) > _LARGE:
        why = (
            ", larger than nets are trained on",
            "mean, std and scale refer to pixels of 0..255: multiply those for 0..1 by 255",
        )
    elif high - low < _NARROW:
        why = (
            ", a range so small that all pixels look alike",
            "scale refers to pixels of 0..255: divide by 255 only once",
        )
    else:
        return
    yield Finding("doubtful", "record", (value.name,), text + why[0], why[1])
