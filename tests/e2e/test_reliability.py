# SPDX-License-Identifier: Apache-2.0
"""A process that uses the runtime for long, in many threads, under signals, and beside other processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.ir import ProgramBuilder, Variable
from samara.exporter.types import DType, TensorType
from samara.pybridge import library_path

HERE = Path(__file__).parent
Program = Callable[..., Any]


def net(path: Path, factor: float = 1.0) -> None:
    """Export two products and a variable that adds up the input."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((64, 64)).astype(np.float32)
    builder = ProgramBuilder()
    f = builder.function("main")
    x, total = f.input("x", "f32", [8, 64]), f.input("total", "f32", [8, 64])
    y = f.op("mul", f.op("matmul", f.op("relu", f.op("matmul", x, weights)), weights.T), factor)
    f.finish([y, f.op("add", total, x)], ["y", "total.next"])
    main = builder.functions["main"]
    object.__setattr__(main, "reads", {"total": "total"})
    object.__setattr__(main, "writes", {1: "total"})
    variable = Variable("total", TensorType.of(DType.F32, (8, 64)), np.zeros((8, 64), np.float32))
    samara.export(builder.finish(["main"], [variable]), path, check=False)


@pytest.fixture(scope="module")
def program(
    repo: Path,
    need_tool: Callable[[str, str], str],
    missing: Callable[[str, str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Program:
    """`program("soak", 3, 16)`: what reliability.c says in that mode about a small net."""
    if not sys.platform.startswith("linux"):
        missing("reliability", "/proc and mallinfo2 are things of Linux")
    folder = tmp_path_factory.mktemp("reliability")
    built, model = folder / "reliability", folder / "net.samara"
    options = ["-O1", "-Wall", "-Wextra", f"-I{repo / 'runtime_c/include'}", "-pthread"]
    source = str(HERE / "reliability.c")
    subprocess.run([need_tool("cc", "cc"), *options, source, "-o", built, "-ldl"], check=True)
    net(model)

    def run(mode: str, *arguments: float) -> Any:
        library = str(Path(library_path()).resolve())
        command = [str(built), mode, library, str(model), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def _flat(said: dict[str, Any]) -> None:
    """Nothing grows: what malloc has given, resident memory up to what malloc keeps, and handles."""
    first, last = said["live_bytes"]
    assert last <= first + 4096, said
    first, last = said["resident_kib"]
    assert last <= first + 2048, said
    for name in ("files", "threads", "mappings"):
        first, last = said.get(name, (0, 0))
        assert first == last, said


def test_sixteen_threads(program: Program) -> None:
    said = program("soak", 1, 16)
    assert said["rounds"] > 16
    _flat(said)


@pytest.mark.extended
def test_sixteen_threads_for_ten_minutes(program: Program) -> None:
    said = program("soak", 600, 16)
    assert said["rounds"] > 1000
    _flat(said)


def test_signals_change_nothing(program: Program) -> None:
    said = program("signals", 0.3)
    assert said["rounds"] > 1
    assert said["signals"] > 100
    assert said["handlers_untouched"]


def test_loaded_and_closed_again_and_again(program: Program) -> None:
    said = program("reload", 20)
    assert (said["rounds"], said["mapped"], said["threads"]) == (20, 0, 1)
    _flat({k: v for k, v in said.items() if k in ("live_bytes", "resident_kib")})


_READER = """
import sys
import numpy as np
import samara
x, factors = np.ones((8, 64), np.float32), set()
base = samara.Session(sys.argv[1], threads=1)(x)
print("ready", flush=True)
for k in range(60):
    got = samara.Session(sys.argv[2], threads=1)(x)
    (factor,) = {f for f in (1.0, 2.0) if np.array_equal(got, f * base)}
    factors.add(factor)
print(*sorted(factors))
"""


def test_processes_share_a_file_that_is_replaced(tmp_path: Path) -> None:
    base, shared = tmp_path / "base.samara", tmp_path / "shared.samara"
    net(base)
    net(shared)
    held = samara.Session(shared, threads=1)
    x = np.ones((8, 64), np.float32)
    before = held(x)
    command = [sys.executable, "-c", _READER, str(base), str(shared)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
    replaced = 0
    while any(reader.poll() is None for reader in readers):
        replaced += 1
        net(shared, 1.0 + replaced % 2)
    said = [reader.communicate()[0].strip() for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0]
    assert set(said) <= {"1.0", "2.0", "1.0 2.0"}
    assert replaced > 1
    assert np.array_equal(held(x), before)
