# SPDX-License-Identifier: Apache-2.0
"""The check of passes: deep integer nets pass it, nets with a fault in the middle do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.deep import MOBILENET, SMALL, mobilenet, quantized
from tests.exporter.passes.programs import in_steps, normal, program

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import Builder, Node, Program, Rewriter, Value
from samara.exporter.passes import EXPORT, Pass, difference, fuse_quantized, run_passes
from samara.exporter.passes._check import checker_of, moved
from samara.exporter.passes._work import Work
from samara.exporter.types import DType, Quant, SamaraError

A = Quant.per_tensor(0.05, 3)


# ---- numbers


def test_difference() -> None:
    one = np.ones(3, np.float32)
    assert difference(one, one) == 0.0
    assert difference(one, one * 1.1) > 1.0
    assert difference(one + 1e-6, one) < 1.0
    assert difference(one, one.astype(np.float16)) == math.inf
    assert difference(np.array([1, 2]), np.array([1, 3])) == math.inf
    holes = np.array([np.nan, np.inf, 1], np.float32)
    assert difference(holes, holes) == 0.0
    assert difference(np.array([0, np.inf, 1], np.float32), holes) == math.inf


def test_differences_in_steps() -> None:
    one = np.array([0.0, 1.0, 255.0], np.float32)
    assert difference(one, one, 1) == 0.0
    assert difference(one + 1, one, 1) == pytest.approx(1.0, abs=0.15)
    assert difference(one + 1, one, 2) < difference(one + 1, one, 1) < difference(one + 1, one)
    assert difference(one * np.float32(np.nan), one, 1) == math.inf
    assert difference(np.array([2, 0], np.uint8), np.array([0, 0], np.uint8), 1) == math.sqrt(2)
    # An index or a choice may differ arbitrarily.
    assert difference(np.array([7]), np.array([0]), 1) == 0.0
    assert difference(np.array([7]), np.array([0])) == math.inf


def spread(count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-100, 100, count).astype(np.int8)


def test_moved_tells_roundings_from_faults() -> None:
    want = spread(5000)
    rng = np.random.default_rng(1)
    few = want + (rng.random(5000) < 0.1) * rng.choice([-1, 1], 5000)
    assert 0.0 < moved(few.astype(np.int8), want) < 1.0
    assert moved(want, want) == 0.0
    assert moved(want + np.int8(1), want) > 1.0  # a zero point
    assert moved(np.maximum(want, -60), want) > 1.0  # a clamp
    assert moved((want * 1.02).astype(np.int8), want) > 1.0  # a scale
    far = want.copy()
    far[7] += 3  # one large error
    assert moved(far, want) > 1.0
    two = want.copy()
    two[7] += 2  # two rounding errors that add up
    assert moved(two, want) <= 1.0
    assert moved(want[:-1], want) == math.inf


@pytest.mark.parametrize("count", [4, 10, 64])
def test_moved_of_few_numbers(count: int) -> None:
    want = spread(count)
    assert moved(want + np.int8(1), want) > 1.0
    one = want.copy()
    one[0] += 1
    assert moved(one, want) <= 1.0


def test_moved_tells_channels_apart() -> None:
    """A channel of 16 that is off by one is found, though it is a small share of the tensor."""
    want = spread(1600).reshape(1, 10, 10, 16)
    wrong = want.copy()
    wrong[..., 5] += 1
    assert (wrong != want).mean() < 0.07
    assert moved(wrong, want) > 1.0


def test_what_was_clamped_says_nothing() -> None:
    """A wrong zero point after a clamp moves the unclamped values."""
    want = np.where(np.arange(1000) % 10 == 0, spread(1000), -128).astype(np.int8)
    shifted = np.where(want > -128, want + 1, want).astype(np.int8)
    assert (shifted != want).mean() < 0.11
    assert moved(shifted, want) > 1.0


# ---- nets


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    """Small nets after the passes before fuse_quantized, and the complete uint8 net."""
    made = {}
    for name, how in {
        "int8": {},
        "uint8": {"bytes_": True},
        "symmetric": {"symmetric": True},
    }.items():
        folder = tmp_path_factory.mktemp(name)
        made[name] = import_onnx(quantized(mobilenet(32, 0.25, SMALL, 64), folder, **how))
    return made


def before_fusion(net: Program) -> Program:
    first = next(i for i, p in enumerate(EXPORT) if p is fuse_quantized.PASS)
    return run_passes(net, EXPORT[:first])[0]


def test_right_passes_hold(nets: dict[str, Program]) -> None:
    for net in nets.values():
        after, report = run_passes(net, EXPORT, check="strict")
        assert sum(n.op.name == "qconv" for n in after.main.nodes) == 22
        assert not report.failed
        assert max(r.difference or 0.0 for r in report.rows) <= 0.5


@pytest.mark.parametrize("steps", [0.76, 1.3, 2.0])
def test_a_softmax_in_other_steps_is_rounded_twice(steps: float) -> None:
    """More than a quarter of its numbers move, but the net is correct."""

    def build(b: Builder) -> Value:
        x = b.op("dequantize", b.input("x", "qs8", [32, 512], A))
        y = b.op("softmax", x, axis=-1)
        y = in_steps(b, y, Quant.per_tensor(float(np.float32(steps / 256)), -128))
        value: Value = b.op("mul", b.op("dequantize", y), 2.0)
        return value

    after, _ = run_passes(program(build), EXPORT, check="strict")
    assert any(n.op.name == "qsoftmax" for n in after.main.nodes)


@pytest.mark.slow
@pytest.mark.parametrize("bytes_", [False, True])
def test_mobilenet_holds(tmp_path: Path, bytes_: bool) -> None:
    """53 layers: rounding alone moves the outputs by more than any fixed number of steps."""
    net = import_onnx(quantized(mobilenet(96, 1.0, MOBILENET, 1280), tmp_path, bytes_=bytes_))
    after, report = run_passes(net, EXPORT, check="strict")
    assert sum(n.op.name in ("qconv", "qmatmul") for n in after.main.nodes) == 53
    assert not report.failed
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 3, 96, 96)).astype(np.float32)}
    assert difference(after.run(feeds)["y"], net.run(feeds)["y"], 1) > 1.0


# ---- faults


def other_zero_point(r: Rewriter, node: Node) -> None:
    """The layer reads its input with a zero point that is one too large."""
    x = node.inputs[0]
    assert x is not None
    quant = x.type.quant
    assert quant is not None
    plain = r.op("reinterpret", x, to="i8", before=node)
    wrong = r.op("reinterpret", plain, to="qs8", before=node, axis=-1, scales=quant.scales,
                 zero_points=(quant.zero_point + 1,))  # fmt: skip
    r.replace_node(node, node.op, wrong, *node.inputs[1:], name=node.name, **node.attrs)


def swapped_scales(r: Rewriter, node: Node) -> None:
    """The scales of two output channels' weights are exchanged."""
    w = node.inputs[1]
    assert w is not None
    quant = w.type.quant
    assert quant is not None
    scales = list(quant.scales)
    if len(scales) == 1:
        scales[0] *= 2.0
    else:
        scales[0], scales[1] = scales[1], scales[0]
    wrong = r.const(w.constant, "wrong", DType.QS8, replace(quant, scales=tuple(scales)))
    r.replace_node(
        node, node.op, node.inputs[0], wrong, node.inputs[2], name=node.name, **node.attrs
    )


