# SPDX-License-Identifier: Apache-2.0
"""Normalizers, pre-tokenizers and decoders: what they become, and what is refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tools.make_charsmap import charsmap

import samara
from samara.exporter.text.layout import Layout, Op, Stage
from samara.exporter.text.reading import Part
from samara.exporter.text.steps import decoder_steps, normalizer_steps, pretokenizer_steps


def _ops(rows: list[tuple[int, int, int, int]]) -> list[int]:
    return [row[0] for row in rows]


def _part(values: dict[str, Any]) -> Part:
    return Part(values, "tokenizer.json.x")


def test_sequences_are_flat() -> None:
    inner = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "NFC"}]}
    outer = {"type": "Sequence", "normalizers": [inner, {"type": "Prepend", "prepend": "_"}]}
    rows = normalizer_steps(Layout(), _part(outer))
    assert _ops(rows) == [Op.MAP, Op.MAP, Op.ORDER, Op.PREPEND]
    assert normalizer_steps(Layout(), None) == []


def test_pretokenizers() -> None:
    byte = pretokenizer_steps(Layout(), _part({"type": "ByteLevel", "add_prefix_space": True}))
    assert _ops(byte) == [Op.PREPEND, Op.SPLIT, Op.BYTES]
    meta = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    rows = pretokenizer_steps(Layout(), _part(meta))
    assert _ops(rows) == [Op.REPLACE, Op.PREPEND]
    assert rows[1][2] == 2
    never = pretokenizer_steps(Layout(), _part(meta | {"add_prefix_space": False, "split": True}))
    assert _ops(never) == [Op.REPLACE, Op.SPLIT]


def test_decoders() -> None:
    assert _ops(decoder_steps(Layout(), None)) == [Stage.JOIN]
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    chain = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, strip]}
    rows = decoder_steps(Layout(), _part(chain))
    assert _ops(rows) == [Stage.BYTE_FALLBACK, Stage.FUSE, Stage.STRIP]


@pytest.mark.parametrize(
    ("steps", "values", "says"),
    [
        (normalizer_steps, {"type": "Magic"}, "the normalizer Magic"),
        (pretokenizer_steps, {"type": "UnicodeScripts"}, "the pre-tokenizer UnicodeScripts"),
        (decoder_steps, {"type": "CTC"}, "the decoder CTC"),
        (
            decoder_steps,
            {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]},
            "ByteFallback behind one that joins",
        ),
    ],
)
def test_what_is_refused(steps: Any, values: dict[str, Any], says: str) -> None:
    with pytest.raises(samara.UnsupportedError, match=says) as caught:
        steps(Layout(), _part(values))
    assert "tokenizer.json.x" in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "values", "says"),
    [
        (normalizer_steps, {"type": "Replace", "content": ""}, "neither a String nor a Regex"),
        (normalizer_steps, {"type": "Precompiled", "precompiled_charsmap": "AA=="}, "damaged"),
        (
            normalizer_steps,
            {"type": "Precompiled", "precompiled_charsmap": "CAAAAA=="},
            "a trie of 8",
        ),
        (
            pretokenizer_steps,
            {"type": "Split", "pattern": {"String": "a"}, "behavior": "Lost"},
            "behavior 'Lost'",
        ),
        (
            pretokenizer_steps,
            {"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"},
            "prepend_scheme 'last'",
        ),
        (
            decoder_steps,
            {"type": "Strip", "content": "ab", "start": 0, "stop": 0},
            "not one character",
        ),
    ],
)
def test_what_is_malformed(steps: Any, values: dict[str, Any], says: str) -> None:
    with pytest.raises(samara.ModelFormatError, match=says):
        steps(Layout(), _part(values))


def test_a_charsmap() -> None:
    data = base64.b64encode(charsmap({"ﬁ".encode(): "fi", b"a": "b"})).decode()
    rows = normalizer_steps(Layout(), _part({"type": "Precompiled", "precompiled_charsmap": data}))
    assert _ops(rows) == [Op.CHARSMAP]
