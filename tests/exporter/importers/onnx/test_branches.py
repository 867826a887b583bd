# SPDX-License-Identifier: Apache-2.0
"""`If` and `Loop`: against onnxruntime, with branches that disagree and bodies that grow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from tests.exporter.importers.onnx.models import (
    Case,
    check,
    check_native,
    ints,
    kinds,
    normal,
    parse,
    refused,
    scalar,
)

import samara
from samara.exporter.doctor.examine import doctor
from samara.exporter.importers.onnx import import_onnx, registry
from samara.exporter.importers.onnx.branches import MAX_CLONES, MAX_MESSAGE_BYTES, _message
from samara.exporter.inspect.contents import inspect
from samara.exporter.ir.conditions import Condition
from samara.exporter.types import SamaraError, ShapeError, UnsupportedError

TRUE, FALSE = np.array(True), np.array(False)
X = normal(2, 3)


# ---- If


def test_if() -> None:
    model = parse("""g (float[n, 3] x, bool c) => (float[n, 3] y, float[n, 3] z) {
        y, z = If(c) <then_branch = t () => (float[n, 3] a, float[n, 3] b) { a = Relu(x)  b = Neg(x) },
                      else_branch = e () => (float[n, 3] a2, float[n, 3] b2) { a2 = Neg(x)  b2 = Identity(x) }> }""")
    feeds = ((X, TRUE), (X, FALSE), (normal(5, 3), TRUE))
    program = check(model, *({"x": x, "c": c} for x, c in feeds))
    assert kinds(program) == ["if"]


def test_a_condition_of_one_element() -> None:
    model = parse("""g (float[2, 3] x, bool[1] c) => (float[2, 3] y) {
        y = If(c) <then_branch = t () => (float[2, 3] a) { a = Relu(x) },
                   else_branch = e () => (float[2, 3] b) { b = Neg(x) }> }""")
    for value in (True, False):
        check(model, {"x": X, "c": np.array([value])})


@pytest.mark.parametrize("value", [1, 0])
def test_a_constant_condition_leaves_one_branch(value: int) -> None:
    model = parse(f"""g (float[2, 3] x) => (float[2, 3] y) <bool c = {{{value}}}> {{
        y = If(c) <then_branch = t () => (float[2, 3] a) {{ a = Relu(x) }},
                   else_branch = e () => (float[2, 3] b) {{ b = Exp(x) }}> }}""")
    assert kinds(check(model, {"x": X})) == ["relu" if value else "exp"]


def test_a_condition_on_static_sizes_leaves_one_branch() -> None:
    text = """g (float[%s, 3] x) => (float[a, b] y) <int64[1] two = {2}, int64 first = {0}> {
        s = Shape(x)  n = Gather(s, first)  c = Equal(n, two)
        y = If(c) <then_branch = t () => (float[a, b] p) { p = Relu(x) },
                   else_branch = e () => (float[a, b] q) { q = Exp(x) }> }"""
    assert kinds(check(parse(text % "2"), {"x": X})) == ["relu"]
    dynamic = check(parse(text % "n"), {"x": X}, {"x": normal(4, 3)})
    assert "if" in kinds(dynamic)


def test_outer_values_and_initializers_are_captured() -> None:
    model = parse("""g (float[n, 3] x, bool c) => (float[n, 3] y) <float[3] w = {1, 2, 3}> {
        h = Mul(x, w)
        y = If(c) <then_branch = t () => (float[n, 3] a) <float[3] v = {4, 5, 6}> { k = Add(h, w)  a = Add(k, v) },
                   else_branch = e () => (float[n, 3] b) { b = Sub(h, x) }> }""")
    check(model, {"x": X, "c": TRUE}, {"x": X, "c": FALSE})


def test_nested() -> None:
    model = parse("""g (float[n, 3] x, bool c, bool d) => (float[n, 3] y) {
        y = If(c) <then_branch = t () => (float[n, 3] a) {
                       a = If(d) <then_branch = tt () => (float[n, 3] p) { p = Relu(x) },
                                  else_branch = te () => (float[n, 3] q) { q = Exp(x) }> },
                   else_branch = e () => (float[n, 3] b) { b = Neg(x) }> }""")
    for c in (TRUE, FALSE):
        check(model, {"x": X, "c": c, "d": TRUE}, {"x": X, "c": c, "d": FALSE})


def test_branches_of_different_size() -> None:
    model = parse("""g (float[n, 3] x, bool c) => (float[m, 3] y) {
        r = If(c) <then_branch = t () => (float[n, 3] a) { a = Relu(x) },
                   else_branch = e () => (float[k, 3] b) { b = Concat<axis = 0>(x, x) }>
        y = Neg(r) }""")
    program = check(model, {"x": X, "c": TRUE}, {"x": X, "c": FALSE})
    assert kinds(program) == ["if", "neg"]


SPLIT = """g (float[n, 3] x, bool c) => (float[n] y) <int64[1] axis = {-1}> {
    r = If(c) <then_branch = t () => (float[n, 3] a) { a = Relu(x) },
               else_branch = e () => (float[n, 3, 1] b) { b = Unsqueeze(x, axis) }>
    s = Shape(r)  k = Size(s)  two = Constant<value_int = 2>()  flat = Equal(k, two)
    y = If(flat) <then_branch = tt () => (float[n] p) { p = ReduceSum<keepdims = 0>(r, axis) },
                  else_branch = ee () => (float[n] q) { v = Squeeze(r, axis)
                      q = ReduceMax<keepdims = 0>(v, axis) }> }"""


def test_branches_of_different_rank_are_split() -> None:
    """The rest is cloned into both; in each the rank, and so the second condition, is known."""
    program = import_onnx(parse(SPLIT))
    assert kinds(program) == ["if"]
    for c, want in ((TRUE, np.maximum(X, 0).sum(1)), (FALSE, X.max(1))):
        np.testing.assert_allclose(program.run({"x": X, "c": c})["y"], want, rtol=1e-6)
    bodies = [f for name, f in program.functions.items() if name != "main"]
    assert not any(n.op.name == "if" for f in bodies for n in f.nodes)


def test_a_branch_that_cannot_be_typed_becomes_a_trap() -> None:
    model = parse("""g (float[n, 3] x, bool c) => (float[n, 3] y)
        <int64[1] axis = {-1}, float[3, 3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}> {
        r = If(c) <then_branch = t () => (float[n, 3] a) { a = Relu(x) },
                   else_branch = e () => (float[n] b) { b = ReduceSum<keepdims = 0>(x, axis) }>
        y = Gemm(r, w) }""")
    program = import_onnx(model)
    np.testing.assert_allclose(program.run({"x": X, "c": TRUE})["y"], np.maximum(X, 0), rtol=1e-6)
    with pytest.raises(SamaraError) as caught:
        program.run({"x": X, "c": FALSE})
    assert caught.value.message.startswith("this branch runs when c is false, and it cannot: Gemm")
    assert "the program handles c is true: feed that, or freeze it" in caught.value.message
    assert "(--const c=true)" in caught.value.message


RATES = """g (float[n, 3] x, int64 sr) => (float[n, 3] y)
    <int64[1] axis = {-1}, int64 wide = {16000}, float[3, 3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}> {
    same = Equal(sr, wide)  other = Not(same)
    r = If(other) <then_branch = t () => (float[n] b) { b = ReduceSum<keepdims = 0>(x, axis) },
                   else_branch = e () => (float[n, 3] a) { a = Relu(x) }>
    y = Gemm(r, w) }"""


def test_a_trap_says_which_value_avoids_it(tmp_path: Path) -> None:
    """In the run, in Python and in C, in doctor and inspect; and the value does avoid it."""
    said = "this branch runs when sr != 16000, and it cannot: Gemm"
    avoid = "the program handles sr == 16000: feed that, or freeze it at export (--const sr=16000)"
    onnx.save(parse(RATES), tmp_path / "m.onnx")
    program = import_onnx(tmp_path / "m.onnx")
    samara.export(program, tmp_path / "m.samara")
    feeds = {"x": X, "sr": np.array(8000)}
    for run in (program.run, samara.Session(tmp_path / "m.samara").run):
        with pytest.raises(SamaraError) as caught:
            run(feeds)
        assert said in str(caught.value)
        assert avoid in str(caught.value)
    shown = inspect(tmp_path / "m.samara", run=False).text()
    assert "branches that cannot run: 1" in shown
    assert avoid in shown
    assert avoid in doctor(tmp_path / "m.onnx").text()
    frozen = import_onnx(tmp_path / "m.onnx", consts={"sr": 16000})
    assert not any(n.op.name == "trap" for f in frozen.functions.values() for n in f.nodes)
    refused(tmp_path / "m.onnx", SamaraError, "needs two matrices", consts={"sr": 8000})


def test_a_trap_of_sizes_says_sizes() -> None:
    model = parse("""g (float[n, 3] x) => (float[n, 3] y)
        <int64[1] axis = {-1}, int64 two = {2}, int64 first = {0},
         float[3, 3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}> {
        s = Shape(x)  n = Gather(s, first)  h = Div(n, two)  c = Equal(h, two)
        r = If(c) <then_branch = t () => (float[n, 3] a) { a = Relu(x) },
                   else_branch = e () => (float[n] b) { b = ReduceSum<keepdims = 0>(x, axis) }>
        y = Gemm(r, w) }""")
    with pytest.raises(SamaraError) as caught:
        import_onnx(model).run({"x": normal(2, 3)})
    text = str(caught.value)
    assert "this branch runs when n//2 != 2, as for n = 1 … 3 (n is axis 0 of 'x')" in text
    assert "the program handles n//2 == 2, as for n = 4 … 5" in text


def test_a_long_reason_leaves_room_for_the_way_out() -> None:
    message = _message(Condition("a"), "é" * 900, Condition("b", {"sr": "1"}))
    assert len(message.encode()) <= MAX_MESSAGE_BYTES
    avoid = "the program handles b: feed that, or freeze it at export (--const sr=1)"
    assert message.endswith(avoid)


def test_predicates_are_known_in_their_branch() -> None:
    """A second If over the same predicate of sizes is decided inside the first."""
    model = parse("""g (float[n, 3] x) => (float[n, 3] y) <int64 two = {2}, int64 first = {0}> {
        s = Shape(x)  n = Gather(s, first)  c = Equal(n, two)  d = Not(c)
        y = If(c) <then_branch = t () => (float[n, 3] a) {
                       a = If(d) <then_branch = tt () => (float[n, 3] p) { p = Exp(x) },
                                  else_branch = te () => (float[n, 3] q) { q = Relu(x) }> },
                   else_branch = e () => (float[n, 3] b) { b = Neg(x) }> }""")
    program = check(model, {"x": X}, {"x": normal(4, 3)})
    found = [n.op.name for f in program.functions.values() for n in f.nodes]
    assert found.count("if") == 1
    assert "exp" not in found


def test_ranks_that_differ_to_the_end() -> None:
    model = parse("""g (float[2, 3] x, bool c) => (float[a] y) <int64[1] axis = {0}> {
        y = If(c) <then_branch = t () => (float[2, 3] a) { a = Relu(x) },
                   else_branch = e () => (float[3] b) { b = ReduceSum<keepdims = 0>(x, axis) }> }""")
    caught = refused(model, UnsupportedError, "up to the graph's outputs")
    assert "cut the graph" in str(caught)


STEP = """one = Constant<value_int = 1>()  two = Constant<value_float = 2.0>()  zero = Constant<value_float = 0.0>()
    e = Equal(n, one)  f = Cast<to = 1>(n)
    s = If(e) <then_branch = t () => (float a) { a = Identity(zero) },
               else_branch = u () => (float[1] b) { b = Div(two, f) }>"""


INLINED = """r{0} = If(yes) <then_branch = w{0} () => (float[m] {1}) {{ {2} }},
                              else_branch = v{0} () => (float[1] z{0}) {{ z{0} = Cast<to = 1>(n) }}>"""


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_rest_of_enclosing_graphs_is_split_too(depth: int) -> None:
    """A branch that is always taken ends in values of different ranks; later nodes know these ranks."""
    text, last = STEP, "s"
    for k in range(depth):
        text, last = INLINED.format(k, last, text), f"r{k}"
    model = parse(f"""g (float[3] x, int64[1] n) => (float[3] y) {{
        on = Constant<value_int = 1>()  yes = Cast<to = 9>(on)  {text}
        p = Mul(x, {last})  y = Add(p, x) }}""")
    program = check_native(model, *({"x": normal(3), "n": ints(k)} for k in (1, 4)))
    assert kinds(program)[-1] == "if"


def test_the_rest_after_a_definition_is_split_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX's definition of AffineGrid has a step that is a scalar for one element, else a vector."""
    monkeypatch.delitem(registry._HANDLERS, ("", "AffineGrid"))
    for depth in (1, 4):
        inputs, attrs = [normal(2, 3, 4), ints(2, 1, depth, 3, 2)], {"align_corners": 1}
        Case("AffineGrid", inputs, attrs, 20, reference=True, atol=1e-5).check_native()


