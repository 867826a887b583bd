# SPDX-License-Identifier: Apache-2.0
"""`samara doctor FILE LIBRARY` reads both and says what the library does when it is run.

Pairs are whole models, models whose rows were changed at random, and libraries that were built for some
of them or from lists with a row taken out.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.commands import output_of
from tests.ops.control_programs import calls, counted_loop, if_of_equal_shapes
from tests.ops.mutate import Mutator

import samara
from samara.exporter.doctor.examine import doctor
from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import Program, ProgramBuilder
from samara.exporter.measure.survey import survey
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.features import FEATURES, functions, parts
from samara.exporter.package.lists import lists
from samara.exporter.package.selection import Selection, runtime_version
from samara.exporter.testing import small_onnx
from samara.exporter.types import SamaraError
from samara.pybridge import sources

pytestmark = pytest.mark.extended

MUTANTS = 8  # of each model
LEAST = 50  # pairs of either answer


@dataclass(frozen=True)
class Library:
    """A library that was built, and its list."""

    path: Path
    selection: Selection


def chain(*ops: str, dtype: str = "f32", shape: Sequence[int | str] = (3, 8)) -> Program:
    """Operators of one operand, one after the other."""
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", dtype, shape)
    for i, op in enumerate(ops):
        x = f.op(op, x, name=f"{op}{i}")
    f.finish([x], ["y"])
    return program.finish(["main"])


def dense(rows: int | str) -> Program:
    """A product with constant weights, and a softmax."""
    program = ProgramBuilder()
    f = program.function("main")
    w = np.random.default_rng(1).standard_normal((24, 40)).astype(np.float32)
    y = f.op("softmax", f.op("matmul", f.input("x", "f32", [rows, 24]), w, name="dense"), axis=-1)
    f.finish([y], ["y"])
    return program.finish(["main"])


def quantized() -> Program:
    """The small convolutional net in int8."""
    image = np.random.default_rng(2).standard_normal((1, 3, 8, 8)).astype(np.float32)
    return samara.quantize(import_onnx(small_onnx()), [{"image": image}])


PROGRAMS: dict[str, Callable[[], Program]] = {
    "conv": lambda: import_onnx(small_onnx()),
    "conv-int8": quantized,
    "row": lambda: dense(1),
    "rows": lambda: dense(7),
    "any-rows": lambda: dense("n"),
    "chain": lambda: chain("exp", "sin", "relu"),
    "half": lambda: chain("exp", "sin", dtype="f16"),
    "bytes": lambda: chain("neg", "abs", dtype="i8"),
    "loop": lambda: counted_loop().program,
    "if": lambda: if_of_equal_shapes().program,
    "call": lambda: calls().program,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each program as a file, and mutants of it."""
    folder = tmp_path_factory.mktemp("pairs")
    made: dict[str, Path] = {}
    for seed, (name, program) in enumerate(PROGRAMS.items()):
        built = program()
        made[name] = folder / f"{name}.samara"
        export(built, made[name], check=False)
        mutator = Mutator(samara.open_program(made[name]), seed)
        for i in range(MUTANTS):
            path = folder / f"{name}-{i}.samara"
            path.write_bytes(mutator.mutant(1)[0])
            made[f"{name}-{i}"] = path
    return made


@pytest.fixture(scope="module")
def libraries(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, Path],
    need_tool: Callable[[str, str], str],
) -> list[Library]:
    """Libraries for some of the models, and for lists that lack one row."""
    compiler = need_tool("cc", "cc")
    folder = tmp_path_factory.mktemp("libraries")
    wanted = [survey([files[n] for n in names])[0] for names in (("conv", "chain"), ("conv-int8",))]
    both = survey([files[n] for n in ("rows", "half", "if", "loop", "bytes")])[0]
    r = random.Random(7)
    less = replace(
        both, parts=frozenset((both.parts or frozenset()) - {r.choice(sorted(both.parts or ()))})
    )
    fewer = replace(both, ops={k: v for k, v in both.ops.items() if k != "exp"})
    whole = survey([files[name] for name in PROGRAMS])[0]
    old = replace(whole, version="0.3.0")
    return [
        _library(folder / f"lib{i}.so", selection, compiler)
        for i, selection in enumerate([*wanted, both, less, fewer, whole, old])
    ]


def _library(path: Path, selection: Selection, compiler: str) -> Library:
    chosen = replace(
        selection,
        features=tuple(FEATURES),
        parts=None if selection.parts is None else selection.parts | parts(tuple(FEATURES)),
    )
    root = sources()
    text = amalgamate(lists(chosen, root), exports=functions(tuple(FEATURES)), sources=root)
    source = path.with_suffix(".c")
    # A library of another version says so wherever its header is read.
    own = f'#define SAMARA_VERSION "{runtime_version()}"'
    assert own in text.source
    source.write_text(
        text.source.replace(
            own, own.replace(runtime_version(), chosen.version or runtime_version())
        )
    )
    command = [compiler, "-O1", "-fPIC", "-shared", f"-I{root / 'include'}", str(source)]
    subprocess.run([*command, "-o", str(path), "-lm", "-lpthread"], check=True)
    return Library(path, chosen)


def _refusals(library: Path, files: Sequence[Path]) -> list[str]:
    """What the library says, in a process of its own."""
    script = Path(__file__).with_name("refusals.py")
    said = output_of(sys.executable, script, *files, SAMARA_LIBRARY=str(library))
    answers: list[str] = json.loads(said)
    return answers


def _doctor_refuses(path: Path, library: Path) -> str:
    try:
        report = doctor(path, library=library)
    except SamaraError as error:
        return str(error)
    return "; ".join(f.reason for f in report.findings if f.level == "missing")


def test_the_doctor_refuses_what_the_library_refuses(
    files: dict[str, Path], libraries: list[Library]
) -> None:
    refused = accepted = 0
    wrong: list[str] = []
    for library in libraries:
        answers = _refusals(library.path, list(files.values()))
        for (name, path), answer in zip(files.items(), answers, strict=True):
            said = _doctor_refuses(path, library.path)
            refused += bool(answer)
            accepted += not answer
            if bool(said) != bool(answer):
                wrong.append(f"{name} on {library.path.name}: it says {answer!r}, doctor {said!r}")
    print(f"{refused} pairs refused, {accepted} accepted, {len(wrong)} disagreements")
    assert not wrong, "\n".join(wrong)
    assert refused >= LEAST
    assert accepted >= LEAST
