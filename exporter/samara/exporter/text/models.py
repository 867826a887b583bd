# SPDX-License-Identifier: Apache-2.0
"""The models of a tokenizer.json as entries of the table: vocabulary, merges, scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from samara.exporter.text.layout import MAX_IDS, MAX_TOKEN_BYTES, NONE, Layout, Word
from samara.exporter.text.reading import Part

_FUSE_UNKNOWN, _BYTE_FALLBACK, _IGNORE_MERGES = 1, 2, 4
_CODES: Final = {"BPE": 1, "Unigram": 2, "WordPiece": 3, "WordLevel": 4}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of a model. `count` is their number as `tokenizers` counts, from which ids of added tokens
    without one go on."""

    ids: dict[str, int]
    count: int


def model_of(part: Part) -> str:
    """The kind of a model; files of old versions do not name it."""
    if "type" in part.values:
        kind = part.kind
    elif "merges" in part.values:
        kind = "BPE"
    elif isinstance(part.values.get("vocab"), list):
        kind = "Unigram"
    else:
        kind = "WordPiece" if "continuing_subword_prefix" in part.values else "WordLevel"
    if kind not in _CODES:
        raise part.unsupported(
            f"the model {kind}", f"use one of {', '.join(_CODES)}, as most language models do"
        )
    return kind


def read_vocabulary(part: Part) -> Vocabulary:
    """The vocabulary of a model."""
    kind = model_of(part)
    if kind == "Unigram":
        rows = part.get("vocab", list)
        ids = {}
        for i, row in enumerate(rows):
            if not (isinstance(row, list) and len(row) == 2 and isinstance(row[0], str)):
                raise part.malformed(f"vocab[{i}] is {row!r:.80}, not a token and its score")
            ids[row[0]] = i
        found = Vocabulary(ids, len(rows))
    else:
        vocab = part.get("vocab", dict)
        for token, number in vocab.items():
            if type(number) is not int or number < 0:
                raise part.malformed(f"vocab: the id of {token!r:.80} is {number!r:.80}")
        found = Vocabulary(vocab, len(vocab))
    if not found.ids:
        raise part.malformed("vocab is empty")
    for token, number in found.ids.items():
        check_token(part, token, number)
    return found


def check_token(part: Part, token: str, number: int) -> None:
    """Refuse what the table cannot hold."""
    if number >= MAX_IDS:
        raise part.unsupported(
            f"the id {number} of {token!r:.80} is above {MAX_IDS - 1}", "use smaller ids"
        )
    if len(encoded(part, token)) > MAX_TOKEN_BYTES:
        raise part.unsupported(
            f"a token of more than {MAX_TOKEN_BYTES} bytes: {token!r:.80}", "leave it out"
        )


def encoded(part: Part, token: str) -> bytes:
    """A token as UTF-8; JSON may hold half of a surrogate pair."""
    try:
        return token.encode()
    except UnicodeEncodeError:
        raise part.malformed(f"the token {token!r:.80} is not Unicode text") from None


def write_model(layout: Layout, part: Part, vocabulary: Vocabulary, ids: int) -> None:
    """The entries of a model. `ids`: all ids are below."""
    kind = model_of(part)
    header = layout.header
    header[Word.MODEL], header[Word.VOCABULARY] = _CODES[kind], ids
    keys = {token.encode(): number for token, number in vocabulary.ids.items()}
    header[Word.TRIE] = layout.trie(keys, max(vocabulary.ids.values()) + 1) + 1
    if part.get("byte_fallback", bool, False) and kind in ("BPE", "Unigram"):
        header[Word.FLAGS] |= _BYTE_FALLBACK
        codes = [vocabulary.ids.get(f"<0x{b:02X}>", NONE) for b in range(256)]
        header[Word.BYTE_IDS] = layout.words(codes) + 1
    if kind == "BPE":
        _bpe(layout, part, vocabulary, ids)
    elif kind == "Unigram":
        _unigram(layout, part, vocabulary)
    else:
        header[Word.UNKNOWN] = _unknown(part, vocabulary, part.get("unk_token", str))
    if kind == "WordPiece":
        prefix = part.get("continuing_subword_prefix", str, "##")
        header[Word.PREFIX] = layout.blob(prefix.encode()) + 1
        longest = part.get("max_input_chars_per_word", int, 100)
        header[Word.LONGEST] = min(max(longest, 0), (1 << 31) - 1)


def _unknown(part: Part, vocabulary: Vocabulary, token: str) -> int:
    if token not in vocabulary.ids:
        raise part.malformed(f"unk_token {token!r:.80} is not in vocab")
    return vocabulary.ids[token]


def _bpe(layout: Layout, part: Part, vocabulary: Vocabulary, ids: int) -> None:
    header = layout.header
    if part.get("dropout", float, 0.0):
        raise part.unsupported("dropout, which is for training", "set dropout to null")
    if part.get("fuse_unk", bool, False):
        header[Word.FLAGS] |= _FUSE_UNKNOWN
    if part.get("ignore_merges", bool, False):
        header[Word.FLAGS] |= _IGNORE_MERGES
    unknown = part.get("unk_token", str, "")
    if part.values.get("unk_token") is not None:
        header[Word.UNKNOWN] = _unknown(part, vocabulary, unknown)
    prefix = part.get("continuing_subword_prefix", str, "")
    header[Word.PREFIX] = layout.blob(prefix.encode()) + 1
    header[Word.SUFFIX] = layout.blob(part.get("end_of_word_suffix", str, "").encode()) + 1
    rows: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, merge in enumerate(part.get("merges", list)):
        left, right = _merge(part, rank, merge)
        joined = left + right.encode()[len(prefix.encode()) :].decode(errors="replace")
        for token in (left, right, joined):
            if token not in vocabulary.ids:
                raise part.malformed(f"merges[{rank}]: {token!r:.80} is not in vocab")
        rows[vocabulary.ids[left], vocabulary.ids[right]] = (rank, vocabulary.ids[joined])
    header[Word.MERGES] = layout.merges(rows, ids) + 1


def _merge(part: Part, rank: int, merge: Any) -> tuple[str, str]:
    pair = merge.split(" ") if isinstance(merge, str) else merge
    if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)):
        raise part.malformed(f"merges[{rank}] is {merge!r:.80}, not two tokens")
    return pair[0], pair[1]


def _unigram(layout: Layout, part: Part, vocabulary: Vocabulary) -> None:
    header = layout.header
    scores = []
    for i, (_, score) in enumerate(part.get("vocab", list)):
        if type(score) not in (int, float) or not math.isfinite(score):
            raise part.malformed(f"vocab[{i}]: the score is {score!r:.80}")
        scores.append(float(score))
    header[Word.SCORES] = layout.scores(scores) + 1
    if part.values.get("unk_id") is not None:
        unknown = part.get("unk_id", int)
        if not 0 <= unknown < vocabulary.count:
            raise part.malformed(f"unk_id {unknown} is not in vocab")
        header[Word.UNKNOWN] = unknown
