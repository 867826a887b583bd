# SPDX-License-Identifier: Apache-2.0
"""The tracer of `samara.script`. It knows which branch or loop is being traced."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend.graph import GraphTensor, Tracer, user_frame
from samara.exporter.frontend.script.convert import converted
from samara.exporter.frontend.script.region import (
    Cell,
    Region,
    container_cell,
    tensor_cell,
    variable_cell,
)
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Source, Value
from samara.exporter.ops import Guard
from samara.exporter.types import as_dim
from samara.pybridge.errors import ScriptError


class ScriptTracer(Tracer):
    """A tracer for rewritten code, which calls `handlers`, the module runtime.

    `handlers` is a parameter because runtime.py imports this module.
    """

    def __init__(
        self, name: str, state: Mapping[int, Tensor], handlers: Any, strict: bool = True
    ) -> None:
        super().__init__(name, state, strict)
        self.handlers = handlers
        self.region: Region | None = None
        self.failure: ScriptError | None = None
        self.young: dict[int, tuple[Any, int]] = {}  # containers that traced code made -> clock
        self.checks: dict[str, _Check] = {}
        self.attributes: list[tuple[Any, str, Any]] = []  # assigned attributes, with the old value
        self._active: dict[Any, list[int]] = {}  # running code -> region depths at its calls
        self._touched: dict[int, int] = {}  # temporaries that changed -> clock
        self._copies: dict[tuple[int, Value], tuple[Builder, Value]] = {}

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for obj, name, value in reversed(self.attributes):
            if value is _ABSENT:
                delattr(obj, name)
            else:
                setattr(obj, name, value)

    def convert(self, f: Any) -> Any:
        return converted(f, self.handlers)

    def fail(self, what: str, fix: str) -> ScriptError:
        """The error for the user's line. If user code catches it, the end of the capture raises it again."""
        file, line = user_frame()
        error = ScriptError(f"{file}:{line}: {what}", fix=fix)
        if self.failure is None:
            self.failure = error
        return error

    def source(self) -> Source:
        """The user's line that is being traced."""
        return Source(*user_frame(), self.scope[-1] if self.scope else "")

    # ---- values

    def lift(self, value: Any) -> Value:
        v = super().lift(value)
        if v.constant is None or self.builder is self.root:
            return v
        # The builder of a branch or loop cannot use a constant of an enclosing one, so it gets a copy.
        key = (id(self.builder), v)
        if key not in self._copies:
            copy = self.builder.const(v.constant, v.name, v.type.dtype)
            self._copies[key] = (self.builder, replace(copy, type=v.type))
        return self._copies[key][1]

    def backward(
        self, loss: GraphTensor, gradient: Tensor | None, inputs: Sequence[Tensor] | None
    ) -> None:
        """As `Tracer.backward`.

        The copy of a constant in a branch or loop has no gradient. Such tensors become variables,
        and the function is captured again.
        """
        inner = {v for _, v in self._copies}
        for t, v in tuple(self.lifted.values()):
            if t._requires_grad and v in inner and id(t) not in self.state:
                self.missed[id(t)] = self.state[id(t)] = self.taken[id(t)] = t
        super().backward(loss, gradient, inputs)

    # ---- changes in place

    def changing(self, t: GraphTensor) -> None:
        if self.region is not None:
            self.region.touch(tensor_cell(t))

    def touch(self, t: Tensor, temporary: bool = False) -> None:
        if temporary:
            self._touched[id(t)] = self.clock
        super().touch(t, temporary)

    def assign(self, t: Tensor, value: Tensor) -> None:
        self.lift(t)
        if self.region is not None:
            self.region.touch(variable_cell(self, t, self._touched.get(id(t), -1)))
        self.assigned[id(t)] = (t, self.lift(value))

    def made(self, obj: Any) -> Any:
        """Note that traced code has just made this container."""
        self.young[id(obj)] = (obj, self.clock)
        return obj

    def changing_container(self, obj: Any) -> None:
        if self.region is None or not isinstance(obj, (list, dict)):
            return
        born = self.young.get(id(obj), (obj, -1))[1]
        self.region.touch(container_cell(obj, _name_of(obj), born))

    def changing_attribute(self, obj: Any, name: str) -> None:
        """`obj.name` is about to be assigned."""
        own = getattr(obj, "__dict__", {})
        if name in own.get("_buffers", ()):
            return  # the buffer's value changes, which `assign` handles
        if self.region is not None:
            raise self.fail(
                f"the attribute '{name}' is assigned inside a branch or loop on a tensor",
                "use a local variable and assign the attribute afterwards, or make it a buffer "
                "with register_buffer",
            )
        self.attributes.append((obj, name, own.get(name, _ABSENT)))

    def write(self, cell: Cell, value: Any) -> None:
        """Set a cell to the output of a branch or loop."""
        if self.region is not None:
            self.region.touch(cell)
        cell.write(value)

    # ---- calls

    def calling(self, f: Any) -> list[int]:
        """The running calls of the user's function `f`, this one last; the caller pops it afterwards.

        Raises ScriptError for recursion that only tensors end.
        """
        code = getattr(getattr(f, "__func__", f), "__code__", None)
        around = self._active.setdefault(code, [])
        depth = 0 if self.region is None else self.region.depth
        # The number of calls that stand in a branch or loop which the call before them entered.
        nested = sum(1 for a, b in pairwise((0, *around, depth)) if b > a)
        if code is not None and nested > _RECURSIONS:
            raise self.fail(
                f"{f.__name__} calls itself, and how often is known only when the program runs",
                "write it as a `while` or `for` loop, or end the recursion by Python numbers",
            )
        around.append(depth)
        return around

    # ---- checks

    def require(self, condition: Any, message: str) -> None:
        """Make the run fail with `message` unless the traced `condition` holds.

        A condition inside a branch or loop becomes an output of it and is checked outside.
        """
        if message not in self.checks:
            self.checks[message] = _Check(self, message)
        check = self.checks[message]
        if self.region is not None:
            self.region.touch(check.cell)
        check.write(condition if check.holds is True else ops.logical_and(check.holds, condition))

    def guard(self, condition: Any, message: str) -> None:
        """Add a check to the function rather than to a node, so that no pass drops it with the node."""
        read = self.root.read(self.lift(condition), 0)
        self.root.guards.append(Guard("eq", read, as_dim(1), message))


class _Check:
    """One `assert` or `raise`. Inside a branch or loop, `holds` says whether it has held so far."""

    def __init__(self, tracer: ScriptTracer, message: str) -> None:
        self.tracer = tracer
        self.message = message
        self.holds: Any = True
        self.cell = Cell(("check", message), "an assertion", lambda: self.holds, self.write)

    def write(self, value: Any) -> None:
        if self.tracer.region is None and isinstance(value, GraphTensor):
            self.tracer.guard(value, self.message)
            value = True
        self.holds = value


_ABSENT: Any = object()
_RECURSIONS = (
    16  # limit of nested calls of one function, each in a branch or loop of the one before
)


def _name_of(obj: Any) -> str:
    """The name of an object in the user's function, for messages."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__", "").partition(".")[0] == "samara":
            continue
        for names in (frame.f_locals, frame.f_globals):
            for name, value in names.items():
                if value is obj and not name.startswith("_samara_"):
                    return f"'{name}'"
    return f"a {type(obj).__name__}"
