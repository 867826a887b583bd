# SPDX-License-Identifier: Apache-2.0
"""A text model as one file: a decoder with its cache and how its texts end, or an encoder; and its tokenizer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from samara.exporter.export import ExportReport, export
from samara.exporter.frontend.creation import tensor
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.pretrained import (
    CachedLM,
    CausalLM,
    TextEncoder,
    from_pretrained,
)
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.frontend.trace import trace
from samara.exporter.ir.program import Program
from samara.exporter.quantize.quantize import quantize
from samara.exporter.types import ArgumentError, ModelFormatError, UnsupportedError
from samara.pybridge.files import kind_of, path_of, reading
from samara.pybridge.text_encoder import CONTEXT, ENCODER, KIND
from samara.pybridge.tokenizer import CompiledTokenizer

_INEXACT: Final = (
    "int4-weights",
    "int8-weights",
)  # schemes with products of floats by quantized weights


def export_text(
    model: CausalLM | TextEncoder | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    scheme: str | None = None,
    context: int | None = None,
    chunk: int | None = None,
    tokenizer: CompiledTokenizer | str | os.PathLike[str] | None = None,
    chat_template: str | None = None,
    end_tokens: Iterable[int] | None = None,
    accuracy: Literal["exact", "bounded"] | None = None,
    **options: Any,
) -> ExportReport:
    """Write a decoder or an encoder to a file that `samara.TextModel` runs; samara_text.h runs decoders.

    model: a folder of Hugging Face with config.json and safetensors, or the net of `from_pretrained`,
    `samara.CausalLM.of` or `samara.TextEncoder.of`. scheme: of `samara.quantize`: "int4-dynamic", "int8-dynamic", or
    another; None: float32.
    context: the most tokens of a text. A decoder (None: 2048) reserves addresses for them in a session, and takes
    memory as the text grows. An encoder takes no more than it has positions; None: as many as the folder says
    (`max_seq_length` of sentence_bert_config.json, `model_max_length` of tokenizer_config.json), or all positions.
    chunk: the most tokens of a run of a decoder, 128 if the context has room; longer prompts take several. options:
    further ones of `samara.export`.

    accuracy: "exact" gives the same logits, and so the same text, on every CPU, for any number of threads and any
    split of a prompt; "bounded" may be faster. None: exact, but for schemes that multiply floats by quantized
    weights ("int4-weights", "int8-weights"), which have no exact form, and for encoders, whose attention has none.

    A folder's tokenizer.json, chat template and end tokens become part of the file. tokenizer (a samara.Tokenizer or
    the path of a tokenizer.json), chat_template (Jinja) and end_tokens are given for other models, or take precedence.
    The last two are of decoders.

    An encoder's program takes `input_ids` int64 [1, tokens] and gives `embedding` float32 [1, hidden]: the vector of
    `TextEncoder.embed`.

    Raises what from_pretrained, quantize and export raise; UnsupportedError for another module, and for an encoder's
    folder with modules that `TextEncoder.embed` does not have; ArgumentError for arguments that do not fit the model.

    >>> sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32}
    >>> layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    >>> net = samara.CausalLM.of({"model_type": "llama", **sizes, **layers})
    >>> report = samara.export_text(net, "net.samara", context=64, chunk=8)
    >>> samara.TextModel("net.samara").put([1, 2, 3])
    0
    """
    net: Any = model
    root = None
    if isinstance(model, (str, os.PathLike)):
        root = Path(path_of(model, "model"))
        net = from_pretrained(root)
        if tokenizer is None and (root / "tokenizer.json").exists():
            tokenizer = root / "tokenizer.json"
    bounds: dict[str, int]
    if isinstance(net, CausalLM):
        metadata = {} if root is None else _settings(root)
        if chat_template is not None:
            metadata["text.chat_template"] = chat_template
        if end_tokens is not None:
            metadata["text.end_tokens"] = ",".join(str(_token(t)) for t in end_tokens)
        program, bounds = _decoder(net, 2048 if context is None else context, chunk)
        has_exact_form = scheme not in _INEXACT
    elif isinstance(net, TextEncoder):
        _require_none(chunk=chunk, chat_template=chat_template, end_tokens=end_tokens)
        metadata = {}
        if tokenizer is not None:
            tokenizer = _opened(tokenizer)
        program, bounds = _encoder(net, context, tokenizer)
        has_exact_form = False  # of attention
    else:
        raise UnsupportedError(
            f"a text model is made of a decoder or an encoder, not of {kind_of(net)}",
            fix="give the folder of one; trace and export other modules",
        )
    if scheme is not None:
        program = quantize(program, scheme=scheme)
    program = replace(program, metadata={**program.metadata, **metadata})
    bounds |= options.pop("bounds", {})
    if accuracy is None:
        accuracy = "exact" if has_exact_form else "bounded"
    return export(program, path, bounds=bounds, tokenizer=tokenizer, accuracy=accuracy, **options)


# ---- decoders


def _decoder(net: CausalLM, context: int, chunk: int | None) -> tuple[Program, dict[str, int]]:
    """The Program with what its metadata says, and the bounds of its dims."""
    cached = CachedLM(net, context, chunk)
    metadata = {"text.chunk": str(cached.chunk)}
    if cached.is_bounded:
        metadata[CONTEXT] = str(context)
    program = text_program(cached)
    program = replace(program, metadata={**program.metadata, **metadata})
    return program, {"tokens": cached.chunk}


def text_program(net: CachedLM) -> Program:
    """The Program of a decoder with a cache: `input_ids` [1, tokens] to `logits` [1, vocab_size]."""
    net.reset()
    example = tensor(np.zeros((1, min(2, net.chunk)), np.int64))
    dynamic = {"input_ids": {1: "tokens"}}
    program = trace(net, example, dynamic=dynamic, output_names=["logits"])
    net.reset()
    return program


def _token(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ArgumentError(f"{value!r} is no token", fix="give token numbers as end_tokens")
    return int(value)


# ---- encoders


class _Embedding(Module):
    """The vectors of texts without padding, whose tokens are of one type."""

    def __init__(self, net: TextEncoder) -> None:
        super().__init__()
        self.net = net

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.net.embed(input_ids)


def _encoder(
    net: TextEncoder, context: int | None, tokenizer: CompiledTokenizer | None
) -> tuple[Program, dict[str, int]]:
    """The Program with what its metadata says, and the bounds of its dims."""
    if context is not None and (isinstance(context, bool) or not isinstance(context, int)):
        raise ArgumentError(f"context is {context!r}", fix="give a whole number above 0")
    wanted = net.pooling.most_tokens if context is None else context
    limit = net.positions if wanted is None else min(wanted, net.positions)
    _check_tokens(net, limit, tokenizer)
    example = tensor(np.zeros((1, min(2, limit)), np.int64))
    program = trace(
        _Embedding(net),
        example,
        dynamic={"input_ids": {1: "tokens"}},
        output_names=["embedding"],
    )
    metadata = {KIND: ENCODER, CONTEXT: str(limit), "text.pooling": str(net.pooling)}
    return replace(program, metadata={**program.metadata, **metadata}), {"tokens": limit}


def _check_tokens(net: TextEncoder, limit: int, tokenizer: CompiledTokenizer | None) -> None:
    """ArgumentError for a limit without room for a text, UnsupportedError for a tokenizer that keeps capitals."""
    added = 0 if tokenizer is None else len(tokenizer.encode(""))
    if limit <= added:
        raise ArgumentError(
            f"a text of {limit} tokens has no room beside the {added} that the tokenizer adds",
            fix="give a larger context",
        )
    if net.pooling.lowercase and tokenizer is not None and tokenizer.normalize("A") != "a":
        raise UnsupportedError(
            "the folder's sentence_bert_config.json says do_lower_case, and its tokenizer.json does not",
            fix="add the normalizer Lowercase to tokenizer.json",
        )


def _opened(tokenizer: CompiledTokenizer | str | os.PathLike[str]) -> CompiledTokenizer:
    if isinstance(tokenizer, CompiledTokenizer):
        return tokenizer
    from samara.exporter.text.tokenizer import Tokenizer  # tables of Unicode

    return Tokenizer.from_file(path_of(tokenizer, "tokenizer"))


def _require_none(**arguments: Any) -> None:
    """ArgumentError for an argument of decoders."""
    for name, value in arguments.items():
        if value is not None:
            raise ArgumentError(
                f"{name} is {value!r}, and an encoder makes no text", fix=f"leave out {name}"
            )


# ---- what a folder says of its texts


def _settings(root: Path) -> dict[str, str]:
    """Metadata: chat template, special tokens by name, and the tokens that end a text."""
    tokens = _json(root / "tokenizer_config.json")
    found = {
        f"text.{name}": _text(tokens.get(name)) for name in ("bos_token", "eos_token", "pad_token")
    }
    found["text.chat_template"] = _template(root, tokens.get("chat_template"))
    ends = _json(root / "generation_config.json").get("eos_token_id")
    if ends is None:
        ends = _json(root / "config.json").get("eos_token_id")
    if ends is not None:
        listed = ends if isinstance(ends, list) else [ends]
        if not all(isinstance(e, int) and e >= 0 for e in listed):
            raise ModelFormatError(f"{root}: eos_token_id is {json.dumps(ends)}, expected tokens")
        found["text.end_tokens"] = ",".join(map(str, listed))
    return {key: value for key, value in found.items() if value}


def _template(root: Path, stored: Any) -> str:
    beside = root / "chat_template.jinja"
    if beside.exists():
        with reading(beside):
            return beside.read_text(encoding="utf-8")
    if isinstance(stored, list):  # several, by name
        named = {t.get("name"): t.get("template") for t in stored if isinstance(t, dict)}
        stored = named.get("default")
    return _text(stored)


def _text(value: Any) -> str:
    """A text, or the content of a token."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def _json(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one if there is no file."""
    if not path.exists():
        return {}
    with reading(path):
        text = path.read_bytes()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ModelFormatError(f"{path} is a JSON {type(found).__name__}, not an object")
    return found
