# SPDX-License-Identifier: Apache-2.0
"""Graphs whose nodes stand in any order: they import as the ordered ones; cycles are refused by name."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from tests.exporter.importers.onnx.models import built, normal, parse, refused, witness

from samara.exporter.doctor.examine import doctor
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.importers.onnx.order import sorted_model
from samara.exporter.types import ModelFormatError

NESTED = """g (float[2, 3] x, bool c) => (float[2, 3] y) <float one = {1}, int64 three = {3}> {
    a = Tanh(x)
    b = Add(a, one)
    t = If(c) <
        then_branch = yes () => (float[2, 3] p) { n = Neg(b)  m = Exp(n)  p = Mul(m, a) },
        else_branch = no () => (float[2, 3] q) {
            k = Relu(a)
            q = If(c) <then_branch = deep () => (float[2, 3] r) { u = Sub(k, b)  r = Abs(u) },
                       else_branch = deep2 () => (float[2, 3] s) { v = Sub(k, a)  s = Abs(v) }> }>
    yes0 = Constant<value = bool {1}>()
    w = Loop(three, yes0, t) <body = step (int64 i, bool on, float[2, 3] z) => (bool off, float[2, 3] zz) {
        off = Identity(on)  g1 = Mul(z, b)  zz = Tanh(g1) }>
    y = Sub(w, b) }"""

FUNCTIONS = """<ir_version: 8, opset_import: ["" : 21, "own" : 1]>
g (float[2, 3] x) => (float[2, 3] y) { a = own.twice(x)  y = own.twice(a) }
<domain: "own", opset_import: ["" : 21]> twice (p) => (q) { s = Exp(p)  t = Add(s, p)  q = Tanh(t) }"""

SCAN = """g (float[2] s, float[4, 2] x) => (float[2] e, float[4, 2] ys) {
    d = Neg(s)
    e, ys = Scan <num_scan_inputs = 1, body = b (float[2] h, float[2] r) => (float[2] hh, float[2] o) {
        m = Add(h, r)  hh = Tanh(m)  o = Mul(m, d) }> (s, x) }"""


def shuffled(nodes: Any, seed: int) -> None:
    """Put nodes, and those of their subgraphs, in a random order that is not the given one."""
    moved = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    rng = random.Random(seed)
    if len(moved) > 1:
        while [n.output for n in moved] == [n.output for n in nodes]:
            rng.shuffle(moved)
    del nodes[:]
    nodes.extend(moved)
    for node in nodes:
        for a in node.attribute:
            if a.HasField("g"):
                shuffled(a.g.node, seed + 1)


def mixed(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    shuffled(copy.graph.node, seed)
    for f in copy.functions:
        shuffled(f.node, seed)
    return copy


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (parse(NESTED), ("x", "c")),
        (onnx.parser.parse_model(FUNCTIONS), ("x",)),
        (parse(SCAN), ("s", "x")),
    ],
    ids=["if-loop", "function", "scan"],
)
def test_any_order_imports_as_the_ordered_model(
    model: onnx.ModelProto, inputs: Sequence[str], seed: int
) -> None:
    feeds = {"x": normal(4, 2) if "s" in inputs else normal(2, 3), "s": normal(2, seed=1),
             "c": np.array(seed % 2 == 0)}  # fmt: skip
    feeds = {k: feeds[k] for k in inputs}
    other = mixed(model, seed)
    got, want = import_onnx(other).run(feeds), witness(model, feeds)
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-5, atol=1e-6)


def test_the_doctor_takes_any_order(tmp_path: Path) -> None:
    onnx.save(mixed(parse(NESTED), 1), tmp_path / "m.onnx")
    assert doctor(tmp_path / "m.onnx").healthy


def test_an_ordered_model_is_left_alone() -> None:
    model = parse(NESTED)
    assert sorted_model(model) is model


def test_the_order_is_stable() -> None:
    """What is free to stand where it does stays there."""
    model = parse("""g (float[2] x) => (float[2] y) {
        a = Relu(x)  y = Add(late, a)  b = Tanh(a)  late = Mul(b, a)  unused = Neg(x) }""")
    before = model.SerializeToString()
    made = [n.output[0] for n in sorted_model(model).graph.node]
    assert made == ["a", "b", "late", "y", "unused"]
    assert model.SerializeToString() == before  # the caller's model is not touched


def test_casts_at_the_end_as_a_float16_converter_writes_them() -> None:
    """onnxruntime's converter appends the casts that it inserts."""
    model = parse("""g (float[2, 3] x) => (float[2, 4] y) <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
        h = MatMul(x16, w16)  r = Relu(h)
        w16 = Cast<to = 10>(w)  x16 = Cast<to = 10>(x)
        y = Cast<to = 1>(r) }""")
    program = import_onnx(model)
    assert program.run({"x": np.ones((2, 3), np.float32)})["y"].tolist() == [[15, 18, 21, 24]] * 2


