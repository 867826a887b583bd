# SPDX-License-Identifier: Apache-2.0
"""The matrix: what is equal, what is wrong and what was not run are told apart."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tools import bit_equality as bits


def _program(folder: Path, text: str) -> Path:
    path = folder / "samara-run"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[ "$SAMARA_ISA" = avx2 ] && { echo off by one >&2; exit 1; }; echo selftest passed on scalar'
    program = _program(tmp_path, text)
    vectors = tmp_path / "v.samara"
    found = [
        bits.Build("x86-64 gcc cmake", program, ("scalar", "avx2", "avx512")),
        bits.Build("x86-64 clang cmake", None, ("scalar", "avx2", "avx512"), reason="no clang-19"),
    ]
    assert bits.matrix(found, [vectors]) == 1
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("x86-64 gcc cmake  "))
    assert row.split()[3:] == ["equal", "WRONG", "NOT", "RUN"]
    assert "NOT RUN: bit equality of x86-64 clang cmake, scalar (no clang-19)" in lines
    assert "NOT RUN: bit equality of x86-64 gcc cmake, avx512 (this CPU has no avx512)" in lines
    assert "x86-64 gcc cmake, avx2: WRONG: v.samara: off by one" in lines


def test_patches_fit_the_source() -> None:
    text = bits.ROUNDING.read_text()
    assert len(bits.PATCHES) == 3
    for edits in bits.PATCHES.values():
        for old, new in edits:
            assert text.count(old) == 1
            assert new not in text
