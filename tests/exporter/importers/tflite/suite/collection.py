# SPDX-License-Identifier: Apache-2.0
"""All cases of the suite."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from tests.exporter.importers.tflite.models import Case
from tests.exporter.importers.tflite.suite import (
    detection,
    indexing,
    movement,
    pointwise,
    products,
    reduction,
    resizing,
    sparse,
    spectra,
    stablehlo,
    windows,
)
from tests.exporter.importers.tflite.suite.entries import Entry

from samara.exporter.importers.tflite.coverage import coverage_of

FAMILIES: Final[Mapping[str, Callable[[], Iterator[Entry]]]] = {
    "windows": windows.cases,
    "products": products.cases,
    "pointwise": pointwise.cases,
    "movement": movement.cases,
    "indexing": indexing.cases,
    "reduction": reduction.cases,
    "resizing": resizing.cases,
    "detection": detection.cases,
    "spectra": spectra.cases,
    "sparse": sparse.cases,
    "stablehlo": stablehlo.cases,
}
# The first version of operators whose version 1 LiteRT never had.
_FIRST: Final = {"BROADCAST_TO": 2}


@functools.cache
def suite() -> Mapping[str, Entry]:
    """The cases by name."""
    plain = [e for cases in FAMILIES.values() for e in cases()]
    return {e.name: e for e in [*plain, *_versions(plain), *_batches(plain), *_fed(plain)]}


def _versions(plain: list[Entry]) -> Iterator[Entry]:
    """The first case of each operator, in every version of the operator."""
    for e in {e.op: e for e in reversed(plain)}.values():
        for version in range(_FIRST.get(e.op, 1), coverage_of(e.op).newest + 1):
            yield replace(e, detail=f"{e.detail} version={version}", make=_in_version(e, version))


# Operators whose first axis is no batch: what they do depends on its size.
_NO_BATCH: Final = ("SQUEEZE",)
_TRIED: Final = 3


def _batches(plain: list[Entry]) -> Iterator[Entry]:
    """An early case of each operator and element type that has a single input, with a symbolic first axis."""
    early: dict[tuple[str, str], list[Entry]] = {}
    for e in plain:
        if e.kind in ("float32", "int8") and e.op not in _NO_BATCH:
            early.setdefault((e.op, e.kind), []).append(e)
    for tried in early.values():
        found = next((e for e in tried[:_TRIED] if _has_batch(e)), None)
        if found is not None:
            detail = f"{found.detail} symbolic"
            yield replace(found, detail=detail, make=_with_batch(found))


# Operators whose sizes and indices may be known only while the model runs.
_RUN_TIME: Final = """
RESHAPE SLICE PAD PADV2 TILE BROADCAST_TO FILL REVERSE_SEQUENCE DYNAMIC_UPDATE_SLICE GATHER GATHER_ND SCATTER_ND
SPARSE_TO_DENSE ONE_HOT TOPK_V2 UNSORTED_SEGMENT_SUM RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR
"""


def _fed(plain: list[Entry]) -> Iterator[Entry]:
    """Early cases of each of these operators, with what was constant as an input."""
    for op in _RUN_TIME.split():
        for e in [e for e in plain if e.op == op and e.kind == "float32"][
            : 1 if op == "RESHAPE" else _TRIED
        ]:
            yield replace(e, detail=f"{e.detail} fed", make=_all_fed(e))


def _all_fed(entry: Entry) -> Callable[[Any], Case]:
    def make(rng: Any) -> Case:
        case = entry.make(rng)
        inputs = [t if t is None else replace(t, constant=False) for t in case.inputs]
        return replace(case, inputs=inputs)

    return make


def _has_batch(entry: Entry) -> bool:
    fed = [t for t in entry.case().inputs if t is not None and not t.constant]
    return len(fed) == 1 and len(fed[0].sizes) > 1


def _with_batch(entry: Entry) -> Callable[[Any], Case]:
    def make(rng: Any) -> Case:
        case = entry.make(rng)
        inputs = [
            t if t is None or t.constant else replace(t, signature=[-1, *t.sizes[1:]])
            for t in case.inputs
        ]
        return replace(case, inputs=inputs)

    return make


def _in_version(entry: Entry, version: int) -> Callable[[Any], Case]:
    return lambda rng: replace(entry.make(rng), version=version)
