# SPDX-License-Identifier: Apache-2.0
"""The C side's data for a row's `check`: the check class, its form, and the dims of its tensors.

A row gives `check` in one of three ways: a class ("conv"), a class and one of its forms ("norm grad"), or
the dims of its tensors ("x [N W] -> order [N] first [N]"), which the class `shapes` compares.
runtime_c/src/ops/check/check.h lists classes and forms; check_shapes.c reads the dims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from samara.exporter.ops import OpSpec

CHECK_H = "runtime_c/src/ops/check/check.h"

_TENSOR = re.compile(r"(\w+) \[([^\]]*)\]")
_TERM = re.compile(r"(\d?)([A-Z]|[a-z_][a-z_0-9]*)?(\*?)")
# The comment of each declaration, which says what the class checks.
_CLASS = re.compile(
    r"((?:^/// .*\n)+)^samara_status smr_check_(\w+)\(const struct smr_job \*job\);$", re.M
)
_LISTS = ("ints", "dims")
_NUMBERS = ("int", "dim")


class Columns(NamedTuple):
    """The columns for a check in the C table."""

    check_class: str
    form: str
    shapes: str


def columns(op: OpSpec) -> Columns:
    """The columns of this operator. ValueError for dims that C could not read."""
    if "[" in op.check:
        sides = op.check.split("->")
        inputs, outputs = ([*_TENSOR.findall(side)] for side in sides)
        _verify(op, inputs, outputs)
        return Columns("shapes", "SMR_FORM_PLAIN", _text(op, inputs) + r"\0" + _text(op, outputs))
    name, *form = op.check.split()
    return Columns(name, f"SMR_FORM_{form[0].upper() if form else 'PLAIN'}", "")


def _text(op: OpSpec, tensors: Sequence[tuple[str, str]]) -> str:
    """Names and terms as check_shapes.c reads them, in the escapes of a C string."""
    numbers = {a.name: chr(ord("a") + i) for i, a in enumerate(op.attrs)}
    text = ""
    for name, terms in tensors:
        made = [
            (numbers.get(word, word) or ".") + star + number
            for number, word, star in _terms(op, terms)
        ]
        text += rf"{name}\0{''.join(made)}\0"
    return text


def _verify(
    op: OpSpec, inputs: Sequence[tuple[str, str]], outputs: Sequence[tuple[str, str]]
) -> None:
    def refuse(why: str) -> None:
        raise ValueError(f"{op.name}: check {op.check!r}: {why}")

    spelt = " ".join(f"{name} [{terms}]" for name, terms in inputs)
    spelt += " -> " if inputs else "-> "
    if spelt + " ".join(f"{name} [{terms}]" for name, terms in outputs) != op.check:
        refuse("expected 'name [terms] ... -> name [terms] ...'")
    for side, names in ((inputs, op.inputs), (outputs, op.outputs)):
        if [name for name, _ in side] != [n.rstrip("?*") for n in names[: len(side)]]:
            refuse(f"the tensors are {', '.join(names)}, in this order")
    if len(outputs) != len(op.outputs) or len(inputs) not in (0, len(op.inputs)):
        refuse("all inputs (or none) and all outputs have dims")
    kinds: dict[str, bool] = {}  # letter -> whether it stands for several dims
    known: set[str] = set()  # letters that earlier tensors are certain to define
    for name, terms in (*inputs, *outputs):
        runs: list[str] = []  # letters for several dims that this tensor may define
        here: set[str] = set()
        for number, word, star in _terms(op, terms):
            run = bool(star)
            if word == "":
                if number == "" or run:
                    refuse(f"{terms!r} has an empty term")
            elif word.isupper():
                if kinds.setdefault(word, run) != run:
                    refuse(f"{word} stands for one dim in one place and for several in another")
                if number and (run or word not in known):
                    refuse(
                        f"{number}{word} is a multiple of a letter that is not defined yet, or stands for several dims"
                    )
                if run and word not in known:
                    runs.append(word)
                here.add(word)
            else:
                attr = next((a for a in op.attrs if a.name == word), None)
                if attr is None or attr.type not in (_LISTS if run else _NUMBERS):
                    kind = "a list" if run else "a number"
                    refuse(f"there is no attribute {word} that is {kind}")
        if len(runs) > 1:
            refuse(f"the dims of {name} can be split in more than one way")
        if name in op.inputs:  # optional inputs may be absent
            known |= here


def _terms(op: OpSpec, terms: str) -> Iterator[tuple[str, str, str]]:
    for text in terms.split():
        found = _TERM.fullmatch(text)
        if found is None:
            raise ValueError(f"{op.name}: check {op.check!r}: no term {text!r}")
        yield found[1], found[2] or "", found[3]


def class_texts(header: str) -> dict[str, str]:
    """What each check class checks, from the comments of check.h."""
    return {
        name: " ".join(line.removeprefix("/// ") for line in comment.splitlines())
        for comment, name in _CLASS.findall(header)
    }


def note(op: OpSpec) -> str:
    """An operator's check in docs/reference/ops.md."""
    return f"dims `{op.check}`" if "[" in op.check else f"check class `{op.check}`"


def docs(header: str, ops: Sequence[OpSpec]) -> list[str]:
    """The section of docs/reference/ops.md about check classes."""
    users: dict[str, list[str]] = {}
    for op in ops:
        if "control" not in op.flags:
            users.setdefault(columns(op).check_class, []).append(op.name)
    lines = [
        "",
        "## Check classes",
        "",
        "Before a node is planned, the runtime compares its dims and attributes, whatever the file"
        " says. Each operator names the class that does so for it, or states the dims of its"
        " tensors (class `shapes`); dtypes and what else an operator needs are checked by its own"
        " C file.",
        "",
        "| class | what it establishes | operators |",
        "|---|---|---|",
    ]
    for name, text in class_texts(header).items():
        named = users[name]
        short = (
            ", ".join(named) if len(named) < 12 else f"{len(named)}, such as {', '.join(named[:3])}"
        )
        lines.append(f"| {name} | {text} | {short} |")
    return lines