def test_too_many_clones() -> None:
    body = "".join(
        f"""r{k} = If(c) <then_branch = t () => (float[2, 3] a) {{ a = Relu(x) }},
                          else_branch = e () => (float[3] b) {{ b = ReduceSum<keepdims = 0>(x, axis) }}>  """
        for k in range(8)
    )
    total = "y = Sum(" + ", ".join(f"r{k}" for k in range(8)) + ")"
    model = parse(
        f"g (float[2, 3] x, bool c) => (float[2, 3] y) <int64[1] axis = {{0}}> {{ {body} {total} }}"
    )
    refused(model, UnsupportedError, f"more than {MAX_CLONES} clones")


def test_problems_of_both_branches() -> None:
    model = parse("""g (float[2, 2] x, bool c) => (float y) {
        y = If(c) <then_branch = t () => (float a) { a = RandomNormalLike(x) },
                   else_branch = e () => (float[2, 2] b) { k = Bernoulli(x)  b = Relu(k) }> }""")
    caught = refused(model, UnsupportedError, "RandomNormalLike")
    assert "Bernoulli" in str(caught)


def test_neither_branch_can_be_typed() -> None:
    model = parse("""g (float[2, 3] x, float[4] w, bool c) => (float y) {
        y = If(c) <then_branch = t () => (float a) { a = Add(x, w) },
                   else_branch = e () => (float b) { b = Sub(x, w) }> }""")
    refused(model, ShapeError, "broadcast")


