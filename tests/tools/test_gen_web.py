# SPDX-License-Identifier: Apache-2.0
"""The script that makes web/package/ of web/source/; `.ci/run web` compares its results."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import gen_web


def test_a_missing_esbuild_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gen_web, "ROOT", tmp_path)
    assert gen_web.main("--check") == 1
    assert "npm install --prefix build/web esbuild@" in capsys.readouterr().out


def test_check_finds_a_stale_file_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gen_web, "ROOT", tmp_path)
    bin_folder = tmp_path / "build/web/node_modules/.bin"
    bin_folder.mkdir(parents=True)
    (tmp_path / "web/package").mkdir(parents=True)
    # In place of esbuild: writes the name of its output.
    tool = bin_folder / "esbuild"
    tool.write_text('#!/bin/sh\nfor word; do :; done\necho made > "${word#--outfile=}"\n')
    tool.chmod(0o755)
    assert gen_web.main("--check") == 1
    assert capsys.readouterr().out.count("is not what web/source makes") == len(gen_web.FILES)
    assert not any((tmp_path / "web/package").iterdir())
    assert gen_web.main() == 0
    assert gen_web.main("--check") == 0
    (tmp_path / "web/package/samara.js").write_text("other\n")
    assert gen_web.main("--check") == 1
