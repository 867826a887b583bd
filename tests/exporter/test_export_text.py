# SPDX-License-Identifier: Apache-2.0
"""Decoders and encoders as files of text models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.pretrained.test_folder import NETS, RECORDS, answer, feeds, folder
from tests.exporter.frontend.pretrained.test_pooling import pooled, sentence_files
from tests.exporter.frontend.pretrained.weights import weight

import samara
from samara.exporter.frontend.pretrained import CausalLM
from samara.exporter.frontend.tensor_file import write_tensors
from samara.exporter.testing_text import (
    ENCODER_CONFIG,
    TEMPLATE,
    write_tiny_encoder,
    write_tiny_encoder_folder,
    write_tiny_folder,
)
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
    with pytest.raises(UnsupportedError, match="made of a decoder or an encoder, not of a"):
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


# ---- encoders


def of_one_type(path: Path, name: str) -> Path:
    """A record's net whose tokens of the second type are tokens of their own, of the first type.

    Its vocabulary is doubled: token v + vocab_size has the vector of v plus the difference of the types.
    """
    root = folder(path, name)
    record = RECORDS[name]
    arrays = {n: weight(n, shape) for n, shape in record["tensors"].items()}
    (words,) = (n for n in arrays if n.endswith("word_embeddings.weight"))
    (types,) = (n for n in arrays if n.endswith("token_type_embeddings.weight"))
    first, second = arrays[types]
    arrays[words] = np.concatenate([arrays[words], arrays[words] + (second - first)])
    write_tensors(root / "model.safetensors", arrays, {"format": "pt"})
    config = {**record["config"], "vocab_size": 2 * record["config"]["vocab_size"]}
    (root / "config.json").write_text(json.dumps(config))
    return root


@pytest.mark.parametrize("more", [(), ("Normalize",)])
@pytest.mark.parametrize("kind", ["mean_tokens", "cls_token", "max_tokens"])
@pytest.mark.parametrize("name", ["bert", "minilm"])
def test_vectors_are_those_of_transformers(
    name: str, kind: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    """In the runtime, from the vectors of tokens in the records."""
    root = sentence_files(of_one_type(tmp_path / "net", name), kind, *more)
    path = tmp_path / "m.samara"
    samara.export_text(root, path)
    session = samara.Session(path)
    given, size = feeds(name), RECORDS[name]["config"]["vocab_size"]
    for i, count in enumerate(given["attention_mask"].sum(1)):
        ids = (given["input_ids"] + size * given["token_type_ids"])[i : i + 1, :count]
        (got,) = session.run({"input_ids": ids})["embedding"]
        want = pooled(answer(name)[i, :count], kind, bool(more))
        np.testing.assert_allclose(got, want, 0, 1e-5 * np.ptp(want))


def test_what_an_encoders_file_says(tmp_path: Path) -> None:
    net = write_tiny_encoder_folder(tmp_path / "net")
    path = tmp_path / "m.samara"
    report = samara.export_text(net, path)
    assert not report.growing
    want = {"text.kind": "encoder", "text.context": "40", "text.pooling": "mean, length 1"}
    assert metadata(path) == want
    (spec,) = samara.Model(path).functions.values()
    assert [(t.name, t.dtype, t.shape) for t in (*spec.inputs, *spec.outputs)] == [
        ("input_ids", "int64", (1, "tokens")),
        ("embedding", "float32", (1, 16)),
    ]
    # The smallest of what is asked for, what the folder says, and the positions.
    for context, said, limit in (
        (100, 64, 40),
        (7, 64, 7),
        (None, 64, 40),
        (None, 20, 20),
        (30, 20, 30),
    ):
        (net / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": said}))
        samara.export_text(net, path, context=context)
        assert metadata(path)["text.context"] == str(limit)
        model = samara.TextModel(path)
        assert model.context == limit
        texts = ["a" * (limit - 2), "a" * limit]
        one, other = model.embed(texts)
        np.testing.assert_array_equal(one, other)
    sentence_files(net, "cls_token")
    samara.export_text(net, path)
    assert metadata(path)["text.pooling"] == "cls"


def test_encoders_without_a_folder(tmp_path: Path) -> None:
    samara.manual_seed(0)
    net = samara.TextEncoder.of(ENCODER_CONFIG)
    tokenizer = write_tiny_encoder_folder(tmp_path / "net") / "tokenizer.json"
    samara.export_text(net, tmp_path / "m.samara", tokenizer=tokenizer)
    got = samara.TextModel(tmp_path / "m.samara").embed("ab")
    want = net.embed(samara.tensor([[256, 97, 98, 257]])).detach().numpy()[0]
    np.testing.assert_allclose(got, want, 0, 1e-6)
    assert net.training  # as it was


def test_schemes_of_encoders(tmp_path: Path) -> None:
    sizes, vectors = {}, {}
    texts = ["A maple's winged seed", "An oak", "", "x" * 38]
    wide = {"hidden_size": 64, "intermediate_size": 128}
    for scheme in (None, "fp16", "int8-dynamic", "int8-weights", "int4-dynamic"):
        path = write_tiny_encoder(tmp_path / f"{scheme}.samara", config=wide, scheme=scheme)
        vectors[scheme] = samara.TextModel(path).embed(texts)
        sizes[scheme] = path.stat().st_size
        np.testing.assert_allclose(np.linalg.norm(vectors[scheme], axis=1), 1, 1e-5)
    assert sizes["int4-dynamic"] < sizes["int8-dynamic"] < sizes["fp16"] < sizes[None]
    cosines = {s: float((v * vectors[None]).sum(1).min()) for s, v in vectors.items()}
    assert cosines["fp16"] > 0.99999
    assert cosines["int8-dynamic"] > 0.999
    assert cosines["int8-weights"] > 0.999
    assert cosines["int4-dynamic"] > 0.9


def test_refusals_of_encoders(tmp_path: Path) -> None:
    net = write_tiny_encoder_folder(tmp_path / "net")
    path = tmp_path / "m.samara"
    given: dict[str, Any]
    for given in ({"chunk": 3}, {"chat_template": "T"}, {"end_tokens": [1]}):
        with pytest.raises(ArgumentError, match=f"{next(iter(given))} is .* makes no text"):
            samara.export_text(net, path, **given)
    for context in (0, 1, 2, -3):
        with pytest.raises(ArgumentError, match="has no room beside the 2"):
            samara.export_text(net, path, context=context)
    for wrong in (2.5, True, "8"):
        with pytest.raises(ArgumentError, match="context is "):
            samara.export_text(net, path, context=wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="tokenizer"):
        samara.export_text(net, path, tokenizer=3)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="attention of float32"):
        samara.export_text(net, path, accuracy="exact")
    (net / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    with pytest.raises(UnsupportedError, match="says do_lower_case"):
        samara.export_text(net, path)
    (net / "sentence_bert_config.json").unlink()
    sentence_files(net, "mean_tokens", "Dense")
    with pytest.raises(UnsupportedError, match=r"modules\.json has Dense"):
        samara.export_text(net, path)
    assert not path.exists()


def test_lowercase_of_the_tokenizer(tmp_path: Path) -> None:
    net = write_tiny_encoder_folder(tmp_path / "net")
    (net / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    file = json.loads((net / "tokenizer.json").read_text())
    (net / "tokenizer.json").write_text(json.dumps({**file, "normalizer": {"type": "Lowercase"}}))
    samara.export_text(net, tmp_path / "m.samara")
    small, large = samara.TextModel(tmp_path / "m.samara").embed(["an oak", "AN OAK"])
    np.testing.assert_array_equal(small, large)
