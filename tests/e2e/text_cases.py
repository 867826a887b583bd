# SPDX-License-Identifier: Apache-2.0
"""Text models for tests in other languages, and what Python's samara.TextModel makes with them.

text.json has texts of text.samara in the order in which one text model made them, its parts, tokens and reused
tokens, and texts of the tokenizers in tests/golden/text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import samara
from samara.exporter.testing_text import write_tiny_folder, write_tiny_text_model

_GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "text"
PROMPT = "A maple's winged seed flies far."
_MAPLE = "Ahornsamen fliegen weit: \U0001f341 \u00e9 e\u0301 \u6953\0."
# What a prompt of text begins with: tokenizers of many models add such a token.
_BEGIN = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<|system|>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<|system|>": {"id": "<|system|>", "ids": [259], "tokens": ["<|system|>"]}},
}
_SAMPLED: dict[str, Any] = {"temperature": 0.9, "top_k": 40, "seed": 4}


def write(folder: Path) -> list[Path]:
    """Write the models, text.json and its files into `folder`; the models.

    text.samara has a context of 200 tokens, short.samara one of 100, endless.samara none, and bare.samara no
    tokenizer.
    """
    paths = [folder / f"{name}.samara" for name in ("text", "short", "endless", "bare")]
    text, short, endless, bare = paths
    _export(text, begins=True, context=200, chunk=16)
    write_tiny_text_model(short, context=100)
    window = {"model_type": "mistral", "sliding_window": 32, "num_hidden_layers": 1}
    write_tiny_text_model(endless, config=window, context=10_000, chunk=64)
    _export(bare, context=200, chunk=16)
    model = samara.TextModel(text)
    said: dict[str, Any] = {"prompt": PROMPT, "runs": [_made(model, *run) for run in _runs(text)]}
    model.put(PROMPT)
    said["prompt_ids"] = model.tokens
    model.logits().tofile(folder / "text.logits")
    model.save(folder / "text.state")
    said["tokenizers"] = _tokenizers(folder)
    (folder / "text.json").write_text(json.dumps(said))
    return paths


def _export(path: Path, *, begins: bool = False, **options: Any) -> None:
    """A model whose tokenizer adds a token at the beginning, or one without a tokenizer."""
    folder = write_tiny_folder(path.with_suffix(".folder"))
    file = folder / "tokenizer.json"
    if begins:
        data = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**data, "post_processor": _BEGIN}), encoding="utf-8")
    else:
        file.unlink()
    samara.export_text(folder, path, **options)


def _runs(path: Path) -> list[tuple[str | list[int], dict[str, Any]]]:
    """Prompts and options that each show something."""
    whole = samara.TextModel(path).generate(PROMPT, max_tokens=60, ignore_end=True)
    stops = [whole.text[begin : begin + 4] for begin in (3, 17, 31)]
    sampled = [
        _SAMPLED,
        {"temperature": 1.3, "top_p": 0.9, "seed": 2**64 - 1},
        {"temperature": 1.0, "min_p": 0.05, "seed": 3},
        {"temperature": 0.7, "repetition_penalty": 1.3, "seed": 11},
        {"repetition_penalty": 2.0, "repetition_window": 4},
        {"temperature": 1.0, "top_k": 7, "top_p": 0.8, "min_p": 0.01, "seed": 5},
    ]
    return [
        (PROMPT, {"max_tokens": 60, "ignore_end": True}),
        (PROMPT, {"max_tokens": 60}),
        *((PROMPT, {"max_tokens": 40, "ignore_end": True, **options}) for options in sampled),
        *((PROMPT, {"max_tokens": 60, "ignore_end": True, "stop": ["no", s]}) for s in stops),
        (PROMPT, {"max_tokens": 20, "end_tokens": [whole.tokens[3], 5]}),
        (PROMPT, {"max_tokens": 20, "end_tokens": ()}),
        (_MAPLE, {"max_tokens": 30, "ignore_end": True, **_SAMPLED}),
        ("x" * 190, {"max_tokens": 100, "ignore_end": True}),
        ("<|user|>Hi<|end|><|assistant|>", {"max_tokens": 8, "add_special": False}),
        ("<|user|>Hi<|end|><|assistant|>", {"max_tokens": 8, "parse_special": False}),
        ([7, 3, 1], {"max_tokens": 5, "ignore_end": True}),
        ([7, 3, 1, 200], {"ignore_end": True, "max_tokens": 1}),
    ]


def _made(
    model: samara.TextModel, prompt: str | list[int], options: dict[str, Any]
) -> dict[str, Any]:
    given = dict(options)
    adds = given.pop("add_special", True)
    run = model.follow(prompt, **given)
    if not adds:
        run.flags = 0  # as TextModel.answer, whose template writes special tokens
    parts = list(run)
    return {
        "prompt": prompt if isinstance(prompt, str) else None,
        "ids": None if isinstance(prompt, str) else prompt,
        "options": options,
        "parts": parts,
        "tokens": run.tokens,
        "end": run.end,
        "prompt_tokens": run.prompt_tokens,
        "reused_tokens": run.reused_tokens,
        "all": model.tokens,
    }


def _tokenizers(folder: Path) -> list[dict[str, Any]]:
    """The recorded tokenizers as tables, with texts, ids, and the texts of ids."""
    found = []
    for path in sorted(_GOLDEN.glob("*.answers.json")):
        name = path.name.removesuffix(".answers.json")
        tokenizer = samara.Tokenizer.from_file(_GOLDEN / f"{name}.json")
        table = folder / f"{name}.table"
        table.write_bytes(tokenizer.table)
        ids = range(0, tokenizer.vocab_size, max(1, tokenizer.vocab_size // 50))
        found.append(
            {
                "table": table.name,
                "vocab_size": tokenizer.vocab_size,
                "rows": json.loads(path.read_text(encoding="utf-8")),
                "tokens": {str(i): tokenizer.id_to_token(i) for i in ids},
                "normal": tokenizer.normalize(_MAPLE),
                "as_text": tokenizer.encode("a<s>[SEP]<|endoftext|>", parse_special=False),
            }
        )
    return found
