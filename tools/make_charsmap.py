# SPDX-License-Identifier: Apache-2.0
"""Charsmaps of sentencepiece: a double array of keys, and the texts that replace them."""

from __future__ import annotations

import struct
from collections.abc import Mapping


def charsmap(rules: Mapping[bytes, str]) -> bytes:
    """The bytes of a charsmap that replaces the keys by the texts."""
    texts, offsets = b"", {}
    for key, text in rules.items():
        offsets[key] = len(texts)
        texts += text.encode() + b"\0"
    units: dict[int, int] = {}
    used: set[int] = {0}
    bases: set[int] = set()
    # (prefix, position of its node); the children of a node lie at base ^ label, its leaf at base.
    todo = [(b"", 0)]
    while todo:
        prefix, at = todo.pop()
        labels = sorted(
            {key[len(prefix)] for key in rules if key.startswith(prefix) and len(key) > len(prefix)}
        )
        leaf = prefix in rules
        base = 256
        # Nodes with the same base would have each other's children.
        while base in bases or any(base ^ c in used for c in (*labels, *((0,) if leaf else ()))):
            base += 1
        bases.add(base)
        units[at] = (base ^ at) << 10 | (1 << 8 if leaf else 0) | (prefix[-1] if prefix else 0)
        if leaf:
            units[base] = 1 << 31 | offsets[prefix]
            used.add(base)
        used |= {base ^ c for c in labels}
        todo += [(prefix + bytes([c]), base ^ c) for c in labels]
    size = max(used) + 256
    trie = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    return struct.pack("<I", len(trie)) + trie + texts
