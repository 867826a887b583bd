# SPDX-License-Identifier: Apache-2.0
"""A pickle machine for data: it builds numbers, texts and containers and runs no code.

Python's Unpickler imports and calls what a pickle names, and allocates what a length field asks for.
This machine knows the opcodes of protocols 0 to 5 and asks a `World` what a name means. Every step
costs from a budget, so that time and memory stay in proportion to the file.
"""

from __future__ import annotations

import codecs
import struct
from collections import OrderedDict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final, Protocol

from samara.exporter.types import ModelFormatError, SamaraError, UnsupportedError

# Limits. Real checkpoints take tens of steps and some hundred bytes per tensor.
MAX_STEPS: Final = 8_000_000
MAX_PICKLE_BYTES: Final = 64 << 20
MAX_INTEGER_BYTES: Final = 1024
MAX_DEPTH: Final = 100  # of nesting, as in samara.save
_MAX_WRITTEN_OUT: Final = 100_000_000  # values, each counted once for every reference
_MAX_KEY_PARTS: Final = 64  # values in a tuple that is a key of a dict
_MAX_TUPLE_KEYS: Final = 10_000  # hashes of tuples are not seeded, so a file can force collisions

RESTORE: Final = "restore the file from a copy"


def shown(value: object) -> str:
    """A value of a pickle for messages: a plain value shortened, the type of any other.

    The text of a nested value could be endless.
    """
    if type(value) is int:
        return str(value) if value.bit_length() <= 64 else "a huge number"
    if value is None or type(value) in (bool, float):
        return repr(value)
    if isinstance(value, (str, bytes)):
        return repr(value[:50]) + ("…" if len(value) > 50 else "")
    return f"a {type(value).__name__}"


class Internal:
    """A value that exists only while a pickle is read and must not be in the result."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Callee(Internal):
    """A name that a pickle may call. `call(machine, arguments)` is samara's function for it."""

    __slots__ = ("call",)

    def __init__(self, name: str, call: Callable[[Machine, tuple[Any, ...]], Any]) -> None:
        super().__init__(name)
        self.call = call


class World(Protocol):
    """Answers the machine's questions about everything that is not plain data."""

    def find(self, module: str, name: str) -> Any:
        """The value of a global name. Raises SamaraError for names that are not allowed."""

    def persistent(self, key: Any) -> Any:
        """The value of a persistent id (torch: a storage)."""

    def build(self, machine: Machine, value: Any, state: Any) -> None:
        """Set the state of a value that this World made."""


