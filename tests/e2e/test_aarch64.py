# SPDX-License-Identifier: Apache-2.0
"""The C runtime on another architecture: cross-compiled for aarch64, run under qemu-user.

`SAMARA_AARCH64_BUILD` names a build folder of the `aarch64` preset that is up to date already; without it one is made.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.zoo import mobilenet_v2
from tests.e2e.commands import output_of, ran
from tests.e2e.models import NAMES, excess, recorded
from tests.ops.test_tiles import OPERATORS, named
from tests.ops.tiles import run_cases

import samara
from samara.exporter.build import build
from samara.exporter.ops import OpSpec
from samara.exporter.testing_text import write_tiny_text_model

SYSROOT = "/usr/aarch64-linux-gnu"
Tool = Callable[[str, str], str]

pytestmark = pytest.mark.emulated


@pytest.fixture(scope="module")
def qemu(need_tool: Tool) -> str:
    need_tool("aarch64", "aarch64-linux-gnu-gcc")
    return need_tool("qemu", "qemu-aarch64")


def configure(repo: Path, folder: Path) -> Path:
    """samara-run (and beside it two examples and op_cases) for aarch64, built in `folder`."""
    toolchain = repo / "runtime_c" / "cmake" / "aarch64-linux-gnu.cmake"
    subprocess.run(
        ["cmake", "-S", repo / "runtime_c", "-B", folder, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}",
         "-DCMAKE_BUILD_TYPE=Release"],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        ["cmake", "--build", folder, "--target", "samara-run", "minimal", "make_text", "op_cases"],
        check=True,
        capture_output=True,
    )
    return folder / "samara-run"


@pytest.fixture(scope="module")
def program(repo: Path, qemu: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("SAMARA_AARCH64_BUILD")
    if given:
        return Path(given) / "samara-run"
    return configure(repo, tmp_path_factory.mktemp("aarch64"))


def emulate(
    qemu: str, program: Path, *arguments: str | Path, options: tuple[str, ...] = ("-cpu", "max")
) -> str:
    """Run under qemu; standard error."""
    done = ran(qemu, *options, "-L", SYSROOT, program, *arguments)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_recorded_answer(name: str, models: Path, qemu: str, program: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.samara"
    samara.export(samara.import_onnx(models / name / "model.onnx"), file, check=False)
    case = min(recorded(models / name), key=lambda c: sum(a.size for a in c.inputs.values()))
    arguments: list[str | Path] = [file, "--output", tmp_path]
    for spec in samara.Model(file).function(None).inputs:
        array = case.inputs[spec.name]
        path = tmp_path / f"in{len(arguments)}.npy"
        np.save(path, array)
        arguments += ["--input", f"{spec.name}={path}"]
        if any(isinstance(d, str) for d in spec.shape):
            arguments += ["--shape", f"{spec.name}={'x'.join(map(str, array.shape))}"]
    emulate(qemu, program, *arguments)
    for output, want in case.outputs.items():
        got = np.load(tmp_path / f"{file_name(output)}.npy")
        assert excess(name, got, want) <= 1.0, output


@pytest.mark.parametrize("scheme", [None, "int4-dynamic", "int8-dynamic"])
def test_texts_are_those_of_this_machine(
    scheme: str | None, qemu: str, program: Path, tmp_path: Path
) -> None:
    """Token for token, with the dot products of i8mm, those of dot, and without either."""
    path = write_tiny_text_model(tmp_path / "m.samara", scheme=scheme, chunk=7)
    prompt, count = "a seed falls far from the tree", 40
    model = samara.TextModel(path)
    model.generate(prompt, max_tokens=count, temperature=0.8, top_k=40, seed=3)
    arguments: list[str | Path] = [path, prompt, str(count), "3"]
    for cpu in ("max", "neoverse-n1", "cortex-a53"):
        said = emulate(qemu, program.parent / "make_text", *arguments, options=("-cpu", cpu))
        assert [int(t) for t in said.split("tokens:")[1].split()] == model.tokens


def file_name(tensor: str) -> str:
    """How samara-run spells a tensor's name as a file name."""
    return re.sub(r'[/\\:*?"<>|]', "_", tensor)


def test_example(models: Path, qemu: str, program: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.samara"
    samara.export(samara.import_onnx(models / "mnist_cntk" / "model.onnx"), file, check=False)
    said = output_of(qemu, "-L", SYSROOT, program.parent / "minimal", file)
    assert said.startswith("output: 40 bytes")
    assert "neon" in said


# Kernels run in the C tests of this build, and `.ci/run bits` compares its integers; the gate adds a quarter of
# the cases of the operator with the most algorithms.
@pytest.mark.parametrize(
    ("op", "part"),
    [
        pytest.param(
            *(op, part),
            marks=[] if (op.name, part) == ("conv", 0) else pytest.mark.extended,
            id=f"{op.name}-{part}",
        )
        for op in OPERATORS
        for part in range(4 if op.name == "conv" else 1)
    ],
)
def test_operator(op: OpSpec, part: int, qemu: str, program: Path, tmp_path: Path) -> None:
    command = (qemu, "-cpu", "max", "-L", SYSROOT, program.parent / "op_cases")
    cases = named(op)[part :: 4 if op.name == "conv" else 1]
    found, _ = run_cases(command, cases, tmp_path, half_sums=True)
    assert not found, f"{len(found)} failures:\n" + "\n".join(found[:20])


def test_neon_takes_a_fifth_of_the_instructions(
    repo: Path, qemu: str, program: Path, need_tool: Tool, tmp_path: Path
) -> None:
    """MobileNetV2 at 96x96: NEON against the scalar kernels built without the compiler's vectorizer."""
    cc = need_tool("gcc", "gcc")
    counter = tmp_path / "count.so"
    subprocess.run(
        [cc, "-shared", "-fPIC", "-o", counter, repo / "tools" / "qemu_count.c"], check=True
    )
    file = tmp_path / "mobilenet.samara"
    samara.export(samara.import_onnx(mobilenet(96)), file, check=False)
    compiler = "aarch64-linux-gnu-gcc -fno-tree-vectorize -fno-tree-slp-vectorize"
    out, target = tmp_path / "scalar", "aarch64-linux-gnu"
    build([file], out=out, target=target, isa=("scalar",), opt="2", cc=compiler)
    scalar = out / "bin" / "samara-run"

    def one_run(binary: Path, isa: str) -> int:
        counts = []
        for repeat in ("1", "2"):  # the difference leaves out loading
            text = emulate(
                qemu, binary, file, "--isa", isa, "--repeat", repeat,
                options=("-cpu", "max", "-plugin", str(counter)),
            )  # fmt: skip
            found = re.search(r"instructions (\d+)", text)
            assert found is not None, text
            counts.append(int(found[1]))
        return counts[1] - counts[0]

    neon, plain = one_run(program, "neon"), one_run(scalar, "scalar")
    assert neon > 0
    assert 5 * neon <= plain, f"NEON {neon:,}, scalar {plain:,}: ratio {plain / neon:.2f}"


def mobilenet(size: int) -> bytes:
    """The benchmark's MobileNetV2 with seeded random weights, as ONNX bytes."""
    data: bytes = mobilenet_v2(size).SerializeToString()
    return data
