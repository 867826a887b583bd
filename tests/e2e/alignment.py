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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.e2e.models import recorded

import samara
from samara.exporter.conformance.programs import Form, one_node
from samara.exporter.ir import Program, Variable, to_bytes
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.ops import all_ops
from samara.exporter.testing import Array
from samara.exporter.types import TensorType
from samara.pybridge._native import NULL, check, ffi, library, new_error, text
from samara.pybridge.model import _Closer, _function_spec

OFFSETS = tuple(range(0, 64, 4))
FORMS: tuple[Form, ...] = ("constants", "weights")
_N = 301  # elements: some whole blocks of every kernel, and a rest
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
    """Problems of the op table's cases with constant operands, each at another offset."""
    count = 0
    for op in all_ops():
        for case in op.cases if "control" not in op.flags else ():
            for form in FORMS:
                made = one_node(op, case, form)
                if made is None:
                    continue
                # Multiples of 4 but not of 8: elements of 8 bytes are not aligned.
                offset = OFFSETS[1::2][count % (len(OFFSETS) // 2)]
                count += 1
                for d in differences(to_bytes(made.program), made.feeds, (offset,)):
                    yield f"{op.name}-{case.name} {form}: {d}"


def wide_program() -> Program:
    """Constants of 8-byte elements where no node reads them: trips, sizes, captures, state, outputs."""
    pb = ProgramBuilder()
    cut = pb.function("cut")
    x, size = cut.input("x", "f64", ["n"]), cut.input("size", "i64", [2])
    length = cut.read(size, 1, bound=64)
    cut.finish([cut.op("add", cut.op("expand", x, shape=(length,)), 0.5)])

    b = pb.function("main")
    x, flag = b.input("x", "f64", [_N]), b.input("flag", "bool", [])
    memory, count = b.input("memory", "f64", [_N]), b.input("count", "u64", [_N])
    weight = b.const(np.arange(_N) / 7, "weight")
    mask = b.const(np.arange(_N, dtype=np.uint64) * np.uint64(2**58 + 3), "mask")
    body = b.child("body")
    i, go = body.input("i", "i64", []), body.input("go", "bool", [])
    acc = body.input("acc", "f64", [_N])
    more = body.op("add", body.op("mul", acc, body.op("cast", i, to="f64")), weight)
    trips = b.const(np.array(5, np.int64), "trips")
    last, rows = b.loop(trips, None, [x], (body, [go, more, acc]))
    then, orelse = b.child("then"), b.child("else")
    yes, no = then.op("bitwise_and", count, mask), orelse.op("bitwise_xor", count, mask)
    (bits,) = b.if_(flag, (then, [yes]), (orelse, [no]))
    one, sizes = b.const(np.array([2.5]), "one"), b.const(np.array([3, 7], np.int64), "sizes")
    (grown,) = b.op("call", one, sizes, body="cut")
    total = b.op("add", memory, last)
    main = b.finish(
        [rows, bits, grown, weight, mask, total, total, bits],
        ["rows", "bits", "grown", "weight", "mask", "total", "memory.next", "count.next"],
    )
    pb.functions["main"] = replace(
        main, reads={"memory": "memory", "count": "count"}, writes={6: "memory", 7: "count"}
    )
    start = np.linspace(-1, 1, _N), np.arange(_N, dtype=np.uint64) << np.uint64(40)
    return pb.finish(
        ["main"],
        [
            Variable("memory", TensorType.of("f64", [_N]), start[0]),
            Variable("count", TensorType.of("u64", [_N]), start[1]),
        ],
    )


def misplaced(array: Array) -> Array:
    """The array at an address that is a multiple of 4 and not of 8."""
    block = np.empty(array.nbytes + 16, np.uint8)
    start = -block.ctypes.data % 8 + 4
    made: Array = block[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def wide() -> Iterator[str]:
    """Problems of `wide_program` at every offset, and with inputs that are not aligned."""
    data = to_bytes(wide_program())
    for flag in (True, False):
        feeds = {"x": np.linspace(0, 3, _N), "flag": np.array(flag)}
        for d in differences(data, feeds):
            yield f"flag {flag}: {d}"
        model = in_memory(data, 0)
        if answers(model, feeds) != answers(model, {**feeds, "x": misplaced(feeds["x"])}):
            yield f"flag {flag}: input + 4"


def main() -> int:
    """Prints what differs; 1 if anything does."""
    found: list[str] = []
    if sys.argv[1:] == ["cases"]:
        found = [*all_cases(), *wide()]
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
