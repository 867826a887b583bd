# SPDX-License-Identifier: Apache-2.0
"""Benchmarks on other machines: emulated CPUs, and stand-ins for adb and ssh that run things here."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.measure import on_device
from samara.exporter.measure.machine import program_beside_library
from samara.exporter.measure.on_device import bench_on
from samara.pybridge import BackendError, ShapeError, UnsupportedError

QUICK = ("--runs", "2", "--warmup", "0", "--nodes", "--roof", "--threads", "1,2")

# Both note how they were called, and treat ROOT as the device's file system.
_ADB = """#!/bin/sh
echo "$*" >> "$ROOT/calls"
[ "$1" = -s ] && shift 2
case "$1" in
push) cp "$2" "$ROOT$3" ;;
shell)
  [ "$2" = "getprop ro.product.cpu.abi" ] && { echo arm64-v8a; exit; }
  mkdir -p "$ROOT/data/local/tmp"
  sh -c "$(echo "$2" | sed "s:/data/local/tmp:$ROOT&:g")" ;;
esac
"""
_SSH = """#!/bin/sh
echo "$*" >> "$ROOT/calls"
shift 3
[ "$1" = "uname -m" ] && { echo "${MACHINE:-x86_64}"; exit; }
mkdir -p "$ROOT/tmp"
sh -c "$(echo "$1" | sed "s:/tmp:$ROOT&:g")"
"""


@pytest.fixture
def tool() -> Path:
    """This machine's samara-bench."""
    program = program_beside_library("samara-bench")
    if program is None:
        pytest.skip("samara-bench is not beside the library")
    return program


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in device; its adb and ssh come first on PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("adb", _ADB), ("ssh", _SSH)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "device"
    folder.mkdir()
    monkeypatch.setenv("ROOT", str(folder))
    return folder


@pytest.mark.parametrize("device", ["adb", "adb:0123", "ssh:user@board"])
def test_pushed_run_and_cleaned_up(device: str, root: Path, tool: Path, samara_path: Path) -> None:
    report = bench_on(device, samara_path, name="m.samara", arguments=QUICK, node="conv", tool=tool)
    assert [r["threads"] for r in report.results] == [1, 2]
    for r in report.results:
        assert 0 < r["min_us"] <= r["median_us"] <= r["p90_us"]
        assert r["load_us"] > 0
        assert r["first_run_us"] > 0
        assert r["peak_bytes"] > r["arena_bytes"] > 0
        assert all("conv" in n["node"] or "conv" in n["op"] for n in r["nodes"])
        [node] = [n for n in r["nodes"] if n["op"] == "conv"]
        assert node["runner_up_us"] >= node["algorithm_us"] > 0
        assert 0 < node["roof_share"] < 20
        assert node["gflops"] > 0
    assert not report.emulated
    assert "m.samara on" in report.text()
    assert "runner-up" in report.text()
    assert "of the roof" in report.text()
    assert "roof of one thread" in report.text()
    assert json.loads(json.dumps(report.to_json()))["device"] == device
    calls = (root / "calls").read_text()
    assert ("-s 0123" in calls) == (device == "adb:0123")
    assert ("user@board" in calls) == device.startswith("ssh")
    left = [p for folder in root.rglob("samara-*") for p in [folder]]
    assert left == []


def test_inputs_go_there(root: Path, tool: Path, steered_path: Path) -> None:
    for rate, path in (("16000", "choose/then/repeat/body/grown"), (8000, "choose/else/magnitude")):
        report = bench_on(
            "ssh:board",
            steered_path,
            name="m",
            arguments=("--runs", "1", "--nodes"),
            inputs={"rate": rate, "x": np.ones((2, 3), np.float32)},
            node="",
            tool=tool,
        )
        for r in report.results:
            assert path in {n["path"] for n in r["nodes"]}
            assert all(0 <= n["share"] <= 1 for n in r["nodes"])
            assert all(path.split("/")[1] not in p for p in r["not_reached"])
        assert path in report.text()
    assert list(root.rglob("samara-*")) == []
    with pytest.raises(ShapeError, match="no node's path"):
        bench_on("ssh:board", steered_path, name="m", node="nowhere", tool=tool)
    with pytest.raises(ShapeError, match="no input 'rat'"):
        bench_on("ssh:board", steered_path, name="m", inputs={"rat": 1}, tool=tool)


def test_a_tool_that_fails_there(root: Path, samara_path: Path, tmp_path: Path) -> None:
    assert root.is_dir()
    for text, said in (
        ("#!/bin/sh\necho no luck >&2; exit 3", "no luck"),
        ("#!/bin/sh", "no result"),
    ):
        program = tmp_path / "tool"
        program.write_text(text)
        with pytest.raises(BackendError, match=said):
            bench_on("ssh:board", samara_path, name="m", tool=program)


def test_a_tool_that_does_not_end_is_ended_there(
    root: Path, samara_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("setsid") is None:
        pytest.skip("NOT RUN: setsid is not here")
    # Out of reach of signals to the local ssh, as a process on another machine is.
    program = tmp_path / "tool"
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path / 'pid'}\nexec setsid sleep 60\n")
    monkeypatch.setattr(on_device, "_RUN_SECONDS", 0.5)
    with pytest.raises(BackendError, match="timed out"):
        bench_on("ssh:board", samara_path, name="m", tool=program)
    assert list(root.rglob("samara-*")) == []
    state = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    for _ in range(100):
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("the tool still runs")


def test_what_is_missing_is_named(
    samara_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    for device, said in (
        ("adb", "platform-tools"),
        ("ssh:board", "ssh client"),
        ("qemu:max", "qemu-user"),
    ):
        with pytest.raises(BackendError, match=said):
            bench_on(device, samara_path, name="m", tool=tmp_path / "tool")
    with pytest.raises(BackendError, match="no such tool"):
        bench_on("adb", samara_path, name="m", tool=tmp_path / "none")


def test_a_missing_compiler_is_named(
    root: Path, samara_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{root.parent / 'bin'}{os.pathsep}/bin")
    monkeypatch.setattr(shutil, "which", lambda *_args, **_options: None)
    with pytest.raises(BackendError, match="aarch64"):
        bench_on("adb", samara_path, name="m")


def test_unknown_devices(root: Path, samara_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert root.is_dir()
    for device in ("", "usb", "ssh", "ssh:", "ssh:-oProxyCommand=x", "qemu", "qemu:"):
        with pytest.raises(UnsupportedError):
            bench_on(device, samara_path, name="m")
    monkeypatch.setenv("MACHINE", "vax")
    with pytest.raises(UnsupportedError, match="vax"):
        bench_on("ssh:board", samara_path, name="m")


@pytest.mark.emulated
def test_an_emulated_cpu(samara_path: Path) -> None:
    for program in ("qemu-aarch64", "aarch64-linux-gnu-gcc"):
        if shutil.which(program) is None:
            pytest.skip(f"NOT RUN: {program} is not here")
    report = bench_on("qemu:cortex-a76", samara_path, name="m", arguments=QUICK, node="conv")
    [first, second] = report.results
    assert first["isa"] == "neon,neon-fp16,neon-dot"
    assert first["peak_gflops"] > 0
    assert all("kernel" in n for n in first["nodes"])
    assert any(n["kernel"].endswith("__neon") for n in first["nodes"])
    assert second["threads"] == 2
    assert report.emulated
    assert "emulated here" in report.text()
    with pytest.raises(UnsupportedError, match="know no such CPU"):
        bench_on("qemu:pentium-xyz", samara_path, name="m")
