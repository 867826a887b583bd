# SPDX-License-Identifier: Apache-2.0
"""The recorded tokenizers are those of the generator, which needs `tokenizers` to train them."""

from __future__ import annotations

from types import SimpleNamespace

from tools.gen_tokenizers import FOLDER, TEXTS, answers, corpus


def test_texts_are_utf8_and_make_a_corpus() -> None:
    for text in TEXTS:
        assert text.encode().decode() == text
    assert sum(map(len, corpus())) > 50_000


def test_every_record_has_its_tokenizer() -> None:
    names = {p.name.removesuffix(".answers.json") for p in FOLDER.glob("*.answers.json")}
    assert names
    assert all((FOLDER / f"{name}.json").is_file() for name in names)


def test_answers_are_recorded_with_and_without_special_tokens() -> None:
    def encode(text: str, add_special_tokens: bool = True) -> SimpleNamespace:
        return SimpleNamespace(
            ids=[1, *text.encode()] if add_special_tokens else list(text.encode())
        )

    tokenizer = SimpleNamespace(
        encode=encode, decode=lambda ids, skip_special_tokens=True: "x", get_vocab_size=lambda: 5
    )
    rows = answers(tokenizer, 1)
    assert rows[0] == {"text": "", "ids": [1], "decoded": "x", "plain": []}
    assert rows[-1]["whole"] == "x"
