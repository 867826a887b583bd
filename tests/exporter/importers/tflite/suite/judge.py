# SPDX-License-Identifier: Apache-2.0
"""The verdict of a case: import, passes, file and C runtime against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from tests.exporter.importers.tflite.models import (
    XNNPACK,
    Array,
    Case,
    T,
    agree,
    interpreter,
    ran,
    step,
)
from tests.exporter.importers.tflite.suite.entries import Entry, expected, steps

import samara
from samara.exporter.importers.tflite.registry import differences_of
from samara.exporter.types import SamaraError, UnsupportedError

VERDICTS: Final = ("right", "wrong", "refused", "invalid")


@dataclass(frozen=True, slots=True)
class Steps:
    """How integers differ: of how many elements, in how many, by how many steps at most."""

    elements: int = 0
    differ: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """verdict: one of VERDICTS; "invalid" where LiteRT refuses the case.

    reference, default: how the integers of an operator of quantized tensors differ from those of LiteRT's kernels;
    None of other operators. is_delegated: the default kernels are XNNPACK's. by_real: both differ by more than is
    allowed, and the result is right by LiteRT's float kernel. exact: how the integers of an exact import differ
    from the reference kernels'. refusal: why there is no exact import.
    """

    verdict: str
    reason: str = ""
    reference: Steps | None = None
    default: Steps | None = None
    is_delegated: bool = False
    by_real: bool = False
    exact: Steps | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class _Default:
    """What LiteRT's default kernels compute, and whether they are XNNPACK's."""

    results: list[Array]
    is_delegated: bool


def judged(entry: Entry, *, native: bool = True, exact: bool = False) -> Verdict:
    """The verdict of a case. Results are right if the interpreter and the C runtime agree with LiteRT's reference
    kernels, or with its default ones (XNNPACK). exact: measure an exact import too, in the C runtime.
    """
    case = entry.case()
    model, feeds = case.model(), case.feeds()
    try:
        want = expected(model, feeds)
    except (RuntimeError, ValueError) as error:
        return Verdict("invalid", _one_line(error))
    case = _with_shapes(case, want)
    model = case.model()
    other = _default(model, feeds)
    try:
        program = samara.import_tflite(model)
        names = [v.name for v in program.main.inputs]
        found = {
            "the interpreter": list(program.run(dict(zip(names, feeds, strict=True))).values())
        }
        if native:
            (found["the C runtime"],) = ran(program, feeds)
    except SamaraError as error:
        return Verdict("refused", _one_line(error))
    got = list(found.values())[-1]
    more: dict[str, Any] = {"reference": _distance(case, got, want)}
    known = [want]
    if other is not None:
        more["default"] = _distance(case, got, other.results)
        more["is_delegated"] = other.is_delegated
        known.append(other.results)
    if exact and more["reference"] is not None:
        more |= _measured_exact(case, want)
    fault = _faults(case, found, known)
    if not fault:
        return Verdict("right", **more)
    if _is_coarse(entry) and not _faults(case, found, [_in_real(case)]):
        return Verdict("right", by_real=True, **more)
    return Verdict("wrong", fault, **more)


def _is_coarse(entry: Entry) -> bool:
    return any(
        d.is_coarse and d.concerns("reference", entry.element) for d in differences_of(entry.op)
    )


def _measured_exact(case: Case, want: Sequence[Array]) -> dict[str, Any]:
    """The fields of an exact import in a verdict."""
    try:
        program = samara.import_tflite(case.model(), exact=True)
    except UnsupportedError as error:
        return {"refusal": _one_line(error)}
    (got,) = ran(program, case.feeds())
    return {"exact": _distance(case, got, want)}


def _faults(case: Case, found: dict[str, list[Array]], known: Sequence[Sequence[Array]]) -> str:
    """What is wrong with results that agree with none of the known ones, or the empty string."""
    for who, got in found.items():
        faults = [_fault(case, got, want) for want in known]
        if all(faults):
            return f"{who}: {faults[0]}"
    return ""


def _in_real(case: Case) -> list[Array]:
    """What LiteRT's float kernel gives for the operands' real numbers, quantized."""
    inputs = [t if t is None or t.scale is None else _dequantized(t) for t in case.inputs]
    outputs = [T(kind="FLOAT32", shape=()) for _ in case.outputs]
    plain = replace(case, inputs=inputs, outputs=outputs)
    return [
        steps(y, (_scale(t), 0), "int16")
        for t, y in zip(case.outputs, expected(plain.model(), plain.feeds()), strict=True)
    ]


def _scale(t: T) -> float:
    """Of a tensor with a single scale, as the file holds it."""
    assert isinstance(t.scale, float)
    return float(np.float32(t.scale))


def _dequantized(t: T) -> T:
    """An int16 tensor, whose zero point is 0."""
    assert t.data is not None
    data = t.data.astype(np.float64) * _scale(t)
    return replace(t, data=data.astype(np.float32), scale=None)


def _with_shapes(case: Case, want: Sequence[Array]) -> Case:
    """The case with the shapes of its results, without which XNNPACK takes no operator."""
    outputs = [replace(t, shape=w.shape) for t, w in zip(case.outputs, want, strict=True)]
    return replace(case, outputs=outputs)


def _default(model: bytes, feeds: Sequence[Array]) -> _Default | None:
    """What LiteRT's default kernels compute; None if they refuse."""
    try:
        made = interpreter(model, XNNPACK)
        results = step(made, feeds)
    except (RuntimeError, ValueError):
        return None
    names = [row["op_name"] for row in made._get_ops_details()]
    return _Default(results, "DELEGATE" in names)


def _fault(case: Case, got: Sequence[Array], want: Sequence[Array]) -> str:
    """What is wrong with results, or the empty string."""
    try:
        agree(got, want, atol=case.atol, rtol=case.rtol, steps=case.steps)
    except AssertionError as error:
        return _far(got, want) or _one_line(error)
    return ""


def _far(got: Sequence[Array], want: Sequence[Array]) -> str:
    """How far integers are apart; empty for other results."""
    for g, w in zip(got, want, strict=True):
        if (g.dtype, g.shape) == (w.dtype, w.shape) and w.dtype.kind in "iu" and w.size:
            apart = np.abs(g.astype(np.int64) - w.astype(np.int64))
            if apart.max():
                return f"{(apart != 0).sum()} of {w.size} integers differ, by {apart.max()} at most"
    return ""


def _distance(case: Case, got: Sequence[Array], want: Sequence[Array]) -> Steps | None:
    """How far integers lie from LiteRT's; None if no tensor is quantized, or results are real numbers."""
    if all(t is None or t.scale is None for t in (*case.inputs, *case.outputs)):
        return None
    elements = differ = most = 0
    for g, w in zip(got, want, strict=True):
        if w.dtype.kind not in "iub" or g.shape != w.shape:
            continue
        d: Any = np.abs(g.astype(np.int64) - w.astype(np.int64))
        elements += d.size
        differ += int((d != 0).sum())
        most = max(most, int(d.max(initial=0)))
    return Steps(elements, differ, most) if elements else None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:400]
