# SPDX-License-Identifier: Apache-2.0
"""A branch or loop body while it is traced: its builder, and what it changes outside.

Python objects that a body changes in place (tensors, lists, dicts, variables of the program) are
cells. Their contents are restored when the body ends; the new contents become outputs of the body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from samara.exporter.frontend.graph import GraphTensor
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ir.builder import Builder

if TYPE_CHECKING:
    from samara.exporter.frontend.script.tracer import ScriptTracer


@dataclass(frozen=True, slots=True)
class Seen:
    """A snapshot of an object: a tensor's value, or the parts of a container."""

    obj: Any
    value: Any

    @property
    def parts(self) -> dict[Any, Seen] | None:
        """The parts of a container by key or position; None for anything else."""
        return self.value if isinstance(self.obj, (list, tuple, dict)) else None


def seen(obj: Any) -> Seen:
    """A snapshot of `obj`."""
    if isinstance(obj, GraphTensor):
        return Seen(obj, obj._value)
    if isinstance(obj, dict):
        return Seen(obj, {k: seen(v) for k, v in obj.items()})
    if isinstance(obj, (list, tuple)):
        return Seen(obj, dict(enumerate(map(seen, obj))))
    return Seen(obj, obj)


def rebuilt(like: Any, parts: dict[Any, Any]) -> Any:
    """A container of the type of `like` with other parts."""
    if isinstance(like, dict):
        made = type(like)()
        made.update(parts)
        return made
    if hasattr(like, "_fields"):
        return type(like)(*parts.values())
    return type(like)(parts.values())


@dataclass(frozen=True, slots=True)
class Cell:
    """Something that changes in place; its contents can be read and restored.

    `born` is the tracer's clock when it was made. A body that made it itself need not restore it.
    """

    key: Any
    label: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    born: int = -1


def tensor_cell(t: GraphTensor) -> Cell:
    """The value of a traced tensor."""
    return Cell(
        ("tensor", id(t)),
        "a tensor changed in place",
        lambda: GraphTensor.of(t._tracer, t._value),
        lambda new: t._set(new._value),
        t._born,
    )


def variable_cell(tracer: ScriptTracer, t: Tensor, born: int) -> Cell:
    """The value of an eager tensor that traced code changes in place."""

    def read() -> Any:
        known = tracer.assigned.get(id(t))
        return GraphTensor.of(tracer, tracer.lift(t) if known is None else known[1])

    def write(new: Any) -> None:
        tracer.assigned[id(t)] = (t, new._value)

    return Cell(("variable", id(t)), tracer.names.get(id(t), "a tensor"), read, write, born)


def container_cell(obj: Any, label: str, born: int) -> Cell:
    """The contents of a list or dict."""

    def write(new: Any) -> None:
        if isinstance(obj, list):
            obj[:] = new
        else:
            obj.clear()
            obj.update(new)

    return Cell(("container", id(obj)), label, lambda: obj.copy(), write, born)


class Region:
    """A child of the tracer's builder, current inside `with`. Leaving it restores all cells.

    `changes` has the cells that were touched and their contents at the end.
    """

    def __init__(self, tracer: ScriptTracer, name: str) -> None:
        self.tracer = tracer
        self.parent = tracer.builder
        self.outer = tracer.region
        self.depth: int = 1 if self.outer is None else self.outer.depth + 1
        self.child: Builder = tracer.builder.child(name)
        self.start = 0
        self.changes: dict[Any, tuple[Cell, Seen]] = {}
        self._before: dict[Any, tuple[Cell, Any]] = {}

    def __enter__(self) -> Region:
        tracer = self.tracer
        tracer.clock += 1
        self.start = tracer.clock
        tracer.builder, tracer.region = self.child, self
        return self

    def __exit__(self, *error: object) -> None:
        self.changes = {k: (c, seen(c.read())) for k, (c, _) in self._before.items()}
        for cell, before in self._before.values():
            cell.write(before)
        self.tracer.builder, self.tracer.region = self.parent, self.outer

    def touch(self, cell: Cell) -> None:
        """Remember the contents of a cell that is about to change."""
        if cell.born < self.start and cell.key not in self._before:
            self._before[cell.key] = (cell, cell.read())

    def discard(self) -> None:
        """Forget what was traced here."""
        self.parent.program.forget(self.child.name)
