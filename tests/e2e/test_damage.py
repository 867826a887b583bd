# SPDX-License-Identifier: Apache-2.0
"""Damaged files of real models under AddressSanitizer: a clean error, or a run within limits.

Each is opened as it is, and where that is refused, which its checksums see to, once more with the
header made right and its data not compared: what is left then are the deeper checks.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.e2e.models import NAMES, QUANTIZED
from tests.sanitizers import replay

HEADER = 64
ALL = (*NAMES, *QUANTIZED)
Exported = Callable[[str], Path]
Sanitized = Callable[[str, str, str], Path]


def flipped(r: random.Random, data: bytes) -> bytes:
    """One to four bits changed, most of them in the program part."""
    out = bytearray(data)
    for _ in range(r.randint(1, 4)):
        at = r.randrange(len(out)) if r.random() < 0.15 else r.randrange(_program_bytes(data))
        out[at] ^= 1 << r.randrange(8)
    return bytes(out)


def truncated(r: random.Random, data: bytes) -> bytes:
    """Cut off anywhere, more often near the beginning or a border."""
    program = _program_bytes(data)
    ends = (
        r.randrange(len(data)),
        r.randrange(program + 1),
        r.randrange(HEADER + 1),
        max(0, program - r.randrange(80)),
        max(0, len(data) - r.randrange(1, 80)),
    )
    return data[: r.choice(ends)]


def spliced(r: random.Random, data: bytes, other: bytes) -> bytes:
    """A run of bytes replaced by another run, of this file or another one."""
    program, source = _program_bytes(data), other if r.random() < 0.5 else data
    size = r.choice((4, 8, 24, 64, r.randrange(1, 2000)))
    at = r.randrange(HEADER, program) // 4 * 4
    start = r.randrange(min(len(source), _program_bytes(source))) // 4 * 4
    piece = source[start : start + size]
    if r.random() < 0.3:
        return data[:at] + piece + data[at:]  # what follows moves
    return data[:at] + piece + data[at + len(piece) :]


def _program_bytes(data: bytes) -> int:
    return int.from_bytes(data[8:16], "little")


def damaged(name: str, data: bytes, other: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """`count` of each kind, the same ones every time."""
    r = random.Random(zlib.crc32(name.encode()))
    for k in range(count):
        yield f"{name}-flip-{k}", flipped(r, data)
        yield f"{name}-cut-{k}", truncated(r, data)
        yield f"{name}-splice-{k}", spliced(r, data, other)


def _check(name: str, exported: Exported, program: Path, count: int, folder: Path) -> None:
    other = ALL[(ALL.index(name) + 1) % len(ALL)]
    files = []
    for title, data in damaged(
        name, exported(name).read_bytes(), exported(other).read_bytes(), count
    ):
        files.append(folder / title)
        files[-1].write_bytes(data)
    crashes = replay(program, [exported(name), *files])
    for path in files:
        path.unlink()
    assert not crashes, "\n\n".join(f"{c.path.name}\n{c.report}" for c in crashes[:3])


@pytest.mark.parametrize("name", ALL)
def test_damage(name: str, exported: Exported, sanitized: Sanitized, tmp_path: Path) -> None:
    _check(name, exported, sanitized("asan-ubsan", "address", "run_fuzz"), 12, tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize("name", ALL)
def test_damage_at_length(
    name: str, exported: Exported, sanitized: Sanitized, tmp_path: Path
) -> None:
    _check(name, exported, sanitized("asan-ubsan", "address", "run_fuzz"), 200, tmp_path)
