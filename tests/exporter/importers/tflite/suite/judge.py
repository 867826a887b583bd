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
    ran,
    witness,
)
from tests.exporter.importers.tflite.suite.entries import COARSE, Entry, expected, steps

import samara
from samara.exporter.types import SamaraError

VERDICTS: Final = ("right", "wrong", "refused", "invalid")


@dataclass(frozen=True, slots=True)
class Steps:
    """How integers differ: of how many elements, in how many, by how many steps at most."""

    elements: int = 0
    differ: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """verdict: one of VERDICTS; "invalid" where LiteRT refuses the case. reference, xnnpack: how the integers of a
    quantized result differ from LiteRT's; None of other results. by_real: both differ by more than is allowed, and
    the result is right by LiteRT's float kernel (entries.COARSE).
    """

    verdict: str
    reason: str = ""
    reference: Steps | None = None
    xnnpack: Steps | None = None
    by_real: bool = False


def judged(entry: Entry, *, native: bool = True) -> Verdict:
    """The verdict of a case. Results are right if the interpreter and the C runtime agree with LiteRT's reference
    kernels, or with its default ones (XNNPACK).
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
    reference = _distance(case, found, want)
    xnnpack = None if other is None else _distance(case, found, other)
    known = [want] if other is None else [want, other]
    fault = _faults(case, found, known)
    if not fault:
        return Verdict("right", "", reference, xnnpack)
    if (entry.op, entry.kind) in COARSE and not _faults(case, found, [_in_real(case)]):
        return Verdict("right", "", reference, xnnpack, by_real=True)
    return Verdict("wrong", fault, reference, xnnpack)


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


def _default(model: bytes, feeds: Sequence[Array]) -> list[Array] | None:
    """What LiteRT's default kernels compute; None if they refuse."""
    try:
        return witness(model, feeds, XNNPACK)
    except (RuntimeError, ValueError):
        return None


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


def _distance(case: Case, found: dict[str, list[Array]], want: Sequence[Array]) -> Steps | None:
    """How far the integers of quantized results lie from LiteRT's."""
    got = list(found.values())[-1]
    elements = differ = most = 0
    for t, g, w in zip(case.outputs, got, want, strict=True):
        if t.scale is None or g.shape != w.shape:
            continue
        d: Any = np.abs(g.astype(np.int64) - w.astype(np.int64))
        elements += d.size
        differ += int((d != 0).sum())
        most = max(most, int(d.max(initial=0)))
    return Steps(elements, differ, most) if elements else None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:400]
