# SPDX-License-Identifier: Apache-2.0
"""The memory contract of a file: the bytes that a session of each function takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samara.exporter.types import ModelFormatError


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that the runtime asks of its allocator for any number of runs of `function`, with inputs at their
    largest and default options.

    isa: ceilings (as Session takes them) that all give these numbers; threads: of the pool.
    arena: tensors and scratch, of which `shared_scratch + threads * thread_scratch` is the node with
    the most scratch. peak: bytes alive during node `peak_node`; no arena of this node order can be smaller.
    blocks: inputs and results beside the arena; `arena + blocks` is samara_session_arena_bytes(). variables,
    session: the rest of a session. model: without the program part, whose size is in the header. derived:
    layouts of constants, once for all sessions.
    """

    function: str
    isa: tuple[str, ...]
    threads: int
    runtime: tuple[int, int, int]
    pointer_bits: int
    arena: int
    shared_scratch: int
    thread_scratch: int
    blocks: int
    variables: int
    session: int
    model: int
    derived: int
    peak_node: int
    peak: int

    @property
    def session_bytes(self) -> int:
        """All bytes of one session."""
        return self.arena + self.blocks + self.variables + self.session


# Fields with the same name in the table.
_NUMBERS = (
    "threads",
    "pointer_bits",
    "arena",
    "shared_scratch",
    "thread_scratch",
    "blocks",
    "variables",
    "session",
    "model",
    "derived",
    "peak_node",
    "peak",
)


def memory_rows(memory: Sequence[Memory], functions: Mapping[str, int]) -> list[dict[str, Any]]:
    """Rows of the table Memory; `functions` maps names to indices."""
    return [
        {
            "function": functions[m.function],
            "isa": " ".join(m.isa),
            "runtime": m.runtime[0] << 16 | m.runtime[1] << 8 | m.runtime[2],
            **{name: getattr(m, name) for name in _NUMBERS},
        }
        for m in memory
    ]


def read_memory(rows: Sequence[Mapping[str, Any]], functions: Sequence[str]) -> tuple[Memory, ...]:
    """The contracts in the rows of a file; ModelFormatError for a function that does not exist."""
    found = []
    for row in rows:
        if row["function"] >= len(functions):
            raise ModelFormatError(f"memory: there is no function {row['function']}")
        version = row["runtime"]
        found.append(
            Memory(
                function=functions[row["function"]],
                isa=tuple((row["isa"] or "").split()),
                runtime=(version >> 16, version >> 8 & 255, version & 255),
                **{name: row[name] for name in _NUMBERS},
            )
        )
    return tuple(found)
