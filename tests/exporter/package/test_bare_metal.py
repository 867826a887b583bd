# SPDX-License-Identifier: Apache-2.0
"""Bare-metal builds: files with and without compilers, refusals."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import samara
from samara.exporter.measure.survey import survey
from samara.exporter.package import bare_metal
from samara.exporter.package.bare_metal_cpus import CPUS
from samara.pybridge import UnsupportedError

WRITTEN = (
    "Makefile",
    "README.md",
    "board.h",
    "example.c",
    "link.ld",
    "startup.c",
    "tiny.h",
    "tiny_model.c",
)
# Functions that a program must provide: none for heap, files, printf or start-up.
_ALLOWED = {"memcpy", "memmove", "memset", "memcmp", "strlen", "strcmp"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bare") / "tiny.samara"
    program = samara.trace(lambda x: samara.nn.functional.relu(x * 2 + 1), (samara.zeros(1, 6),))
    samara.export(program, path)
    return path


def written(model: Path, out: Path, cpu: str = "cortex-m3") -> bare_metal.BareMetalReport:
    selection, _ = survey([model], accuracy="strict")
    return bare_metal.write([model], cpu=cpu, name="tiny", out=out, selection=selection)


def test_without_compilers_the_sources_are_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(platform, "machine", lambda: "sparc")
    report = written(model, tmp_path / "dist")
    names = sorted(path.name for path in (tmp_path / "dist").iterdir())
    assert names == sorted(WRITTEN)
    assert names == sorted(path.name for path in report.files)
    assert report.figures.flash_bytes is None
    assert "64-bit" in report.figures.arena_doc
    assert any("gcc-arm-none-eabi" in note for note in report.notes)
    bytes_text = f"#define TINY_ARENA_BYTES {report.figures.arena_bytes}u\n"
    assert bytes_text in (tmp_path / "dist/tiny.h").read_text()
    assert bytes_text in (tmp_path / "dist/tiny_model.c").read_text()
    assert report.to_json()["cpu"] == "cortex-m3"
    assert "compile with: arm-none-eabi-gcc" in report.text()


def test_compiled_model_needs_next_to_nothing(
    model: Path, tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    need_tool("cortex-m", CPUS["cortex-m3"].compiler)
    report = written(model, tmp_path)
    assert report.figures.flash_bytes is not None
    assert report.figures.flash_bytes < 100_000
    (made,) = (path for path in report.files if path.suffix == ".o")
    nm = need_tool("cortex-m", "arm-none-eabi-nm")
    listed = subprocess.run([nm, "-u", made], text=True, capture_output=True, check=True).stdout
    undefined = set(listed.split()) - {"U"}
    assert {name for name in undefined if not name.startswith("__aeabi_")} <= _ALLOWED
    # Only functions of its interface are visible.
    listed = subprocess.run(
        [nm, "-g", "--defined-only", made], text=True, capture_output=True, check=True
    ).stdout
    visible = {line.split()[-1] for line in listed.splitlines()}
    assert visible == {name.replace("samara_", "tiny_") for name in bare_metal.EXPORTS}


def test_open_sizes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "open.samara"
    program = samara.trace(lambda x: x + 1, (samara.zeros(2, 3),), dynamic={"x": {0: "batch"}})
    samara.export(program, path)
    with pytest.raises(UnsupportedError, match="x is batchx3") as failure:
        written(path, tmp_path / "dist")
    assert "--shape" in str(failure.value.fix)
    assert not (tmp_path / "dist").exists()


def test_one_model_at_a_time(model: Path, tmp_path: Path) -> None:
    selection, _ = survey([model], accuracy="strict")
    with pytest.raises(UnsupportedError, match="one embedded model, not 2"):
        bare_metal.write(
            [model, model], cpu="cortex-m3", name="two", out=tmp_path, selection=selection
        )


def test_unknown_cpu(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="z80"):
        written(model, tmp_path, cpu="z80")
