# SPDX-License-Identifier: Apache-2.0
"""The tape: the nodes of recorded operators, what they save, and whether recording is on.

A node refers to the nodes of its inputs and never to its output tensors. So there are no reference
cycles, and a graph is freed together with its last tensor.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from samara.exporter.ops import GradContext, OpSpec
from samara.exporter.types import DType
from samara.pybridge.errors import SamaraError

if TYPE_CHECKING:
    from samara.exporter.frontend.graph import Tracer
    from samara.exporter.frontend.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])
Edge = tuple[Any, int]  # (Node, index of its output) or (leaf Tensor, 0)


TRACERS: Final[list[Any]] = []
"""The active tracers of all threads. While it is empty, eager code need not look for its own."""


class _Mode(threading.local):
    """Per thread: whether operators are recorded, and the active tracer."""

    enabled = True
    anomaly = False  # whether backward looks for NaN
    tracer: Any = None


MODE: Final = _Mode()
_order = itertools.count()
next_order: Final = _order.__next__


def tracing() -> Tracer | None:
    """The active tracer of this thread, if any."""
    found: Tracer | None = MODE.tracer
    return found


class set_grad_enabled:
    """Turn recording on or off, within a `with` block, in a decorated function, or from now on."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.previous = MODE.enabled
        MODE.enabled = self.mode

    def __call__(self, function: F) -> F:
        MODE.enabled = self.previous
        return (enable_grad if self.mode else no_grad)()(function)

    def __enter__(self) -> None:
        MODE.enabled = self.mode

    def __exit__(self, *error: object) -> None:
        MODE.enabled = self.previous


def run_inside(enter: Callable[[], Any], name: str, function: F) -> F:
    """`function`, decorated to run inside the context manager that `enter` makes."""
    if inspect.isgeneratorfunction(function):
        raise SamaraError(
            f"{function.__name__} is a generator, whose body would run after the decorator",
            fix=f"write `with {name}():` inside it",
        )

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return function(*args, **kwargs)

    return cast(F, run)


class _Switch:
    """A context manager and decorator that turns recording on or off."""

    mode: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Self:
        self = super().__new__(cls)
        self._previous = []
        return self if function is None else cast(Self, self(function))

    _previous: list[bool]

    def __enter__(self) -> None:
        self._previous.append(MODE.enabled)
        MODE.enabled = self.mode

    def __exit__(self, *error: object) -> None:
        MODE.enabled = self._previous.pop()

    def __call__(self, function: F) -> F:
        return run_inside(type(self), type(self).__name__, function)


class no_grad(_Switch):
    """Nothing inside is recorded: `with no_grad():`, or `@no_grad` on a function.

    >>> layer = nn.Linear(4, 2)
    >>> with samara.no_grad():
    ...     y = layer(samara.ones(1, 4))
    >>> y.requires_grad
    False
    """

    mode = False


class enable_grad(_Switch):
    """Record again inside a `no_grad` block."""

    mode = True


def is_grad_enabled() -> bool:
    """Return whether operators of this thread are recorded."""
    return MODE.enabled


class RemovableHandle:
    """The handle of a registered hook. `remove()`, a call, or leaving a `with` block removes the hook."""

    __slots__ = ("_hook", "_hooks")

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks = hooks
        self._hook = hook
        hooks.append(hook)

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        for i, hook in enumerate(self._hooks):
            if hook is self._hook:
                del self._hooks[i]
                break
        self._hooks = []

    __call__ = remove

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Saved:
    """A tensor saved for a gradient rule: its array, its version when saved, and its edge."""

    __slots__ = ("array", "edge", "seen", "version")

    def __init__(self, array: Any, version: list[int], edge: Edge | None) -> None:
        self.array = array
        self.version = version
        self.seen = version[0]
        self.edge = edge


class SavedOutput(Saved):
    """A saved output. Its edge would be the node that holds it, so it has none."""

    __slots__ = ("index",)

    def __init__(self, array: Any, version: list[int], index: int) -> None:
        super().__init__(array, version, None)
        self.index = index


class SavePlan:
    """Which inputs and outputs of an operator its gradient rule reads. Computed once per operator."""

    __slots__ = ("ins", "names", "outs", "variadic")

    def __init__(self, op: OpSpec) -> None:
        ins = [(i, n) for i, n in enumerate(op.inputs) if n.rstrip("?*") in op.saves]
        self.variadic = next((i for i, n in ins if n.endswith("*")), None)
        self.ins = tuple((i, n.rstrip("?*")) for i, n in ins if not n.endswith("*"))
        self.outs = tuple(
            (i, n.rstrip("?*")) for i, n in enumerate(op.outputs) if n.rstrip("?*") in op.saves
        )
        self.names = tuple(n for _, n in self.ins)


