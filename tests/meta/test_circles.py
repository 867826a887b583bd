# SPDX-License-Identifier: Apache-2.0
"""No modules import each other in a circle, neither at module level nor inside functions.

Imports for type checkers do not count, and neither do package files, which only re-export. A module
that calls functions of one above it holds a slot for them, which that one fills.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

# Source root -> the package part that lies in it.
ROOTS = {
    "exporter/samara/exporter": "samara.exporter",
    "pybridge/samara/pybridge": "samara.pybridge",
    "cli/samara/cli": "samara.cli",
}

Graph = Mapping[str, set[str]]


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _imported(node: ast.AST, inside: bool) -> Iterator[tuple[str, str]]:
    """(module, name) of every import below `node` that runs; those in functions if `inside`."""
    if isinstance(node, ast.If) and _is_type_checking(node.test):
        for otherwise in node.orelse:
            yield from _imported(otherwise, inside)
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not inside:
        return
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from ((node.module, alias.name) for alias in node.names)
    for below in ast.iter_child_nodes(node):
        yield from _imported(below, inside)


def imports(repo: Path, inside: bool) -> Graph:
    """Module -> modules that it imports. Package files, which only re-export, do not count."""
    files = {
        ".".join((room, *path.relative_to(repo / root).with_suffix("").parts)): path
        for root, room in ROOTS.items()
        for path in sorted((repo / root).rglob("*.py"))
        if path.name != "__init__.py"
    }
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        found = {f"{m}.{n}" if f"{m}.{n}" in files else m for m, n in _imported(tree, inside)}
        graph[name] = found & files.keys()
    return graph


def circles(graph: Graph) -> set[str]:
    """Sets of modules that all reach each other, as `package: modules`."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        todo, seen = [start], set[str]()
        while todo:
            new = graph[todo.pop()] - seen
            seen |= new
            todo += new
        reached[start] = seen
    found = set()
    for start, seen in reached.items():
        if start not in seen:
            continue
        names = sorted(m.removeprefix("samara.exporter.") for m in seen if start in reached[m])
        package = ".".join(_common([name.split(".")[:-1] for name in names]))
        short = [n.removeprefix(f"{package}.") for n in names]
        found.add(f"{package}: {' '.join(short)}")
    return found


def _common(paths: list[list[str]]) -> list[str]:
    return [parts[0] for parts in zip(*paths, strict=False) if len(set(parts)) == 1]


@pytest.mark.parametrize("inside", [False, True], ids=["module level", "inside functions"])
def test_no_circles(repo: Path, inside: bool) -> None:
    assert circles(imports(repo, inside)) == set()


@pytest.mark.parametrize(
    ("line", "outer", "inner"),
    [
        ("from samara.exporter.ir import b", 1, 1),
        ("import samara.exporter.ir.b", 1, 1),
        ("def f():\n    from samara.exporter.ir.b import g", 0, 1),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import samara.exporter.ir.b",
            0,
            0,
        ),
        ("import numpy", 0, 0),
    ],
)
def test_planted_circles(tmp_path: Path, line: str, outer: int, inner: int) -> None:
    folder = tmp_path / "exporter/samara/exporter/ir"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text(line + "\n")
    (folder / "b.py").write_text("from samara.exporter.ir.a import x\n")
    assert circles(imports(tmp_path, inside=False)) == ({"ir: a b"} if outer else set())
    assert circles(imports(tmp_path, inside=True)) == ({"ir: a b"} if inner else set())
