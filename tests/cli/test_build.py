# SPDX-License-Identifier: Apache-2.0
"""`samara build`: options reach the library, reports reach the terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from samara.exporter import build as builder
from samara.exporter.package.aar import AarReport
from samara.exporter.package.runtime_build import BuildReport
from samara.exporter.package.selection import Selection
from samara.exporter.package.size_bill import Row, SizeBill
from samara.exporter.package.swift_package import SwiftPackage
from samara.exporter.testing import small_onnx
from samara.pybridge import BackendError

Samara = Callable[..., Result]

_BILL = SizeBill(
    file=9000,
    sections={".text": 300, ".rodata": 20},
    rows=(Row("ops", "conv", "", 200, 20), Row("kernels", "f32_gemm", "avx2", 100, 0)),
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the command asks of the library, which builds nothing here."""
    seen: list[dict[str, Any]] = []

    def build(models: Any, **options: Any) -> BuildReport:
        seen.append({"models": models, **options})
        selection = Selection(
            ops={"conv": frozenset({"float32"})}, target="x86_64-linux-gnu", version="0.5.0"
        )
        files = {"lib/libsamara.a": 12000, "size.txt": 10}
        return BuildReport(options["out"], selection, "cc 12", files, ("-lm",), _BILL, ("a note",))

    monkeypatch.setattr(builder, "build", build)
    return seen


def test_options_reach_the_library(samara: Samara, calls: list[dict[str, Any]]) -> None:
    result = samara(
        *("build", "a.samara", "b.samara", "--target", "aarch64-linux-gnu", "-o", "out"),
        *("--isa", "neon,neon-dot", "--features", "core,state", "--opt", "2"),
        *("--custom", "op.c", "--cc", "gcc -m64", "--ndk", "ndk", "--no-programs"),
        *("--backend", "opencl"),
    )
    assert result.exit_code == 0, result.output
    (call,) = calls
    assert call.pop("note") is not None
    assert call.pop("progress") is not None
    assert call == {
        "models": ["a.samara", "b.samara"],
        "out": Path("out"),
        "target": "aarch64-linux-gnu",
        "isa": ["neon", "neon-dot"],
        "features": ["state"],
        "opt": "2",
        "custom": [Path("op.c")],
        "backend": "opencl",
        "cc": "gcc -m64",
        "ndk": Path("ndk"),
        "programs": False,
    }


def test_report_and_bill(samara: Samara, calls: list[dict[str, Any]]) -> None:
    result = samara("build", "a.samara")
    assert "link: cc app.c lib/libsamara.a -Iinclude -lm" in result.stdout
    assert "12,000  lib/libsamara.a" in result.stdout
    assert "note: a note" in result.stdout
    assert "f32_gemm" not in result.stdout
    assert "f32_gemm avx2" in samara("build", "a.samara", "--size-report").stdout
    assert calls[0]["features"] is None


def test_json(samara: Samara, calls: list[dict[str, Any]]) -> None:
    found = json.loads(samara("build", "a.samara", "--json").stdout)
    assert found["size"]["counted_bytes"] == 320
    assert found["operators"] == {"conv": ["float32"]}
    assert found["libraries"] == ["-lm"]


