# SPDX-License-Identifier: Apache-2.0
"""save and load: nested state as one safetensors file with the tree in its metadata, without pickle.

The tree is JSON. None, booleans, texts, finite floats, integers of at most 64 bits and lists stand
for themselves. Everything else is an object of one key:
  {"dict": {"key": node}}   {"items": [[key, node], ...]} if a key is not a text   {"tuple": [...]}
  {"int": "-0x..."}         {"float": "7ff8000000000000"}, the bits of an infinity or NaN
  {"tensor": name}  {"array": name}  {"scalar": name}  {"bytes": name}: an array of the file
"""

from __future__ import annotations

import io
import json
import math
import os
import struct
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import numpy as np

from samara.exporter.frontend import torch_file
from samara.exporter.frontend.device import device
from samara.exporter.frontend.tensor_file import (
    METADATA,
    Array,
    dtype_code,
    read_opened,
    write_tensors,
)
from samara.exporter.types import ArgumentError, ModelFormatError, SamaraError, UnsupportedError
from samara.pybridge.files import kind_of, path_of, reading

__all__ = ["load", "save"]

TREE: Final = "samara.tree"
MAX_DEPTH: Final = 100  # of nesting; real states have five


def save(
    obj: Any,
    f: str | os.PathLike[str] | BinaryIO,
    pickle_module: Any = None,
    pickle_protocol: int | None = None,
    *,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write `obj` to a file.

    f: a path, which is written atomically: a killed process leaves the old file or the new one. Or an
    open binary file, such as an `io.BytesIO`, which is written from its position on.

    obj: tensors, arrays, numpy scalars, dicts, lists, tuples, str, bytes, numbers and None, nested.
    Mappings come back as dicts. Only values are stored, without `requires_grad` and hooks. Memory that
    occurs twice in the same shape is stored once and becomes one object when loaded. A dict of tensors
    by name is a plain safetensors file, which torch, the safetensors package and samara's C runtime
    read by the same names. Save modules and optimisers by their `state_dict()`. PyTorch's other
    arguments, which are about its pickles, have no effect.

    Raises UnsupportedError, with the place in `obj`, for anything else, FileError if the file cannot
    be written.

    >>> samara.save(nn.Linear(4, 2).state_dict(), "linear.pt")
    >>> sorted(samara.load("linear.pt"))
    ['bias', 'weight']
    """
    _check_opened(f, "write")
    writer = _Writer()
    tree = writer.flat(obj) if _is_flat(obj) else writer.node(obj, ())
    text = json.dumps(tree, separators=(",", ":"))
    write_tensors(f, writer.arrays, {TREE: text})


def load(
    f: str | os.PathLike[str] | BinaryIO,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = False,
    encoding: str = "utf-8",
) -> Any:
    """Load what `save` or `torch.save` wrote to the path or open binary file `f`.

    Any other safetensors file gives a dict of arrays by name. Nothing that a file names is imported
    or run.

        state = samara.load("resnet18.pt")  # of torch.save(model.state_dict(), "resnet18.pt")
        model.load_state_dict(state)

    mmap: leave the data in the file until they are used; needs a path. Writing to an array or tensor
    does not change the file. The file must not be changed in place (saving again under its name is
    safe).

    Files of torch.save: tensors that share a storage share memory, as in PyTorch; parameters become
    `nn.Parameter`, `torch.Size` a tuple, `argparse.Namespace` a `types.SimpleNamespace`, every device
    the CPU. encoding: of texts that Python 2 wrote ("latin1", or "bytes" to keep bytes). Arrays of
    numpy, complex numbers and unsigned integers of 16 to 64 bits are numpy arrays.

    map_location is "cpu", None, a function or a dict of devices; everything is loaded to the CPU.
    weights_only and pickle_module have no effect: only data is ever read.

    bfloat16, which numpy lacks, becomes float32 of the same values, with a UserWarning. Raises
    ModelFormatError for a file that is truncated, damaged or of another format, UnsupportedError for
    floats of 4 to 8 bits, sparse and quantized tensors, pickled classes (whole modules) and other
    devices, FileError (also FileNotFoundError …) if the file cannot be read.

    >>> samara.save({"step": 3}, "state.pt")
    >>> samara.load("state.pt")
    {'step': 3}
    """
    _check_location(map_location)
    if isinstance(f, (str, os.PathLike)):
        where = os.fspath(path_of(f, "f"))
        with reading(where), open(where, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return _loaded(file, size, where, bool(mmap), True, encoding)
    _check_opened(f, "read")
    if mmap:
        raise SamaraError("mmap=True needs the path of a file", fix="pass the path, or mmap=False")
    opened, size = _measured(f)
    return _loaded(opened, size, _name_of(f), False, False, encoding)


def _loaded(file: BinaryIO, size: int, where: str, mapped: bool, alone: bool, encoding: str) -> Any:
    """The state in an open file, which has `size` bytes from its position on."""
    begin = file.tell()
    start = file.read(min(size, torch_file.START_BYTES))
    file.seek(begin)
    if torch_file.looks_like(start):
        state, widened = torch_file.read(file, size, where, mapped=mapped, encoding=encoding)
        _warn(where, widened)
        return state
    found = read_opened(file, size, where, mapped=mapped, alone=alone)
    _warn(where, len(found.widened))
    if TREE not in found.metadata:
        return found.arrays
    reader = _Reader(where, found.arrays)
    try:
        tree = json.loads(found.metadata[TREE])
    except (ValueError, RecursionError) as error:
        raise reader.bad((), f"is not JSON: {error}") from None
    return reader.node(tree, ())


def _warn(where: str, widened: int) -> None:
    if widened:
        warnings.warn(f"{where}: {widened} bfloat16 tensors were loaded as float32", stacklevel=4)


def _check_location(where: Any) -> None:
    """Raise UnsupportedError if map_location asks for another device than the CPU."""
    if isinstance(where, Mapping):
        for target in where.values():
            device(target)
    elif where is not None and not callable(where):
        device(where)


def _check_opened(f: Any, method: str) -> None:
    """Raise ArgumentError unless `f` is a path or a binary file with this method."""
    if isinstance(f, (str, os.PathLike)):
        return
    if isinstance(f, io.TextIOBase):
        raise ArgumentError(
            "the file is open as text", fix=f'open it with "{method[0]}b", or pass its path'
        )
    if not hasattr(f, method):
        raise ArgumentError(
            f"a path or an open binary file is expected, not {kind_of(f)}",
            fix=f'give a path, or a file from open(path, "{method[0]}b")',
        )


def _measured(f: Any) -> tuple[BinaryIO, int]:
    """An open file and its size from the position on. A file that cannot seek is read into memory."""
    if not (hasattr(f, "readinto") and hasattr(f, "seekable") and f.seekable()):
        data = f.read()
        return io.BytesIO(data), len(data)
    begin = f.tell()
    end = f.seek(0, os.SEEK_END)
    f.seek(begin)
    return f, (f.tell() if end is None else end) - begin


def _name_of(f: Any) -> str:
    """The name of an open file for messages."""
    name = getattr(f, "name", None)
    return name if isinstance(name, str) else f"<{type(f).__name__}>"


_Place = tuple[object, ...]


def _shown(place: _Place) -> str:
    return "".join(f"[{key!r}]" for key in place)


# ---- writing


def _is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor, by its operator protocol: tensor.py lies above this module."""
    return hasattr(type(value), "__samara_op__") and hasattr(value, "_data")


def _is_array(value: Any) -> bool:
    """Whether `value` is a numpy array or scalar, but no subclass with more state, such as a mask."""
    return type(value) in (np.ndarray, np.memmap) or isinstance(value, np.generic)


def _is_flat(obj: Any) -> bool:
    return isinstance(obj, Mapping) and all(
        type(k) is str and (_is_array(v) or _is_tensor(v)) for k, v in obj.items()
    )


@dataclass(slots=True)
class _Writer:
    """Turns state into a tree and arrays by name."""

    arrays: dict[str, Array] = field(default_factory=dict)
    names: dict[tuple[Any, ...], str] = field(default_factory=dict)  # memory -> its stored name
    open: list[int] = field(default_factory=list)  # ids of the enclosing containers

    def flat(self, obj: Mapping[str, Any]) -> Any:
        """The tree of a dict of tensors. Its keys are the names in the file.

        Other readers ignore the tree, so shared memory is stored under each of its names.
        """
        nodes = {}
        for key, value in obj.items():
            nodes[key] = self.leaf(value, (key,))
            stored = self.arrays[next(iter(nodes[key].values()))]
            if key not in self.arrays and self.usable(key):
                self.arrays[key] = stored
        return {"dict": nodes}

    def node(self, value: Any, place: _Place) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if value.bit_length() <= 64 else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        if _is_array(value) or kind is bytes or _is_tensor(value):
            return self.leaf(value, place)
        if kind is list or kind is tuple or isinstance(value, Mapping):
            return self.container(value, place)
        raise UnsupportedError(
            f"state{_shown(place)} is a {kind.__module__}.{kind.__qualname__}, which cannot be saved",
            fix=_advice(value),
        )

    def container(self, value: Any, place: _Place) -> Any:
        if id(value) in self.open:
            raise UnsupportedError(f"state{_shown(place)} contains itself")
        if len(place) >= MAX_DEPTH:
            raise UnsupportedError(f"the state is nested more than {MAX_DEPTH} deep")
        self.open.append(id(value))
        try:
            if isinstance(value, Mapping):
                return self.mapping(value, place)
            nodes = [self.node(v, (*place, i)) for i, v in enumerate(value)]
            return nodes if type(value) is list else {"tuple": nodes}
        finally:
            self.open.pop()

    def mapping(self, value: Mapping[Any, Any], place: _Place) -> Any:
        if all(type(k) is str for k in value):
            return {"dict": {k: self.node(v, (*place, k)) for k, v in value.items()}}
        items = []
        for k, v in value.items():
            if not _is_key(k):
                raise UnsupportedError(
                    f"state{_shown(place)} has a key of type {type(k).__name__}",
                    fix="use str, int, float, bool, None, or tuples of them as keys",
                )
            items.append([self.node(k, place), self.node(v, (*place, k))])
        return {"items": items}

    def leaf(self, value: Any, place: _Place) -> dict[str, str]:
        if isinstance(value, bytes):
            return {"bytes": self.store(np.frombuffer(value, np.uint8), place)}
        if _is_array(value):
            kind = "array" if isinstance(value, np.ndarray) else "scalar"
            return {kind: self.store(np.asarray(value), place)}
        data = value._data
        if not isinstance(data, np.ndarray):
            raise UnsupportedError(
                f"state{_shown(place)} is a traced tensor, which has no data",
                fix="save outside of traced functions",
            )
        return {"tensor": self.store(data, place)}

    def store(self, array: Array, place: _Place) -> str:
        """Store an array and return its name. The same memory gets the same name."""
        if dtype_code(array) is None:
            raise UnsupportedError(
                f"state{_shown(place)} is an array of {array.dtype}, which cannot be saved",
                fix="convert it to numbers of at most 64 bits, or to a str or bytes",
            )
        memory = (array.ctypes.data, array.shape, array.strides, array.dtype.str)
        if array.size and memory in self.names:
            return self.names[memory]
        base = ".".join(str(key) for key in place) or "value"
        name, count = base, 1
        while name in self.arrays or not self.usable(name):
            count += 1
            name = f"{_printable(base)}#{count}"
        # `arrays` holds the array, so no other array can get its address.
        self.arrays[name] = array
        if array.size:
            self.names[memory] = name
        return name

    @staticmethod
    def usable(name: str) -> bool:
        return name != METADATA and name == _printable(name)


def _printable(name: str) -> str:
    """`name` with characters that UTF-8 cannot encode replaced."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _is_key(key: object) -> bool:
    if type(key) is tuple:
        return all(_is_key(k) for k in key)
    return key is None or type(key) in (str, int, float, bool)


def _advice(value: Any) -> str:
    if hasattr(value, "state_dict"):
        return "save what its state_dict() returns"
    if hasattr(value, "numpy"):
        return "convert it with .numpy()"
    if isinstance(value, tuple):
        return "convert it with tuple(…) or ._asdict()"
    if isinstance(value, (set, frozenset)):
        return "convert it with sorted(…)"
    if type(value).__name__ in ("Namespace", "SimpleNamespace"):
        return "convert it with vars(…)"
    return "keep it as a dict of tensors, arrays, numbers and texts"


# ---- reading


class _Reader:
    """Turns a tree and the arrays it names into state."""

    def __init__(self, where: str, arrays: dict[str, Array]) -> None:
        self.where = where
        self.arrays = arrays
        self.made: dict[tuple[str, str], Any] = {}  # so that a name used twice gives one object
        self.kinds: dict[str, Callable[[Any, _Place], Any]] = {
            "dict": self.mapping,
            "items": self.items,
            "tuple": lambda v, place: tuple(self.sequence(v, place)),
            "int": self.integer,
            "float": self.special,
        }

    def bad(self, place: _Place, what: str) -> ModelFormatError:
        return ModelFormatError(
            f"{self.where}: {TREE}{_shown(place)} {what}", fix="restore the file from a copy"
        )

    def node(self, value: Any, place: _Place) -> Any:
        if len(place) > MAX_DEPTH:
            raise self.bad(place[:3], f"is nested more than {MAX_DEPTH} deep")
        if isinstance(value, list):
            return self.sequence(value, place)
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise self.bad(place, "is not an object of one key")
        ((kind, inner),) = value.items()
        if kind in self.kinds:
            return self.kinds[kind](inner, place)
        return self.leaf(kind, inner, place)

    def sequence(self, value: Any, place: _Place) -> list[Any]:
        if not isinstance(value, list):
            raise self.bad(place, "is not a list")
        return [self.node(v, (*place, i)) for i, v in enumerate(value)]

    def mapping(self, value: Any, place: _Place) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.bad(place, "is not an object")
        return {k: self.node(v, (*place, k)) for k, v in value.items()}

    def items(self, value: Any, place: _Place) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for pair in value if isinstance(value, list) else [None]:
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.bad(place, "is not a list of keys and values")
            key = self.node(pair[0], (*place, "key"))
            if not _is_key(key) or key in found:
                raise self.bad(place, f"has the key {key!r}, or has it twice")
            found[key] = self.node(pair[1], (*place, key))
        return found

    def integer(self, value: Any, place: _Place) -> int:
        try:
            return int(value, 16)
        except (TypeError, ValueError):
            raise self.bad(place, f"is not an integer: {value!r}") from None

    def special(self, value: Any, place: _Place) -> float:
        try:
            (number,) = struct.unpack(">d", bytes.fromhex(value))
        except (TypeError, ValueError, struct.error):
            raise self.bad(place, f"is not a number: {value!r}") from None
        return float(number)

    def leaf(self, kind: str, name: Any, place: _Place) -> Any:
        if kind not in ("tensor", "array", "scalar", "bytes"):
            raise self.bad(place, f"has the unknown kind {kind!r}")
        if not isinstance(name, str) or name not in self.arrays:
            raise self.bad(place, f"names the tensor {name!r}, which the file lacks")
        if (kind, name) not in self.made:
            self.made[kind, name] = self.make(kind, self.arrays[name], place)
        return self.made[kind, name]

    def make(self, kind: str, array: Array, place: _Place) -> Any:
        if kind == "array":
            return array
        if kind == "bytes":
            if array.dtype != np.uint8 or array.ndim != 1:
                raise self.bad(place, f"is bytes of {array.dtype} and {array.ndim} dimensions")
            return array.tobytes()
        if kind == "scalar":
            if array.ndim != 0:
                raise self.bad(place, f"is a scalar of {array.ndim} dimensions")
            return array[()]
        from samara.exporter.frontend.tensor import wrap

        return wrap(array)
