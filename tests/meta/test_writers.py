# SPDX-License-Identifier: Apache-2.0
"""Files are written in one place, pybridge/atomic.py: nothing else in the rooms opens one to write."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOMS = ("exporter/samara", "pybridge/samara", "cli/samara")
# File -> calls it may make, and why.
ALLOWED: dict[str, tuple[frozenset[str], str]] = {
    "pybridge/samara/pybridge/atomic.py": (
        frozenset(
            {"open", "write_bytes", "mkdir", "rename", "replace", "move", "copyfileobj"}
            | {"NamedTemporaryFile"}
        ),
        "the one place",
    ),
    "exporter/samara/exporter/package/runtime_build.py": (
        frozenset({"mkdir", "copytree", "copy", "symlink_to"}),
        "in the folder that atomic.replacing_folder shows when it is whole",
    ),
    "exporter/samara/exporter/package/xcframework.py": (
        frozenset({"symlink_to", "copytree", "copyfile"}),
        "links in the folder that atomic.replacing_folder shows when it is whole",
    ),
    "exporter/samara/exporter/launcher/launching.py": (
        frozenset({"write_text"}),
        "the owner's name, in a temporary folder of its own",
    ),
    "exporter/samara/exporter/launcher/launched.py": (
        frozenset({"open", "replace"}),
        "notes for a running launcher, before numpy or the bridge may be imported",
    ),
    "exporter/samara/exporter/testing_text.py": (
        frozenset({"mkdir", "write_text"}),
        "the folder of a tiny model, for tests",
    ),
    "exporter/samara/exporter/package/java.py": (frozenset({"ZipFile"}), "an archive in memory"),
    "pybridge/samara/pybridge/array_files.py": (
        frozenset({"ZipFile", "open"}),
        "an archive in the file that atomic.replacing gives",
    ),
}
_METHODS = {
    *("write_text", "write_bytes", "tofile", "savez", "savez_compressed", "mkdir", "makedirs"),
    *("symlink_to", "hardlink_to", "copyfile", "copytree", "copy2", "NamedTemporaryFile"),
}
# Names that other things have too: only of these modules, or with a path.
_OF_MODULES = {
    "os": {"rename", "replace", "link", "symlink", "mkdir"},
    "shutil": {"copy", "move", "copyfileobj"},
    "np": {"save", "savez", "savez_compressed", "savetxt"},
}
_WRITING = set("wax+")


def _mode(node: ast.Call, position: int) -> str:
    given = [k.value for k in node.keywords if k.arg == "mode"] or node.args[
        position : position + 1
    ]
    if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
        return given[0].value
    return ""


def _writes(node: ast.Call) -> str | None:
    """The name of the call where it writes a file or makes a folder."""
    f = node.func
    if isinstance(f, ast.Name):
        return "open" if f.id == "open" and _WRITING & set(_mode(node, 1)) else None
    if not isinstance(f, ast.Attribute):
        return None
    if f.attr == "open" and _WRITING & set(_mode(node, 0) + _mode(node, 1)):
        return "open"
    if f.attr == "ZipFile" and _WRITING & set(_mode(node, 1)):
        return "ZipFile"
    owner = f.value.id if isinstance(f.value, ast.Name) else ""
    if f.attr in _METHODS or f.attr in _OF_MODULES.get(owner, ()):
        return f.attr
    if f.attr == "touch" and not node.args:
        return "touch"
    # Path.rename and Path.replace take one argument, str.replace two, dataclasses.replace names.
    return f.attr if f.attr in ("rename", "replace") and len(node.args) == 1 else None


def faults(repo: Path) -> list[str]:
    """Calls that write outside of the allowed files, as `file:line: call`."""
    found = []
    for room in ROOMS:
        for path in sorted((repo / room).rglob("*.py")):
            name = path.relative_to(repo).as_posix()
            allowed = ALLOWED.get(name, (frozenset(), ""))[0]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), name)):
                call = _writes(node) if isinstance(node, ast.Call) else None
                one = isinstance(node, ast.Call) and bool(node.keywords)
                if call == "replace" and one:  # dataclasses.replace(x, field=…)
                    continue
                if call is not None and call not in allowed:
                    found.append(f"{name}:{node.lineno}: {call}")  # type: ignore[attr-defined]
    return found


def test_nothing_else_writes(repo: Path) -> None:
    assert faults(repo) == []


@pytest.mark.parametrize(
    "line",
    [
        "open('a', 'w')",
        "open('a', mode='ab')",
        "path.open('w')",
        "path.write_text('')",
        "path.write_bytes(b'')",
        "np.save('a', x)",
        "np.savez('a', x=x)",
        "array.tofile('a')",
        "zipfile.ZipFile('a', 'w')",
        "path.mkdir()",
        "os.replace('a', 'b')",
        "path.rename(other)",
        "shutil.copytree('a', 'b')",
    ],
)
def test_planted(tmp_path: Path, line: str) -> None:
    file = tmp_path / "exporter/samara/exporter/planted.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"open('a'); path.open('rb'); text.replace('a', 'b'); replace(x, a=1)\n{line}\n"
    )
    assert [fault.split(":")[:2] for fault in faults(tmp_path)] == [
        ["exporter/samara/exporter/planted.py", "2"]
    ]