_plans: dict[OpSpec, SavePlan] = {}


def plan_of(op: OpSpec) -> SavePlan:
    """The operator's SavePlan."""
    plan = _plans.get(op)
    if plan is None:
        plan = _plans[op] = SavePlan(op)
    return plan


class Node:
    """One recorded application of an operator.

    edges: per input, where its gradient goes; None for an input that needs no gradient.
    """

    __slots__ = ("attrs", "dtypes", "edges", "hooks", "op", "order", "outputs", "saved", "shapes")

    op: OpSpec
    attrs: Mapping[str, Any]
    edges: tuple[Edge | None, ...]
    shapes: tuple[Any, ...]
    dtypes: tuple[Any, ...]
    saved: dict[str, Any] | None
    order: int
    outputs: tuple[tuple[tuple[int, ...], Any], ...] | None  # shape and dtype of each output
    hooks: dict[int, list[Callable[[Any], Any]]] | None

    foreign = False  # whether `backward` is user code, which may return memory that it keeps

    @property
    def name(self) -> str:
        """The operator's name, for messages and `grad_fn`."""
        return self.op.name

    def backward(
        self, dys: Sequence[Tensor | None], create_graph: bool, edges: Sequence[Edge | None]
    ) -> Sequence[Any]:
        """The gradient of each input by the operator's rule; None in `edges`: it is not needed."""
        if self.op.grad is None:
            raise SamaraError(f"{self.op.name} has no gradient rule", op=self.op.name)
        if self.saved is None:
            raise used_twice(self.name)
        saved = {name: self._unpack(value, create_graph) for name, value in self.saved.items()}
        return self.op.grad(
            GradContext(
                self.op,
                complete(self.op, self.attrs),
                dys,
                saved,
                self.shapes,
                self.dtypes,
                [e is not None for e in edges],
            )
        )

    def release(self) -> None:
        """Free the saved tensors. If there were any, a second backward pass raises."""
        if self.saved:
            self.saved = None

    def _unpack(self, value: Any, create_graph: bool) -> Any:
        if isinstance(value, SavedOutput):
            tensor = unpack(value, False, self.name)
            if create_graph:
                tensor._requires_grad, tensor._node, tensor._index = True, self, value.index
            return tensor
        if isinstance(value, Saved):
            return unpack(value, create_graph, self.name)
        if isinstance(value, tuple):
            return tuple(self._unpack(v, create_graph) for v in value)
        return value

    def __repr__(self) -> str:
        return f"<{self.name} backward>"


def unpack(value: Saved, create_graph: bool, name: str) -> Tensor:
    """The saved tensor; with its node of the tape if `create_graph`."""
    if value.version[0] != value.seen:
        raise SamaraError(
            f"a tensor of shape {list(value.array.shape)} that the gradient of {name} needs was "
            f"changed in place afterwards (version {value.seen} was saved, it is now at version "
            f"{value.version[0]})",
            op=name,
            fix="use the operation that makes a new tensor, or clone the tensor first",
        )
    tensor = wrap(value.array)
    if create_graph and value.edge is not None:
        target, index = value.edge
        if not isinstance(target, Node):
            return cast("Tensor", target)
        tensor._requires_grad = True
        tensor._node = target
        tensor._index = index
    return tensor


def used_twice(name: str) -> SamaraError:
    return SamaraError(
        f"the graph of {name} was freed by an earlier backward pass",
        op=name,
        fix="call the earlier backward with retain_graph=True",
    )


def _no_wrap(array: Any) -> Any:
    raise AssertionError("tensor.py sets this")


wrap: Callable[[Any], Tensor] = _no_wrap
"""Makes a Tensor over an array, without a copy. It is `wrap` of tensor.py, for the modules that
tensor.py imports.
"""


def set_wrap(function: Callable[[Any], Tensor]) -> None:
    """Set `wrap`; tensor.py calls this once."""
    global wrap
    wrap = function


_completed: dict[Any, Mapping[str, Any]] = {}


def complete(op: OpSpec, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """`op.complete(attrs)`, cached."""
    try:
        key = (op, *attrs.items())
        found = _completed.get(key)
    except TypeError:  # an unhashable attribute, such as a list
        return op.complete(attrs)
    if found is None:
        found = op.complete(attrs)
        if len(_completed) > 10000:
            _completed.clear()
        _completed[key] = found
    return found


def ir_dtype(dtype: Any) -> DType:
    """The DType of a numpy dtype, cached."""
    found = _dtypes.get(dtype)
    if found is None:
        found = _dtypes[dtype] = DType.from_numpy(dtype)
    return found


_dtypes: dict[Any, DType] = {}
