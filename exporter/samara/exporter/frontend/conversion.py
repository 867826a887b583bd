# SPDX-License-Identifier: Apache-2.0
"""Conversions of tensors: copies, dtypes, devices, numpy, DLPack."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from samara.exporter import ops
from samara.exporter.frontend import dtypes, memory
from samara.exporter.frontend.device import CPU, device
from samara.exporter.frontend.filling import full, tensor
from samara.exporter.frontend.operands import cast, sizes_of
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import SamaraError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor

Array = npt.NDArray[Any]
# Aliases for annotations, since tensors have methods int, float and bool.
Count = int
Truth = bool
Number = int | float


def _converter(name: str, dtype: Any) -> Callable[[Any], Tensor]:
    """The method `name`, which converts to a dtype."""

    def method(self: Any) -> Tensor:
        return cast(self, dtype)

    method.__name__ = name
    method.__qualname__ = f"ConvertMethods.{name}"
    return method


class ConvertMethods:
    """Copies and conversions."""

    __slots__ = ()

    if TYPE_CHECKING:
        _data: Any
        _version: list[Any]
        _base: Any

    @property
    def device(self: Any) -> device:
        """The CPU."""
        return CPU

    def clone(self: Any) -> Tensor:
        """A copy that passes gradients on to the original."""
        if self._symbolic:
            return ops.identity(self)
        return ops.identity(self)._own_memory()

    def _own_memory(self: Any, dense: bool = False) -> Tensor:
        x = self._data
        array = memory.empty(x.shape, x.dtype) if dense else memory.empty_like(x)
        np.copyto(array, self._data)
        self._data = array
        self._version = [0]
        self._base = None
        return self

    def to(
        self: Any,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: Truth = False,
        copy: Truth = False,
        memory_format: Any = None,
    ) -> Tensor:
        """Convert to a dtype, or to that of another tensor. Raises for every device but "cpu".

        Returns the tensor itself if nothing changes. non_blocking and memory_format have no effect.
        """
        flags: list[Any] = []
        for value in args:
            if hasattr(type(value), "__samara_op__"):
                dtype = value.dtype
            elif dtypes.is_dtype(value):
                dtype = value
            elif isinstance(value, bool):
                flags.append(value)  # PyTorch's non_blocking, copy
            elif value is not None:
                device = value
        if device is not None:
            _device(device)
        out = self if dtype is None else self.type(dtype)
        return out.clone() if (copy or flags[1:] == [True]) and out is self else out

    @overload
    def type(self: Any, dtype: None = None, non_blocking: Truth = False) -> str: ...
    @overload
    def type(self: Any, dtype: Any, non_blocking: Truth = False) -> Tensor: ...
    def type(self: Any, dtype: Any = None, non_blocking: Truth = False) -> Any:
        """Convert to a dtype; the tensor itself if it has that dtype. Without `dtype`, PyTorch's name of
        the tensor's class, such as "torch.FloatTensor"."""
        if dtype is None:
            return f"torch.{_TYPE_NAMES[self.dtype.name]}Tensor"
        return cast(self, dtypes.as_dtype(_named(dtype)))

    def type_as(self: Any, other: Any) -> Tensor:
        return cast(self, other.dtype)

    float = _converter("float", dtypes.float32)
    double = _converter("double", dtypes.float64)
    half = _converter("half", dtypes.float16)
    long = _converter("long", dtypes.int64)
    int = _converter("int", dtypes.int32)
    bool = _converter("bool", dtypes.bool_)
    short = _converter("short", dtypes.int16)
    char = _converter("char", dtypes.int8)
    byte = _converter("byte", dtypes.uint8)

    def cpu(self: Any, memory_format: Any = None) -> Tensor:
        """The tensor itself."""
        return self

    def cuda(self: Any, device: Any = None, non_blocking: Truth = False) -> Tensor:
        """UnsupportedError: training runs on the CPU."""
        _device("cuda" if device is None else device)
        return self

    def pin_memory(self: Any, device: Any = None) -> Tensor:
        """The tensor itself: there is no GPU to copy to."""
        return self

    def is_pinned(self: Any) -> Truth:
        """False."""
        return False

    @property
    def is_cuda(self: Any) -> Truth:
        """False: tensors are on the CPU."""
        return False

    def get_device(self: Any) -> Count:
        """-1, PyTorch's number of the CPU."""
        return -1

    def is_floating_point(self: Any) -> Truth:
        return self.dtype.kind == "f"

    def element_size(self: Any) -> Count:
        """Bytes of one element."""
        return self.dtype.itemsize

    def item(self: Any) -> Number:
        """The only element, as a Python number."""
        if self._symbolic:
            return self._known().item()
        if self._data.size != 1:
            raise ArgumentError(f"item() needs one element, the shape is {list(self.shape)}")
        return self._data.item()

    def tolist(self: Any) -> Any:
        """Nested lists of Python numbers."""
        if self._symbolic:
            return self._known().tolist()
        return self._data.tolist()

    def numpy(self: Any) -> Array:
        """The array itself, sharing memory. SamaraError if the tensor requires gradients."""
        if self._requires_grad:
            raise SamaraError(
                "numpy() of a tensor that requires gradients: changes of the array are not recorded",
                fix="use .detach().numpy()",
            )
        return self._known().numpy() if self._symbolic else self._data

    def data_ptr(self: Any) -> Count:
        """The address of the first element."""
        return self._data.ctypes.data

    def __array__(self: Any, dtype: Any = None, copy: Any = None) -> Array:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self: Any, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self: Any) -> Any:
        return self._data.__dlpack_device__()

    def new_zeros(
        self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Truth = False
    ) -> Tensor:
        return self._filled(size, 0, dtype, device, requires_grad)

    def new_ones(
        self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Truth = False
    ) -> Tensor:
        return self._filled(size, 1, dtype, device, requires_grad)

    def new_full(
        self: Any,
        size: Any,
        fill_value: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: Truth = False,
    ) -> Tensor:
        return self._filled((size,), fill_value, dtype, device, requires_grad)

    def new_empty(
        self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: Truth = False
    ) -> Tensor:
        return self._filled(size, 0, dtype, device, requires_grad)

    def new_tensor(
        self: Any, data: Any, dtype: Any = None, device: Any = None, requires_grad: Truth = False
    ) -> Tensor:
        kind = self.dtype if dtype is None else dtype
        return tensor(data, dtype=kind, device=device, requires_grad=requires_grad)

    def _filled(
        self: Any, size: Any, value: Any, dtype: Any, device: Any, requires_grad: Any
    ) -> Tensor:
        kind = self.dtype if dtype is None else dtype
        return full(sizes_of(size), value, dtype=kind, device=device, requires_grad=requires_grad)


# Names of PyTorch's tensor classes, by dtype.
_TYPE_NAMES = {
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint8": "Byte",
    "bool": "Bool",
}


def _named(dtype: Any) -> Any:
    """The dtype of a tensor class, given by its name or its constructor; anything else unchanged."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None)
    if isinstance(name, str) and name.endswith("Tensor"):
        for kind, short in _TYPE_NAMES.items():
            if name.removeprefix("torch.") == f"{short}Tensor":
                return kind
        _device("cuda" if ".cuda." in name else "cpu")
    return dtype


_device = device  # methods have a parameter `device`
