# SPDX-License-Identifier: Apache-2.0
"""What Mach-O files say of themselves, of good ones, of a compiler's, and of damaged ones."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.exporter.doctor.app.made import archive, fat, macho

from samara.exporter.doctor.app.macho import MH_DYLIB, MH_OBJECT, is_macho, slices
from samara.exporter.types import ModelFormatError


def test_program() -> None:
    (one,) = slices(macho(weak=("/usr/lib/libz.dylib",), payload=b"abc"))
    assert (one.cpu, one.platform, one.minimum, one.least) == ("arm64", "ios", (15, 0), "15.0")
    assert one.needed == [("/usr/lib/libSystem.B.dylib", False), ("/usr/lib/libz.dylib", True)]
    assert one.pages == 16384
    assert not one.is_encrypted
    assert slices(macho(page=4096))[0].pages == 4096
    assert slices(macho(crypt=1))[0].is_encrypted


def test_library_and_platforms() -> None:
    (one,) = slices(macho(kind=MH_DYLIB, install_name="@rpath/A.framework/A", platform=7))
    assert (one.install_name, one.platform) == ("@rpath/A.framework/A", "ios-simulator")
    assert slices(macho(platform=99))[0].platform == "platform 99"


def test_fat_files_and_archives() -> None:
    both = fat(macho(), macho("x86_64", platform=7))
    assert [(s.cpu, s.platform) for s in slices(both)] == [
        ("arm64", "ios"),
        ("x86_64", "ios-simulator"),
    ]
    objects = [macho(kind=MH_OBJECT, least=least, needed=()) for least in ((15, 0), (16, 1))]
    library = archive(*objects, objects[0])
    (one,) = slices(library)
    assert (one.cpu, one.objects, one.least, one.size_bytes) == ("arm64", 3, "16.1", len(library))
    assert [s.objects for s in slices(fat(library))] == [3]
    for data in (both, library, macho()):
        assert is_macho(data[:8])
    assert not is_macho(b"\xca\xfe\xba\xbe\x00\x00\x00\x34")  # a Java class
    assert not is_macho(b"")


def test_an_object_of_clang(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    clang = need_tool("clang", "clang-19")
    made = tmp_path / "a.o"
    for target, platform, least in (
        ("arm64-apple-ios15.2", "ios", "15.2"),
        ("arm64-apple-ios15.0-simulator", "ios-simulator", "15.0"),
        ("x86_64-apple-macos12.0", "macos", "12.0"),
    ):
        source = tmp_path / "a.c"
        source.write_text("int f(void) { return 1; }\n")
        subprocess.run(
            [clang, f"--target={target}", "-c", str(source), "-o", str(made)], check=True
        )
        (one,) = slices(made.read_bytes())
        assert (one.platform, one.least, one.kind) == (platform, least, MH_OBJECT)
        assert one.cpu == target.partition("-")[0]


def test_what_is_none() -> None:
    for data in (b"", b"#!/bin/sh\n", b"!<arch>\n" + archive(b"text of some kind")[8:]):
        with pytest.raises(ModelFormatError):
            slices(data)


@pytest.mark.parametrize(
    "good",
    [
        macho(weak=("/usr/lib/libz.dylib",), install_name="@rpath/x"),
        fat(macho(), macho("x86_64")),
        archive(macho(kind=MH_OBJECT), macho(kind=MH_OBJECT)),
    ],
    ids=["thin", "fat", "archive"],
)
def test_damage(good: bytes) -> None:
    """Whatever is changed: slices, or one error, and no wait."""
    r = random.Random(6)
    refused = 0
    for _ in range(1500):
        data = bytearray(good)
        for _ in range(r.randint(1, 4)):
            data[r.randrange(len(data))] = r.choice((0, 1, 0x7F, 0xFF, r.randrange(256)))
        try:
            slices(bytes(data[: r.choice((len(data), len(data), r.randrange(len(data))))]))
        except ModelFormatError:
            refused += 1
    assert 100 < refused < 1500
