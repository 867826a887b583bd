# SPDX-License-Identifier: Apache-2.0
"""A language model as one file: its decoder with a cache, its tokenizer, and how its texts end."""

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
from samara.exporter.frontend.pretrained import CachedLM, CausalLM, from_pretrained
from samara.exporter.frontend.trace import trace
from samara.exporter.ir.program import Program
from samara.exporter.quantize.quantize import quantize
from samara.exporter.types import ArgumentError, ModelFormatError, UnsupportedError
from samara.pybridge.files import kind_of, path_of, reading
from samara.pybridge.tokenizer import CompiledTokenizer

_INEXACT: Final = (
    "int4-weights",
    "int8-weights",
)  # schemes with products of floats by quantized weights


def export_text(
    model: CausalLM | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    scheme: str | None = None,
    context: int = 2048,
    chunk: int | None = None,
    tokenizer: CompiledTokenizer | str | os.PathLike[str] | None = None,
    chat_template: str | None = None,
    end_tokens: Iterable[int] | None = None,
    accuracy: Literal["exact", "bounded"] | None = None,
    **options: Any,
) -> ExportReport:
    """Write a decoder to a file that `samara.TextModel` and samara_text.h run.

    model: a folder of Hugging Face with config.json and safetensors, or a decoder of `from_pretrained` or
    `samara.CausalLM.of`. scheme: of `samara.quantize`: "int4-dynamic", "int8-dynamic", or another; None: float32.
    context: the most tokens of a text, for which a session reserves addresses, and memory as the text grows. chunk: the
    most tokens of a run, 128 if the context has room; longer prompts take several. options: further ones of
    `samara.export`.

    accuracy: "exact" gives the same logits, and so the same text, on every CPU, for any number of threads and any
    split of a prompt; "bounded" may be faster. None: exact, but for schemes that multiply floats by quantized
    weights ("int4-weights", "int8-weights"), which have no exact form.

    A folder's tokenizer.json, chat template and end tokens become part of the file. tokenizer (a samara.Tokenizer or
    the path of a tokenizer.json), chat_template (Jinja) and end_tokens are given for other models, or take precedence.

    Raises what from_pretrained, quantize and export raise; UnsupportedError for a folder with an encoder.

    >>> sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32}
    >>> layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    >>> net = samara.CausalLM.of({"model_type": "llama", **sizes, **layers})
    >>> report = samara.export_text(net, "net.samara", context=64, chunk=8)
    >>> samara.TextModel("net.samara").put([1, 2, 3])
    0
    """
    metadata: dict[str, str] = {}
    net: Any = model
    if isinstance(model, (str, os.PathLike)):
        root = Path(path_of(model, "model"))
        net = from_pretrained(root)
        metadata = _settings(root)
        if tokenizer is None and (root / "tokenizer.json").exists():
            tokenizer = root / "tokenizer.json"
    if not isinstance(net, CausalLM):
        raise UnsupportedError(
            f"a text model is made of a decoder, not of {kind_of(net)}",
            fix="give the folder of a decoder; trace and export encoders as any module",
        )
    cached = CachedLM(net, context, chunk)
    metadata["text.chunk"] = str(cached.chunk)
    if cached.is_bounded:
        metadata["text.context"] = str(context)
    if chat_template is not None:
        metadata["text.chat_template"] = chat_template
    if end_tokens is not None:
        metadata["text.end_tokens"] = ",".join(str(_token(t)) for t in end_tokens)
    program = text_program(cached)
    if scheme is not None:
        program = quantize(program, scheme=scheme)
    program = replace(program, metadata={**program.metadata, **metadata})
    bounds = {"tokens": cached.chunk, **options.pop("bounds", {})}
    if accuracy is None:
        accuracy = "bounded" if scheme in _INEXACT else "exact"
    return export(program, path, bounds=bounds, tokenizer=tokenizer, accuracy=accuracy, **options)


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
