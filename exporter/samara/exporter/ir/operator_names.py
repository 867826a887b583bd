# SPDX-License-Identifier: Apache-2.0
"""The names of the operators in a file, which let a runtime name one that it lacks.

A selective build holds the rows of its own operators alone, and an older runtime has never heard of
newer ones, so the file says what its codes mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from samara.exporter.ops import OpSpec


def operators_text(ops: Iterable[OpSpec]) -> str:
    """The lines of the field: `81 conv`, by rising code."""
    names = {op.code: op.name for op in ops}
    return "".join(f"{code} {name}\n" for code, name in sorted(names.items()))


def operator_names(text: str) -> Mapping[int, str]:
    """Names by code; lines that say nothing of the kind are passed over, for no file depends on them."""
    found = {}
    for line in text.splitlines():
        code, _, name = line.partition(" ")
        if code.isascii() and code.isdigit() and name.isprintable() and name:
            found[int(code[:6])] = name[:80]
    return found
