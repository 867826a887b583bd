# SPDX-License-Identifier: Apache-2.0
"""Text models: prompts, tokens one at a time, chats, and texts kept in files; vectors of texts by encoders."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from samara.pybridge._native import check, failure, ffi, function_in, library, new_error, text
from samara.pybridge.atomic import replacing
from samara.pybridge.chat import render_chat
from samara.pybridge.errors import ArgumentError, SamaraError, UnsupportedError
from samara.pybridge.feeds_and_results import isa_list, names_of
from samara.pybridge.files import kind_of, path_of, read_bytes
from samara.pybridge.model import Model
from samara.pybridge.sampler import sampler_options
from samara.pybridge.session_create import busy, native_options
from samara.pybridge.text_encoder import (
    TextEncoderSession,
    Vectors,
    is_encoder,
    no_text,
    no_vectors,
)
from samara.pybridge.tokenizer import CompiledTokenizer

_ADD_SPECIAL, _NO_SPECIAL = 1, 4
_ENDS: Final = ("", "end token", "stop", "most tokens", "full")

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A text that a model made.

    tokens: those made, the one that ended the text included. end: why it ended: "end token", "stop" (one of the
    given texts, which is not part of it), "most tokens", or "full" (the model takes no more). prompt_tokens: of
    the prompt, of which reused_tokens were in the cache.
    """

    text: str
    tokens: tuple[int, ...]
    end: str
    prompt_tokens: int
    reused_tokens: int

    def __str__(self) -> str:
        return self.text


