# SPDX-License-Identifier: Apache-2.0
"""Text to ids and back by a compiled table, with the runtime's own code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from samara.pybridge._native import NULL, check, ffi, function_in, library, new_error
from samara.pybridge.errors import ArgumentError, UnsupportedError

_KINDS = ("BPE", "Unigram", "WordPiece", "WordLevel")  # word 4 of the table, from 1
_ADD_SPECIAL, _SKIP_SPECIAL, _NO_SPECIAL = 1, 2, 4


class CompiledTokenizer:
    """A tokenizer of a table's bytes (samara_text.h). Immutable: threads may share it."""

    def __init__(self, table: bytes) -> None:
        table = bytes(table)
        # A copy that is aligned, which the bytes of other objects need not be.
        memory = ffi.new("uint64_t[]", len(table) // 8 + 1)
        ffi.memmove(memory, table, len(table))
        self._open("samara_tokenizer_open", memory, len(table), NULL)

    @classmethod
    def of_model(cls, handle: Any) -> CompiledTokenizer:
        """The tokenizer in the file of a C model, read where it lies. UnknownNameError if there is none."""
        made = CompiledTokenizer.__new__(CompiledTokenizer)
        made._open("samara_tokenizer_of_model", handle)
        return made

    def _open(self, function: str, *arguments: Any) -> None:
        """Open by a function of samara_text.h; what it reads from stays alive as long as the tokenizer."""
        self._lib = library()
        call = function_in(self._lib, function)
        if call is None:
            raise UnsupportedError(
                "this build of the runtime has no tokenizers", fix="build it with --features text"
            )
        out, error = ffi.new("samara_tokenizer **"), new_error()
        check(call(*arguments, out, error), error)
        self._native = ffi.gc(out[0], _Closer(self._lib, arguments))

    @property
    def table(self) -> bytes:
        """The bytes that samara_tokenizer_open takes on a device."""
        return bytes(self._table())

    def _table(self) -> Any:
        size = ffi.new("size_t *")
        table = self._lib.samara_tokenizer_table(self._native, size)
        return ffi.buffer(table, size[0])

    @property
    def kind(self) -> str:
        """The kind of its model: BPE, Unigram, WordPiece or WordLevel."""
        return _KINDS[int.from_bytes(self._table()[16:20], "little") - 1]

    @property
    def vocab_size(self) -> int:
        """All ids are below this number."""
        return int(self._lib.samara_tokenizer_vocabulary(self._native))

    def encode(
        self, text: str, *, add_special_tokens: bool = True, parse_special: bool = True
    ) -> list[int]:
        """The ids of a text.

        add_special_tokens: with the ids that the file's post-processor adds, such as those of [CLS] and [SEP].
        parse_special: special tokens in the text become their ids; False treats them as text, as text of
        strangers should be.
        """
        data = _utf8(text)
        flags = _ADD_SPECIAL * add_special_tokens | _NO_SPECIAL * (not parse_special)
        count, error = ffi.new("size_t *"), new_error()
        room = len(data) + 16
        while True:
            ids = np.empty(room, np.int32)
            buffer = ffi.from_buffer("int32_t[]", ids)
            status = self._lib.samara_tokenizer_encode(
                self._native, data, len(data), flags, buffer, room, count, error
            )
            check(status, error)
            if count[0] <= room:
                return [int(i) for i in ids[: count[0]].tolist()]
            room = int(count[0])

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of ids. Ids without a token are left out, and bytes that are no UTF-8 become U+FFFD."""
        given = _ids(ids)
        size, error = ffi.new("size_t *"), new_error()
        room = 8 * len(given) + 64
        while True:
            text = ffi.new("char[]", room)
            status = self._lib.samara_tokenizer_decode(
                self._native,
                ffi.from_buffer("int32_t[]", given),
                len(given),
                _SKIP_SPECIAL * skip_special_tokens,
                text,
                room,
                size,
                error,
            )
            check(status, error)
            if size[0] <= room:
                return bytes(ffi.buffer(text, size[0])).decode()
            room = int(size[0])

    def normalize(self, text: str) -> str:
        """The text behind the file's normalizer."""
        data = _utf8(text)
        size, error = ffi.new("size_t *"), new_error()
        room = 2 * len(data) + 64
        while True:
            out = ffi.new("char[]", room)
            status = self._lib.samara_tokenizer_normalize(
                self._native, data, len(data), out, room, size, error
            )
            check(status, error)
            if size[0] <= room:
                return bytes(ffi.buffer(out, size[0])).decode()
            room = int(size[0])

    def token_to_id(self, token: str) -> int | None:
        """The id of a token as the file spells it; None if there is none."""
        data = _utf8(token)
        found = int(self._lib.samara_tokenizer_id(self._native, data, len(data)))
        return None if found < 0 else found

    def id_to_token(self, number: int) -> str | None:
        """The token of an id as the file spells it; None if it has none."""
        size = ffi.new("size_t *")
        (given,) = _ids([number])
        token = self._lib.samara_tokenizer_token(self._native, int(given), size)
        return None if token == NULL else bytes(ffi.buffer(token, size[0])).decode()

    def stream(self, *, skip_special_tokens: bool = True) -> TextStream:
        """Begin a text that comes one token at a time."""
        return TextStream(self, skip_special_tokens)


class _Closer:
    """Closes the C tokenizer when the last reference to its handle goes, and keeps what it reads from until then."""

    def __init__(self, lib: Any, kept: Any) -> None:
        self._close = lib.samara_tokenizer_close
        self._kept = kept

    def __call__(self, handle: Any) -> None:
        self._close(handle)
        self._kept = None


class TextStream:
    """Text of a language model while it comes. Belongs to one thread at a time.

    >>> tokenizer = samara.Tokenizer.from_json({
    ...     "model": {"type": "WordLevel", "vocab": {"?": 0, "maple": 1, "seed": 2}, "unk_token": "?"}})
    >>> stream = tokenizer.stream()
    >>> [stream.push(i) for i in (1, 2)], stream.finish()
    (['maple', ' seed'], '')
    """

    def __init__(self, tokenizer: CompiledTokenizer, skip_special_tokens: bool) -> None:
        self._tokenizer = tokenizer  # the stream borrows it
        self._lib = tokenizer._lib
        out, error = ffi.new("samara_text_stream **"), new_error()
        flags = _SKIP_SPECIAL * skip_special_tokens
        check(self._lib.samara_text_stream_create(tokenizer._native, flags, out, error), error)
        self._native = ffi.gc(out[0], self._lib.samara_text_stream_destroy)

    def push(self, number: int) -> str:
        """Add a token; returns the text that no later token can change: whole characters, often none."""
        (given,) = _ids([number])
        return self._text(self._lib.samara_text_stream_push, int(given))

    def finish(self) -> str:
        """The rest of the text. The stream then begins the next one."""
        return self._text(self._lib.samara_text_stream_finish)

    def _text(self, call: Any, *arguments: int) -> str:
        text, size, error = ffi.new("char **"), ffi.new("size_t *"), new_error()
        check(call(self._native, *arguments, text, size, error), error)
        return bytes(ffi.buffer(text[0], size[0])).decode() if size[0] else ""


def _utf8(text: str) -> bytes:
    if not isinstance(text, str):
        raise ArgumentError(f"a text is a str, not {type(text).__name__}", fix="decode it first")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"character {error.start} is half of a surrogate pair, which is not Unicode text",
            fix="replace such characters where the text is decoded",
        ) from None


def _ids(ids: Iterable[int]) -> Any:
    """Ids as int32; those that are none are out of range too, as an id without a token."""
    values = np.asarray([int(i) for i in ids], np.int64)
    return np.where((values < 0) | (values > 0x7FFFFFFF), -1, values).astype(np.int32)
