# SPDX-License-Identifier: Apache-2.0
"""`samara chat`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import samara as api
from samara.cli.main import app
from samara.exporter.testing_text import write_tiny_text_model

pytest.importorskip("jinja2")


def test_turns(tmp_path: Path) -> None:
    path = write_tiny_text_model(tmp_path / "tiny.samara")
    words = ["chat", str(path), "--system", "S", "--max-tokens", "5", "--temperature", "0"]
    result = CliRunner().invoke(app, words, input="Hi\nAnd?\n\nnever read\n")
    assert result.exit_code == 0, result.output
    model = api.TextModel(path)
    messages = [{"role": "system", "content": "S"}]
    said = ""
    for line in ("Hi", "And?"):
        messages.append({"role": "user", "content": line})
        answer = model.chat(messages, max_tokens=5, top_p=0.95)
        messages.append({"role": "assistant", "content": answer.text})
        said += answer.text + "\n"
    assert result.stdout == said
    assert result.stderr.count("tokens of the prompt") == 2


def test_a_model_without_a_template(tmp_path: Path) -> None:
    path = write_tiny_text_model(tmp_path / "tiny.samara", chat_template="")
    result = CliRunner().invoke(app, ["chat", str(path)], input="Hi\n")
    assert result.exit_code == 1
    assert "chat template" in str(result.stderr)
