# SPDX-License-Identifier: Apache-2.0
"""Text that every Python has: docstrings of the standard library, and the topics of `help()`."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sysconfig
import types
import zlib
from pathlib import Path

# Folders of the standard library that are tests, data or other people's packages.
SKIPPED = {
    *("__pycache__", "dist-packages", "ensurepip", "encodings", "idlelib", "lib2to3"),
    *("pydoc_data", "site-packages", "test", "tests", "turtledemo"),
}
# A small part of it, for a quick run.
FEW = ("argparse", "collections", "json", "logging", "os", "random", "statistics", "textwrap")
# Modules whose functions are asked about; the names of the first are written without it.
ASKED = ("builtins", "os.path", "textwrap")


def documents(quick: bool = False) -> list[str]:
    """Texts, each once and in an order that depends on the Python version alone."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found = {}
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        if SKIPPED.isdisjoint(inside.parts) and not (quick and inside.parts[0] not in _names(FEW)):
            found |= dict.fromkeys(_docstrings(path))
    if not quick:
        topics = importlib.import_module("pydoc_data.topics").topics
        found |= dict.fromkeys(text for _, text in sorted(topics.items()))
    return [text for text in map(_tidy, found) if len(text) > 40]


def _names(modules: tuple[str, ...]) -> set[str]:
    """Files and folders of modules."""
    return {*modules, *(f"{name}.py" for name in modules)}


def _docstrings(path: Path) -> list[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (n for n in ast.walk(ast.parse(path.read_bytes())) if isinstance(n, kinds))
    return [text for text in map(ast.get_docstring, nodes) if text]


def _tidy(text: str) -> str:
    """Lines without blanks at their ends; rows of one sign are cut to three."""
    text = re.sub(r"([^\w\s])\1{3,}", r"\1\1\1", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def split(texts: list[str]) -> tuple[list[str], list[str]]:
    """For training, and held out: every twentieth by a checksum of the text, so neither has a text of the other."""
    kept, held = [], []
    for text in texts:
        (held if zlib.crc32(text.encode()) % 20 == 0 else kept).append(text)
    return kept, held


def chats(quick: bool = False) -> list[tuple[str, str]]:
    """Questions and answers: what a function does, by the first sentence of its docstring."""
    kinds = (types.FunctionType, types.BuiltinFunctionType)
    pairs = []
    for module in ASKED:
        for name, value in sorted(vars(importlib.import_module(module)).items()):
            answer = first_sentence(inspect.getdoc(value) or "")
            if isinstance(value, kinds) and name[0] != "_" and _is_plain(answer):
                spoken = name if module == "builtins" else f"{module}.{name}"
                pairs.append((f"What does {spoken} do?", answer))
    return pairs[:12] if quick else pairs


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) ", paragraph)[0]


def _is_plain(sentence: str) -> bool:
    """Neither a signature nor a fragment, nor too long for a small net."""
    return 10 < len(sentence) <= 100 and "(" not in sentence
