# SPDX-License-Identifier: Apache-2.0
"""A library with exactly the parts that a survey finds gives the full library's bits, operator by operator.

What an operator uses without having said so when it was prepared is absent here: its calls crash, or
give other bits. Each part is met in the smallest set that holds it, so that no other case brings along
what was forgotten.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.ops.programs import FORMS, one_node

from samara.exporter.ir import save_program
from samara.exporter.ops import OpSpec, all_ops
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.build import for_target
from samara.exporter.package.features import functions
from samara.exporter.package.lists import lists
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import find_target
from samara.exporter.reports.needs import needs_of
from samara.exporter.types import SamaraError
from samara.pybridge import sources

pytestmark = pytest.mark.extended

OPERATORS = [op for op in all_ops() if "control" not in op.flags]
OPENED = ("files",)  # the features by which Python opens files


@dataclass(frozen=True)
class Case:
    """A model of one node with its inputs, in a folder, and what it needs."""

    folder: Path
    parts: frozenset[str]
    selection: Selection


def _cases(op: OpSpec, folder: Path) -> Iterator[Case]:
    for case in op.cases:
        for form in FORMS:
            try:
                made = one_node(op, case, form)
            except SamaraError:  # symbols may leave open what a rule must know
                continue
            if made is None:
                continue
            own = folder / f"{case.name}-{form}"
            own.mkdir(parents=True)
            save_program(made.program, own / "model.samara")
            np.savez(own / "inputs.npz", allow_pickle=False, **dict(made.feeds))
            try:
                selection = needs_of(own / "model.samara").selection
            except SamaraError:  # no sizes were found by trying that it takes
                continue
            if selection.parts is not None:
                yield Case(own, selection.parts, selection)


def _sets(cases: Sequence[Case]) -> list[Selection]:
    """Few selections, in which every part is in the smallest set of parts that has it."""
    chosen: dict[frozenset[str], Selection] = {}
    seen: set[str] = set()
    for case in sorted(cases, key=lambda c: (len(c.parts), sorted(c.parts))):
        if case.parts in chosen:
            chosen[case.parts] = chosen[case.parts].merge(case.selection)
        elif not chosen or not case.parts <= seen:
            chosen[case.parts] = case.selection
            seen |= case.parts
    return list(chosen.values())


def _library(path: Path, selection: Selection, compiler: str) -> Path:
    held = for_target(replace(selection, features=()), find_target("host"), wanted=OPENED)
    root = sources()
    text = amalgamate(lists(held, root), exports=functions(OPENED), sources=root)
    source = path.with_suffix(".c")
    source.write_text(text.source)
    command = [compiler, "-O0", "-fPIC", "-shared", f"-I{root / 'include'}", str(source)]
    subprocess.run([*command, "-o", str(path), "-lm", "-lpthread"], check=True)
    return path


def _answers(library: Path | None, cases: Sequence[Case]) -> list[dict[str, str]]:
    """What a library answers, in a process of its own; None is the full one."""
    script = Path(__file__).with_name("answers.py")
    lent = {} if library is None else {"SAMARA_LIBRARY": str(library)}
    done = subprocess.run(
        [sys.executable, str(script), *(str(case.folder) for case in cases)],
        env={**os.environ, **lent},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return [{"process": f"ended with {done.returncode}: {done.stderr[-300:]}"}] * len(cases)
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_an_operator_with_what_it_asked_for(
    op: OpSpec, tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    compiler = need_tool("cc", "cc")
    cases = list(_cases(op, tmp_path / "cases"))
    assert cases
    full = dict(zip([c.folder for c in cases], _answers(None, cases), strict=True))
    wrong = []
    for number, selection in enumerate(_sets(cases)):
        library = _library(tmp_path / f"lib{number}.so", selection, compiler)
        held = [c for c in cases if not selection.lacks(c.selection)]
        assert held
        for case, answer in zip(held, _answers(library, held), strict=True):
            if answer != full[case.folder]:
                wrong.append(f"{case.folder.name}: {answer}, not {full[case.folder]}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:5])
