# SPDX-License-Identifier: Apache-2.0
"""Check, before a file is written, that outputs fit the records of answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from samara.exporter.ir.answer_records import answers_of
from samara.exporter.ir.program import Function, Program, Value
from samara.exporter.ir.records import fixed_size, image_records_of
from samara.exporter.reference_answers import Output, answer
from samara.exporter.types import DType, SamaraError, ShapeError, Sym
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import ClassifyRecord
from samara.pybridge.image_record import ImageRecord


def check_answers(program: Program) -> None:
    """ShapeError if an answer record reads outputs of shapes or dtypes that it cannot use.

    Symbolic dims take the sizes that image records give them. Outputs of other symbolic shapes are
    checked at run time.
    """
    for fault in answer_faults(program).values():
        raise fault


def answer_faults(program: Program) -> dict[str, ShapeError]:
    """The errors that `check_answers` would raise, by the name of the function."""
    found = {}
    records = image_records_of(program)
    for name, record in answers_of(program).items():
        f = program.functions[name]
        outputs = _zeros(f, sizes_of_pictures(f, records))
        geometry = (
            PictureGeometry.of_sizes(1, 1)
            if isinstance(record, ClassifyRecord)
            else own_pixels(f, records)
        )
        if outputs is None or geometry is None:
            continue
        try:
            answer(record, outputs, geometry)
        except SamaraError as error:
            fault = ShapeError(
                f"the record '{record}' does not fit function {name!r}: {error.message}",
                fix=error.fix or "change the record (docs/guides/postprocessing.md)",
            )
            fault.__cause__ = error
            found[name] = fault
    return found


def sizes_of_pictures(f: Function, records: Mapping[str, ImageRecord]) -> dict[str, int]:
    """The symbolic dims of inputs to which a record gives a fixed size."""
    sizes: dict[str, int] = {}
    for value in f.inputs:
        record = records.get(value.name)
        if record is None or len(value.type.shape) != len(record.layout):
            continue
        made = fixed_size(record)
        sides = {} if made is None else {"w": made[0], "h": made[1]}
        for axis, dim in zip(record.layout, value.type.shape, strict=True):
            atom = dim.sole_atom()
            if isinstance(atom, Sym) and axis in {"n": 1, **sides}:
                sizes[atom.name] = {"n": 1, **sides}[axis]
    return sizes


def _zeros(f: Function, sizes: Mapping[str, int]) -> dict[str, Output] | None:
    """All-zero outputs of the function, without variables; None if a shape is unknown."""
    names = f.output_names or tuple(v.name for v in f.outputs)
    made = {}
    for i, value in enumerate(f.outputs):
        if i in f.writes:
            continue
        kind = value.type
        try:
            shape = [dim.evaluate(sizes) for dim in kind.shape]
        except (KeyError, TypeError, OverflowError, ZeroDivisionError):
            return None
        quant = kind.quant
        dtype = np.int8 if kind.dtype is DType.QS8 else kind.dtype.numpy
        zeros = np.zeros(shape, dtype)
        made[names[i]] = (
            Output(zeros)
            if quant is None
            else Output(zeros, float(quant.scales[0]), int(quant.zero_points[0]))
        )
    return made


def own_pixels(f: Function, records: Mapping[str, ImageRecord]) -> PictureGeometry | None:
    """The geometry of a picture that is used unchanged as the input; None if its size is unknown."""
    inputs: list[Value] = [v for v in f.inputs if v.name not in f.reads]
    about = next((v for v in inputs if v.name in records), inputs[0] if inputs else None)
    shape = () if about is None else about.type.shape
    if len(shape) < 2:
        return None
    last = len(shape) > 2 and shape[-1].is_static and shape[-1].as_int() in (1, 3)
    height, width = shape[-3:-1] if last else shape[-2:]
    sizes = sizes_of_pictures(f, records)
    try:
        return PictureGeometry.of_sizes(width.evaluate(sizes), height.evaluate(sizes))
    except (KeyError, TypeError):
        return None
