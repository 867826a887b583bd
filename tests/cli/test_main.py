# SPDX-License-Identifier: Apache-2.0
"""The app: help, exit status, errors as messages, and nothing heavy before a command runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from samara.cli import main as module
from samara.pybridge import __version__

Samara = Callable[..., Result]
COMMANDS = ("export", "inspect", "run", "compare", "bench", "demo")


def test_help_lists_the_commands_and_a_first_walk(samara: Samara) -> None:
    result = samara("--help")
    assert result.exit_code == 0
    assert all(f"  {c}" in result.output for c in COMMANDS)
    assert "samara export model.onnx -o model.samara" in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_examples(samara: Samara, command: str) -> None:
    result = samara(command, "--help")
    assert result.exit_code == 0
    assert f"  samara {command}" in result.output
    assert "--json" in result.output


def test_version(samara: Samara, repo: Path) -> None:
    assert samara("--version").output == f"samara {__version__}\n"
    header = (repo / "runtime_c/include/samara/samara.h").read_text(encoding="utf-8")
    assert f'#define SAMARA_VERSION "{__version__}"\n' in header


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run"],
        ["run", "m", "--nonsense"],
        ["run", "m", "--threads", "0"],
        ["bench", "m", "--runs", "x"],
    ],
)
def test_wrong_usage_is_2(samara: Samara, arguments: list[str]) -> None:
    result = samara(*arguments)
    assert result.exit_code == 2
    assert "Usage: " in result.stderr


def test_errors_are_one_clean_message_with_its_fix(samara: Samara, tmp_path: Path) -> None:
    result = samara("run", tmp_path / "none.samara")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert (
        result.stderr
        == f"samara: {tmp_path}/none.samara: there is no such file\n  fix: check the path\n"
    )


def test_mistakes_of_ours_are_not_hidden(samara: Samara, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("samara.exporter.opening.opened", broken)
    result = samara("inspect", "m.samara")
    assert isinstance(result.exception, ZeroDivisionError)


def _run(repo: Path, *arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    roots = os.pathsep.join(str(repo / r) for r in ("pybridge", "exporter", "cli"))
    command = [sys.executable, *(["-c", code] if code else ["-m", "samara.cli.main"]), *arguments]
    environment = os.environ | {"PYTHONPATH": roots, "SAMARA_LIBRARY": "/nowhere/libsamara.so"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_help_needs_neither_the_library_nor_numpy(repo: Path) -> None:
    assert _run(repo, "--help").returncode == 0
    code = (
        "import sys\n"
        "import samara.cli.main as m\n"
        "sys.argv = ['samara', 'run', '--help']\n"
        "try:\n    m.main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'onnx', 'rich', 'cffi', 'samara.exporter', 'samara.pybridge'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))\n"
    )
    assert _run(repo, code=code).stdout.splitlines()[-1] == "heavy: []"


def test_program_as_users_start_it(repo: Path, tmp_path: Path) -> None:
    done = _run(repo, "run", str(tmp_path / "none.samara"))
    assert done.returncode == 1
    assert done.stderr.startswith("samara: ")
    assert "Traceback" not in done.stderr
    done = _run(repo)
    assert done.returncode == 2
    assert "Usage" in done.stdout + done.stderr


def test_reader_that_goes_away_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise BrokenPipeError

    closed: list[bool] = []

    class Stderr:
        def close(self) -> None:
            closed.append(True)

    monkeypatch.setattr(module, "app", gone)
    monkeypatch.setattr(sys, "stderr", Stderr())
    with pytest.raises(SystemExit) as caught:
        module.main()
    assert caught.value.code == 1
    assert closed == [True]
