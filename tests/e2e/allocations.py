# SPDX-License-Identifier: Apache-2.0
"""What the C runtime allocates in open, create and run, counted in front of malloc.

`python -m tests.e2e.allocations SHIM run|fail|memory FOLDER FILE` with the library of allocations.c preloaded,
or `python -m tests.e2e.allocations SHIM programs`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from tests.e2e.models import recorded
from tests.ops.control_programs import PROGRAMS

import samara
from samara.exporter.ir import Program, read_file, save_program
from samara.exporter.ir.bounds import with_bounds
from samara.pybridge._native import NULL, ffi, library, new_error, text
from samara.pybridge._pool import pool_for

_own = cffi.FFI()
_own.cdef(
    "size_t counted_bytes(void);"
    "int counted_call1(void *, void *, long, long *, long *);"
    "int counted_call3(void *, void *, void *, void *, long, long *, long *);"
    "int counted_call4(void *, void *, void *, void *, void *, long, long *, long *);"
)
OUT_OF_MEMORY = 40
LIMIT = 10_000  # more allocations than any model makes


class Counter:
    """Calls of the C interface that count, and fail, allocations."""

    def __init__(self, shim: str) -> None:
        self._shim = _own.dlopen(shim)
        self._count, self._live = _own.new("long *"), _own.new("long *")

    def call(self, name: str, *arguments: Any, fail: int = 0) -> tuple[int, int, int]:
        """(status, allocations, allocations that nothing released) of one call."""
        function = ffi.addressof(library(), name)
        pointers = [
            _own.cast("void *", int(ffi.cast("uintptr_t", a))) for a in (function, *arguments)
        ]
        counted = getattr(self._shim, f"counted_call{len(arguments)}")
        status = counted(*pointers, fail, self._count, self._live)
        return int(status), int(self._count[0]), int(self._live[0])

    def bytes(self) -> int:
        """What the last call took and kept, of the memory that the runtime aligns."""
        return int(self._shim.counted_bytes())


def runs(
    counter: Counter, session: samara.Session, feeds: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Problems: what a run allocates, the sizes having been planned."""
    for once in feeds:
        session.run(once)  # resizes; the inputs stay bound to nothing
        held = [np.ascontiguousarray(once[s.name]) for s in session.inputs]
        for i, array in enumerate(held):
            place = ffi.from_buffer(array)
            status = library().samara_session_set_input(session.handle, i, place, array.nbytes)
            assert status == 0, text(library().samara_session_error(session.handle))
        status, count, _ = counter.call("samara_session_run", session.handle)
        if status or count:
            shapes = {k: np.shape(v) for k, v in once.items()}
            yield f"a run with {shapes} allocates {count} times, status {status}"


def of_model(counter: Counter, folder: Path, file: Path) -> Iterator[str]:
    """A real model with its recorded inputs, all their sizes."""
    for threads in (1, 2):
        session = samara.Session(file, threads=threads)
        names = {s.name for s in session.inputs}
        feeds = [{k: v for k, v in c.inputs.items() if k in names} for c in recorded(folder)]
        yield from runs(counter, session, (*feeds, feeds[0]))


def of_programs(counter: Counter) -> Iterator[str]:
    """Programs with loops, branches and data-dependent sizes: those with bounds allocate nothing.

    Those that grow must be seen to allocate, or the counting would prove nothing.
    """
    grown = 0
    with tempfile.TemporaryDirectory() as folder:
        for make in PROGRAMS:
            c = make()
            if not c.growing:
                yield from _named(
                    make.__name__, runs(counter, _session(c.program, folder), c.feeds)
                )
            elif c.bounds:
                bounded = with_bounds(c.program, c.bounds)
                yield from _named(make.__name__, runs(counter, _session(bounded, folder), c.feeds))
            if c.growing:
                session = _session(c.program, folder)
                assert session.model.function(None).growing
                grown += _grows(counter, session, c.feeds)
    if not grown:
        yield "no growing program was seen to allocate"


def _named(name: str, problems: Iterator[str]) -> Iterator[str]:
    return (f"{name}: {p}" for p in problems)


def _session(program: Program, folder: str) -> samara.Session:
    path = Path(folder) / "program.samara"
    save_program(program, path)
    return samara.Session(path, threads=1)


