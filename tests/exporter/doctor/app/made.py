# SPDX-License-Identifier: Apache-2.0
"""Small files in the formats of apps: ELF and Mach-O libraries, archives with aligned entries."""

from __future__ import annotations

import io
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import pack
from typing import Any, Final

MACHINES: Final = {"arm64-v8a": 183, "armeabi-v7a": 40, "x86_64": 62, "x86": 3}
PLAIN_MANIFEST: Final = b"""<?xml version="1.0"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="dev.samara">
  <uses-sdk android:minSdkVersion="24" />
  <application><uses-native-library android:name="libOpenCL.so" android:required="false" /></application>
</manifest>
"""
# By aapt2 2.19: package dev.example, version 1.2, minSdkVersion 24, extractNativeLibs false.
BINARY_MANIFEST: Final = zlib.decompress(
    b64decode(
        "eNqVkztPG0EUhc94bVhewSQURCFSpDQRCs8yZR5UiCZSSoTBASw/Yu0uiJKCX0PFT/FPSEGVH5AWvjuexesNlsJY"
        "xzNz7r3nnpndjRRrUJWcVvW7Ii1rNDqF9QvwEeyCQ3ANbsAATDmpDt6BHfAVHIBLMAB34C9YQ/8A1FBu6Eg/fYcF"
        "ddVST9/VVFs/YBOlML/gpDldjDFf+G/C/BvZR7PrI3VlrBOdsssm6C6xvySakHnMbNUZUdPcYz4i17KOye+qD9Mh"
        "8rTW6//Iyn33Hl1G2taGduz+WG2xHkKa1je83XnFjs+dpqpHfYJKi9lO3yBq8Rbdh97zG7M+F2jZCRsFlTWdkZex"
        "/6RNfimVZ0S6ZKXkj/fYCKfa9J3azAm5qd+Pe4m9Qo/dic/IvOO+v9k2/6e++4r3YU5PqEyo+axzf2PNCXf1nJrR"
        "04/JSL2PdWBPwsaVi/VB9p47N19x7g1YBX3wp+pcUnMuBXJ1ukq8prpnzIV3vwJ/W+BtLMq+l2XOOvpG8njMaxgF"
        "LvKuPKI4cFOFvLeBM52ZkDcT4nX/hQy5hcAtlWpt/bJUa373Qu/c76vgt1Lw6wpaK4GrFrj3phHupKyV96gW+Pkn"
        "etiYDd5mA1cb9TDrjz3KWlHpeeT37iY8pwcaNNv3"
    )
)
SYSTEM: Final = ("libc.so", "liblog.so")


def written(root: Path, files: Mapping[str, bytes]) -> None:
    """Files by their paths below a folder."""
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def faults(found: Any) -> list[tuple[str, str]]:
    """Level and check of the rows, or of a report's rows, that are not ok."""
    rows = getattr(found, "rows", found)
    return [(row.level, row.check) for row in rows if row.level != "ok"]


def selection_text(*rows: str, version: str = "0.9.0") -> bytes:
    """What a library carries."""
    lines = [
        "samara-manifest 1",
        f"version {version}",
        "isa neon",
        *(rows or ("ops all", "parts all")),
    ]
    return ("\n".join([*lines, ""])).encode() + b"\0"


