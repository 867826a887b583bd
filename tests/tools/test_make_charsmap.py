# SPDX-License-Identifier: Apache-2.0
"""Charsmaps that are written are read again."""

from __future__ import annotations

import base64

from tools.make_charsmap import charsmap

import samara


def test_a_charsmap_replaces() -> None:
    rules = {"ﬁ".encode(): "fi", b"\t": " ", "e\u0301".encode(): "é", b"x": ""}
    data = {
        "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"},
        "normalizer": {
            "type": "Precompiled",
            "precompiled_charsmap": base64.b64encode(charsmap(rules)).decode(),
        },
    }
    tokenizer = samara.Tokenizer.from_json(data)
    # A grapheme of less than six bytes is replaced as a whole: x and its accent are gone.
    assert tokenizer.normalize("ﬁ\te\u0301 ax x\u0301é") == "fi é a é"
