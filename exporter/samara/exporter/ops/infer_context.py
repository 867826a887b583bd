# SPDX-License-Identifier: Apache-2.0
"""What a shape rule sees of a node, and the guards that it leaves to the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from samara.exporter.types import (
    Dim,
    DimLike,
    DType,
    RangeError,
    ShapeError,
    TensorType,
    Tri,
    as_dim,
    compare,
    provably_ge,
)

if TYPE_CHECKING:
    from samara.exporter.ops.spec import OpSpec

Signature = tuple[tuple[TensorType, ...], tuple[TensorType, ...]]


@dataclass(frozen=True, slots=True)
class Guard:
    """A relation over dims that must hold when a function runs: `a relation b`."""

    relation: Literal["eq", "le", "lt"]
    a: Dim
    b: Dim
    message: str
    node: str = ""


class InferContext:
    """A shape rule's view of a node, with methods that add guards and born dims.

    `inputs[i]` is None if an optional input is absent. Attributes read as fields: `ctx.axis`.
    A rule raises `error` for an invalid node and calls `require_*` for relations that must hold. A
    relation that cannot be decided now becomes a guard of the function.
    """

    def __init__(
        self,
        op: OpSpec,
        inputs: Sequence[TensorType | None],
        attrs: Mapping[str, Any],
        node: str = "",
        output_count: int | None = None,
        born: Callable[[int, int], Dim] | None = None,
        functions: Callable[[str], Signature] | None = None,
        scalars: Callable[[int], Dim | None] | None = None,
    ) -> None:
        """`born(output, axis)` makes the dim of a born axis, `functions(name)` tells a signature.

        `scalars(i)` gives the value of the scalar input i as a dim if it is known (a constant, or a tensor that
        dims may read), else None.
        """
        # Rules read attributes often, and __getattr__ is slow. Methods keep their names.
        vars(self).update({name: a for name, a in attrs.items() if name not in _OWN_NAMES})
        self.op = op
        self.inputs = tuple(inputs)
        self.attrs = attrs
        self.node = node
        self.output_count = output_count
        self.guards: list[Guard] = []
        self.bounds: dict[tuple[int, int], Dim] = {}
        self._born = born
        self._functions = functions
        self._scalars = scalars

    def __getattr__(self, name: str) -> Any:
        try:
            return self.attrs[name]
        except KeyError:
            raise AttributeError(f"{self.op.name} has no attribute {name!r}") from None

    @property
    def x(self) -> TensorType:
        """The first input."""
        return self.required(0)

    def required(self, index: int) -> TensorType:
        """Type of input `index`; ShapeError when it is absent."""
        if index >= len(self.inputs) or (t := self.inputs[index]) is None:
            raise self.error(f"input {index} is required")
        return t

    def optional(self, index: int) -> TensorType | None:
        """Type of input `index`, or None if it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def axis_of(self, axis: int, rank: int | None = None) -> int:
        """`axis` counted from the front; RangeError when out of range."""
        rank = self.x.rank if rank is None else rank
        if not -rank <= axis < rank:
            text = f"axis {axis} is out of range for rank {rank}"
            raise RangeError(text, op=self.op.name, node=self.node if self.node else None)
        return axis % rank if rank else 0

    def error(self, message: str, fix: str | None = None) -> ShapeError:
        """The error to raise; it names the operator and the node."""
        return ShapeError(message, op=self.op.name, node=self.node if self.node else None, fix=fix)

    def fail(self, message: str, fix: str | None = None) -> None:
        """Raise `error`."""
        raise self.error(message, fix)

    def require(self, holds: bool, message: str) -> None:
        """ShapeError unless `holds`."""
        if not holds:
            raise self.error(message)

    def require_eq(self, a: DimLike, b: DimLike, message: str) -> None:
        """`a == b`: proven, refuted (ShapeError), or left to a guard."""
        verdict = compare(a, b)
        if verdict is Tri.NO:
            raise self.error(f"{message} (got {a} and {b})")
        if verdict is Tri.UNKNOWN:
            self._guard("eq", as_dim(a), as_dim(b), message)

    def require_ge(self, a: DimLike, b: DimLike, message: str) -> None:
        """`a >= b`, in the same way."""
        if provably_ge(a, b):
            return
        a, b = as_dim(a), as_dim(b)
        if provably_ge(b, a + 1):
            raise self.error(f"{message} (got {a}, needs at least {b})")
        self._guard("le", b, a, message)

    def _guard(self, relation: Literal["eq", "le"], a: Dim, b: Dim, message: str) -> None:
        guard = Guard(relation, a, b, f"{self.op.name}: {message}", self.node)
        if guard not in self.guards:
            self.guards.append(guard)

    def born(self, output: int, axis: int, bound: Dim | None) -> Dim:
        """A dim known only when the node has run; `bound`: an upper bound, or None."""
        if self._born is None:
            raise self.error("a data-dependent shape cannot be derived here")
        if bound is not None:
            self.bounds[output, axis] = bound
        return self._born(output, axis)

    def scalar(self, index: int) -> Dim | None:
        """The value of scalar input `index`, if it is known."""
        return None if self._scalars is None else self._scalars(index)

    def signature(self, function: str) -> Signature:
        """(input types, output types) of a function of the Program."""
        if self._functions is None:
            raise self.error("control flow cannot be inferred outside a Program")
        return self._functions(function)

    def check_inputs(self) -> None:
        """Number of inputs, and the dtype of the first; `define` runs it before every rule."""
        op, inputs = self.op, self.inputs
        low, high = op.min_inputs, op.max_inputs
        if len(inputs) < low or (high is not None and len(inputs) > high):
            expected = f"at least {low}" if high is None else f"{low} to {high}"
            raise self.error(f"{len(inputs)} inputs, expected {expected}")
        for index in range(low):
            if inputs[index] is None and op.inputs[index][-1] not in "?*":
                self.required(index)
        first = inputs[0] if inputs else None
        if first is not None and op.dtypes and first.dtype.short not in op.dtypes:
            raise self.error(
                f"{self.op.inputs[0].rstrip('?*')} is {first.dtype.public_name}, expected one of "
                + ", ".join(DType.parse(d).public_name for d in self.op.dtypes),
                fix="cast it first",
            )


_OWN_NAMES = frozenset(dir(InferContext))