def missing_clamp(r: Rewriter, node: Node) -> None:
    attrs = {**node.attrs, "lo": -128, "hi": 127}
    r.replace_node(node, node.op, *node.inputs, name=node.name, **attrs)


def missing_bias(r: Rewriter, node: Node) -> None:
    """The bias of one output channel is wrong."""
    x, w, b = node.inputs
    assert b is not None
    assert b.constant is not None
    wrong = b.constant.copy()
    wrong[int(np.argmax(np.abs(wrong)))] = 0
    r.replace_node(node, node.op, x, w, r.const(wrong), name=node.name, **node.attrs)


def other_pads(r: Rewriter, node: Node) -> None:
    attrs = {**node.attrs, "pads": (0, 1, 2, 1)}
    r.replace_node(node, node.op, *node.inputs, name=node.name, **attrs)


def dropped_row(r: Rewriter, node: Node) -> None:
    """The weights of one input channel are lost."""
    w = node.inputs[1]
    assert w is not None
    assert w.constant is not None
    wrong = w.constant.copy()
    wrong[..., 0] = 0
    value = r.const(wrong, "wrong", DType.QS8, w.type.quant)
    r.replace_node(
        node, node.op, node.inputs[0], value, node.inputs[2], name=node.name, **node.attrs
    )


