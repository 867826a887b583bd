# SPDX-License-Identifier: Apache-2.0
"""Damaged models: an error that says what is wrong, or a Program; never another exception, never long work."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import onnx
import pytest
from tests.exporter.importers.onnx.models import parse
from tests.exporter.importers.onnx.mutations import mutate

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import verify
from samara.exporter.types import SamaraError


def fill(graph: str, **tensors: tuple[str, int]) -> str:
    """The graph with the data of its larger tensors: so many times the same element."""
    for name, (element, count) in tensors.items():
        graph = graph.replace(f"{name} = {{}}", f"{name} = {{{', '.join([element] * count)}}}")
    return graph


SEEDS = {
    "convolutions": fill("""g (float[n, 3, 16, 16] x) => (float[n, 5] y)
        <float[4, 3, 3, 3] w = {}, float[4] b = {1, 2, 3, 4}, float[4, 5] m = {}> {
        c = Conv<pads = [1, 1, 1, 1], strides = [2, 2], kernel_shape = [3, 3]>(x, w, b)
        n1 = BatchNormalization<epsilon = 0.01>(c, b, b, b, b)  r = Relu(n1)
        p = MaxPool<kernel_shape = [2, 2], strides = [2, 2], auto_pad = "SAME_UPPER">(r)
        target = Constant<value_ints = [1, 4, 8, 8]>()  u = Resize<mode = "linear">(p, , , target)
        g1 = GlobalAveragePool(p)  f = Flatten<axis = 1>(g1)  h = Gemm<alpha = 0.5>(f, m)
        y = Softmax<axis = -1>(h) }""", w=("0.1", 108), m=("0.2", 20)),
    "shapes": """g (float[n, 3, h] x, int64[1] axis, int64[2] sizes) => (float[a, b] y, float[c] z, int64[3] k)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] rest = {-1}> {
        s = Shape(x)  m = Gather(s, zero)  t = Concat<axis = 0>(m, rest)  y = Reshape(x, t)
        u = Unsqueeze(y, axis)  v = Squeeze(u, axis)  one2 = Concat<axis = 0>(zero, one)
        e = Slice(v, one2, sizes, one2)  q = ReduceSum<keepdims = 0>(e, axis)  z = Tile(q, one)
        k = Transpose<perm = [0]>(s) }""",
    "sequences": fill("""g (float[t, 2, 3] x, int32[2] lengths) => (float[t, 1, 2, 2] y, float[1, 2, 2] yh)
        <float[1, 8, 3] w = {}, float[1, 8, 2] r = {}> {
        y, yh = LSTM<hidden_size = 2, direction = "forward">(x, w, r, , lengths) }""", w=("0.1", 24), r=("0.2", 16)),
    "control flow": """g (float[n, 3] x, bool c, int64 trips) => (float[n, 3] y, float[k, n, 3] all) <bool on = {1}> {
        h = If(c) <then_branch = t () => (float[n, 3] a) { a = Relu(x) },
                   else_branch = e () => (float[n, 3] b) { b = Neg(x) }>
        y, all = Loop(trips, on, h) <body = l (int64 i, bool go, float[n, 3] u)
            => (bool go2, float[n, 3] v, float[n, 3] o) {
            go2 = Identity(go)  f = Cast<to = 1>(i)  v = Add(u, f)  o = Mul(v, x) }> }""",
    "quantized": fill("""g (float[1, 4] x) => (float[1, 4] y) <float s = {0.1}, uint8 z = {3}, uint8[4, 4] w = {}> {
        q = QuantizeLinear(x, s, z)  m = QLinearMatMul(q, s, z, w, s, z, s, z)  d = DequantizeLinear(m, s, z)
        n, ns, nz = DynamicQuantizeLinear(d)  y = DequantizeLinear<axis = 0>(n, ns, nz) }""", w=("7", 16)),
    "indexing": """g (float[4, 5] x, int64[3] i) => (float[3, 5] a, float[4, 5] b, int64[2, k] c, float[4, 2] d,
        float[3, 4] e) <float[2] values = {0, 1}, int64 depth = {4}, int64[1] two = {2}> {
        a = Gather<axis = 0>(x, i)  second = Constant<value_ints = [1]>()  r = Unsqueeze(i, second)
        b = ScatterND(x, r, a)  c = NonZero(x)  d, di = TopK<axis = 1>(x, two)  e = OneHot(i, depth, values)
        last = Constant<value_int = -1>()  f = CumSum(x, last)
        pads = Constant<value_ints = [1, 0, 0, 1]>()  p = Pad<mode = "reflect">(x, pads) }""",
}  # fmt: skip


def attempt(model: onnx.ModelProto) -> str:
    """The kind of the error, or "ok"."""
    start = time.perf_counter()
    kind = "ok"
    try:
        verify(import_onnx(model))
    except SamaraError as error:
        kind = type(error).__name__
    assert time.perf_counter() - start < 5.0
    return kind


@pytest.mark.parametrize("count", [80, pytest.param(400, marks=pytest.mark.extended)])
@pytest.mark.parametrize("name", SEEDS)
def test_mutations(name: str, count: int, seed: int) -> None:
    model = parse(SEEDS[name])
    assert attempt(model) == "ok"
    rng = np.random.default_rng(seed)
    found = {attempt(mutate(model, rng, int(rng.integers(1, 5)))) for _ in range(count)}
    # The damage is of every kind: harmless, and seen as one thing or another.
    assert found >= {"ok", "ShapeError", "UnsupportedError"}


@pytest.mark.parametrize("name", SEEDS)
def test_bytes(name: str, seed: int) -> None:
    data = parse(SEEDS[name]).SerializeToString()
    rng = np.random.default_rng(seed)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
        with contextlib.suppress(SamaraError):
            import_onnx(bytes(damaged[: rng.integers(len(data) // 2, len(data) + 1)]))


@pytest.mark.parametrize(
    "graph",
    [
        "g (int64[9000000000000000000] s) => (float[a] y) { y = ConstantOfShape(s) }",
        "g (float[2] x, int64[2147483648] s) => (float[a] y) { y = Reshape(x, s) }",
        "g () => (float[a] y) { s = Constant<value_ints = [1000000000000, 1000000]>()  y = ConstantOfShape(s) }",
        """g () => (float[a] y) { s = Constant<value_ints = [100000, 100000]>()  c = ConstantOfShape(s)
            d = Exp(c)  y = Add(d, c) }""",
        """g () => (int64[a] y) { a = Constant<value_int = 0>()  b = Constant<value_int = 4000000000000>()
            c = Constant<value_int = 1>()  y = Range(a, b, c) }""",
        "g (float[3] x) => (float[a] y) { r = Constant<value_ints = [1000000000000]>()  y = Tile(x, r) }",
        "g (float[1, 1, 4, 4] x) => (float[a] y) { y = MaxPool<kernel_shape = [3000000000, 2]>(x) }",
        "g (float[4, 4] x) => (float[a] y) { y, z = Split<num_outputs = 2000000000>(x) }",
    ],
)
def test_huge_things_cost_nothing(graph: str) -> None:
    attempt(parse(graph))


def test_long_chains() -> None:
    body = "  ".join(f"h{k + 1} = Relu(h{k})" for k in range(3000))
    assert attempt(parse(f"g (float[2] h0) => (float[2] h3000) {{ {body} }}")) == "ok"
