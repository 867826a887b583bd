# SPDX-License-Identifier: Apache-2.0
"""How well a language model predicts texts, and how far two files of one model are apart."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.measure.machine import Progress
from samara.exporter.types import ArgumentError
from samara.exporter.types.text import plain, table
from samara.pybridge.files import kind_of
from samara.pybridge.text_model import TextModel

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well one model predicts. nats: the sum of -log p over all tokens.

    perplexity: exp of the mean over tokens, so it compares models of one tokenizer only. bits_per_byte: of UTF-8, which
    compares any.
    """

    nats: float
    perplexity: float
    bits_per_byte: float


@dataclass(frozen=True, slots=True)
class TextQuality:
    """How well a model predicts texts.

    tokens: those predicted, and text_bytes their bytes; the first token of a text has no prediction. against: of
    another model, on the same tokens. agreement: the share of tokens where the likeliest one is that of the other
    model. divergence: the mean of KL(other || model), in nats.
    """

    tokens: int
    text_bytes: int
    window: int | None
    model: Prediction
    against: Prediction | None = None
    agreement: float | None = None
    divergence: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The result as plain dicts."""
        return dict(plain(self))

    def text(self, model: str = "model", against: str = "other") -> str:
        """A table; the arguments name the two models."""
        rows = [(model, self.model)] + ([] if self.against is None else [(against, self.against)])
        cells = [(n, f"{p.perplexity:.4f}", f"{p.bits_per_byte:.4f}") for n, p in rows]
        window = "whole texts" if self.window is None else f"windows of {self.window}"
        lines = [
            f"{self.tokens} tokens predicted, {self.text_bytes} bytes; {window}",
            table(("model", "perplexity", "bits per byte"), cells, right={1, 2}),
        ]
        if self.agreement is not None:
            lines.append(
                f"same likeliest token: {100 * self.agreement:.2f} %; "
                f"mean KL divergence: {self.divergence:.3g} nats"
            )
        return "\n".join(lines)


def perplexity(
    model: TextModel | str | os.PathLike[str],
    texts: Sequence[str] | str,
    *,
    against: TextModel | str | os.PathLike[str] | None = None,
    window: int | None = None,
    stride: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> TextQuality:
    """How well a text model predicts texts: perplexity per token, and bits per byte.

    model, against: a TextModel, or the path of its file. A text of more than `window` tokens (default: the context of
    the models) is read in windows that begin with an empty cache. Each predicts `stride` tokens (default: half a
    window) behind those before them, which run in chunks, as a prompt does; the first one predicts all of its tokens
    but the first. Tokens are predicted one at a time, in the time that making them takes.

    against: another model with the same tokenizer, such as the float32 file that was quantized. Texts in the
    models' caches are replaced. Raises ArgumentError for texts without two tokens, windows that the models do
    not take, and models with different tokenizers.

    >>> quality = samara.perplexity("tiny.samara", "A maple's winged seed", against="tiny.samara")
    >>> quality.tokens, quality.agreement
    (20, 1.0)
    """
    nets = [_opened(m) for m in ((model,) if against is None else (model, against))]
    for net in nets:
        net.require_decoder()
    given = [texts] if isinstance(texts, str) else list(texts)
    for text in given:
        if not isinstance(text, str):
            raise ArgumentError(f"a text is {kind_of(text)}", fix="give a list of str")
    tables = {net.tokenizer.table for net in nets}
    if len(tables) > 1:
        raise ArgumentError(
            "the two models have different tokenizers, so their tokens cannot be compared",
            fix="evaluate them one by one, and compare bits per byte",
        )
    size, step = _window(nets, window, stride)
    encode, decode = nets[0].tokenizer.encode, nets[0].tokenizer.decode
    tokens = [np.asarray(encode(text), np.int64) for text in given]
    count = sum(max(0, len(ids) - 1) for ids in tokens)
    if count == 0:
        raise ArgumentError(
            "the texts have no two tokens, so nothing is predicted", fix="give longer texts"
        )
    text_bytes = sum(
        len(text.encode()) - len(decode(ids[:1].tolist()).encode())
        for text, ids in zip(given, tokens, strict=True)
        if len(ids) > 1
    )
    nats = np.zeros(len(nets))
    agreed, divergence, done = 0, 0.0, 0
    for ids in tokens:
        for begin, at in _places(len(ids), size, step):
            logs = [_log_probabilities(net, ids[begin:at]) for net in nets]
            nats -= [row[ids[at]] for row in logs]
            agreed += int(len({int(row.argmax()) for row in logs}) == 1)
            if against is not None:
                divergence += _divergence(logs[1], logs[0])
            done += 1
            progress(done, count)
    found = [
        Prediction(float(n), _exp(float(n) / count), float(n) / math.log(2) / max(1, text_bytes))
        for n in nats
    ]
    if against is None:
        return TextQuality(count, text_bytes, size, found[0])
    return TextQuality(
        count, text_bytes, size, found[0], found[1], agreed / count, max(0.0, divergence / count)
    )


def _opened(model: TextModel | str | os.PathLike[str]) -> TextModel:
    return model if isinstance(model, TextModel) else TextModel(model)


def _window(
    nets: Sequence[TextModel], window: int | None, stride: int | None
) -> tuple[int | None, int]:
    """Tokens of a window, None for whole texts, and how many of them it predicts."""
    least = min((net.context for net in nets if net.context is not None), default=None)
    size = least if window is None else window
    if size is not None and (size < 2 or (least is not None and size > least)):
        raise ArgumentError(
            f"window is {size}, and the models take {least or 'any number of'} tokens",
            fix="give at least 2 and at most what the models take",
        )
    step = 1 if size is None else max(1, size // 2)
    step = step if stride is None else stride
    if step < 1 or (size is not None and step >= size):
        raise ArgumentError(
            f"stride is {step} and a window has {size} tokens", fix="give 1 to window - 1"
        )
    return size, step


def _places(count: int, size: int | None, step: int) -> Iterator[tuple[int, int]]:
    """For every token but the first: where its window begins, and its place."""
    for at in range(1, count):
        over = 0 if size is None or at < size else (at - size) // step + 1
        yield over * step, at


def _log_probabilities(net: TextModel, before: Any) -> FloatArray:
    """Of every token behind these."""
    net.put(before)
    logits = net.logits().astype(np.float64)
    logits -= logits.max()
    out: FloatArray = logits - np.log(np.exp(logits).sum())
    return out


def _divergence(true: FloatArray, other: FloatArray) -> float:
    """KL(true || other) of log-probabilities; 0 log 0 is 0."""
    p = np.exp(true)
    return float((p[p > 0] * (true - other)[p > 0]).sum())


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
