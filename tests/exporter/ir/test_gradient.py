# SPDX-License-Identifier: Apache-2.0
"""Gradients of programs: against differences, after the passes, and in the C runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.ir.gradients import Feeds, built, check, normal, squared, with_loss
from tests.ops import control_programs

import samara
from samara.exporter.ir import (
    Builder,
    Node,
    ProgramBuilder,
    Source,
    Value,
    Variable,
    backward,
    save_program,
    verify,
)
from samara.exporter.ops import all_ops, get_op
from samara.exporter.types import ShapeError, TensorType, UnsupportedError

# ---- straight lines ----


def perceptron(b: Builder) -> Mapping[str, Value]:
    """Two layers over a batch of symbolic size."""
    x, t = b.input("x", "f32", ["n", 3]), b.input("t", "f32", ["n", 2])
    w, bias = b.input("w", "f32", [3, 4]), b.input("bias", "f32", [4])
    v = b.input("v", "f32", [4, 2])
    hidden = b.op("tanh", b.op("add", b.op("matmul", x, w), bias))
    y = b.op("matmul", b.op("relu", hidden), v, outputs=["y"])
    error = b.op("sub", y, t)
    return {"y": y, "loss": b.op("reduce_mean", b.op("mul", error, error), axes=(0, 1))}


def perceptron_feeds(n: int) -> Feeds:
    return {
        "x": normal(n, 3), "t": normal(n, 2, seed=1), "w": normal(3, 4, seed=2),
        "bias": normal(4, seed=3), "v": normal(4, 2, seed=4),
    }  # fmt: skip


def test_layers_over_an_open_batch(tmp_path: Path) -> None:
    feeds = [perceptron_feeds(n) for n in (3, 1, 5)]
    check(built(perceptron), feeds, ["w", "bias", "v", "x"], tmp_path)


def test_a_convolutional_network(tmp_path: Path) -> None:
    """Convolution, normalisation, pooling, a dense layer and cross-entropy."""

    def build(b: Builder) -> Mapping[str, Value]:
        x, target = b.input("x", "f32", ["n", 6, 6, 2]), b.input("target", "i64", ["n"])
        w, gain = b.input("w", "f32", [3, 3, 3, 2]), b.input("gain", "f32", [3])
        dense = b.input("dense", "f32", [3, 4])
        y = b.op("conv", x, w, pads=(1, 1, 1, 1), strides=(1, 1), dilations=(1, 1))
        y = b.op("relu", b.op("batch_norm", y, gain)[0])
        y = b.op("max_pool", y, kernel=(2, 2), strides=(2, 2), dilations=(1, 1), pads=(0,) * 4)
        scores = b.op("matmul", b.op("reduce_mean", y, axes=(1, 2)), dense)
        loss = b.op("cross_entropy", scores, target)[0]
        return {"scores": scores, "loss": b.op("reduce_mean", loss, axes=(0,))}

    feeds = [
        {
            "x": normal(n, 6, 6, 2), "target": np.arange(n) % 4, "w": normal(3, 3, 3, 2, seed=1),
            "gain": 1 + normal(3, seed=2) / 8, "dense": normal(3, 4, seed=3),
        }
        for n in (3, 5)
    ]  # fmt: skip
    # Differences across a kink of relu or the pool give no derivative, so x and w are not checked.
    check(built(build), feeds, ["dense", "gain"], tmp_path)
    made = built(build).gradient("loss", ["w", "x"])
    for f in feeds:
        out = made.run(f)
        along = {n: normal(*out[f"grad/{n}"].shape, seed=9) for n in ("w", "x")}
        ends = [
            built(build).run({**f, **{n: f[n] + np.float32(s) * d for n, d in along.items()}})[
                "loss"
            ]
            for s in (2.0**-10, -(2.0**-10))
        ]
        want = (float(ends[0]) - float(ends[1])) * 2**9
        got = sum(float(np.vdot(out[f"grad/{n}"], d)) for n, d in along.items())
        assert abs(got - want) < 2e-3 * (1 + abs(want))


def test_broadcasts_of_open_sizes(tmp_path: Path) -> None:
    def build(b: Builder) -> Mapping[str, Value]:
        x, y = b.input("x", "f32", ["n", "m"]), b.input("y", "f32", ["m"])
        z = b.input("z", "f32", ["k", 1])
        both = b.op("mul", b.op("add", x, y), z)
        return {
            "loss": squared(
                b, b.op("sub", both, b.op("reduce_mean", both, axes=(1,), keepdims=True))
            )
        }

    feeds = [
        {"x": normal(n, m), "y": normal(m, seed=1), "z": normal(k, 1, seed=2)}
        for n, m, k in ((2, 3, 2), (4, 1, 4), (1, 5, 1))
    ]
    check(built(build), feeds, ["x", "y", "z"], tmp_path)


def test_a_product_of_open_size() -> None:
    """Factors may be 0: with one, only its gradient is nonzero; with two, none is."""

    def build(b: Builder) -> Mapping[str, Value]:
        return {"loss": b.op("reduce_prod", b.input("x", "f32", ["n"]), axes=(0,))}

    made = built(build).gradient("loss", ["x"])
    for x, want in (([2, 0, 3], [0, 6, 0]), ([0, 0, 3], [0, 0, 0]), ([2, 5, 3], [15, 6, 10])):
        assert made.run({"x": np.array(x, np.float32)})["grad/x"].tolist() == want


def test_slices_with_open_steps() -> None:
    """The sign of a step must be known; the step itself may be symbolic."""

    def build(sign: int | None) -> Callable[[Builder], Mapping[str, Value]]:
        def make(b: Builder) -> Mapping[str, Value]:
            x, by = b.input("x", "f32", ["n"]), b.input("by", "f32", ["k"])
            n, k = x.type.shape[0], by.type.shape[0]
            step = k - 2 if sign is None else sign * (k + 1)
            begin, end = (n - 1, -1) if sign == -1 else (0, n)
            return {"loss": squared(b, b.op("slice", x, begin=(begin,), end=(end,), step=(step,)))}

        return make

    feeds = {"x": np.arange(1, 6, dtype=np.float32), "by": np.zeros(1, np.float32)}
    for sign in (1, -1):
        out = built(build(sign)).gradient("loss", ["x"]).run(feeds)
        assert out["grad/x"].tolist() == [2, 0, 6, 0, 10]
    with pytest.raises(UnsupportedError, match="the sign of its step k - 2"):
        built(build(None)).gradient("loss", ["x"])


def test_gradients_of_inner_tensors() -> None:
    """`wrt` may hold an intermediate tensor and the inputs that it is made of."""

    def build(b: Builder) -> Mapping[str, Value]:
        x = b.input("x", "f32", [3])
        h = b.op("mul", x, 2.0, outputs=["h"])
        return {"loss": squared(b, h)}

    out = built(build).gradient("loss", ["h", "x"]).run({"x": np.array([1, 2, 3], np.float32)})
    np.testing.assert_array_equal(out["grad/h"], [4, 8, 12])
    np.testing.assert_array_equal(out["grad/x"], [8, 16, 24])


def test_what_the_loss_does_not_need_has_zeros() -> None:
    def build(b: Builder) -> Mapping[str, Value]:
        x, y = b.input("x", "f32", ["n"]), b.input("y", "f32", ["n"])
        return {"loss": squared(b, b.op("add", x, b.op("floor", y))), "z": b.op("neg", y)}

    program = built(build).gradient("loss", ["x", "y", "loss"], outputs=["loss"])
    verify(program)
    out = program.run({"x": np.ones(2, np.float32), "y": np.ones(2, np.float32)})
    assert set(out) == {"loss", "grad/x", "grad/y", "grad/loss"}
    assert out["grad/x"].tolist() == [4, 4]
    assert out["grad/y"].tolist() == [0, 0]
    assert out["grad/loss"].item() == 1


def custom(b: Builder, x: Value) -> Value:
    """A custom operator on x, with a result like x."""
    op = get_op("custom")
    attrs = op.complete({"name": "a::b", "dtypes": (1,), "ranks": (1,), "shape": x.type.shape})
    made = Value(b.unique("strange"), x.type)
    b.nodes.append(Node(op, (x,), (made,), attrs, "strange"))
    b._own(made)
    return made


def test_only_what_moves_is_differentiated() -> None:
    """A part that does not depend on `wrt` may be anything; dead nodes are left out."""

    def build(b: Builder) -> Mapping[str, Value]:
        x, y = b.input("x", "f32", [2]), b.input("y", "f32", [2])
        strange = custom(b, y)
        return {"loss": squared(b, b.op("mul", x, strange))}

    program = built(build)
    made = program.gradient("loss", ["x"])
    assert not any("custom" in n.name for n in made.main.nodes[len(program.main.nodes) :])
    with pytest.raises(UnsupportedError, match=r"custom operator a::b has no gradient"):
        program.gradient("loss", ["y"])


def test_twice() -> None:
    """The gradient of a gradient: of x**4, 12 x**2."""

    def build(b: Builder) -> Mapping[str, Value]:
        x = b.input("x", "f32", [])
        return {"loss": b.op("pow", x, 4.0)}

    once = built(build).gradient("loss", ["x"])
    twice = once.gradient("grad/x", ["x"])
    verify(twice)
    out = twice.run({"x": np.float32(3)})
    assert out["grad/x"].item() == 108
    assert out["grad/x.2"].item() == 108  # 4 * 27 and 12 * 9


def test_export(tmp_path: Path) -> None:
    """samara.export takes a program with gradients."""
    made = built(perceptron).gradient("loss", ["w", "v"])
    samara.export(made, tmp_path / "m.samara")
    session = samara.Session(tmp_path / "m.samara")
    for n in (4, 2):
        feeds = perceptron_feeds(n)
        got, want = session.run(feeds), made.run(feeds)
        for name, array in want.items():
            np.testing.assert_allclose(got[name], array, rtol=0, atol=2e-5)


def test_variables(tmp_path: Path) -> None:
    """A variable is differentiated by its name; reads and writes stay."""

    def build(b: Builder) -> Mapping[str, Value]:
        x, w = b.input("x", "f32", ["n"]), b.input("given", "f32", [1])
        y = b.op("mul", x, w)
        return {"y": y, "next": b.op("mul", w, 0.5), "loss": squared(b, y)}

    plain = built(build)
    main = replace(plain.main, reads={"given": "weight"}, writes={1: "weight"})
    variable = Variable("weight", TensorType.of("f32", [1]), np.array([3], np.float32))
    program = replace(plain.with_function(main), variables=(variable,))
    made = program.gradient("loss", ["weight"], outputs=["loss"])
    verify(made)
    save_program(made, tmp_path / "v.samara")
    session = samara.Session(tmp_path / "v.samara")
    state: dict[str, Any] = {}
    for weight in (3.0, 1.5, 0.75):
        x = np.array([1, 2], np.float32)
        for out in (made.run({"x": x}, state=state), session.run({"x": x})):
            assert set(out) == {"loss", "grad/weight"}
            assert out["grad/weight"].tolist() == [10 * weight]


# ---- control flow ----

CONTROLLED = (
    "if_of_equal_shapes",
    "if_of_other_shapes",
    "nested_ifs_of_floats",
    "loop_in_if",
    "called_twice",
)


def nested_ifs_of_floats() -> control_programs.Controlled:
    b = ProgramBuilder().function("main")
    p, q = b.input("p", "bool", []), b.input("q", "bool", [])
    x, y = b.input("x", "f32", ["n"]), b.input("y", "f32", ["n"])
    outer, other = b.child("then"), b.child("else")
    inner, inner_other = outer.child("then"), outer.child("else")
    scaled = outer.op("mul", x, 3.0)
    (mid,) = outer.if_(
        q,
        (inner, [inner.op("mul", scaled, y)]),
        (inner_other, [inner_other.op("exp", scaled)]),
    )
    (z,) = b.if_(p, (outer, [mid]), (other, [other.op("sub", y, x)]))
    b.finish([z], ["z"])
    feeds = tuple(
        {"p": np.array(p), "q": np.array(q), "x": normal(3) / 4, "y": normal(3, seed=1)}
        for p, q in ((True, True), (True, False), (False, True))
    )
    return control_programs.Controlled(b.program.finish(["main"]), feeds)


def called_twice() -> control_programs.Controlled:
    maker = ProgramBuilder()
    f = maker.function("f")
    u, v = f.input("u", "f32", ["n", "m"]), f.input("v", "f32", ["m"])
    y = f.op("mul", f.op("exp", u), v)
    f.finish([y, f.op("reduce_sum", y, axes=(1,))])
    b = maker.function("main")
    x, w = b.input("x", "f32", ["k", 2]), b.input("w", "f32", [2])
    y, _ = b.op("call", x, w, body="f")
    _, total = b.op("call", b.op("mul", y, 0.5), w, body="f")
    b.finish([total], ["total"])
    feeds = tuple({"x": normal(k, 2) / 2, "w": normal(2, seed=1)} for k in (3, 1))
    return control_programs.Controlled(maker.finish(["main"]), feeds)


@pytest.mark.parametrize("name", CONTROLLED)
def test_control_flow(name: str, tmp_path: Path) -> None:
    make = globals().get(name) or getattr(control_programs, name)
    controlled = make()
    program = with_loss(controlled.program)
    wrt = [v.name for v in program.main.inputs if v.type.dtype.is_float]
    check(program, controlled.feeds, wrt, tmp_path)


def test_one_function_has_one_gradient() -> None:
    """A body with several calls is differentiated once per set of gradients."""
    maker = ProgramBuilder()
    f = maker.function("f")
    f.finish([f.op("sin", f.input("u", "f32", ["n"]))])
    b = maker.function("main")
    y = b.input("x", "f32", [3])
    for _ in range(4):
        (y,) = b.op("call", y, body="f")
    b.finish([squared(b, y)], ["loss"])
    made = maker.finish(["main"]).gradient("loss", ["x"])
    assert set(made.functions) == {"main", "f", "f/grad"}


# ---- functions under construction ----


def test_a_training_step_in_one_function(tmp_path: Path) -> None:
    """Forward, backward and update in one function."""
    b = ProgramBuilder().function("step")
    x, w = b.input("x", "f32", ["n"]), b.input("w", "f32", [1])
    loss = squared(b, b.op("sub", b.op("mul", x, w), 1.0))
    (dw,) = backward(b, [loss], [b.const(np.ones((), np.float32))], [w])
    assert dw is not None
    b.finish([loss, b.op("sub", w, b.op("mul", dw, 0.1))], ["loss", "next"])
    program = b.program.finish(["step"])
    verify(program)
    save_program(program, tmp_path / "step.samara")
    session = samara.Session(tmp_path / "step.samara")
    w_now = np.array([3], np.float32)
    for _ in range(3):
        feeds = {"x": np.array([1, 2], np.float32), "w": w_now}
        out, again = session.run(feeds), program.run(feeds)
        want = w_now - 0.1 * (2 * (w_now - 1) + 4 * (2 * w_now - 1))
        np.testing.assert_allclose(out["next"], want, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(again["next"], want, rtol=1e-5, atol=1e-6)
        w_now = np.asarray(out["next"])


def test_from_inside_a_branch() -> None:
    """A branch asks for the gradient of an outer computation."""
    b = ProgramBuilder().function("main")
    flag, x = b.input("flag", "bool", []), b.input("x", "f32", ["n"])
    y = b.op("mul", x, b.const(np.array([2], np.float32)))
    then, orelse = b.child("then"), b.child("else")
    loss = squared(then, then.op("exp", y))
    (dx,) = backward(then, [loss], [then.const(np.ones((), np.float32))], [x])
    assert dx is not None
    (out,) = b.if_(flag, (then, [dx]), (orelse, [orelse.op("neg", x)]))
    b.finish([out], ["out"])
    program = b.program.finish(["main"])
    verify(program)
    given = np.array([0.5, -1], np.float32)
    got = program.run({"flag": np.array(True), "x": given})["out"]
    np.testing.assert_allclose(got, 4 * np.exp(4 * given), rtol=1e-5)
    assert program.run({"flag": np.array(False), "x": given})["out"].tolist() == [-0.5, 1]


def test_gradients_stop_where_they_are_told_to() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [2])
    held = b.op("identity", b.op("exp", x))
    loss = squared(b, b.op("mul", x, held))
    one = b.const(np.ones((), np.float32))
    whole, stopped = (backward(b, [loss], [one], [x], stop=s)[0] for s in ((), {held}))
    assert whole is not None
    assert stopped is not None
    b.finish([whole, stopped], ["whole", "stopped"])
    given = np.array([0.5, -1], np.float32)
    got = b.program.finish(["main"]).run({"x": given})
    np.testing.assert_allclose(got["stopped"], 2 * given * np.exp(2 * given), rtol=1e-6)
    np.testing.assert_allclose(got["whole"], (1 + given) * got["stopped"], rtol=1e-6)


def test_rules_are_those_of_the_table() -> None:
    """The pass calls `op.grad` itself, so a counting rule is called."""
    tanh = next(op for op in all_ops() if op.name == "tanh")
    rule, uses = tanh.grad, []

    def counting(ctx: Any) -> Any:
        uses.append(ctx.op)
        assert rule is not None
        return rule(ctx)

    object.__setattr__(tanh, "grad", counting)
    try:
        built(perceptron).gradient("loss", ["w"])
    finally:
        object.__setattr__(tanh, "grad", rule)
    assert uses == [tanh]


def test_nodes_know_where_they_come_from() -> None:
    b = ProgramBuilder().function("main")
    x = b.input("x", "f32", [2])
    y = b.op("exp", x, name="grow", source=Source("train.py", 12))
    b.finish([squared(b, y)], ["loss"])
    made = b.program.finish(["main"]).gradient("loss", ["x"])
    sources = {n.name: n.source for n in made.main.nodes}
    assert sources["grad/grow/mul"] == Source("train.py", 12)


# ---- refusals ----


def test_the_loss_is_a_scalar() -> None:
    program = built(perceptron)
    with pytest.raises(ShapeError, match=r"the loss 'y' is f32\[n, 2\], expected a floating"):
        program.gradient("y", ["w"])

    def counts(b: Builder) -> Mapping[str, Value]:
        return {"n": b.op("reduce_sum", b.input("x", "i64", [3]), axes=(0,))}

    with pytest.raises(ShapeError, match=r"the loss 'n' is i64\[\]"):
        built(counts).gradient("n", ["x"])


def test_unknown_names() -> None:
    program = built(perceptron)
    with pytest.raises(ShapeError, match="there is no tensor 'lost'\n  fix: "):
        program.gradient("lost", ["w"])
    with pytest.raises(ShapeError, match="there is no tensor 'q'"):
        program.gradient("loss", ["q"])
    with pytest.raises(ShapeError, match="there is no output 'z'"):
        program.gradient("loss", ["w"], outputs=["z"])


def test_integers_have_no_gradient() -> None:
    def build(b: Builder) -> Mapping[str, Value]:
        x, i = b.input("x", "f32", [3]), b.input("i", "i64", [2])
        return {"loss": squared(b, b.op("gather", x, i))}

    with pytest.raises(ShapeError, match=r"'i' is i64\[2\], and only floating-point"):
        built(build).gradient("loss", ["i"])
