# SPDX-License-Identifier: Apache-2.0
"""Quantized tensors in training: int8 integers beside the floats that they stand for.

While a quantization-aware module runs, its activations have these types. An operator with an integer form
(rules.py) computes the integers of its result; the data that Python sees are these integers, dequantized.
Gradients are those of the float operator (straight through), and zero where the result was clamped. While the
module is traced, the same rules append the integer operators to the Program, so the export equals the
simulation.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import native, tensor
from samara.exporter.frontend.autograd import Function
from samara.exporter.frontend.graph import GraphTensor, Tracer
from samara.exporter.frontend.tape import MODE, tracing
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.ir.program import Value
from samara.exporter.ops import OpSpec
from samara.exporter.types import DType, Quant
from samara.pybridge.errors import QuantizationError

if TYPE_CHECKING:
    from samara.exporter.frontend.qat.module import QuantizedModule

Array = np.ndarray[Any, Any]


class Grid(NamedTuple):
    """Integers and their quantization parameters: an int8 array, or a traced tensor of qs8."""

    q: Any
    quant: Quant


class _Running(threading.local):
    module: QuantizedModule | None = None


RUNNING: Final = _Running()
"""The quantization-aware module whose forward runs in this thread."""

# Computes the integers of a tensor again, with other parameters and clamped to lo..hi.
Clamped = Callable[[Quant, float, float], Grid]
# (the module, operator, inputs, attributes) -> the result; None: it has no integer form here.
Rule = Callable[["QuantizedModule", OpSpec, Sequence[Any], Mapping[str, Any]], Any]

RULES: Final[dict[OpSpec, Rule]] = {}
"""Integer forms by operator; rules.py fills it."""


def _dispatch(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    rule = RULES.get(op)
    if rule is not None and RUNNING.module is not None:
        out = rule(RUNNING.module, op, inputs, attrs)
        if out is not None:
            return out
    return in_float(op, inputs, attrs)


def in_float(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The operator in float, on the dequantized inputs."""
    return tensor.apply(op, inputs, attrs)


def _in_place(name: str) -> Callable[..., Any]:
    plain = getattr(Tensor, f"{name}_")

    def method(self: GridTensor, *args: Any, **kwargs: Any) -> Any:
        out = getattr(self, name)(*args, **kwargs)
        if not isinstance(out, GridTensor) or out.shape != self.shape:
            return plain(self, *args, **kwargs)
        # An activation is not a leaf, so it may take its new value.
        _copy_place(out, self)
        self._grid, self._seen, self._again = out._grid, out._seen, out._again
        return self

    method.__name__ = f"{name}_"
    method.__doc__ = plain.__doc__
    return method


