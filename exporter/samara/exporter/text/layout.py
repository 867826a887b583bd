# SPDX-License-Identifier: Apache-2.0
"""The binary table of a tokenizer (docs/reference/format.md), which runtime_c/src/text/text_table.c reads."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import accumulate
from typing import Final

import numpy as np

from samara.exporter.text.code_points import END, Ranges
from samara.exporter.text.regex import Dfa
from samara.pybridge import LimitError

MAGIC: Final = b"SMTK"
VERSION: Final = 1
HEADER: Final = 32
NONE: Final = 0xFFFFFFFF
MAX_STEPS: Final = 32
MAX_TOKEN_BYTES: Final = 1024
MAX_IDS: Final = 1 << 24


class Kind(IntEnum):
    """Kinds of entries."""

    BYTES = 1
    WORDS = 2
    STRINGS = 3
    TRIE = 4
    CLASSES = 5
    MAP = 6
    DFA = 7
    PAIRS = 8
    MERGES = 9
    SCORES = 10
    STEPS = 11


class Word(IntEnum):
    """Words of the header; from TOKENS on they are an entry's index + 1."""

    SIZE = 2
    ENTRIES = 3
    MODEL = 4
    FLAGS = 5
    VOCABULARY = 6
    UNKNOWN = 7
    LONGEST = 8
    TOKENS = 9
    TOKEN_FLAGS = 10
    TRIE = 11
    MERGES = 12
    SCORES = 13
    PREFIX = 14
    SUFFIX = 15
    ADDED = 16
    RAW = 17
    NORMAL = 18
    NORMALIZER = 19
    PRETOKENIZER = 20
    DECODER = 21
    BEFORE = 22
    AFTER = 23
    WORDS = 24
    BYTE_IDS = 25
    NAMES = 26


class Op(IntEnum):
    """Steps of normalizers and pre-tokenizers."""

    MAP = 1
    ORDER = 2
    REPLACE = 3
    PREPEND = 4
    STRIP = 5
    CHARSMAP = 6
    BYTES = 7
    AROUND = 8
    SPLIT = 9


class Stage(IntEnum):
    """Steps of decoders."""

    JOIN = 1
    BYTES = 2
    METASPACE = 3
    WORDPIECE = 4
    BYTE_FALLBACK = 5
    FUSE = 6
    STRIP = 7
    REPLACE = 8


