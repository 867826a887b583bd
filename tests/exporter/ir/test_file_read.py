# SPDX-License-Identifier: Apache-2.0
"""Files give back their programs; damaged files raise ModelFormatError only."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each_case

from samara.exporter.ir import (
    Builder,
    Golden,
    Program,
    ProgramBuilder,
    Value,
    Variable,
    from_bytes,
    open_program,
    print_program,
    read_file,
    save_program,
    schema,
    to_bytes,
)
from samara.exporter.ir.file_assemble import Segment, assemble
from samara.exporter.ir.file_write import rows_of
from samara.exporter.ir.fnv import fnv1a
from samara.exporter.ops import Case, OpSpec, all_ops, get_op
from samara.exporter.types import Dim, DType, ModelFormatError, Quant, Sym, TensorType


def _same(a: Program, b: Program) -> None:
    assert print_program(a) == print_program(b)
    assert a.metadata == b.metadata
    for f, g in zip(a.functions.values(), b.functions.values(), strict=True):
        assert f.bounds == g.bounds
        for v, w in zip(f.values(), g.values(), strict=True):
            assert (v.name, v.type) == (w.name, w.type)
            if v.constant is not None:
                assert w.constant is not None
                assert w.constant.dtype == v.constant.dtype
                assert w.constant.shape == v.constant.shape
                assert w.constant.tobytes() == v.constant.tobytes()
        for m, n in zip(f.nodes, g.nodes, strict=True):
            assert (m.name, m.source, m.absorbed, m.attrs) == (
                n.name,
                n.source,
                n.absorbed,
                n.attrs,
            )


def _program() -> Program:
    """Convolutions of every layout, a matmul, a variable, a loop, dims read and born."""
    rng = np.random.default_rng(5)

    def draw(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [Dim.atom(Sym("n", 1, 8)), 6, 6, 4])
    keep = b.input("keep", "bool", ["n"])
    state = b.input("state", "f32", [10])
    size = b.input("size", "i64", [1])
    window: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
    y = b.op("conv", x, b.const(draw(8, 3, 3, 4), "w"), b.const(draw(8), "bias"), lo=0.0, **window)
    y = b.op("conv", y, b.const(draw(8, 3, 3, 1), "dw"), groups=8, **window)
    y = b.op("conv", y, b.const(draw(8, 3, 3, 4), "gw"), groups=2, **window)
    z = b.op("reduce_mean", y, axes=(1, 2), name="pooled")
    z = b.op("matmul", z, b.const(draw(10, 8), "fc"), transpose_w=True)
    z = b.op("add", z, state)
    rows = b.op("nonzero", keep, name="rows")
    picked = b.op("gather", z, b.op("reshape", rows, shape=(rows.type.shape[1],)))
    k = b.read(size, 0, bound=10)
    head = b.op("slice", z, begin=(0, 0), end=(z.type.shape[0], k), step=(1, 1))
    body = b.child("body")
    body.input("i", "i64", [])
    go = body.input("go", "bool", [])
    acc = body.input("acc", "f32", ["m", 10])
    more = body.op("mul", acc, body.const(np.float32(0.5)))
    (total,) = b.loop(b.const(np.int64(3)), None, [picked], (body, [go, more]))
    new_state = b.op("reduce_sum", z, axes=(0,))
    f = b.finish([total, head, new_state], ["total", "head", "new_state"])
    object.__setattr__(f, "reads", {"state": "memory"})
    object.__setattr__(f, "writes", {2: "memory"})
    memory = Variable("memory", TensorType.of("f32", [10]), np.zeros(10, np.float32))
    return pb.finish(["main"], [memory], {"labels": "a, b", "author": "ü"})


FEEDS: dict[str, Any] = {
    "x": np.linspace(-1, 1, 3 * 144, dtype=np.float32).reshape(3, 6, 6, 4),
    "keep": np.array([True, False, True]),
    "size": np.array([4]),
}


@pytest.mark.parametrize("padding", [math.inf, 0.0, None])
def test_round_trip(padding: float | None) -> None:
    program = _program()
    data = to_bytes(program, padding=padding)
    file = from_bytes(data)
    _same(program, file.program)
    assert to_bytes(file.program, padding=padding) == data
    state_a: dict[str, Any] = {}
    state_b: dict[str, Any] = {}
    a = program.run(FEEDS, state=state_a)
    b = file.program.run(FEEDS, state=state_b)
    assert set(a) == {"total", "head"}
    assert a["total"].shape == (2, 10)
    assert a["head"].shape == (3, 4)
    for name in a:
        assert np.array_equal(a[name], b[name])
    assert np.array_equal(state_a["memory"], state_b["memory"])


def test_bounds_and_symbols_come_back() -> None:
    program = from_bytes(to_bytes(_program())).program
    f = program.main
    (atom,) = [d.sole_atom() for d in f.inputs[0].type.shape if not d.is_static]
    assert isinstance(atom, Sym)
    assert (atom.lower, atom.upper) == (1, 8)
    bounds = {str(a): str(d) for a, d in f.bounds.items()}
    assert bounds["read(size, 0)"] == "10"
    assert bounds["born(rows, 0, 1)"] == "n"


def test_layouts_in_the_file() -> None:
    infos = {c.name: c for c in from_bytes(to_bytes(_program())).constants}
    assert infos["w"].layout is schema.Layout.PANEL
    assert infos["dw"].layout is schema.Layout.DWPANEL
    assert (infos["gw"].layout, infos["gw"].groups) == (schema.Layout.PANEL, 2)
    assert (infos["fc"].layout, infos["fc"].shape) == (schema.Layout.PANEL, (10, 8))
    assert (infos["bias"].layout, infos["bias"].size) == (schema.Layout.PLAIN, 64)
    assert all(c.offset % 64 == 0 for c in infos.values())


def test_quantized_values_come_back() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    quant = Quant.per_axis([0.5, 0.25], 1, [3, -4])
    x = b.input("x", "qs8", ["n", 2], quant)
    program = _finish(pb, b, b.op("dequantize", x))
    back = from_bytes(to_bytes(program)).program
    assert back.main.inputs[0].type == x.type
    _same(program, back)


def test_golden_comes_back() -> None:
    program = _program()
    outputs = {"total": np.ones((2, 10), np.float32), "head": np.zeros((3, 4), np.float32)}
    golden = Golden("main", FEEDS, outputs, {"total": (1e-3, 1e-2)})
    file = from_bytes(to_bytes(program, golden=golden))
    (found,) = file.golden
    assert set(found.inputs) == set(FEEDS)
    for name, array in FEEDS.items():
        assert np.array_equal(found.inputs[name], array)
    assert np.array_equal(found.outputs["total"], outputs["total"])
    assert found.tolerances["total"] == pytest.approx((1e-3, 1e-2))
    assert [s[0] for s in file.segments] == ["weights", "golden"]


def test_integer_golden_is_a_digest() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "i32", [2])
    program = _finish(pb, b, b.op("neg", x, name="y"))
    y = np.array([-1, -2], np.int32)
    golden = Golden("main", {"x": np.array([1, 2], np.int32)}, {"y": y})
    (found,) = from_bytes(to_bytes(program, golden=golden)).golden
    assert found.digests == {"y": fnv1a(y.tobytes())}
    assert not found.outputs


def test_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    size = save_program(_program(), path)
    assert path.stat().st_size == size
    _same(_program(), open_program(path))
    assert read_file(path).min_runtime == (0, 1, 0)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelFormatError, match=r"m\.samara"):
        open_program(path)


# ---- every operator ----


def _finish(pb: ProgramBuilder, b: Builder, result: Any) -> Program:
    outputs: list[Value] = list(result) if isinstance(result, tuple) else [result]
    b.finish(outputs)
    return pb.finish([b.name])


def _inputs(b: Builder, spec: OpSpec, case: Case) -> tuple[list[Value | None], dict[str, Any]]:
    rng = np.random.default_rng(0)
    values: list[Value | None] = []
    feeds: dict[str, Any] = {}
    for i, given in enumerate(case.inputs):
        if given is None:
            values.append(None)
            continue
        quant = None
        if isinstance(given, np.ndarray | np.generic):
            array = np.asarray(given)
            dtype = DType.from_numpy(array.dtype)
        else:
            name, shape, *rest = given
            quant = rest[0] if rest else None
            dtype = DType.parse(name)
            array = rng.uniform(case.low, case.high, shape)
            if not dtype.is_float:
                # Integers may be divisors, so no zeros.
                array = rng.integers(0 if dtype is DType.BOOL else 1, 2, shape)
            array = np.asarray(array).astype(dtype.numpy)
        value = b.input(f"x{i}", dtype, array.shape, quant)
        values.append(value)
        feeds[value.name] = array
    return values, feeds


CASES = [(op, case) for op in all_ops() if "control" not in op.flags for case in op.cases]


@each_case(CASES)
def test_every_operator_survives(spec: OpSpec, case: Case) -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    values, feeds = _inputs(b, spec, case)
    program = _finish(pb, b, b.op(spec, *values, **dict(case.attrs)))
    back = from_bytes(to_bytes(program)).program
    _same(program, back)
    expected = program.run(feeds)
    found = back.run(feeds)
    for name, array in expected.items():
        assert found[name].tobytes() == array.tobytes()


# ---- hostile files ----


def _resigned(data: bytearray) -> bytes:
    program_bytes = int.from_bytes(data[8:16], "little")
    data[16:24] = fnv1a(bytes(data[24:program_bytes])).to_bytes(8, "little")
    return bytes(data)


def test_header_faults_are_named() -> None:
    data = to_bytes(_program())
    for at, value, text in (
        (4, b"TFL3", "starts with"),
        (8, (1 << 60).to_bytes(8, "little"), "program part has"),
        (16, bytes(8), "checksum"),
        (24, (7).to_bytes(8, "little"), "the header says 7 bytes"),
        (40, b"x", "reserved"),
    ):
        bad = bytearray(data)
        bad[at : at + len(value)] = value
        with pytest.raises(ModelFormatError, match=text):
            from_bytes(bytes(bad))
    with pytest.raises(ModelFormatError, match="too few"):
        from_bytes(b"")


def test_a_newer_runtime_is_asked_for() -> None:
    program = _program()
    newer = replace(get_op("identity"), since="9.0.0")
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [1])
    program = _finish(pb, b, b.op(newer, x))
    with pytest.raises(ModelFormatError, match=r"needs runtime 9\.0\.0"):
        from_bytes(to_bytes(program))


def test_every_truncation_is_refused() -> None:
    data = to_bytes(_program())
    program_bytes = int.from_bytes(data[8:16], "little")
    for end in itertools.chain(range(0, program_bytes, 7), (len(data) - 1,)):
        with pytest.raises(ModelFormatError):
            from_bytes(data[:end])


def test_flipped_bytes_raise_nothing_else(rng: np.random.Generator) -> None:
    data = to_bytes(_program())
    program_bytes = int.from_bytes(data[8:16], "little")
    refused = 0
    for _ in range(400):
        bad = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(64, program_bytes))
            bad[at] = int(rng.integers(256))
        try:
            from_bytes(_resigned(bad))
        except ModelFormatError:
            refused += 1
    assert refused > 200


def test_the_tokenizer_comes_back() -> None:
    with_one = replace(_program(), tokenizer=bytes(range(100)))
    assert from_bytes(to_bytes(with_one)).program.tokenizer == bytes(range(100))
    assert from_bytes(to_bytes(_program())).program.tokenizer is None


def test_two_tokenizers_are_refused() -> None:
    row, segments = rows_of(replace(_program(), tokenizer=bytes(100)))
    other = Segment("tokenizer")
    other.add(b"other")
    segments.append(other)
    row["segments"].append(other.row())
    with pytest.raises(ModelFormatError, match="two tokenizers"):
        from_bytes(b"".join(assemble(row, segments)))