# ---- Loop


def test_a_counted_loop() -> None:
    model = parse("""g (float[2, 3] x, int64 trips) => (float[2, 3] y) <bool on = {1}> {
        y = Loop(trips, on, x) <body = b (int64 i, bool go, float[2, 3] a) => (bool go2, float[2, 3] a2) {
            go2 = Identity(go)  f = Cast<to = 1>(i)  t = Add(a, f)  a2 = Tanh(t) }> }""")
    program = check(model, *({"x": X, "trips": scalar(n, np.int64)} for n in (0, 1, 3)))
    assert kinds(program) == ["loop"]


def test_a_while_loop() -> None:
    model = parse("""g (float[2, 3] x, bool start) => (float[2, 3] y) <float limit = {10}> {
        y = Loop(, start, x) <body = b (int64 i, bool go, float[2, 3] a) => (bool go2, float[2, 3] a2) {
            a2 = Add(a, a)  m = ReduceMax<keepdims = 0>(a2)  go2 = Less(m, limit) }> }""")
    check(model, {"x": np.abs(X) + 0.1, "start": TRUE}, {"x": X, "start": FALSE})


def test_stacked_outputs_and_captures() -> None:
    model = parse("""g (float[n, 3] x, int64 trips) => (float[n, 3] last, float[t, n, 3] all)
        <bool on = {1}, float[3] w = {1, 2, 3}> {
        k = Mul(x, w)
        last, all = Loop(trips, on, x) <body = b (int64 i, bool go, float[n, 3] a)
            => (bool go2, float[n, 3] a2, float[n, 3] out) {
            go2 = Identity(go)  a2 = Add(a, k)  out = Sub(a2, x) }> }""")
    check(model, *({"x": x, "trips": scalar(n, np.int64)} for x, n in ((X, 3), (normal(4, 3), 1))))


