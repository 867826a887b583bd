# SPDX-License-Identifier: Apache-2.0
"""Record what PyPI's `tokenizers` knows of Unicode: exporter/samara/exporter/text/unicode.bin.

Usage: python -m tools.gen_unicode, in an environment with `tokenizers`. Its crates follow several versions of
Unicode, so every property is measured on all code points. samara reads the record and needs no `tokenizers`.
"""

from __future__ import annotations

import importlib
import json
import sys
import unicodedata
import zlib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from tools.make_charsmap import charsmap

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "exporter" / "samara" / "exporter" / "text" / "unicode.bin"

CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps"),
    *("Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"),
)
SCRIPTS = (
    *("Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Georgian", "Greek", "Han"),
    *("Hangul", "Hebrew", "Hiragana", "Katakana", "Khmer", "Lao", "Latin", "Myanmar", "Tamil"),
    *("Telugu", "Thai", "Tibetan"),
)
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def runs(points: Iterable[int]) -> list[int]:
    """A set of code points as alternating gaps and lengths."""
    out: list[int] = []
    end = 0
    for point in sorted(points):
        if out and point == end:
            out[-1] += 1
        else:
            out += [point - end, 1]
        end = point + 1
    return out


def measure(tk: Any) -> dict[str, Any]:
    """All properties, by name."""
    whole = "".join(map(chr, POINTS))
    split, regex = tk.pre_tokenizers.Split, tk.Regex

    def matched(pattern: str) -> set[int]:
        pieces = split(regex(pattern), "removed", invert=True).pre_tokenize_str(whole)
        return {POINTS[i] for _, (a, b) in pieces for i in range(a, b)}

    def pieces_between(pre: Any, mark: str) -> list[list[str]]:
        """The pieces between marks, for each code point between two of them."""
        out = []
        for start in range(0, len(POINTS), 4096):
            for c in POINTS[start : start + 4096]:
                out.append([p for p, _ in pre.pre_tokenize_str(mark + chr(c) + mark)])
        return out

    def normalized(norm: Any, mark: str) -> list[str]:
        """Each code point's own normal form: marks stay and keep neighbours apart."""
        out = []
        for c in POINTS:
            text = norm.normalize_str(mark + chr(c) + mark)
            out.append(text[1:-1] if chr(c) != mark else mark)
        return out

    sets: dict[str, set[int]] = {}
    for name in CATEGORIES:
        sets[name] = matched(rf"\p{{{name}}}+")
    for name in SCRIPTS:
        sets[name] = matched(rf"\p{{{name}}}+")
    for name, pattern in (
        ("onig_s", r"\s+"),
        ("onig_w", r"\w+"),
        ("onig_d", r"\d+"),
        ("onig_h", r"\h+"),
    ):
        sets[name] = matched(pattern)
    for letter in "abcdefghijklmnopqrstuvwxyz":
        sets[f"fold_{letter}"] = matched(f"(?i:{letter})+")
    pre = tk.pre_tokenizers
    sets["white"] = set(POINTS) - {
        POINTS[i]
        for _, (a, b) in pre.WhitespaceSplit().pre_tokenize_str(whole)
        for i in range(a, b)
    }
    sets["punctuation"] = set(POINTS) - {
        POINTS[i]
        for _, (a, b) in pre.Punctuation("removed").pre_tokenize_str(whole)
        for i in range(a, b)
    }
    sets["numeric"] = {
        c for c, p in zip(POINTS, pieces_between(pre.Digits(False), "a"), strict=True) if len(p) > 1
    }
    words = pieces_between(pre.Whitespace(), "a")
    sets["word"] = {c for c, p in zip(POINTS, words, strict=True) if len(p) == 1}
    sets["space"] = {c for c, p in zip(POINTS, words, strict=True) if p == ["a", "a"]}
    norm = tk.normalizers
    sets["marks"] = {
        c for c, t in zip(POINTS, normalized(norm.StripAccents(), "a"), strict=True) if t == ""
    }
    off = {"handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    clean = normalized(norm.BertNormalizer(clean_text=True, **off), "a")
    sets["bert_removed"] = {c for c, t in zip(POINTS, clean, strict=True) if t == ""}
    sets["bert_space"] = {c for c, t in zip(POINTS, clean, strict=True) if t == " "}
    off = {"clean_text": False, "handle_chinese_chars": False, "lowercase": False}
    bare = normalized(norm.BertNormalizer(strip_accents=True, **off), "a")
    sets["bert_marks"] = {c for c, t in zip(POINTS, bare, strict=True) if t == ""}
    off = {"clean_text": False, "strip_accents": False, "lowercase": False}
    apart = normalized(norm.BertNormalizer(handle_chinese_chars=True, **off), "a")
    sets["bert_chinese"] = {c for c, t in zip(POINTS, apart, strict=True) if len(t) == 3}
    nmt = normalized(norm.Nmt(), "a")
    sets["nmt_removed"] = {c for c, t in zip(POINTS, nmt, strict=True) if t == ""}
    sets["nmt_space"] = {c for c, t in zip(POINTS, nmt, strict=True) if t == " "}
    sets |= _graphemes(norm)

    maps = {}
    for name, one in (("lower", norm.Lowercase()), ("nfd", norm.NFD()), ("nfkd", norm.NFKD())):
        made = normalized(one, "\n")
        maps[name] = {
            c: t
            for c, t in zip(POINTS, made, strict=True)
            if t != chr(c) and not (name != "lower" and 0xAC00 <= c < 0xD7A4)
        }
    return {
        "sets": {name: runs(points) for name, points in sets.items()},
        "maps": {name: [[c, t] for c, t in sorted(m.items())] for name, m in maps.items()},
        "combining": _combining(norm.NFD()),
        "compositions": _compositions(norm, maps["nfd"]),
    }


def _graphemes(norm: Any) -> dict[str, set[int]]:
    """What joins characters to graphemes, seen through a charsmap that replaces graphemes by their first byte."""
    every = norm.Precompiled(charsmap({bytes([b]): "Q" for b in range(1, 256)}))

    def joined(text: str) -> bool:
        return str(every.normalize_str(text)) == "Q"

    short = [c for c in POINTS if 0 < c < 0x10000]
    # A grapheme of six bytes or more is replaced character by character, as if nothing joined.
    attached = {c for c in POINTS if c != 0 and joined("a" + chr(c))}
    return {
        "attached": attached,
        "before": {c for c in short if joined(chr(c) + "a")},
        "control": {c for c in short if not joined(chr(c) + "\u0301")},
        "pictures": {
            c for c in POINTS if c != 0 and len(every.normalize_str("\u00a9\u200d" + chr(c))) == 3
        },
    }


def _combining(nfd: Any) -> list[list[int]]:
    """Combining classes: Python's, where `tokenizers` reorders the character at all."""

    def moves(text: str) -> bool:
        return str(nfd.normalize_str(text)) != text

    out = []
    for c in POINTS:
        if str(nfd.normalize_str(chr(c))) != chr(c):
            continue
        known = moves(chr(c) + "\u0334") or moves("\u0345" + chr(c))
        if known:
            if not unicodedata.combining(chr(c)):
                raise SystemExit(f"U+{c:04X} is reordered, and Python knows no class of it")
            out.append([c, unicodedata.combining(chr(c))])
    return out


def _compositions(norm: Any, nfd: dict[int, str]) -> list[list[int]]:
    """Pairs that NFC joins: first, second, result."""
    out = []
    for c in nfd:
        if str(norm.NFC().normalize_str(nfd[c])) == chr(c):
            first, second = (int(x, 16) for x in unicodedata.decomposition(chr(c)).split())
            out.append([first, second, c])
    return sorted(out)


def pack(found: dict[str, Any]) -> bytes:
    """The bytes of the file."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return zlib.compress(text.encode(), 9)


def main() -> int:
    tk = importlib.import_module("tokenizers")  # not a dependency of this project

    found = measure(tk)
    found["source"] = f"tokenizers {metadata.version('tokenizers')}"
    OUTPUT.write_bytes(pack(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
