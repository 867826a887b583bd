# SPDX-License-Identifier: Apache-2.0
"""Logits of a language model to tokens, with the runtime's own code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from samara.pybridge._native import NULL, check, ffi, function_in, library, new_error
from samara.pybridge.errors import ArgumentError, UnsupportedError
from samara.pybridge.files import kind_of


class Sampler:
    """Chooses tokens by logits (samara_text.h): the same seed, logits and calls give the same tokens on every machine.

    vocab_size: how many logits there are. The steps come in this order, and mean what the parameters of these
    names mean in transformers (docs/guides/text.md lists the differences):
    repetition_penalty: logits of tokens that were there before are divided by it, those below 0 multiplied;
    1: no penalty. repetition_window: it is for the last so many tokens; 0: for all.
    temperature: logits are divided by it; 0: take the highest logit, without the steps below.
    top_k: keep so many of the most likely tokens; 0: all. top_p: keep the most likely until their probabilities
    add up to this; 1: all. min_p: keep those with at least this share of the highest probability; 0: all.

    Belongs to one thread at a time. ArgumentError for values out of range.

    >>> sampler = samara.Sampler(4, temperature=0.7, top_k=2, seed=5)
    >>> sorted({sampler.next([0.1, 3.0, 2.5, -1.0]) for _ in range(50)})
    [1, 2]
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        repetition_window: int = 0,
        seed: int = 0,
    ) -> None:
        self._lib = library()
        if function_in(self._lib, "samara_sampler_create") is None:
            raise UnsupportedError(
                "this build of the runtime has no samplers", fix="build it with --features text"
            )
        options = sampler_options(
            temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
            repetition_penalty=repetition_penalty, repetition_window=repetition_window, seed=seed,
        )  # fmt: skip
        self._size = _whole("vocab_size", vocab_size)
        out, error = ffi.new("samara_sampler **"), new_error()
        check(self._lib.samara_sampler_create(options, self._size, NULL, out, error), error)
        self._native = ffi.gc(out[0], self._lib.samara_sampler_destroy)
        self._token = ffi.new("int32_t *")

    @property
    def vocab_size(self) -> int:
        """How many logits `next` takes."""
        return self._size

    def next(self, logits: Any) -> int:
        """The token for these logits, which is then remembered for the penalty. SamaraError if a logit is NaN or
        infinity, or all are -infinity."""
        scores = np.ascontiguousarray(logits, np.float32)
        error = new_error()
        buffer = ffi.from_buffer("float[]", scores)
        status = self._lib.samara_sampler_next(
            self._native, buffer, scores.size, self._token, error
        )
        check(status, error)
        return int(self._token[0])

    def accept(self, tokens: int | Iterable[int]) -> None:
        """Remember tokens that the sampler did not choose, such as those of the prompt."""
        error = new_error()
        for token in (tokens,) if isinstance(tokens, int) else tokens:
            number = int(token) if 0 <= int(token) < self._size else -1
            if number < 0:
                raise ArgumentError(
                    f"token {token} is none of the {self._size} of the vocabulary",
                    fix="give ids of the tokenizer that the model was trained with",
                )
            check(self._lib.samara_sampler_accept(self._native, number, error), error)

    def reset(self) -> None:
        """As after creation: no token is remembered, and the random numbers begin again."""
        self._lib.samara_sampler_reset(self._native)


def sampler_options(
    *,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    repetition_window: int = 0,
    seed: int = 0,
) -> Any:
    """A samara_sampler_options; ArgumentError for values out of range."""
    options = ffi.new("samara_sampler_options *")
    options.struct_size = ffi.sizeof("samara_sampler_options")
    options.temperature = _above("temperature", temperature, zero=True)
    options.top_p = _above("top_p", top_p, most=1.0)
    options.min_p = _above("min_p", min_p, most=1.0, zero=True)
    options.repetition_penalty = _above("repetition_penalty", repetition_penalty)
    options.top_k = _whole("top_k", top_k)
    options.repetition_window = _whole("repetition_window", repetition_window)
    options.seed = _whole("seed", seed)
    return options


def _above(name: str, value: Any, *, most: float = float("inf"), zero: bool = False) -> float:
    """A finite number above 0 (`zero`: or 0), at most `most`."""
    if not isinstance(value, (int, float, np.number)):
        raise ArgumentError(f"{name} is {kind_of(value)}", fix="give a number")
    low = value >= 0 if zero else value > 0
    if not (low and value <= min(most, 3.4e38)):
        least = "at least 0" if zero else "above 0"
        limit = "" if most == float("inf") else f" and at most {most:g}"
        raise ArgumentError(f"{name} is {value}", fix=f"give a number {least}{limit}")
    # Values that float32 would make 0 are the smallest that it holds.
    return max(float(value), 1e-37) if value > 0 else 0.0


def _whole(name: str, value: Any) -> int:
    """A whole number that 64 bits hold."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise ArgumentError(f"{name} is {kind_of(value)}", fix="give a whole number")
    if not 0 <= value < 1 << 64:
        raise ArgumentError(f"{name} is {value}", fix="give a number from 0 to 2**64 - 1")
    return int(value)
