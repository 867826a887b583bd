# SPDX-License-Identifier: Apache-2.0
"""Nets as folders: what is written is what from_pretrained, export_text and TextModel read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.pretrained.test_folder import NETS, RECORDS, feeds, folder
from tests.exporter.frontend.pretrained.test_pooling import sentence_files

import samara
from samara.exporter.frontend.pretrained.pooling import Pooling
from samara.exporter.frontend.tensor_file import read_tensors
from samara.exporter.testing_text import CONFIG, TEMPLATE, write_tiny_folder
from samara.pybridge.errors import ArgumentError, FileError, ModelFormatError, UnsupportedError


@pytest.mark.parametrize("name", NETS)
def test_every_family_comes_back_with_the_same_bits(name: str, tmp_path: Path) -> None:
    net: Any = samara.from_pretrained(folder(tmp_path / "net", name, torch_dtype="bfloat16"))
    samara.save_pretrained(net, tmp_path / "again")
    config = json.loads((tmp_path / "again" / "config.json").read_text(encoding="utf-8"))
    assert config == {**RECORDS[name]["config"], "torch_dtype": "float32"}
    again: Any = samara.from_pretrained(tmp_path / "again")
    ids = {n: samara.tensor(v) for n, v in feeds(name).items()}
    assert again(**ids).detach().numpy().tobytes() == net(**ids).detach().numpy().tobytes()
    read = read_tensors(tmp_path / "again" / "model.safetensors")
    assert read.metadata == {"format": "pt"}
    tied = RECORDS[name]["config"].get("tie_word_embeddings", False)
    assert ("lm_head.weight" in read.arrays) == (hasattr(net, "lm_head") and not tied)


def test_a_trained_net_becomes_a_text_model(tmp_path: Path) -> None:
    """A net that learned a sentence by heart says it from a file that export_text made of its folder."""
    samara.manual_seed(0)
    tokenizer = write_tiny_folder(tmp_path / "tiny") / "tokenizer.json"
    net = samara.CausalLM.of(CONFIG)
    said = [*b"A maple's winged seed turns as it falls.", 256]
    tokens = samara.tensor([[257, *b"Hi", 256, 258, *said]])
    optimizer = samara.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        logits = net(tokens[:, :-1]).flatten(0, 1)
        samara.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten()).backward()
        optimizer.step()
    samara.save_pretrained(
        net, tmp_path / "net", tokenizer=tokenizer, chat_template=TEMPLATE, end_tokens=[256]
    )
    assert sorted(p.name for p in (tmp_path / "net").iterdir()) == [
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    settings = json.loads((tmp_path / "net" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert settings == {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>"}
    samara.export_text(tmp_path / "net", tmp_path / "m.samara", context=100, scheme="int8-dynamic")
    answer = samara.TextModel(tmp_path / "m.samara").chat([{"role": "user", "content": "Hi"}])
    assert (answer.text, answer.end) == ("A maple's winged seed turns as it falls.", "end token")


def test_files_of_what_is_not_given_stay(tmp_path: Path) -> None:
    root = write_tiny_folder(tmp_path / "net")
    file = json.loads((root / "tokenizer.json").read_text(encoding="utf-8"))
    before = (root / "tokenizer.json").read_bytes()
    net: Any = samara.from_pretrained(root)
    samara.save_pretrained(net, root)
    assert (root / "tokenizer.json").read_bytes() == before
    assert not (root / "generation_config.json").exists()
    samara.save_pretrained(net, str(root), tokenizer=file, end_tokens=np.array([3, 256]))
    assert json.loads((root / "tokenizer.json").read_text(encoding="utf-8")) == file
    found = json.loads((root / "generation_config.json").read_text(encoding="utf-8"))
    assert found == {"eos_token_id": [3, 256]}


@pytest.mark.parametrize("kind", ["mean_tokens", "cls_token", "max_tokens"])
@pytest.mark.parametrize("more", [(), ("Normalize",)])
def test_an_encoder_keeps_its_pooling(kind: str, more: tuple[str, ...], tmp_path: Path) -> None:
    root = sentence_files(folder(tmp_path / "net", "minilm"), kind, *more)
    (root / "sentence_bert_config.json").write_text('{"max_seq_length": 17}')
    net: Any = samara.from_pretrained(root)
    again = tmp_path / "again"
    for _ in range(2):  # into a new folder, and into the same
        samara.save_pretrained(net, again)
        read: Any = samara.from_pretrained(again)
        assert read.pooling == net.pooling
    names = [m["type"].rpartition(".")[2] for m in json.loads((again / "modules.json").read_text())]
    assert names == ["Transformer", "Pooling", *more]
    samara.save_pretrained(samara.TextEncoder.of(net.config), again)
    read = samara.from_pretrained(again)
    assert read.pooling == Pooling()  # that of a net without a folder

    sentence_files(root, kind, "Dense")
    dense: Any = samara.from_pretrained(root)
    with pytest.raises(UnsupportedError, match=r"modules\.json has Dense"):
        samara.save_pretrained(dense, tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_refusals(tmp_path: Path) -> None:
    net = samara.CausalLM.of(CONFIG)
    root = tmp_path / "net"
    linear: Any = samara.nn.Linear(2, 2)
    with pytest.raises(UnsupportedError, match=r"decoders and encoders, not a samara\.Linear"):
        samara.save_pretrained(linear, root)
    for token, text in (
        (-1, "end token -1 is none of"),
        (260, "260 is none"),
        (True, "is no token"),
    ):
        with pytest.raises(ArgumentError, match=text):
            samara.save_pretrained(net, root, end_tokens=[token])
    small = samara.CausalLM.of({**CONFIG, "vocab_size": 259})
    tokenizer = write_tiny_folder(tmp_path / "tiny") / "tokenizer.json"
    with pytest.raises(
        ArgumentError, match="tokenizer has 260 ids, and the net's vocab_size is 259"
    ):
        samara.save_pretrained(small, root, tokenizer=tokenizer)
    with pytest.raises(FileError, match="absent"):
        samara.save_pretrained(net, root, tokenizer=tmp_path / "absent")
    with pytest.raises(ModelFormatError, match="there is no model"):
        samara.save_pretrained(net, root, tokenizer={})
    assert not root.exists()  # nothing is written before all is checked
    root.mkdir()
    (root / "model.safetensors.index.json").write_text("{}", encoding="ascii")
    with pytest.raises(ArgumentError, match="names the weights of another net"):
        samara.save_pretrained(net, root)
    with pytest.raises(FileError, match="it is a file, not a folder"):
        samara.save_pretrained(net, tokenizer)  # a file is no folder