def test_a_carried_shape_may_grow() -> None:
    model = parse("""g (float[2, 3] x, int64 trips) => (float[m, 3] y) <bool on = {1}> {
        y = Loop(trips, on, x) <body = b (int64 i, bool go, float[p, 3] a) => (bool go2, float[q, 3] a2) {
            go2 = Identity(go)  a2 = Concat<axis = 0>(a, x) }> }""")
    for n in (0, 1, 4):
        check(model, {"x": X, "trips": scalar(n, np.int64)})


def test_a_branch_in_a_loop() -> None:
    model = parse("""g (float[2, 3] x, int64 trips) => (float[2, 3] y) <bool on = {1}, int64 two = {2}> {
        y = Loop(trips, on, x) <body = b (int64 i, bool go, float[2, 3] a) => (bool go2, float[2, 3] a2) {
            go2 = Identity(go)  early = Less(i, two)
            a2 = If(early) <then_branch = t () => (float[2, 3] p) { p = Add(a, x) },
                            else_branch = e () => (float[2, 3] q) { q = Mul(a, x) }> }> }""")
    check(model, {"x": X, "trips": scalar(4, np.int64)})


def test_a_loop_in_a_branch() -> None:
    model = parse("""g (float[2, 3] x, int64 trips, bool c) => (float[2, 3] y) <bool on = {1}> {
        y = If(c) <then_branch = t () => (float[2, 3] r) {
                r = Loop(trips, on, x) <body = b (int64 i, bool go, float[2, 3] a) => (bool go2, float[2, 3] a2) {
                    go2 = Identity(go)  a2 = Add(a, x) }> },
            else_branch = e () => (float[2, 3] q) { q = Neg(x) }> }""")
    for c in (TRUE, FALSE):
        check(model, {"x": X, "trips": scalar(3, np.int64), "c": c})


