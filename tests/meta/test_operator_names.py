# SPDX-License-Identifier: Apache-2.0
"""What an operator is stands in its row: nobody else knows operators by the text of their names.

Rooms beyond the table and the importers speak of rows (`node.op is ops.transpose`), which must
exist when the module is imported, or ask them (`node.op.kind`, `node.op.integer`). Names as text are
left to what is written or read by people: Python's and NumPy's own names of functions, recipes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from samara.exporter.ops import all_ops

NAMES = {op.name for op in all_ops()}
EXPORTER = Path("exporter/samara/exporter")
# The table itself, and what maps names of another world onto it.
TABLE = ("ops", "importers")
# Files that hold lists of such words, and whose words they are.
WORDS = {
    "frontend/nn/functional/__init__.py": "the public names of functions, as PyTorch has them",
    "frontend/_ufuncs.py": "NumPy's functions by name, and the functions that they become",
    "frontend/script/runtime.py": "the operators of Python's grammar: + is `add`",
    "frontend/script/calls.py": "methods of tensors that take sizes",
    "ir/conditions.py": "relations between dims: eq, lt, le",
    "ir/interpret.py": "the same",
    "ir/printer.py": "the same",
    "ir/schema.py": "the same",
    "ir/verify.py": "the same",
    "testing.py": "the same",
}


def sources() -> list[str]:
    """Python files of the exporter beyond the table, relative to it."""
    root = Path(__file__).parents[2] / EXPORTER
    found = (str(p.relative_to(root).as_posix()) for p in root.rglob("*.py"))
    return sorted(f for f in found if f.split("/")[0] not in TABLE)


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in NAMES


def _texts(node: ast.AST) -> bool:
    """Whether this is `….op.name`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "name"
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "op"
    )


def _elements(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return list(node.elts)
    return [k for k in node.keys if k is not None] if isinstance(node, ast.Dict) else []


def faults(text: str) -> Iterator[str]:
    """Where a source knows operators by name, in words."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            named = [e for s in sides for e in (s, *_elements(s)) if _is_name(e)]
            if named and any(map(_texts, sides)):
                yield f"line {node.lineno}: compare rows: `node.op is ops.…`, or ask the row"
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            place = {"op": 0, "replace_node": 1}.get(called)
            if isinstance(node.func, ast.Name) and node.func.id == "get_op":
                place = 0
            if place is not None and len(node.args) > place and _is_name(node.args[place]):
                yield f"line {node.lineno}: give the row, ops.…, and not its name"


def lists(text: str) -> Iterator[str]:
    """Collections of three or more operator names."""
    for node in ast.walk(ast.parse(text)):
        named = [e for e in _elements(node) if _is_name(e)]
        if len(named) > 2:
            yield f"line {named[0].lineno}: a list of operators: make it a fact of their rows"


@pytest.mark.parametrize("source", sources())
def test_operators_are_known_by_their_rows(repo: Path, source: str) -> None:
    text = (repo / EXPORTER / source).read_text(encoding="utf-8")
    found = list(faults(text)) + (list(lists(text)) if source not in WORDS else [])
    assert not found, f"{source}: " + "; ".join(found)


def test_every_file_of_words_holds_some(repo: Path) -> None:
    for source in WORDS:
        assert list(lists((repo / EXPORTER / source).read_text(encoding="utf-8"))), source


@pytest.mark.parametrize(
    "text",
    [
        'if node.op.name == "conv": pass',
        'if n.op.name in ("relu", "clamp"): pass',
        'r.op("transpose", x, before=node)',
        'r.replace_node(node, "mul", a, b)',
        'spec = get_op("cast")',
        'LINEAR = ("conv", "conv_transpose", "matmul")',
        'COLOURS = {"conv": 1, "matmul": 2, "softmax": 3}',
    ],
)
def test_the_rule_sees(text: str) -> None:
    assert [*faults(text), *lists(text)]


@pytest.mark.parametrize("text", ["if node.op is ops.conv: pass", 'kinds = ("conv1d", "relu")'])
def test_the_rule_lets_pass(text: str) -> None:
    assert not [*faults(text), *lists(text)]