class Machine:
    """Runs the pickles of one file.

    `data` holds them one after the other. `where` begins every message. `encoding` is for texts of
    Python 2; "bytes" leaves them as bytes.
    """

    def __init__(self, data: bytes, where: str, world: World, encoding: str = "utf-8") -> None:
        self.data = data
        self.where = where
        self.world = world
        self.encoding = encoding
        self.position = 0
        self.steps = 0
        self.tuple_keys = 0
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        """The value of the pickle at `position`, which moves past it.

        Raises ModelFormatError for a damaged pickle, UnsupportedError for one that holds more than
        data or exceeds a limit.
        """
        self.stack, self.marks, self.memo = [], [], {}
        data = self.data
        try:
            while True:
                self.steps += 1
                if self.steps > MAX_STEPS:
                    raise self.too_much()
                code = data[self.position]
                self.position += 1
                if code == _STOP:
                    return self.stack.pop()
                handler = _HANDLERS[code]
                if handler is None:
                    raise self.bad(f"has the opcode {code:#04x}, which plain data does not need")
                handler(self)
        except SamaraError:
            raise
        except (IndexError, KeyError):
            raise self.bad("is damaged or cut off") from None
        except (TypeError, ValueError, OverflowError, struct.error, LookupError) as error:
            raise self.bad(f"is damaged: {error}") from None

    # ---- errors and budget

    def bad(self, what: str, fix: str = RESTORE) -> ModelFormatError:
        """An error with the position of the machine."""
        return ModelFormatError(f"{self.where}: the pickle {what} (byte {self.position})", fix=fix)

    def too_much(self) -> SamaraError:
        return UnsupportedError(
            f"{self.where}: the pickle takes more than {MAX_STEPS:,} steps",
            fix="keep long lists of numbers as tensors",
        )

    def spend(self, count: int) -> None:
        """Take the cost of copying `count` values from the budget."""
        self.steps += count
        if self.steps > MAX_STEPS:
            raise self.too_much()

    # ---- bytes

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        begin = self.position
        if count < 0 or count > len(self.data) - begin:
            raise self.bad(f"is cut off: {count} more bytes expected")
        self.position = begin + count
        return self.data[begin : begin + count]

    def line(self) -> bytes:
        """The bytes up to the next line feed; skips the line feed."""
        end = self.data.find(b"\n", self.position)
        if end < 0:
            raise self.bad("is cut off in a line of text")
        found = self.data[self.position : end]
        self.position = end + 1
        return found

    def unsigned(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    # ---- stack

    def to_mark(self) -> list[Any]:
        """Remove the last mark and return the values pushed since."""
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def push(self, value: Any) -> None:
        """Push a value made with `to_mark`, which replaces `stack` before this method looks it up."""
        self.stack.append(value)

    def top(self, kind: type[Any]) -> Any:
        """The value on top, which must be a `kind`."""
        value = self.stack[-1]
        if not isinstance(value, kind):
            raise self.bad(f"adds to a {type(value).__name__} as if it were a {kind.__name__}")
        return value

    def key(self, value: Any) -> Any:
        """`value`, if it may be a key of a dict or a member of a set."""
        kind = type(value)
        if kind is int and value.bit_length() > 64:
            raise self.bad("has a key of more than 64 bits")
        if kind in _KEYS:
            return value
        if kind is tuple:
            self.tuple_keys += 1
            if self.tuple_keys <= _MAX_TUPLE_KEYS and _is_plain(value):
                return value
        raise self.bad(f"has a {kind.__name__} as a key, which samara does not read")

    def fill(self, target: dict[Any, Any], items: list[Any]) -> None:
        """Set alternating keys and values."""
        if len(items) % 2:
            raise self.bad("has a key without a value")
        for i in range(0, len(items), 2):
            target[self.key(items[i])] = items[i + 1]

    def text(self, data: bytes) -> Any:
        """A text of Python 2."""
        if self.encoding == "bytes":
            return data
        try:
            return data.decode(self.encoding)
        except UnicodeDecodeError:
            raise self.bad(
                f"has a text of Python 2 that is not {self.encoding}",
                'pass encoding="latin1" (or encoding="bytes") to samara.load',
            ) from None

    def remember(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def integer(self, data: bytes) -> None:
        if len(data) > MAX_INTEGER_BYTES:
            raise UnsupportedError(f"{self.where}: an integer of {len(data)} bytes")
        self.stack.append(int.from_bytes(data, "little", signed=True))

    def find(self, module: bytes, name: bytes) -> None:
        self.stack.append(self.world.find(module.decode("utf-8"), name.decode("utf-8")))

    def call(self) -> None:
        arguments = self.stack.pop()
        callee = self.stack.pop()
        if not isinstance(callee, Callee) or type(arguments) is not tuple:
            name = callee.name if isinstance(callee, Internal) else shown(callee)
            raise self.bad(f"calls {name}, which cannot be called")
        self.stack.append(callee.call(self, arguments))

    def build(self) -> None:
        state = self.stack.pop()
        value = self.stack[-1]
        if type(value) is OrderedDict and type(state) is dict and set(state) <= {"_metadata"}:
            value.__dict__.update(state)  # PyTorch's versions of modules
        elif type(value) is SimpleNamespace and type(state) is dict:
            if not all(type(name) is str for name in state):
                raise self.bad("has an attribute whose name is not a text")
            self.spend(len(state))
            value.__dict__.update(state)
        else:
            self.world.build(self, value, state)


_STOP: Final = ord(".")
_KEYS: Final = frozenset({str, int, float, bool, type(None), bytes})


def _is_plain(value: tuple[Any, ...]) -> bool:
    """Whether a tuple holds only plain values, nested or not, and at most _MAX_KEY_PARTS."""
    parts, pending = 0, [value]
    while pending:
        for part in pending.pop():
            parts += 1
            if parts > _MAX_KEY_PARTS:
                return False
            if type(part) is tuple:
                pending.append(part)
            elif type(part) not in _KEYS or (type(part) is int and part.bit_length() > 64):
                return False
    return True


def check_result(value: Any, where: str) -> None:
    """Refuse a result that contains itself, is nested too deeply, holds an Internal, or would be huge
    if it were written out (a list that holds one list twice, which holds another twice, …).

    Looks at each object once, however many references it has.
    """
    done: dict[int, tuple[int, int]] = {}  # by id: levels below, and values if written out
    around: set[int] = set()  # ids of the containers around the current one
    open_: list[tuple[Any, list[Any]]] = [((value,), [value])]
    totals: list[list[int]] = [[0, 1]]
    while open_:
        container, left = open_[-1]
        if not left:
            open_.pop()
            below, count = totals.pop()
            done[id(container)] = (below + 1, count)
            around.discard(id(container))
            if totals:
                _include(totals[-1], below + 1, count, len(open_), where)
            continue
        child = left.pop()
        if isinstance(child, Internal):
            raise UnsupportedError(
                f"{where}: {child.name} is in the file without a tensor",
                fix="save tensors, numbers, texts, lists and dicts",
            )
        if not isinstance(child, _CONTAINERS):
            totals[-1][1] += 1
        elif id(child) in done:
            _include(totals[-1], *done[id(child)], len(open_), where)
        elif id(child) in around:
            raise ModelFormatError(f"{where}: a container of the pickle contains itself")
        else:
            around.add(id(child))
            open_.append((child, _children(child)))
            totals.append([0, 1])
            _include(totals[-1], 0, 0, len(open_), where)


_CONTAINERS: Final = (dict, list, tuple, set, frozenset, SimpleNamespace)


def _include(total: list[int], below: int, count: int, around: int, where: str) -> None:
    """Add a container of `below` levels and `count` values to the one around it."""
    total[0] = max(total[0], below)
    total[1] += count
    if around + below > MAX_DEPTH + 1:
        raise UnsupportedError(f"{where}: the values are nested more than {MAX_DEPTH} deep")
    if total[1] > _MAX_WRITTEN_OUT:
        raise UnsupportedError(
            f"{where}: the values share so many references that written out they would be more than "
            f"{_MAX_WRITTEN_OUT:,}"
        )


def _children(value: Any) -> list[Any]:
    if isinstance(value, OrderedDict):
        return [*value.values(), *value.__dict__.values()]
    if isinstance(value, dict):
        return list(value.values())  # keys are plain
    if isinstance(value, SimpleNamespace):
        return list(value.__dict__.values())
    return list(value)


# ---- opcodes


def _push(value: Any) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(value)


def _unpacked(form: str) -> Callable[[Machine], None]:
    layout = struct.Struct(form)
    return lambda m: m.stack.append(layout.unpack(m.take(layout.size))[0])


def _sized(size: int, finish: Callable[[Machine, bytes], Any]) -> Callable[[Machine], None]:
    """Push `finish` of the bytes that follow a length of `size` bytes."""
    return lambda m: m.stack.append(finish(m, m.take(m.unsigned(size))))


def _utf8(machine: Machine, data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _bytes(machine: Machine, data: bytes) -> bytes:
    return data


def _tuple_of(count: int) -> Callable[[Machine], None]:
    def run(m: Machine) -> None:
        if len(m.stack) < count:
            raise IndexError
        items = tuple(m.stack[-count:])
        del m.stack[-count:]
        m.stack.append(items)

    return run


def _mark(m: Machine) -> None:
    m.marks.append(m.stack)
    m.stack = []


def _pop(m: Machine) -> None:
    if m.stack:
        m.stack.pop()
    else:
        m.to_mark()


def _int_line(m: Machine) -> None:
    text = m.line()
    if text in (b"00", b"01"):
        m.stack.append(text == b"01")
    else:
        _long_line_of(m, text)


def _long_line_of(m: Machine, text: bytes) -> None:
    if len(text) > MAX_INTEGER_BYTES:
        raise UnsupportedError(f"{m.where}: an integer of {len(text)} digits")
    m.stack.append(int(text.rstrip(b"L")))


def _string_line(m: Machine) -> None:
    text = m.line()
    if len(text) < 2 or text[:1] not in (b"'", b'"') or text[:1] != text[-1:]:
        raise m.bad("has a text without quotes")
    decoded: tuple[bytes, int] = codecs.escape_decode(text[1:-1])
    m.stack.append(m.text(decoded[0]))


def _append(m: Machine) -> None:
    value = m.stack.pop()
    m.top(list).append(value)


def _appends(m: Machine) -> None:
    items = m.to_mark()
    m.top(list).extend(items)


def _set_item(m: Machine) -> None:
    value = m.stack.pop()
    key = m.stack.pop()
    m.top(dict)[m.key(key)] = value


def _set_items(m: Machine) -> None:
    items = m.to_mark()
    m.fill(m.top(dict), items)


def _dict(m: Machine) -> None:
    made: dict[Any, Any] = {}
    m.fill(made, m.to_mark())
    m.stack.append(made)


def _add_items(m: Machine) -> None:
    items = m.to_mark()
    m.top(set).update([m.key(item) for item in items])


def _stack_global(m: Machine) -> None:
    name, module = m.stack.pop(), m.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise m.bad("has a global whose name is not a text")
    m.stack.append(m.world.find(module, name))


def _protocol(m: Machine) -> None:
    version = m.unsigned(1)
    if version > 5:
        raise UnsupportedError(f"{m.where}: pickle protocol {version}; samara reads 0 to 5")


def _frame(m: Machine) -> None:
    size = m.unsigned(8)
    if size > len(m.data) - m.position:
        raise m.bad(f"is cut off: a frame of {size} bytes expected")


_TABLE: Final[dict[bytes, Callable[[Machine], object]]] = {
    b"\x80": _protocol,
    b"\x95": _frame,
    b"(": _mark,
    b"0": _pop,
    b"1": Machine.to_mark,
    b"2": lambda m: m.stack.append(m.stack[-1]),
    b"N": _push(None),
    b"\x88": _push(True),
    b"\x89": _push(False),
    b"I": _int_line,
    b"L": lambda m: _long_line_of(m, m.line()),
    b"F": lambda m: m.stack.append(float(m.line())),
    b"J": _unpacked("<i"),
    b"K": _unpacked("<B"),
    b"M": _unpacked("<H"),
    b"G": _unpacked(">d"),
    b"\x8a": lambda m: m.integer(m.take(m.unsigned(1))),
    b"\x8b": lambda m: m.integer(m.take(m.unsigned(4))),
    b"S": _string_line,
    b"T": _sized(4, Machine.text),
    b"U": _sized(1, Machine.text),
    b"V": lambda m: m.stack.append(m.line().decode("raw-unicode-escape")),
    b"X": _sized(4, _utf8),
    b"\x8c": _sized(1, _utf8),
    b"\x8d": _sized(8, _utf8),
    b"B": _sized(4, _bytes),
    b"C": _sized(1, _bytes),
    b"\x8e": _sized(8, _bytes),
    b"\x96": _sized(8, lambda m, data: bytearray(data)),
    b"]": lambda m: m.stack.append([]),
    b"a": _append,
    b"e": _appends,
    b"l": lambda m: m.push(m.to_mark()),
    b")": _push(()),
    b"t": lambda m: m.push(tuple(m.to_mark())),
    b"\x85": _tuple_of(1),
    b"\x86": _tuple_of(2),
    b"\x87": _tuple_of(3),
    b"}": lambda m: m.stack.append({}),
    b"d": _dict,
    b"s": _set_item,
    b"u": _set_items,
    b"\x8f": lambda m: m.stack.append(set()),
    b"\x90": _add_items,
    b"\x91": lambda m: m.push(frozenset([m.key(item) for item in m.to_mark()])),
    b"p": lambda m: m.remember(int(m.line())),
    b"q": lambda m: m.remember(m.unsigned(1)),
    b"r": lambda m: m.remember(m.unsigned(4)),
    b"\x94": lambda m: m.remember(len(m.memo)),
    b"g": lambda m: m.stack.append(m.memo[int(m.line())]),
    b"h": lambda m: m.stack.append(m.memo[m.unsigned(1)]),
    b"j": lambda m: m.stack.append(m.memo[m.unsigned(4)]),
    b"c": lambda m: m.find(m.line(), m.line()),
    b"\x93": _stack_global,
    b"R": Machine.call,
    b"\x81": Machine.call,
    b"b": Machine.build,
    b"Q": lambda m: m.stack.append(m.world.persistent(m.stack.pop())),
}


_HANDLERS: Final = [_TABLE.get(bytes([code])) for code in range(256)]