def test_sources_instead_of_libraries(samara: Samara, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    class Written:
        def text(self) -> str:
            return "kws.h"

        def to_json(self) -> dict[str, str]:
            return {"header": "kws.h"}

    def write_source(_models: Any, **options: Any) -> Written:
        seen.append(options)
        return Written()

    monkeypatch.setattr(builder, "write_source", write_source)
    result = samara("build", "a.samara", "--single-file", "--name", "kws", "--embed", "-o", "out")
    assert result.stdout == "kws.h\n"
    assert seen[0]["name"] == "kws"
    assert seen[0]["embed"] is True
    samara("build", "a.samara", "--bare-metal", "cortex-m3")
    assert seen[1]["bare_metal"] == "cortex-m3"


def test_an_aar(samara: Samara, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def build_android(models: Any, **options: Any) -> AarReport:
        seen.append({"models": models, **options})
        files = {"classes.jar": 9000}
        return AarReport(options["out"], Selection(version="0.5.0"), {"x86": "clang 19"}, files)

    monkeypatch.setattr(builder, "build_android", build_android)
    result = samara(
        *("build", "a.samara", "--target", "android", "-o", "app.aar", "--abi", "x86,x86_64"),
        *("--features", "core,keep", "--json"),
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["files"] == {"classes.jar": 9000}
    (call,) = seen
    assert call["abis"] == ["x86", "x86_64"]
    assert call["features"] == ["keep"]
    assert call["out"] == Path("app.aar")
    assert call["full"] is False
    assert call["maven"] is None
    full = samara("build", "--target", "android", "--full", "--maven", "m2")
    assert full.exit_code == 0, full.output
    assert seen[1]["models"] == []
    assert seen[1]["full"] is True
    assert seen[1]["maven"] == Path("m2")
    assert seen[1]["out"] == Path("samara.aar")
    for wrong in (
        ("a.samara", "--target", "android", "--custom", "op.c"),
        ("a.samara", "--abi", "x86"),
        ("--full",),
        ("a.samara", "--target", "ios", "--full"),
        ("a.samara", "--single-file", "--target", "android", "--maven", "m2"),
        ("--target", "android"),
        (),
    ):
        assert samara("build", *wrong).exit_code == 2, wrong
    assert len(seen) == 2


def test_a_folder_that_is_missing_is_said_before_an_aar_is_built(
    samara: Samara, samara_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "libs" / "app.aar"
    result = samara("build", samara_path, "--target", "android", "-o", out)
    assert result.exit_code == 1
    assert "cannot be written: there is no folder" in result.stderr
    assert "compiling" not in result.stderr


def test_an_aar_of_a_repository_names_its_line() -> None:
    selection = Selection(version="1.2.3")
    report = AarReport(Path("a.aar"), selection, {}, {}, "ours", Path("m2"))
    assert "implementation 'dev.samara:samara:1.2.3'" in report.text()
    assert report.to_json()["maven"] == "m2"
    plain = AarReport(Path("a.aar"), selection, {}, {}, "ours")
    assert "implementation files('libs/a.aar')" in plain.text()
    assert plain.to_json()["maven"] is None


def test_list_of_targets(samara: Samara) -> None:
    result = samara("build", "--list-targets")
    assert result.exit_code == 0
    assert "wasm32-wasi" in result.stdout
    assert "gcc-aarch64-linux-gnu" in result.stdout
    assert "a Swift package" in result.stdout


def test_swift_package(samara: Samara, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(small_onnx())
    result = samara("build", "model.onnx", "--target", "ios", "-o", "Samara")
    assert result.exit_code == 0, result.output
    assert "Sources/CSamara/samara.c" in result.stdout
    assert (tmp_path / "Samara" / "Package.swift").is_file()
    for wrong in (("--backend", "opencl"), ("--cc", "gcc")):
        assert samara("build", "model.onnx", "--target", "ios", *wrong).exit_code == 2
    refused = samara("build", "model.onnx", "--target", "ios", "--features", "callbacks")
    assert refused.exit_code == 1
    assert "cannot have the features callbacks" in refused.output
    text = ("--features", "text", "-o", "Text")
    assert samara("build", "model.onnx", "--target", "ios", *text).exit_code == 0
    assert (tmp_path / "Text" / "Sources" / "Samara" / "Text" / "TextModel.swift").is_file()
    assert samara("build", "model.onnx", "--binary").exit_code == 2


def test_xcframework(samara: Samara, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the Swift package, or only a framework, is compiled."""
    seen: list[dict[str, Any]] = []

    def write_swift(_models: Any, **options: Any) -> SwiftPackage:
        seen.append(options)
        return SwiftPackage(options["out"], Selection(version="0.5.0"), {}, "clang 19")

    monkeypatch.setattr(builder, "write_swift", write_swift)
    result = samara("build", "a.samara", "--target", "ios", "--binary", "--opt", "2", "-o", "S")
    assert result.exit_code == 0, result.output
    assert "a Swift package for iOS and macOS, clang 19" in result.stdout
    result = samara("build", "a.samara", "--target", "ios", "-o", "S.xcframework")
    assert "an XCFramework for iOS and macOS, clang 19" in result.stdout
    assert [(each["binary"], each["opt"]) for each in seen] == [(True, "2"), (False, "s")]


@pytest.mark.parametrize("arguments", [["--name", "kws"], ["--embed"]])
def test_options_that_need_another(samara: Samara, arguments: list[str]) -> None:
    result = samara("build", "a.samara", *arguments)
    assert result.exit_code == 2
    assert "--single-file" in result.stderr


def test_missing_compiler_is_one_sentence(samara: Samara, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(_models: Any, **_options: Any) -> BuildReport:
        raise BackendError("no compiler for x: x-gcc is not installed", fix="apt install gcc-x")

    monkeypatch.setattr(builder, "build", build)
    result = samara("build", "a.samara")
    assert result.exit_code == 1
    assert result.stderr == (
        "samara: no compiler for x: x-gcc is not installed\n  fix: apt install gcc-x\n"
    )


# A compiler that starts another process, whose number it writes down, and never ends.
_ENDLESS = """#!/bin/sh
case "$*" in *--version*) echo endless 1.0; exit;; esac
sleep 60 &
echo $! > "$PIDS.new"; mv "$PIDS.new" "$PIDS"
wait
"""


def _gone(pid: int) -> bool:
    """Whether a process has ended. It may be a zombie that its parent has not waited for."""
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_a_stopped_build_leaves_nothing(samara_path: Path, tmp_path: Path) -> None:
    compiler, pids, temporary = tmp_path / "cc", tmp_path / "pids", tmp_path / "temporary"
    compiler.write_text(_ENDLESS)
    compiler.chmod(0o755)
    temporary.mkdir()
    command = [sys.executable, "-m", "samara.cli.main", "build", samara_path, "--cc", compiler]
    process = subprocess.Popen(
        [*map(str, command), "-o", str(tmp_path / "dist")],
        env={**os.environ, "PIDS": str(pids), "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(600):
        if pids.exists() or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 143, said
    assert "compiling samara.c" in said
    assert said.endswith("samara: stopped; unfinished files were removed\n")
    assert list(temporary.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cc", "pids", "temporary"]
    assert _gone(int(pids.read_text()))


# The package ziglang with a compiler that starts another process, as zig does, and never ends.
_ZIG = """import os, subprocess, sys, time
if "--version" in sys.argv:
    sys.exit(print("slow 1.0"))
other = subprocess.Popen(["sleep", "60"])
with open(os.environ["PIDS"] + ".new", "w") as out:
    out.write(str(other.pid))
os.rename(os.environ["PIDS"] + ".new", os.environ["PIDS"])
time.sleep(60)
"""
# The command line, which says sooner than after ten seconds that it waits.
_IMPATIENT = """from samara.exporter.package import processes
processes.WAITING_SECONDS = 0.1
from samara.cli.main import main
main()
"""


def test_a_slow_zig_shows_progress_and_ends_when_stopped(samara_path: Path, tmp_path: Path) -> None:
    package, pids, temporary = tmp_path / "packages" / "ziglang", tmp_path / "pids", tmp_path / "t"
    package.mkdir(parents=True)
    temporary.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(_ZIG)
    command = [sys.executable, "-c", _IMPATIENT, "build", samara_path, "--target", "wasm32-wasi"]
    found = [str(package.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    variables = {"PIDS": str(pids), "TMPDIR": str(temporary)}
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, found))
    process = subprocess.Popen(
        [*map(str, command), "-o", str(tmp_path / "dist")],
        env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    said = ""
    slow = "zig compiles its C library for wasm32-wasi on first use\n"
    while slow not in said or not pids.exists():
        line = process.stderr.readline()
        assert line, said
        said += line
    process.send_signal(signal.SIGTERM)
    said += process.communicate(timeout=30)[1]
    assert process.returncode == 143, said
    assert "building for wasm32-wasi: compiling samara.c\n" in said
    assert said.endswith("samara: stopped; unfinished files were removed\n")
    assert list(temporary.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["packages", "pids", "t"]
    assert _gone(int(pids.read_text()))


@pytest.mark.parametrize(("option", "shown"), [(None, True), ("--quiet", False), ("--json", False)])
def test_progress_is_a_line_per_step(
    option: str | None, shown: bool, samara: Samara, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: object, progress: Callable[[str], None], **__: object) -> BuildReport:
        progress("compiling samara.c")
        progress("linking libsamara.so")
        raise BackendError("it failed")

    monkeypatch.setattr(builder, "build", build)
    result = samara("build", "m.samara", *([] if option is None else [option]))
    assert result.exit_code == 1
    lines = ["building for host: compiling samara.c", "building for host: linking libsamara.so"]
    assert result.stderr.splitlines() == [*(lines if shown else []), "samara: it failed"]


def test_an_interrupt_has_a_status(samara: Samara, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object, **__: object) -> BuildReport:
        raise KeyboardInterrupt

    monkeypatch.setattr(builder, "build", build)
    result = samara("build", "m.samara")
    assert result.exit_code == 130
    assert "stopped" in result.stderr
