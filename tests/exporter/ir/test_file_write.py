# SPDX-License-Identifier: Apache-2.0
"""The bytes of a file: header, segments, shared data, and decoding by stock flatc."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import (
    ConstantInfo,
    Golden,
    Memory,
    Program,
    ProgramBuilder,
    Source,
    Value,
    from_bytes,
    read_file,
    save_program,
    schema,
    schema_text,
    to_bytes,
)
from samara.exporter.ir.file_assemble import in_memory
from samara.exporter.ir.file_write import default_of, rows_of
from samara.exporter.ir.fnv import fnv1a
from samara.exporter.ops import get_op
from samara.exporter.types import DType, ModelFormatError, Quant, ShapeError, TensorType


def _tied(**attrs: Any) -> Program:
    """Two matmuls over equal weights, the second as `attrs` say."""
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", 4])
    w = np.arange(16, dtype=np.float32).reshape(4, 4)
    y = b.op("matmul", x, b.const(w, "w"))
    y = b.op("matmul", y, b.const(w.copy(), "same"), **attrs)
    b.finish([y], ["out"])
    return pb.finish(["main"])


def _constants(program: Program, padding: float | None = math.inf) -> tuple[ConstantInfo, ...]:
    return from_bytes(to_bytes(program, padding=padding)).constants


def test_header() -> None:
    data = to_bytes(_tied())
    program_bytes = int.from_bytes(data[8:16], "little")
    assert data[4:8] == b"SMRA"
    assert program_bytes % 64 == 0
    assert int.from_bytes(data[16:24], "little") == fnv1a(data[24:program_bytes])
    assert int.from_bytes(data[24:32], "little") == len(data)
    assert not any(data[32:64])
    assert int.from_bytes(data[:4], "little") >= 64


def _constants_of_every_dtype() -> Program:
    pb = ProgramBuilder()
    b = pb.function("main")
    outs = []
    for dtype in DType:
        if dtype is DType.QS8:
            continue
        values = np.arange(9).astype(np.int8) - (4 if dtype.is_signed else 0)
        array = values.astype(dtype.numpy).reshape(3, 3)
        outs.append(b.op("identity", b.const(array, dtype.short, dtype)))
    b.finish(outs, [d.short for d in DType if d is not DType.QS8])
    return pb.finish(["main"])


def test_constants_of_every_dtype() -> None:
    program = _constants_of_every_dtype()
    data = to_bytes(program)
    file = from_bytes(data)
    assert file.min_runtime == (0, 3, 0)
    sizes = {c.name: c.size for c in file.constants}
    assert sizes == {d.short: d.bytes_of(9) for d in DType if d is not DType.QS8}
    before, after = program.run({}), file.program.run({})
    for name, array in before.items():
        assert after[name].dtype == array.dtype
        assert after[name].tobytes() == array.tobytes()


def test_golden_digests_are_of_packed_bytes() -> None:
    program = _constants_of_every_dtype()
    golden = Golden("main", {}, program.run({}))
    (row,) = from_bytes(to_bytes(program, golden=golden)).golden
    assert row.digests["i4"] == fnv1a(bytes([0xDC, 0xFE, 0x10, 0x32, 0x04]))
    assert "bf16" in row.outputs


@pytest.mark.parametrize(("limit", "alignment"), [(1 << 20, 64), (0, 16384)])
def test_segments_are_aligned(limit: int, alignment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In small files as tensors are, in others as pages."""
    monkeypatch.setattr(schema, "SMALL_FILE", limit)
    x = np.ones((1, 4), np.float32)
    golden = Golden("main", {"x": x}, {"out": _tied().run({"x": x})["out"]})
    file = from_bytes(to_bytes(_tied(), golden=golden))
    assert [name for name, _, _ in file.segments] == ["weights", "golden"]
    assert all(offset % alignment == 0 for _, offset, _ in file.segments)
    assert any(offset % 16384 for _, offset, _ in file.segments) == (alignment == 64)
    assert all(c.offset % 64 == 0 for c in file.constants)


