# SPDX-License-Identifier: Apache-2.0
"""How well a language model predicts texts, beside the eager net."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend.pretrained import CausalLM
from samara.exporter.measure.perplexity import perplexity
from samara.exporter.testing_text import write_tiny_text_model
from samara.pybridge.errors import ArgumentError, SamaraError

TEXT = "A maple's winged seed, or samara, turns as it falls."


@pytest.fixture(scope="module")
def text_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_text_model(tmp_path_factory.mktemp("quality") / "tiny.samara")


@pytest.fixture(scope="module")
def int4_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_text_model(
        tmp_path_factory.mktemp("quality") / "int4.samara", scheme="int4-dynamic"
    )


def _eager(path: Path, windows: list[tuple[int, int, int]], ids: list[int]) -> np.ndarray[Any, Any]:
    """Log-probabilities, [token, vocabulary], of windows (begin, first predicted, end) by the eager net."""
    net: Any = samara.from_pretrained(path.with_suffix(".folder"))
    rows = []
    for begin, first, end in windows:
        given = samara.tensor(np.array([ids[begin:end]], np.int64))
        logits = (
            net(given).detach().numpy()[0, first - begin - 1 : end - begin - 1].astype(np.float64)
        )
        logits -= logits.max(axis=1, keepdims=True)
        rows.append(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))
    return np.concatenate(rows)


@pytest.mark.parametrize(
    ("options", "windows"),
    [
        ({}, [(0, 1, 52)]),
        ({"window": 52}, [(0, 1, 52)]),
        ({"window": 20}, [(0, 1, 20), (10, 20, 30), (20, 30, 40), (30, 40, 50), (40, 50, 52)]),
        ({"window": 20, "stride": 17}, [(0, 1, 20), (17, 20, 37), (34, 37, 52)]),
    ],
)
def test_perplexity_is_that_of_the_eager_net(
    text_path: Path, options: dict[str, Any], windows: list[tuple[int, int, int]]
) -> None:
    ids = list(TEXT.encode())
    assert len(ids) == 52
    logs = _eager(text_path, windows, ids)
    nats = -logs[np.arange(51), ids[1:]].sum()
    seen: list[tuple[int, int]] = []
    found = perplexity(text_path, TEXT, progress=lambda a, b: seen.append((a, b)), **options)
    assert (found.tokens, found.text_bytes) == (51, 51)
    assert found.model.nats == pytest.approx(nats, rel=1e-5)
    assert found.model.perplexity == pytest.approx(math.exp(nats / 51), rel=1e-5)
    assert found.model.bits_per_byte == pytest.approx(nats / 51 / math.log(2), rel=1e-5)
    assert found.against is None
    assert seen[-1] == (51, 51)


def test_several_texts_add_up(text_path: Path) -> None:
    net = samara.TextModel(text_path)
    parts = [TEXT[:20], "x", TEXT[20:]]
    apart = [perplexity(net, part) for part in (parts[0], parts[2])]
    together = perplexity(net, parts)
    assert together.tokens == sum(p.tokens for p in apart)
    assert together.text_bytes == 50
    assert together.model.nats == pytest.approx(sum(p.model.nats for p in apart))


def test_against_another_file(text_path: Path, int4_path: Path) -> None:
    found = perplexity(int4_path, TEXT, against=text_path)
    float32, int4 = perplexity(text_path, TEXT), perplexity(int4_path, TEXT)
    assert (found.model, found.against) == (int4.model, float32.model)
    ids, logs = list(TEXT.encode()), []
    for path in (text_path, int4_path):
        net = samara.TextModel(path)
        rows = []
        for at in range(1, 52):
            net.put(ids[:at])
            row = net.logits().astype(np.float64)
            rows.append(row - row.max() - np.log(np.exp(row - row.max()).sum()))
        logs.append(np.array(rows))
    true, other = logs
    divergence = (np.exp(true) * (true - other)).sum(axis=1).mean()
    assert found.divergence == pytest.approx(divergence, rel=1e-9)
    assert found.divergence is not None
    assert found.divergence > 1e-6
    assert found.agreement == (true.argmax(axis=1) == other.argmax(axis=1)).mean()
    backwards = perplexity(text_path, TEXT, against=int4_path)
    assert backwards.divergence != found.divergence
    same = perplexity(text_path, TEXT, against=text_path)
    assert (same.agreement, same.divergence) == (1.0, 0.0)
    shown = found.text("int4", "float")
    assert "same likeliest token" in shown
    assert json.loads(json.dumps(found.to_json()))["against"]["nats"] == float32.model.nats


def test_failures(text_path: Path, tmp_path: Path) -> None:
    nothing: list[Any] = ["", "x", []]
    for text in nothing:
        with pytest.raises(ArgumentError, match="no two tokens"):
            perplexity(text_path, text)
    for window in (1, 201):
        with pytest.raises(ArgumentError, match=f"window is {window}, and the models take 200"):
            perplexity(text_path, TEXT, window=window)
    for stride in (0, 20):
        with pytest.raises(ArgumentError, match=f"stride is {stride}"):
            perplexity(text_path, TEXT, window=20, stride=stride)
    with pytest.raises(ArgumentError, match="a text is"):
        perplexity(text_path, [3])  # type: ignore[list-item]
    silent = _without_tokenizer(tmp_path / "silent.samara")
    with pytest.raises(SamaraError, match="no tokenizer"):
        perplexity(silent, TEXT)


def test_tokenizers_must_be_one(text_path: Path, tmp_path: Path) -> None:
    folder = text_path.with_suffix(".folder")
    file = json.loads((folder / "tokenizer.json").read_text())
    file["added_tokens"].pop()
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    other = tmp_path / "other.samara"
    samara.export_text(folder, other, context=64, chunk=8, tokenizer=tmp_path / "tokenizer.json")
    with pytest.raises(ArgumentError, match="different tokenizers"):
        perplexity(text_path, TEXT, against=other)


def _without_tokenizer(path: Path) -> Path:
    sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32}
    net = CausalLM.of(
        {"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2, **sizes}
    )
    samara.export_text(net, path, context=16, chunk=4)
    return path
