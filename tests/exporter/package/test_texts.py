# SPDX-License-Identifier: Apache-2.0
"""Packed failure texts: a library unpacks the original texts."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.build import build
from samara.exporter.package.texts import FORMATS, pack_texts, unpacked
from samara.pybridge import sources
from samara.pybridge._native import NULL, ffi, library_path

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
TEXTS = tuple(
    f"%s: %s has {what} {kind}, expected {kind} to {kind}"
    for what in ("rank", "dims", "dtype", "columns")
    for kind in ("%u", "%s", "%zu", "%ld")
)


def _source(*texts: str) -> str:
    lines = [f'SMR_FAIL(error, BAD_SHAPE, "{text}", a(b, "kept"), c);' for text in texts]
    return LICENCE + "\n".join(lines) + "\n"


def _pairs(packed: str) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in re.findall(r"\{(\d+), (\d+)\}", packed.split("\n")[1])]


def _bytes(literal: str) -> list[int]:
    """The bytes of a literal with octal escapes."""
    return [
        int(octal, 8) if octal else ord(char)
        for octal, char in re.findall(r"\\(\d{3})|(.)", literal)
    ]


def test_packed_formats_come_back_and_are_shorter() -> None:
    packed = pack_texts(_source(*TEXTS))
    pairs = _pairs(packed)
    literals = [_bytes(text) for text in re.findall(r'BAD_SHAPE, "([^"]*)"', packed)]
    assert tuple(unpacked(each, pairs).decode() for each in literals) == TEXTS
    assert sum(map(len, literals)) < sum(map(len, TEXTS)) / 3
    assert packed.count('"kept"') == len(TEXTS)
    assert pack_texts(_source(*TEXTS)) == packed


def test_the_format_alone_is_packed() -> None:
    text = LICENCE + "".join(
        f'smr_decode_bad(d, "{each}", 1, 2);\n#define SMR_FAIL(error, CODE, ...) "{each}"\n'
        f'other(a, b, "{each}");\nsmr_fail(error, f(x, y), most ? "{each} %" PRIu64 : "{each}");\n'
        for each in TEXTS
    )
    packed = pack_texts(text)
    assert packed.count(f'smr_decode_bad(d, "{TEXTS[0]}"') == 0
    assert packed.count(f'...) "{TEXTS[0]}"') == 1
    assert packed.count(f'other(a, b, "{TEXTS[0]}"') == 1
    assert "PRIu64" in packed
    assert f'"{TEXTS[0]} %"' not in packed


@pytest.mark.parametrize("text", ["caf\u00e9 " * 9, "a\\x41b " * 9])
def test_what_is_no_plain_text_stays(text: str) -> None:
    assert f'"{text}"' in pack_texts(_source(text, *TEXTS))


def test_every_function_of_formats_is_there() -> None:
    code = "".join(path.read_text("utf-8") for path in (sources() / "src").rglob("*.[ch]"))
    assert not [name for name in FORMATS if not re.search(rf'\b{name}\([^;"]*"', code)]


def _refusal(lib: Any, data: bytes) -> tuple[int, str]:
    model, error = ffi.new("samara_model **"), ffi.new("samara_error *")
    image = ffi.new("uint64_t[]", len(data) // 8 + 1)
    ffi.memmove(image, data, len(data))
    status = lib.samara_model_open_memory(image, len(data), NULL, model, error)
    if status == 0:
        lib.samara_model_close(model[0])
    return status, ffi.string(error.text).decode("utf-8", "replace")


@pytest.mark.slow
def test_a_build_for_size_refuses_in_the_same_words(samara_path: Path, tmp_path: Path) -> None:
    build([samara_path], out=tmp_path / "dist", isa=["scalar"], programs=False)
    small: Any = ffi.dlopen(os.fspath(tmp_path / "dist" / "lib" / "libsamara.so"))
    whole: Any = ffi.dlopen(os.fspath(library_path()))
    data = samara_path.read_bytes()
    assert _refusal(small, data)[0] == 0
    said = set()
    for at in (*range(64), *range(64, min(len(data), 8192), 5)):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        said.add(_refusal(whole, bytes(damaged)))
        assert _refusal(small, bytes(damaged)) == _refusal(whole, bytes(damaged))
    for size in (0, 8, 64, len(data) // 2):
        assert _refusal(small, data[:size]) == _refusal(whole, data[:size])
    assert len(said) > 3
    source = (tmp_path / "dist" / "src" / "samara.c").read_text("utf-8")
    assert "SMR_TEXT_PAIRS {" in source
