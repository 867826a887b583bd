# SPDX-License-Identifier: Apache-2.0
"""Models of a tokenizer.json: vocabularies, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import samara
from samara.exporter.text.layout import Layout, Word
from samara.exporter.text.models import model_of, read_vocabulary, write_model
from samara.exporter.text.reading import Part

_BPE = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}


def _written(values: dict[str, Any]) -> Layout:
    part, layout = Part(values, "tokenizer.json.model"), Layout()
    vocabulary = read_vocabulary(part)
    write_model(layout, part, vocabulary, max(vocabulary.ids.values()) + 1)
    return layout


def test_models_without_a_name() -> None:
    assert model_of(Part({"vocab": {}, "merges": []}, "")) == "BPE"
    assert model_of(Part({"vocab": []}, "")) == "Unigram"
    assert model_of(Part({"vocab": {}, "continuing_subword_prefix": "##"}, "")) == "WordPiece"
    assert model_of(Part({"vocab": {}}, "")) == "WordLevel"


def test_merges_in_both_spellings() -> None:
    assert _written(_BPE).finish() == _written(_BPE | {"merges": ["a b"]}).finish()


def test_an_unknown_token() -> None:
    layout = _written(_BPE | {"unk_token": "b", "fuse_unk": True, "ignore_merges": True})
    assert layout.header[Word.UNKNOWN] == 1
    assert layout.header[Word.FLAGS] == 5


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (_BPE | {"merges": [["a", "c"]]}, r"merges\[0\]: 'c' is not in vocab"),
        (_BPE | {"merges": [["b", "a"]]}, "'ba' is not in vocab"),
        (_BPE | {"merges": ["a"]}, "not two tokens"),
        (_BPE | {"unk_token": "?"}, r"unk_token '\?' is not in vocab"),
        (_BPE | {"vocab": {"a": -1}}, "the id of 'a' is -1"),
        (_BPE | {"vocab": {}}, "vocab is empty"),
        (_BPE | {"vocab": {"\ud800": 0}}, "not Unicode text"),
        ({"type": "Unigram", "vocab": [["a"]]}, r"vocab\[0\]"),
        ({"type": "Unigram", "vocab": [["a", "x"]]}, "the score is 'x'"),
        ({"type": "Unigram", "vocab": [["a", 1]], "unk_id": 1}, "unk_id 1 is not in vocab"),
        ({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "?"}, "is not in vocab"),
    ],
)
def test_what_is_malformed(values: dict[str, Any], says: str) -> None:
    with pytest.raises(samara.ModelFormatError, match=says):
        _written(values)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (_BPE | {"dropout": 0.1}, "dropout"),
        (_BPE | {"vocab": {"a": 1 << 24}}, "the id 16777216"),
        (_BPE | {"vocab": {"a" * 1025: 0}}, "more than 1024 bytes"),
        ({"type": "Magic", "vocab": {}}, "the model Magic"),
    ],
)
def test_what_is_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(samara.UnsupportedError, match=says):
        _written(values)
