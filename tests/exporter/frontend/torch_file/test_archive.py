# SPDX-License-Identifier: Apache-2.0
"""The directory of a zip file: variants of other writers, and misleading entries."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Callable

import pytest

from samara.exporter.frontend.torch_file.archive import Archive
from samara.exporter.types import ModelFormatError, SamaraError, UnsupportedError

CONTENT = {"x/data.pkl": b"pickle", "x/data/0": bytes(range(200)), "x/empty": b""}


def made(method: int = zipfile.ZIP_STORED, content: dict[str, bytes] = CONTENT) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return out.getvalue()


def opened(data: bytes, start: int = 0) -> Archive:
    return Archive(io.BytesIO(data), start, len(data) - start, "file")


def test_entries_and_their_data() -> None:
    archive = opened(b"before" + made(), 6)
    assert {n: archive.data(n, 1000) for n in archive.entries} == CONTENT
    with pytest.raises(UnsupportedError, match="at most 10"):
        archive.data("x/data/0", 10)


def test_zip64_records() -> None:
    """torch's writer puts them into every file, whatever its size."""
    plain = made(content={"a": b"12345"})
    at = plain.rindex(b"PK\x05\x06")
    size, begin = struct.unpack_from("<2L", plain, at + 12)
    wide = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, begin)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert opened(plain[:at] + wide + locator + end).data("a", 10) == b"12345"
    for wrong in (wide[:8] + b"\xff" + wide[9:], wide.replace(b"\x06\x06", b"\x06\x08")):
        data = plain[:at] + wrong + locator + end
        if wrong[:4] != b"PK\x06\x06":
            with pytest.raises(ModelFormatError, match="directory"):
                opened(data)
    far = struct.pack("<4sLQL", b"PK\x06\x07", 0, 1 << 60, 1)
    with pytest.raises(ModelFormatError, match="cut off"):
        opened(plain[:at] + wide + far + end)


def test_sizes_in_an_extra_field() -> None:
    data = bytearray(made(content={"abc": b"12345"}))
    row = data.index(b"PK\x01\x02")
    extra = struct.pack("<2H2Q", 1, 16, 5, 5)
    struct.pack_into("<2L", data, row + 20, 0xFFFFFFFF, 0xFFFFFFFF)
    struct.pack_into("<H", data, row + 30, len(extra))
    data[row + 46 + 3 : row + 46 + 3] = extra
    end = data.rindex(b"PK\x05\x06")
    struct.pack_into("<L", data, end + 12, end - row)
    assert opened(bytes(data)).data("abc", 10) == b"12345"
    struct.pack_into("<Q", data, row + 46 + 3 + 4, 1 << 62)
    with pytest.raises(ModelFormatError, match="beyond its end"):
        opened(bytes(data))


def _patched(change: Callable[[bytearray, int, int], None]) -> bytes:
    """An archive after `change(data, its first directory row, its end record)`."""
    data = bytearray(made())
    change(data, data.index(b"PK\x01\x02"), data.rindex(b"PK\x05\x06"))
    return bytes(data)


def _first_entry_says(offset: int, *values: int, form: str = "<L") -> bytes:
    return _patched(lambda data, row, end: struct.pack_into(form, data, row + offset, *values))


def _end_says(offset: int, *values: int, form: str = "<L") -> bytes:
    return _patched(lambda data, row, end: struct.pack_into(form, data, end + offset, *values))


MISLEADING = {
    "a size beyond the entry": _first_entry_says(24, 150),
    "both sizes beyond the entry": _first_entry_says(20, 150, 150, form="<2L"),
    "an entry inside another": _first_entry_says(42, 60),
    "an entry beyond the file": _first_entry_says(42, 1 << 30),
    "encrypted": _first_entry_says(8, 1, form="<H"),
    "a sum of something else": _first_entry_says(16, 12345),
    "another disk": _first_entry_says(34, 3, form="<H"),
    "a long name": _first_entry_says(28, 60000, form="<H"),
    "many entries": _end_says(8, 9999, 9999, form="<2H"),
    "a directory elsewhere": _end_says(16, 5),
    "a directory beyond": _end_says(16, 1 << 30),
    "a comment that is not there": _end_says(20, 9, form="<H"),
    "no local header": b"XX" + made()[2:],
    "a local name that is longer": _patched(
        lambda d, row, end: struct.pack_into("<H", d, 26, 60000)
    ),
    "bytes at the end": made() + b"x",
    "no directory": made()[:100],
    "nothing": b"",
}


@pytest.mark.parametrize("name", MISLEADING)
def test_what_misleads_is_refused(name: str) -> None:
    with pytest.raises(SamaraError) as caught:
        opened(MISLEADING[name]).data("x/data.pkl", 1000)
    assert str(caught.value).startswith("file: ")


def test_two_entries_of_one_name() -> None:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("a", b"1")
        archive.writestr("a", b"2")
    with pytest.raises(ModelFormatError, match="two entries named 'a'"):
        opened(out.getvalue())


def test_compressed_entries_are_not_expanded() -> None:
    bomb = made(zipfile.ZIP_DEFLATED, {"x/data.pkl": bytes(10_000_000)})
    with pytest.raises(UnsupportedError, match=r"compressed in the zip file") as caught:
        opened(bomb).data("x/data.pkl", 1 << 30)
    assert "zip -0" in str(caught.value.fix)


def test_an_archive_without_entries() -> None:
    assert opened(made(content={})).entries == {}
