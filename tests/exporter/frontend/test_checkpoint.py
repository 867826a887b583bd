# SPDX-License-Identifier: Apache-2.0
"""samara.save and samara.load: nested state, sharing, other programs' files, damage, kills."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import time
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend.creation import from_numpy, tensor
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.frontend.tensor_file import read_tensors, write_tensors
from samara.exporter.ir import ProgramBuilder, Variable
from samara.exporter.types import (
    DType,
    ModelFormatError,
    SamaraError,
    ShapeError,
    TensorType,
    UnsupportedError,
)


def same(a: Any, b: Any) -> bool:
    """Equal with types, dtypes, shapes and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (np.ndarray, np.generic)):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, dict):
        return (
            [(type(k), k) for k in a] == [(type(k), k) for k in b]
            and all(same(a[k], b[k]) for k in a)
        )  # fmt: skip
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Tensor):
        return same(a.detach().numpy(), b.detach().numpy())
    return bool(a == b)


VALUES: dict[str, Any] = {
    "none": None,
    "bools": [True, False],
    "ints": [0, -1, 2**53 + 1, -(2**63), 2**64, -(10**6000)],
    "floats": [0.1, -0.0, 5e-324, 1e308, math.inf, -math.inf, math.nan, 1e22, 3.0],
    "nan with a payload": struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0],
    "texts": ["", 'é\n"\\\0', "\ud800", "\U0001f600"],
    "bytes": [b"", bytes(range(256))],
    "sequences": [(), [], (1, [2, (3,)]), [()]],
    "keys": {"": 1, 0: 2, -1.5: 3, None: 4, ("a", 1): 5, True: 6},
    "reserved": {"dict": 1, "tensor": "x", "__metadata__": np.arange(2), "tuple": []},
    "empty": {},
    "arrays": [np.zeros((0, 3), np.float64), np.array(2, np.int8), np.arange(6.0).reshape(1, 2, 3)],
    "scalars": [np.float32(0.1), np.int64(-5), np.bool_(True), np.float64(math.nan)],
    "random": np.random.MT19937(3).state,
    "optimiser": {
        "state": {0: {"step": 3, "m": np.ones(3, np.float16)}, 1: {}},
        "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "params": [0, 1]}],
    },
}


@pytest.mark.parametrize("name", VALUES)
def test_values_come_back(tmp_path: Path, name: str) -> None:
    value = VALUES[name]
    for state in (value, {"nested": [value], 1: value}):
        samara.save(state, tmp_path / "a")
        assert same(samara.load(tmp_path / "a"), state)
        assert same(samara.load(tmp_path / "a", mmap=True), state)


