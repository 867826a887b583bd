# SPDX-License-Identifier: Apache-2.0
"""The tape: what a recorded operator saves, and whether recording is on.

A node points at the nodes of its inputs and never at its own outputs' tensors, so a graph is a
tree of references that is freed as soon as its last tensor goes.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from samara.exporter.ops import GradContext, OpSpec
from samara.exporter.types import DType
from samara.pybridge.errors import SamaraError

if TYPE_CHECKING:
    from samara.exporter.frontend.graph import Tracer
    from samara.exporter.frontend.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])
Edge = tuple[Any, int]  # (a Node and which of its outputs) or (a leaf Tensor and 0)


TRACERS: Final[list[Any]] = []
"""The tracers at work in any thread: while there are none, eager code need not look for its own."""


class _Mode(threading.local):
    """Per thread: whether operators are recorded, and the trace that is at work."""

    enabled = True
    anomaly = False  # whether backward looks for NaN
    tracer: Any = None


MODE: Final = _Mode()
_order = itertools.count()
next_order: Final = _order.__next__


def tracing() -> Tracer | None:
    """The tracer at work in this thread, if any."""
    found: Tracer | None = MODE.tracer
    return found


class set_grad_enabled:
    """Record operators or not, within a `with` block, in a decorated function, or from now on."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.previous = MODE.enabled
        MODE.enabled = self.mode

    def __call__(self, function: F) -> F:
        MODE.enabled = self.previous
        return (enable_grad if self.mode else no_grad)()(function)

    def __enter__(self) -> None:
        MODE.enabled = self.mode

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        MODE.enabled = self.previous


class _Switch:
    """A context manager and decorator that sets the mode while it is entered."""

    mode: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Self:
        self = super().__new__(cls)
        self._previous = []
        return self if function is None else cast(Self, self(function))

    _previous: list[bool]

    def __enter__(self) -> None:
        self._previous.append(MODE.enabled)
        MODE.enabled = self.mode

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        MODE.enabled = self._previous.pop()

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            raise SamaraError(
                f"{function.__name__} is a generator, whose body would run after the decorator",
                fix=f"write `with {type(self).__name__}():` inside it",
            )

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return cast(F, run)


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
    """What registering a hook gives: `remove()`, a call or leaving a `with` block removes it."""

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
    """One tensor that a rule will want: its array, the version it had, and where it came from."""

    __slots__ = ("array", "edge", "seen", "version")

    def __init__(self, array: Any, version: list[int], edge: Edge | None) -> None:
        self.array = array
        self.version = version
        self.seen = version[0]
        self.edge = edge


class SavedOutput(Saved):
    """A saved output. Its edge is the node that holds it, so it is not stored."""

    __slots__ = ("index",)

    def __init__(self, array: Any, version: list[int], index: int) -> None:
        super().__init__(array, version, None)
        self.index = index


class SavePlan:
    """Which inputs and outputs of an operator its rule reads, worked out once."""

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

    edges: per input, where its gradient goes; None where none is wanted.
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

    foreign = False  # whether `backward` is a user's code, which may hand out what it keeps

    @property
    def name(self) -> str:
        """Of the operator, for messages and `grad_fn`."""
        return self.op.name

    def backward(
        self, dys: Sequence[Tensor | None], create_graph: bool, edges: Sequence[Edge | None]
    ) -> Sequence[Any]:
        """The gradient of each input, by the operator's rule; `edges`: those that are wanted."""
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
        """Drop what was saved; if that was anything, a second backward pass is an error."""
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
    """The saved tensor; with its place in the graph where gradients will be recorded."""
    if value.version[0] != value.seen:
        raise SamaraError(
            f"a tensor of shape {list(value.array.shape)} that the gradient of {name} needs was "
            f"changed in place afterwards (it is at version {value.version[0]}, "
            f"{value.seen} was saved)",
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
"""Makes a Tensor over an array, without a copy. Modules whose functions are methods of Tensor lie
below it and make tensors by `tape.wrap`; those above import `wrap` of tensor.py, which is the same.
"""


def set_wrap(function: Callable[[Any], Tensor]) -> None:
    """Say how an array becomes a Tensor; tensor.py does so once."""
    global wrap
    wrap = function


_completed: dict[Any, Mapping[str, Any]] = {}


def complete(op: OpSpec, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """`op.complete(attrs)`, remembered."""
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
    """The DType of a numpy dtype, remembered."""
    found = _dtypes.get(dtype)
    if found is None:
        found = _dtypes[dtype] = DType.from_numpy(dtype)
    return found


_dtypes: dict[Any, DType] = {}
