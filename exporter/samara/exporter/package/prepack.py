# SPDX-License-Identifier: Apache-2.0
"""Layouts of weights that sessions would derive, made ahead of time to be stored in the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from samara.exporter.ir import Program
from samara.exporter.types import UnsupportedError
from samara.pybridge.memory_use import CountedModel, DerivedLayout, instruction_sets


def derived_layouts(
    program: Program, source: Path | memoryview, isas: Sequence[str]
) -> tuple[DerivedLayout, ...]:
    """What sessions of the file's entries derive on these instruction sets, each layout once.

    Entries whose inputs have no known sizes derive nothing before they meet some: they add nothing.
    Raises UnsupportedError for an instruction set that this machine does not run.
    """
    check_sets(isas)
    with CountedModel(source) as model:
        for isa in isas:
            for name in program.entries:
                if not model.is_growing(name):
                    model.session(function=name, threads=1, isa=isa)
        return model.derived()


def check_sets(isas: Sequence[str]) -> None:
    """Raises UnsupportedError for an instruction set that this machine does not run."""
    known = instruction_sets()
    for isa in isas:
        if isa not in known:
            raise UnsupportedError(
                f"prepack: layouts for {isa!r} are made by its kernels, which this machine does not run",
                fix=f"instruction sets here are {', '.join(known)}; leave prepack out for others, "
                "whose sessions derive what they need",
            )