def _grows(counter: Counter, session: samara.Session, feeds: Sequence[Mapping[str, Any]]) -> bool:
    """Whether some first run allocates."""
    total = 0
    for once in feeds:
        session.resize({k: np.shape(v) for k, v in once.items()})
        for i, spec in enumerate(session.inputs):
            array = np.ascontiguousarray(once[spec.name])
            place = ffi.from_buffer(array)
            library().samara_session_set_input(session.handle, i, place, array.nbytes)
        total += counter.call("samara_session_run", session.handle)[1]
    return total > 0


def stated(counter: Counter, file: Path) -> Iterator[str]:
    """Where open and create take other bytes than the file states, for one thread and for two."""
    path, error = ffi.new("char[]", str(file).encode()), new_error()
    model, session = ffi.new("samara_model **"), ffi.new("samara_session **")
    held = read_file(file)
    for m in held.memory:
        for isa in m.isa if m.threads in (1, 2) else ():
            counter.call("samara_model_open_path", path, NULL, model, error)
            if counter.bytes() != held.program_bytes + m.model:
                yield f"open takes {counter.bytes()} bytes, not {held.program_bytes} + {m.model}"
            options = ffi.new("samara_session_options *")
            options.struct_size = ffi.sizeof("samara_session_options")
            strings = [ffi.new("char[]", t.encode()) for t in (m.function, isa)]
            options.function, options.isa = strings
            options.pool = pool_for(m.threads)
            counter.call("samara_session_create", model[0], options, session, error)
            if counter.bytes() != m.derived + m.session_bytes:
                yield f"{isa}, {m.threads} threads: create takes {counter.bytes()} bytes, not {m}"
            library().samara_session_destroy(session[0])
            library().samara_model_close(model[0])
    if not held.memory:
        yield "the file states nothing"


def failing(counter: Counter, file: Path) -> Iterator[str]:
    """Every allocation of open, then of create, fails once: a clean error, and nothing is left.

    Packed weights belong to the model, so what create leaves is counted when the model is closed.
    """
    path, error = ffi.new("char[]", str(file).encode()), new_error()
    model, session = ffi.new("samara_model **"), ffi.new("samara_session **")

    def opened(k: int) -> tuple[int, int, int]:
        return counter.call("samara_model_open_path", path, NULL, model, error, fail=k)

    allocations = [0, 0]
    for k in range(1, LIMIT):
        status, count, live = opened(k)
        if status == 0:
            allocations[0] = count
            break
        yield from _clean(f"open, allocation {k}", status, live, model[0], error)
    live = counter.call("samara_model_close", model[0])[2] + live
    if live:
        yield f"open and close leave {live} allocations"
    for k in range(1, LIMIT):
        balance = opened(0)[2]
        status, count, live = counter.call(
            "samara_session_create", model[0], NULL, session, error, fail=k
        )
        balance += live
        if status == 0:
            balance += counter.call("samara_session_destroy", session[0])[2]
        balance += counter.call("samara_model_close", model[0])[2]
        if status == 0:
            allocations[1] = count
            if balance:
                yield f"create, destroy and close leave {balance} allocations"
            break
        yield from _clean(f"create, allocation {k}", status, balance, session[0], error)
    if not all(allocations):
        yield f"{allocations[0]} allocations in open, {allocations[1]} in create"
    print(*allocations)


def _clean(what: str, status: int, left: int, made: Any, error: Any) -> Iterator[str]:
    said = text(ffi.addressof(error, "text")[0])
    if status != OUT_OF_MEMORY or made != NULL or left != 0 or not said:
        yield f"{what}: status {status}, object {made}, {left} allocations left, {said!r}"


def main() -> int:
    """Prints what is wrong; 1 if anything is."""
    counter, mode = Counter(sys.argv[1]), sys.argv[2]
    if mode == "run":
        found = list(of_model(counter, Path(sys.argv[3]), Path(sys.argv[4])))
    elif mode == "memory":
        found = list(stated(counter, Path(sys.argv[4])))
    elif mode == "fail":
        found = list(failing(counter, Path(sys.argv[4])))
    else:
        found = list(of_programs(counter))
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
