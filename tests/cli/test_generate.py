# SPDX-License-Identifier: Apache-2.0
"""`samara generate`, and what it shares with `samara chat`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import samara as api
from samara.exporter.testing_text import (
    write_tiny_encoder,
    write_tiny_encoder_folder,
    write_tiny_folder,
    write_tiny_text_model,
)

Samara = Callable[..., Result]


@pytest.fixture(scope="module")
def text_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_text_model(tmp_path_factory.mktemp("cli") / "tiny.samara")


def test_text_and_speed(samara: Samara, text_path: Path) -> None:
    result = samara("generate", text_path, "A maple", "--max-tokens", "9")
    assert result.exit_code == 0, result.output
    want = api.TextModel(text_path).generate("A maple", max_tokens=9)
    assert result.stdout == want.text + "\n"
    assert "7 tokens of the prompt; first token after" in result.stderr
    assert f"end: {want.end}" in result.stderr


def test_options_and_json(samara: Samara, text_path: Path) -> None:
    options = {
        "temperature": 1.1,
        "top_k": 50,
        "top_p": 0.9,
        "min_p": 0.01,
        "repetition_penalty": 1.2,
    }
    words = [w for k, v in options.items() for w in (f"--{k.replace('_', '-')}", str(v))]
    result = samara(
        "generate", text_path, "A", "--max-tokens", "12", "--seed", "3", "--json", *words
    )
    assert result.exit_code == 0, result.output
    want = api.TextModel(text_path).generate("A", max_tokens=12, seed=3, **options)
    found = json.loads(result.stdout)
    assert (found["text"], found["tokens"], found["end"]) == (want.text, [*want.tokens], want.end)
    assert found["first_token_s"] > 0


def test_states_and_stops(samara: Samara, text_path: Path, tmp_path: Path) -> None:
    run = ("generate", text_path, "A maple's seed", "--state", tmp_path / "s", "--max-tokens", "3")
    assert "in the cache" not in samara(*run).stderr
    again = samara(*run)
    assert "13 of them in the cache" in again.stderr
    text = again.stdout.rstrip("\n")
    stopped = samara(*run, "--stop", text[1:])
    assert stopped.stdout == text[:1] + "\n"


def test_a_folder_becomes_a_text_model(samara: Samara, tmp_path: Path) -> None:
    net, out = write_tiny_folder(tmp_path / "net"), tmp_path / "m.samara"
    result = samara("export", net, "-o", out, "--context", "300", "--scheme", "int8-dynamic")
    assert result.exit_code == 0, result.output
    assert "next: samara chat" in result.stderr
    assert api.TextModel(out).context == 300
    for words, said in (
        ((net, "--const", "a=1", "--rename", "b=c"), "--const, --rename"),
        ((net, "--labels", net / "config.json", "--bound", "n<=3"), "--bound, --labels"),
        ((out, "--context", "8"), "--context"),
    ):
        refused = samara("export", *words)
        assert refused.exit_code == 2
        assert f"{said}:" in refused.stderr.replace("\n", " ")


def test_failures(samara: Samara, text_path: Path, samara_path: Path, tmp_path: Path) -> None:
    assert samara("generate", samara_path, "a").exit_code == 1
    assert samara("generate", text_path, "a", "--top-p", "3").exit_code == 2
    (tmp_path / "s").write_bytes(b"no state")
    refused = samara("generate", text_path, "a", "--state", tmp_path / "s")
    assert refused.exit_code == 1
    assert (tmp_path / "s").read_bytes() == b"no state"


def test_an_encoder_makes_no_text(samara: Samara, tmp_path: Path) -> None:
    """Each command says so at once, before it reads what it is about."""
    path = write_tiny_encoder(tmp_path / "encoder.samara")
    (tmp_path / "book.txt").write_text("A maple's winged seed", encoding="utf-8")
    for words in (
        ("generate", path, "A maple"),
        ("generate", path, "A maple", "--state", tmp_path / "s"),
        ("chat", path),
        ("bench", path, "--decode"),
        ("evaluate", path, tmp_path / "book.txt"),
        ("evaluate", path, tmp_path / "book.txt", "--window", "1000"),
    ):
        result = samara(*words)
        assert result.exit_code == 1, words
        assert "has an encoder, which makes vectors of texts" in " ".join(result.stderr.split())
    assert not (tmp_path / "s").exists()


def test_export_of_an_encoders_folder(samara: Samara, tmp_path: Path) -> None:
    net, path = write_tiny_encoder_folder(tmp_path / "net"), tmp_path / "m.samara"
    result = samara("export", net, "-o", path, "--context", "12", "--scheme", "int8-dynamic")
    assert result.exit_code == 0, result.output
    assert f"samara inspect {path}" in "".join(result.stderr.split("\n"))
    assert api.TextModel(path).context == 12
    shown = samara("inspect", path).stdout
    for fact in ("text.kind: encoder", "text.context: 12", "tokenizer: BPE", "input_ids"):
        assert fact in shown
    assert "text.pooling: mean, length 1" in shown
    refused = samara("export", net, "-o", path, "--accuracy", "exact")
    assert refused.exit_code == 1
    assert "no exact form" in refused.stderr
