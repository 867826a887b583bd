# SPDX-License-Identifier: Apache-2.0
"""Output: results go to stdout, notes to stderr, progress only to a terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from samara.cli._console import bar, note, opened_model, print_json, step


def test_results_and_notes_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [1, None, "b"]})
    note("by the way")
    captured = capsys.readouterr()
    assert captured.out == '{\n  "a": [\n    1,\n    null,\n    "b"\n  ]\n}\n'
    assert captured.err == "by the way\n"


def test_numbers_that_json_has_not_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"a": float("inf")})


def test_no_progress_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with step("one") as say, bar("two") as advance:
        say("three")
        advance(1, 2)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_conversion_is_said_before_the_model_is_used(
    onnx_path: Path, samara_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened_model(str(samara_path)) as file:
        assert file.source is None
        assert capsys.readouterr().err == ""
    with opened_model(str(onnx_path)) as file:
        assert file.path.is_file()
        assert "converted in memory" in capsys.readouterr().err


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with step("counting"):
        pass
    with bar("measuring") as advance:
        advance(1, 2)
        advance(2, 2, "almost")
    text = terminal.getvalue()
    assert "counting" in text
    assert "measuring" in text
    assert "almost" in text