def test_an_early_end() -> None:
    model = parse("""g (float[2, 3] x) => (float[2, 3] y, int64[t] seen)
        <bool on = {1}, int64 most = {10}, int64 three = {3}> {
        y, seen = Loop(most, on, x) <body = b (int64 i, bool go, float[2, 3] a)
            => (bool go2, float[2, 3] a2, int64 out) {
            a2 = Add(a, x)  go2 = Less(i, three)  out = Identity(i) }> }""")
    check(model, {"x": X})


def test_a_body_that_does_not_fit() -> None:
    model = parse("""g (float[2, 3] x, int64 trips) => (float[2, 3] y) <bool on = {1}> {
        y = Loop(trips, on, x, x) <body = b (int64 i, bool go, float[2, 3] a) => (bool go2, float[2, 3] a2) {
            go2 = Identity(go)  a2 = Add(a, x) }> }""")
    refused(model, UnsupportedError, "does not fit 2 carried values")


def test_a_carried_value_that_changes_its_type() -> None:
    model = parse("""g (float[2, 3] x, int64 trips) => (float[2, 3] y) <bool on = {1}, int64[1] axis = {0}> {
        y = Loop(trips, on, x) <body = b (int64 i, bool go, float[2, 3] a) => (bool go2, float[2, 3] a2) {
            go2 = Identity(go)  a2 = Unsqueeze(a, axis) }> }""")
    refused(model, ShapeError, "carried value 0 enters as")


def test_problems_in_a_body() -> None:
    model = parse("""g (float[2, 2] x, int64 trips) => (float[2, 2] y) <bool on = {1}> {
        y = Loop(trips, on, x) <body = b (int64 i, bool go, float[2, 2] a) => (bool go2, float[2, 2] a2) {
            go2 = Identity(go)  d = RandomUniformLike(a)  a2 = Add(a, d) }> }""")
    refused(model, UnsupportedError, "RandomUniformLike")


def test_the_trip_count_may_come_from_a_shape() -> None:
    model = parse("""g (float[n, 3] x) => (float[3] y) <bool on = {1}, int64 first = {0}, float[3] zero = {0, 0, 0}> {
        s = Shape(x)  n = Gather(s, first)
        y = Loop(n, on, zero) <body = b (int64 i, bool go, float[3] a) => (bool go2, float[3] a2) {
            go2 = Identity(go)  row = Gather<axis = 0>(x, i)  a2 = Add(a, row) }> }""")
    check(model, {"x": X}, {"x": normal(5, 3)})


