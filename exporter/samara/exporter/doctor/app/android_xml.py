# SPDX-License-Identifier: Apache-2.0
"""Read the parts of an AndroidManifest.xml that libraries depend on, binary (APK) or as text (AAR)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import error, unpack_from
from typing import Final
from xml.etree import ElementTree

from samara.exporter.types import ModelFormatError

_XML, _STRINGS, _IDS, _START = 0x0003, 0x0001, 0x0180, 0x0102
_KNOWN: Final = {
    0x01010003: "name",
    0x0101020C: "minSdkVersion",
    0x0101021C: "versionName",
    0x010104EA: "extractNativeLibs",
}
_UTF8: Final = 1 << 8
_TYPE_STRING, _TYPE_INTEGERS, _TYPE_BOOLEAN = 0x03, (0x10, 0x11), 0x12
_NONE: Final = 0xFFFFFFFF
_SPACE: Final = "{http://schemas.android.com/apk/res/android}"
_MOST_CHUNKS: Final = 100_000
_MOST_NAME: Final = 1000
_BOM: Final = b"\xef\xbb\xbf"

Attributes = dict[str, str | int | bool]


@dataclass(frozen=True, slots=True)
class Manifest:
    """An app's manifest; None for values that it does not set.

    extracts: whether native libraries are unpacked at installation. vendor: libraries of the device
    that the app may open.
    """

    package: str = ""
    version: str = ""
    min_sdk: int | None = None
    extracts: bool | None = None
    vendor: frozenset[str] = frozenset()


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest in either form. ModelFormatError if it cannot be read."""
    try:
        elements = list(_binary(data) if data[:2] == b"\x03\x00" else _plain(data))
    except (error, ValueError, IndexError, OverflowError, ElementTree.ParseError, RecursionError):
        raise ModelFormatError("the manifest cannot be read") from None
    package = version = ""
    min_sdk: int | None = None
    extracts: bool | None = None
    vendor = set()
    for name, attributes in elements:
        if name == "manifest":
            package = str(attributes.get("package", ""))
            version = str(attributes.get("versionName", ""))
        elif name == "uses-sdk":
            min_sdk = _number(attributes.get("minSdkVersion"))
        elif name == "application" and "extractNativeLibs" in attributes:
            extracts = attributes["extractNativeLibs"] in (True, "true")
        elif name == "uses-native-library":
            vendor.add(str(attributes.get("name", "")))
    return Manifest(package, version, min_sdk, extracts, frozenset(vendor))


def _number(value: str | int | bool | None) -> int | None:
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 9 else None
    return value


def _plain(data: bytes) -> Iterator[tuple[str, Attributes]]:
    text = data.removeprefix(_BOM)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise ValueError("a manifest has no entities")
    for element in ElementTree.fromstring(text).iter():
        yield element.tag, {k.removeprefix(_SPACE): v for k, v in element.attrib.items()}


def _binary(data: bytes) -> Iterator[tuple[str, Attributes]]:
    """Elements of binary XML, which consists of chunks with a type, a header size and a size."""
    kind, head, size = unpack_from("<HHI", data, 0)
    if kind != _XML or size > len(data) or head < 8:
        raise ValueError("cut off")
    strings = _Strings(b"", ())
    at = head
    for _ in range(_MOST_CHUNKS):
        if at + 8 > size:
            return
        kind, head, length = unpack_from("<HHI", data, at)
        if length < 8 or at + length > size:
            raise ValueError("a chunk outside of the file")
        chunk = data[at : at + length]
        if kind == _STRINGS:
            strings = _Strings(chunk, strings.ids)
        elif kind == _IDS:
            strings.ids = unpack_from(f"<{(length - head) // 4}I", chunk, head)
        elif kind == _START:
            yield _element(chunk, head, strings)
        at += length


class _Strings:
    """The strings of a file, decoded on demand, because offsets may overlap. ids: resource ids of the first
    strings."""

    def __init__(self, chunk: bytes, ids: tuple[int, ...]) -> None:
        self.chunk, self.ids = chunk, ids
        self.head = self.count = self.start = 0
        self.narrow = False
        if chunk:
            _, self.head, _, self.count, _, flags, self.start = unpack_from("<HHIIIII", chunk, 0)
            self.narrow = bool(flags & _UTF8)

    def named(self, index: int) -> str:
        """The name of an attribute; by its resource id if it has one, because packers drop the text."""
        known = _KNOWN.get(self.ids[index]) if index < len(self.ids) else None
        return known or self[index]

    def __getitem__(self, index: int) -> str:
        if index >= self.count:
            raise IndexError(index)
        (offset,) = unpack_from("<I", self.chunk, self.head + 4 * index)
        return _string(self.chunk, self.start + offset, self.narrow)


def _string(chunk: bytes, at: int, narrow: bool) -> str:
    """The string after its length, which takes two units if it is long. A very long string is cut."""
    if narrow:
        at += 2 if chunk[at] & 0x80 else 1  # the length in UTF-16
        count = chunk[at]
        at += 1
        if count & 0x80:
            count, at = (count & 0x7F) << 8 | chunk[at], at + 1
        return chunk[at : at + min(count, _MOST_NAME)].decode("utf-8", "replace")
    (count,) = unpack_from("<H", chunk, at)
    at += 2
    if count & 0x8000:
        (low,) = unpack_from("<H", chunk, at)
        count, at = (count & 0x7FFF) << 16 | low, at + 2
    return chunk[at : at + 2 * min(count, _MOST_NAME)].decode("utf-16-le", "replace")


def _element(chunk: bytes, head: int, strings: _Strings) -> tuple[str, Attributes]:
    name, start, step, count = unpack_from("<4xIHHH", chunk, head)
    if step < 20:
        raise ValueError("attributes that overlap")
    attributes: Attributes = {}
    for i in range(count):
        key, raw, kind, value = unpack_from("<4xII3xBI", chunk, head + start + i * step)
        if kind == _TYPE_BOOLEAN:
            attributes[strings.named(key)] = value != 0
        elif kind in _TYPE_INTEGERS:
            attributes[strings.named(key)] = value
        elif kind == _TYPE_STRING or raw != _NONE:
            text = strings[value if kind == _TYPE_STRING else raw]
            attributes[strings.named(key)] = text
    return strings[name], attributes
