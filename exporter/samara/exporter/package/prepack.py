# SPDX-License-Identifier: Apache-2.0
"""Weight layouts that sessions would derive, computed ahead of time and stored in the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from samara.exporter.ir import Program
from samara.exporter.types import UnsupportedError
from samara.pybridge.memory_use import CountedModel, DerivedLayout, instruction_sets


def derived_layouts(
    program: Program, source: Path | memoryview, isas: Sequence[str]
) -> tuple[DerivedLayout, ...]:
    """The layouts that sessions of the file's entries derive on these instruction sets, each once. `source` is the
    file, or the bytes of one that this process has just made.

    Entries with inputs of unknown sizes derive nothing before a run, so they add nothing. UnsupportedError
    for an instruction set that this machine does not have.
    """
    check_sets(isas)
    with CountedModel(source, trusted=isinstance(source, memoryview)) as model:
        for isa in isas:
            for name in program.entries:
                if not model.is_growing(name):
                    model.session(function=name, threads=1, isa=isa)
        return model.derived()


def check_sets(isas: Sequence[str]) -> None:
    """UnsupportedError for an instruction set that this machine does not have."""
    known = instruction_sets()
    for isa in isas:
        if isa not in known:
            raise UnsupportedError(
                f"prepack: only kernels of {isa!r} can make its layouts, and this machine does not have it",
                fix=f"instruction sets here are {', '.join(known)}; leave prepack out for others, "
                "so that sessions derive their layouts",
            )
