# SPDX-License-Identifier: Apache-2.0
"""Texts as vectors, by the encoder of a file: what TextModel does with such a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.pybridge.errors import ArgumentError, CancelledError, ModelFormatError, UnsupportedError
from samara.pybridge.files import kind_of
from samara.pybridge.model import Model
from samara.pybridge.session import Session
from samara.pybridge.tokenizer import CompiledTokenizer

KIND, ENCODER, CONTEXT = "text.kind", "encoder", "text.context"
_FIX: Final = "export the folder of an encoder with samara.export_text"

Vectors = npt.NDArray[np.float32]


def is_encoder(model: Model) -> bool:
    """Whether a file says that it has an encoder."""
    return model.metadata.get(KIND) == ENCODER


def no_text() -> UnsupportedError:
    """The error of what makes or keeps text, for an encoder's file."""
    return UnsupportedError(
        "the file has an encoder, which makes vectors of texts, and no text",
        fix="use embed, or export the folder of a decoder (Llama, Qwen, ...)",
    )


def no_vectors() -> UnsupportedError:
    """The error of `embed` for a decoder's file."""
    return UnsupportedError(
        "the file has a decoder, which makes text (generate, chat), and no vectors of texts",
        fix="export the folder of an encoder (BERT, MiniLM) for embed",
    )


class TextEncoderSession:
    """A session of an encoder, which makes a vector of a text's tokens. options: those of Session.

    Raises UnsupportedError for a file of another form, ModelFormatError for one whose metadata is wrong.
    """

    def __init__(self, model: Model, **options: Any) -> None:
        self.session = Session(model, **options)
        ins = [(t.dtype, len(t.shape)) for t in self.session.inputs]
        outs = [(t.dtype, len(t.shape)) for t in self.session.outputs]
        width = self.session.outputs[0].shape[-1] if outs == [("float32", 2)] else None
        if ins != [("int64", 2)] or not isinstance(width, int):
            raise UnsupportedError(
                f"an encoder takes int64 [1, tokens] and gives float32 [1, n], not {self.session!r}",
                fix=_FIX,
            )
        self.width = width
        limit = model.metadata.get(CONTEXT, "")
        if not (limit.isascii() and limit.isdigit() and len(limit) < 10 and int(limit)):
            raise ModelFormatError(
                f"the file's {CONTEXT} is {limit!r}, expected a number", fix=_FIX
            )
        self.limit = int(limit)
        self._cancelled = False

    def cancel(self) -> None:
        """Stop `embed` of another thread: the text that runs, and those behind it."""
        self._cancelled = True
        self.session.cancel()

    def embed(
        self, tokenizer: CompiledTokenizer, texts: str | Iterable[str], parse_special: bool
    ) -> Vectors:
        """Vectors [n, width] of texts, or [width] of one text. Runs them one after the other."""
        self._cancelled = False
        if isinstance(texts, str):
            return self._vector(tokenizer, texts, parse_special)
        listed = _listed(texts)
        out = np.empty((len(listed), self.width), np.float32)
        for row, text in zip(out, listed, strict=True):
            row[:] = self._vector(tokenizer, text, parse_special)
            if self._cancelled:  # between two runs
                raise CancelledError("the texts were cancelled")
        return out

    def _vector(self, tokenizer: CompiledTokenizer, text: str, parse_special: bool) -> Vectors:
        ids = tokens_of(tokenizer, text, self.limit, parse_special=parse_special)
        if not ids:
            raise ArgumentError(f"the text {text[:40]!r} has no tokens", fix="leave it out")
        (found,) = self.session.run([np.array([ids], np.int64)]).values()
        vector: Vectors = found[0]
        return vector


def _listed(texts: Any) -> list[str]:
    given = None if isinstance(texts, (bytes, dict)) else texts
    listed = list(given) if isinstance(given, Iterable) else [texts]
    for text in listed:
        if not isinstance(text, str):
            raise ArgumentError(f"a text is {kind_of(text)}", fix="give a str, or a list of str")
    return listed


def tokens_of(
    tokenizer: CompiledTokenizer, text: str, limit: int, *, parse_special: bool = True
) -> list[int]:
    """A text's tokens, at most `limit`: those that the tokenizer adds at both ends, and the first of the text.

    Raises UnsupportedError if the text is longer and the tokenizer adds tokens in another way, or if the added ones
    leave no room.
    """
    ids = tokenizer.encode(text, parse_special=parse_special)
    if len(ids) <= limit:
        return ids
    plain = tokenizer.encode(text, add_special_tokens=False, parse_special=parse_special)
    added = len(ids) - len(plain)
    # Where the text begins among the added tokens.
    at = next((i for i in range(added + 1) if ids[i : i + len(plain)] == plain), None)
    if at is None or added >= limit:
        raise UnsupportedError(
            f"the text has {len(ids)} tokens, {added} of them added by the tokenizer, and cannot be cut to {limit}",
            fix="give a shorter text",
        )
    return ids[:at] + plain[: limit - added] + ids[at + len(plain) :]
