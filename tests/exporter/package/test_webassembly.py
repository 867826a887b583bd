# SPDX-License-Identifier: Apache-2.0
"""What is done to a module after zig linked it; tests/e2e/test_web.py looks at whole modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.exporter.package import webassembly
from samara.exporter.package.targets import host_target
from samara.exporter.package.toolchain import Toolchain
from samara.pybridge import BackendError


def test_linker_command_keeps_folders_with_spaces() -> None:
    shown = (
        "note: something else\n"
        "wasm-ld -s -z stack-size=64 -o /tmp/my out/m.wasm /home/a b/zig/o/1/crt1-reactor.o C:\\zig c\\libc.a m.o\n"
    )
    assert webassembly.linker_command(shown) == [
        *("wasm-ld", "-s", "-z", "stack-size=64", "-o", "/tmp/my out/m.wasm"),
        *("/home/a b/zig/o/1/crt1-reactor.o", "C:\\zig c\\libc.a", "m.o"),
    ]


def test_no_command_is_known_without_a_report() -> None:
    assert webassembly.linker_command("warning: nothing\n") is None


@pytest.mark.parametrize(("opt", "level"), [("s", "-Oz"), ("2", "-O2")])
def test_optimizer_runs_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opt: str, level: str
) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(Toolchain, "compile", lambda *_args: None)
    monkeypatch.setattr(Toolchain, "link_program", lambda *_args: "wasm-ld -o m.wasm m.o\n")
    monkeypatch.setattr(Toolchain, "call", lambda _self, command, *_args: calls.append([*command]))
    tools = Toolchain(host_target(), ("cc",), ("ar",))
    out = tmp_path / "m.wasm"
    for found in (None, "/bin/wasm-opt"):
        monkeypatch.setattr("shutil.which", lambda _name, found=found: found)
        webassembly.link_module(tools, tmp_path / "m.c", out, opt=opt, flags=[], link_flags=[])
    linking = calls.pop(0)
    assert linking[-5:] == ["wasm-ld", "-o", "m.wasm", "m.o", "--compress-relocations"]
    assert calls.pop(0) == linking
    (command,) = calls
    assert (command[:2], command[-3:]) == (["/bin/wasm-opt", level], [str(out), "-o", str(out)])
    # Nothing that engines of 2023 lack, such as typed references.
    assert "--all-features" not in command


def test_an_old_optimizer_leaves_relaxed_simd_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def fail(*_args: object) -> None:
        raise BackendError("invalid code after SIMD prefix: 261")

    monkeypatch.setattr(Toolchain, "compile", lambda *_args: None)
    monkeypatch.setattr(Toolchain, "link_program", lambda *_args: "")
    monkeypatch.setattr(Toolchain, "call", fail)
    monkeypatch.setattr("shutil.which", lambda _name: "/bin/wasm-opt")
    tools = Toolchain(host_target(), ("cc",), ("ar",), say=said.append)
    source, out = tmp_path / "m.c", tmp_path / "m.wasm"
    with pytest.raises(BackendError):
        webassembly.link_module(tools, source, out, opt="s", flags=[], link_flags=[])
    flags = ["-mcpu=generic+relaxed_simd"]
    webassembly.link_module(tools, source, out, opt="s", flags=flags, link_flags=[])
    assert said == ["m.wasm stays as it is: this wasm-opt does not know relaxed SIMD"]
