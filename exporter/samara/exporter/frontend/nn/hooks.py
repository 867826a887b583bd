# SPDX-License-Identifier: Apache-2.0
"""Backward hooks of modules: gates on the tape at a module's inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from samara.exporter.frontend.autograd import Function
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError

Gradients = tuple[Tensor | None, ...]


class Backward(NamedTuple):
    """A backward hook, called `before` or after the gradients go through the module."""

    call: Callable[..., Any]
    before: bool = False


class _Gate(Function):
    """Returns its tensors unchanged; `turn` may replace their gradients."""

    @staticmethod
    def forward(ctx: Any, turn: Callable[[Gradients], Gradients], *tensors: Tensor) -> Any:
        ctx.turn = turn
        return tensors

    @staticmethod
    def backward(ctx: Any, *dys: Tensor | None) -> Any:
        return (None, *ctx.turn(dys))


class BackwardHooks:
    """The backward hooks of one call of a module."""

    def __init__(self, module: Any, hooks: Sequence[Backward]) -> None:
        self.module = module
        self.before = [h.call for h in hooks if h.before]
        self.after = [h.call for h in hooks if not h.before]
        self.inputs = 0
        self.gated = False
        self.outputs: Gradients | None = None  # the gradients of the outputs, once known

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The positional arguments; those that need gradients pass a gate."""
        self.inputs = len(args)
        if not self.after:
            return args
        at = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
        if not at:
            return args
        self.gated = True

        def turn(dys: Gradients) -> Gradients:
            found = self._called(_scattered(self.inputs, at, dys))
            return tuple(found[i] for i in at)

        new = list(args)
        for i, t in zip(at, _Gate.apply(turn, *(args[i] for i in at)), strict=True):
            new[i] = t
        return tuple(new)

    def leave(self, out: Any) -> Any:
        """The output; its tensors that need gradients pass a gate."""
        tensors: list[Tensor] = []
        _tensors(out, tensors)
        at = [i for i, t in enumerate(tensors) if t.requires_grad]
        if not at:
            return out

        def turn(dys: Gradients) -> Gradients:
            found = _scattered(len(tensors), at, dys)
            for hook in self.before:
                found = self._replaced(hook(self.module, found), found, "grad_output")
            self.outputs = found
            if not self.gated:
                self._called((None,) * self.inputs)
            return tuple(found[i] for i in at)

        new: dict[int, Tensor] = dict(enumerate(tensors))
        new.update(zip(at, _Gate.apply(turn, *(tensors[i] for i in at)), strict=True))
        return _with(out, iter(new.values()))

    def _called(self, grads: Gradients) -> Gradients:
        for hook in self.after:
            grads = self._replaced(
                hook(self.module, grads, self.outputs or ()), grads, "grad_input"
            )
        return grads

    def _replaced(self, new: Any, old: Gradients, what: str) -> Gradients:
        if new is None:
            return old
        new = tuple(new) if isinstance(new, (tuple, list)) else (new,)
        if len(new) != len(old):
            raise SamaraError(
                f"a backward hook of {type(self.module).__name__} returned {len(new)} gradients for"
                f" {what} of {len(old)}",
                fix="return None, or as many gradients as it was given",
            )
        return new


def _scattered(count: int, at: Sequence[int], dys: Gradients) -> Gradients:
    """`count` gradients: those of the positions `at`, None elsewhere."""
    known = dict(zip(at, dys, strict=True))
    return tuple(known.get(i) for i in range(count))


def _tensors(value: Any, into: list[Tensor]) -> None:
    """The tensors of an output, in order."""
    if isinstance(value, Tensor):
        into.append(value)
    elif isinstance(value, (tuple, list, dict)):
        for v in value.values() if isinstance(value, dict) else value:
            _tensors(v, into)


def _with(value: Any, tensors: Any) -> Any:
    """The output with other tensors."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with(v, tensors) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_with(v, tensors) for v in value)
    if isinstance(value, dict):
        return type(value)((k, _with(v, tensors)) for k, v in value.items())
    return value
