# SPDX-License-Identifier: Apache-2.0
"""Where a node of an ONNX model comes from, as far as the exporter that wrote it says."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

import onnx

# Keys of torch's exporter, in the metadata of a node.
_STACK = "pkg.torch.onnx.stack_trace"
_SCOPES = "pkg.torch.onnx.name_scopes"

_FRAME = re.compile(r'File "([^"\n]*)", line (\d+)')
_LIBRARY = re.compile(r"[/\\](site|dist)-packages[/\\]torch[/\\]")


@dataclass(frozen=True, slots=True)
class Origin:
    """The author's file and line, and the path of the submodule; empty and 0 where unknown."""

    file: str = ""
    line: int = 0
    module: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else ""
        inside = f"in {self.module}" if self.module else ""
        return " ".join(part for part in (place, inside) if part)


def innermost(stack: str) -> tuple[str, int]:
    """File and line of the innermost frame of a stack trace that is not torch's own."""
    frames = [(file, int(line)) for file, line in _FRAME.findall(stack)]
    own = [f for f in frames if not _LIBRARY.search(f[0])]
    return (own or frames or [("", 0)])[-1]


def origin_of(node: onnx.NodeProto) -> Origin:
    """Where the node comes from; an empty Origin where its metadata does not tell."""
    said = {p.key: p.value for p in getattr(node, "metadata_props", ())}
    if not said:
        return Origin()
    return Origin(*innermost(said.get(_STACK, "")), _module(said.get(_SCOPES, "")))


def _module(scopes: str) -> str:
    """The innermost module; the last scope is the operation itself."""
    try:
        names = ast.literal_eval(scopes) if scopes else []
    except (SyntaxError, ValueError):
        return ""
    return str(names[-2]) if isinstance(names, list) and len(names) > 1 else ""
