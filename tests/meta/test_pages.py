# SPDX-License-Identifier: Apache-2.0
"""Pages of docs/: whom each is for, Python that parses, commands that the command line takes."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from samara.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHELVES = ("tutorial", "guides", "reference", "internals")
PAGES = [
    path
    for shelf in SHELVES
    for path in sorted((DOCS / shelf).glob("*.md"))  # not those that `make docs` writes
]
_BLOCK = re.compile(r"^( *)```(\w*)\n((?:(?!\1```).*\n)*?)\1```$", re.MULTILINE)
# Typer has click's exceptions, wherever it keeps them.
_REFUSED: Any = typer.BadParameter.__mro__[2]
_STOPS = {"&&", "|", ";", ">", "<", "||"}


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _blocks(path: Path) -> Iterator[tuple[str, str]]:
    for _, kind, text in _BLOCK.findall(path.read_text(encoding="utf-8")):
        yield kind, text


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_it_says_first_whom_it_is_for(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    (title,) = (i for i, line in enumerate(lines[:4]) if line.startswith("# "))
    first = next(line for line in lines[title + 1 :] if line.strip())
    assert re.match(r"For (those|whoever|app developers|vendors)\b", first), first


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_its_python_parses(path: Path) -> None:
    for kind, text in _blocks(path):
        if kind == "python":
            ast.parse(textwrap.dedent(text), filename=str(path))


def _commands(text: str) -> Iterator[list[str]]:
    """The words of every line that calls samara, without what the shell reads."""
    printed = text.startswith("$ ")  # then lines without a $ are what the command prints
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        bare = line.strip().removeprefix("$ ")
        if not bare.startswith("samara ") or (printed and not line.startswith("$ ")):
            continue
        words = shlex.split(bare, comments=True)
        end = next((i for i, word in enumerate(words) if word in _STOPS), len(words))
        yield words[1:end]


def _parse(words: list[str]) -> None:
    """What the command line does before it runs a command."""
    command: Any = typer.main.get_command(main.app)
    context, rest, name = None, list(words), "samara"
    while True:
        context = command.make_context(name, rest, parent=context)
        if not hasattr(command, "resolve_command"):
            return
        name, command, rest = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )


def _refusal(words: list[str]) -> str:
    """What is wrong with a command; nothing of one that is understood, or only prints."""
    try:
        _parse(words)
    except typer.Exit as done:
        return f"status {done.exit_code}" if done.exit_code else ""
    except _REFUSED as error:
        return str(error.format_message())
    return ""


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_its_commands_are_understood(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, text in _blocks(path):
        if kind in ("", "sh"):
            for words in _commands(text):
                refused = _refusal(words)
                assert not refused, f"samara {' '.join(words)}: {refused}"


def test_commands_are_really_parsed() -> None:
    for words in (["run"], ["run", "m.samara", "--no-such-option"], ["rum", "m.samara"]):
        assert re.search("Missing|No such", _refusal(words))