def test_the_converter_of_onnxruntime() -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = parse("""g (float[1, 3, 8, 8] x) => (float[1, 4] y)
    <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
        p = Relu(x)  q = GlobalAveragePool(p)  f = Flatten(q)  wt = Transpose(w)
        m = MatMul(f, wt)  e = Erf(m)  y = Softmax(e) }""")
    half = convert_float_to_float16(model, keep_io_types=True, op_block_list=["Erf", "Relu"])
    assert sorted_model(half) is not half  # it is such a model
    feeds = {"x": normal(1, 3, 8, 8)}
    got, want = import_onnx(half).run(feeds), witness(model, feeds)
    np.testing.assert_allclose(got["y"], want["y"], atol=5e-3)


def test_cutting_sees_the_order_too() -> None:
    program = import_onnx(mixed(parse(NESTED), 3), inputs=["b", "a"], outputs=["b", "t"])
    assert list(program.main.output_names) == ["b", "t"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("g (float[2] x) => (float[2] y) { y = Relu(b)  a = Add(x, b)  b = Relu(a) }",
         "the nodes 'a' (Add) -> 'b' (Relu) -> 'a' (Add) use each other's results in a cycle,"),
        ("g (float[2] x) => (float[2] y) { y = Add(x, y) }", "'y' (Add) uses its own result,"),
        (
            """g (float[2] x, bool c) => (float[2] y) { y = Neg(t)
            t = If(c) <then_branch = p () => (float[2] a) { a = Neg(y) },
                       else_branch = q () => (float[2] b) { b = Exp(x) }> }""",
            "the nodes 'y' (Neg) -> 't' (If) -> 'y' (Neg) use",
        ),
        (
            """g (float[2] x, bool c) => (float[2] y) {
            y = If(c) <then_branch = p () => (float[2] a) { a = Neg(d)  d = Abs(a) },
                       else_branch = q () => (float[2] b) { b = Exp(x) }> }""",
            "'a' (Neg) -> 'd' (Abs) -> 'a' (Neg) use each other's results in a cycle in"
            " 'then_branch' of 'y' (If),",
        ),
    ],
    ids=["two", "self", "capture", "branch"],
)  # fmt: skip
def test_a_cycle_is_refused_with_its_nodes(text: str, said: str) -> None:
    caught = refused(parse(text), ModelFormatError)
    assert said in str(caught)
    assert caught.fix is not None
    assert "Loop" in caught.fix


def test_a_cycle_in_a_function() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 21, "own" : 1]>
    g (float[2] x) => (float[2] y) { y = own.f(x) }
    <domain: "own", opset_import: ["" : 21]> f (p) => (q) { q = Exp(s)  s = Add(q, p) }""")
    refused(model, ModelFormatError, r"'q' .Exp. -> 's' .Add. .* of function own::f")


def test_a_long_cycle_names_some_of_its_nodes() -> None:
    nodes = [oh.make_node("Relu", [f"v{(i + 1) % 30}"], [f"v{i}"], f"n{i}") for i in range(30)]
    caught = refused(built(nodes, {"x": normal(2)}, ["v0"]), ModelFormatError)
    assert "'n0' (Relu) -> 'n29' (Relu)" in str(caught)
    assert "22 more" in str(caught)
