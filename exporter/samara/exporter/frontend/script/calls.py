# SPDX-License-Identifier: Apache-2.0
"""Calls and indexing in rewritten code: user functions, Python builtins, sizes from tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType
from typing import Any, cast

from samara.exporter import ops
from samara.exporter.frontend import creation
from samara.exporter.frontend.graph import GraphTensor
from samara.exporter.frontend.script.texts import depends, spoken
from samara.exporter.frontend.script.values import (
    as_size,
    describe,
    is_traced,
    script_tracer,
    traced,
    truth,
    use,
)
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import Dim, DType, as_dim, dmax, dmin
from samara.pybridge.errors import SamaraError

_CHANGES: dict[type[Any], set[str]] = {
    list: {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
    dict: {"update", "pop", "popitem", "clear", "setdefault"},
}
# Methods of tensors that take sizes.
_SIZED = frozenset(
    ("reshape", "view", "expand", "broadcast_to", "repeat", "tile", "narrow", "unflatten")
)
_FRESH = (list, dict, set, sorted)
_BUILTIN = (BuiltinFunctionType, type)


def call(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`f(*args, **kwargs)`. A user function is called in its rewritten form."""
    tracer = script_tracer()
    f = use(f)
    special = _special(f)
    if special is not None:
        got = special(*args, **kwargs)
        if got is not NotImplemented:
            return got
    owner = getattr(f, "__self__", None)
    if getattr(f, "__name__", "") in _CHANGES.get(type(owner), ()):
        tracer.changing_container(owner)
    if isinstance(owner, Tensor) and getattr(f, "__name__", "") in _SIZED:
        args = as_size(args)
        kwargs = {k: as_size(v) for k, v in kwargs.items()}
    text = spoken(f, (), args, kwargs)
    if text is not NotImplemented:
        return text
    if getattr(f, "__module__", "") == creation.__name__ and f.__name__ in creation.__all__:
        return _created(f, args, kwargs)
    if isinstance(f, _BUILTIN) and getattr(f, "__module__", None) in ("builtins", "math", None):
        out = refusing(f"{getattr(f, '__name__', f)}()", f, args, kwargs)
        return tracer.made(out) if f in _FRESH else out
    calls = tracer.calling(f)
    try:
        return tracer.convert(f)(*args, **kwargs)
    finally:
        calls.pop()


def call_said(sources: tuple[str, ...], f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`call` of a function that may make a text; `sources` has the source text of the arguments."""
    text = spoken(use(f), sources, args, kwargs)
    return call(f, *args, **kwargs) if text is NotImplemented else text


def refusing(what: str, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """`f(*args, **kwargs)`; ScriptError if it fails because an argument is traced."""
    try:
        return f(*args, **(kwargs or {}))
    except SamaraError:
        raise
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        escaped = "does not belong to function" in str(error)
        if escaped or not depends([*args, *(kwargs or {}).values()]):
            raise
        given = ", ".join(describe(a) for a in args)
        raise script_tracer().fail(
            f"{what} of {given}, which is known only when the program runs: {error}",
            "use a tensor operation",
        ) from None


def _created(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a creation function with traced sizes. The new tensor is traced, so it may change in place."""
    if f.__name__ in ("zeros", "ones", "full", "empty", "arange"):
        head = args[:1] if f.__name__ == "full" else args
        args = (*as_size(tuple(head)), *args[len(head) :])
    out = f(*args, **kwargs)
    if type(out) is Tensor and out._node is None and not out.requires_grad:
        known = script_tracer().names
        if id(out) not in known and not any(out is a for a in args):
            return traced(out)
    return out


def item(obj: Any, index: Any) -> Any:
    """`obj[index]`."""
    obj = use(obj)
    if isinstance(obj, Tensor):
        return obj[_tensor_index(index)]
    if isinstance(obj, (list, tuple, str)) and is_traced(index):
        raise script_tracer().fail(
            f"a {type(obj).__name__} is indexed by a value that is known only when the program runs",
            "stack the tensors and index the stacked tensor; choose between modules with `if`",
        )
    if isinstance(obj, (list, tuple)) and isinstance(index, slice):
        if any(map(is_traced, (index.start, index.stop, index.step))):
            raise script_tracer().fail(
                f"a {type(obj).__name__} is sliced at a position that is known only when the program runs",
                "stack the tensors and slice the stacked tensor",
            )
        return script_tracer().made(obj[index])
    return obj[index]


def _tensor_index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_tensor_index, index))
    if isinstance(index, slice):
        return as_size(index)
    if isinstance(index, Dim) and not index.is_static:
        return traced(index)
    return index


