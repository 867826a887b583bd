# SPDX-License-Identifier: Apache-2.0
"""What optimisers share: parameter groups, state, and one call over all parameters per step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np

from samara.exporter.frontend import native, spans, tape
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.ops import OpSpec
from samara.exporter.types import ArgumentError
from samara.pybridge import op as bridge
from samara.pybridge.errors import ShapeError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Update:
    """How one parameter changes: an operator whose results are the new values of `targets`.

    A function of tensors, with the operator's arguments and results, stands for a step without one.
    """

    op: OpSpec | Callable[..., Sequence[Tensor]]
    inputs: tuple[Tensor | None, ...]
    attrs: Mapping[str, Any]
    targets: tuple[Tensor, ...]


class Optimizer:
    """Changes parameters by their gradients.

    params: tensors, or dicts {"params": tensors, setting: value} with settings of their own.
    Settings live in `param_groups` and may be changed between steps; `lr` may be a tensor.
    Subclasses define `update`.
    """

    def __init__(
        self, params: Iterable[Tensor] | Iterable[dict[str, Any]], defaults: dict[str, Any]
    ) -> None:
        if isinstance(params, Tensor):
            raise ArgumentError("an optimizer takes a list of parameters, not one tensor")
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Tensor, dict[str, Any]] = {}
        given = list(params)
        if not given:
            raise ArgumentError("the optimizer got no parameters")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)  # type: ignore[arg-type]
        self._ready: dict[Any, bridge.Prepared] = {}
        self._step_hooks: list[Callable[[Optimizer], None]] = []

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own."""
        params = param_group["params"]
        group = {
            **self.defaults,
            **param_group,
            "params": [params] if isinstance(params, Tensor) else list(params),
        }
        known = {id(p) for g in self.param_groups for p in g["params"]}
        for p in group["params"]:
            if not isinstance(p, Tensor) or p._node is not None:
                raise ArgumentError(
                    "an optimizer changes leaves only", fix="pass module.parameters()"
                )
            if id(p) in known:
                raise ArgumentError("a parameter appears twice among the groups")
            known.add(id(p))
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget gradients, or set them to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p._grad is None:
                    p._grad = None
                else:
                    p._grad = p._grad.detach().zero_()

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], T]) -> T: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient; returns what `closure` returned."""
        loss = None
        if closure is not None:
            with tape.enable_grad():
                loss = closure()
        with tape.no_grad(), spans.span("optimizer"):
            self._apply(list(self._updates()))
        for hook in tuple(self._step_hooks):
            hook(self)
        return loss

    def update(self, group: dict[str, Any], p: Tensor, g: Tensor, state: dict[str, Any]) -> Update:
        """How `p` changes for gradient `g`; `state` is kept between steps."""
        raise NotImplementedError

    def _updates(self) -> Iterator[Update]:
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    yield self.update(group, p, p._grad, self.state.setdefault(p, {}))

    def _apply(self, updates: Sequence[Update]) -> None:
        """One call of the C runtime for all float32 parameters; the operator itself for others."""
        items = []
        for u in updates:
            op = u.op
            traced = any(t is not None and t._symbolic for t in u.inputs)
            if traced:
                for target in u.targets:
                    tape.MODE.tracer.declare(target)
            if traced or not isinstance(op, OpSpec) or not _fits(u):
                got = op(*u.inputs, **u.attrs)
                for target, new in zip(u.targets, got, strict=False):
                    target.copy_(new)
                continue
            arrays = [None if t is None else t._data for t in u.inputs]
            items.append((self._prepared(op, u, arrays), arrays, [t._data for t in u.targets]))
            for t in u.targets:
                t._version[0] += 1
        if items:
            bridge.Batch(items).run()

    def _prepared(self, op: OpSpec, u: Update, arrays: Sequence[Any]) -> bridge.Prepared:
        key = (
            op,
            *u.attrs.items(),
            *(None if a is None else (a.shape, a.strides) for a in arrays),
        )
        found = self._ready.get(key)
        if found is None:
            found = self._ready[key] = native.prepare(op, arrays, u.attrs)[0]
        return found

    # ---- state

    def state_dict(self) -> dict[str, Any]:
        """Settings and state, parameters being numbered, as PyTorch has them."""
        numbers = self._numbers()
        groups = [
            {
                **{k: _plain(v) for k, v in g.items() if k != "params"},
                "params": [numbers[id(p)] for p in g["params"]],
            }
            for g in self.param_groups
        ]
        state = {numbers[id(p)]: dict(s) for p, s in self.state.items() if s}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave for the same groups. Raises SamaraError otherwise."""
        groups = state_dict["param_groups"]
        sizes = [len(g["params"]) for g in groups]
        own = [len(g["params"]) for g in self.param_groups]
        if sizes != own:
            raise ArgumentError(
                f"the state has groups of {sizes} parameters, the optimizer of {own}"
            )
        params = [p for g in self.param_groups for p in g["params"]]
        order = [n for g in groups for n in g["params"]]
        fresh: dict[Tensor, dict[str, Any]] = {}
        for n, p in zip(order, params, strict=True):
            stored = state_dict["state"].get(n, state_dict["state"].get(str(n)))
            if stored is not None:
                fresh[p] = {k: self._restored(k, v, p) for k, v in stored.items()}
        self.state = fresh
        for mine, given in zip(self.param_groups, groups, strict=True):
            mine.update({k: v for k, v in given.items() if k != "params"})

    def _restored(self, name: str, value: Any, p: Tensor) -> Any:
        """A value of a stored state as the optimizer keeps it: a copy. ShapeError if it does not fit."""
        if not isinstance(value, (Tensor, np.ndarray)):
            return value
        array = value.detach()._data if isinstance(value, Tensor) else value
        if array.ndim and array.shape != p._data.shape:
            raise ShapeError(
                f"state {name!r} has shape {list(array.shape)}, its parameter {list(p.shape)}"
            )
        follows = array.ndim == p._data.ndim and array.dtype.kind == "f" and name != "step"
        return wrap(np.array(array, p._data.dtype if follows else array.dtype))

    def _numbers(self) -> dict[int, int]:
        params = [p for g in self.param_groups for p in g["params"]]
        return {id(p): i for i, p in enumerate(params)}

    def register_step_post_hook(self, hook: Callable[[Optimizer], None]) -> Callable[[], None]:
        """Call hook(optimizer) after each step; returns a function that removes it."""
        self._step_hooks.append(hook)
        return lambda: self._step_hooks.remove(hook)

    def __repr__(self) -> str:
        text = ", ".join(f"{k}={v}" for k, v in self.defaults.items())
        return f"{type(self).__name__}({text})"