Fault = Callable[[Rewriter, Node], None]


def with_fault(fault: Fault, kind: str, place: int) -> Pass:
    """fuse_quantized with a fault in one of the layers that it makes: those with these properties."""

    def run(before: Program) -> Program:
        made = fuse_quantized.PASS.run(before)
        r = Rewriter(made.main, made)
        layers = [n for n in r.nodes() if n.op.name == "qconv" and _is(kind, n)]
        fault(r, layers[place])
        return made.with_function(r.finish())

    return replace(fuse_quantized.PASS, run=run)


def _is(kind: str, node: Node) -> bool:
    clamps = (node.attrs["lo"], node.attrs["hi"]) != (-128, 127)
    return bool({"any": True, "clamps": clamps, "depthwise": node.attrs["groups"] > 1}[kind])


@pytest.mark.parametrize(("net", "place"), [("int8", 2), ("uint8", -2)])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (other_zero_point, "any"),
        (swapped_scales, "any"),
        (missing_clamp, "clamps"),
        (missing_bias, "any"),
        (other_pads, "depthwise"),
        (dropped_row, "any"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_faults_in_the_middle_are_caught(
    nets: dict[str, Program], net: str, place: int, fault: Fault, kind: str
) -> None:
    if kind == "clamps":  # int8 ranges absorb the clamps of the others
        net = "symmetric"
    before = before_fusion(nets[net])
    with pytest.raises(SamaraError, match=r"pass 'fuse_quantized' changed the answer: tensor '"):
        run_passes(before, [with_fault(fault, kind, place)], check="strict")


def test_the_outputs_alone_do_not_tell(nets: dict[str, Program]) -> None:
    """A zero point that is off by one in the middle changes the outputs less than rounding noise."""
    before = before_fusion(nets["int8"])
    step = with_fault(other_zero_point, "any", 8)
    checker, _ = checker_of(before, None, Work(math.inf))
    assert checker is not None
    feeds = checker.samples[0]["main"]
    wrong = step.run(before)
    assert difference(wrong.run(feeds)["y"], before.run(feeds)["y"], 1) < 2.0
    verdict = checker.judge(step, before, wrong)
    assert verdict is not None
    assert not verdict.holds


def test_a_fault_behind_the_last_quantized_tensor() -> None:
    """Outputs that are not quantized are compared with the float tolerance."""

    def build(b: Builder) -> list[Value]:
        x = b.op("dequantize", in_steps(b, b.input("x", "f32", [50]), A))
        return [b.op("mul", x, b.const(np.float32(2)))]

    def run(before: Program) -> Program:
        r = Rewriter(before.main, before)
        (mul,) = [n for n in r.nodes() if n.op.name == "mul"]
        r.replace_node(mul, "mul", mul.inputs[0], r.const(np.float32(2.005)), name=mul.name)
        return before.with_function(r.finish())

    with pytest.raises(SamaraError, match="changed the answer: output 'out0'"):
        run_passes(program(build), [Pass("off", "a little", run, steps=1)], check="strict")


def _renamed(before: Program) -> Program:
    """Rename all intermediate tensors."""
    f = before.main
    border = {*f.inputs, *f.outputs}
    fresh: dict[Value, Value] = {}

    def of(v: Value | None) -> Value | None:
        if v is None or v in border or v.is_constant:
            return v
        return fresh.setdefault(v, replace(v, name=f"other.{v.name}"))

    nodes = tuple(
        replace(n, inputs=tuple(map(of, n.inputs)), outputs=tuple(of(v) or v for v in n.outputs))
        for n in f.nodes
    )
    return before.with_function(replace(f, nodes=nodes))


def test_without_common_tensors_the_noise_of_the_program_bounds(nets: dict[str, Program]) -> None:
    before = before_fusion(nets["uint8"])
    step = replace(fuse_quantized.PASS, run=lambda p: _renamed(fuse_quantized.PASS.run(p)))
    _, report = run_passes(before, [step], check="strict")
    assert not report.failed

    def doubled(p: Program) -> Program:
        made = _renamed(fuse_quantized.PASS.run(p))
        r = Rewriter(made.main, made)
        r.set_outputs([r.op("mul", v, r.const(np.float32(2))) for v in r.outputs])
        return made.with_function(r.finish())

    with pytest.raises(SamaraError, match="changed the answer: output 'y'"):
        run_passes(before, [replace(step, run=doubled)], check="strict")


def test_bodies_are_compared_execution_by_execution() -> None:
    """A fault in a loop's body is found in the iteration where it matters."""
    from samara.exporter.ir import ProgramBuilder

    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", [40])
    body = b.child("body")
    body.input("i", "i64", ())
    on = body.input("on", "bool", ())
    h = body.input("h", "f32", [40])
    stepped = body.op(
        "dequantize", in_steps(body, body.op("mul", h, body.const(np.float32(0.9))), A)
    )
    (last,) = b.loop(b.const(np.int64(5)), None, [x], (body, [on, stepped]))
    b.finish([last], ["out"])
    before = maker.finish(["main"])

    def run(p: Program) -> Program:
        (name,) = [f for f in p.functions if f != "main"]
        r = Rewriter(p.functions[name], p)
        (q,) = [n for n in r.nodes() if n.op.name == "quantize"]
        moved_up = r.op("add", q.inputs[0], r.const(np.float32(0.05)), before=q)
        r.replace_node(q, "quantize", moved_up, name=q.name, **q.attrs)
        return p.with_function(r.finish())

    with pytest.raises(SamaraError, match="changed the answer: tensor"):
        run_passes(before, [Pass("off", "in the body", run, steps=1)], check="strict")


# ---- samples


def test_samples_of_other_entries_are_drawn() -> None:
    from samara.exporter.ir.merge import merge

    first = program(lambda b: b.op("relu", b.input("x", "f32", [3])))
    second = program(lambda b: b.op("exp", b.input("z", "f32", [2])))
    checker, why = checker_of(
        merge({"a": first, "b": second}), [{"x": np.ones(3, np.float32)}], Work(math.inf)
    )
    assert checker is not None, why
    assert {e: list(f) for e, f in checker.samples[0].items()} == {"a": ["x"], "b": ["z"]}


def test_what_does_not_run_says_how_it_could() -> None:
    def build(b: Builder) -> Value:
        at = b.op("mul", b.input("at", "i64", [3]), b.const(np.int64(99)))
        value: Value = b.op("gather", b.const(normal(4)), at, axis=0)
        return value

    before = program(build)
    checker, why = checker_of(before, None, Work(math.inf))
    assert checker is None
    assert "golden inputs" in why
    checker, why = checker_of(before, [{"at": np.zeros(3, np.int64)}], Work(math.inf))
    assert checker is not None
