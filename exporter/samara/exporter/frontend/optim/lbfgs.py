# SPDX-License-Identifier: Apache-2.0
"""L-BFGS: a quasi-Newton method that keeps the last changes of parameters and gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

import numpy as np

from samara.exporter.frontend import tape
from samara.exporter.frontend.eager_only import refuse_traced
from samara.exporter.frontend.optim.line_search import Point, strong_wolfe
from samara.exporter.frontend.optim.optimizer import Optimizer, require
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError

Array = np.ndarray[Any, Any]
T = TypeVar("T")


class LBFGS(Optimizer):
    """Limited-memory BFGS (Nocedal and Wright, "Numerical Optimization", algorithm 7.4).

    One `step(closure)` makes up to `max_iter` iterations; closure clears the gradients, computes the
    loss, calls backward and returns the loss. `history_size` is the number of kept changes,
    `line_search_fn` None (length `lr`) or "strong_wolfe". A step returns the first loss. It ends
    early after `max_eval` calls of the closure (max_iter * 5 / 4 if None), when no gradient is above
    `tolerance_grad`, or when no parameter, or not the loss, changes by more than `tolerance_change`.

    It takes one group of parameters. Raises ArgumentError for a wrong setting and for a step without
    closure, and UnsupportedError in a trace: how often the closure runs depends on its values.

    PyTorch: `torch.optim.LBFGS`.

    >>> w = nn.Parameter(samara.tensor([3.0, -2.0]))
    >>> optimizer = samara.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - samara.tensor([1.0, 2.0])) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    20.0
    >>> [round(v, 3) for v in w.tolist()]
    [1.0, 2.0]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        require("lr", lr, 0.0)
        require("history_size", history_size, 1)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(
                f"there is no line search {line_search_fn!r}", fix='use None or "strong_wolfe"'
            )
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Raise ArgumentError for a second group: one direction is computed for all parameters."""
        if self.param_groups:
            raise ArgumentError("LBFGS takes one group of parameters", fix="pass them in one list")
        super().add_param_group(param_group)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], T]) -> T: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make up to `max_iter` iterations; return the loss that `closure` returned first."""
        if closure is None:
            raise ArgumentError(
                "LBFGS evaluates the loss several times in a step",
                fix="pass step a function that clears the gradients, computes the loss, calls "
                "backward and returns the loss",
            )
        with tape.enable_grad():
            first = closure()
        refuse_traced("optim.LBFGS", first)
        with tape.no_grad():
            _Run(self, closure, float(first)).iterate()
        for hook in tuple(self._step_hooks):
            hook(self)
        return first

    def _restored(self, name: str, value: Any, p: Tensor) -> Any:
        """A stored value as its own copy: vectors are as long as all parameters together."""
        if isinstance(value, (list, tuple)):
            return [self._restored(name, v, p) for v in value]
        if not isinstance(value, (Tensor, np.ndarray)):
            return value
        array = np.asarray(value.detach()._data if isinstance(value, Tensor) else value)
        if array.ndim == 0:
            return float(array)
        length = sum(int(q._data.size) for q in self.param_groups[0]["params"])
        if array.shape != (length,):
            raise ShapeError(
                f"state {name!r} has shape {list(array.shape)}, the parameters {length} elements"
            )
        return wrap(array.copy())


