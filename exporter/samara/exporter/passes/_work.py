# SPDX-License-Identifier: Apache-2.0
"""How long the runs of a check may take, by an estimate that is the same on every machine.

What is checked, and so which passes are kept, must not depend on how busy a machine is. So the limit counts
the time that nodes would take on a slow laptop, not the time that they took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from samara.exporter.ir.evaluate import evaluate_node
from samara.exporter.ir.kernel_node import kernel_node
from samara.exporter.ir.program import Array, Node, Program
from samara.exporter.types import Dim, Sym

# Seconds of all runs. Per node and per byte of constants they are ten times what an import takes.
LEAST: Final = 0.5
PER_NODE: Final = 1e-3
PER_BYTE: Final = 5e-9
MOST: Final = 15.0

_LARGE: Final = 1_000_000  # operations from which a kernel gains more than its preparation costs
_CALL: Final = 3e-5  # seconds of a node whatever its size
_KERNEL_RATE: Final = 4e10  # operations per second of two cores
ELEMENT: Final = 5e-8  # seconds of drawing an element at random, or of comparing it
_NODE: Final = 1e-5  # seconds per node of a program of which a part is cut out
_NUMPY_RATE: Final = 1e9  # elements per second, as most references pass over them several times


class OverspentError(Exception):
    """A run would take longer than what is left."""


class Work:
    """Computes the nodes of a check, large ones by C kernels, and counts their estimated seconds."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.seconds = 0.0

    @property
    def left(self) -> float:
        return self.limit - self.seconds

    def count(self, array: Array) -> None:
        """Add the seconds of drawing the array at random, or of comparing it with another one."""
        self.seconds += array.size * ELEMENT

    def cut(self, nodes: int) -> None:
        """Add the seconds of cutting a part out of a program of so many nodes."""
        self.seconds += nodes * _NODE

    def __call__(
        self,
        node: Node,
        arrays: Sequence[Array | None],
        attrs: Mapping[str, Any],
        dim: Callable[[Dim], int],
    ) -> tuple[Array, ...]:
        """The outputs of a node (an `Evaluate`). Raises OverspentError before a node that exceeds the limit."""
        kernel, reference = _seconds(node, arrays, dim)
        if kernel is not None:
            self._spend(kernel)
            made = kernel_node(node, arrays, attrs, dim)
            if made is not None:
                return made
        self._spend(reference)
        return evaluate_node(node, arrays, attrs)

    def _spend(self, seconds: float) -> None:
        self.seconds += seconds + _CALL
        if self.seconds > self.limit:
            raise OverspentError


def work_for(program: Program) -> Work:
    """The work that checking all passes over the program may take."""
    count, size = 0, 0
    for f in program.functions.values():
        count += len(f.nodes)
        size += sum(v.constant.nbytes for v in f.values() if v.constant is not None)
    return Work(min(MOST, max(LEAST, PER_NODE * count + PER_BYTE * size)))


def least_seconds(program: Program, entry: str, shapes: Mapping[str, Sequence[int]]) -> float:
    """The estimated seconds of a run on inputs of these shapes, without what bodies of loops take and what depends
    on data.
    """
    f = program.functions[entry]
    sizes = {
        atom.name: n
        for v in f.inputs
        if v.name in shapes
        for d, n in zip(v.type.shape, shapes[v.name], strict=False)
        if isinstance(atom := d.sole_atom(), Sym)
    }

    def dim(d: Dim) -> int:
        return d.evaluate(sizes)

    total = 0.0
    for node in f.nodes:
        kernel, reference = _seconds(node, (), dim)
        total += _CALL + (reference if kernel is None else kernel)
    return total


def _seconds(
    node: Node, arrays: Sequence[Array | None], dim: Callable[[Dim], int]
) -> tuple[float | None, float]:
    """The estimates for the kernel, None if it should not be used, and for the reference."""
    count = _operations(node, dim)
    size = sum(a.size for a in arrays if a is not None)
    # The references of operators that only move data are about as fast.
    heavy = count >= _LARGE and not node.op.may_move
    return (count / _KERNEL_RATE if heavy else None), (size + count) / _NUMPY_RATE


def _operations(node: Node, dim: Callable[[Dim], int]) -> int:
    """Operations by the table's cost rule; 0 if they depend on the result."""
    assert node.op.cost is not None
    inputs = [None if v is None else v.type for v in node.inputs]
    try:
        return dim(node.op.cost(node.attrs, inputs, [v.type for v in node.outputs])[0])
    except (KeyError, TypeError, OverflowError, ZeroDivisionError):
        return 0
