# SPDX-License-Identifier: Apache-2.0
"""Read Mach-O files: programs, libraries and objects; thin, fat, and in archives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import error, unpack_from
from typing import Final

from samara.exporter.types import ModelFormatError

MH_OBJECT, MH_EXECUTE, MH_DYLIB, MH_BUNDLE = 1, 2, 6, 8
_THIN: Final = {b"\xce\xfa\xed\xfe": False, b"\xcf\xfa\xed\xfe": True}  # whether 64-bit
_FAT: Final = {b"\xca\xfe\xba\xbe": False, b"\xca\xfe\xba\xbf": True}  # whether offsets are 64-bit
_ARCHIVE: Final = b"!<arch>\n"
_MOST_SLICES: Final = 16  # of a fat file; more means a Java class, which has the same magic
_MOST_COMMANDS: Final = 10_000
_CPUS: Final = {
    7: "i386",
    12: "arm",
    0x0100000C: "arm64",
    0x01000007: "x86_64",
    0x0200000C: "arm64_32",
}
_ARM64E: Final = 2
PLATFORMS: Final = {
    1: "macos",
    2: "ios",
    3: "tvos",
    4: "watchos",
    6: "ios-maccatalyst",
    7: "ios-simulator",
    8: "tvos-simulator",
    9: "watchos-simulator",
    11: "xros",
    12: "xros-simulator",
}
_VERSION_MIN: Final = {0x24: "macos", 0x25: "ios", 0x2F: "tvos", 0x30: "watchos"}
_LC_SEGMENT, _LC_SEGMENT_64 = 0x1, 0x19
_LC_ID_DYLIB, _LC_CODE_SIGNATURE, _LC_BUILD_VERSION = 0xD, 0x1D, 0x32
_LC_LOAD: Final = {0xC: False, 0x80000018: True, 0x8000001F: False, 0x20: False, 0x80000023: False}
_LC_RPATH: Final = 0x8000001C
_LC_ENCRYPTION: Final = (0x21, 0x2C)


@dataclass(slots=True)
class Slice:
    """A file for one processor, or the files of an archive for it.

    needed: install names of libraries, and whether each is weak. minimum: the oldest version of the system.
    pages: the smallest segment alignment, 0 without segments.
    """

    cpu: str
    kind: int
    size_bytes: int
    data: bytes = field(repr=False)
    platform: str = ""
    minimum: tuple[int, int] = (0, 0)
    needed: list[tuple[str, bool]] = field(default_factory=list)
    install_name: str = ""
    rpaths: list[str] = field(default_factory=list)
    pages: int = 0
    is_encrypted: bool = False
    is_signed: bool = False
    objects: int = 1

    @property
    def least(self) -> str:
        return f"{self.minimum[0]}.{self.minimum[1]}"


def is_macho(head: bytes) -> bool:
    """Whether a file that begins with these bytes may be one for Apple's systems."""
    if head[:4] in _FAT:
        return len(head) >= 8 and 0 < int.from_bytes(head[4:8], "big") <= _MOST_SLICES
    return head[:4] in _THIN or head[:8] == _ARCHIVE


def slices(data: bytes) -> list[Slice]:
    """The parts of a file, one per processor and platform. ModelFormatError says what is wrong."""
    try:
        if data[:4] not in _FAT:
            return _slices_of(data)
        found = []
        for part in _fat_parts(data):
            found += _slices_of(part)
        return found
    except (error, ValueError, OverflowError):
        raise ModelFormatError("it is cut off, or its tables point outside of it") from None


def _fat_parts(data: bytes) -> Iterator[bytes]:
    wide = _FAT[data[:4]]
    (count,) = unpack_from(">I", data, 4)
    if not 0 < count <= _MOST_SLICES:
        raise ValueError("no such table")
    for i in range(count):
        if wide:
            _, _, offset, size = unpack_from(">IIQQ", data, 8 + i * 32)
        else:
            _, _, offset, size = unpack_from(">4I", data, 8 + i * 20)
        if offset + size > len(data):
            raise ValueError("cut off")
        yield data[offset : offset + size]


