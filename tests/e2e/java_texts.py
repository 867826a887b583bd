# SPDX-License-Identifier: Apache-2.0
"""Text models that the programs of tests/e2e/java run, and what Python says of them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import samara
from samara.exporter.testing_text import write_tiny_folder, write_tiny_text_model

PROMPT = "A maple's winged seed flies far."
LEAF = "Ahorn \U0001f341 ä"
CONTEXT = 1000
LONG = f"<|{'s' * 300}|>"  # a token
SAMPLED: dict[str, Any] = {"temperature": 0.9, "top_k": 40, "seed": 4}


def write(folder: Path) -> None:
    """text.samara; halves.samara, whose tokens are halves of characters; endless.samara, which takes any number of
    tokens; bare.samara without a tokenizer; and a text kept by Python.
    """
    write_tiny_text_model(folder / "text.samara", context=CONTEXT)
    nets = folder / "nets"
    halves = write_tiny_folder(nets / "halves")
    with _changed(halves / "tokenizer.json") as tokenizer:
        spelled = {number: text for text, number in tokenizer["model"]["vocab"].items()}
        tokenizer["model"]["vocab"] = {
            "".join(spelled[byte] for byte in _half(number)): number for number in range(256)
        }
    samara.export_text(halves, folder / "halves.samara", context=CONTEXT)
    bare = write_tiny_folder(nets / "bare")
    (bare / "tokenizer.json").unlink()
    samara.export_text(bare, folder / "bare.samara", context=CONTEXT)
    endless = write_tiny_folder(nets / "endless", model_type="mistral", sliding_window=32)
    with _changed(endless / "tokenizer.json") as tokenizer:
        tokenizer["normalizer"] = {"type": "NFKD"}
        tokenizer["added_tokens"][3]["content"] = LONG
    samara.export_text(endless, folder / "endless.samara", context=10_000, chunk=16)
    model = samara.TextModel(folder / "text.samara", threads=1)
    model.put(PROMPT * 20)
    model.save(folder / "python.text")
    (folder / "stop.txt").write_text(stop(folder), encoding="utf-8")


@contextlib.contextmanager
def _changed(path: Path) -> Iterator[Any]:
    values = json.loads(path.read_text(encoding="utf-8"))
    yield values
    path.write_text(json.dumps(values), encoding="utf-8")


def _half(number: int) -> bytes:
    """The end or the beginning of U+1F600 to U+1F63F, which have two characters in Java."""
    name = f"{number // 2:02x}".encode()
    return bytes((0x98, 0x80 + number // 2 % 64)) + name if number % 2 else name + b"\xf0\x9f"


def stop(folder: Path) -> str:
    """The second whole character outside of the first plane that halves.samara makes."""
    model = samara.TextModel(folder / "halves.samara", threads=1)
    made = model.generate([1, 2, 3], max_tokens=400, ignore_end=True, temperature=1.0, seed=6)
    found = [letter for letter in made.text if ord(letter) > 0xFFFF]
    assert len(found) > 4
    return found[1]


def _line(name: str, tokens: Sequence[int], text: str, rest: str) -> str:
    numbers = " ".join(map(str, tokens))
    return f"{name}={numbers}|{text.encode().hex()}|{rest}"


def texts(folder: Path) -> str:
    """What Texts prints."""
    model = samara.TextModel(folder / "text.samara", threads=1)
    lines = []

    def add(
        name: str, prompt: str | list[int], net: samara.TextModel = model, **given: Any
    ) -> None:
        made = net.generate(prompt, **given)
        rest = f"{made.end}|{made.prompt_tokens}|{made.reused_tokens}"
        lines.append(_line(name, made.tokens, made.text, rest))

    add("likeliest", PROMPT, max_tokens=40, ignore_end=True)
    add("sampled", PROMPT, max_tokens=40, **SAMPLED)
    add(
        *("everything", PROMPT + "!"),
        max_tokens=60,
        ignore_end=True,
        temperature=0.8,
        top_k=200,
        top_p=0.9,
        min_p=0.01,
        repetition_penalty=1.3,
        repetition_window=20,
        seed=2**63 + 5,
    )
    add("defaults", LEAF)
    add("ends", PROMPT, max_tokens=40, end_tokens=[1, 2, 3, *range(100, 200)])
    add("stranger", "a<|end|>b", max_tokens=3, parse_special=False)
    add("special", "a<|end|>b", max_tokens=3)
    add("tokens", [*PROMPT.encode()], max_tokens=5, temperature=1e-40)
    add("full", "x" * (CONTEXT - 10), max_tokens=100, ignore_end=True)
    model.put(LEAF)
    logits = np.asarray(model.logits(), ">f4").tobytes().hex()
    lines.append(f"logits={logits}")
    lines.append(f"kept={' '.join(map(str, model.tokens))}")
    halves = samara.TextModel(folder / "halves.samara", threads=1)
    given: dict[str, Any] = {"ignore_end": True, "temperature": 1.0, "seed": 6}
    add("halves", [1, 2, 3], halves, max_tokens=400, **given)
    add("stopped", [1, 2, 3], halves, max_tokens=400, stop=["never", stop(folder)], **given)
    lines.append(_hex("parts", halves.stream([1, 2, 3], max_tokens=400, **given)))
    lines.append(f"template={model.model.metadata['text.chat_template'].encode().hex()}")
    return "\n".join([*lines, *_tokens(model), *_long_texts(folder), *_chosen(), ""])


def _chosen() -> list[str]:
    given: dict[str, Any] = {"repetition_penalty": 1.2, "repetition_window": 9, "seed": 2**64 - 3}
    sampler = samara.Sampler(300, temperature=0.8, top_k=100, top_p=0.95, min_p=0.001, **given)
    sampler.accept([1, 2, 299])
    chosen = "chosen="
    for i in range(50):
        logits = (np.arange(300) * 7919 + i * 104729) % 1009 / 64
        chosen += f"{sampler.next(logits)} "
    return [chosen] * 2


def accuracies(folder: Path) -> str:
    """What Accuracies prints."""
    found = {}
    for word in ("default", "exact", "bounded", "strict"):
        model = samara.TextModel(folder / "text.samara", threads=1, accuracy=word)
        model.put(PROMPT)
        found[word] = np.asarray(model.logits(), ">f4").tobytes().hex()
    assert found["default"] == found["exact"]
    return "".join(f"{word}={bits}\n" for word, bits in found.items())


def _long_texts(folder: Path) -> list[str]:
    tokenizer = samara.TextModel(folder / "endless.samara").tokenizer
    folded = "\ufdfa" * 100
    ids = tokenizer.encode(folded)
    assert len(ids) > 3 * len(folded.encode())
    assert tokenizer.decode([259], skip_special_tokens=False) == LONG
    return [
        f"many={' '.join(map(str, ids))}",
        f"unfolded={tokenizer.normalize(folded).encode().hex()}",
        f"long={LONG.encode().hex()}",
    ]


def parts(folder: Path) -> str:
    """What the Kotlin program prints."""
    model = samara.TextModel(folder / "text.samara", threads=1)
    return _hex("parts", model.stream(PROMPT, max_tokens=200, ignore_end=True, **SAMPLED))


def _hex(name: str, texts: Iterable[str]) -> str:
    return f"{name}=" + " ".join(text.encode().hex() for text in texts)


def _tokens(model: samara.TextModel) -> list[str]:
    tokenizer = model.tokenizer
    lines = []
    for text in ("", PROMPT, LEAF, "a<|end|>b", "\0zero"):
        ids = tokenizer.encode(text)
        plain = tokenizer.encode(text, add_special_tokens=False, parse_special=False)
        lines.append(f"ids={ids}{plain}{tokenizer.decode(ids).encode().hex()}")
        lines.append(tokenizer.decode(ids, skip_special_tokens=False).encode().hex())
    lines.append(f"normal={tokenizer.normalize(LEAF).encode().hex()}")
    broken = [0xF0, 0x9F, 65, 256, 0x8D, 0xF0, 0x9F, 0x8D, 0x81, 999, 0xC3]
    lines.append(f"broken={tokenizer.decode(broken).encode().hex()}")
    stream = tokenizer.stream()
    parts = [*(stream.push(number) for number in broken), stream.finish()]
    lines.append("pushed=" + ",".join(part.encode().hex() for part in parts))
    named = [tokenizer.id_to_token(number) for number in (0, 65, 256)]
    assert all(named)
    lines.append("named=" + " ".join(str(name).encode().hex() for name in named))
    lines.append(f"found={tokenizer.token_to_id('<|user|>')} {tokenizer.vocab_size}")
    return lines
