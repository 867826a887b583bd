# SPDX-License-Identifier: Apache-2.0
"""Private words of this project stay out of comments, messages and pages: docs/glossary.md lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.meta.test_spdx import is_source, tracked_files

_GLOSSARY = "docs/glossary.md"
# What was said in the past stays as it was said.
_HISTORY = {"CHANGELOG.md", _GLOSSARY}
# Comments and strings, of C and its relatives and of Python.
_PROSE = re.compile(
    r"""(//[^\n]*(?:\n\s*//[^\n]*)*  # lines of comment
    |/\*.*?\*/
    |\#[ ][^\n]*(?:\n\s*\#[ ][^\n]*)*
    |\"{3}.*?\"{3}
    |"(?:\\.|[^"\\\n])*")""",
    re.S | re.X,
)
_BREAK = re.compile(r"\s*\n\s*(?://+|\#|\*)?\s*")


def forbidden(glossary: str) -> list[tuple[re.Pattern[str], str]]:
    """The phrases of the glossary's second table, and what to write instead of each."""
    _, table = glossary.split("| instead of | write |")
    found = []
    for line in table.splitlines()[2:]:
        if not line.startswith("|"):
            break
        phrases, instead = (cell.strip() for cell in line.strip("|").split("|"))
        for phrase in phrases.split(", "):
            words = r"\s+".join(re.escape(w) for w in phrase.split())
            found.append((re.compile(rf"(?<![\w-]){words}(?![\w-])", re.I), instead))
    return found


def prose(path: Path, text: str) -> Iterator[str]:
    """What people read in a file: all of a page, else comments and strings, each on one line."""
    if path.suffix == ".md":
        yield _BREAK.sub(" ", text)
        return
    for piece in _PROSE.findall(text):
        yield _BREAK.sub(" ", piece)


def faults_of(path: Path, text: str, phrases: list[tuple[re.Pattern[str], str]]) -> list[str]:
    """Each private phrase of a file, with some words around it."""
    return [
        f"{piece[max(m.start() - 30, 0) : m.end() + 30]!r}: write {instead}"
        for piece in prose(path, text)
        for pattern, instead in phrases
        for m in pattern.finditer(piece)
    ]


def test_no_private_words(repo: Path) -> None:
    phrases = forbidden((repo / _GLOSSARY).read_text(encoding="utf-8"))
    faults = []
    for path in filter(is_source, tracked_files(repo)):
        name = path.relative_to(repo).as_posix()
        if name not in _HISTORY and path != Path(__file__):
            text = path.read_text(encoding="utf-8")
            faults += [f"{name}: {fault}" for fault in faults_of(path, text, phrases)]
    assert faults == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.c", "// Where a dim\n// is an open\n// dim.\n"),
        ("a.c", '  SMR_FAIL(error, "an open dim");\n'),
        ("a.py", '"""Of an open dim."""\n'),
        ("a.py", "x = 1  # an open dim\n"),
        ("a.md", "An **open dim** there.\n"),
    ],
)
def test_faults_are_noticed(name: str, text: str) -> None:
    phrases = forbidden(
        "| instead of | write |\n|---|---|\n| open dim, gap | symbolic dim |\n\nMore."
    )
    assert len(phrases) == 2
    (fault,) = faults_of(Path(name), text, phrases)
    assert fault.endswith("write symbolic dim")


def test_code_is_not_prose() -> None:
    phrases = forbidden("| instead of | write |\n|---|---|\n| pieces | partition |\n")
    assert faults_of(Path("a.c"), "args.pieces = 3;  // of the partition\n", phrases) == []