def _slices_of(data: bytes) -> list[Slice]:
    if data[:4] in _THIN:
        return [_thin(data)]
    if data[:8] != _ARCHIVE:
        raise ModelFormatError("it is neither a Mach-O file nor an archive of Mach-O files")
    joined: dict[tuple[str, str], Slice] = {}
    for member in _members(data):
        if member[:4] not in _THIN:
            raise ModelFormatError("it is an archive with files that are not Mach-O")
        one = _thin(member)
        known = joined.setdefault((one.cpu, one.platform), one)
        if known is not one:
            known.objects += 1
            known.minimum = max(known.minimum, one.minimum)
    for each in joined.values():
        each.data, each.size_bytes = data, len(data)
    return list(joined.values())


def _members(data: bytes) -> Iterator[bytes]:
    """The files of an archive, without its symbol and name tables."""
    at = len(_ARCHIVE)
    while at + 60 <= len(data):
        name, size = data[at : at + 16].rstrip(), int(data[at + 48 : at + 58])
        if size < 0 or data[at + 58 : at + 60] != b"`\n" or at + 60 + size > len(data):
            raise ValueError("cut off")
        body = data[at + 60 : at + 60 + size]
        if name.startswith(b"#1/"):  # the name stands before the file
            length = int(name[3:])
            name, body = body[: max(length, 0)].rstrip(b"\0"), body[max(length, 0) :]
        if not name.startswith(b"__.SYMDEF") and name not in (b"/", b"//", b"/SYM64/"):
            yield body
        at += 60 + size + size % 2


def _thin(data: bytes) -> Slice:
    wide = _THIN[data[:4]]
    cpu, subtype, kind, count, size = unpack_from("<5I", data, 4)
    name = _CPUS.get(cpu, f"processor {cpu:#x}")
    if name == "arm64" and subtype & 0xFFFFFF == _ARM64E:
        name = "arm64e"
    made = Slice(name, kind, len(data), data)
    at = 32 if wide else 28
    end = at + size
    if count > _MOST_COMMANDS or end > len(data):
        raise ValueError("cut off")
    for _ in range(count):
        command, length = unpack_from("<II", data, at)
        if length < 8 or at + length > end:
            raise ValueError("a command outside of its table")
        _command(made, command, data[at : at + length])
        at += length
    return made


def _command(made: Slice, command: int, body: bytes) -> None:
    """Read one load command."""
    if command == _LC_BUILD_VERSION:
        platform, least = unpack_from("<II", body, 8)
        made.platform = PLATFORMS.get(platform, f"platform {platform}")
        made.minimum = (least >> 16, least >> 8 & 255)
    elif command in _VERSION_MIN:
        (least,) = unpack_from("<I", body, 8)
        simulator = "-simulator" if made.cpu in ("x86_64", "i386") else ""
        system = _VERSION_MIN[command]
        made.platform = system if system == "macos" else system + simulator
        made.minimum = (least >> 16, least >> 8 & 255)
    elif command in _LC_LOAD:
        made.needed.append((_text(body), _LC_LOAD[command]))
    elif command == _LC_ID_DYLIB:
        made.install_name = _text(body)
    elif command == _LC_RPATH:
        made.rpaths.append(_text(body))
    elif command in _LC_ENCRYPTION:
        made.is_encrypted |= unpack_from("<I", body, 16)[0] != 0
    elif command == _LC_CODE_SIGNATURE:
        made.is_signed = True
    elif command in (_LC_SEGMENT, _LC_SEGMENT_64) and made.kind != MH_OBJECT:
        form = "<QQQ" if command == _LC_SEGMENT_64 else "<III"
        address, _, offset = unpack_from(form, body, 24)
        for value in (address, offset):
            low = value & -value
            if low:
                made.pages = min(made.pages or low, low)


def _text(body: bytes) -> str:
    (offset,) = unpack_from("<I", body, 8)
    if not 8 <= offset <= len(body):
        raise ValueError("a name outside of its command")
    return body[offset:].split(b"\0")[0].decode("utf-8", "replace")
