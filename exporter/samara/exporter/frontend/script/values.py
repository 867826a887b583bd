# SPDX-License-Identifier: Apache-2.0
"""Values in scripted code: truths, numbers, sizes, and variables without a value."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.graph import GraphTensor
from samara.exporter.frontend.script.tracer import ScriptTracer
from samara.exporter.frontend.tape import tracing
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import Dim, DType, TensorType, as_dim
from samara.pybridge.errors import ScriptError

NUMBERS = (bool, int, float, np.number, np.bool_)


def script_tracer() -> ScriptTracer:
    """The current tracer."""
    tracer = tracing()
    if not isinstance(tracer, ScriptTracer):
        raise ScriptError(
            "a function that samara.script rewrote is called after the capture has ended",
            fix="call the original function",
        )
    return tracer


class Unbound:
    """The content of a variable that has no value; `why` says why it has none."""

    __slots__ = ("name", "why")

    def __init__(self, name: str, why: str = "") -> None:
        self.name = name
        self.why = why


def use(value: Any) -> Any:
    """The value of a variable. ScriptError or UnboundLocalError if it has none."""
    if not isinstance(value, Unbound):
        return value
    if not value.why:
        raise UnboundLocalError(f"local variable '{value.name}' is read before it is assigned")
    raise script_tracer().fail(
        f"'{value.name}' has no value that can be used here: {value.why}",
        "give it a value of the same type before the branch or loop, or in every branch",
    )


def is_traced(value: Any) -> bool:
    """Whether the value is known only when the program runs: a traced tensor, a variable, a symbolic size."""
    if isinstance(value, Tensor):
        return value._symbolic
    return isinstance(value, Dim) and not value.is_static


def is_leaf(value: Any) -> bool:
    """Whether a branch or loop can output the value as a tensor."""
    return isinstance(value, (Tensor, Dim, *NUMBERS))


def traced(value: Any) -> GraphTensor:
    """Any leaf as a traced tensor. Sizes and numbers become tensors without dimensions."""
    tracer = script_tracer()
    if isinstance(value, GraphTensor):
        return value
    if isinstance(value, Dim) and not value.is_static:
        vector = tracer.sizes([value])
        return cast(GraphTensor, vector.reshape(()))
    if isinstance(value, Dim):
        value = value.as_int()
    return GraphTensor.of(
        tracer, tracer.lift(value if isinstance(value, Tensor) else _array(value))
    )


def _array(value: Any) -> Any:
    return np.asarray(value, np.float32 if isinstance(value, float) else None)


def truth(value: Any, what: str = "a condition") -> bool | GraphTensor:
    """The value as a Python bool, or as a traced bool without dimensions."""
    value = use(value)
    if isinstance(value, GraphTensor) and value._value.constant is not None:
        return bool(value._value.constant)
    if not is_traced(value):
        return bool(value)
    t = traced(value)
    if any(n != 1 for n in t.shape):
        raise script_tracer().fail(
            f"{what} is a tensor of shape {list(t.shape)}", "use .any() or .all()"
        )
    t = t if t.ndim == 0 else cast(GraphTensor, t.reshape(()))
    if t.ir_dtype is not DType.BOOL:
        t = cast(GraphTensor, t.ne(0))
    return t


def as_size(value: Any) -> Any:
    """A traced integer as a symbolic size, also inside tuples, lists and slices; other values unchanged."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(as_size, value)) if not hasattr(value, "_fields") else value
    if isinstance(value, slice):
        return slice(as_size(value.start), as_size(value.stop), as_size(value.step))
    if isinstance(value, Tensor) and value._symbolic and not value.ndim and value.dtype.kind == "i":
        tracer = script_tracer()
        return tracer.builder.read(tracer.lift(value), 0)
    return value


# ---- types of the outputs of branches and loops


def type_of(value: Any) -> TensorType:
    """The type of a leaf as a tensor. A Python number has the dtype of an array made from it alone."""
    if isinstance(value, GraphTensor):
        return value._value.type
    if isinstance(value, Tensor):
        return TensorType(value.ir_dtype, tuple(as_dim(n) for n in value.shape))
    if isinstance(value, Dim):
        return TensorType(DType.I64, ())
    return TensorType(DType.from_numpy(_array(value).dtype), ())


def is_weak(value: Any) -> bool:
    """Whether a leaf takes the dtype of the tensor it is combined with."""
    return isinstance(value, (bool, int, float, Dim))


_ORDER = {DType.BOOL: 0, DType.I64: 1, DType.F32: 2}


def common_dtype(a: Any, b: Any) -> DType | None:
    """The dtype that can hold both leaves; None if there is none."""
    x, y = type_of(a).dtype, type_of(b).dtype
    if x is y:
        return x
    if is_weak(a) and is_weak(b):
        return max(x, y, key=_ORDER.__getitem__)
    if is_weak(a) and _fits(x, y):
        return y
    if is_weak(b) and _fits(y, x):
        return x
    return None


def _fits(number: DType, tensor: DType) -> bool:
    """Whether a Python number of dtype `number` keeps its meaning in the dtype `tensor`."""
    if tensor.is_float:
        return True
    return number is DType.BOOL or (number is DType.I64 and tensor is not DType.BOOL)


def lifted(value: Any, dtype: DType) -> GraphTensor:
    """A leaf as a traced tensor of this dtype."""
    if isinstance(value, NUMBERS):
        tracer = script_tracer()
        array = np.asarray(value, dtype.numpy)
        return GraphTensor.of(tracer, tracer.lift(array))
    t = traced(value)
    return t if t.ir_dtype is dtype else cast(GraphTensor, ops.cast(t, to=dtype))


def describe(value: Any) -> str:
    """A value for messages: its dtype and shape, or its Python type."""
    if isinstance(value, Unbound):
        return "nothing"
    if isinstance(value, Tensor):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple, dict)):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, (*NUMBERS, str)) or value is None:
        return f"the Python value {value!r}"
    return f"a Python {type(value).__name__}"
