# SPDX-License-Identifier: Apache-2.0
"""Methods of tensors that leave them: copies, dtypes, devices, numpy, DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from samara.exporter import ops
from samara.exporter.frontend import dtypes, memory
from samara.exporter.frontend._operands import cast, sizes_of
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import SamaraError, UnsupportedError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor

Array = npt.NDArray[Any]
# Under other names, since tensors have methods int, float and bool.
Count = int
Truth = bool
Number = int | float


class device:
    """Where a tensor's memory is. Eager tensors are on the CPU."""

    __slots__ = ("type",)

    type: str

    def __init__(self, name: Any = "cpu") -> None:
        text = name.type if isinstance(name, device) else str(name)
        if text.split(":")[0] != "cpu":
            raise UnsupportedError(
                f"there is no device {text!r} for tensors",
                fix='training runs on "cpu"; samara.devices() lists what sessions can run on',
            )
        self.type = "cpu"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) or other == "cpu"

    def __hash__(self) -> int:
        return hash("cpu")

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return self.type


CPU = device()


class ConvertMethods:
    """Copies and conversions."""

    __slots__ = ()

    if TYPE_CHECKING:
        _data: Any
        _version: list[Any]
        _base: Any

    @property
    def device(self: Any) -> device:
        """Where the memory is."""
        return CPU

    def clone(self: Any) -> Tensor:
        """A copy that passes gradients on to the original."""
        if self._data is None:
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
        self: Any, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False
    ) -> Tensor:
        """In another dtype, or like another tensor; every device but "cpu" is refused."""
        for value in args:
            if hasattr(type(value), "__samara_op__"):
                dtype = value.dtype
            elif isinstance(value, (np.dtype, type)):
                dtype = value
            elif isinstance(value, bool):
                continue  # PyTorch's non_blocking
            else:
                device = value
        if device is not None:
            _device(device)
        out = self if dtype is None else self.type(dtype)
        return out.clone() if copy and out is self else out

    def type(self: Any, dtype: Any) -> Tensor:
        """In another dtype; the tensor itself where it has it."""
        return cast(self, dtypes.as_dtype(dtype))

    def type_as(self: Any, other: Any) -> Tensor:
        return cast(self, other.dtype)

    def float(self: Any) -> Tensor:
        return cast(self, dtypes.float32)

    def double(self: Any) -> Tensor:
        return cast(self, dtypes.float64)

    def half(self: Any) -> Tensor:
        return cast(self, dtypes.float16)

    def long(self: Any) -> Tensor:
        return cast(self, dtypes.int64)

    def int(self: Any) -> Tensor:
        return cast(self, dtypes.int32)

    def bool(self: Any) -> Tensor:
        return cast(self, dtypes.bool_)

    def cpu(self: Any) -> Tensor:
        """The tensor itself."""
        return self

    def is_floating_point(self: Any) -> Truth:
        return self.dtype.kind == "f"

    def element_size(self: Any) -> Count:
        """Bytes of one element."""
        return self.dtype.itemsize

    def item(self: Any) -> Number:
        """The only element, as a Python number."""
        if self._data.size != 1:
            raise ArgumentError(f"item() needs one element, the shape is {list(self.shape)}")
        return self._data.item()

    def tolist(self: Any) -> Any:
        """Nested lists of Python numbers."""
        return self._data.tolist()

    def numpy(self: Any) -> Array:
        """The array itself, sharing memory. SamaraError where gradients are recorded."""
        if self._requires_grad:
            raise SamaraError(
                "the array of a tensor that requires gradients would escape the tape",
                fix="use .detach().numpy()",
            )
        return self._data

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

    def new_zeros(self: Any, *size: Any, dtype: Any = None) -> Tensor:
        return self._filled(size, 0, dtype)

    def new_ones(self: Any, *size: Any, dtype: Any = None) -> Tensor:
        return self._filled(size, 1, dtype)

    def new_full(self: Any, size: Any, fill_value: Any, dtype: Any = None) -> Tensor:
        return self._filled((size,), fill_value, dtype)

    def new_empty(self: Any, *size: Any, dtype: Any = None) -> Tensor:
        return self._filled(size, 0, dtype)

    def new_tensor(self: Any, data: Any, dtype: Any = None) -> Tensor:
        kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        return type(self)._wrap(np.array(data, kind))

    def _filled(self: Any, size: Any, value: Any, dtype: Any) -> Tensor:
        from samara.exporter.frontend.creation import full

        kind = self.dtype if dtype is None else dtype
        return full(sizes_of(size), value, dtype=kind)


def _device(value: Any) -> device:
    return device(value)
