# SPDX-License-Identifier: Apache-2.0
"""Files of one node that lie about dims, dtypes, attributes and operands: an error, or a run that
touches nothing it may not, under AddressSanitizer and UndefinedBehaviorSanitizer.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.ops.control_programs import PROGRAMS
from tests.ops.mutate import Mutator
from tests.sanitizers import replay

from samara.exporter.conformance.programs import Form, one_node
from samara.exporter.ir import Program
from samara.exporter.ops import OpSpec, all_ops
from samara.exporter.testing import case_id
from samara.exporter.types import ShapeError

FORMS: tuple[Form, ...] = ("static", "symbols", "weights")
OPERATORS = [op for op in all_ops() if "control" not in op.flags]
Sanitized = Callable[[str, str, str], Path]


def sources(op: OpSpec) -> Iterator[tuple[str, Program]]:
    """Names and programs of the operator's cases."""
    for case in op.cases:
        for form in FORMS:
            try:
                made = one_node(op, case, form)
            except ShapeError:
                continue
            if made is not None:
                yield f"{case_id(op, case)}-{form}", made.program


def mutants(name: str, program: Program, count: int, folder: Path) -> dict[Path, list[str]]:
    """Writes `count` changed files; what was changed in each."""
    mutator = Mutator(program, zlib.crc32(name.encode()))
    made = {}
    for k in range(count):
        data, done = mutator.mutant()
        path = folder / f"{name}-{k}"
        path.write_bytes(data)
        made[path] = done
    return made


def check(program: Path, made: dict[Path, list[str]]) -> None:
    crashes = replay(program, list(made))
    assert not crashes, f"{len(crashes)} of {len(made)} crash:\n" + "\n\n".join(
        f"{c.path.name} {made[c.path]}\n{c.report}" for c in crashes[:3]
    )


def _of_operator(op: OpSpec, count: int, program: Path, folder: Path) -> int:
    made: dict[Path, list[str]] = {}
    for name, source in sources(op):
        made |= mutants(name, source, count, folder)
    check(program, made)
    for path in made:
        path.unlink()
    return len(made)


# In parts, so that all processors take some.
@pytest.mark.parametrize("part", range(4))
def test_operators(part: int, sanitized: Sanitized, tmp_path: Path) -> None:
    program = sanitized("asan-ubsan", "address", "run_fuzz")
    assert sum(_of_operator(op, 2, program, tmp_path) for op in OPERATORS[part::4]) > 1250


@pytest.mark.extended
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_operators_at_length(op: OpSpec, sanitized: Sanitized, tmp_path: Path) -> None:
    program = sanitized("asan-ubsan", "address", "run_fuzz")
    assert _of_operator(op, 40, program, tmp_path) >= 40


def _control(count: int, program: Path, folder: Path) -> None:
    made: dict[Path, list[str]] = {}
    for make in PROGRAMS:
        made |= mutants(make.__name__, make().program, count, folder)
    check(program, made)


def test_control(sanitized: Sanitized, tmp_path: Path) -> None:
    _control(60, sanitized("asan-ubsan", "address", "run_fuzz"), tmp_path)


@pytest.mark.extended
def test_control_at_length(sanitized: Sanitized, tmp_path: Path) -> None:
    _control(2000, sanitized("asan-ubsan", "address", "run_fuzz"), tmp_path)


def test_a_mutant_is_the_same_every_time() -> None:
    _, program = next(sources(OPERATORS[0]))
    first, second = (Mutator(program, 5) for _ in range(2))
    made = [first.mutant() for _ in range(9)]
    assert made == [second.mutant() for _ in range(9)]
    assert any(data != first.whole() for data, _ in made)