def test_a_program_without_constants_has_no_segments() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    b.finish([b.op("neg", b.input("x", "f32", [1]))])
    data = to_bytes(pb.finish(["main"]))
    assert len(data) == int.from_bytes(data[8:16], "little")
    assert from_bytes(data).segments == ()


def test_identical_constants_are_stored_once() -> None:
    (info,) = _constants(_tied())
    assert (info.layout, info.name) == (schema.Layout.PANEL, "w")


def test_uses_that_disagree_share_a_plain_copy() -> None:
    (info,) = _constants(_tied(transpose_w=True))
    assert (info.layout, info.size) == (schema.Layout.PLAIN, 64)


def test_plain_on_request() -> None:
    (info,) = _constants(_tied(), padding=None)
    assert info.layout is schema.Layout.PLAIN


def test_a_weight_that_is_an_output_stays_plain() -> None:
    program = _tied()
    f = program.main
    w = f.nodes[0].inputs[1]
    assert w is not None
    shown = replace(f, outputs=(*f.outputs, w), output_names=("out", "w"))
    data = to_bytes(program.with_function(shown))
    file = from_bytes(data)
    (info,) = file.constants
    assert info.layout is schema.Layout.PLAIN
    assert file.program.run({"x": np.ones((1, 4), np.float32)})["w"].tolist()[0] == [0, 1, 2, 3]


def test_a_bias_is_padded() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", 4])
    w = b.const(np.ones((4, 5), np.float32), "w")
    bias = b.const(np.arange(5, dtype=np.float32), "bias")
    y = b.op("matmul", x, w, bias)
    b.finish([b.op("add", y, bias)], ["out"])
    program = pb.finish(["main"])
    data = to_bytes(program)
    file = from_bytes(data)
    info = next(c for c in file.constants if c.name == "bias")
    assert (info.shape, info.size) == ((5,), 64)
    start = file.segments[0][1] + info.offset
    assert np.frombuffer(data, np.float32, 16, start).tolist() == [0, 1, 2, 3, 4, *[0] * 11]


def test_sources_are_stored_once() -> None:
    program = _tied()
    f = program.main
    source = Source("model.py", 7, "Linear")
    nodes = tuple(replace(n, source=source) for n in f.nodes)
    data = to_bytes(program.with_function(replace(f, nodes=nodes)))
    assert data.count(b"model.py") == 1
    assert [n.source for n in from_bytes(data).program.main.nodes] == [source, source]


def test_writing_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.samara"
    save_program(_tied(), path)
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_program(_tied(transpose_w=True), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.samara"]


def test_malformed_programs_are_not_written() -> None:
    program = _tied()
    with pytest.raises(ModelFormatError):
        to_bytes(replace(program, entries=("nowhere",)))
    with pytest.raises(ShapeError, match="golden data for 'y'"):
        to_bytes(program, golden=Golden("main", {"y": np.zeros(1, np.float32)}, {}))


def test_defaults_are_normalised() -> None:
    conv = get_op("conv")
    assert default_of(conv, conv.attr("groups")) == 1
    assert default_of(conv, conv.attr("post")) == "none"
    iota = get_op("iota")
    assert default_of(iota, iota.attr("start")) == 0


def test_a_loop_lists_two_inputs() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "bool", [])
    body = b.child("body")
    i = body.input("i", "i64", [])
    body.input("go", "bool", [])
    made = b.loop(None, None, [], (body, [body.op("lt", i, 3), i]))
    b.finish([*made, x])
    data = to_bytes(pb.finish(["main"]))
    back = from_bytes(data).program
    assert back.run({"x": np.array(True)})[made[0].name].tolist() == [0, 1, 2, 3]


