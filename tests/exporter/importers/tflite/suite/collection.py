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
    "stablehlo": stablehlo.cases,
}
# The first version of operators whose version 1 LiteRT never had.
_FIRST: Final = {"BROADCAST_TO": 2}


@functools.cache
def suite() -> Mapping[str, Entry]:
    """The cases by name."""
    plain = [e for cases in FAMILIES.values() for e in cases()]
    return {e.name: e for e in [*plain, *_versions(plain)]}


def _versions(plain: list[Entry]) -> Iterator[Entry]:
    """The first case of each operator, in every version of the operator."""
    for e in {e.op: e for e in reversed(plain)}.values():
        for version in range(_FIRST.get(e.op, 1), coverage_of(e.op).newest + 1):
            yield replace(e, detail=f"{e.detail} version={version}", make=_in_version(e, version))


def _in_version(entry: Entry, version: int) -> Callable[[Any], Case]:
    return lambda rng: replace(entry.make(rng), version=version)
