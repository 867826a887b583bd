# SPDX-License-Identifier: Apache-2.0
"""AndroidManifest.xml, of aapt2 and as text, and damaged."""

from __future__ import annotations

import random
from struct import pack_into

import pytest
from tests.exporter.doctor.app.made import BINARY_MANIFEST, PLAIN_MANIFEST

from samara.exporter.doctor.app.android_xml import Manifest, read_manifest
from samara.exporter.types import ModelFormatError


def test_binary() -> None:
    assert read_manifest(BINARY_MANIFEST) == Manifest("dev.example", "1.2", 24, False)


def test_plain() -> None:
    found = read_manifest(PLAIN_MANIFEST)
    assert found == Manifest("dev.samara", "", 24, None, frozenset({"libOpenCL.so"}))
    assert read_manifest(b"<manifest/>") == Manifest()
    assert read_manifest(PLAIN_MANIFEST.replace(b'"24"', b'"Baklava"')).min_sdk is None


def test_names_of_attributes_that_a_packer_dropped() -> None:
    """They are known by their numbers."""
    data = bytearray(BINARY_MANIFEST)
    at = data.index("minSdkVersion".encode("utf-16-le"))
    pack_into("<H", data, at, ord("x"))
    assert read_manifest(bytes(data)).min_sdk == 24


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<manifest",
        b"\x03\x00\x08\x00",
        BINARY_MANIFEST[:-1],
        b'<!DOCTYPE m [<!ENTITY a "aaaa">]><manifest package="&a;"/>',
    ],
)
def test_what_cannot_be_read(data: bytes) -> None:
    with pytest.raises(ModelFormatError, match="cannot be read"):
        read_manifest(data)


def test_damage() -> None:
    r = random.Random(7)
    refused = 0
    for _ in range(2000):
        data = bytearray(BINARY_MANIFEST)
        for _ in range(r.randint(1, 4)):
            data[r.randrange(2, len(data))] = r.choice((0, 1, 0x7F, 0xFF, r.randrange(256)))
        try:
            read_manifest(bytes(data))
        except ModelFormatError:
            refused += 1
    assert 100 < refused < 2000
