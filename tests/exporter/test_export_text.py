# SPDX-License-Identifier: Apache-2.0
"""Decoders as files of text models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.pretrained.test_folder import NETS, RECORDS, answer, feeds, folder

import samara
from samara.exporter.frontend.pretrained import CausalLM
from samara.exporter.testing_text import TEMPLATE, write_tiny_folder
from samara.pybridge.errors import ArgumentError, ModelFormatError, UnsupportedError

DECODERS = [n for n in NETS if RECORDS[n]["config"]["model_type"] != "bert"]


@pytest.mark.parametrize("name", DECODERS)
def test_answers_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    """The logits behind each part of a text, in the runtime, beside the records."""
    samara.export_text(folder(tmp_path / "net", name), tmp_path / "m.samara", context=64, chunk=5)
    model = samara.TextModel(tmp_path / "m.samara")
    (ids,) = feeds(name).values()
    want = answer(name)
    for row, text in enumerate(ids.tolist()):
        for count in (1, 3, len(text)):
            model.put(text[:count])
            got = model.logits()
            np.testing.assert_allclose(got, want[row, count - 1], 0, 1e-5 * np.ptp(want))


@pytest.mark.parametrize(("scheme", "bits"), [("int4-dynamic", 4), ("int8-dynamic", 8)])
def test_a_tied_table_is_stored_once(scheme: str, bits: int, tmp_path: Path) -> None:
    sizes = []
    for tied in (True, False):
        net = write_tiny_folder(
            tmp_path / f"net{tied:d}", hidden_size=128, tie_word_embeddings=tied
        )
        path = tmp_path / f"{tied:d}.samara"
        samara.export_text(net, path, scheme=scheme, context=64, chunk=5)
        assert len(samara.TextModel(path).generate("ab", max_tokens=4).tokens) == 4
        sizes.append(path.stat().st_size)
    table = 260 * 128 * bits // 8
    assert table <= sizes[1] - sizes[0] < 1.3 * table


def metadata(path: Path) -> dict[str, str]:
    found = samara.Model(path).metadata
    return {k: v for k, v in found.items() if k.startswith("text.")}


def test_what_a_folder_says(tmp_path: Path) -> None:
    net = write_tiny_folder(tmp_path / "net")
    samara.export_text(net, tmp_path / "m.samara", context=100, chunk=10)
    assert metadata(tmp_path / "m.samara") == {
        "text.chunk": "10",
        "text.context": "100",
        "text.end_tokens": "256",
        "text.eos_token": "<|end|>",
        "text.chat_template": TEMPLATE,
    }
    (net / "generation_config.json").write_text('{"eos_token_id": [3, 256]}')
    (net / "chat_template.jinja").write_text("T")
    samara.export_text(net, tmp_path / "m.samara", context=100)
    found = metadata(tmp_path / "m.samara")
    assert (found["text.end_tokens"], found["text.chat_template"]) == ("3,256", "T")
    samara.export_text(net, tmp_path / "m.samara", context=200, chat_template="U", end_tokens=[7])
    found = metadata(tmp_path / "m.samara")
    assert (found["text.end_tokens"], found["text.chat_template"]) == ("7", "U")

    (net / "chat_template.jinja").unlink()
    named = [{"name": "tool_use", "template": "V"}, {"name": "default", "template": "W"}]
    (net / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    samara.export_text(net, tmp_path / "m.samara", context=200)
    assert metadata(tmp_path / "m.samara")["text.chat_template"] == "W"


def test_schemes(tmp_path: Path) -> None:
    """Logits of quantized nets correlate with those of the net; 4 bits are few for random weights."""
    net = write_tiny_folder(tmp_path / "net", hidden_size=64, intermediate_size=96)
    rng = np.random.default_rng(0)
    prompts = [rng.integers(0, 256, 12).tolist() for _ in range(10)]
    logits = {}
    for scheme in (None, "fp16", "int8-dynamic", "int4-weights", "int4-dynamic"):
        path = tmp_path / f"{scheme}.samara"
        samara.export_text(net, path, context=64, chunk=8, scheme=scheme)
        model = samara.TextModel(path)
        logits[scheme] = [model.put(ids) * 0 + model.logits() for ids in prompts]

    def worst(a: str | None, b: str | None) -> float:
        pairs = zip(logits[a], logits[b], strict=True)
        return min(float(np.corrcoef(x, y)[0, 1]) for x, y in pairs)

    assert worst(None, "fp16") > 0.9999
    assert worst(None, "int8-dynamic") > 0.97
    assert worst(None, "int4-weights") > 0.2
    assert worst("int4-weights", "int4-dynamic") > 0.97  # the same weights
    sizes = {s: (tmp_path / f"{s}.samara").stat().st_size for s in logits}
    assert sizes["int4-dynamic"] < sizes["int8-dynamic"] < sizes["fp16"] < sizes[None]


def test_refusals(tmp_path: Path) -> None:
    net = write_tiny_folder(tmp_path / "net")
    path = tmp_path / "m.samara"
    with pytest.raises(UnsupportedError, match="made of a decoder"):
        samara.export_text(folder(tmp_path / "encoder", "minilm"), path)
    with pytest.raises(UnsupportedError, match="made of a decoder, not of a"):
        samara.export_text(3, path)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="is no token"):
        samara.export_text(net, path, end_tokens=[-1])
    with pytest.raises(ArgumentError, match="calls of 128 tokens in a context of 10"):
        samara.export_text(net, path, context=10, chunk=128)
    for name, text, match in (
        ("generation_config.json", '{"eos_token_id": "a"}', "eos_token_id is"),
        ("generation_config.json", "[]", "is a JSON list, not an object"),
        ("generation_config.json", "{", "is not JSON"),
    ):
        (net / name).write_text(text)
        with pytest.raises(ModelFormatError, match=match):
            samara.export_text(net, path)
    assert not path.exists()


def test_a_module_of_ones_own(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "model_type": "qwen3", "vocab_size": 30, "hidden_size": 16, "intermediate_size": 16,
        "num_hidden_layers": 1, "num_attention_heads": 2,
    }  # fmt: skip
    samara.export_text(CausalLM.of(config), tmp_path / "m.samara", context=32, chunk=4)
    model = samara.TextModel(tmp_path / "m.samara")
    assert len(model.generate([1, 2, 3], max_tokens=5).tokens) == 5
