# SPDX-License-Identifier: Apache-2.0
"""Decide whether a file runs on a library, by reading the two files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from samara.exporter.ir.file_read import ModelFile
from samara.exporter.measure.survey import Needs, needs_of
from samara.exporter.package.bare_metal import HOSTED
from samara.exporter.package.bare_metal_cpus import CPUS
from samara.exporter.package.selection import Selection, library_file, version_tuple
from samara.exporter.types import SamaraError

Level = Literal["missing", "doubtful"]

_REBUILD = "build the library with this model: samara build"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: `missing` keeps the model from running, `doubtful` does not."""

    level: Level
    subject: str
    where: tuple[str, ...]
    reason: str
    fix: str = ""


def findings(
    path: str | os.PathLike[str],
    contents: ModelFile,
    library: Selection,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Iterator[Finding]:
    """Everything that keeps the `.samara` file at `path` from running on `library`, and what is unknown.

    The code with which a runtime prepares a model finds out what the model needs, so the library refuses
    exactly what is listed here.
    """
    newer = list(versions(contents, library))
    yield from newer
    if newer:
        return
    try:
        needs = needs_of(path, shapes=shapes)
    except SamaraError as error:
        yield Finding("missing", "file", (), error.message, error.fix or "")
        return
    yield from unmet(needs, library)


def unmet(needs: Needs, library: Selection) -> Iterator[Finding]:
    """What the library lacks for these needs, and which needs are unknown."""
    yield from _operators(needs, library)
    yield from _parts(needs, library)
    if library.parts is not None and needs.unknown:
        nodes = tuple(node.node for node in needs.unknown)
        reason = "their sizes depend on data and no run reached them: what they need is not known"
        yield Finding("doubtful", "nodes", nodes, reason, "give sizes with --shape")


def versions(contents: ModelFile, library: Selection) -> Iterator[Finding]:
    """Findings if a file is newer than a library."""
    if contents.schema_version > library.format:
        reason = (
            f"the file has format {contents.schema_version}, the library reads {library.format}"
        )
        yield Finding("missing", "format", (), reason, "update the app's runtime")
    needed, has = contents.min_runtime, version_tuple(library.version)
    if tuple(needed) > has:
        yield Finding(
            "missing",
            "runtime",
            (),
            f"the file needs runtime {'.'.join(map(str, needed))}, the library is {library.version}",
            f"update the app's runtime, or export with target_runtime={library.version}",
        )


def _operators(needs: Needs, library: Selection) -> Iterator[Finding]:
    absent: dict[tuple[str, str], list[str]] = {}
    for node in needs.nodes:
        if node.op not in library.ops:
            absent.setdefault((node.op, f"the library has no operator {node.op}"), []).append(
                node.node
            )
            continue
        have = library.ops[node.op]
        for dtype in sorted(node.dtypes - have) if have is not None else ():
            reason = f"the library has no {node.op} of {dtype}"
            absent.setdefault((node.op, reason), []).append(node.node)
    for (op, reason), nodes in absent.items():
        yield Finding("missing", op, tuple(nodes), reason, _REBUILD)


def _parts(needs: Needs, library: Selection) -> Iterator[Finding]:
    if library.parts is None:
        return
    # A bare-metal build never uses the parts that it lacks: its one session is strict and has no pool.
    has = library.parts | (HOSTED - {"custom"} if library.target in CPUS else frozenset())
    absent: dict[str, list[str]] = {}
    for node in needs.nodes:
        for part in sorted(node.parts - has):
            absent.setdefault(part, []).append(node.node)
    for part in sorted(needs.model_parts - has):
        absent.setdefault(part, [])
    for part, nodes in absent.items():
        yield Finding(
            "missing", part, tuple(nodes), f"the library was built without {part}", _REBUILD
        )


def library_text(path: str | os.PathLike[str], library: Selection) -> str:
    """The library in one line: name, version, operators and instruction sets."""
    sets = ", ".join((library.floor, *library.isa))
    where = f" for {library.target}" if library.target else ""
    if library.target == "source":
        where = " as C source"
    return f"{library_file(path).name} {library.version}{where} with {len(library.ops)} operators ({sets})"
