# SPDX-License-Identifier: Apache-2.0
"""Opens files at every alignment that is allowed and compares the bits of the answers.

Run with a library that traps on misaligned access: `python -m tests.e2e.alignment cases`, or
`python -m tests.e2e.alignment FOLDER FILE`, FOLDER being that of the recorded model.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.e2e.models import recorded
from tests.ops.programs import one_node

import samara
from samara.exporter.ir import to_bytes
from samara.exporter.ops import all_ops
from samara.pybridge._native import NULL, check, ffi, library, new_error, text
from samara.pybridge.model import _Closer, _function_spec

OFFSETS = tuple(range(0, 64, 4))
Open = Callable[[Any, Any], int]


class Placed(samara.Model):
    """A model opened by a call of the C interface; `kept` stays alive with it."""

    def __init__(self, opener: Open, kept: object) -> None:
        lib = library()
        out, error = ffi.new("samara_model **"), new_error()
        check(opener(out, error), error)
        self.handle = ffi.gc(out[0], _Closer(lib, kept))
        names = [
            text(lib.samara_model_function_name(out[0], i))
            for i in range(lib.samara_model_function_count(out[0]))
        ]
        self._functions = {n: _function_spec(lib, out[0], n) for n in names}


def in_memory(data: bytes, offset: int) -> Placed:
    """The model at an address that is `offset` above a multiple of 64."""
    block = np.empty(len(data) + 128, np.uint8)
    start = -block.ctypes.data % 64 + offset
    view = block[start : start + len(data)]
    view[:] = np.frombuffer(data, np.uint8)
    place = ffi.from_buffer(view)
    return Placed(
        lambda out, error: library().samara_model_open_memory(place, len(data), NULL, out, error),
        (block, place),
    )


def in_file(data: bytes, offset: int) -> Placed:
    """The model `offset` bytes into a file that goes on behind it."""
    with tempfile.TemporaryFile() as file:
        file.write(b"\xff" * offset + data + b"\xff" * 100)
        file.flush()
        return Placed(
            lambda out, error: library().samara_model_open_fd(
                file.fileno(), offset, len(data), NULL, out, error
            ),
            None,
        )


def answers(model: samara.Model, feeds: Mapping[str, Any]) -> str:
    """A digest of all outputs, or the error."""
    digest = hashlib.sha256()
    try:
        got = samara.Session(model, threads=1).run(feeds)
    except samara.SamaraError as error:
        return str(error)
    for name in sorted(got):
        digest.update(got[name].tobytes())
    return digest.hexdigest()


def differences(
    data: bytes, feeds: Mapping[str, Any], offsets: tuple[int, ...] = OFFSETS
) -> list[str]:
    """At which offsets the answers differ from those of the aligned file."""
    want = answers(in_memory(data, 0), feeds)
    found = []
    for offset in offsets:
        if answers(in_memory(data, offset), feeds) != want:
            found.append(f"memory + {offset}")
        if answers(in_file(data, offset), feeds) != want:
            found.append(f"file + {offset}")
    # Pages are 4096 bytes or more, so these lie in the middle of one or two.
    if answers(in_file(data, 4096 * 3 + 52), feeds) != want:
        found.append("file + 12340")
    return found


def all_cases() -> Iterator[str]:
    """Problems of the op table's cases, each at another offset."""
    count = 0
    for op in all_ops():
        for case in op.cases if "control" not in op.flags else ():
            for form in ("static", "weights"):
                made = one_node(op, case, form)
                if made is None:
                    continue
                offset = OFFSETS[count % len(OFFSETS)] or 4
                count += 1
                for d in differences(to_bytes(made.program), made.feeds, (offset,)):
                    yield f"{op.name}-{case.name} {form}: {d}"


def main() -> int:
    """Prints what differs; 1 if anything does."""
    found: list[str] = []
    if sys.argv[1:] == ["cases"]:
        found = list(all_cases())
    else:
        folder, file = Path(sys.argv[1]), Path(sys.argv[2])
        case = recorded(folder)[0]
        data = file.read_bytes()
        names = {s.name for s in samara.Model(file).function(None).inputs}
        feeds = {k: v for k, v in case.inputs.items() if k in names}
        found = differences(data, feeds)
        print(answers(in_memory(data, 0), feeds))
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    sys.exit(main())
