# SPDX-License-Identifier: Apache-2.0
"""Shells complete commands, options and files; asking for a word imports nothing heavy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = {
    *("backend", "bench", "build", "compare", "demo", "devices", "doctor", "explain", "export"),
    *("inspect", "launch"),
    *("ops", "quantize", "run", "tune"),
    *("chat", "evaluate", "generate"),
}
HEAVY = ("numpy", "onnx", "cffi", "samara.exporter", "samara.pybridge")


@pytest.fixture
def shell_environment(repo: Path, tmp_path: Path) -> dict[str, str]:
    """A PATH on which `samara` is this checkout's, and an empty home folder."""
    program = tmp_path / "bin" / "samara"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nfrom samara.cli.main import main\n\nmain()\n", encoding="utf-8"
    )
    program.chmod(0o755)
    (tmp_path / "home").mkdir()
    roots = os.pathsep.join(str(repo / room) for room in ("pybridge", "exporter", "cli"))
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": roots,
        "SAMARA_LIBRARY": "/nowhere/libsamara.so",  # no library is needed either
        "TERM": "dumb",
    }


def _in_shell(shell: str, script: str, environment: dict[str, str]) -> str:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"NOT RUN: completion in {shell} ({shell} is not installed)")
    quiet = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[shell]
    run = subprocess.run(
        [program, quiet, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=environment["HOME"],
        env=environment,
    )
    assert run.stderr == ""
    return run.stdout


# What a shell offers for a line: what its completion function leaves behind. zsh's own functions,
# which need a terminal, print what they are given.
_SCRIPTS = {
    "bash": """
eval "$(samara --show-completion)"
complete -p samara
ask() { COMP_WORDS=($1); [ "${1: -1}" = " " ] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _samara_completion samara; echo "${COMPREPLY[@]}"; }
""",
    "zsh": """
compdef() { print -r -- "$@" }
_arguments() { print -r -- ${(Q)${(z)${${1#*\\(\\(}%\\)\\)}}} }
_files() { print -r -- FILES }
eval "$(samara --show-completion)"
ask() { words=(${(s: :)1}); [[ $1 == *" " ]] && words+=(""); CURRENT=$#words; _samara_completion | tr '\\n' ' '; echo; }
""",
    "fish": """
samara --show-completion | source
complete | string match '*samara*'
function ask; complete --do-complete $argv | string replace --regex '\\t.*' '' | string join ' '; echo '' ; end
""",
}
_LINES = ("samara ", "samara export --lab", "samara run mo")


@pytest.mark.parametrize("shell", list(_SCRIPTS))
def test_a_shell_completes(shell: str, shell_environment: dict[str, str]) -> None:
    home = Path(shell_environment["HOME"])
    (home / "model.samara").write_bytes(b"")
    script = _SCRIPTS[shell] + "\n".join(f'ask "{line}"' for line in _LINES)
    output = _in_shell(shell, script, shell_environment)
    registered, commands, option, file = (n for n in output.splitlines() if n or shell != "fish")
    assert "samara" in registered
    assert {word.partition(":")[0] for word in commands.split()} >= COMMANDS
    assert option.partition(":")[0].strip() == "--labels"
    # Files are the shell's own affair: bash falls back to them by `-o default`.
    assert file.strip() == {"bash": "", "zsh": "FILES", "fish": "model.samara"}[shell]


@pytest.mark.parametrize("shell", list(_SCRIPTS))
def test_installing(shell: str, shell_environment: dict[str, str]) -> None:
    said = _in_shell(shell, "samara --install-completion; echo", shell_environment)
    home = Path(shell_environment["HOME"])
    place = {
        "bash": ".bash_completions/samara.sh",
        "zsh": ".zfunc/_samara",
        "fish": ".config/fish/completions/samara.fish",
    }[shell]
    assert f"{shell} completion installed in {home / place}" in said
    assert "_SAMARA_COMPLETE" in (home / place).read_text(encoding="utf-8")


_OFFERED = {
    "samara ": COMMANDS,
    "samara qu": {"quantize"},
    "samara --ver": {"--version"},
    "samara --version ": COMMANDS,
    "samara --operators ops.py ex": {"explain", "export"},
    "samara export m.onnx --sha": {"--shape"},
    "samara bench m.onnx --against onnxruntime --runs 3 --thr": {"--threads"},
    "samara run m.samara ": set(),
}
_ASK = """
import contextlib, io, json, os, sys
from samara.cli.main import main
os.environ["_SAMARA_COMPLETE"] = "complete_bash"
sys.argv = ["samara"]
offered = {}
for line in json.loads(sys.stdin.read()):
    words = line.split(" ")
    os.environ |= {"COMP_WORDS": "\\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        main()
    offered[line] = text.getvalue().split()
print(json.dumps([offered, sorted(sys.modules)]))
"""


def test_nothing_heavy_and_nothing_else(shell_environment: dict[str, str]) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _ASK],
        input=json.dumps(list(_OFFERED)),
        capture_output=True,
        text=True,
        check=True,
        env=shell_environment,
    )
    offered, loaded = json.loads(run.stdout)
    assert {line: set(words) for line, words in offered.items()} == _OFFERED
    assert not {*HEAVY, "rich"} & set(loaded)
