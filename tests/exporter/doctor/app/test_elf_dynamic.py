# SPDX-License-Identifier: Apache-2.0
"""What a loader reads of shared libraries, of good ones, of real ones, and of damaged ones."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.exporter.doctor.app.made import MACHINES, elf

from samara.exporter.doctor.app.elf_dynamic import read_dynamic
from samara.exporter.types import ModelFormatError
from samara.pybridge import library_path


@pytest.mark.parametrize("abi", MACHINES)
@pytest.mark.parametrize("gnu_hash", [False, True])
def test_facts(abi: str, gnu_hash: bool) -> None:
    data = elf(abi, undefined=("memcpy", "exp"), defined=("JNI_OnLoad", "f"), gnu_hash=gnu_hash)
    facts = read_dynamic(data)
    wide = abi in ("arm64-v8a", "x86_64")
    assert facts.bits == (64 if wide else 32)
    assert facts.machine == {183: "aarch64", 40: "arm", 62: "x86_64", 3: "x86"}[MACHINES[abi]]
    assert facts.needed == ("libc.so", "liblog.so")
    assert facts.soname == "lib.so"
    assert facts.undefined == ("memcpy", "exp")
    assert facts.defined == {"JNI_OnLoad", "f"}
    assert [load.alignment for load in facts.loads] == [16384]
    assert (facts.least_api, facts.has_tls, facts.has_text_relocations) == (0, False, False)
    assert not facts.executable_stack


def test_nothing_defined_under_gnu_hash() -> None:
    facts = read_dynamic(elf(undefined=("a", "b"), defined=(), gnu_hash=True))
    assert facts.undefined == ("a", "b")
    assert facts.defined == frozenset()


def test_what_some_loaders_refuse() -> None:
    assert read_dynamic(elf(tags=[(36, 0)])).least_api == 30
    assert read_dynamic(elf(tags=[(0x6FFFE000, 0)])).least_api == 28
    assert read_dynamic(elf(tags=[(22, 0)])).has_text_relocations
    assert read_dynamic(elf(tags=[(30, 4)])).has_text_relocations
    assert read_dynamic(elf(segments=[(7, 4)])).has_tls
    assert read_dynamic(elf(segments=[(0x6474E551, 7)])).executable_stack
    assert not read_dynamic(elf(segments=[(0x6474E551, 6)])).executable_stack


def test_as_readelf_says(need_tool: Callable[[str, str], str]) -> None:
    readelf = need_tool("readelf", "readelf")
    library = Path(library_path())
    said = subprocess.run(
        [readelf, "-dW", "--dyn-syms", str(library)], capture_output=True, text=True, check=True
    ).stdout
    facts = read_dynamic(library.read_bytes())
    assert list(facts.needed) == re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    rows = re.findall(r" GLOBAL +\w+ +(\w+) (\S+)", said)
    names = [(section, name.partition("@")[0]) for section, name in rows]
    assert len(names) > 20
    assert sorted(facts.undefined) == sorted(name for s, name in names if s == "UND")
    assert facts.defined >= {name for s, name in names if s != "UND"}


def test_what_is_none() -> None:
    for data in (b"", b"MZ" + bytes(100), b"\x7fELF" + bytes(100), b"\x7fELF\x02\x02" + bytes(99)):
        with pytest.raises(ModelFormatError, match="ELF"):
            read_dynamic(data)


@pytest.mark.parametrize("abi", ["arm64-v8a", "armeabi-v7a"])
@pytest.mark.parametrize("gnu_hash", [False, True])
def test_damage(abi: str, gnu_hash: bool) -> None:
    """Whatever is changed or cut off: facts, or one error, and no wait."""
    good = elf(abi, gnu_hash=gnu_hash)
    for size in range(0, len(good), 7):
        with pytest.raises(ModelFormatError):
            read_dynamic(good[:size])
    r = random.Random(5)
    refused = 0
    for _ in range(1500):
        data = bytearray(good)
        for _ in range(r.randint(1, 4)):
            data[r.randrange(6, len(data))] = r.choice((0, 1, 0x7F, 0xFF, r.randrange(256)))
        try:
            read_dynamic(bytes(data))
        except ModelFormatError:
            refused += 1
    assert 100 < refused < 1500
