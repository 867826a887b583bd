# SPDX-License-Identifier: Apache-2.0
"""The names that a checkpoint may use, and samara's functions that replace them."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.device import CPU
from samara.exporter.frontend.dtypes import KNOWN, bfloat16
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.frontend.torch_file.machine import Callee, Internal, Machine, shown
from samara.exporter.frontend.torch_file.storages import (
    DTYPES,
    RAW,
    STORAGE_TYPES,
    Storage,
    view,
)
from samara.exporter.types import SamaraError, UnsupportedError

SAVE_DATA: Final = (
    "in the program that wrote the file, save the state instead of the object: "
    "torch.save(model.state_dict(), path); then model.load_state_dict(samara.load(path))"
)
_MAX_RANK: Final = 32
# Accepted dtypes of numpy arrays, by numpy's short names.
_NUMPY_CODES: Final = frozenset(
    ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
)


class StorageType(Internal):
    """A storage class. `kind` is the dtype of its elements."""

    __slots__ = ("kind",)

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(name)
        self.kind = kind


class _Type(Internal):
    """A class that appears only as an argument, as the class of a tensor or array."""

    __slots__ = ()


class _NumpyDtype(Internal):
    """A numpy dtype under construction. Its state sets the byte order."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__(f"numpy.dtype({dtype.name!r})")
        self.dtype = dtype


class Known:
    """The World of torch's pickles. `storage_of` returns the Storage of a persistent id."""

    def __init__(self, where: str, storage_of: Callable[[Known, Any], Storage]) -> None:
        self.where = where
        self.storage_of = storage_of
        self.bare: dict[int, np.ndarray[Any, Any]] = {}  # arrays by id, until their state is set

    def persistent(self, key: Any) -> Storage:
        return self.storage_of(self, key)

    def find(self, module: str, name: str) -> Any:
        if module in ("torch", "torch.cuda", "torch.storage") and name in STORAGE_TYPES:
            return StorageType(f"torch.{name}", STORAGE_TYPES[name])
        if module == "torch" and name in DTYPES:
            return np.dtype(DTYPES[name])
        if module == "torch" and name == "bfloat16":
            return bfloat16
        found = _TABLE.get((module, name))
        if found is None:
            raise self.refused(module, name)
        return found

    def refused(self, module: str, name: str) -> SamaraError:
        """The error for a name that is not in the table."""
        full = f"{module}.{name}"
        full = full if len(full) <= 200 else f"{full[:200]}…"
        for part, (what, instead) in _KINDS.items():
            if module.split(".")[0] == "torch" and part in name:
                return UnsupportedError(
                    f"{self.where}: holds {what} ({full}), which samara does not support",
                    fix=f"in the program that wrote the file, save {instead}",
                )
        if module.startswith("torch.nn.modules"):
            return UnsupportedError(
                f"{self.where}: holds a whole module (its class is {full}); samara reads only data "
                "and never imports or runs what a file names",
                fix=SAVE_DATA,
            )
        return UnsupportedError(
            f"{self.where}: holds {full}, a class or function; samara reads only data and never "
            "imports or runs what a file names",
            fix=SAVE_DATA,
        )

    def build(self, machine: Machine, value: Any, state: Any) -> None:
        if isinstance(value, _NumpyDtype) and type(state) is tuple and len(state) >= 2:
            if state[1] not in ("<", ">", "=", "|") or any(v for v in state[2:5]):
                raise machine.bad("has a numpy dtype with parts")
            value.dtype = value.dtype.newbyteorder(state[1])
        elif isinstance(value, np.ndarray) and id(value) in self.bare:
            del self.bare[id(value)]
            _set_array(machine, value, state)
        else:
            name = value.name if isinstance(value, Internal) else shown(value)
            raise machine.bad(f"sets the state of {name}", SAVE_DATA)


