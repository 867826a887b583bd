# SPDX-License-Identifier: Apache-2.0
"""The whole kit on devices for tests: one that has everything, one that has little, one that lies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.conformance.kit import SIZES, conformance
from samara.exporter.types import BackendError, DType, UnknownNameError

Library = Callable[[str], Path]
# Of the NPU: examples/backend_npu.
NPU = {"max_pool", "qadd", "qavg_pool", "qconv", "requantize", "reshape"}
MEASURED = {"nonzero", "range"}


@pytest.mark.slow
def test_the_mirror_passes(device_library: Library, mirror_hooks: ctypes.CDLL) -> None:
    card = conformance(device_library("mirror"), quick=True)
    assert card.passed, card.text()
    assert {row.op for row in card.rows if not row.supported} == MEASURED
    assert {part.state for part in card.parts} == {"passed"}


@pytest.mark.slow
def test_the_npu_passes_what_it_has(device_library: Library) -> None:
    told: list[tuple[int, int, str]] = []
    card = conformance(device_library("npu"), quick=True, progress=lambda *at: told.append(at))
    assert card.passed, card.text()
    assert {row.op for row in card.rows if row.supported} == NPU
    assert all(row.reasons for row in card.rows if not row.supported)
    assert {p.name: p.state for p in card.parts}["out of memory"] == "passed"
    assert told[0][0] == 0
    assert told[-1][:2] == (told[0][1], told[0][1])


@pytest.mark.parametrize("at", [1, 29, 155])
def test_a_mirror_that_lies_fails(
    device_library: Library, mirror_hooks: ctypes.CDLL, at: int
) -> None:
    mirror_hooks.mirror_lie(at)
    card = conformance(device_library("mirror"), quick=True, ops=["add", "conv", "qconv"])
    assert not card.passed
    wrong = [r.failure for r in card.rows if r.failed]
    wrong += [p.detail for p in card.parts if p.state == "failed"]
    assert wrong


def test_a_machine_without_ml_dtypes_leaves_out_cases(
    device_library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = conformance(device_library("mirror"), quick=True, ops=["cast"])
    lacking = {DType.BF16, DType.I4, DType.U4}
    monkeypatch.setattr(DType, "has_numpy", property(lambda self: self not in lacking))
    card = conformance(device_library("mirror"), quick=True, ops=["cast"])
    assert card.passed, card.text()
    (part,) = [p for p in card.parts if p.name == "cases of other types"]
    assert part.state == "NOT RUN"
    assert "bfloat16" in part.detail
    assert "pip install ml_dtypes" in part.detail
    left_out = {row.dtype for row in every.rows} - {row.dtype for row in card.rows}
    assert left_out == {dtype.name.lower() for dtype in lacking} & {row.dtype for row in every.rows}
    assert "bf16" in left_out


def test_the_same_every_time(device_library: Library) -> None:
    first, second = (
        conformance(device_library("npu"), quick=True, ops=["qconv"]) for _ in range(2)
    )
    assert first == second


def test_other_sizes_are_a_part(device_library: Library, mirror_hooks: ctypes.CDLL) -> None:
    card = conformance(device_library("mirror"), quick=True, ops=["matmul"])
    (part,) = [p for p in card.parts if p.name == SIZES]
    assert part.state == "passed"


def test_what_is_not_there(device_library: Library) -> None:
    with pytest.raises(UnknownNameError, match="no operator 'conf'"):
        conformance(device_library("npu"), ops=["conf"])
    with pytest.raises(BackendError):
        conformance("gpu")
