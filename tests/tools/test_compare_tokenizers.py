# SPDX-License-Identifier: Apache-2.0
"""The lines of the comparison, and that a difference is seen."""

from __future__ import annotations

from types import SimpleNamespace

from tools.compare_tokenizers import differences, lines

import samara


def test_lines_are_the_same_each_time() -> None:
    first = list(lines(64))
    assert first == list(lines(64))
    assert len(set(first)) > 40
    for line in first:
        line.encode()


def test_a_difference_is_seen() -> None:
    own = samara.Tokenizer.from_json(
        {"model": {"type": "WordLevel", "vocab": {"?": 0, "a": 1}, "unk_token": "?"}}
    )
    same = SimpleNamespace(encode=lambda _: SimpleNamespace(ids=[1]), decode=lambda _: "a")
    assert differences(own, same, "a") == []
    ids, text = differences(own, SimpleNamespace(encode=same.encode, decode=lambda _: "b"), "c")
    assert ids.startswith("ids of 'c'")
    assert text.startswith("text of [1]")