class GridTensor(Tensor):
    """An eager tensor whose data are integers of a grid, dequantized."""

    __slots__ = ("_again", "_grid", "_seen")

    _again: Clamped | None
    _grid: Grid
    _seen: int  # version of the data that the integers belong to

    @staticmethod
    def __samara_op__(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        return _dispatch(op, inputs, attrs)

    # Tensor's have a short way around the dispatch.
    __add__ = Tensor.add
    __sub__ = Tensor.sub
    __mul__ = Tensor.mul

    add_ = __iadd__ = _in_place("add")
    sub_ = __isub__ = _in_place("sub")
    mul_ = __imul__ = _in_place("mul")
    relu_ = _in_place("relu")
    clamp_ = _in_place("clamp")
    sigmoid_ = _in_place("sigmoid")
    tanh_ = _in_place("tanh")


class TracedGridTensor(GraphTensor):
    """A traced tensor of integers; the node that dequantizes them is added when it is needed."""

    __slots__ = ("_again", "_grid", "_home", "_real")

    _again: Clamped | None
    _grid: Grid | None
    _home: Any  # the builder of the integers
    _real: Value | None

    @staticmethod
    def __samara_op__(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        return _dispatch(op, inputs, attrs)

    @property
    def _value(self) -> Value:
        if self._real is None:
            assert self._grid is not None
            tracer = self._tracer
            builder, tracer.builder = tracer.builder, self._home
            try:
                self._real = tracer.apply(ops.dequantize, (self._grid.q,), {})._value
            finally:
                tracer.builder = builder
        return self._real

    @_value.setter
    def _value(self, value: Value) -> None:
        self._real = value

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    @property
    def ir_dtype(self) -> DType:
        return DType.F32

    def _take(self, other: Any) -> None:
        super()._take(other)
        self._grid = grid_of(other)
        self._again = getattr(other, "_again", None)


def grid_of(value: Any) -> Grid | None:
    """The integers of a tensor; None if it is not quantized."""
    if isinstance(value, TracedGridTensor):
        return value._grid
    if isinstance(value, GridTensor) and value._version[0] == value._seen:
        return value._grid
    return None


def again_of(value: Any) -> Clamped | None:
    """The function that computes a tensor's integers again with a clamp; None if there is none."""
    found = grid_of(value) is not None
    return value._again if found else None


def _copy_place(source: Tensor, into: Tensor) -> None:
    """Give `into` the same data and the same node of the tape."""
    into._data = source._data
    into._requires_grad = source._requires_grad
    into._grad = None
    into._node, into._index = source._node, source._index
    into._version = source._version
    into._base = source._base
    into._hooks, into._post_hooks = source._hooks, source._post_hooks
    into._traced = source._traced


def on_grid(t: Tensor, grid: Grid) -> GridTensor:
    """The tensor `t`, whose data are `grid` dequantized, as a quantized tensor."""
    out = GridTensor.__new__(GridTensor)
    _copy_place(t, out)
    out._grid, out._seen, out._again = grid, out._version[0], None
    return out


def off_grid(value: Any) -> Any:
    """A result for the caller of the module, without the integers."""
    if isinstance(value, TracedGridTensor):
        return GraphTensor.of(value._tracer, value._value)
    if isinstance(value, GridTensor):
        out = Tensor.__new__(Tensor)
        _copy_place(value, out)
        return out
    if isinstance(value, dict):
        return {k: off_grid(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        items = [off_grid(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


# ---- running the integer operators


def tracer_at_work() -> Tracer:
    """The tracer whose tensor is being used."""
    found = tracing()
    if found is None:
        raise QuantizationError("a traced tensor is used after its trace has ended")
    return found


def row(op: OpSpec, *inputs: Grid | Array | GraphTensor | None, **attrs: Any) -> Any:
    """An operator of the table over integers: its result as a Grid, or a plain one if it is not qs8.

    Runs the C kernel. If an input is traced, appends a node instead; arrays become its constants.
    """
    if any(is_traced(v.q if isinstance(v, Grid) else v) for v in inputs):
        return _node(op, inputs, attrs)
    arrays: list[Any] = [v.q if isinstance(v, Grid) else v for v in inputs]
    quants = [v.quant if isinstance(v, Grid) else None for v in inputs]
    array, quant = native.run_typed(op, arrays, quants, attrs)[0]
    return array if quant is None else Grid(array, quant)


def _node(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    tracer = tracer_at_work()
    scope = tracer.scope[-1] if tracer.scope else ""
    start = f"{scope}/{op.name}" if scope else op.name
    given = [
        _traced(tracer, v, f"{start}.{name.rstrip('?*')}")
        for v, name in zip(inputs, op.inputs, strict=False)
    ]
    while given and given[-1] is None:
        given.pop()
    out = tracer.apply(op, given, attrs)
    quant = out._value.type.quant
    return out if quant is None else Grid(out, quant)


def _traced(tracer: Tracer, value: Any, name: str) -> Any:
    if isinstance(value, Grid) and is_traced(value.q):
        return value.q
    if value is None or is_traced(value):
        return value
    array, quant = value if isinstance(value, Grid) else (value, None)
    dtype = None if quant is None else DType.QS8
    return GraphTensor.of(tracer, tracer.root.const(array, name, dtype, quant))


def is_traced(value: Any) -> bool:
    """Whether a tensor belongs to a Program that is being traced."""
    return isinstance(value, GraphTensor)


def traced_on_grid(grid: Grid) -> TracedGridTensor:
    """The traced tensor for integers of a Program."""
    q, out = grid.q, TracedGridTensor.__new__(TracedGridTensor)
    for name in ("_data", "_requires_grad", "_grad", "_node", "_base", "_hooks", "_post_hooks"):
        setattr(out, name, getattr(q, name))
    out._index, out._version = 0, [0]
    out._tracer, out._born, out._shape = q._tracer, q._born, q._shape
    out._grid, out._home, out._real, out._again = grid, q._tracer.builder, None, None
    return out


def dequantized(grid: Grid) -> Array:
    """The dequantized integers, by the rule of the operator dequantize."""
    zero, scale = np.float32(grid.quant.zero_point), np.float32(grid.quant.scale)
    real = np.subtract(grid.q, zero, dtype=np.float32)
    real *= scale
    return real


# ---- gradients


class _Through(Function):
    """The integers' data with the surrogate's gradient, zero where the result was clamped."""

    @staticmethod
    def forward(ctx: Any, surrogate: Tensor, data: Tensor, inside: Tensor | None) -> Any:
        ctx.inside = inside
        return data

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        if ctx.inside is None:
            return dy, None, None
        if dy._requires_grad or is_traced(dy):
            return ops.where(ctx.inside, dy, 0.0), None, None
        return wrap(np.multiply(dy._data, ctx.inside._data)), None, None


def rounded_as(surrogate: Tensor | None, grid: Grid, inside: Array | None) -> GridTensor:
    """An eager result: the integers `grid`, with the gradient of `surrogate`, the same in float,
    where `inside` holds (None: everywhere)."""
    data = wrap(dequantized(grid))
    if surrogate is not None and wants_gradient(surrogate):
        mask = None if inside is None or inside.all() else wrap(inside)
        data = _Through.apply(surrogate, data, mask)
    return on_grid(data, grid)


def wants_gradient(*values: Any) -> bool:
    """Whether a result computed from these must be recorded."""
    return MODE.enabled and any(isinstance(v, Tensor) and v._requires_grad for v in values)


def clamp_steps(quant: Quant, lo: float, hi: float) -> tuple[int, int]:
    """A clamp of floats in steps of a grid."""
    ends = []
    for value, free in ((lo, -128), (hi, 127)):
        if math.isinf(value):
            ends.append(free)
        else:
            step = np.rint(np.float32(value) / np.float32(quant.scale)) + quant.zero_point
            ends.append(int(np.clip(step, -128, 127)))
    return ends[0], ends[1]


def within(steps: Array, quant: Quant) -> Array:
    """Where numbers, in quantization steps, round to an int8 without a clamp."""
    below, above = np.float32(-128.5 - quant.zero_point), np.float32(127.5 - quant.zero_point)
    return np.asarray((steps >= below) & (steps <= above))