def test_pcg_state_resumes(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    rng.random(3)
    samara.save({"rng": rng.bit_generator.state}, tmp_path / "a")
    want = rng.random(5).tolist()
    other = np.random.default_rng()
    other.bit_generator.state = samara.load(tmp_path / "a")["rng"]
    assert other.random(5).tolist() == want


def test_order_of_keys_and_memory(tmp_path: Path) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    state = OrderedDict(z=a.T, a=a[::2, 1:], m=a.astype(">f4"))
    samara.save(state, tmp_path / "a")
    back = samara.load(tmp_path / "a")
    assert list(back) == ["z", "a", "m"]
    assert type(back) is dict
    for name, array in state.items():
        assert back[name].tolist() == array.tolist()
        assert back[name].flags.c_contiguous
        assert back[name].dtype == np.float32


def test_tensors_come_back_as_tensors(tmp_path: Path) -> None:
    weight = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    count = tensor(5)
    state = {"model": {"w": weight, "t": weight.detach().t()}, "n": count, "a": np.ones(2)}
    samara.save(state, tmp_path / "a")
    back = samara.load(tmp_path / "a")
    assert isinstance(back["model"]["w"], Tensor)
    assert not back["model"]["w"].requires_grad
    assert back["model"]["w"].tolist() == [[1, 2], [3, 4]]
    assert back["model"]["t"].tolist() == [[1, 3], [2, 4]]
    assert back["n"].dtype == np.int64
    assert back["n"].shape == ()
    assert isinstance(back["a"], np.ndarray)
    back["model"]["w"].mul_(2)  # may be written to
    assert samara.load(tmp_path / "a")["model"]["w"].tolist() == [[1, 2], [3, 4]]


def test_shared_memory_is_stored_once_and_shared_again(tmp_path: Path) -> None:
    table = np.arange(1000, dtype=np.float32)
    state = {"enc": {"w": table}, "dec": [table, table[:], table[1:]], "t": from_numpy(table)}
    samara.save(state, tmp_path / "a")
    assert sum(a.nbytes for a in read_tensors(tmp_path / "a").arrays.values()) == 4000 + 3996
    back = samara.load(tmp_path / "a")
    assert back["enc"]["w"] is back["dec"][0]
    back["enc"]["w"][0] = 9
    assert back["dec"][1][0] == 9
    assert back["t"][0].item() == 9
    assert back["dec"][2][0] == 1


def test_a_dict_of_tensors_is_a_plain_file(tmp_path: Path) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy")
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    state = {"w": w, "tied": w, "a.b": tensor([1, 2]), "é": np.float64(2), "w.T": w.T}
    samara.save(state, tmp_path / "a")
    theirs = numpy_files.load_file(tmp_path / "a")
    assert set(theirs) == set(state)
    assert same(theirs["tied"], w)
    assert theirs["a.b"].tolist() == [1, 2]
    back = samara.load(tmp_path / "a")
    assert list(back) == list(state)
    assert back["tied"] is back["w"]
    assert same(back["é"], np.float64(2))
    assert isinstance(back["a.b"], Tensor)


def test_plain_files_of_others_load(tmp_path: Path) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy")
    arrays = {"b": np.ones((2, 2), np.float16), "a": np.arange(3)}
    numpy_files.save_file(arrays, tmp_path / "a", metadata={"format": "pt"})
    back = samara.load(tmp_path / "a")
    assert same({k: back[k] for k in arrays}, arrays)


def test_bfloat16_is_said(tmp_path: Path) -> None:
    header = b'{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    data = len(header).to_bytes(8, "little") + header + b"\x80\x3f\x00\xc0"
    (tmp_path / "a").write_bytes(data)
    with pytest.warns(UserWarning, match="1 bfloat16 tensors were loaded as float32"):
        back = samara.load(tmp_path / "a")
    assert same(back["x"], np.array([1, -2], np.float32))


def test_torch_files_load_and_are_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch_files = pytest.importorskip("safetensors.torch")
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
    torch_files.save_file(module.state_dict(), tmp_path / "a")
    back = samara.load(tmp_path / "a")
    assert {k: v.tolist() for k, v in back.items()} == {
        k: v.tolist() for k, v in module.state_dict().items()
    }
    samara.save({k: from_numpy(v) for k, v in back.items()}, tmp_path / "b")
    module.load_state_dict(torch_files.load_file(tmp_path / "b"))
    torch_files.save_file({"x": torch.arange(3.0).bfloat16()}, tmp_path / "c")
    with pytest.warns(UserWarning, match="bfloat16"):
        assert samara.load(tmp_path / "c")["x"].tolist() == [0, 1, 2]


Pair = namedtuple("Pair", "a b")


class Stateful:
    def state_dict(self) -> dict[str, Any]:
        return {}


def _circle() -> list[Any]:
    circle: list[Any] = [1]
    circle.append({"again": circle})
    return circle


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Stateful(), r"state\['a'\]\[1\] is a .*Stateful(.|\n)*state_dict\(\)"),
        (Pair(1, 2), r"Pair(.|\n)*_asdict"),
        ({1, 2}, r"set(.|\n)*sorted"),
        (1j, "builtins.complex"),
        (np.array([1j]), "array of complex128"),
        (np.array(["a"]), "array of <U1"),
        (np.str_("a"), "array of <U1"),
        (np.array([object()]), "array of object"),
        (np.datetime64("2020-01-01"), "array of datetime64"),
        (np.ma.masked_array([1, 2], [True, False]), "MaskedArray"),
        ({(1, b"x"): 1}, "key of type tuple"),
        ({np.int64(1): 1}, "key of type int64"),
        (bytearray(b"x"), "bytearray"),
        (lambda: 1, "function"),
        (_circle(), r"state\['a'\]\[1\]\[1\]\['again'\] contains itself"),
    ],
)
def test_what_cannot_be_saved_is_named(tmp_path: Path, value: Any, text: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(UnsupportedError, match=text):
        samara.save({"a": [0, value]}, path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_nesting_is_bounded(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    samara.save(deep, tmp_path / "a")
    assert samara.load(tmp_path / "a") == deep
    with pytest.raises(UnsupportedError, match="more than 100 deep"):
        samara.save([deep], tmp_path / "a")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        samara.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        samara.save({}, tmp_path / "none" / "a")


def test_a_model_is_no_checkpoint(tmp_path: Path) -> None:
    builder = ProgramBuilder()
    main = builder.function("main")
    main.finish([main.op("relu", main.input("x", "f32", [2]))], ["y"])
    samara.export(builder.finish(["main"]), tmp_path / "m.samara", check=False)
    with pytest.raises(ModelFormatError, match=r"that is a model; use samara\.Session"):
        samara.load(tmp_path / "m.samara")


@pytest.mark.parametrize(
    "tree",
    [
        "", "{", "[" * 100_000, '{"dict":[]}', '{"tuple":{}}', '{"items":{}}', '{"items":[[1]]}',
        '{"items":[[[],1]]}', '{"items":[[1,2],[1,3]]}', '{"int":1}', '{"int":"0y"}',
        '{"float":"7ff"}', '{"float":1}', '{"array":"none"}', '{"array":1}', '{"array":["x"]}',
        '{"scalar":"x"}', '{"bytes":"x"}', '{"pickle":"x"}', '{"a":1,"b":2}', "{}",
        '{"dict":{"a":' * 200 + "1" + "}}" * 200,
    ],
)  # fmt: skip
def test_damaged_trees(tmp_path: Path, tree: str) -> None:
    write_tensors(tmp_path / "a", {"x": np.ones(2, np.float32)}, {"samara.tree": tree})
    with pytest.raises(ModelFormatError, match=r"samara\.tree"):
        samara.load(tmp_path / "a")


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "a"
    state = {"w": np.ones(3, np.float32), "o": {0: (1, b"x")}, "m": np.ones(2, bool), "f": math.nan}
    samara.save(state, path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFormatError):
            samara.load(path)
    header = 8 + int.from_bytes(whole[:8], "little")
    refused = 0
    for at in range(header):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at * 5 % 8
        path.write_bytes(damaged)
        try:
            samara.load(path)
        except ModelFormatError:
            refused += 1
    assert refused > header // 2


# ---- killed while saving

_SAVER = """
import sys
import numpy as np
import samara
path, number = sys.argv[1], int(sys.argv[2])
while True:
    number += 1
    a = np.full(200_000, number, np.int64)
    samara.save({"number": number, "arrays": [a, a + 1], "bytes": bytes([number % 256]) * 999}, path)
    print(number, flush=True)
"""


def _check_whole(path: Path) -> int:
    state = samara.load(path)
    number = state["number"]
    assert (state["arrays"][0] == number).all()
    assert (state["arrays"][1] == number + 1).all()
    assert state["bytes"] == bytes([number % 256]) * 999
    return int(number)


def _start(path: Path, number: int, patch: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", patch + _SAVER, path, str(number)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def _first(path: Path) -> None:
    samara.save({"number": 0, "arrays": [np.zeros(2), np.ones(2)], "bytes": bytes(999)}, path)


def test_killed_at_random_the_saver_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "a"
    _first(path)
    r = random.Random(11)
    for _ in range(6):
        before = _check_whole(path)
        with _start(path, before) as saver:
            assert saver.stdout is not None
            assert int(saver.stdout.readline()) == before + 1
            time.sleep(r.random() * 0.03)
            saver.kill()
            told = [before + 1, *map(int, saver.stdout.read().split())][-1]
        assert _check_whole(path) in (told, told + 1)
        assert len(list(tmp_path.iterdir())) <= 2  # what earlier kills left is gone
    samara.save({}, path)
    assert list(tmp_path.iterdir()) == [path]


# Ends the process at the `call`-th call of a function, before or after it did its work.
_KILL = """
import os, pathlib, signal, {module}
real, calls = {module}.{name}, 0
def killer(*arguments):
    global calls
    calls += 1
    if calls == {call} and not {after}:
        os.kill(os.getpid(), signal.SIGKILL)
    result = real(*arguments)
    if calls == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
{module}.{name} = killer
"""


@pytest.mark.parametrize(
    ("module", "name", "call", "after", "new"),
    [
        ("samara.exporter.frontend.tensor_file", "_bytes_of", 1, False, 0),
        ("samara.exporter.frontend.tensor_file", "_bytes_of", 2, False, 0),
        ("samara.exporter.frontend.tensor_file", "_bytes_of", 5, False, 1),  # of the second save
        ("os", "fsync", 1, False, 0),
        ("os", "fsync", 1, True, 0),
        ("pathlib", "Path.replace", 1, True, 1),
        ("os", "fsync", 2, False, 1),
        ("os", "fsync", 3, True, 1),
    ],
)
def test_killed_inside_a_save(
    tmp_path: Path, module: str, name: str, call: int, after: bool, new: int
) -> None:
    path = tmp_path / "a"
    _first(path)
    patch = _KILL.format(module=module, name=name, call=call, after=after)
    with _start(path, 0, patch) as saver:
        saver.communicate()
    assert saver.returncode == -9
    assert _check_whole(path) == new
    samara.save({}, path)
    assert list(tmp_path.iterdir()) == [path]


# ---- with the C runtime


def test_variables_of_a_session_and_checkpoints(tmp_path: Path) -> None:
    builder = ProgramBuilder()
    f = builder.function("main")
    x, total = f.input("x", "f32", [2]), f.input("total", "f32", [2])
    f.finish([f.op("add", total, x, name="after")], ["y"])
    builder.functions["main"] = replace(
        builder.functions["main"], reads={"total": "total"}, writes={0: "total"}
    )
    variable = Variable("total", TensorType.of(DType.F32, (2,)), np.array([1, 2], np.float32))
    samara.export(builder.finish(["main"], [variable]), tmp_path / "m.samara", check=False)
    session = samara.Session(tmp_path / "m.samara")
    session.run({"x": np.array([10, 20], np.float32)})
    session.state.save(tmp_path / "state")
    assert same(samara.load(tmp_path / "state"), {"total": np.array([11, 22], np.float32)})
    samara.save({"total": tensor([5.0, 6.0])}, tmp_path / "mine")
    session.state.load(tmp_path / "mine")
    assert session.state["total"].tolist() == [5, 6]
    samara.save(session.state, tmp_path / "again")  # a mapping like any other
    assert samara.load(tmp_path / "again")["total"].tolist() == [5, 6]
    samara.save({"total": np.ones(3, np.float32)}, tmp_path / "mine")
    with pytest.raises(ShapeError, match=r"is float32 \[2\], the file holds float32 \[3\]"):
        session.state.load(tmp_path / "mine")
    samara.save({"nested": {"total": np.ones(2, np.float32)}}, tmp_path / "mine")
    with pytest.raises(samara.SamaraError, match=r"no variable 'nested.total'"):
        session.state.load(tmp_path / "mine")
    assert session.state["total"].tolist() == [5, 6]


def _blocks(repo: Path, language: str) -> list[str]:
    page = (repo / "docs" / "guides" / "checkpoints.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_page_runs(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = _blocks(repo, "python")
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)


def test_the_page_compiles(
    repo: Path, tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    (block,) = _blocks(repo, "c")
    (tmp_path / "page.c").write_text(block)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    source = str(tmp_path / "page.c")
    command = [need_tool("cc", "cc"), *flags, f"-I{repo}/runtime_c/include", source]
    subprocess.run(command, check=True)


def test_the_tree_is_readable_json(tmp_path: Path) -> None:
    samara.save({"a": [1, (2.5, None)], 3: np.ones(2, np.float32)}, tmp_path / "a")
    file = read_tensors(tmp_path / "a")
    assert json.loads(file.metadata["samara.tree"]) == {
        "items": [["a", [1, {"tuple": [2.5, None]}]], [3, {"array": "3"}]]
    }
    assert list(file.arrays) == ["3"]


# ---- open files, and PyTorch's arguments


def test_open_files(tmp_path: Path) -> None:
    states = [{"a": tensor([1, 2])}, {"nested": [{"x": np.ones(3)}]}, {"b": np.zeros((0, 2))}]
    memory = io.BytesIO()
    for state in states:
        samara.save(state, memory)
    memory.seek(0)
    for state in states:  # one after the other, each from the current position
        assert same(samara.load(memory), state)
    with open(tmp_path / "a", "w+b") as file:
        samara.save(states[0], file)
        file.seek(0)
        assert same(samara.load(file), states[0])
    assert same(samara.load(tmp_path / "a"), states[0])
    with gzip.open(tmp_path / "z", "wb") as packed:
        samara.save(states[1], packed)  # type: ignore[arg-type]
    with gzip.open(tmp_path / "z") as packed:
        assert same(samara.load(packed), states[1])  # type: ignore[arg-type]

    class Pipe:  # can be read once
        def __init__(self, data: bytes) -> None:
            self.data = data

        def read(self, count: int = -1) -> bytes:
            taken, self.data = (self.data, b"") if count < 0 else (b"", self.data)
            return taken

    memory = io.BytesIO()
    samara.save(states[0], f=memory)
    assert same(samara.load(Pipe(memory.getvalue())), states[0])  # type: ignore[arg-type]


def test_damage_in_open_files() -> None:
    memory = io.BytesIO()
    samara.save({"a": np.arange(10)}, memory)
    for cut in (0, 7, 20, len(memory.getvalue()) - 1):
        with pytest.raises(ModelFormatError, match="BytesIO"):
            samara.load(io.BytesIO(memory.getvalue()[:cut]))


def test_what_is_no_open_file(tmp_path: Path) -> None:
    for wrong in (io.StringIO(), (tmp_path / "t").open("w+")):
        with pytest.raises(SamaraError, match="open as text"):
            samara.save({}, wrong)  # type: ignore[arg-type]
        with pytest.raises(SamaraError, match="open as text"):
            samara.load(wrong)  # type: ignore[arg-type]
        wrong.close()
    nothings: list[Any] = [5, None, []]
    for nothing in nothings:
        with pytest.raises(SamaraError, match="an open binary file is expected"):
            samara.save({}, nothing)
        with pytest.raises(SamaraError, match="an open binary file is expected"):
            samara.load(nothing)
    with pytest.raises(SamaraError, match="path of a file"):
        samara.load(io.BytesIO(), mmap=True)


def test_pytorchs_arguments(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    samara.save({"a": 1}, f=path, pickle_protocol=4, _use_new_zipfile_serialization=False)
    for where in ("cpu", None, samara.device("cpu"), {"cuda:0": "cpu"}, lambda s, place: s):
        assert samara.load(f=path, map_location=where, weights_only=True) == {"a": 1}
    with pytest.raises(UnsupportedError, match="no device 'cuda'"):
        samara.load(path, map_location="cuda")


def test_parsed_arguments_are_saved_as_dicts(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="Namespace") as caught:
        samara.save({"args": argparse.Namespace(lr=1)}, tmp_path / "a")
    assert "vars" in str(caught.value.fix)
