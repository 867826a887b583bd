# SPDX-License-Identifier: Apache-2.0
"""Every case of the op table on devices for tests, to the bit as the CPU has it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import samara
from samara.exporter.conformance.programs import FORMS, Form, one_node
from samara.exporter.ir import to_bytes
from samara.exporter.ops import Case, OpSpec, all_ops
from samara.exporter.types import ShapeError
from samara.pybridge._native import library_path

OPERATORS = [op for op in all_ops() if "control" not in op.flags]
# Whose output dims depend on data, in some of their cases at least.
MEASURED = {"nonzero", "range"}
# What examples/backend_npu computes.
NPU = {"max_pool", "qadd", "qavg_pool", "qconv", "requantize", "reshape"}


def _device(name: str) -> samara.Backend:
    path = Path(library_path()).resolve().parent / f"libsamara_{name}.so"
    if not path.exists():
        pytest.fail(f"{path.name} is not built: run `make build`", pytrace=False)
    return samara.Backend(path)


@pytest.fixture(scope="module")
def mirror() -> samara.Backend:
    return _device("mirror")


@pytest.fixture(scope="module")
def npu() -> samara.Backend:
    return _device("npu")


def _case(
    op: OpSpec, case: Case, form: Form, device: samara.Backend, placed: Counter[str]
) -> str | None:
    """What is wrong with a case, or None. `placed` counts its nodes by device."""
    try:
        made = one_node(op, case, form)
    except ShapeError:  # symbols may leave open what a rule must know
        return None
    if made is None:
        return None
    model = samara.Model(to_bytes(made.program))
    # Without strict accuracy the CPU may transform convolutions, which single operators do not.
    want = samara.Session(model, accuracy="strict").run(made.feeds)
    session = samara.Session(model, accuracy="strict", backend=device)
    placed.update(row.device for row in session.placement() if row.op == op.name)
    for _ in range(2):
        got = session.run(made.feeds)
    failure = session.backend_report().failure
    if failure:
        return failure
    wrong = [name for name, y in want.items() if y.tobytes() != got[name].tobytes()]
    return f"other bits in {', '.join(wrong)}" if wrong else None


def _run(op: OpSpec, device: samara.Backend) -> Counter[str]:
    """Run all cases in all forms; the nodes by device."""
    placed: Counter[str] = Counter()
    found = []
    for case in op.cases:
        for form in FORMS:
            fault = _case(op, case, form, device, placed)
            if fault is not None:
                found.append(f"{op.name}-{case.name} {form}: {fault}")
    assert not found, f"{len(found)} failures:\n" + "\n".join(found[:20])
    return placed


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_the_mirror_has_the_bits_of_the_cpu(op: OpSpec, mirror: samara.Backend) -> None:
    placed = _run(op, mirror)
    assert placed["mirror:0"] > 0 or op.name in MEASURED
    assert placed["cpu"] == 0 or op.name in MEASURED


@pytest.mark.parametrize("op", [op for op in OPERATORS if op.name in NPU], ids=lambda op: op.name)
def test_the_npu_has_the_bits_of_the_cpu(op: OpSpec, npu: samara.Backend) -> None:
    assert _run(op, npu)["npu:0"] > 0
