# SPDX-License-Identifier: Apache-2.0
"""The names of the operators in a file, which let a runtime name one that it lacks.

A selective build has only the rows of its operators, and an older runtime does not know newer operators, so
the file names its codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from samara.exporter import ops
from samara.exporter.ir.program import Node


def operators_text(nodes: Iterable[Node]) -> str:
    """The field's lines, such as `81 conv`, by code; custom operators share `174 custom (a::b, a::c)`."""
    names: dict[int, str] = {}
    custom: dict[str, None] = {}
    for node in nodes:
        names[node.op.code] = node.op.name
        if node.op is ops.custom:
            custom[" ".join(str(node.attrs["name"]).split())] = None
            names[node.op.code] = f"custom ({', '.join(custom)})"
    return "".join(f"{code} {name}\n" for code, name in sorted(names.items()))


def operator_names(text: str) -> Mapping[int, str]:
    """Names by code. Malformed lines are ignored, because nothing depends on them."""
    found = {}
    for line in text.splitlines():
        code, _, name = line.partition(" ")
        if code.isascii() and code.isdigit() and name.isprintable() and name:
            found[int(code[:6])] = name[:80]
    return found