def test_flatc_prints_a_file(
    need_tool: Callable[[str, str], str], repo: Path, tmp_path: Path
) -> None:
    flatc = need_tool("flatc", "flatc")
    program = replace(_tied(), metadata={"labels": "ü"})
    golden = Golden("main", {"x": np.ones((1, 4), np.float32)}, {})
    save_program(program, tmp_path / "m.samara", golden=golden)
    done = subprocess.run(
        [flatc, "--json", "--raw-binary", "--strict-json", "-o", str(tmp_path),
         str(repo / schema_text.FBS_PATH), "--", str(tmp_path / "m.samara")],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    model = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    (function,) = model["functions"]
    assert [n["op"] for n in function["nodes"]] == ["matmul", "matmul"]
    assert function["symbols"] == [{"name": "n"}]  # expression 0 is the default
    assert model["constants"][0]["layout"] == "panel"
    assert model["metadata"] == [{"key": "labels", "value": "ü"}]
    assert model["golden"][0]["inputs"][0]["constant"] == 1


def test_types_of_variables_are_stored() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [2])
    f = b.finish([b.op("neg", x)])
    from samara.exporter.ir import Variable

    variable = Variable("v", TensorType.of("f32", [2]), np.array([3, 4], np.float32))
    program = replace(pb.finish(["main"]), variables=(variable,))
    program = program.with_function(replace(f, reads={"x": "v"}, writes={0: "v"}))
    back = from_bytes(to_bytes(program)).program
    assert back.variables[0].type == variable.type
    assert back.variables[0].initial.tolist() == [3, 4]
    assert (back.main.reads, back.main.writes) == ({"x": "v"}, {0: "v"})


@pytest.mark.parametrize("quantized", [False, True])
def test_quantized_weights_need_a_newer_runtime(quantized: bool) -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", 4])
    if quantized:
        kind = TensorType.of("qs8", (4, 5), Quant.per_axis([0.5] * 5, 1))
        w = Value("w", kind, np.ones((4, 5), np.int8))
    else:
        w = b.const(np.ones((4, 5), np.float16), "w")
    b.finish([b.op("matmul", x, w)], ["y"])
    file = from_bytes(to_bytes(pb.finish(["main"])))
    assert file.min_runtime == ((0, 4, 0) if quantized else (0, 1, 0))
    assert file.constants[0].layout is schema.Layout.PANEL
    back = file.program.functions["main"].nodes[0].inputs[1]
    assert back is not None
    assert back.constant is not None
    assert (back.constant == 1).all()


@pytest.mark.parametrize(("dtype", "since"), [("f32", (0, 1, 0)), ("f16", (0, 4, 0))])
def test_recurrent_weights_of_half_the_bytes_need_a_newer_runtime(
    dtype: str, since: tuple[int, int, int]
) -> None:
    kind = DType.parse(dtype)
    pb = ProgramBuilder()
    b = pb.function("main")
    w, r = (np.ones((1, 12, n), kind.numpy) for n in (5, 3))
    y, *_ = b.op("lstm", b.input("x", "f32", (2, 1, 5)), b.const(w), b.const(r), hidden=3)
    b.finish([y])
    assert from_bytes(to_bytes(pb.finish(["main"]))).min_runtime == since


def test_the_runtime_is_asked_before_anything_is_written(tmp_path: Path) -> None:
    """Callbacks get the file's bytes without their results; the file is written once, with them."""
    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op("relu", f.input("x", "f32", (4,)))], ["y"])
    made, seen = program.finish(["main"]), list[bytes]()

    def measure(file: memoryview) -> tuple[Memory, ...]:
        seen.append(bytes(file))
        assert [p.stat().st_size for p in tmp_path.iterdir()] == [0]
        return (contract,)

    contract = Memory("main", ("scalar",), 1, (0, 7, 0), 64, *range(10))
    save_program(made, tmp_path / "m.samara", measure=measure)
    assert seen == [bytes(in_memory(*rows_of(made)))]
    assert read_file(tmp_path / "m.samara").memory == (contract,)
