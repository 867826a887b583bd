# SPDX-License-Identifier: Apache-2.0
"""The memory contract of a file, measured with the runtime: sessions are made on the file itself with a
counting allocator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from samara.exporter.ir import Memory, Program
from samara.exporter.ir.schema import RUNTIME_VERSION
from samara.exporter.types import SamaraError
from samara.pybridge.memory_use import Counted, CountedModel, MemoryRow, instruction_sets

THREADS: Final = (
    1,
    2,
    4,
)  # pool sizes with a stored contract; 4 is a session's default maximum


@dataclass(frozen=True, slots=True)
class Peak:
    """The node of a plan with the most bytes in use, and the pieces in use then, largest first."""

    node: int
    bytes: int
    rows: tuple[MemoryRow, ...]


def live_bytes(rows: Sequence[MemoryRow]) -> list[int]:
    """Bytes of one function's plan in use during each node, up to its last row's."""
    steps = [0] * (max((r.last for r in rows), default=-1) + 2)
    for r in rows:
        steps[r.first] += r.size_bytes
        steps[r.last + 1] -= r.size_bytes
    live, total = [], 0
    for step in steps[:-1]:
        total += step
        live.append(total)
    return live


def peak_of(rows: Sequence[MemoryRow]) -> Peak:
    """The first node with the most bytes in use. No rows give a peak of 0."""
    live = live_bytes(rows)
    if not live:
        return Peak(0, 0, ())
    node = live.index(max(live))
    alive = (r for r in rows if r.first <= node <= r.last)
    return Peak(node, live[node], tuple(sorted(alive, key=lambda r: (-r.size_bytes, r.offset))))


def measure(
    program: Program,
    source: Path | memoryview,
    *,
    threads: Sequence[int] = THREADS,
    isas: Sequence[str] | None = None,
    refused: Callable[[str, SamaraError], None] | None = None,
) -> tuple[Memory, ...]:
    """The memory of the functions that users call, per instruction set (all that this machine has) and number
    of threads; equal numbers of several instruction sets share a row. `source` is the file, or the bytes of one that
    this process has just made.

    Growing functions, and those whose inputs have no bounds, have no rows. `refused` is called for functions
    for which this machine cannot make sessions, for example because of missing custom operators.
    """
    found: dict[Memory, list[str]] = {}
    for name in program.entries:
        rows: dict[Memory, list[str]] = {}
        try:
            for isa in instruction_sets() if isas is None else isas:
                for row in _of_function(source, name, threads, isa):
                    rows.setdefault(row, []).append(isa)
        except SamaraError as error:
            if refused is not None:
                refused(name, error)
            continue
        found |= rows
    return tuple(replace(row, isa=tuple(isas)) for row, isas in found.items())


def _of_function(
    source: Path | memoryview, name: str, threads: Sequence[int], isa: str
) -> Iterator[Memory]:
    """Rows without their instruction set, for a model without derived layouts."""
    with CountedModel(source, trusted=isinstance(source, memoryview)) as model:
        if model.is_growing(name):
            return
        for count in threads:
            counted = model.session(function=name, threads=count, isa=isa)
            if counted.rows:
                yield _memory(name, count, model.program_bytes, counted)


def _memory(function: str, threads: int, program_bytes: int, counted: Counted) -> Memory:
    rows = counted.rows
    peak = peak_of([r for r in rows if r.planned and r.function == function])
    scratch = max((r for r in rows if r.kind == "scratch"), key=_size, default=None)
    thread_scratch = 0 if scratch is None else scratch.thread_bytes
    shared = 0 if scratch is None else scratch.size_bytes - threads * thread_scratch
    return Memory(
        function=function,
        isa=(),
        threads=threads,
        runtime=RUNTIME_VERSION,
        pointer_bits=counted.pointer_bits,
        arena=_sum(rows, "arena"),
        shared_scratch=shared,
        thread_scratch=thread_scratch,
        blocks=_sum(rows, "block"),
        variables=_sum(rows, "variable"),
        session=_sum(rows, "structure"),
        model=counted.model_bytes - program_bytes,
        derived=counted.derived_bytes,
        peak_node=peak.node,
        peak=peak.bytes,
    )


def _size(row: MemoryRow) -> int:
    return row.size_bytes


def _sum(rows: Sequence[MemoryRow], kind: str) -> int:
    return sum(r.size_bytes for r in rows if r.kind == kind)
