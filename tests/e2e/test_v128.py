# SPDX-License-Identifier: Apache-2.0
"""The kernels in vectors of 128 bits (simd/v128_begin.h), by their own C tests: as WebAssembly with
SIMD and with relaxed SIMD under node, for RISC-V with V under qemu.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

pytestmark = pytest.mark.emulated

_WASI = """\
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1", args: process.argv.slice(2), returnOnExit: true });
const code = await WebAssembly.compile(readFileSync(process.argv[2]));
process.exit(wasi.start(await WebAssembly.instantiate(code, wasi.getImportObject())));
"""
_FLAGS = ("-std=c11", "-DSMR_OS_NONE")


@dataclass(frozen=True)
class Machine:
    """How a program for it is made and run."""

    cc: Sequence[str]
    link: Sequence[str]
    runner: Sequence[str]
    layouts: Sequence[Sequence[str]] = ((),)
    """Options of the linker, each of which puts code at other addresses."""


# Relaxed SIMD has what SIMD has, and more; RISC-V takes qemu.
_EXTENDED = [pytest.param(name, marks=pytest.mark.extended) for name in ("wasm", "riscv64")]


@pytest.fixture(scope="module", params=["wasm-relaxed", *_EXTENDED])
def machine(
    request: pytest.FixtureRequest,
    need_tool: Tool,
    missing: Missing,
    tmp_path_factory: pytest.TempPathFactory,
) -> Machine:
    if request.param != "riscv64":
        if importlib.util.find_spec("ziglang") is None:
            missing("zig", "vectors of 128 bits as WebAssembly: ziglang is not installed")
        script = tmp_path_factory.mktemp("wasi") / "run.mjs"
        script.write_text(_WASI)
        cc = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi"]
        runner = [need_tool("node", "node"), "--no-warnings"]
        if request.param == "wasm":
            return Machine([*cc, "-mcpu=generic+simd128"], (), [*runner, str(script)])
        # The scalar kernels stay scalar: clang would choose instructions that may lose NaN.
        cc += ["-mcpu=generic+simd128+relaxed_simd", "-fno-vectorize", "-fno-slp-vectorize"]
        if "--experimental-wasm-relaxed-simd" in _shown(runner[0], "--v8-options"):
            runner.append("--experimental-wasm-relaxed-simd")
        return Machine(cc, (), [*runner, str(script)])
    need_tool("riscv64", "riscv64-linux-gnu-gcc")  # for its C library
    cc = [need_tool("clang", "clang-19"), "--target=riscv64-linux-gnu", "-march=rv64gcv"]
    cc += ["-mabi=lp64d", "-isystem", "/usr/riscv64-linux-gnu/include"]
    # The scalar kernels stay scalar: of what clang makes of their loops, qemu before 8.1 stops at
    # conversions that round to zero (https://gitlab.com/qemu-project/qemu/-/issues/1441).
    cc += ["-fno-vectorize", "-fno-slp-vectorize"]
    cpu = "rv64,v=true,vlen=128,vext_spec=v1.0"
    runner = [need_tool("qemu", "qemu-riscv64"), "-cpu", cpu]
    # One that comes before any other rounding in a page of code stops it in all of them, so a program
    # that it cannot run gets other addresses (of 61 tried for one program, one stopped).
    layouts = [(f"-Wl,-Ttext={0x1000000 + shift:#x}",) for shift in (0, 0x110, 0x220, 0x440)]
    return Machine(cc, ("-static", "-fuse-ld=lld", "-lm"), runner, layouts)


def _shown(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _ended(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"{' '.join(map(str, done.args))}\n{done.stderr[-2000:]}"
    return done.stderr


def _do(command: Sequence[str | Path]) -> str:
    return _said(_ended(command))


def _has_v128(source: Path) -> bool:
    """Whether the lists that a family's source compiles have a row of vectors of 128 bits."""
    src = source.parents[2]
    named = re.findall(r'^#include "(kernels/\S+\.inc)"', source.read_text("utf-8"), re.MULTILINE)
    return any('"simd/v128.inc"' in (src / name).read_text("utf-8") for name in named)


def test_kernels(machine: Machine, repo: Path, tmp_path: Path) -> None:
    """Every family that has such a kernel, and the vocabulary itself."""
    root = repo / "runtime_c"
    every = sorted(root.glob("src/kernels/*/*.c"))
    families = sorted({path.parent for path in every if _has_v128(path)})
    assert len(families) >= 37
    # Tests compare with kernels of other families, so all are there. One unit: the sources bear that.
    sources = [*every, *root.glob("src/base/*.c")]
    unit, library = tmp_path / "unit.c", tmp_path / "unit.o"
    unit.write_text("".join(f'#include "{path}"\n' for path in sources), encoding="utf-8")
    include = [f"-I{root / name}" for name in ("include", "src", "tests")]
    _do([*machine.cc, *_FLAGS, "-O2", *include, "-c", unit, "-o", library])
    tests = [root / "tests/simd/simd_test.c"]
    tests += [root / "tests/kernels" / f.name / f"{f.name}_test.c" for f in families]
    for test in tests:
        program = tmp_path / f"{test.stem}.program"
        for layout in machine.layouts:
            link = [*machine.link, *layout]
            _do([*machine.cc, *_FLAGS, "-O1", *include, test, library, *link, "-o", program])
            done = _ended([*machine.runner, program])
            if "decode_save_opc: Assertion" not in done.stderr:
                break
        said = _said(done)
        assert " 0 failed" in said, said[-2000:]
        assert f"NOT RUN: {test.parent.name} v128" not in said
