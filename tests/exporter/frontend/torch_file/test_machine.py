# SPDX-License-Identifier: Apache-2.0
"""The pickle machine: every opcode of data, and pickles made to run code, hang or eat memory."""

from __future__ import annotations

import math
import os
import pickle
import struct
import time
import tracemalloc
from collections import OrderedDict
from typing import Any

import pytest

from samara.exporter.frontend.torch_file import machine as under_test
from samara.exporter.frontend.torch_file.known import Known
from samara.exporter.frontend.torch_file.machine import MAX_DEPTH, Machine, check_result
from samara.exporter.types import ModelFormatError, SamaraError, UnsupportedError


def run(data: bytes, encoding: str = "utf-8") -> Any:
    def no_storage(world: Known, key: Any) -> Any:
        raise ModelFormatError("no storage")

    value = Machine(data, "file", Known("file", no_storage), encoding).run()
    check_result(value, "file")
    return value


VALUES: list[Any] = [
    *(None, True, False, 0, -1, 255, 65535, -(2**31), 2**31, 2**63, -(2**70), 10**300),
    *(0.1, -0.0, math.inf, 1e-310, "", "é\n\\\U0001f600", "\ud800", "x" * 300, b"", b"\0\xff\n'"),
    *(b"y" * 300, bytearray(b"abc"), (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [[]], [1, [2]]),
    *({}, {"a": {1: (2, [3])}}, {(1, "a"): None, 2.5: 1, None: 2, b"k": 3, True: 4}),
    *(set(), {1, 2}, frozenset(), frozenset({"a"}), 1 + 2j, OrderedDict(b=1, a=[2])),
    list(range(2000)),
    {str(i): i for i in range(2000)},
]


@pytest.mark.parametrize("protocol", range(6))
def test_what_pickle_writes_is_read(protocol: int) -> None:
    for value in VALUES:
        got = run(pickle.dumps(value, protocol))
        assert type(got) is type(value)
        assert repr(got) == repr(value)
    shared = [1]
    got = run(pickle.dumps([shared, shared], protocol))
    assert got[0] is got[1]


def test_texts_and_numbers_of_python_2() -> None:
    data = b"(lp0\nI5\naI01\naI00\naL12345678901234567890L\naF2.5\naS'a\\x41\\n'\naVb\\u00e9\naNa."
    assert run(data) == [5, True, False, 12345678901234567890, 2.5, "aA\n", "bé", None]
    assert run(b"\x80\x02T\x02\0\0\0hi.") == "hi"
    assert run(b"(I1\nI2\n0t.") == (1,)
    assert run(b"I1\n(I2\nI3\n1.") == 1
    assert run(b"]2a.".replace(b"2a", b"2\x85")) == ([],)


HOSTILE = {
    "os.system": b"cos\nsystem\n(X\x04\0\0\0truetR.",
    "posix.system": b"cposix\nsystem\n(X\x04\0\0\0truetR.",
    "builtins.eval": b"cbuiltins\neval\n(X\x01\0\0\x001tR.",
    "builtins.getattr": b"\x80\x04\x8c\x08builtins\x8c\x07getattr\x93.",
    "a dotted name": b"\x80\x04\x8c\x0bcollections\x8c\x1aOrderedDict.__init__.__globals__"[:-1]
    + b"\x93.",
    "torch._utils.sys": b"ctorch._utils\nsys\n.",
    "torch.load": b"ctorch\nload\n(X\x01\0\0\0xtR.",
    "numpy.load": b"cnumpy\nload\n(X\x01\0\0\0xtR.",
    "instance": b"(ios\nsystem\n.",
    "object": b"(cos\nsystem\no.",
    "extension": b"\x82\x01.",
    "buffer": b"\x97.",
    "text id": b"Pabc\n.",
    "new with keywords": b"ccollections\nOrderedDict\n)}\x92.",
    "a call of a text": b"X\x01\0\0\0x)R.",
    "a call of a plain class": b"cbuiltins\nint\n(X\x01\0\0\x001tR.",
    "a state of a dict": b"}}b.",
    "a state of a mapping": b"ccollections\nOrderedDict\n)R}X\x01\0\0\0x]sb.",
    "protocol": b"\x80\x06N.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_code_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(os, "system", called.append)
    with pytest.raises(SamaraError) as caught:
        run(HOSTILE[name])
    assert not called
    assert str(caught.value).startswith("file: ")


DAMAGED = {
    "nothing": b"",
    "no stop": b"N",
    "empty stack": b".",
    "mark without end": b"t.",
    "memo": b"h\x05.",
    "missing text": b"X\xff\0\0\0abc.",
    "huge text": b"X\xff\xff\xff\xffabc.",
    "huge text of 8 bytes": b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.",
    "huge bytes": b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "huge bytearray": b"\x96\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "huge frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fN.",
    "huge integer": b"\x8b\xff\xff\xff\x7f.",
    "negative text": b"T\xff\xff\xff\xffabc.",
    "append to a tuple": b")Na.",
    "append to nothing": b"Na.",
    "items of a list": b"](NNu.",
    "key without value": b"}(Nu.",
    "key that is a list": b"}]Ns.",
    "key that is a dict": b"}}Ns.",
    "key of many bits": b"}\x8a\x09\0\0\0\0\0\0\0\0\x02Ns.",
    "set of lists": b"\x8f(]\x90.",
    "no number": b"Ix\n.",
    "no float": b"Fx\n.",
    "no line": b"I5",
    "no quotes": b"Sabc\n.",
    "bad utf-8": b"X\x01\0\0\0\xff.",
    "bad name": b"c\xff\n\xff\n.",
    "global of numbers": b"\x80\x04K\x01K\x02\x93.",
    "alone": b"ctorch\nFloatStorage\n.",
    "alone in a list": b"](cnumpy\nndarray\ne.",
    "itself": b"]q\x00h\x00a.",
    "itself by a dict": b"}q\x00Nh\x00s.",
    "itself by a tuple": b"]q\x00h\x00\x85a.",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_found(name: str) -> None:
    with pytest.raises(SamaraError):
        run(DAMAGED[name])


def _repeated(count: int) -> bytes:
    """A tuple that holds itself twice, `count` times over: 2 ** count values."""
    return b")" + b"q\x000h\x00h\x00\x86" * count


BOMBS = {
    "deep lists": b"]" * 20_000 + b"a" * 19_999 + b".",
    "deep tuples": b")" + b"\x85" * 50_000 + b".",
    "open marks": b"(" * 50_000 + b".",
    "doubled tuples as a value": _repeated(60) + b".",
    "doubled tuples as a key": b"}" + _repeated(60) + b"Ns.",
    "doubled tuples in a set": b"\x8f(" + _repeated(60) + b"\x90.",
    "a memo index of four bytes": b"Nr\xff\xff\xff\xff.",
    "a memo index of text": b"Np" + b"9" * 900 + b"\n.",
    "an integer of many digits": b"L" + b"9" * 900_000 + b"L\n.",
    "an integer of many bytes": b"\x8b" + struct.pack("<I", 900_000) + b"\xff" * 900_000 + b".",
    "copies of a set": b"](" + b"K\x01" * 1000 + b"eq\x000cbuiltins\nset\nq\x01"
    b"0]q\x02(" + b"h\x01h\x00\x85R" * 20_000 + b"e.",
    "copies of bytes": b"X\x00\x00\x10\x00" + b"a" * (1 << 20) + b"q\x000c_codecs\nencode\nq\x010]("
    + b"h\x01h\x00X\x06\0\0\0latin1\x86R" * 10_000 + b"e.",
    "dicts": b"](" + b"}" * 200_000 + b"e.",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_cost_little(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in ("dicts", "copies of a set"):  # the real limit takes seconds to reach
        monkeypatch.setattr(under_test, "MAX_STEPS", 100_000)
    tracemalloc.start()
    begin = time.perf_counter()
    refused = False
    try:
        run(BOMBS[name])
    except SamaraError as error:
        refused = len(str(error)) < 1000
    took = time.perf_counter() - begin
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused or name.startswith("a memo index")  # which is only a number, however large
    assert peak < 300_000_000
    assert took < 30


def test_the_depth_is_counted_through_shared_values() -> None:
    value: Any = []
    kept = [value]
    for _ in range(MAX_DEPTH - 2):
        value = [value]
        kept.append(value)
    check_result(kept, "file")
    with pytest.raises(UnsupportedError, match="nested more than"):
        check_result([*kept, [[value]]], "file")
