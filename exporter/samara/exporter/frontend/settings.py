# SPDX-License-Identifier: Apache-2.0
"""Global switches of PyTorch. A setting is accepted if it describes what samara does anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar, overload

import numpy as np

from samara.exporter.frontend import dtypes
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.creation import tensor
from samara.exporter.frontend.device import CPU, device
from samara.exporter.frontend.tape import MODE, run_inside
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ArgumentError, SamaraError, UnsupportedError

F = TypeVar("F")

__all__ = [
    "BoolTensor",
    "ByteTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "are_deterministic_algorithms_enabled",
    "channels_last",
    "compile",
    "contiguous_format",
    "get_default_device",
    "get_default_dtype",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "inference_mode",
    "is_inference_mode_enabled",
    "preserve_format",
    "set_default_device",
    "set_default_dtype",
    "set_default_tensor_type",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "strided",
    "use_deterministic_algorithms",
]


class _Format:
    """The name of a memory format. It has no effect: the operator decides the order in memory."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"samara.{self.name}"


channels_last: Final = _Format("channels_last")
contiguous_format: Final = _Format("contiguous_format")
preserve_format: Final = _Format("preserve_format")
strided: Final = _Format("strided")
_PRECISIONS: Final = ("highest", "high", "medium")


class inference_mode:
    """`no_grad` by PyTorch's other name: in a `with` block, or on a function. `False` has no effect."""

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if callable(mode):  # @inference_mode without parentheses
            self.__init__()  # type: ignore[misc]
            return self(mode)
        return self

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(MODE.enabled)
        if self.mode:
            MODE.enabled = False

    def __exit__(self, *error: object) -> None:
        MODE.enabled = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return run_inside(lambda: inference_mode(self.mode), "inference_mode", function)


def is_inference_mode_enabled() -> bool:
    """False: inside `inference_mode` tensors behave as under `no_grad`."""
    return False


@overload
def compile(model: None = None, **options: Any) -> Callable[[F], F]: ...
@overload
def compile(model: F, **options: Any) -> F: ...
def compile(model: Any = None, **options: Any) -> Any:
    """Return `model`, a module or function, unchanged; without `model`, a decorator that does so.

    Kernels are compiled ahead of time, so no option has an effect.
    """
    return (lambda function: function) if model is None else model


# ---- settings with only one value


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """No effect: results never depend on threads or timing."""


def are_deterministic_algorithms_enabled() -> bool:
    """True."""
    return True


def set_float32_matmul_precision(precision: str) -> None:
    """No effect: float32 products always have full precision. SamaraError unless "highest", "high" or
    "medium"."""
    if precision not in _PRECISIONS:
        raise SamaraError(
            f"the precision {precision!r} is unknown", fix=f"use one of {', '.join(_PRECISIONS)}"
        )


def get_float32_matmul_precision() -> str:
    """ "highest"."""
    return "highest"


def set_num_interop_threads(count: int) -> None:
    """No effect: operators run one after the other. `set_num_threads` sets the threads inside one."""


def get_num_interop_threads() -> int:
    """1."""
    return 1


def set_default_dtype(d: Any) -> None:
    """Accept float32, which is the default.

    Raises UnsupportedError for another floating dtype, ArgumentError (a TypeError, as in PyTorch) for
    any other dtype.
    """
    if d is None or isinstance(d, dtypes.Lacking):  # numpy would read None as float64
        _refuse("None" if d is None else d.name)
    name = dtypes.as_dtype(d).name
    if name != "float32":
        _refuse(name)


# Floating dtype -> what to do instead of making it the default.
_INSTEAD: Final = {
    "float64": "pass dtype=samara.float64 where tensors are made, and call .double() on modules",
    "float16": "pass dtype=samara.float16 where tensors are made, and call .half() on modules",
    "bfloat16": "leave float32: its range is the same, and quantize() makes exported models small",
}


def _refuse(name: str) -> NoReturn:
    """Raise the error for a default dtype other than float32."""
    if name not in _INSTEAD:
        raise ArgumentError(
            f"the default dtype must be a floating one, not {name}", fix="leave float32"
        )
    raise UnsupportedError(f"the default dtype is float32 and cannot be {name}", fix=_INSTEAD[name])


def get_default_dtype() -> np.dtype[Any]:
    """float32."""
    return dtypes.float32


def set_default_device(device: Any) -> None:
    """Accept "cpu", which is the default. UnsupportedError for another device."""
    _check(device)


def get_default_device() -> device:
    """The CPU."""
    return CPU


def set_default_tensor_type(t: Any) -> None:
    """Accept FloatTensor, which is the default. UnsupportedError for another."""
    name = t if isinstance(t, str) else getattr(t, "__name__", repr(t))
    if ".cuda." in name:
        _check("cuda")
    kind = name.rpartition(".")[2].removesuffix("Tensor")
    if kind != "Float":
        _refuse(_KINDS.get(kind, name))


_check: Final = device
_KINDS: Final = {"Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}


# ---- constructors by dtype, which programs for the first PyTorch versions use


def _constructor(name: str, dtype: Any) -> Callable[..., Tensor]:
    def make(*data: Any) -> Tensor:
        if all(isinstance(n, int) for n in data):
            return tensor(np.empty(data or 0, dtype))
        if len(data) != 1:
            raise SamaraError(
                f"{name} takes sizes, or one list or array, got {len(data)} arguments"
            )
        return tensor(data[0], dtype=dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"A {dtype.name} tensor from a list or array, or uninitialised of the given sizes."
    )
    return make


BoolTensor: Final = _constructor("BoolTensor", dtypes.bool_)
ByteTensor: Final = _constructor("ByteTensor", dtypes.uint8)
DoubleTensor: Final = _constructor("DoubleTensor", dtypes.float64)
FloatTensor: Final = _constructor("FloatTensor", dtypes.float32)
HalfTensor: Final = _constructor("HalfTensor", dtypes.float16)
IntTensor: Final = _constructor("IntTensor", dtypes.int32)
LongTensor: Final = _constructor("LongTensor", dtypes.int64)
ShortTensor: Final = _constructor("ShortTensor", dtypes.int16)

name_counterparts(globals(), __all__, "torch")
