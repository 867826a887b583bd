# SPDX-License-Identifier: Apache-2.0
"""Each command's --help shows two examples, which the command's own parser accepts."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from samara.cli.main import app


def _commands(group: Any, name: str) -> list[tuple[str, Any]]:
    """Every command that does something, with the words that call it."""
    if not hasattr(group, "commands"):
        return [(name, group)]
    return [c for word, one in group.commands.items() for c in _commands(one, f"{name} {word}")]


_ALL = _commands(typer.main.get_command(app), "samara")


@pytest.mark.parametrize(("name", "command"), _ALL, ids=[name for name, _ in _ALL])
def test_two_examples_that_parse(name: str, command: Any) -> None:
    shown = command.get_help(command.context_class(command, info_name=name, max_content_width=400))
    lines = re.findall(rf"^ *({name}(?: .*)?)$", shown, re.M)
    lines = [line for line in lines if not line.startswith(f"{name} [OPTIONS]")]
    assert len(lines) >= 2, shown
    for line in lines:
        # What follows two spaces is a remark; a redirection or a second command is for the shell.
        words = shlex.split(re.split(r"   +| > |;|#", line)[0])
        command.make_context(name, words[len(name.split()) :])
