# SPDX-License-Identifier: Apache-2.0
"""`samara evaluate`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import samara as api
from samara.exporter.testing_text import write_tiny_text_model

Samara = Callable[..., Result]


@pytest.fixture(scope="module")
def text_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_text_model(tmp_path_factory.mktemp("cli") / "tiny.samara")


def test_table_json_and_failures(samara: Samara, text_path: Path, tmp_path: Path) -> None:
    book, letter = tmp_path / "book.txt", tmp_path / "letter.txt"
    book.write_text("A maple's winged seed", encoding="utf-8")
    letter.write_text("Día", encoding="utf-8")
    run = ("evaluate", text_path, book, letter, "--window", "8")
    result = samara(*run)
    assert result.exit_code == 0, result.output
    assert "23 tokens predicted, 23 bytes; windows of 8" in result.stdout
    want = api.perplexity(text_path, [p.read_text("utf-8") for p in (book, letter)], window=8)
    assert f"{want.model.perplexity:.4f}" in result.stdout
    facts = json.loads(samara(*run, "--against", text_path, "--json").stdout)
    assert facts["model"] == facts["against"] == want.to_json()["model"]
    assert (facts["agreement"], facts["divergence"]) == (1.0, 0.0)
    assert samara("evaluate", text_path).exit_code == 2
    assert samara(*run, "--stride", "8").exit_code == 2
    missing = samara("evaluate", text_path, tmp_path / "none.txt")
    assert missing.exit_code == 1
    assert "none.txt" in missing.stderr
    book.write_bytes(b"\xff\xfe")
    assert samara(*run).exit_code == 1
