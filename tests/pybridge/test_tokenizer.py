# SPDX-License-Identifier: Apache-2.0
"""Compiled tokenizers: what callers give, and tables that are damaged."""

from __future__ import annotations

import contextlib
import random
import threading

import pytest

import samara
from samara.pybridge.tokenizer import CompiledTokenizer

_FILE = {
    "model": {
        "type": "BPE",
        "vocab": {"a": 0, "b": 1, "ab": 2, "▁": 3, "<0xC3>": 4, "<0xA9>": 5, "<unk>": 6},
        "merges": ["a b"],
        "unk_token": "<unk>",
        "byte_fallback": True,
    },
    "added_tokens": [{"content": "<end>", "special": True, "normalized": False}],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"},
    "decoder": {
        "type": "Sequence",
        "decoders": [
            {"type": "ByteFallback"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"},
        ],
    },
}


@pytest.fixture(scope="module")
def tokenizer() -> samara.Tokenizer:
    return samara.Tokenizer.from_json(_FILE)


def test_encode_and_decode(tokenizer: samara.Tokenizer) -> None:
    assert tokenizer.encode("ab é<end>") == [2, 3, 4, 5, 7]
    assert tokenizer.decode([2, 3, 4, 5, 7]) == "ab é"
    assert tokenizer.decode([2, 7], skip_special_tokens=False) == "ab<end>"
    assert tokenizer.decode([99, -1, 1 << 40, 0]) == "a"
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""


def test_long_results_fit(tokenizer: samara.Tokenizer) -> None:
    assert tokenizer.encode("é" * 1000, parse_special=False) == [4, 5] * 1000
    assert tokenizer.decode([7] * 1000, skip_special_tokens=False) == "<end>" * 1000
    assert tokenizer.normalize("x" * 1000) == "x" * 1000


def test_names(tokenizer: samara.Tokenizer) -> None:
    assert tokenizer.vocab_size == 8
    assert tokenizer.token_to_id("<end>") == 7
    assert tokenizer.token_to_id("c") is None
    assert tokenizer.id_to_token(2) == "ab"
    assert tokenizer.id_to_token(8) is None
    assert tokenizer.id_to_token(-1) is None


def test_a_stream_gives_whole_characters(tokenizer: samara.Tokenizer) -> None:
    stream = tokenizer.stream()
    assert [stream.push(i) for i in (2, 4, 5, 0)] == ["ab", "", "", "éa"]
    assert stream.push(4) == ""
    assert stream.finish() == "\ufffd"
    assert stream.push(1) == "b"


def test_what_is_no_text(tokenizer: samara.Tokenizer) -> None:
    with pytest.raises(samara.ArgumentError, match="not bytes"):
        tokenizer.encode(b"a")  # type: ignore[arg-type]
    with pytest.raises(samara.ArgumentError, match="character 1 is half of a surrogate pair"):
        tokenizer.encode("a\ud800")


def test_a_character_without_any_token() -> None:
    data = {"model": {"type": "Unigram", "vocab": [["a", -1.0]]}}
    tokenizer = samara.Tokenizer.from_json(data)
    with pytest.raises(samara.SamaraError, match="no token for 'b'"):
        tokenizer.encode("ab")


def test_tables_travel(tokenizer: samara.Tokenizer) -> None:
    assert CompiledTokenizer(tokenizer.table).encode("ab") == [2]
    with pytest.raises(samara.ModelFormatError, match="begins with something else"):
        CompiledTokenizer(b"x" * 200)
    with pytest.raises(samara.ModelFormatError, match="bytes by its header"):
        CompiledTokenizer(tokenizer.table[:-4])


def test_damaged_tables_do_no_harm(tokenizer: samara.Tokenizer) -> None:
    """Whatever byte changes: the table is refused, or every call ends with ids, text or an error."""
    rng = random.Random(3)
    refused = 0
    for _ in range(400):
        table = bytearray(tokenizer.table)
        for _ in range(rng.randrange(1, 4)):
            # Most of a table are blocks of classes: the first kilobyte has what decides.
            table[rng.randrange(rng.choice((1024, len(table))))] = rng.randrange(256)
        try:
            damaged = CompiledTokenizer(bytes(table))
        except samara.SamaraError:
            refused += 1
            continue
        with contextlib.suppress(samara.SamaraError):
            damaged.decode(damaged.encode("ab é<end> \u0301 ab" * 3))
    assert 20 < refused < 400


def test_threads_share_a_tokenizer(tokenizer: samara.Tokenizer) -> None:
    wanted = tokenizer.encode("ab é" * 100)
    found: list[bool] = []
    work = lambda: found.extend(tokenizer.encode("ab é" * 100) == wanted for _ in range(50))  # noqa: E731
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 200
