# SPDX-License-Identifier: Apache-2.0
"""The custom operators that a Program needs, and which parts of them this process has."""

from __future__ import annotations

from dataclasses import dataclass

from samara.exporter import ops
from samara.exporter.ir.program import Program
from samara.exporter.ops import find_custom_op
from samara.pybridge.custom import registered_kernels

__all__ = ["RequiredOp", "required_ops"]


@dataclass(frozen=True, slots=True)
class RequiredOp:
    """A custom operator that a Program's nodes name.

    nodes: the names of these nodes. reference: whether a reference is registered here, for Program.run. library:
    where a Session of this process finds its kernel, None if nowhere.
    """

    name: str
    nodes: tuple[str, ...]
    reference: bool
    library: str | None

    @property
    def missing(self) -> str:
        """What this process lacks to run it, in words; "" for nothing."""
        lacks = [] if self.reference else ["a reference"]
        lacks += [] if self.library is not None else ["a library"]
        return " and ".join(lacks)


def required_ops(program: Program) -> tuple[RequiredOp, ...]:
    """The custom operators of all functions of a Program, sorted by name."""
    nodes: dict[str, list[str]] = {}
    for function in program.functions.values():
        for node in function.nodes:
            if node.op is ops.custom:
                nodes.setdefault(node.attrs["name"], []).append(node.name)
    kernels = registered_kernels()
    return tuple(
        RequiredOp(name, tuple(nodes[name]), find_custom_op(name) is not None, kernels.get(name))
        for name in sorted(nodes)
    )
