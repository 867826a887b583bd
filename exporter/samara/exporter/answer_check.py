# SPDX-License-Identifier: Apache-2.0
"""Whether outputs can be what the records of answers say, before a file is written."""

from __future__ import annotations

import numpy as np

from samara.exporter.ir.answer_records import answers_of
from samara.exporter.ir.program import Function, Program, Value
from samara.exporter.ir.records import image_records_of
from samara.exporter.reference_answers import Output, answer
from samara.exporter.types import DType, SamaraError, ShapeError
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import ClassifyRecord


def check_answers(program: Program) -> None:
    """ShapeError where a record reads an answer from outputs whose shapes or dtypes it cannot be in.

    Outputs of symbolic shapes are left to the run.
    """
    pictured = set(image_records_of(program))
    for name, record in answers_of(program).items():
        f = program.functions[name]
        outputs = _zeros(f)
        geometry = (
            PictureGeometry.of_sizes(1, 1)
            if isinstance(record, ClassifyRecord)
            else _own_pixels(f, pictured)
        )
        if outputs is None or geometry is None:
            continue
        try:
            answer(record, outputs, geometry)
        except SamaraError as error:
            raise ShapeError(
                f"the record '{record}' does not fit function {name!r}: {error.message}",
                fix=error.fix or "change the record (docs/postprocessing.md)",
            ) from error


def _zeros(f: Function) -> dict[str, Output] | None:
    """Outputs that no variable is bound to, all zero; None where a shape is not known."""
    names = f.output_names or tuple(v.name for v in f.outputs)
    made = {}
    for i, value in enumerate(f.outputs):
        if i in f.writes:
            continue
        kind = value.type
        if not all(dim.is_static for dim in kind.shape):
            return None
        quant = kind.quant
        dtype = np.int8 if kind.dtype is DType.QS8 else kind.dtype.numpy
        zeros = np.zeros([dim.as_int() for dim in kind.shape], dtype)
        made[names[i]] = (
            Output(zeros)
            if quant is None
            else Output(zeros, float(quant.scales[0]), int(quant.zero_points[0]))
        )
    return made


def _own_pixels(f: Function, pictured: set[str]) -> PictureGeometry | None:
    """A picture that is the input as it is; None where its size is not known."""
    inputs: list[Value] = [v for v in f.inputs if v.name not in f.reads]
    about = next((v for v in inputs if v.name in pictured), inputs[0] if inputs else None)
    shape = () if about is None else about.type.shape
    if len(shape) < 2:
        return None
    last = len(shape) > 2 and shape[-1].is_static and shape[-1].as_int() in (1, 3)
    height, width = shape[-3:-1] if last else shape[-2:]
    if not (height.is_static and width.is_static):
        return None
    return PictureGeometry.of_sizes(width.as_int(), height.as_int())
