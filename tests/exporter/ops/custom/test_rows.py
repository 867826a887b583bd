# SPDX-License-Identifier: Apache-2.0
"""Registering custom operators: names, attributes, types; calls on arrays, tensors and in traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.ir import ProgramBuilder, count_ops, from_bytes, required_ops, to_bytes
from samara.exporter.ops.custom import rows
from samara.exporter.passes import PIPELINE, run_passes
from samara.exporter.types import Dim, Sym, TensorType


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    known = dict(rows._REGISTERED)
    yield
    rows._REGISTERED.clear()
    rows._REGISTERED.update(known)


def scaled(x: Any, *, by: float = 2.0, axes: tuple[int, ...] = (0, 1), mode: str = "m") -> Any:
    return x * np.float32(by)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


# ---- registration ----


@pytest.mark.parametrize("name", ["plain", "a::", "::b", "a::b::c", "a::b c"])
def test_names_have_a_domain(name: str) -> None:
    with pytest.raises(samara.UnsupportedError, match="is not the name of a custom operator"):
        samara.register_op(name, reference=scaled)


def test_a_symbol_needs_a_library() -> None:
    with pytest.raises(samara.UnsupportedError, match="symbol 's' of no library"):
        samara.register_op("a::b", reference=scaled, symbol="s")


def test_attributes_get_the_defaults_and_kinds_of_the_reference() -> None:
    op = samara.register_op("a::scaled", reference=scaled)
    attrs = op.node_attrs([TensorType.of("f32", (2, 3))], {"by": 3})
    named = dict(attrs["attributes"])
    assert named == {"by": 3.0, "axes": (0, 1), "mode": "m"}
    assert isinstance(named["by"], float)  # an int where the default is a float
    with pytest.raises(samara.ShapeError, match="unexpected keyword argument 'bye'"):
        op(X, bye=3)
    with pytest.raises(samara.ShapeError, match="too many positional arguments"):
        op(X, X)


@pytest.mark.parametrize(
    ("value", "what"),
    [({"a": 1}, "is dict"), (["a", 1], "is list"), (1 << 70, "int64")],
)
def test_values_that_do_not_travel(value: Any, what: str) -> None:
    op = samara.register_op("a::any", reference=lambda x, **attributes: x)
    with pytest.raises(samara.UnsupportedError, match=what):
        op(X, value=value)


# ---- types ----


def types_of(infer: Any, *inputs: TensorType) -> tuple[TensorType, ...]:
    """The output types of a node with this rule."""
    op = samara.register_op("a::typed", reference=lambda *xs: xs, infer=infer)
    program = ProgramBuilder()
    b = program.function("main")
    values = [b.input(f"x{i}", t.dtype, t.shape) for i, t in enumerate(inputs)]
    made = b.op("custom", *values, outputs=["y"], attributes=op.node_attrs(inputs, {}))
    b.finish(list(made))
    again = from_bytes(to_bytes(program.finish(["main"]))).program
    assert [v.type for v in again.main.outputs] == [v.type for v in made]
    assert again.main.bounds == b.bounds
    return tuple(v.type for v in made)


def test_what_infer_may_return() -> None:
    n = Dim.atom(Sym("n"))
    x = TensorType.of("f32", (n, 4))
    assert types_of(None, x) == (x,)
    assert types_of(lambda x: x.with_dtype("int64").with_shape(x.shape[0] * 2 + 1), x) == (
        TensorType.of("i64", (n * 2 + 1,)),
    )
    assert types_of(lambda x: (np.float16, [x.shape[1]]), x) == (TensorType.of("f16", (4,)),)
    assert types_of(lambda x: [x, ("bool", ())], x) == (x, TensorType.of("bool", ()))
    bounded, free = types_of(lambda x: [("f32", [samara.UpTo(x.shape[0]), 4]), ("i64", [None])], x)
    assert str(bounded.shape[0]) == "born(y, 0, 0)"
    assert bounded.shape[1] == 4
    assert str(free.shape[0]) == "born(y, 1, 0)"


@pytest.mark.parametrize(
    ("infer", "what"),
    [
        (lambda x: 3, "infer returned 3"),
        (lambda x: ("word", [1]), "infer returned the dtype 'word'"),
        (lambda x: ("f4", ["n"]), "infer returned the size 'n'"),
        (lambda x: x.shape[7], "infer: IndexError"),
    ],
)
def test_rules_that_go_wrong_name_the_operator(infer: Any, what: str) -> None:
    op = samara.register_op("a::bad", reference=lambda x: x, infer=infer)
    with pytest.raises(samara.ShapeError, match=what) as e:
        op(X)
    assert e.value.op == "a::bad"


# ---- calls ----


def test_on_arrays_and_tensors() -> None:
    op = samara.register_op("a::scaled", reference=scaled)
    assert op(X, by=3).tolist() == (X * 3).tolist()
    got = op(samara.from_numpy(X), by=3)
    assert isinstance(got, samara.Tensor)
    assert got.tolist() == (X * 3).tolist()
    two = samara.register_op("a::two", reference=lambda x: (x, x), infer=lambda x: [x, x])
    assert [y.shape for y in two(samara.from_numpy(X))] == [(2, 3), (2, 3)]
    with pytest.raises(samara.ShapeError, match="input 0 is float, expected an array"):
        op(2.0)


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        (lambda x: x.astype(np.float64), r"is float64\[2, 3\], declared float32\[2, 3\]"),
        (lambda x: x[:1], r"is float32\[1, 3\], declared"),
        (lambda x: (x, x), "gave 2 results, its node declares 1"),
        (lambda x: x @ x, "the reference of a::odd failed: ValueError"),
    ],
)
def test_references_are_held_to_their_types(reference: Any, what: str) -> None:
    op = samara.register_op("a::odd", reference=reference)
    with pytest.raises(samara.SamaraError, match=what):
        op(X)
    program = samara.trace(op, (samara.from_numpy(X),), input_names=["x"])
    with pytest.raises(samara.SamaraError, match=what):
        program.run({"x": X})


def test_in_a_trace() -> None:
    op = samara.register_op("a::scaled", reference=scaled)
    program = samara.trace(
        lambda x: op(x, by=3) + 1,
        (samara.from_numpy(X),),
        input_names=["x"],
        dynamic={"x": {0: "batch"}},
    )
    assert [n.op.name for n in program.main.nodes] == ["custom", "add"]
    assert str(program.main.outputs[0].type.shape[0]) == "batch"
    x = np.ones((5, 3), np.float32)
    assert program.run({"x": x})["output"].tolist() == (x * 3 + 1).tolist()


def test_bounds_hold() -> None:
    op = samara.register_op(
        "a::twice",
        reference=lambda x: np.concatenate([x, x]),
        infer=lambda x: x.with_shape(samara.UpTo(x.shape[0])),
    )
    program = samara.trace(op, (samara.ones(3),), input_names=["x"])
    with pytest.raises(samara.LimitError, match="its bound is 3"):
        program.run({"x": np.ones(3, np.float32)})


def test_a_gradient_comes_from_a_function() -> None:
    op = samara.register_op("a::scaled", reference=scaled)
    x = samara.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(samara.UnsupportedError, match="custom operator a::scaled has no gradient"):
        op(x).sum().backward()

    class Scaled(samara.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return op(x, by=3)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return dy * 3

    Scaled.apply(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3]
    program = samara.trace(Scaled.apply, (x.detach(),), input_names=["x"])
    assert [n.op.name for n in program.main.nodes] == ["custom"]


def test_passes_leave_it_alone() -> None:
    op = samara.register_op("a::scaled", reference=scaled)
    conv = samara.nn.Conv2d(2, 2, 1).eval()

    def f(x: Any) -> Any:
        h = op(conv(x), by=3)
        return conv(h) + op(conv(x), by=3)  # two calls of one operator stay distinct

    program = samara.trace(f, (samara.ones(1, 2, 3, 3),), input_names=["x"])
    optimized, _ = run_passes(program, PIPELINE, check=True)
    assert count_ops(optimized)["custom"] == 2
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 3)).astype(np.float32)
    got, want = optimized.run({"x": x})["output"], program.run({"x": x})["output"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_in_a_script() -> None:
    op = samara.register_op("a::scaled", reference=scaled)

    def f(x: Any) -> Any:
        if x.sum() > 0:
            x = op(x, by=3)
        else:
            x = op(x, by=5)
        return x

    program = samara.script(f, (samara.ones(2),), input_names=["x"])
    for x, want in ((np.ones(2), [3, 3]), (-np.ones(2), [-5, -5])):
        assert program.run({"x": x.astype(np.float32)})["output"].tolist() == want
    assert [r.name for r in required_ops(program)] == ["a::scaled"]