@pytest.mark.parametrize(
    "keep",
    [
        "go2 = Identity(go)",
        "go2 = Constant<value = bool {1}>()",
        "h = Identity(go)  go2 = Identity(h)",
    ],
)
def test_a_loop_that_nothing_ends_early_has_a_known_length(keep: str) -> None:
    model = parse(f"""g (float[n, 3] x) => (float[n, 3] y) <bool on = {{1}}, int64 first = {{0}}> {{
        s = Shape(x)  n = Gather(s, first)
        r = Loop(n, on) <body = b (int64 i, bool go) => (bool go2, float[3] row) {{
            {keep}  e = Gather(x, i)  row = Neg(e) }}>
        y = Add(r, x) }}""")
    program = check_native(model, {"x": X}, {"x": normal(4, 3)})
    assert str(program.main.outputs[0].type) == "f32[n, 3]"


# ---- sizes that only data decide, through bodies


def body(*nodes: str) -> str:
    """A Loop over `w` that adds `w`, behind these nodes."""
    return (
        "g (float[n] x, int64[2] s, int64 m) => (float[a, b] y) <bool on = {1}> {"
        + "  ".join(nodes)
        + """  y = Loop(m, on, w) <body = b (int64 i, bool go, float[k, l] a) => (bool go2, float[k, l] c) {
            go2 = Identity(go)  c = Add(a, w) }> }"""
    )


READ = "z = Reshape(x, s)"


@pytest.mark.parametrize(
    "text",
    [
        body("w = Reshape(x, s)"),
        body(READ, "w = Concat<axis = 0>(z, z)"),
        body(READ, "v = Concat<axis = 0>(z, z)", "w = Concat<axis = 1>(v, v)"),
        body("p = NonZero(x)", "w = Cast<to = 1>(p)"),
        body("p = NonZero(x)", "q = Concat<axis = 1>(p, p)", "w = Cast<to = 1>(q)"),
    ],
)
def test_carried_and_captured_sizes_that_data_decide(text: str) -> None:
    feeds = {"x": normal(6), "s": ints(2, 3)}
    check_native(parse(text), *({**feeds, "m": np.array(m)} for m in (3, 0)))


def test_a_branch_captures_sizes_that_data_decide() -> None:
    model = parse("""g (float[n] x, int64[2] s, bool c) => (float[a, b] y) {
        z = Reshape(x, s)  w = Concat<axis = 0>(z, z)
        y = If(c) <then_branch = t () => (float[k, l] p) { p = Neg(w) },
                   else_branch = e () => (float[k, l] q) { q = Concat<axis = 0>(w, z) }> }""")
    feeds = {"x": normal(6), "s": ints(2, 3)}
    check_native(model, *({**feeds, "c": np.array(c)} for c in (True, False)))


def test_a_captured_size_that_is_twice_another() -> None:
    """Both are sizes of one tensor: the second is known by the first."""
    model = parse("""g (float[1] x, int64[1] s, bool c) => (float[a, b] y) {
        q = Concat<axis = 0>(s, s)  e = Expand(x, q)  w = Concat<axis = 1>(e, e)
        y = If(c) <then_branch = t () => (float[k, l] p) { p = Neg(w) },
                   else_branch = f () => (float[k, l] o) { r = Concat<axis = 1>(e, e)  o = Add(r, w) }> }""")
    feeds = {"x": normal(1), "s": ints(3)}
    check_native(model, *({**feeds, "c": np.array(c)} for c in (True, False)))


def test_a_scan_over_sizes_that_data_decide() -> None:
    model = parse("""g (float[n] x, int64[2] s) => (float[a] y, float[b, c] z) {
        w = Reshape(x, s)  u = Concat<axis = 0>(w, w)  axis = Constant<value_ints = [0]>()
        i = ReduceSum<keepdims = 0>(u, axis)  v = Neg(i)
        y, z = Scan<num_scan_inputs = 1, body = b (float[k] h, float[k] e) => (float[k] t, float[k] o) {
            t = Add(h, e)  o = Relu(t) }>(v, u) }""")
    check_native(model, {"x": normal(6), "s": ints(2, 3)})
