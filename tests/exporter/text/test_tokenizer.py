# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of every kind beside what PyPI's `tokenizers` answered (tools/gen_tokenizers.py), and files that
are damaged.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import samara
from samara.exporter.text.tokenizer import compile_tokenizer, parse_float

_GOLDEN = Path(__file__).parents[2] / "golden" / "text"
_NAMES = sorted(p.name.removesuffix(".answers.json") for p in _GOLDEN.glob("*.answers.json"))
_WORDS = {"type": "WordLevel", "vocab": {"?": 0, "maple": 1, "seed": 2}, "unk_token": "?"}


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((_GOLDEN / f"{name}.answers.json").read_text("utf-8"))
    return rows


@pytest.fixture(scope="module", params=_NAMES)
def recorded(request: pytest.FixtureRequest) -> tuple[samara.Tokenizer, list[dict[str, Any]]]:
    return samara.Tokenizer.from_file(_GOLDEN / f"{request.param}.json"), _rows(request.param)


def test_every_kind_is_recorded() -> None:
    assert len(_NAMES) == 18


def test_ids(recorded: tuple[samara.Tokenizer, list[dict[str, Any]]]) -> None:
    tokenizer, rows = recorded
    for row in rows:
        if "text" in row:
            plain = tokenizer.encode(row["text"], add_special_tokens=False)
            assert tokenizer.encode(row["text"]) == row["ids"], row["text"]
            assert plain == row.get("plain", row["ids"]), row["text"]


def test_texts(recorded: tuple[samara.Tokenizer, list[dict[str, Any]]]) -> None:
    tokenizer, rows = recorded
    for row in rows:
        assert tokenizer.decode(row["ids"]) == row["decoded"]
        if "whole" in row:
            assert tokenizer.decode(row["ids"], skip_special_tokens=False) == row["whole"]


def test_streams(recorded: tuple[samara.Tokenizer, list[dict[str, Any]]]) -> None:
    tokenizer, rows = recorded
    stream = tokenizer.stream()
    for row in rows:
        assert "".join(map(stream.push, row["ids"])) + stream.finish() == row["decoded"]


def test_added_tokens_take_the_next_ids() -> None:
    added = [
        {"content": c, "special": c == "<a>", "normalized": False} for c in ("<a>", "seed", "<b>")
    ]
    tokenizer = samara.Tokenizer.from_json({"model": _WORDS, "added_tokens": added})
    assert tokenizer.vocab_size == 5
    assert [tokenizer.token_to_id(t) for t in ("<a>", "seed", "<b>", "<c>")] == [3, 2, 4, None]
    assert tokenizer.encode("maple<a>seed<b>") == [1, 3, 2, 4]
    assert tokenizer.encode("<a>", parse_special=False) == [0]
    assert tokenizer.decode([3, 1, 4]) == "maple <b>"


def test_words_are_normalized_before_added_tokens_are_searched() -> None:
    added = [{"content": "MAPLE", "normalized": True}]
    data = {"model": _WORDS, "normalizer": {"type": "Lowercase"}, "added_tokens": added}
    tokenizer = samara.Tokenizer.from_json(data)
    assert tokenizer.encode("Maple") == [3]
    assert tokenizer.normalize("ÄB") == "äb"


# As serde_json: one rounding of the digits, and one of the quotient.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-3.5", -3.5),
        ("1e3", 1000.0),
        ("0.0", 0.0),
        ("12345678901234567890123.0", 1234567890123456789e4),
        ("-9.184081077575684", -9.184081077575684),
        ("1e400", float("inf")),
        ("1.5e-310", 1.5e-310),
    ],
)
def test_numbers(text: str, value: float) -> None:
    assert parse_float(text) == pytest.approx(value, rel=1e-15)


def test_a_number_that_is_rounded_twice() -> None:
    # 17 digits do not fit a double's 53 bits: the first rounding takes the last bit.
    digits = next(d for d in range(10**17 + 1, 10**17 + 2000, 2) if d / 1e17 != float(f"{d}e-17"))
    text = f"1.{str(digits)[1:]}"
    assert parse_float(text) == float(digits) / 1e17
    assert parse_float(text) != float(text)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "not an object"),
        ("{}", "there is no model"),
        ({"model": {"type": "BPE", "vocab": 3}}, r"tokenizer\.json\.model: vocab"),
        ({"model": _WORDS, "added_tokens": [{}]}, r"added_tokens\[0\]: content"),
        (
            {
                "model": _WORDS,
                "post_processor": {"type": "BertProcessing", "sep": ["x", 9], "cls": ["?", 0]},
            },
            "there is no token 9",
        ),
        (
            {
                "model": _WORDS,
                "post_processor": {
                    "type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": "x"}}],
                },
            },
            "neither a Sequence nor a known SpecialToken",
        ),
    ],
)
def test_damaged_files(data: Any, says: str) -> None:
    with pytest.raises(samara.ModelFormatError, match=says):
        samara.Tokenizer.from_json(data)


def test_what_is_refused() -> None:
    twice = [{"Sequence": {"id": "A"}}] * 2
    post = {"type": "TemplateProcessing", "single": twice, "special_tokens": {}}
    with pytest.raises(samara.UnsupportedError, match="2 sequences instead of one"):
        samara.Tokenizer.from_json({"model": _WORDS, "post_processor": post})
    with pytest.raises(samara.UnsupportedError, match="the post-processor Magic"):
        samara.Tokenizer.from_json({"model": _WORDS, "post_processor": {"type": "Magic"}})
    data = {
        "model": _WORDS,
        "normalizer": {"type": "StripAccents"},
        "added_tokens": [{"content": "\u0301"}],
    }
    with pytest.raises(samara.UnsupportedError, match="nothing once it is normalized"):
        samara.Tokenizer.from_json(data)
    with pytest.raises(samara.ArgumentError, match="from_file"):
        samara.Tokenizer.from_json(Path("x"))  # type: ignore[arg-type]
    with pytest.raises(samara.FileError, match="absent"):
        samara.Tokenizer.from_file("absent.json")


def test_a_table_does_not_depend_on_the_order_of_keys() -> None:
    text = (_GOLDEN / "bert.json").read_text("utf-8")
    shuffled = json.dumps(dict(reversed(json.loads(text).items())))
    assert compile_tokenizer(text) == compile_tokenizer(shuffled)


@pytest.mark.parametrize("name", ["gpt2", "llama2", "llama3", "xlm", "t5"])
def test_a_megabyte_without_a_blank(name: str) -> None:
    tokenizer = samara.Tokenizer.from_file(_GOLDEN / f"{name}.json")
    for unit in ("a", "e\u0301", " \n"):
        text = unit * (1_000_000 // len(unit.encode()))
        started = time.perf_counter()
        assert tokenizer.encode(text) or text.isspace()
        assert time.perf_counter() - started < 60  # a quadratic one takes hours
