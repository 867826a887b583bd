# SPDX-License-Identifier: Apache-2.0
"""What a class file of Java declares: its name, what it extends, its fields and methods."""

from __future__ import annotations

import struct
from dataclasses import dataclass

PRIVATE, PROTECTED, PUBLIC, STATIC, FINAL = 0x2, 0x4, 0x1, 0x8, 0x10
_TEXT = 1
# Bytes of the other constants of a pool behind their tag; 5 and 6 take two places.
_BYTES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4}
_BYTES |= {15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_CLASS = 7
_WIDE = (5, 6)


@dataclass(frozen=True)
class ClassFile:
    """A class. members: (name, descriptor) -> flags, of fields and methods alike."""

    name: str
    flags: int
    parents: tuple[str, ...]
    members: dict[tuple[str, str], int]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, size: int = 2) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "big")


def read(data: bytes) -> ClassFile:
    """Read a class file; ValueError for anything else."""
    r = _Reader(data)
    if r.number(4) != 0xCAFEBABE:
        raise ValueError("not a class file")
    r.number(4)
    texts, classes = _pool(r)
    flags = r.number()
    name = texts[classes[r.number()]]
    above = [r.number()]
    above += [r.number() for _ in range(r.number())]
    parents = tuple(texts[classes[each]] for each in above if each)
    members: dict[tuple[str, str], int] = {}
    for _fields_then_methods in range(2):
        for _ in range(r.number()):
            access, member, kind = r.number(), texts[r.number()], texts[r.number()]
            members[member, kind] = access
            for _ in range(r.number()):
                r.number()
                r.at += struct.unpack_from(">I", data, r.at)[0] + 4
    return ClassFile(name, flags, parents, members)


def _pool(r: _Reader) -> tuple[dict[int, str], dict[int, int]]:
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    count, at = r.number(), 1
    while at < count:
        tag = r.number(1)
        if tag == _TEXT:
            size = r.number()
            texts[at] = r.data[r.at : r.at + size].decode("utf-8", "replace")
            r.at += size
        elif tag == _CLASS:
            classes[at] = r.number()
        else:
            r.at += _BYTES[tag]
        at += 2 if tag in _WIDE else 1
    return texts, classes
