# SPDX-License-Identifier: Apache-2.0
"""Hostile files and feeds in WebAssembly: what native refuses is refused, with the same kind of error."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.commands import output_of
from tests.e2e.test_damage import damaged

import samara
from samara import SamaraError
from samara.exporter.ir.fnv import fnv1a

pytestmark = pytest.mark.emulated

_DAMAGE = Path(__file__).parent / "web" / "damage.mjs"
_COUNT = 60  # of each kind


def _cut(data: bytes) -> Iterator[bytes]:
    """Cut in every byte of the header, and at sixty places behind it; empty; with more at the end."""
    for end in (*range(65), *range(65, len(data), len(data) // _COUNT), len(data) - 1):
        yield data[:end]
    yield data + b"\0"


def _corrected(data: bytes) -> bytes:
    """The file with the checksum and the seal of its program part made right, if it has one."""
    size = int.from_bytes(data[8:16], "little")
    if not 80 <= size <= len(data):
        return data
    program = bytearray(data[:size])
    program[-16:-8] = program[:8]
    program[-8:] = program[8:16]
    program[16:24] = fnv1a(memoryview(program)[24:]).to_bytes(8, "little")
    return bytes(program) + data[size:]


def _files(name: str, data: bytes, other: bytes) -> Iterator[bytes]:
    """As they are, then with checksums that fit, which leaves the deeper checks."""
    yield from _cut(data)
    for _, each in damaged(name, data, other, _COUNT):
        yield each
        yield _corrected(each)
    rng = random.Random(zlib.crc32(name.encode()))
    size = int.from_bytes(data[8:16], "little")
    for _ in range(3 * _COUNT):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(64, size)] = rng.randrange(256)
        yield _corrected(bytes(changed))


def _native(net: str, data: bytes) -> tuple[str, str]:
    feed = np.zeros((2,) if net == "counter" else (1, 1, 8, 8), np.float32)
    try:
        with samara.Session(data, verify=True, limits={"max_arena_bytes": 64 << 20}) as session:
            session.run([feed])
    except SamaraError as error:
        return type(error).__name__, str(error)
    return "ok", ""


@pytest.mark.parametrize("net", ["float32", "int8", "counter"])
def test_damage(net: str, web: Path, need_tool: Callable[[str, str], str], tmp_path: Path) -> None:
    need_tool("node", "node")
    data = (web / f"{net}.samara").read_bytes()
    files = [data, *_files(net, data, (web / "words.samara").read_bytes())]
    ends = [0]
    for each in files:
        ends.append(ends[-1] + len(each))
    (tmp_path / "files").write_bytes(b"".join(files))
    index = tmp_path / "index.json"
    index.write_text(json.dumps([*pairwise(ends)]), encoding="utf-8")
    found = json.loads(output_of("node", _DAMAGE, web, net, tmp_path / "files", index))
    native = [_native(net, each) for each in files]
    # A session starts with zeros as inputs, as in C; only Python asks for all of them in every run.
    # A selective runtime names a strange operator before it reads the rest of the node, and has no use of
    # `derived`, data that some kernels of native find in a file.
    different = [
        f"{k}: {name}, {text[:200]}; native: {want}"
        for k, ((name, text), want) in enumerate(zip(found["outcomes"], native, strict=True))
        if name != want[0]
        and " is not in this build " not in text
        and not want[1].startswith("derived at byte ")
        and not (name == "ok" and want[0] == "ArgumentError")
    ]
    assert not different, "\n".join(different)
    kinds = [name for name, _ in native]
    assert len(kinds) > 600
    assert kinds[0] == "ok"
    assert kinds.count("ModelFormatError") > 400
    assert found["after"] == "ok"
    for what, (name, text) in found["refused"].items():
        expected = {
            "no such name": "UnknownNameError",
            "feeds in a list": "UnknownNameError",
            "too many for the limit": "LimitError",
        }
        assert name == expected.get(what, "ShapeError"), f"{what}: {name}, {text}"