# Kinds of tensors that cannot be loaded, by a part of the function's name, and what to save instead.
_KINDS: Final = {
    "sparse": ("a sparse tensor", "tensor.to_dense()"),
    "layout": ("a sparse tensor", "tensor.to_dense()"),
    "qtensor": ("a quantized tensor", "tensor.dequantize()"),
    "QInt": ("a quantized tensor", "tensor.dequantize()"),
    "QUInt": ("a quantized tensor", "tensor.dequantize()"),
    "qint": ("a quantized tensor", "tensor.dequantize()"),
    "quint": ("a quantized tensor", "tensor.dequantize()"),
    "nested": ("a nested tensor", "its parts as a list"),
    "meta": ("a tensor of device meta, which has no data", "tensors with data"),
    "float8": ("a tensor of 8 bit floats", "tensor.float()"),
    "float4": ("a tensor of 4 bit floats", "tensor.float()"),
    "complex32": ("a tensor of 16 bit complex numbers", "tensor.to(torch.complex64)"),
    "ComplexHalf": ("a tensor of 16 bit complex numbers", "tensor.to(torch.complex64)"),
    "wrapper_subclass": ("a tensor of a user-defined class", "a plain tensor"),
    "device_tensor": ("a tensor on another device", "tensor.cpu()"),
}


def _known(machine: Machine) -> Known:
    world = machine.world
    assert isinstance(world, Known)
    return world


def _arity(machine: Machine, arguments: tuple[Any, ...], least: int, most: int) -> None:
    if not least <= len(arguments) <= most:
        raise machine.bad(f"calls a function with {len(arguments)} arguments")


# ---- torch


def _tensor(machine: Machine, array: np.ndarray[Any, Any], storage: Storage, learns: Any) -> Any:
    """A tensor over a view of a storage; the array itself if tensors cannot have its dtype."""
    if array.dtype not in KNOWN:
        return array
    out = wrap(array)
    out._version = storage.version
    out._requires_grad = learns is True and array.dtype.kind == "f"
    return out


def _storage(machine: Machine, value: Any) -> Storage:
    if not isinstance(value, Storage):
        raise machine.bad(f"makes a tensor from a {type(value).__name__} instead of a storage")
    return value


