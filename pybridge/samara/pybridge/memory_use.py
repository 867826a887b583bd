# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of a model and of a session are, as reported and counted by the runtime."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from samara.pybridge._native import NULL, check, failure, ffi, library, new_error, text
from samara.pybridge._pool import pool_for
from samara.pybridge.custom import custom_ops, explained
from samara.pybridge.errors import UnsupportedError
from samara.pybridge.foreign import head_of

KINDS: Final = ("", "tensor", "scratch", "arena", "block", "variable", "structure")
_SCALAR = "scalar"


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A part of a session's memory.

    kind: "tensor" and "scratch" belong to the plan: ranges in the arena of their function, in use from
    node `first` to node `last` (counted from 0); `thread_bytes` of scratch are needed per thread. The
    other kinds are allocations: "arena", "block" (an input, a result, a kept tensor), "variable" and
    "structure".
    """

    function: str
    name: str
    kind: str
    first: int
    last: int
    offset: int
    size_bytes: int
    thread_bytes: int = 0

    @property
    def planned(self) -> bool:
        """Whether it lies in an arena, at `offset`."""
        return self.kind in ("tensor", "scratch")


@dataclass(frozen=True, slots=True)
class Counted:
    """The bytes that the runtime allocates to run one function in a fresh process.

    model_bytes: to open the file, program part included. derived_bytes: weight layouts for the kernels
    of this instruction set, shared by all sessions. session_bytes: one session, with its parts in
    `rows`; empty while its inputs have no shapes.
    """

    model_bytes: int
    derived_bytes: int
    session_bytes: int
    arena_bytes: int
    pointer_bits: int
    rows: tuple[MemoryRow, ...]


@dataclass(frozen=True, slots=True)
class DerivedLayout:
    """A layout of a constant that a session derived.

    constant: its index in the file. op: code of the operator that reads it. layout: the operator's
    number of the layout; version: of all such layouts of this runtime.
    """

    constant: int
    op: int
    layout: int
    version: int
    data: bytes


def instruction_sets() -> tuple[str, ...]:
    """Instruction set ceilings that choose different kernels here, the lowest first: "scalar", then those
    that the CPU has and SAMARA_ISA permits.
    """
    lib = library()
    size = lib.samara_isa(NULL, 0) + 1
    buffer = ffi.new("char[]", size)
    lib.samara_isa(buffer, size)
    names = text(buffer).replace(",", " ").split()
    return (_SCALAR, *(n for n in names if n != _SCALAR))


def session_rows(handle: Any) -> tuple[MemoryRow, ...]:
    """The rows of a session; empty while its inputs have no shapes."""
    lib, count = library(), ffi.new("size_t *")
    if lib.samara_session_memory(handle, NULL, 0, count):
        return ()
    rows = ffi.new("samara_memory_row[]", max(1, count[0]))
    status = lib.samara_session_memory(handle, rows, count[0], count)
    if status:
        raise failure(status, "")
    return tuple(
        MemoryRow(
            text(r.function),
            text(r.name),
            KINDS[r.kind],
            r.first,
            r.last,
            r.offset,
            r.size_bytes,
            r.thread_bytes,
        )
        for r in rows[0 : count[0]]
    )


class CountedModel:
    """A model opened with a counting allocator. Its sessions are made, counted and destroyed.

    trusted: this process has just made the bytes of `source`, so their checksums are not compared.
    """

    def __init__(
        self, source: str | os.PathLike[str] | bytes | memoryview, *, trusted: bool = False
    ) -> None:
        self._model: Any = NULL
        self._lib = lib = library()
        self._meter = ffi.new("samara_meter *")
        lib.samara_meter_start(self._meter, NULL)
        options = ffi.new("samara_model_options *")
        options.struct_size = ffi.sizeof("samara_model_options")
        options.allocator = ffi.addressof(self._meter, "allocator")
        if trusted:
            options.trust_checksum = True
            options.verify = lib.SAMARA_VERIFY_NEVER
        out, error = ffi.new("samara_model **"), new_error()
        if isinstance(source, (bytes, memoryview)):
            self._data = ffi.from_buffer(source)  # must live as long as the model
            status = lib.samara_model_open_memory(self._data, len(source), options, out, error)
            head = bytes(source[:16])
        else:
            head = head_of(source)
            status = lib.samara_model_open_path(os.fsencode(Path(source)), options, out, error)
        check(status, error)
        self._model = out[0]
        self.model_bytes = int(self._meter.live_bytes)
        self.program_bytes = int.from_bytes(head[8:], "little")

    def is_growing(self, function: str) -> bool:
        """Whether runs of the function may allocate."""
        return bool(self._lib.samara_model_is_growing(self._model, function.encode()))

    def derived(self) -> tuple[DerivedLayout, ...]:
        """The layouts that the sessions so far derived, in the order of their making."""
        count = ffi.new("size_t *")
        self._lib.samara_model_derived(self._model, NULL, 0, count)
        rows = ffi.new("samara_derived_row[]", max(1, count[0]))
        self._lib.samara_model_derived(self._model, rows, count[0], count)
        return tuple(
            DerivedLayout(
                r.constant, r.op, r.layout, r.version, bytes(ffi.buffer(r.data, r.size_bytes))
            )
            for r in reversed(list(rows[0 : count[0]]))
        )

    def close(self) -> None:
        """Free everything. A second call does nothing."""
        self._lib.samara_model_close(self._model)
        self._model = NULL

    def __enter__(self) -> CountedModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def session(
        self, *, function: str, threads: int, isa: str | None = None, strict: bool = False
    ) -> Counted:
        """Create a session, count its bytes and destroy it. Raises what creating it raises.

        strict: with accuracy="strict".

        Derived layouts stay with the model, so derived_bytes covers all sessions so far.
        """
        lib, meter = self._lib, ffi.new("samara_meter *")
        lib.samara_meter_start(meter, NULL)
        name = ffi.new("char[]", function.encode())
        ceiling = NULL if isa is None else ffi.new("char[]", isa.encode())
        options = ffi.new("samara_session_options *")
        options.struct_size = ffi.sizeof("samara_session_options")
        options.function, options.isa, options.pool = name, ceiling, pool_for(threads)
        options.allocator = ffi.addressof(meter, "allocator")
        options.strict_accuracy = strict
        operators = custom_ops()
        options.custom_ops, options.custom_op_count = operators, len(operators)
        out, error = ffi.new("samara_session **"), new_error()
        try:
            check(lib.samara_session_create(self._model, options, out, error), error)
        except UnsupportedError as refused:
            raise explained(refused) from None
        try:
            return Counted(
                self.model_bytes,
                int(self._meter.live_bytes) - self.model_bytes,
                int(meter.live_bytes),
                int(lib.samara_session_arena_bytes(out[0])),
                8 * ffi.sizeof("void *"),
                session_rows(out[0]),
            )
        finally:
            lib.samara_session_destroy(out[0])


__all__ = [
    "KINDS",
    "Counted",
    "CountedModel",
    "DerivedLayout",
    "MemoryRow",
    "instruction_sets",
    "session_rows",
]
