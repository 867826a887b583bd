# SPDX-License-Identifier: Apache-2.0
"""Shape arithmetic: it agrees with onnxruntime and leaves no computation behind."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import agree, check, kinds, normal, parse, witness

from samara.exporter.importers.onnx import import_onnx

FEEDS = [{"x": normal(*s)} for s in ((2, 3, 5), (1, 3, 8), (7, 3, 1))]

# Nodes from s (the shape of x: [n, 3, h]) to r, which a Reshape or an output shows.
ARITHMETIC = {
    "gather": "i = Constant<value_ints = [2, 0]>()  r = Gather(s, i)",
    "gather scalar": "i = Constant<value_int = -1>()  r = Gather(s, i)",
    "slice": "a = Constant<value_ints = [1]>()  b = Constant<value_ints = [3]>()  r = Slice(s, a, b)",
    "slice backwards": """a = Constant<value_ints = [-1]>()  b = Constant<value_ints = [-9]>()
        z = Constant<value_ints = [0]>()  d = Constant<value_ints = [-1]>()  r = Slice(s, a, b, z, d)""",
    "concat": "o = Constant<value_ints = [4]>()  r = Concat<axis = 0>(s, o, s)",
    "unsqueeze": "z = Constant<value_ints = [0]>()  r = Unsqueeze(s, z)",
    "squeeze": "z = Constant<value_ints = [0]>()  u = Unsqueeze(s, z)  r = Squeeze(u, z)",
    "reshape": "t = Constant<value_ints = [3, -1]>()  r = Reshape(s, t)",
    "add": "o = Constant<value_int = 4>()  r = Add(s, o)",
    "sub": "r = Sub(s, s)",
    "mul": "r = Mul(s, s)",
    "div": "o = Constant<value_int = 2>()  r = Div(s, o)",
    "div of the negative": "o = Constant<value_int = 6>()  d = Sub(s, o)  t = Constant<value_int = 4>()  r = Div(d, t)",
    "div by the negative": "o = Constant<value_int = -2>()  r = Div(s, o)",
    "mod": "o = Constant<value_int = 2>()  r = Mod(s, o)",
    "min": "o = Constant<value_int = 4>()  r = Min(s, o)",
    "max": "o = Constant<value_int = 4>()  r = Max(s, o)",
    "neg": "r = Neg(s)",
    "prod": "r = ReduceProd(s)",
    "sum": "z = Constant<value_ints = [0]>()  r = ReduceSum<keepdims = 0>(s, z)",
    "largest": "r = ReduceMax<keepdims = 0>(s)",
    "smallest": "r = ReduceMin<keepdims = 0>(s)",
    "equal": "o = Constant<value_int = 3>()  r = Equal(s, o)",
    "less": "o = Constant<value_int = 3>()  r = Less(s, o)",
    "greater": "o = Constant<value_int = 3>()  r = Greater(s, o)",
    "at most": "o = Constant<value_int = 3>()  r = LessOrEqual(s, o)",
    "at least": "o = Constant<value_int = 3>()  r = GreaterOrEqual(s, o)",
    "logic": """o = Constant<value_int = 3>()  a = Less(s, o)  b = Equal(s, o)  c = Or(a, b)  n = Not(b)
        r = And(c, n)""",
    "where": "o = Constant<value_int = 3>()  a = Less(s, o)  r = Where(a, o, s)",
    "expand": "t = Constant<value_ints = [2, 3]>()  r = Expand(s, t)",
    "filled": "r = ConstantOfShape<value = int64[1] {1}>(s)",
    "cast": "f = Cast<to = 1>(s)  r = Cast<to = 7>(f)",
    "to bool": "r = Cast<to = 9>(s)",
    "to int32": "r = Cast<to = 6>(s)",
    "scaled": "f = Cast<to = 1>(s) h = Constant<value_float = 0.4>() g = Mul(f, h)  k = Floor(g) r = Cast<to = 7>(k)",
    "truncated": "f = Cast<to = 1>(s)  h = Constant<value_float = 1.7>()  g = Mul(f, h)  r = Cast<to = 7>(g)",
    "half": "f = Cast<to = 1>(s) h = Constant<value_float = 2.0>() g = Div(f, h) k = Floor(g) r = Cast<to = 7>(k)",
    "half, up": "f = Cast<to = 1>(s) h = Constant<value_float = 2.0>() g = Div(f, h) k = Ceil(g) r = Cast<to = 7>(k)",
    "size": "r = Size(x)",
    "part": "r = Shape<start = -2>(x)",
}  # fmt: skip


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name: str) -> None:
    kind = {"to int32": "int32", "to bool": "bool"}.get(name, "int64")
    if name in ("equal", "less", "greater", "at most", "at least", "logic"):
        kind = "bool"
    model = parse(f"g (float[n, 3, h] x) => ({kind}[k] r) {{ s = Shape(x)  {ARITHMETIC[name]} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    program = check(model, *FEEDS)
    left = {"dims", "cast", "reshape"}
    if name == "filled":  # its shape is known at run time only: it stays data
        left.add("expand")
    assert set(kinds(program)) <= left


FLOATS = {
    "a quotient as data": "f = Cast<to = 1>(s)  h = Constant<value_float = 2.0>()  r = Div(f, h)",
    "a product as data": "f = Cast<to = 1>(s)  h = Constant<value_float = 0.3>()  r = Mul(f, h)",
    "a quotient of dims": "f = Cast<to = 1>(s)  p = ReduceMax<keepdims = 0>(f)  r = Div(f, p)",
    "a root": "f = Cast<to = 1>(s)  r = Sqrt(f)",
    "mixed": """f = Cast<to = 1>(s)  h = Constant<value_floats = [0.5]>()  g = Mul(f, h)  r = Concat<axis = 0>(g, h)""",
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats_of_dims_stay_exact(name: str) -> None:
    model = parse(f"g (float[n, 3, h] x) => (float[k] r) {{ s = Shape(x)  {FLOATS[name]} }}")
    check(model, *FEEDS, rtol=0, atol=0)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_scales_computed_from_sizes(mode: str) -> None:
    model = parse(f"""g (float[1, 2, h, w] x, float[1, 2, a, b] like) => (float[1, 2, p, q] y) {{
        s = Shape(x)  t = Shape(like)  f = Cast<to = 1>(s)  e = Cast<to = 1>(t)  r = Div(e, f)
        y = Resize<mode = "{mode}">(x, , r) }}""")
    program = import_onnx(model)
    for x, like in (((1, 2, 4, 5), (1, 2, 8, 10)), ((1, 2, 6, 4), (1, 2, 3, 8))):
        feeds = {"x": normal(*x), "like": normal(*like)}
        agree(program.run(feeds), witness(model, feeds), rtol=1e-4, atol=1e-5)


def test_data_stays_data() -> None:
    """Large or float tensors are not taken for shapes."""
    model = parse("g (float[4] x) => (float[8] y) { y = Concat<axis = 0>(x, x) }")
    assert kinds(check(model, {"x": normal(4)})) == ["concat"]


def test_a_large_range_is_not_listed() -> None:
    model = parse("""g (float[n] x) => (int64[k] y) {
        a = Constant<value_int = 0>()  b = Constant<value_int = 100000>()  c = Constant<value_int = 1>()
        s = Shape(x)  z = Constant<value_ints = [0]>()  o = Constant<value_int = 0>()  n = Gather(s, o)  e = Sub(n, n)
        y = Range(e, b, c) }""")
    assert kinds(check(model, {"x": normal(3)})) == ["iota"]


def test_values_that_cannot_be_divided() -> None:
    model = parse("""g (float[n, 2] x) => (int64[k] y) {
        s = Shape(x)  z = Constant<value_int = 0>()  y = Div(s, z) }""")
    import_onnx(model)  # an error of the run, if it runs


def test_the_shape_of_a_computed_shape() -> None:
    model = parse("g (float[n, 3, h] x) => (int64[k] y) { s = Shape(x)  y = Shape(s) }")
    np.testing.assert_array_equal(import_onnx(model).run(FEEDS[0])["y"], [3])
