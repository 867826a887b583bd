# SPDX-License-Identifier: Apache-2.0
"""Every case of the op table on devices for tests, to the bit as the CPU has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import samara
from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.operators import questions
from samara.exporter.ops import OpSpec, all_ops

OPERATORS = [op for op in all_ops() if "control" not in op.flags]
# Whose output dims depend on data, in some of their cases at least.
MEASURED = {"nonzero", "range"}
# Whose scales lie in panels in some cases, which no device reads.
PANELS = {"matmul_blocks"}
# What examples/backend_npu computes.
NPU = {"max_pool", "qadd", "qavg_pool", "qconv", "requantize", "reshape"}


@pytest.fixture(scope="module")
def mirror(device_library: Callable[[str], Path]) -> samara.Backend:
    return samara.Backend(device_library("mirror"), cache=False)


@pytest.fixture(scope="module")
def npu(device_library: Callable[[str], Path]) -> samara.Backend:
    return samara.Backend(device_library("npu"), cache=False)


def _wrong(question: Question, device: samara.Backend, placed: Counter[str]) -> str:
    """What is wrong with the device's bits, or "". `placed` counts nodes by device."""
    session = question.session(device)
    placed.update(row.device for row in session.placement() if row.op == question.op.name)
    for _ in range(2):
        got = session.run(question.feeds)
    failure = session.backend_report().failure
    if failure:
        return failure
    wrong = [n for n, y in question.want.items() if y.tobytes() != got[n].tobytes()]
    return f"other bits in {', '.join(wrong)}" if wrong else ""


def _run(op: OpSpec, device: samara.Backend) -> Counter[str]:
    """Run all cases in all forms; the nodes by device."""
    placed: Counter[str] = Counter()
    found = []
    for case in op.cases:
        for _, question in questions(op, case):
            fault = _wrong(question, device, placed)
            if fault:
                found.append(f"{question.name}: {fault}")
    assert not found, f"{len(found)} failures:\n" + "\n".join(found[:20])
    return placed


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_the_mirror_has_the_bits_of_the_cpu(op: OpSpec, mirror: samara.Backend) -> None:
    placed = _run(op, mirror)
    assert placed["mirror:0"] > 0 or op.name in MEASURED
    assert placed["cpu"] == 0 or op.name in MEASURED | PANELS


@pytest.mark.parametrize("op", [op for op in OPERATORS if op.name in NPU], ids=lambda op: op.name)
def test_the_npu_has_the_bits_of_the_cpu(op: OpSpec, npu: samara.Backend) -> None:
    assert _run(op, npu)["npu:0"] > 0
