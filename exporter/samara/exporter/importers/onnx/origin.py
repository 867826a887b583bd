# SPDX-License-Identifier: Apache-2.0
"""The source location of a node of an ONNX model, if the exporter that wrote it stored one."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

import onnx

from samara.exporter.importers.common.naming import module_path

# Keys of torch's exporter in the metadata of a node.
_STACK = "pkg.torch.onnx.stack_trace"
_SCOPES = "pkg.torch.onnx.name_scopes"
_NAMESPACE = "namespace"

_FRAME = re.compile(r'File "([^"\n]*)", line (\d+)')
# A frame in the `doc_string` of the older exporter, innermost first.
_DOC_FRAME = re.compile(r"^(\S[^\n]*?)\((\d+)\): ", re.MULTILINE)
_TORCH = re.compile(r"[/\\](site|dist)-packages[/\\]torch[/\\]|^<")  # and <eval_with_key>.3
_PACKAGE = re.compile(r"[/\\](site|dist)-packages[/\\]|[/\\]lib[/\\]python3[.\d]*[/\\]")
# A checkout of torch, or a user's folder of that name.
_CHECKOUT = re.compile(
    r"[/\\]torch[/\\](nn|fx|export|_export|onnx|jit|utils|autograd|_dynamo|_functorch|_inductor)[/\\]"
)


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


_UNKNOWN = Origin()


def innermost(stack: str) -> tuple[str, int]:
    """File and line of the user's innermost frame in a stack trace; else of a package other than torch; empty and
    0 if all frames are torch's.
    """
    return _chosen([(file, int(line)) for file, line in _FRAME.findall(stack)])


def _chosen(frames: list[tuple[str, int]]) -> tuple[str, int]:
    frames = [f for f in frames if not _TORCH.search(f[0])]
    apart = [f for f in frames if not _CHECKOUT.search(f[0])] or frames
    own = [f for f in apart if not _PACKAGE.search(f[0])]
    return (own or apart or [("", 0)])[-1]


def origin_of(node: onnx.NodeProto) -> Origin:
    """The origin of a node; an empty Origin if its metadata has none."""
    said = {p.key: p.value for p in getattr(node, "metadata_props", ())}
    if not said and not node.doc_string:
        return _UNKNOWN
    file, line = innermost(said.get(_STACK, ""))
    if not file and node.doc_string:
        found = [(f, int(n)) for f, n in _DOC_FRAME.findall(node.doc_string)]
        file, line = _chosen(found[::-1])
    module = _module(said.get(_SCOPES, "")) or _namespace(said.get(_NAMESPACE, ""))
    return Origin(file, line, module)


def module_of(node: onnx.NodeProto, origin: Origin) -> str:
    """The path of the submodule, from the node's origin or from its name."""
    return origin.module or module_path(node.name)


def _namespace(text: str) -> str:
    """The innermost module of `: Net/layers: Sequential/layers.0: Block/relu: aten.relu`."""
    names = [part.partition(":")[0].strip() for part in text.split("/")]
    return names[-2] if len(names) > 1 else ""


def _module(scopes: str) -> str:
    """The innermost module; the last scope is the operation."""
    try:
        names = ast.literal_eval(scopes) if scopes else []
    except (SyntaxError, ValueError):
        return ""
    return str(names[-2]) if isinstance(names, list) and len(names) > 1 else ""
