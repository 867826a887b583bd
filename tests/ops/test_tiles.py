# SPDX-License-Identifier: Apache-2.0
"""Operators cut into tiles in every way (runtime_c/tests/ops/op_cases.c) against their references, within buffers of
exactly the bytes they need, under AddressSanitizer too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ops.big_cases import big_cases
from tests.ops.tiles import Named, run_cases

from samara.exporter.ops import OpSpec, all_ops
from samara.exporter.testing import case_id
from samara.pybridge import library_path

OPERATORS = [op for op in all_ops() if "control" not in op.flags]
# What the cases of an operator with several algorithms run through.
ALGORITHMS = {
    "conv": {
        "point",
        "contiguous",
        "direct",
        "indirect",
        "depthwise",
        "winograd_f43",
        "winograd_f23",
    },
    "conv_transpose": {"point", "indirect", "depthwise", "depthwise_phases", "phases"},
    "conv_grad_input": {"point", "indirect", "depthwise", "depthwise_phases", "phases", "fold"},
    "qconv": {"point", "windows", "depthwise", "depthwise_3d"},
    "qconv_transpose": {"phases", "depthwise_phases"},
    "conv_dynamic": {"point", "windows", "depthwise"},
}
Sanitized = Callable[[str, str, str], Path]


def named(op: OpSpec) -> list[Named]:
    """The cases of the op table and the big ones."""
    cases = [(case_id(op, case), op, case) for case in op.cases]
    return cases + [(f"{op.name}-big-{i}", op, case) for i, case in enumerate(big_cases(op.name))]


@pytest.fixture(scope="module")
def program() -> Path:
    """op_cases beside the library."""
    path = Path(library_path()).resolve().parent / "op_cases"
    if not path.exists():
        pytest.fail(f"{path} is not built: run `make build`", pytrace=False)
    return path


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_every_cut(op: OpSpec, program: Path, tmp_path: Path) -> None:
    found, algorithms = run_cases([program], named(op), tmp_path)
    assert not found, f"{len(found)} failures:\n" + "\n".join(found[:20])
    assert algorithms == ALGORITHMS.get(op.name, set())


# In parts of equal length, so that all processors take some; an operator may be in all of them.
@pytest.mark.parametrize("part", range(8))
def test_every_cut_within_its_memory(part: int, sanitized: Sanitized, tmp_path: Path) -> None:
    program = sanitized("asan-ubsan", "address", "op_cases")
    cases = [case for op in OPERATORS for case in named(op)][part::8]
    found, _ = run_cases([program], cases, tmp_path)
    assert not found, f"{len(found)} failures:\n" + "\n".join(found[:20])
