# SPDX-License-Identifier: Apache-2.0
"""The tiny language model of tests."""

from __future__ import annotations

from pathlib import Path

import samara
from samara.exporter.testing_text import CONFIG, SPECIAL, write_tiny_folder, write_tiny_text_model


def test_the_folder_is_read(tmp_path: Path) -> None:
    net = samara.from_pretrained(write_tiny_folder(tmp_path / "net"))
    assert net(samara.tensor([[1, 2, 3]])).shape == (1, 3, CONFIG["vocab_size"])


def test_the_tokenizer_knows_bytes_and_special_tokens(tmp_path: Path) -> None:
    model = samara.TextModel(write_tiny_text_model(tmp_path / "tiny.samara"))
    text = "a é\n" + SPECIAL[1]
    ids = model.tokenizer.encode(text)
    assert ids == [*"a é\n".encode(), 257]
    assert model.tokenizer.decode(ids, skip_special_tokens=False) == text