def elf(
    abi: str = "arm64-v8a",
    *,
    alignment: int = 16384,
    needed: Sequence[str] = SYSTEM,
    undefined: Sequence[str] = ("memcpy",),
    defined: Sequence[str] = ("JNI_OnLoad",),
    payload: bytes = b"",
    tags: Sequence[tuple[int, int]] = (),
    segments: Sequence[tuple[int, int]] = (),
    gnu_hash: bool = False,
    address: int = 0,
    kind: int = 3,
) -> bytes:
    """A shared library without code. tags: more of the dynamic section. segments: more, as (type, flags).

    address: of its one mapped segment, over its place in the file.
    """
    wide = abi in ("arm64-v8a", "x86_64")
    word = "Q" if wide else "I"
    names = b"\0"
    places = {}
    for name in (*needed, *undefined, *defined, "lib.so"):
        places[name] = len(names)
        names += name.encode() + b"\0"
    head, step = (64, 56) if wide else (52, 32)
    at = head + step * (2 + len(segments))
    strings_at, at = at, at + len(names)
    symbols = bytes(24 if wide else 16)
    for name in (*undefined, *defined):
        section = 0 if name in undefined else 1
        if wide:
            symbols += pack("<IBBHQQ", places[name], 0x12, 0, section, 0, 0)
        else:
            symbols += pack("<IIIBBH", places[name], 0, 0, 0x12, 0, section)
    count = 1 + len(undefined) + len(defined)
    symbols_at, at = at, at + len(symbols)
    if gnu_hash:  # one bucket with all that is defined, in one chain
        first = 1 + len(undefined)
        chain = [2 * i for i in range(len(defined))]
        table = (
            pack("<4I", 1, first, 1, 0) + pack(f"<{word}", 0) + pack("<I", first if chain else 0)
        )
        hashes = table + b"".join(pack("<I", value + (value == chain[-1])) for value in chain)
    else:
        hashes = pack("<4I", 1, count, 0, 0) + bytes(4 * count)
    hashes_at, at = at, at + len(hashes)
    rows = [(1, places[name]) for name in needed]
    rows += [(14, places["lib.so"]), (5, address + strings_at), (10, len(names))]
    rows += [(6, address + symbols_at), (0x6FFFFEF5 if gnu_hash else 4, address + hashes_at)]
    dynamic = b"".join(pack(f"<{word}{word}", *row) for row in (*rows, *tags, (0, 0)))
    dynamic_at, at = at, at + len(dynamic)
    total = at + len(payload)

    def segment(type_: int, flags: int, offset: int, size: int, align: int) -> bytes:
        if wide:
            return pack("<IIQQQQQQ", type_, flags, offset, address + offset, 0, size, size, align)
        return pack("<8I", type_, offset, address + offset, 0, size, size, flags, align)

    table = segment(1, 5, 0, total, alignment) + segment(2, 6, dynamic_at, len(dynamic), 8)
    table += b"".join(segment(type_, flags, 0, 0, 1) for type_, flags in segments)
    start = b"\x7fELF" + bytes((2 if wide else 1, 1, 1)) + bytes(9)
    start += pack("<HHI", kind, MACHINES[abi], 1) + pack(f"<{word * 3}", 0, head, 0)
    start += pack("<I6H", 0, head, step, 2 + len(segments), 0, 0, 0)
    return start + table + names + symbols + hashes + dynamic + payload


def zipped(
    entries: Mapping[str, bytes],
    *,
    deflated: Sequence[str] = (),
    alignment: Mapping[str, int] | None = None,
) -> bytes:
    """A ZIP archive. alignment: of bytes of stored entries, by how names end; an odd place else."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED if name in deflated else zipfile.ZIP_STORED
            place = out.tell() + 30 + len(name.encode())
            wanted = [n for ending, n in (alignment or {}).items() if name.endswith(ending)]
            if name not in deflated and wanted:
                info.extra = bytes(-place % wanted[0])
            elif name not in deflated and place % 2 == 0:
                info.extra = bytes(1)
            archive.writestr(info, data)
    return out.getvalue()


ALIGNED: Final = {".so": 16384, ".samara": 4}


def macho(
    cpu: str = "arm64",
    *,
    kind: int = 2,
    platform: int = 2,
    least: tuple[int, int] = (15, 0),
    needed: Sequence[str] = ("/usr/lib/libSystem.B.dylib",),
    weak: Sequence[str] = (),
    install_name: str = "",
    payload: bytes = b"",
    page: int = 16384,
    crypt: int = 0,
) -> bytes:
    """A Mach-O file of 64 bits without code. kind: 1 an object, 2 a program, 6 a library."""

    def named(command: int, name: str) -> bytes:
        text = name.encode() + b"\0" * (8 - len(name.encode()) % 8)
        return pack("<6I", command, 24 + len(text), 24, 0, 0, 0) + text

    commands = [pack("<IIIIII", 0x32, 24, platform, least[0] << 16 | least[1] << 8, 0, 0)]
    commands += [named(0xC, name) for name in needed]
    commands += [named(0x80000018, name) for name in weak]
    commands += [named(0xD, install_name)] if install_name else []
    commands.append(pack("<II16s4Q4I", 0x19, 72, b"__TEXT", page, page, 0, 0, 5, 5, 0, 0))
    if crypt:
        commands.append(pack("<6I", 0x2C, 24, 0, 0, crypt, 0))
    body = b"".join(commands)
    number = {"arm64": 0x0100000C, "x86_64": 0x01000007}[cpu]
    return pack("<8I", 0xFEEDFACF, number, 0, kind, len(commands), len(body), 0, 0) + body + payload


def fat(*parts: bytes) -> bytes:
    """A fat file of thin ones."""
    at = 8 + 20 * len(parts)
    out = pack(">II", 0xCAFEBABE, len(parts))
    for part in parts:
        out += pack(">5I", int.from_bytes(part[4:8], "little"), 0, at, len(part), 0)
        at += len(part)
    return out + b"".join(parts)


def archive(*members: bytes) -> bytes:
    """A static library, whose second member has a long name."""
    out = b"!<arch>\n"
    for number, data in enumerate((b"symbols.", *members)):
        name = "__.SYMDEF" if number == 0 else "#1/8" if number == 2 else f"{number}.o/"
        data = b"longer.o" + data if number == 2 else data
        out += f"{name:16}{0:12}{0:6}{0:6}{0o644:<8o}{len(data):<10}".encode() + b"`\n"
        out += data + b"\n" * (len(data) % 2)
    return out
