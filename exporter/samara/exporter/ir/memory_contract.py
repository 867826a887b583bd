# SPDX-License-Identifier: Apache-2.0
"""The memory contract of a file: the bytes that a session of each function takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from samara.exporter.types import ModelFormatError


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that the runtime allocates for any number of runs of `function`, with the largest inputs and
    default options.

    isa: ISA ceilings (as for Session) with these same numbers; threads: of the pool.
    arena: tensors and scratch; `shared_scratch + threads * thread_scratch` is that of the node with the
    most scratch. peak: bytes alive during node `peak_node`, the lower bound of an arena for this node
    order. blocks: inputs and results outside the arena; `arena + blocks` is
    `samara_session_arena_bytes`. variables, session: the rest of a session. model: without the program
    part. derived: layouts of constants, shared by all sessions.
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
        """Bytes of one session."""
        return self.arena + self.blocks + self.variables + self.session


# Fields that are stored unchanged under the same names.
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
    """The contracts in a file's rows; ModelFormatError for an unknown function."""
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