class TextModel:
    """A language model with its tokenizer and one text in its cache; one thread at a time.

    model: a Model, or what Model takes: the path of a file of `samara.export_text`, or its bytes. threads, isa,
    accuracy, limits, copy, verify: as for Session.

    A prompt that begins like the text in the cache runs only what differs, so the next turn of a chat costs its
    own tokens. Raises UnsupportedError for a model of another form, or a build of the runtime without text.

    The file of an encoder (BERT, MiniLM) makes vectors of texts: it has `embed`, `tokenizer`, `context`,
    `memory_bytes` and `cancel`. Everything else raises UnsupportedError, as `embed` does for a decoder's file.

    >>> model = samara.TextModel("tiny.samara")
    >>> model.generate("A maple", max_tokens=5).end
    'most tokens'
    >>> "".join(model.stream("A maple", max_tokens=5)) == str(model.generate("A maple", max_tokens=5))
    True
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str] | bytes | bytearray | memoryview,
        *,
        threads: int | None = None,
        isa: Sequence[str] | str | None = None,
        accuracy: str = "default",
        limits: Mapping[str, float] | None = None,
        copy: bool = False,
        verify: bool | None = None,
    ) -> None:
        self.model = model if isinstance(model, Model) else Model(model, copy=copy, verify=verify)
        self._lib = library()
        self._lock = threading.Lock()
        self._run: TextRun | None = None  # whose text the cache has
        self._encoder: TextEncoderSession | None = None
        limits = {} if limits is None else limits
        if is_encoder(self.model):
            self._encoder = TextEncoderSession(
                self.model, threads=threads, isa=isa, accuracy=accuracy, limits=limits
            )
            return
        if function_in(self._lib, "samara_text_model_create") is None:
            raise UnsupportedError(
                "this build of the runtime makes no text", fix="build it with --features text"
            )
        strings: list[Any] = []
        spec = self.model.function(None)
        shape = spec.outputs[0].shape if spec.outputs else ()
        self._vocabulary = next((n for n in shape[1:] if isinstance(n, int)), 0)
        options = native_options(spec.name, threads, isa_list(isa), (), accuracy, limits, strings)
        out, error = ffi.new("samara_text_model **"), new_error()
        check(self._lib.samara_text_model_create(self.model.handle, options, out, error), error)
        self._decoder = ffi.gc(out[0], _Destroyer(self._lib, self.model.handle, strings))

    @property
    def _native(self) -> Any:
        """The C object of a decoder."""
        self.require_decoder()
        return self._decoder

    # ---- what it is

    @property
    def tokenizer(self) -> CompiledTokenizer:
        """That of the file. SamaraError if it has none."""
        found = self.model.tokenizer
        if found is None:
            raise SamaraError(
                "the file has no tokenizer",
                fix="export the model with a tokenizer, or give tokens instead of text",
            )
        return found

    @property
    def context(self) -> int | None:
        """The most tokens of a text; None: any number, because every layer has a window."""
        if self._encoder is not None:
            return self._encoder.limit
        return int(self._lib.samara_text_model_context(self._native)) or None

    @property
    def tokens(self) -> list[int]:
        """The tokens of the text in the cache, and of what was made behind it."""
        count = ffi.new("size_t *")
        ids = self._lib.samara_text_model_tokens(self._native, count)
        return list(ffi.unpack(ids, count[0])) if count[0] else []

    @property
    def memory_bytes(self) -> int:
        """All bytes that the model's session holds from its allocator. Those of the cache are taken as it fills."""
        if self._encoder is not None:
            return self._encoder.session.total_bytes
        session = self._lib.samara_text_model_session(self._native)
        return int(self._lib.samara_session_total_bytes(session))

    def require_decoder(self) -> None:
        """UnsupportedError for an encoder's file, which makes no text."""
        if self._encoder is not None:
            raise no_text()

    def __repr__(self) -> str:
        where = "memory" if self.model.path is None else repr(self.model.path)
        what = f"{len(self.tokens)} tokens" if self._encoder is None else "encoder"
        return f"TextModel({where}, {what})"

    # ---- tokens and logits

    def put(self, prompt: str | Iterable[int], *, parse_special: bool = True) -> int:
        """Make the text exactly this: the tokens of a text, with those that the tokenizer adds, or tokens.

        parse_special=False: special tokens in the text are plain text. Returns how many tokens at its beginning
        were in the cache. Raises LimitError if the model takes fewer tokens, CancelledError after `cancel`.
        """
        with self._used():
            return self._put(prompt, _ADD_SPECIAL, parse_special)

    def logits(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The logits of the token after the text, [vocabulary]."""
        with self._used():
            out, count = ffi.new("const float **"), ffi.new("size_t *")
            self._check(self._lib.samara_text_model_logits(self._native, out, count))
            return np.frombuffer(ffi.buffer(out[0], 4 * count[0]), np.float32).copy()

    def cancel(self) -> None:
        """Stop the run of another thread, which raises CancelledError there. Any thread."""
        if self._encoder is not None:
            self._encoder.cancel()
        else:
            self._lib.samara_text_model_cancel(self._decoder)

    # ---- texts

    def follow(
        self,
        prompt: str | Iterable[int],
        *,
        max_tokens: int = 256,
        stop: Sequence[str] | str = (),
        end_tokens: Iterable[int] | None = None,
        ignore_end: bool = False,
        parse_special: bool = True,
        **sampling: Any,
    ) -> TextRun:
        """The text that follows a prompt, part by part as it is certain: whole characters, nothing of a stop.

        max_tokens: the most tokens to make. stop: texts that end it. end_tokens: tokens that end it, in place
        of the file's; ignore_end: go on behind them. parse_special: as in `put`. sampling: the options of
        samara.Sampler (temperature, top_k, top_p, min_p, repetition_penalty, repetition_window, seed); without
        any, each token is the likeliest. The same options give the same text on every machine.

        The result is an iterator of texts that also says what is known of them. Leaving it early keeps the text
        so far in the cache; another text may then begin.
        """
        self.require_decoder()
        return TextRun(
            self, prompt, _ADD_SPECIAL * isinstance(prompt, str), bool(parse_special),
            {"max_tokens": max_tokens, "stop": stop, "end_tokens": end_tokens, "ignore_end": ignore_end,
             **sampling},
        )  # fmt: skip

    def generate(self, prompt: str | Iterable[int], **options: Any) -> GeneratedText:
        """The text that follows a prompt; options are those of `follow`."""
        return self.follow(prompt, **options).whole()

    def stream(self, prompt: str | Iterable[int], **options: Any) -> Iterator[str]:
        """The parts of the text that follows a prompt; options are those of `follow`."""
        return iter(self.follow(prompt, **options))

    def batch(self, prompts: Iterable[str | Iterable[int]], **options: Any) -> list[GeneratedText]:
        """The texts that follow prompts, one after the other. What neighbours begin with runs once."""
        return [self.generate(prompt, **options) for prompt in prompts]

    def answer(self, messages: Sequence[Message], **options: Any) -> TextRun:
        """The answer to messages by the chat template of the file, part by part.

        Options are those of `follow`, and `template` with variables for the template.
        """
        text = self.render(messages, **options.pop("template", {}))
        run = self.follow(text, **options)
        run.flags = 0  # the template writes special tokens itself
        return run

    def chat(self, messages: Sequence[Message], **options: Any) -> GeneratedText:
        """The answer to messages, [{"role": "user", "content": "..."}]; options are those of `answer`.

        >>> model = samara.TextModel("tiny.samara")
        >>> messages = [{"role": "user", "content": "Hi"}]
        >>> model.chat(messages, max_tokens=3).end
        'most tokens'
        """
        return self.answer(messages, **options).whole()

    def render(
        self, messages: Sequence[Message], *, add_generation_prompt: bool = True, **variables: Any
    ) -> str:
        """The text of messages by the chat template of the file, special tokens included.

        Raises SamaraError if the file has no template or the template refuses the messages.
        """
        self.require_decoder()
        return render_chat(
            self.model.metadata, messages, add_generation_prompt=add_generation_prompt, **variables
        )

    # ---- vectors

    def embed(self, texts: str | Iterable[str], *, parse_special: bool = True) -> Vectors:
        """The vectors of texts by an encoder: float32 [n, hidden], or [hidden] of one text.

        A text gets the tokens that the tokenizer adds ([CLS], [SEP]). One with more than `context` tokens in all is
        cut: its first tokens are kept, and the added ones. Texts run one after the other. parse_special: as in `put`.

        Raises UnsupportedError for a decoder's file, ArgumentError for a text without tokens, CancelledError after
        `cancel` while a text runs.

        >>> model = samara.TextModel("encoder.samara")
        >>> model.embed(["A maple's winged seed", "An oak's acorn"]).shape
        (2, 16)
        """
        if self._encoder is None:
            raise no_vectors()
        with self._used():
            return self._encoder.embed(self.tokenizer, texts, parse_special)

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tokens that have run and the cache to a file, which `load` of the same model reads.

        The file is replaced atomically: a process that is killed leaves the old file or the new one.
        """
        self.require_decoder()
        failed: list[OSError] = []
        with self._used(), replacing(path) as file:

            def write(_user: Any, data: Any, size: int) -> int:
                try:
                    file.write(ffi.buffer(data, size))
                except OSError as error:  # which must not leave a callback
                    failed.append(error)
                return len(failed)

            called = ffi.callback("int(void *, const void *, size_t)", write)
            writer = ffi.new("samara_writer *", {"write": called})
            writer.struct_size = ffi.sizeof("samara_writer")
            status = self._lib.samara_text_state_save(self._native, writer)
            if failed:
                raise failed[0]
            self._check(status)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Make the text that of a file; on an error it stays as it is, or is empty if the file contradicts itself.

        Raises ModelFormatError for a damaged file, ShapeError for one of another model.
        """
        self.require_decoder()
        data = memoryview(read_bytes(path_of(path, "path")))

        def read(_user: Any, offset: int, buffer: Any, size: int) -> int:
            part = data[offset : offset + size]
            if len(part) != size:
                return 1
            ffi.memmove(buffer, part, size)
            return 0

        called = ffi.callback("int(void *, uint64_t, void *, size_t)", read)
        reader = ffi.new("samara_reader *", {"read": called, "size_bytes": len(data)})
        with self._used():
            self._run = None
            self._check(self._lib.samara_text_state_load(self._native, reader))

    # ---- internals

    @contextmanager
    def _used(self) -> Iterator[Self]:
        """The model, for this thread alone."""
        if not self._lock.acquire(blocking=False):
            raise busy()
        try:
            yield self
        finally:
            self._lock.release()

    def _check(self, status: int) -> None:
        if status:
            raise failure(status, text(self._lib.samara_text_model_error(self._native)))

    def _put(self, prompt: str | Iterable[int], flags: int, parse_special: bool) -> int:
        native, reused = self._native, ffi.new("size_t *")
        self._run = None
        if isinstance(prompt, str):
            data = prompt.encode("utf-8", "surrogatepass")
            flags |= _NO_SPECIAL * (not parse_special)
            status = self._lib.samara_text_model_prompt(native, data, len(data), flags, reused)
        else:
            ids = _ids(prompt, self._vocabulary)
            status = self._lib.samara_text_model_put(
                native, ffi.from_buffer("int32_t[]", ids), len(ids), reused
            )
        self._check(status)
        return int(reused[0])


class TextRun:
    """A text while it is made: an iterator of its parts.

    tokens: those made so far. end: "" while it goes on, then as in GeneratedText. prompt_tokens and reused_tokens
    are known once the first part is asked for.
    """

    def __init__(
        self,
        model: TextModel,
        prompt: str | Iterable[int],
        flags: int,
        parse_special: bool,
        options: dict[str, Any],
    ) -> None:
        self._kept: list[Any] = []  # what the options point at
        self._options = _text_options(options, self._kept, model._vocabulary)
        self.flags = flags
        self._parts = self._run(model, prompt, parse_special)
        self.tokens: list[int] = []
        self.end = ""
        self.prompt_tokens = self.reused_tokens = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._parts)

    def close(self) -> None:
        """Make no more of it."""
        self._parts.close()

    def whole(self) -> GeneratedText:
        """All that is still to come, at once."""
        text = "".join(self)
        return GeneratedText(
            text, tuple(self.tokens), self.end, self.prompt_tokens, self.reused_tokens
        )

    def _run(
        self, model: TextModel, prompt: str | Iterable[int], parse_special: bool
    ) -> Generator[str, None, None]:
        lib, native = model._lib, model._native
        token, end = ffi.new("int32_t *"), ffi.new("samara_text_end *")
        part, size = ffi.new("const char **"), ffi.new("size_t *")
        with model._used():
            self.reused_tokens = model._put(prompt, self.flags, parse_special)
            self.prompt_tokens = len(model.tokens)
            model._check(lib.samara_text_model_begin(native, self._options))
            model._run = self
        while not self.end:
            with model._used():
                if model._run is not self:
                    raise SamaraError(
                        "the model has begun another text since", fix="use a model for each text"
                    )
                model._check(lib.samara_text_model_step(native, token, part, size, end))
                text = bytes(ffi.buffer(part[0], size[0])).decode()
            if token[0] >= 0:
                self.tokens.append(int(token[0]))
            self.end = _ENDS[int(end[0])]
            if text:
                yield text


class _Destroyer:
    """Destroys the C object when its handle goes; keeps alive what it borrows."""

    def __init__(self, lib: Any, model: Any, borrowed: Any) -> None:
        self._destroy = lib.samara_text_model_destroy
        self._borrowed: Any = (model, borrowed)

    def __call__(self, handle: Any) -> None:
        self._destroy(handle)
        self._borrowed = None


def _ids(tokens: Iterable[int], vocabulary: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    try:
        # An array is checked as a whole: a text grows by a token at a time.
        if (
            isinstance(tokens, np.ndarray)
            and tokens.dtype.kind in "iu"
            and tokens.ndim == 1
            and (not tokens.size or (tokens.min() >= 0 and tokens.max() < vocabulary))
        ):
            return tokens.astype(np.int32)
        wide = [int(i) for i in tokens]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"tokens are {kind_of(tokens)}", fix="give a text, or token numbers"
        ) from None
    for i, token in enumerate(wide):
        if not 0 <= token < vocabulary:
            raise ArgumentError(
                f"token {i} is {token}, the model has 0 to {vocabulary - 1}",
                fix="give tokens of the model's tokenizer",
            )
    return np.array(wide, np.int32)


def _text_options(options: dict[str, Any], kept: list[Any], vocabulary: int) -> Any:
    """A samara_text_options. Objects that it points at are added to `kept`."""
    given = ffi.new("samara_text_options *")
    given.struct_size = ffi.sizeof("samara_text_options")
    most = options.pop("max_tokens", 256)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ArgumentError(f"max_tokens is {most!r}", fix="give a whole number above 0")
    given.max_tokens = most
    stop = options.pop("stop", ())
    stops = [stop] if isinstance(stop, str) else list(names_of(stop, "stop"))
    if stops:
        if not all(stops):
            raise ArgumentError("a stop is the empty text", fix="give texts that may occur")
        kept.append([ffi.new("char[]", s.encode()) for s in stops])
        kept.append(ffi.new("char *[]", kept[-1]))
        given.stops, given.stop_count = kept[-1], len(stops)
    ends = options.pop("end_tokens", None)
    if ends is not None:
        kept.append(ffi.new("int32_t[]", _ids(ends, vocabulary).tolist()))
        given.end_tokens, given.end_token_count = kept[-1], len(kept[-1])
    given.ignore_end_tokens = bool(options.pop("ignore_end", False)) or ends == ()
    kept.append(sampler_options(**options))
    given.sampler = kept[-1]
    return given
