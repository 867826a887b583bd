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
    agree,
    ran,
    witness,
)
from tests.exporter.importers.tflite.suite.entries import Entry, expected

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
    quantized result differ from LiteRT's; None of other results.
    """

    verdict: str
    reason: str = ""
    reference: Steps | None = None
    xnnpack: Steps | None = None


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
    for who, got in found.items():
        fault = _fault(case, got, want)
        if fault and (other is None or _fault(case, got, other)):
            return Verdict("wrong", f"{who}: {fault}", reference, xnnpack)
    return Verdict("right", "", reference, xnnpack)


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