def _fits(u: Update) -> bool:
    """Whether every array is float32 and every target may be written where it lies."""
    if any(t is not None and t._data.dtype != np.float32 for t in u.inputs):
        return False
    return all(t._data.flags.c_contiguous and t._data.flags.writeable for t in u.targets)


def _plain(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def scalar(value: Any, like: Tensor) -> Tensor:
    """A setting as a 0-d tensor of the parameter's dtype."""
    if isinstance(value, Tensor):
        return value if value.dtype == like.dtype else value.type(like.dtype)
    return wrap(np.asarray(value, like.dtype))


def zeros(p: Tensor) -> Tensor:
    """Zeros of a parameter's shape and dtype, in row-major order."""
    return wrap(np.zeros(p.shape, p.dtype))


def count(state: dict[str, Any], p: Tensor) -> Tensor:
    """state["step"], one higher: how often the parameter has been changed, this time included."""
    if "step" not in state:
        state["step"] = wrap(np.zeros((), np.float32))
    if tape.MODE.tracer is not None:
        tape.MODE.tracer.declare(state["step"])
    state["step"].add_(1.0)
    step = state["step"]
    return step if step.dtype == p.dtype else step.type(p.dtype)


def require(name: str, value: Any, low: float, high: float = float("inf")) -> None:
    """SamaraError unless low <= value < high (a tensor is not looked at)."""
    if not isinstance(value, Tensor) and not low <= value < high:
        raise ArgumentError(f"{name} is {value}", fix=f"it must be at least {low} and below {high}")