class Layout:
    """A table that grows by entries; equal entries are stored once."""

    def __init__(self) -> None:
        self.header = [0] * HEADER
        self.header[Word.UNKNOWN] = NONE
        self._entries: list[tuple[int, bytes, int, int]] = []
        self._seen: dict[tuple[int, bytes, int, int], int] = {}

    def add(self, kind: Kind, data: bytes, count: int, extra: int = 0) -> int:
        """An entry; returns its index."""
        key = (int(kind), data, count, extra)
        if key not in self._seen:
            self._seen[key] = len(self._entries)
            self._entries.append(key)
        return self._seen[key]

    def blob(self, data: bytes) -> int:
        return self.add(Kind.BYTES, data, len(data))

    def words(self, values: Sequence[int]) -> int:
        return self.add(Kind.WORDS, _u32(values), len(values))

    def strings(self, texts: Sequence[bytes]) -> int:
        ends = list(accumulate(map(len, texts)))
        joined = b"".join(texts)
        return self.add(Kind.STRINGS, _u32(ends) + joined, len(texts), len(joined))

    def classes(self, sets: Sequence[Ranges]) -> int:
        """Which set each code point is in: they share none and leave none out."""
        first, blocks, count = _blocks(dict(enumerate(sets)))
        return self.add(Kind.CLASSES, first + blocks, count, len(sets))

    def values(self, of: Mapping[int, int], bound: int) -> int:
        """Classes by single code points; 0 for the others."""
        points = np.zeros(END, np.uint8)
        points[list(of)] = list(of.values())
        first, blocks, count = _stages(points)
        return self.add(Kind.CLASSES, first + blocks, count, bound)

    def map(self, of: Mapping[int, str]) -> int:
        """Replacements of single code points."""
        texts = sorted({text.encode() for text in of.values()})
        index = {text: k + 1 for k, text in enumerate(texts)}
        points = np.zeros(END, np.uint16)
        points[list(of)] = [index[text.encode()] for text in of.values()]
        first, blocks, count = _stages(points)
        strings = self.strings(texts)
        return self.add(Kind.MAP, first + blocks, count, strings)

    def dfa(self, dfa: Dfa) -> int:
        classes = self.classes(dfa.classes)
        rows = np.array(dfa.rows, np.uint16)
        data = rows.astype("<u2").tobytes()
        return self.add(Kind.DFA, data + b"\0" * (-len(data) % 4), len(dfa.rows), classes)

    def pairs(self, rows: Iterable[tuple[int, int, int]]) -> int:
        flat = [value for row in sorted(rows) for value in row]
        return self.add(Kind.PAIRS, _u32(flat), len(flat) // 3)

    def scores(self, values: Sequence[float]) -> int:
        return self.add(Kind.SCORES, struct.pack(f"<{len(values)}d", *values), len(values))

    def merges(self, rows: Mapping[tuple[int, int], tuple[int, int]], vocabulary: int) -> int:
        """Pairs of ids -> rank and result."""
        counts = np.zeros(vocabulary, np.int64)
        ordered = sorted(rows)
        for left, _ in ordered:
            counts[left] += 1
        flat = [v for pair in ordered for v in (pair[1], *rows[pair])]
        return self.add(Kind.MERGES, _u32(np.cumsum(counts).tolist()) + _u32(flat), len(ordered))

    def trie(self, keys: Mapping[bytes, int], bound: int) -> int:
        """A trie in breadth-first order: first child, value + 1, label."""
        texts = sorted(keys)
        first, values, labels = [], [], [0]
        level = [(0, len(texts))]
        depth = 0
        while level:
            below = []
            for low, high in level:
                value = 0
                if low < high and len(texts[low]) == depth:
                    value = keys[texts[low]] + 1
                    low += 1
                first.append(len(labels))
                values.append(value)
                while low < high:
                    label = texts[low][depth]
                    end = low + 1
                    while end < high and texts[end][depth] == label:
                        end += 1
                    labels.append(label)
                    below.append((low, end))
                    low = end
            level = below
            depth += 1
        first.append(len(labels))
        data = _u32(first) + _u32(values) + bytes(labels)
        return self.add(Kind.TRIE, data, len(labels), bound)

    def steps(self, rows: Sequence[tuple[int, int, int, int]], where: str) -> int:
        if len(rows) > MAX_STEPS:
            raise LimitError(
                f"{where}: {len(rows)} steps, a tokenizer may have {MAX_STEPS}",
                fix="join steps of the sequence that do the same",
            )
        return self.add(Kind.STEPS, _u32([v for row in rows for v in row]), len(rows))

    def finish(self) -> bytes:
        """The bytes of the table."""
        offset = 4 * HEADER + 16 * len(self._entries)
        rows, parts = [], []
        for kind, data, count, extra in self._entries:
            rows += [kind, offset, count, extra]
            parts.append(data + b"\0" * (-len(data) % 4))
            offset += len(parts[-1])
        if offset > NONE:
            raise LimitError("the tokenizer takes more than 4 GB", fix="use a smaller vocabulary")
        self.header[0] = int.from_bytes(MAGIC, "little")
        self.header[1], self.header[Word.SIZE] = VERSION, offset
        self.header[Word.ENTRIES] = len(self._entries)
        return _u32(self.header) + _u32(rows) + b"".join(parts)


def _u32(values: Sequence[int]) -> bytes:
    return np.array(values, "<u4").tobytes()


def _stages(points: np.ndarray) -> tuple[bytes, bytes, int]:
    """The first stage, the different blocks of 256, and their number."""
    rows = points.astype(points.dtype.newbyteorder("<")).reshape(-1, 256)
    seen: dict[bytes, int] = {}
    first = [seen.setdefault(row.tobytes(), len(seen)) for row in rows]
    return np.array(first, "<u2").tobytes(), b"".join(seen), len(seen)


def _blocks(sets: Mapping[int, Ranges]) -> tuple[bytes, bytes, int]:
    points: np.ndarray = np.zeros(END, np.uint8)
    for k, ranges in sets.items():
        for low, high in ranges:
            points[low:high] = k
    return _stages(points)
