# SPDX-License-Identifier: Apache-2.0
"""Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909): learn a tokenizer.json from texts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

# What a token never crosses: words, numbers and signs, with the blank before them. Python's `re` and the
# tokenizer read this expression alike.
PIECES = r" ?[A-Za-z]+| ?[0-9]| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+"


def tokenizer_json(texts: Iterable[str], size: int, special: tuple[str, ...]) -> dict[str, Any]:
    """A byte-level tokenizer with `size` tokens: the bytes, learned pairs, and special tokens at the end."""
    letters = _letters()
    pieces = Counter(piece for text in texts for piece in re.findall(PIECES, text))
    words = {tuple(letters[b] for b in p.encode()): n for p, n in pieces.items()}
    pairs = merges(words, size - len(letters) - len(special))
    vocabulary = [*letters.values(), *(a + b for a, b in pairs)]
    about = {"special": True, "normalized": False}
    about |= dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    added = [{"id": len(vocabulary) + i, "content": t, **about} for i, t in enumerate(special)]
    split = {"type": "Split", "pattern": {"Regex": PIECES}, "behavior": "Isolated", "invert": False}
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    bytes_["use_regex"] = False
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytes_]},
        "post_processor": None,
        "decoder": bytes_,
        "model": {
            "type": "BPE",
            "vocab": {token: i for i, token in enumerate(vocabulary)},
            "merges": [f"{a} {b}" for a, b in pairs],
        },
    }


def _letters() -> dict[int, str]:
    """How byte-level tokenizers spell bytes: those that can be seen as themselves, others from U+0100 on."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in seen]
    return {b: chr(b) for b in seen} | {b: chr(256 + i) for i, b in enumerate(hidden)}


def merges(words: dict[tuple[str, ...], int], count: int) -> list[tuple[str, str]]:
    """The pairs that byte-pair encoding joins, in order: each time the most frequent pair of neighbours.

    words: the symbols of each piece of text, and how often it occurs.
    """
    symbols, times = [list(word) for word in words], list(words.values())
    counts: Counter[tuple[str, str]] = Counter()
    places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for i, word in enumerate(symbols):
        for pair in pairwise(word):
            counts[pair] += times[i]
            places[pair].add(i)
    found = []
    while len(found) < count and counts:
        best = max(counts, key=lambda pair: (counts[pair], pair))
        found.append(best)
        for i in places.pop(best):
            for pair in pairwise(symbols[i]):
                counts[pair] -= times[i]
            symbols[i] = _joined(symbols[i], best)
            for pair in pairwise(symbols[i]):
                counts[pair] += times[i]
                places[pair].add(i)
        del counts[best]
    return found


def _joined(word: list[str], pair: tuple[str, str]) -> list[str]:
    """The word with this pair as one symbol."""
    out: list[str] = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return out
