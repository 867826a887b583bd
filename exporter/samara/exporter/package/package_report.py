# SPDX-License-Identifier: Apache-2.0
"""What is said about a package that was written for apps of one kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samara.exporter.package.selection import Selection


@dataclass(frozen=True, slots=True)
class PackageReport:
    """The result: the folder and its files with their bytes; `compiler` is None if nothing was compiled."""

    out: Path
    selection: Selection
    files: dict[str, int]
    compiler: str | None = None
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        """The first lines of `text`: what it is, and what it contains."""
        raise NotImplementedError

    def advice(self) -> list[str]:
        """The last lines of `text`: how it is used."""
        raise NotImplementedError

    def text(self) -> str:
        """For a terminal."""
        lines = [*self.heading(), *(f"  {size:>11,}  {name}" for name, size in self.files.items())]
        return "\n".join([*lines, *self.advice(), *(f"note: {note}" for note in self.notes)])

    def to_json(self) -> dict[str, Any]:
        """As plain dicts, lists, strings and numbers."""
        return {
            "out": str(self.out),
            "target": self.selection.target,
            "compiler": self.compiler,
            "isa": list(self.selection.isa),
            "operators": sorted(self.selection.ops),
            "files": self.files,
            "notes": list(self.notes),
        }


def files_of(folder: Path) -> dict[str, int]:
    """The files below a folder with their bytes, without those that lie behind links."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not _is_linked(path, folder)
    }


def _is_linked(path: Path, folder: Path) -> bool:
    """Whether a path below `folder` leads through a link."""
    return any(part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(folder))
