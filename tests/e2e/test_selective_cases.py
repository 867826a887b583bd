# SPDX-License-Identifier: Apache-2.0
"""A library with exactly the parts that a survey finds gives the full library's bits, operator by operator.

What an operator uses without having said so when it was prepared is absent here: its calls crash, or
give other bits. Each part is met in the smallest set of each operator that holds it, so that no other
case brings along what was forgotten. Operators with the same set share its library: its lists differ
in their rows alone, which no code of an operator asks for.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.answers import answers

from samara.exporter.conformance.programs import FORMS, one_node
from samara.exporter.ir import save_program
from samara.exporter.measure.survey import needs_of
from samara.exporter.ops import OpSpec, all_ops
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.features import functions
from samara.exporter.package.lists import lists
from samara.exporter.package.runtime_build import for_target
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import find_target
from samara.exporter.types import SamaraError
from samara.pybridge import sources

pytestmark = pytest.mark.extended

OPERATORS = [op for op in all_ops() if "control" not in op.flags]
OPENED = ("files",)  # the features by which Python opens files
# Lists whose rows are operators; the manifest repeats them.
_ROWS = frozenset({"ops/table/opdefs.inc", "ops/table/opattrs.inc", "base/build.h"})

Answer = dict[str, str]  # digests by instruction set


@dataclass(frozen=True)
class Case:
    """A model of one node with its inputs, in a folder, what it needs, and what the full library answers."""

    folder: Path
    selection: Selection
    full: Answer

    @property
    def parts(self) -> frozenset[str]:
        assert self.selection.parts is not None
        return self.selection.parts


@dataclass(frozen=True)
class Survey:
    """An operator's cases, and what is built for them by the library's key."""

    cases: Sequence[Case]
    sets: Mapping[str, Selection]


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
                yield Case(own, selection, answers(own))


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


def _lists(selection: Selection) -> dict[str, str]:
    held = for_target(replace(selection, features=()), find_target("host"), wanted=OPENED)
    return lists(held, sources())


def _key(selection: Selection) -> str:
    """The same for selections that differ only in operators, not in element types or parts."""
    of_parts = {path: text for path, text in _lists(selection).items() if path not in _ROWS}
    return hashlib.sha256(json.dumps(of_parts, sort_keys=True).encode()).hexdigest()[:16]


def _survey(op: OpSpec, folder: Path) -> Survey:
    cases = list(_cases(op, folder))
    sets: dict[str, Selection] = {}
    for selection in _sets(cases):
        key = _key(selection)
        sets[key] = sets[key].merge(selection) if key in sets else selection
    return Survey(cases, sets)


def _library(path: Path, selection: Selection, compiler: str) -> None:
    root = sources()
    text = amalgamate(_lists(selection), exports=functions(OPENED), sources=root)
    source = path.with_suffix(".c")
    source.write_text(text.source)
    command = [compiler, "-O0", "-g0", "-w", "-fPIC", "-shared", f"-I{root / 'include'}"]
    subprocess.run([*command, str(source), "-o", str(path), "-lm", "-lpthread"], check=True)


def _ask(library: Path, cases: Sequence[Case]) -> dict[str, Answer] | str:
    """What a library answers by folder, in a process of its own, or how that ended."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("answers.py"))],
        input="\n".join(str(case.folder) for case in cases),
        env={**os.environ, "SAMARA_LIBRARY": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return f"ended with {done.returncode}: {done.stderr[-300:]}"
    found: list[Answer] = json.loads(done.stdout)
    return {str(case.folder): answer for case, answer in zip(cases, found, strict=True)}


class Bench:
    """Surveys and libraries in a folder that all test processes share, each made once by one of them."""

    def __init__(self, folder: Path, ops: Sequence[OpSpec], compiler: str) -> None:
        self.folder = folder
        self.ops = ops
        self.compiler = compiler
        self.surveys: dict[str, Survey] = {}

    @contextmanager
    def _alone(self, name: str, *, wait: bool) -> Iterator[bool]:
        """Nobody else has `name` meanwhile; False where somebody has and `wait` is not set."""
        with open(self.folder / f"{name}.lock", "w", encoding="ascii") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True

    def survey(self) -> None:
        """Read or make the surveys of all operators; first those that no other process is at."""
        count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        start = len(self.ops) * number // count
        for wait in (False, True):
            for op in (*self.ops[start:], *self.ops[:start]):
                if op.name not in self.surveys:
                    self._surveyed(op, wait=wait)

    def _surveyed(self, op: OpSpec, *, wait: bool) -> None:
        file = self.folder / f"{op.name}.pickle"
        with self._alone(op.name, wait=wait) as mine:
            if mine and not file.exists():
                made = _survey(op, self.folder / op.name)
                file.write_bytes(pickle.dumps(made))
            if mine:
                self.surveys[op.name] = pickle.loads(file.read_bytes())

    def answers(self, op: OpSpec) -> dict[str, dict[str, Answer]]:
        """By library and folder of a case, what the libraries of an operator's sets answer."""
        found: dict[str, dict[str, Answer]] = {}
        for wait in (False, True):
            for key in self.surveys[op.name].sets:
                if key not in found:
                    self._answered(key, found, wait=wait)
        return found

    def _answered(self, key: str, found: dict[str, dict[str, Answer]], *, wait: bool) -> None:
        file = self.folder / f"{key}.json"
        with self._alone(key, wait=wait) as mine:
            if mine and not file.exists():
                file.write_text(json.dumps(self._built(key)))
            if mine:
                found[key] = json.loads(file.read_text())

    def _built(self, key: str) -> dict[str, Answer]:
        """Build a library of all operators that have its set; what it answers for their cases."""
        members = [s for s in self.surveys.values() if key in s.sets]
        whole = Selection()
        for member in members:
            whole = whole.merge(member.sets[key])
        library = self.folder / f"{key}.so"
        _library(library, whole, self.compiler)
        held = [[c for c in m.cases if not m.sets[key].lacks(c.selection)] for m in members]
        found = _ask(library, [case for cases in held for case in cases])
        if isinstance(found, str):  # whose case was it?
            found = {}
            for case in (case for cases in held for case in cases):
                answer = _ask(library, [case])
                own = {str(case.folder): {"process": answer}} if isinstance(answer, str) else answer
                found.update(own)
        library.unlink()
        library.with_suffix(".c").unlink()
        return found


@pytest.fixture(scope="session")
def bench(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    need_tool: Callable[[str, str], str],
) -> Bench:
    """What this session's tests of operators share, surveyed."""
    # clang is four times as fast as gcc at this.
    compiler = shutil.which("clang-19") or need_tool("cc", "cc")
    base = tmp_path_factory.getbasetemp()
    # Processes of pytest-xdist have folders side by side.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "selective_cases"
    folder.mkdir(exist_ok=True)
    asked = {
        item.callspec.id
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == Path(__file__)
    }
    bench = Bench(folder, [op for op in OPERATORS if op.name in asked], compiler)
    bench.survey()
    return bench


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_an_operator_with_what_it_asked_for(op: OpSpec, bench: Bench) -> None:
    full = {str(case.folder): case.full for case in bench.surveys[op.name].cases}
    wrong = []
    answered = bench.answers(op)
    assert answered
    for key, found in answered.items():
        own = {folder: answer for folder, answer in found.items() if folder in full}
        assert own
        for folder, answer in own.items():
            if answer != full[folder]:
                wrong.append(f"{key} {Path(folder).name}: {answer}, not {full[folder]}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:5])