def _rebuild_tensor(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    """storage, offset, size, stride[, requires_grad, hooks[, flags]]"""
    _arity(machine, arguments, 4, 7)
    storage = _storage(machine, arguments[0])
    _refuse_flags(machine, arguments[6:])
    offset, size, stride = arguments[1:4]
    array = view(storage, offset, size, stride, machine.where)
    return _tensor(machine, array, storage, arguments[4] if len(arguments) > 4 else False)


def _rebuild_tensor_3(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    """storage of raw bytes, offset, size, stride, requires_grad, hooks, dtype[, flags]"""
    _arity(machine, arguments, 7, 8)
    storage = _storage(machine, arguments[0])
    _refuse_flags(machine, arguments[7:])
    dtype = arguments[6]
    if not isinstance(dtype, np.dtype):
        raise machine.bad(f"makes a tensor of dtype {shown(dtype)}")
    kind = dtype.name if storage.kind == RAW else None
    offset, size, stride = arguments[1:4]
    array = view(storage, offset, size, stride, machine.where, kind)
    return _tensor(machine, array, storage, arguments[4])


def _refuse_flags(machine: Machine, given: tuple[Any, ...]) -> None:
    """Refuse tensors whose flags ask for negation or conjugation at every read."""
    for flags in given:
        if isinstance(flags, Mapping) and any(value is True for value in flags.values()):
            raise UnsupportedError(
                f"{machine.where}: holds a tensor that is a lazy {' and '.join(map(str, flags))}",
                fix="save tensor.resolve_conj().resolve_neg()",
            )


def _parameter(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    """tensor[, requires_grad, hooks[, attributes]]"""
    _arity(machine, arguments, 1, 4)
    data = arguments[0]
    if isinstance(data, np.ndarray):
        return data
    if not isinstance(data, Tensor):
        raise machine.bad(f"makes a parameter from a {type(data).__name__}")
    learns = (len(arguments) < 2 or arguments[1] is True) and data.dtype.kind == "f"
    out = Parameter(data, learns)
    out._version = data._version
    return out


def _buffer(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    _arity(machine, arguments, 1, 4)
    if not isinstance(arguments[0], (Tensor, np.ndarray)):
        raise machine.bad(f"makes a buffer from a {type(arguments[0]).__name__}")
    return arguments[0]


def _rebuild_from_type(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    """function, class, arguments, attributes: a tensor with attributes, which are dropped"""
    _arity(machine, arguments, 4, 4)
    function, kind, given, _ = arguments
    if not any(function is maker for maker in _TENSOR_MAKERS) or type(given) is not tuple:
        raise machine.bad("makes a tensor by a function that is not torch's")
    made = function.call(machine, given)
    if kind is _PARAMETER and isinstance(made, Tensor) and not isinstance(made, Parameter):
        return _parameter(machine, (made, made.requires_grad))
    if not any(kind is known for known in (_TENSOR, _PARAMETER, _BUFFER)):
        raise machine.bad("makes a tensor of an unknown class", SAVE_DATA)
    return made


def _size(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    """A shape, as a tuple."""
    _arity(machine, arguments, 1, 1)
    sizes = arguments[0]
    is_shape = isinstance(sizes, (tuple, list)) and len(sizes) <= 64
    if not is_shape or not all(type(n) is int for n in sizes):
        raise machine.bad("has a torch.Size that is not a shape")
    return tuple(sizes)


def _device(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    """The CPU: everything is loaded there."""
    _arity(machine, arguments, 1, 2)
    return CPU


# ---- Python


def _mapping(machine: Machine, arguments: tuple[Any, ...], out: dict[Any, Any]) -> Any:
    """`out`, filled from a dict or from pairs."""
    _arity(machine, arguments, 0, 1)
    given = arguments[0] if arguments else ()
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not isinstance(pairs, (list, tuple)):
        raise machine.bad(f"makes a mapping from a {type(pairs).__name__}")
    machine.spend(len(pairs))
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise machine.bad(f"makes a mapping from {shown(pair)} instead of pairs")
        out[machine.key(pair[0])] = pair[1]
    return out


def _defaultdict(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    _arity(machine, arguments, 0, 1)
    if not arguments or arguments[0] is None:
        return defaultdict(None)
    factory = _FACTORIES.get(id(arguments[0]))
    if factory is None:
        raise machine.bad("has a defaultdict whose factory is not a plain type", SAVE_DATA)
    return defaultdict(factory)


def _members(machine: Machine, arguments: tuple[Any, ...]) -> list[Any]:
    _arity(machine, arguments, 0, 1)
    given = arguments[0] if arguments else ()
    if not isinstance(given, (list, tuple, set, frozenset)):
        raise machine.bad(f"makes a set from a {type(given).__name__}")
    machine.spend(len(given))
    return [machine.key(value) for value in given]


def _encoded(machine: Machine, arguments: tuple[Any, ...]) -> bytes:
    """Bytes of Python 3. Protocol 2 stores them as a text and the name of its encoding."""
    _arity(machine, arguments, 1, 2)
    text, encoding = arguments if len(arguments) == 2 else (*arguments, "latin1")
    if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8", "utf8", "ascii"):
        raise machine.bad("encodes a value that is not a text, or uses an unknown encoding")
    machine.spend(len(text) // 16)
    return text.encode(encoding)


def _bytearray(machine: Machine, arguments: tuple[Any, ...]) -> bytearray:
    _arity(machine, arguments, 0, 2)
    if not arguments:
        return bytearray()
    data = arguments[0] if len(arguments) == 1 else _encoded(machine, arguments)
    if not isinstance(data, (bytes, bytearray)):
        raise machine.bad(f"makes a bytearray from a {type(data).__name__}")
    machine.spend(len(data) // 16)
    return bytearray(data)


def _bytes(machine: Machine, arguments: tuple[Any, ...]) -> bytes:
    """Empty bytes, as protocols 0 to 2 store them."""
    _arity(machine, arguments, 0, 0)
    return b""


def _complex(machine: Machine, arguments: tuple[Any, ...]) -> complex:
    _arity(machine, arguments, 2, 2)
    if not all(type(v) in (int, float) for v in arguments):
        raise machine.bad("makes a complex number from values that are not numbers")
    return complex(*arguments)


def _namespace(machine: Machine, arguments: tuple[Any, ...]) -> SimpleNamespace:
    """A namespace without attributes; its state follows. Used for argparse's too."""
    _arity(machine, arguments, 0, 0)
    return SimpleNamespace()


def _refused(name: str) -> Callable[[Machine, tuple[Any, ...]], Any]:
    def call(machine: Machine, arguments: tuple[Any, ...]) -> Any:
        raise machine.bad(f"calls {name}", SAVE_DATA)

    return call


# ---- numpy: many checkpoints have its scalars and arrays


def _numpy_dtype(machine: Machine, arguments: tuple[Any, ...]) -> _NumpyDtype:
    _arity(machine, arguments, 1, 3)
    code = arguments[0]
    if type(code) is not str or code not in _NUMPY_CODES:
        raise UnsupportedError(
            f"{machine.where}: holds a numpy array of dtype {shown(code)}",
            fix="save arrays of numbers, or lists of texts",
        )
    return _NumpyDtype(np.dtype(code))


def _elements(machine: Machine, dtype: Any, data: Any, shape: tuple[int, ...]) -> Any:
    """A flat array with the elements for a shape."""
    if not isinstance(dtype, _NumpyDtype):
        raise machine.bad("makes a numpy array of an unknown dtype")
    if isinstance(data, str):  # bytes of Python 2
        data = data.encode("latin1")
    if not isinstance(data, (bytes, bytearray)):
        raise machine.bad(f"makes a numpy array from a {type(data).__name__}")
    if math.prod(shape) * dtype.dtype.itemsize != len(data):
        raise machine.bad(f"makes a numpy array of shape {list(shape)} from {len(data)} bytes")
    machine.spend(len(data) // 16)
    if dtype.dtype == np.bool_ and data.strip(b"\0\1"):
        raise machine.bad("makes a numpy array of bools from bytes other than 0 and 1")
    return np.frombuffer(bytearray(data), dtype.dtype)


def _shape(machine: Machine, value: Any) -> tuple[int, ...]:
    is_shape = type(value) is tuple and len(value) <= _MAX_RANK
    if not is_shape or not all(type(n) is int and 0 <= n < 1 << 62 for n in value):
        raise machine.bad("makes a numpy array of an invalid shape")
    return tuple(value)


def _numpy_scalar(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    _arity(machine, arguments, 2, 2)
    dtype, data = arguments
    number = _elements(machine, dtype, data, ())[0]
    return number.astype(number.dtype.newbyteorder("="))


def _numpy_array(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    """An array without elements; its state follows."""
    _arity(machine, arguments, 3, 3)
    if arguments[0] is not _NDARRAY:
        raise machine.bad("makes a numpy array of a user-defined class", SAVE_DATA)
    out = np.zeros(0, np.int8)
    _known(machine).bare[id(out)] = out
    return out


def _set_array(machine: Machine, value: np.ndarray[Any, Any], state: Any) -> None:
    if type(state) is not tuple or len(state) not in (4, 5):
        raise machine.bad("has a numpy array with an invalid state")
    shape, dtype, columns_first, data = state[-4:]
    sizes = _shape(machine, shape)
    flat = _elements(machine, dtype, data, sizes)
    array: Any = value
    array.__setstate__((1, sizes, flat.dtype, bool(columns_first), flat.tobytes()))


def _numpy_buffer(machine: Machine, arguments: tuple[Any, ...]) -> Any:
    """bytes, dtype, shape, order: an array of protocol 5"""
    _arity(machine, arguments, 4, 4)
    data, dtype, shape, order = arguments
    if order not in ("C", "F"):
        raise machine.bad(f"makes a numpy array of order {shown(order)}")
    sizes = _shape(machine, shape)
    return _elements(machine, dtype, data, sizes).reshape(sizes, order=order)


# ---- the table

_TENSOR: Final = _Type("torch.Tensor")
_PARAMETER: Final = Callee("torch.nn.Parameter", _parameter)
_BUFFER: Final = Callee("torch.nn.Buffer", _buffer)
_NDARRAY: Final = _Type("numpy.ndarray")
_DTYPE: Final = Callee("numpy.dtype", _numpy_dtype)
_V2: Final = Callee("torch._utils._rebuild_tensor_v2", _rebuild_tensor)
_V3: Final = Callee("torch._utils._rebuild_tensor_v3", _rebuild_tensor_3)
_REBUILD_PARAMETER: Final = Callee("torch._utils._rebuild_parameter", _parameter)
_TENSOR_MAKERS: Final = (_V2, _V3, _REBUILD_PARAMETER)
_SET: Final = Callee("set", lambda m, args: set(_members(m, args)))
_PLAIN: Final = {
    name: Callee(name, _refused(name)) for name in ("list", "dict", "int", "float", "str")
}
_FACTORIES: Final[dict[int, Callable[[], Any]]] = {
    id(_SET): set,
    **{id(_PLAIN[kind.__name__]): kind for kind in (list, dict, int, float, str)},
}


def _both(name: str, value: Any) -> dict[tuple[str, str], Any]:
    """A builtin under the module names of Python 2 and 3."""
    return {("builtins", name): value, ("__builtin__", name): value}


_TABLE: Final[Mapping[tuple[str, str], Any]] = {
    ("torch", "Tensor"): _TENSOR,
    ("torch", "Size"): Callee("torch.Size", _size),
    ("torch", "device"): Callee("torch.device", _device),
    ("torch.nn.parameter", "Parameter"): _PARAMETER,
    ("torch.nn.parameter", "Buffer"): _BUFFER,
    ("torch._utils", "_rebuild_tensor"): _V2,
    ("torch._utils", "_rebuild_tensor_v2"): _V2,
    ("torch._utils", "_rebuild_tensor_v3"): _V3,
    ("torch._utils", "_rebuild_parameter"): _REBUILD_PARAMETER,
    ("torch._utils", "_rebuild_parameter_with_state"): _REBUILD_PARAMETER,
    ("torch._tensor", "_rebuild_from_type_v2"): Callee("_rebuild_from_type_v2", _rebuild_from_type),
    ("collections", "OrderedDict"): Callee(
        "collections.OrderedDict", lambda m, args: _mapping(m, args, OrderedDict())
    ),
    ("collections", "Counter"): Callee(
        "collections.Counter", lambda m, args: _mapping(m, args, Counter())
    ),
    ("collections", "defaultdict"): Callee("collections.defaultdict", _defaultdict),
    ("argparse", "Namespace"): Callee("argparse.Namespace", _namespace),
    ("types", "SimpleNamespace"): Callee("types.SimpleNamespace", _namespace),
    ("_codecs", "encode"): Callee("_codecs.encode", _encoded),
    **_both("set", _SET),
    **_both("frozenset", Callee("frozenset", lambda m, args: frozenset(_members(m, args)))),
    **_both("bytes", Callee("bytes", _bytes)),
    **_both("bytearray", Callee("bytearray", _bytearray)),
    **_both("complex", Callee("complex", _complex)),
    **{key: value for name, stub in _PLAIN.items() for key, value in _both(name, stub).items()},
    ("numpy", "dtype"): _DTYPE,
    ("numpy", "ndarray"): _NDARRAY,
    **{
        (f"numpy.{core}.multiarray", name): stub
        for core in ("core", "_core")
        for name, stub in {
            "scalar": Callee("numpy.scalar", _numpy_scalar),
            "_reconstruct": Callee("numpy.ndarray", _numpy_array),
        }.items()
    },
    **{
        (f"numpy.{core}.numeric", "_frombuffer"): Callee("numpy.frombuffer", _numpy_buffer)
        for core in ("core", "_core")
    },
}