class _Run:
    """One step of an optimizer: its vectors as arrays, and its state as it changes."""

    def __init__(self, optimizer: LBFGS, closure: Callable[[], Any], loss: float) -> None:
        self.settings = optimizer.param_groups[0]
        self.params: list[Tensor] = self.settings["params"]
        self.state = optimizer.state.setdefault(self.params[0], {})
        self.closure = closure
        self.loss = loss
        self.gradient = self._gradient()
        self.calls = 1

    def iterate(self) -> None:
        state, settings = self.state, self.settings
        before = int(state.get("func_evals", 0))
        state.setdefault("n_iter", 0)
        for i in range(settings["max_iter"] if not self._flat() else 0):
            direction = self._direction()
            state["prev_flat_grad"], state["prev_loss"] = wrap(self.gradient), self.loss
            state["d"], state["t"] = wrap(direction), self._first_length()
            slope = float(self.gradient @ direction)
            if slope > -settings["tolerance_change"]:
                break
            self._move(direction, slope, i + 1 == settings["max_iter"])
            if self._done(direction):
                break
        state["func_evals"] = before + self.calls

    def _direction(self) -> Array:
        """The direction of the next move: minus the estimated inverse Hessian times the gradient."""
        state = self.state
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return np.negative(self.gradient)
        self._remember()
        rows = [(y._data, s._data, float(r)) for y, s, r in zip(
            state["old_dirs"], state["old_stps"], state["ro"], strict=True)]  # fmt: skip
        q = np.negative(self.gradient)
        shares = []
        for y, s, r in reversed(rows):
            shares.append(float(s @ q) * r)
            q = q - y * q.dtype.type(shares[-1])
        q = q * q.dtype.type(float(state["H_diag"]))
        for (y, s, r), share in zip(rows, reversed(shares), strict=True):
            q = q + s * q.dtype.type(share - float(y @ q) * r)
        return q

    def _remember(self) -> None:
        """Keep the last change of gradient and parameters, if the curvature along it is positive."""
        state = self.state
        y = self.gradient - state["prev_flat_grad"]._data
        s = state["d"]._data * y.dtype.type(state["t"])
        curvature = float(y @ s)
        if not curvature > 1e-10:
            return
        keep = self.settings["history_size"] - 1
        news: Mapping[str, Any] = {"old_dirs": wrap(y), "old_stps": wrap(s), "ro": 1 / curvature}
        for name, new in news.items():  # new lists: those of a state_dict must not change
            state[name] = [*state[name][max(0, len(state[name]) - keep) :], new]
        state["H_diag"] = curvature / float(y @ y)

    def _first_length(self) -> float:
        lr = float(self.settings["lr"])
        if self.state["n_iter"] > 1:
            return lr
        return min(1.0, 1.0 / float(np.abs(self.gradient).sum())) * lr

    def _move(self, direction: Array, slope: float, last: bool) -> None:
        state, settings = self.state, self.settings
        origin = [p._data.copy() for p in self.params]
        if settings["line_search_fn"] is None:
            self._place(origin, direction, state["t"])
            if not last:
                self._evaluate()
            return
        start = Point(0.0, self.loss, self.gradient, slope)

        def measure(t: float) -> Point:
            self._place(origin, direction, t)
            self._evaluate()
            return Point(t, self.loss, self.gradient, float(self.gradient @ direction))

        tolerance = 1e-9  # of the search itself, as in PyTorch: not the setting
        most = settings["max_eval"] - self.calls
        found = strong_wolfe(measure, start, state["t"], direction, tolerance, most)
        state["t"], self.loss, self.gradient = found.t, found.loss, found.gradient
        self._place(origin, direction, found.t)

    def _done(self, direction: Array) -> bool:
        settings, change = self.settings, self.settings["tolerance_change"]
        return bool(
            self.calls >= settings["max_eval"]
            or self._flat()
            or np.abs(direction * self.state["t"]).max() <= change
            or abs(self.loss - self.state["prev_loss"]) < change
        )

    def _flat(self) -> bool:
        return bool(np.abs(self.gradient).max() <= self.settings["tolerance_grad"])

    def _evaluate(self) -> None:
        with tape.enable_grad():
            self.loss = float(self.closure())
        self.gradient = self._gradient()
        self.calls += 1

    def _gradient(self) -> Array:
        """All gradients as one vector; 0 where a parameter has none."""
        parts = [
            np.zeros(p._data.size, p._data.dtype) if p._grad is None else p._grad._data.reshape(-1)
            for p in self.params
        ]
        return np.concatenate(parts)

    def _place(self, origin: list[Array], direction: Array, t: float) -> None:
        """Set the parameters to origin + t * direction."""
        at = 0
        for p, base in zip(self.params, origin, strict=True):
            part = direction[at : at + base.size].reshape(base.shape)
            p.copy_(wrap(np.asarray(base + part * part.dtype.type(t), base.dtype)))
            at += base.size
