# SPDX-License-Identifier: Apache-2.0
"""Every file opens with its licence and says what it is for; no file tells of its making."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SPDX = "SPDX-License-Identifier: Apache-2.0"

SOURCE_SUFFIXES = {
    *(".c", ".h", ".inc", ".cl", ".fbs", ".py", ".pyi", ".sh", ".cmake", ".toml", ".md", ".html"),
    *(".java", ".kt", ".swift", ".gradle", ".js", ".css"),
}
SOURCE_NAMES = {"Makefile", "CMakeLists.txt", ".clang-format", ".editorconfig", "run"}

# Written in pieces, so that this file does not hold them.
FORBIDDEN = {
    "unfinished work": re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b"),
    "a promise": re.compile(r"\bfor n" r"ow\b|not implemented y" r"et|\bplace" r"holder\b", re.I),
    "who made it": re.compile(r"\b(this|the|see|in) (iss" r"ue|tick" r"et) #?\d+", re.I),
}


def tracked_files(repo: Path) -> list[Path]:
    """Files that git knows or would add; of an unpacked archive, all that matter."""
    if shutil.which("git") is None or not (repo / ".git").exists():
        generated = {".venv", "build", "dist", "__pycache__"}
        return [p for p in sorted(repo.rglob("*")) if p.is_file() and not generated & set(p.parts)]
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=repo, capture_output=True, text=True, check=True).stdout
    return sorted(repo / name for name in set(listing.split("\0")) if (repo / name).is_file())


def is_source(path: Path) -> bool:
    """Whether the file is written by people or generators, as opposed to data and licence texts."""
    return path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES


def head_fault(path: Path, text: str) -> str | None:
    """Why the opening of a source file is wrong, or None."""
    lines = text.splitlines()
    # What other programs want to find in the first line goes before the licence.
    start = 1 if lines and lines[0].startswith(("#!", "// swift-tools-version:")) else 0
    if len(lines) <= start or SPDX not in lines[start]:
        return "does not open with its SPDX line"
    if path.suffix in (".md", ".html") or path.name == "__init__.py":
        return None
    following = " ".join(line.strip() for line in lines[start + 1 : start + 4])
    if not re.match(r'^(//|/\*|\*|#|r?""")\W*\w+', following) or following.startswith("#include"):
        return "does not say in a sentence what it is for"
    return None


def text_faults(repo: Path, text: str) -> list[str]:
    """Forbidden words and paths of this machine in a file's text."""
    faults = [what for what, pattern in FORBIDDEN.items() if pattern.search(text)]
    places = {str(repo.resolve()), str(repo.resolve().parent), str(Path.home())} - {"/"}
    faults += [f"a path of this machine: {place}" for place in places if f"{place}/" in text]
    return faults


def test_files_open_with_licence_and_purpose(repo: Path) -> None:
    faults = []
    for path in filter(is_source, tracked_files(repo)):
        fault = head_fault(path, path.read_text(encoding="utf-8"))
        if fault is not None:
            faults.append(f"{path.relative_to(repo)} {fault}")
    assert faults == []


def test_files_tell_nothing_of_their_making(repo: Path) -> None:
    faults = []
    for path in filter(is_source, tracked_files(repo)):
        found = text_faults(repo, path.read_text(encoding="utf-8"))
        faults += [f"{path.relative_to(repo)}: {fault}" for fault in found]
    assert faults == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.c", f"// {SPDX}\n// Adds numbers.\n"),
        ("a.h", f"/* {SPDX} */\n/* Adds numbers. */\n"),
        ("a.py", f'# {SPDX}\n"""Adds numbers."""\n'),
        ("a.sh", f"#!/bin/sh\n# {SPDX}\n# Adds numbers.\n"),
        ("Package.swift", f"// swift-tools-version:5.9\n// {SPDX}\n// Adds numbers.\n"),
        ("__init__.py", f"# {SPDX}\n"),
    ],
)
def test_good_heads(name: str, text: str) -> None:
    assert head_fault(Path(name), text) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.c", ""),
        ("a.c", "// Adds numbers.\n"),
        ("a.c", f"// {SPDX}\n#include <math.h>\n"),
        ("a.py", f"# {SPDX}\nimport numpy\n"),
        ("a.py", f'"""Adds numbers."""\n# {SPDX}\n'),
    ],
)
def test_bad_heads(name: str, text: str) -> None:
    assert head_fault(Path(name), text) is not None


def test_planted_words(repo: Path) -> None:
    assert text_faults(repo, "// plain words about a hacksaw\n") == []
    for planted in ("// TO" + "DO: later", "works for n" + "ow", "see iss" + "ue 12", f"{repo}/x"):
        assert len(text_faults(repo, planted)) >= 1
