# SPDX-License-Identifier: Apache-2.0
"""A tiny language model and a tiny encoder for tests and examples: folders of Hugging Face, and their files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.export_text import export_text
from samara.exporter.frontend.pretrained import CausalLM, TextEncoder
from samara.exporter.frontend.tensor_file import write_tensors

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ("<|end|>", "<|user|>", "<|assistant|>", "<|system|>")
CONFIG = {
    "model_type": "llama",
    "vocab_size": 256 + len(SPECIAL),
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
    "eos_token_id": 256,
}
ADDED = ("[CLS]", "[SEP]")
ENCODER_CONFIG = {
    "model_type": "bert",
    "vocab_size": 256 + len(ADDED),
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 40,
}


def write_tiny_folder(folder: Path, **config: Any) -> Path:
    """A folder with random weights and a tokenizer of bytes; `config` changes config.json."""
    values = {**CONFIG, **config}
    _write(folder, CausalLM.of(values), values, _tokenizer(SPECIAL))
    settings = {"chat_template": TEMPLATE, "eos_token": {"content": "<|end|>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def write_tiny_text_model(
    path: Path, *, config: Mapping[str, Any] | None = None, **options: Any
) -> Path:
    """Its .samara file, with a context of 200 tokens in calls of 16; `options` are of `export_text`."""
    folder = write_tiny_folder(path.with_suffix(".folder"), **(config or {}))
    export_text(folder, path, **{"context": 200, "chunk": 16, **options})
    return path


def write_tiny_encoder_folder(folder: Path, **config: Any) -> Path:
    """The same for an encoder, whose tokenizer adds [CLS] and [SEP]."""
    values = {**ENCODER_CONFIG, **config}
    tokenizer = _tokenizer(ADDED)
    first, last = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ADDED)
    ids = {name: {"id": name, "ids": [256 + i], "tokens": [name]} for i, name in enumerate(ADDED)}
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [first, {"Sequence": {"id": "A", "type_id": 0}}, last],
        "pair": [first, {"Sequence": {"id": "A", "type_id": 0}}, last],
        "special_tokens": ids,
    }
    _write(folder, TextEncoder.of(values), values, tokenizer)
    return folder


def write_tiny_encoder(
    path: Path, *, config: Mapping[str, Any] | None = None, **options: Any
) -> Path:
    """Its .samara file; `options` are of `export_text`."""
    folder = write_tiny_encoder_folder(path.with_suffix(".folder"), **(config or {}))
    export_text(folder, path, **options)
    return path


def _write(folder: Path, net: Any, config: dict[str, Any], tokenizer: dict[str, Any]) -> None:
    """Random weights of a net's names and shapes, its config.json and tokenizer.json."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    arrays = {
        name: (1.0 if "norm" in name.lower() else 0.0)
        + 0.3 * rng.standard_normal(tuple(t.shape)).astype(np.float32)
        for name, t in net.state_dict().items()
        if name != "lm_head.weight" or not config["tie_word_embeddings"]
    }
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    write_tensors(folder / "model.safetensors", arrays, {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


def _tokenizer(special: Sequence[str]) -> dict[str, Any]:
    """One token per byte, spelled as byte-level tokenizers spell them, then the special ones."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spelled = {b: chr(b) for b in plain}
    others = [b for b in range(256) if b not in spelled]
    spelled |= {b: chr(256 + i) for i, b in enumerate(others)}
    added = [
        {
            "id": 256 + i, "content": text, "special": True, "normalized": False,
            "single_word": False, "lstrip": False, "rstrip": False,
        }
        for i, text in enumerate(special)
    ]  # fmt: skip
    return {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        "post_processor": None,
        "decoder": {"type": "ByteLevel"},
        "model": {
            "type": "BPE",
            "vocab": {spelled[b]: b for b in range(256)},
            "merges": [],
        },
    }
