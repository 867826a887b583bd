# SPDX-License-Identifier: Apache-2.0
"""`samara build` for every target that has a compiler here: the same bytes from integer models, close
floats, run under emulation where this machine cannot run the programs itself.

`.ci/run targets` runs it. Nothing runs programs for macOS; theirs, and those of Windows, are built
and looked at.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.commands import output_of

import samara
from samara.exporter.build import build
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import TARGETS, Target, host_target
from samara.exporter.package.toolchain import find_toolchain
from samara.exporter.testing import small_onnx
from samara.pybridge import BackendError

pytestmark = pytest.mark.emulated

Missing = Callable[[str, str], None]

_MAGIC = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "windows": b"MZ", "wasi": b"\0asm"}
# The second target of a system or an architecture that another one has shown is for `make extended`:
# a C library is built for each.
_BUILT = (
    *("arm-linux-gnueabihf", "riscv64-linux-gnu", "x86_64-linux-musl", "aarch64-macos"),
    *("x86_64-windows-gnu", "wasm32-wasi-simd128"),
    *(
        pytest.param(name, marks=pytest.mark.extended)
        for name in (
            *("x86_64-linux-gnu", "aarch64-linux-gnu", "aarch64-linux-musl", "x86_64-macos"),
            *("aarch64-windows-gnu", "wasm32-wasi"),
        )
    ),
)
_WASI = """\
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({
  version: "preview1", args: process.argv.slice(2), preopens: { "/": "/" }, returnOnExit: true });
const code = await WebAssembly.compile(readFileSync(process.argv[2]));
process.exit(wasi.start(await WebAssembly.instantiate(code, wasi.getImportObject())));
"""


@dataclass(frozen=True)
class Net:
    """A model, an input, and what this machine's whole library answers."""

    path: Path
    given: Path
    answer: np.ndarray


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Net]:
    """The small net as it is and in int8, its sizes known."""
    folder = tmp_path_factory.mktemp("nets")
    return {kind: _net(folder, kind, 2) for kind in ("float", "int8")}


def _net(folder: Path, kind: str, batch: int) -> Net:
    """The small net for `batch` images."""
    rng = np.random.default_rng(3)
    shape = (batch, 3, 8, 8)
    program = samara.import_onnx(small_onnx(), shapes={"image": shape})
    samples = [{"image": rng.standard_normal(shape, dtype=np.float32)} for _ in range(8)]
    image = samples[0]["image"]
    np.save(folder / "image.npy", image)
    path = folder / f"{kind}.samara"
    program = samara.quantize(program, samples, "int8") if kind == "int8" else program
    samara.export(program, path, check=False)
    return Net(path, folder / "image.npy", samara.Session(path).run({"image": image})["score"])


def _runner(target: Target, folder: Path, missing: Missing) -> list[str] | None:
    """What goes before a program of `target`; None where nothing here runs it."""
    if target.system == "wasi":
        node = shutil.which("node")
        if node is None:
            missing("node", "programs for WASI: node is not installed")
        script = folder / "run.mjs"
        script.write_text(_WASI)
        return [str(node), "--no-warnings", str(script)]
    if (target.arch, target.system) == (host_target().arch, host_target().system):
        return []
    if target.system == "windows" and target.arch == "x86_64" and shutil.which("wine64"):
        return ["wine64"]
    if target.system != "linux":
        return None
    emulator = f"qemu-{target.arch}"
    if shutil.which(emulator) is None:
        missing("qemu", f"programs for {target.name}: {emulator} is not installed")
    # Programs of musl are static and need no other files.
    cpu = "rv64" if target.arch == "riscv64" else "max"  # where older emulators know no max
    return [emulator, "-cpu", cpu, "-L", f"/usr/{target.triple}"]


@pytest.mark.parametrize("name", _BUILT)
def test_target(
    name: str,
    nets: dict[str, Net],
    tmp_path: Path,
    missing: Missing,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = TARGETS[name]
    try:
        find_toolchain(target)
    except BackendError as error:
        missing(target.tools, f"builds for {name}: {error.message}")
    out, here = tmp_path / "dist", tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    report = build([net.path for net in nets.values()], out=out, target=name)
    assert list(here.iterdir()) == []
    program = out / "bin" / f"samara-run{target.program_suffix}"
    library = out / "lib" / (target.shared_name or "libsamara.a")
    assert program.read_bytes().startswith(_MAGIC[target.system])
    if target.shared_name is not None:
        assert library.read_bytes().startswith(_MAGIC[target.system])
    assert Selection.of_library(library) == report.selection
    assert report.selection.target == name
    assert (report.bill.counted > 0) == target.is_elf

    runner = _runner(target, tmp_path, missing)
    if runner is None:
        print(f"NOT RUN: programs for {name} (nothing here runs them; they were built)")
        return
    for kind, net in nets.items():
        got = _score(runner, program, net, tmp_path)
        if kind == "int8":
            assert got.tobytes() == net.answer.tobytes()
        else:
            np.testing.assert_allclose(got, net.answer, rtol=1e-5, atol=1e-5)


def test_products_without_few_rows(
    tmp_path: Path, missing: Missing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build whose products have eight rows or more lacks the tiles of fewer; nine rows are three
    tiles of three in WebAssembly.
    """
    target = TARGETS["wasm32-wasi-simd128"]
    try:
        find_toolchain(target)
    except BackendError as error:
        missing(target.tools, f"builds for {target.name}: {error.message}")
    monkeypatch.chdir(tmp_path)
    net = _net(tmp_path, "float", 9)
    report = build([net.path], out=tmp_path / "dist", target=target.name)
    assert "f32_gemm_short" not in (report.selection.parts or ())
    runner = _runner(target, tmp_path, missing)
    assert runner is not None
    got = _score(runner, tmp_path / "dist/bin/samara-run.wasm", net, tmp_path)
    np.testing.assert_allclose(got, net.answer, rtol=1e-5, atol=1e-5)


def _score(runner: Sequence[str], program: Path, net: Net, folder: Path) -> np.ndarray:
    output_of(*runner, program, net.path, "--input", f"image={net.given}", "--output", folder)
    found: np.ndarray = np.load(folder / "score.npy")
    return found
