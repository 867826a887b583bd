# SPDX-License-Identifier: Apache-2.0
"""Expressions as automata: what they find is what Python's engine finds, where both know the syntax."""

from __future__ import annotations

import random
import re

import pytest

import samara
from samara.exporter.text import code_points as cp
from samara.exporter.text import regex
from samara.exporter.text.regex import MATCH, Dfa


def _class(dfa: Dfa, c: str) -> int:
    return next(k for k, points in enumerate(dfa.classes) if cp.contains(points, ord(c)))


def found(dfa: Dfa, text: str) -> list[str]:
    """All matches, from left to right, as the runtime finds them."""
    out, at = [], 0
    while at < len(text):
        state, end = 1, at
        for i in range(at, len(text) + 1):
            column = _class(dfa, text[i]) if i < len(text) else len(dfa.classes)
            entry = dfa.rows[state][column]
            end = i if entry & MATCH else end
            state = entry & (MATCH - 1)
            if state == 0:
                break
        if end > at:
            out.append(text[at:end])
        at = max(end, at + 1)
    return out


@pytest.mark.parametrize(
    "pattern",
    [
        "a|ab|abc",
        "abc|ab|a",
        "(?:a|ab)(?:c|bcd)?",
        "a+?b?",
        "(?:ab?)+",
        "(?:a|b|ab)*c",
        "a{2,3}|b{2}",
        r"c+(?!a)|c+",
        r"b+(?=c)|[^b]",
        "[ab]+c?",
        "a$|b",
        "(?i:ab)|c",
    ],
)
def test_as_a_backtracking_engine(pattern: str) -> None:
    dfa = regex.compile_regex(pattern, "here")
    rng = random.Random(pattern)
    for _ in range(300):
        text = "".join(rng.choice("aabbcdA") for _ in range(rng.randrange(12)))
        assert found(dfa, text) == re.findall(pattern.replace("$", r"\Z"), text), text


def test_possessive_repetitions_give_nothing_back() -> None:
    assert found(regex.compile_regex("a++b|a", ""), "aab aa") == ["aab", "a", "a"]
    assert found(regex.compile_regex("a{1,2}+a|b", ""), "aaab") == ["aaab"[:3], "b"]
    assert found(regex.compile_regex("a?+ab|b", ""), "ab aab") == ["b", "aab"]


def test_sets() -> None:
    assert found(regex.compile_regex(r"[\p{L}&&[^a-z]]+", ""), "aBÉc") == ["BÉ"]
    assert found(regex.compile_regex(r"[^\s\p{L}\p{N}]+", ""), "a-+ 1!") == ["-+", "!"]
    assert found(regex.compile_regex(r"[]a\-b]+", ""), "]-ab c") == ["]-ab"]
    assert found(regex.compile_regex(r"\x41\u0042\x{43}", ""), "ABC") == ["ABC"]
    assert found(regex.compile_regex(r"\P{L}+|\p{^N}", ""), "a12") == ["a", "12"]
    assert found(regex.compile_regex(r"(?i:k)", ""), "kK\u212a") == ["k", "K", "\u212a"]
    assert found(regex.compile_regex(r"(?i)[a-c]x", ""), "Bx") == ["Bx"]


def test_graphemes() -> None:
    dfa = regex.compile_graphemes("here")
    for clusters in (
        ["\r\n", "a\u0301", "b"],
        ["한", "\u1112\u1161\u11ab"],
        ["🇩🇪", "🇫🇷"],
        ["👩\u200d👧", "x"],
    ):
        assert found(dfa, "".join(clusters)) == clusters


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("a*", "matches the empty text"),
        ("", "matches the empty text"),
        ("(a", "does not end"),
        ("a)", "unbalanced"),
        ("(?<=a)b", r"the group \(\?<"),
        (r"(a)\1", r"the escape \\1"),
        ("a(?!bc)", "more than one character"),
        ("(?:ab)++", "possessive"),
        ("^a", r"'\^' here"),
        (r"\p{Klingon}", "unknown property Klingon"),
        ("a{3,2}", "backwards"),
        ("a{x}", "no repetition"),
        ("[b-a]", "backwards"),
        ("[[:alpha:]]", "POSIX"),
        ("(?i:ss)", "'ss' without regard to case"),
        ("(?i:ä)", "without regard to case"),
        ("a{1000}" * 30, "more alternatives"),
        ("(?:a|b)*a(?:a|b){13}", "more states"),
        ("a\\", "unexpected end"),
    ],
)
def test_what_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(samara.UnsupportedError, match=says) as caught:
        regex.compile_regex(pattern, "tokenizer.json.pre_tokenizer.pattern")
    assert "tokenizer.json.pre_tokenizer.pattern" in str(caught.value)
    assert caught.value.fix
