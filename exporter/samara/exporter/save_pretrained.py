# SPDX-License-Identifier: Apache-2.0
"""`save_pretrained`: a net with its tokenizer and chat template as a folder in the form of Hugging Face."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.pretrained import CausalLM, TextEncoder
from samara.exporter.frontend.pretrained.pooling import POOLING_FOLDER
from samara.exporter.frontend.tensor_file import write_tensors
from samara.exporter.text.tokenizer import Tokenizer
from samara.exporter.types import ArgumentError, UnsupportedError
from samara.pybridge.atomic import put, replacing_files
from samara.pybridge.files import kind_of, path_of, reading

_INDEX: Final = "model.safetensors.index.json"


def save_pretrained(
    net: CausalLM | TextEncoder,
    folder: str | os.PathLike[str],
    *,
    tokenizer: str | os.PathLike[str] | dict[str, Any] | None = None,
    chat_template: str | None = None,
    end_tokens: Iterable[int] | None = None,
) -> None:
    """Write a net to a folder that from_pretrained, export_text and Hugging Face's `transformers` read.

    net: a decoder or an encoder of `from_pretrained` or `of(config)`. The folder, which is made if it is missing, gets
    config.json with the net's settings, and model.safetensors with its weights as float32; tied weights are stored
    once. tokenizer: the path or the parsed content of a tokenizer.json, which is written with a tokenizer_config.json.
    chat_template: Jinja, for chat_template.jinja. end_tokens: the tokens that end a text, for generation_config.json.
    An encoder's folder gets modules.json, the settings of its pooling and sentence_bert_config.json as well, from which
    sentence-transformers makes the same vectors.
    Other files in the folder stay as they are. All files are written before the first of them replaces an old one.

    Raises UnsupportedError for another module, and for an encoder whose folder has modules that `embed` does not have;
    ArgumentError for a tokenizer with more ids than the net's `vocab_size`,
    for end tokens that the net does not have, and for a folder whose weights are in several files; FileError if a file
    cannot be read or written; what `Tokenizer` raises.

    >>> sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32}
    >>> layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    >>> net = samara.CausalLM.of({"model_type": "llama", **sizes, **layers})
    >>> samara.save_pretrained(net, "net", end_tokens=[2])
    >>> samara.from_pretrained("net")(samara.tensor([[1, 2, 3]])).shape
    (1, 3, 50)
    """
    if not isinstance(net, (CausalLM, TextEncoder)):
        raise UnsupportedError(
            f"save_pretrained writes decoders and encoders, not {kind_of(net)}",
            fix="keep the state_dict() of other modules with samara.save",
        )
    root = Path(path_of(folder, "folder"))
    if (root / _INDEX).exists():
        raise ArgumentError(
            f"{root} has {_INDEX}, which names the weights of another net",
            fix="give a new folder",
        )
    count = int(net.config["vocab_size"])
    ends = None if end_tokens is None else [_end(token, count) for token in end_tokens]
    text = None if tokenizer is None else _tokenizer(tokenizer, count)
    if isinstance(net, TextEncoder):
        net.pooling.require_supported()
        with replacing_files(root / POOLING_FOLDER) as made:
            put(made / "config.json", _json(net.pooling.settings(int(net.config["hidden_size"]))))
    with replacing_files(root) as made:
        write_tensors(made / "model.safetensors", _weights(net), {"format": "pt"})
        put(made / "config.json", _json(_config(net)))
        if isinstance(net, TextEncoder):
            put(made / "modules.json", _json(net.pooling.modules()))
            put(made / "sentence_bert_config.json", _json(net.pooling.limits()))
        if text is not None:
            put(made / "tokenizer.json", text)
            put(made / "tokenizer_config.json", _json(_tokenizer_config(text, ends)))
        if chat_template is not None:
            put(made / "chat_template.jinja", chat_template)
        if ends is not None:
            put(made / "generation_config.json", _json({"eos_token_id": ends}))


def _config(net: CausalLM | TextEncoder) -> dict[str, Any]:
    """The settings; what they say of stored dtypes becomes true."""
    return {k: "float32" if k in ("dtype", "torch_dtype") else v for k, v in net.config.items()}


def _weights(net: CausalLM | TextEncoder) -> dict[str, Any]:
    arrays = {n: t.detach().numpy().astype(np.float32) for n, t in net.state_dict().items()}
    if isinstance(net, CausalLM) and net.is_tied:
        del arrays["lm_head.weight"]
    return arrays


def _tokenizer(given: str | os.PathLike[str] | dict[str, Any], count: int) -> bytes:
    """The content of a tokenizer.json that suits a net of so many ids."""
    if isinstance(given, dict):
        text = json.dumps(given, ensure_ascii=False).encode()
    else:
        path = path_of(given, "tokenizer")
        with reading(path):
            text = Path(path).read_bytes()
    found = Tokenizer.from_json(text).vocab_size
    if found > count:
        raise ArgumentError(
            f"the tokenizer has {found} ids, and the net's vocab_size is {count}",
            fix="make the net with vocab_size of at least the tokenizer's",
        )
    return text


def _tokenizer_config(text: bytes, ends: list[int] | None) -> dict[str, Any]:
    """What `transformers` needs to take a tokenizer.json as it is, and the name of the first end token."""
    config = {"tokenizer_class": "PreTrainedTokenizerFast"}
    if ends:
        name = Tokenizer.from_json(text).id_to_token(ends[0])
        config |= {} if name is None else {"eos_token": name}
    return config


def _end(token: Any, count: int) -> int:
    if isinstance(token, bool) or not isinstance(token, (int, np.integer)):
        raise ArgumentError(f"{token!r} is no token", fix="give token numbers as end_tokens")
    if not 0 <= token < count:
        raise ArgumentError(f"end token {token} is none of the net's {count} tokens")
    return int(token)


def _json(values: Any) -> str:
    return json.dumps(values, indent=2) + "\n"