class TensorRange:
    """`range` with traced start, stop or step."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step

    def trips(self) -> GraphTensor:
        """The number of trips."""
        if not isinstance(self.step, int):
            raise script_tracer().fail(
                "the step of this range is a tensor", "use a Python int as the step"
            )
        if self.step == 0:
            raise ValueError("range() arg 3 must not be zero")
        if self.step == 1 and _is_zero(self.start):
            return traced(self.stop)
        start, stop = traced(self.start), traced(self.stop)
        span = stop - start if self.step > 0 else start - stop
        size = abs(self.step)
        # ops.div truncates. Adding size - 1 rounds up a positive span; a negative one has no trips.
        return cast(GraphTensor, span if size == 1 else ops.div(span + (size - 1), size))

    def nth(self, i: GraphTensor) -> Any:
        """The value in trip `i`."""
        if self.step != 1:
            i = i * self.step
        return i if _is_zero(self.start) else i + traced(self.start)

    def __iter__(self) -> Any:
        raise script_tracer().fail(
            "a range whose length is known only when the program runs is iterated by Python",
            "write `for … in range(n):`, or use arange(n)",
        )

    __len__ = __iter__
    __getitem__ = __iter__


def _is_zero(value: Any) -> bool:
    return isinstance(value, int) and value == 0


# ---- Python's builtins on traced values


def _special(f: Any) -> Callable[..., Any] | None:
    try:
        return _SPECIAL.get(f)
    except TypeError:
        return None  # not hashable


def _range(*args: Any) -> Any:
    if not any(map(is_traced, args)):
        return NotImplemented
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    for value in (start, stop, step):
        if isinstance(value, Tensor) and (value.dtype.kind not in "iu" or value.ndim):
            raise script_tracer().fail(
                f"range of a tensor of {value.dtype} and shape {list(value.shape)}",
                "use an integer tensor without dimensions",
            )
    return TensorRange(*(_whole(v) for v in (start, stop, step)))


def _whole(value: Any) -> Any:
    if isinstance(value, Tensor) and value.ir_dtype is not DType.I64:
        return ops.cast(traced(value), to=DType.I64)
    return value


def _int(value: Any = 0, *rest: Any) -> Any:
    if not is_traced(value) or isinstance(value, Dim):
        return value if isinstance(value, Dim) else NotImplemented
    t = _one(value)
    return t if t.ir_dtype is DType.I64 else ops.cast(t, to=DType.I64)


def _float(value: Any = 0.0) -> Any:
    return ops.cast(_one(value), to=DType.F32) if is_traced(value) else NotImplemented


def _bool(value: Any = False) -> Any:
    return truth(value) if is_traced(value) else NotImplemented


def _one(value: Any) -> GraphTensor:
    t = traced(value)
    return cast(GraphTensor, t.reshape(())) if t.ndim else t


def _len(value: Any) -> Any:
    if isinstance(value, Tensor) and value.ndim:
        return value.shape[0]
    return NotImplemented


def _max_or_min(of_tensors: str, of_sizes: Callable[[Any, Any], Dim]) -> Callable[..., Any]:
    def best(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Tensor) and args[0].ndim == 1 and not kwargs:
            return getattr(args[0], "amax" if of_tensors == "maximum" else "amin")(0)
        values = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if kwargs or len(values) < 2 or not any(map(is_traced, values)):
            return NotImplemented
        found = values[0]
        for v in values[1:]:
            if all(isinstance(x, (Dim, int)) for x in (found, v)):
                found = of_sizes(as_dim(found), as_dim(v))
            else:
                other = traced(v) if isinstance(v, Dim) else v
                found = getattr(traced(found), of_tensors)(other)
        return found

    return best


def _folded(combine: Any, neutral: bool, values: Any) -> Any:
    """`all` or `any` of truths, some of them traced."""
    if isinstance(values, Tensor):
        return NotImplemented
    out: Any = neutral
    for v in values:
        holds = truth(v)
        if holds is (not neutral):
            return holds
        if not isinstance(holds, bool):
            out = holds if out is neutral else combine(out, holds)
    return out


_SPECIAL: dict[Any, Callable[..., Any]] = {
    range: _range,
    int: _int,
    float: _float,
    bool: _bool,
    len: _len,
    max: _max_or_min("maximum", dmax),
    min: _max_or_min("minimum", dmin),
    all: partial(_folded, ops.logical_and, True),
    any: partial(_folded, ops.logical_or, False),
}
