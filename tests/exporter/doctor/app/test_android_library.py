# SPDX-License-Identifier: Apache-2.0
"""One native library: each rule of the loader and the installer, kept and broken."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.exporter.doctor.app.made import elf

from samara.exporter.doctor.app.android_library import (
    Found,
    loads_rows,
    machine_rows,
    pages_rows,
    place_in_archive_rows,
)
from samara.exporter.doctor.app.android_xml import Manifest
from samara.exporter.doctor.app.elf_dynamic import read_dynamic
from samara.exporter.doctor.app.entries import Entry
from samara.exporter.doctor.app.report import Row


def found(
    data: bytes, abi: str = "arm64-v8a", *, file: str = "libother.so", offset: int | None = 0
) -> Found:
    entry = Entry(f"lib/{abi}/{file}", len(data), offset, lambda: data, offset is not None)
    return Found(entry, abi, file, read_dynamic(data), None)


def levels(rows: Iterable[Row]) -> list[str]:
    return [row.level for row in rows]


@pytest.mark.parametrize("abi", ["arm64-v8a", "armeabi-v7a", "x86_64", "x86"])
def test_machines(abi: str) -> None:
    assert levels(machine_rows(found(elf(abi), abi))) == ["ok"]
    for other in {"arm64-v8a", "armeabi-v7a", "x86_64", "x86"} - {abi}:
        (row,) = machine_rows(found(elf(other), abi))
        assert (row.level, row.where) == ("broken", f"lib/{abi}/libother.so")


def test_no_machine_of_android() -> None:
    (row,) = machine_rows(found(elf(), "mips"))
    assert row.level == "doubtful"
    assert "arm64-v8a" in row.said
    assert levels(machine_rows(found(elf(kind=2)))) == ["broken"]


@pytest.mark.parametrize(
    ("abi", "alignment", "level"),
    [
        ("arm64-v8a", 16384, "ok"),
        ("arm64-v8a", 65536, "ok"),
        ("arm64-v8a", 4096, "broken"),
        ("arm64-v8a", 0, "broken"),
        ("arm64-v8a", 24576, "broken"),  # no power of two
        ("x86_64", 4096, "broken"),
        ("armeabi-v7a", 4096, "ok"),
        ("x86", 4096, "ok"),
        ("x86", 1, "broken"),
    ],
)
def test_pages(abi: str, alignment: int, level: str) -> None:
    assert levels(pages_rows(found(elf(abi, alignment=alignment), abi))) == [level]


def test_a_segment_beside_its_place() -> None:
    assert levels(pages_rows(found(elf(address=0x8000)))) == ["ok"]
    (row,) = pages_rows(found(elf(address=0x9000)))
    assert row.level == "broken"
    assert "0x9000" in row.said


def test_what_loaders_refuse() -> None:
    new, old = Manifest(min_sdk=30), Manifest(min_sdk=24)
    assert levels(loads_rows(found(elf()), old)) == []
    assert levels(loads_rows(found(elf(tags=[(22, 0)])), new)) == ["broken"]
    assert levels(loads_rows(found(elf(segments=[(0x6474E551, 7)])), new)) == ["doubtful"]
    for library in (elf(tags=[(36, 0)]), elf(segments=[(7, 4)])):
        assert levels(loads_rows(found(library), new)) == []
        assert levels(loads_rows(found(library), Manifest())) == []
        (row,) = loads_rows(found(library), old)
        assert row.level == "broken"
        assert "API level" in row.said


def test_least_system_of_samara() -> None:
    old = Manifest(min_sdk=21)
    assert levels(loads_rows(found(elf(), file="libsamara_jni.so"), old)) == ["broken"]
    assert levels(loads_rows(found(elf()), old)) == []


@pytest.mark.parametrize(
    ("abi", "offset", "extracts", "level"),
    [
        ("arm64-v8a", 16384, False, "ok"),
        ("arm64-v8a", 16384, None, "ok"),
        ("arm64-v8a", 4096, False, "broken"),
        ("arm64-v8a", 4096, True, "doubtful"),
        ("arm64-v8a", 4096, None, "doubtful"),
        ("armeabi-v7a", 4096, False, "ok"),
        ("armeabi-v7a", 4100, False, "broken"),
        ("arm64-v8a", None, True, "ok"),
        ("arm64-v8a", None, None, "ok"),
        ("arm64-v8a", None, False, "broken"),
    ],
)
def test_place_in_the_archive(
    abi: str, offset: int | None, extracts: bool | None, level: str
) -> None:
    one = found(elf(abi), abi, offset=offset)
    assert levels(place_in_archive_rows(one, Manifest(extracts=extracts))) == [level]
