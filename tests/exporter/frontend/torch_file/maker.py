# SPDX-License-Identifier: Apache-2.0
"""Makes files as torch.save does, without torch: pickles opcode by opcode, zip archives, streams."""

from __future__ import annotations

import io
import struct
import zipfile
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
NAMES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}


@dataclass(frozen=True)
class Name:
    """A global of the pickle."""

    module: str
    name: str


@dataclass(frozen=True, eq=False)
class Call:
    """A function of the pickle and its arguments; then perhaps a state."""

    function: Any
    arguments: tuple[Any, ...]
    state: Any = None
    opcode: bytes = b"R"


@dataclass(eq=False)
class Memory:
    """A storage: the bytes of `array`, under the name of its dtype or of `kind`."""

    array: np.ndarray[Any, Any]
    kind: str | None = None
    count: int | None = None
    key: str | None = None


@dataclass(frozen=True)
class Raw:
    """Opcodes as they are."""

    data: bytes


def tensor(
    memory: Any, shape: Any = None, stride: Any = None, offset: Any = 0, learns: Any = False
) -> Call:
    """A tensor over a Memory, or over the whole of an array."""
    if not isinstance(memory, Memory):
        array = np.ascontiguousarray(memory)
        shape = np.shape(memory) if shape is None else shape
        stride = tuple(s // array.itemsize for s in np.empty(shape, array.dtype).strides)
        memory = Memory(array.reshape(-1))
    hooks = Call(Name("collections", "OrderedDict"), ())
    function = Name("torch._utils", "_rebuild_tensor_v2")
    return Call(function, (memory, offset, tuple(shape), tuple(stride), learns, hooks))


def bfloat16(bits: Any) -> Call:
    """A vector of bfloat16, given by its bits."""
    array = np.asarray(bits, np.uint16)
    return tensor(Memory(array, "BFloat16Storage"), array.shape, (1,))


def parameter(data: Call, learns: bool = True) -> Call:
    hooks = Call(Name("collections", "OrderedDict"), ())
    return Call(Name("torch._utils", "_rebuild_parameter"), (data, learns, hooks))


def size(*sizes: int) -> Call:
    return Call(Name("torch", "Size"), (sizes,))


@dataclass
class Pickler:
    """Writes protocol 2. An object that occurs twice is written once."""

    legacy: bool = False
    out: bytearray = field(default_factory=bytearray)
    memo: dict[int, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)

    def dump(self, value: Any) -> bytes:
        self.out += b"\x80\x02"
        self.save(value)
        self.out += b"."
        return bytes(self.out)

    def save(self, value: Any) -> None:
        if isinstance(value, Raw):
            self.out += value.data
        elif value is None or isinstance(value, bool):
            self.out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif isinstance(value, int):
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            self.out += b"\x8a" + bytes([len(data)]) + data
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            data = value.encode()
            self.out += b"X" + struct.pack("<I", len(data)) + data
        elif isinstance(value, Name):
            self.out += f"c{value.module}\n{value.name}\n".encode()
        elif isinstance(value, Memory):
            self.save_memory(value)
        elif id(value) in self.memo and value != ():
            self.out += b"j" + struct.pack("<I", self.memo[id(value)])
        else:
            self.save_container(value)

    def save_container(self, value: Any) -> None:
        if isinstance(value, tuple):
            self.out += b"("
            for item in value:
                self.save(item)
            self.out += b"t"
            self.put(value)
        elif isinstance(value, Call):
            self.save(value.function)
            self.save(value.arguments)
            self.out += value.opcode
            self.put(value)
            if value.state is not None:
                self.save(value.state)
                self.out += b"b"
        elif isinstance(value, list):
            self.out += b"]"
            self.put(value)
            self.out += b"("
            for item in value:
                self.save(item)
            self.out += b"e"
        else:
            self.save_dict(value)

    def save_dict(self, value: dict[Any, Any]) -> None:
        if isinstance(value, OrderedDict):
            self.save(Name("collections", "OrderedDict"))
            self.out += b")R"
        else:
            self.out += b"}"
        self.put(value)
        self.out += b"("
        for key, item in value.items():
            self.save(key)
            self.save(item)
        self.out += b"u"
        if isinstance(value, OrderedDict) and hasattr(value, "_metadata"):
            self.save({"_metadata": value._metadata})
            self.out += b"b"

    def put(self, value: Any) -> None:
        self.memo[id(value)] = len(self.memo)
        self.kept.append(value)  # its id stays its own
        self.out += b"r" + struct.pack("<I", self.memo[id(value)])

    def save_memory(self, memory: Memory) -> None:
        if all(memory is not m for m in self.memories):
            self.memories.append(memory)
        key = next(i for i, m in enumerate(self.memories) if m is memory)
        name = memory.kind or NAMES[memory.array.dtype.name]
        module = "torch.storage" if name == "UntypedStorage" else "torch"
        count = memory.array.size if memory.count is None else memory.count
        own = str(key) if memory.key is None else memory.key
        place: tuple[Any, ...] = ("storage", Name(module, name), own, "cpu", count)
        self.save((*place, None) if self.legacy else place)
        self.out += b"Q"


def zipped(
    value: Any,
    prefix: str = "archive/",
    *,
    big: bool = False,
    method: int = zipfile.ZIP_STORED,
    pickle: bytes | None = None,
    more: dict[str, bytes] | None = None,
) -> bytes:
    """The archive that torch.save has written since 1.6. `pickle` replaces data.pkl."""
    pickler = Pickler()
    data = pickler.dump(value)
    records = {
        "data.pkl": data if pickle is None else pickle,
        "byteorder": b"big" if big else b"little",
    }
    for i, memory in enumerate(pickler.memories):
        array = memory.array.byteswap() if big else memory.array
        records[f"data/{i if memory.key is None else memory.key}"] = array.tobytes()
    records["version"] = b"3\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in {**records, **(more or {})}.items():
            info = zipfile.ZipInfo(prefix + name, (1980, 0, 0, 0, 0, 0))
            info.compress_type = method
            # Data begin at multiples of 64 bytes, as torch writes them.
            free = -(out.tell() + 30 + len(info.filename.encode()) + 4) % 64
            info.extra = struct.pack("<HH", 0x4246, free) + bytes(free)
            archive.writestr(info, content)
    return out.getvalue()


def stream(value: Any, *, big: bool = False) -> bytes:
    """The pickles one after the other that torch.save wrote before 1.6."""
    pickler = Pickler(legacy=True)
    state = pickler.dump(value)
    order = ">" if big else "<"
    out = Pickler().dump(MAGIC) + Pickler().dump(1001)
    out += Pickler().dump({"protocol_version": 1001, "little_endian": not big})
    out += state + Pickler().dump([str(i) for i in range(len(pickler.memories))])
    for memory in pickler.memories:
        array = memory.array.byteswap() if big else memory.array
        out += struct.pack(order + "q", memory.array.size) + array.tobytes()
    return out
