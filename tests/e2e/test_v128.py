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
# A relaxed dot product as an engine computes it, in portable C. Some take the second factor as unsigned, some saturate
# the sum of two products.
_DOT = """\
#include <stdint.h>
typedef int8_t dot_bytes __attribute__((vector_size(16)));
typedef int32_t dot_ints __attribute__((vector_size(16)));
static inline int32_t dot_pair(const int8_t *a, const {type} *b) {{
  const int32_t sum = a[0] * b[0] + a[1] * b[1];
  return {saturates} && sum > 32767 ? 32767 : {saturates} && sum < -32768 ? -32768 : sum;
}}
static inline dot_ints emulated_dot(dot_bytes a, dot_bytes b, dot_ints sum) {{
  const int8_t *x = (const int8_t *)&a;
  const {type} *y = (const {type} *)&b;
  for (int i = 0; i < 4; i++)
    sum[i] += dot_pair(x + 4 * i, y + 4 * i) + dot_pair(x + 4 * i + 2, y + 4 * i + 2);
  return sum;
}}
#define __builtin_wasm_relaxed_dot_i8x16_i7x16_add_s_i32x4 emulated_dot
"""


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


@pytest.mark.parametrize(
    ("kind", "saturates", "runs"),
    [
        ("uint8_t", 0, {"v128_udot"}),  # x86 with AVX-VNNI
        ("int8_t", 0, {"v128_sdot"}),  # Arm, and x86 with AVX-VNNI-INT8
        ("uint8_t", 1, set()),  # other x86
    ],
)
def test_dot_products_of_every_engine(
    kind: str,
    saturates: int,
    runs: set[str],
    need_tool: Tool,
    missing: Missing,
    repo: Path,
    tmp_path: Path,
) -> None:
    """The int8 product takes the kernel for what the engine computes, and none that is not exact there."""
    node = need_tool("node", "node")
    if importlib.util.find_spec("ziglang") is None:
        missing("zig", "vectors of 128 bits as WebAssembly: ziglang is not installed")
    root = repo / "runtime_c"
    emulated, script = tmp_path / "dot.h", tmp_path / "run.mjs"
    emulated.write_text(_DOT.format(type=kind, saturates=saturates), encoding="utf-8")
    script.write_text(_WASI, encoding="utf-8")
    cc = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi"]
    cc += ["-mcpu=generic+simd128+relaxed_simd", "-fno-vectorize", "-fno-slp-vectorize"]
    program, unit = tmp_path / "i8_gemm.program", tmp_path / "unit.c"
    sources = [*root.glob("src/base/*.c"), *root.glob("src/kernels/i8_gemm/*.c")]
    unit.write_text("".join(f'#include "{path}"\n' for path in sources), encoding="utf-8")
    include = [f"-I{root / name}" for name in ("include", "src", "tests")]
    test = root / "tests/kernels/i8_gemm/i8_gemm_test.c"
    _do([*cc, *_FLAGS, "-O1", "-include", emulated, *include, test, unit, "-o", program])
    flags = ["--no-warnings"]
    if "--experimental-wasm-relaxed-simd" in _shown(node, "--v8-options"):
        flags.append("--experimental-wasm-relaxed-simd")
    said = _do([node, *flags, script, program])
    assert " 0 failed" in said, said[-2000:]
    forms = {"v128_udot", "v128_sdot"}
    assert {name for name in forms if f"NOT RUN: {name}" not in said} == runs
