# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of the op table against differences of its references, in float64.

Every operator that has a rule, over its own cases: the rule against the operator, and the rule's
own gradient against the rule.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from samara import exporter
from samara.exporter import ops
from samara.exporter.frontend.creation import tensor
from samara.exporter.ir import ProgramBuilder
from samara.exporter.ops import NO_GRAD, Case, GradContext, OpSpec, all_ops, context_of, vjp
from samara.exporter.testing import Array, case_attrs, case_id, case_inputs, case_types
from samara.exporter.types import DType, UnsupportedError

STEP = 2e-6
# |got - want| <= this * (1 + the largest of both): what differences of that step can tell.
CLOSE = 2e-6
FULL = 24  # inputs of up to so many elements are moved one element at a time
# Last outputs that only the gradient reads: none of their own flows into them.
KEPT = {"gru_train": ("gates", "h"), "lstm_train": ("gates", "h", "c")}
DIRECTIONS = 3  # others in so many random directions

Arrays = Sequence[Array | None]


@dataclass(frozen=True)
class Wide:
    """A case in float64."""

    op: OpSpec
    case: Case
    inputs: tuple[Array | None, ...]
    attrs: Mapping[str, Any]
    moving: tuple[int, ...]  # its floating-point inputs
    rng: np.random.Generator

    def run(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        got = self.op(*inputs, **self.attrs)
        return got if isinstance(got, tuple) else (got,)

    def with_moved(self, moved: Sequence[Any]) -> list[Any]:
        """The inputs, those that move replaced."""
        all_inputs: list[Any] = list(self.inputs)
        for i, x in zip(self.moving, moved, strict=True):
            all_inputs[i] = x
        return all_inputs

    def rule(self, moved: Sequence[Any], dys: Sequence[Any]) -> tuple[Any, ...]:
        """The rule's gradients of the inputs that move."""
        inputs = self.with_moved(moved)
        needed = [i in self.moving for i in range(len(inputs))]
        ctx = context_of(
            self.op, inputs, self.run(inputs), self.op.complete(self.attrs), dys, needed
        )
        assert self.op.grad is not None
        found = self.op.grad(ctx)
        assert len(found) >= len(inputs)
        return tuple(found[i] for i in self.moving)


def widened(op: OpSpec, case: Case) -> Wide | str:
    """The case in float64, or why it has none.

    Given arrays, and what was rounded to float16, may lie on kinks and hold ties: each element is
    moved by an amount of its own.
    """
    arrays, types = case_inputs(op, case), case_types(case)
    if "control" in op.flags:
        return "its bodies are functions"
    if any(t is not None and t.dtype is DType.QS8 for t in types):
        return "quantized"
    if op.name == "bitcast":
        return "bits are no smooth function, and float64 has others"
    moving = tuple(i for i, a in enumerate(arrays) if a is not None and a.dtype.kind == "f")
    if not moving:
        return "no floating-point input"
    inputs: list[Array | None] = list(arrays)
    for i in moving:
        x = np.asarray(arrays[i], np.float64)
        if not np.isfinite(x).all():
            return "not finite"
        if not isinstance(case.inputs[i], tuple) or case.inputs[i][0] == "f16":
            shift = np.arange(1, x.size + 1).reshape(x.shape) / max(x.size, 1)
            x = np.asarray(x + 0.01 * (i + 1) * shift)
        inputs[i] = x
    rng = np.random.default_rng(zlib.crc32(case_id(op, case).encode()))
    attrs = dict(case_attrs(op, case))
    for a in op.attrs:
        if a.type == "dtype" and attrs[a.name].is_float:
            attrs[a.name] = DType.F64
    wide = Wide(op, case, tuple(inputs), attrs, moving, rng)
    if not any(y.dtype.kind == "f" for y in wide.run(inputs)):
        return "no floating-point output"
    return wide


def moved_by(xs: Sequence[Array], directions: Sequence[Array], by: float) -> list[Array]:
    return [np.asarray(x + by * d) for x, d in zip(xs, directions, strict=True)]


def difference(
    f: Callable[[Sequence[Array]], float], xs: Sequence[Array], directions: Sequence[Array]
) -> float:
    """The derivative of f along the directions, by the central difference of fourth order."""
    near, far = (
        f(moved_by(xs, directions, by * STEP)) - f(moved_by(xs, directions, -by * STEP))
        for by in (1, 2)
    )
    return (8 * near - far) / (12 * STEP)


def dot(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The inner product over all arrays; None stands for zeros."""
    pairs = zip(a, b, strict=True)
    return float(sum(np.vdot(x, y) for x, y in pairs if x is not None and y is not None))


def directions_of(wide: Wide, xs: Sequence[Array]) -> list[list[Array]]:
    """Directions in which to move the inputs: each element, or some random ones for each input."""
    found: list[list[Array]] = []
    for i, x in enumerate(xs):
        few = x.size <= FULL
        for k in range(x.size if few else DIRECTIONS):
            d = [np.zeros_like(y) for y in xs]
            if few:
                d[i].flat[k] = 1.0
            else:
                d[i] = wide.rng.standard_normal(x.shape)
            found.append(d)
    return found


def apart(got: float, want: float, scale: float) -> bool:
    """Whether two derivatives disagree; where the operator has none, nothing is said."""
    return bool(np.isfinite(want)) and not abs(got - want) <= CLOSE * (1 + scale)


def projections(wide: Wide, ys: Sequence[Any]) -> list[Any]:
    """Random gradients of the floating-point outputs, None for the others."""
    visible = len(ys) - len(KEPT.get(wide.op.name, ()))
    return [
        wide.rng.standard_normal(y.shape) if y.dtype.kind == "f" and i < visible else None
        for i, y in enumerate(ys)
    ]


def first_order(wide: Wide) -> list[str]:
    """Where the rule disagrees with differences of the reference."""
    xs = [np.asarray(wide.inputs[i]) for i in wide.moving]
    ys = wide.run(wide.inputs)
    dys = projections(wide, ys)
    grads = wide.rule(xs, dys)
    found = []
    for i, (g, x) in enumerate(zip(grads, xs, strict=True)):
        if g is not None and (g.shape != x.shape or g.dtype != np.float64):
            found.append(f"input {wide.moving[i]}: gradient is {g.dtype}{g.shape} for {x.shape}")
    if found:
        return found

    def loss(moved: Sequence[Array]) -> float:
        return dot(wide.run(wide.with_moved(moved)), dys)

    size = max((float(np.abs(g).max(initial=0)) for g in grads if g is not None), default=0.0)
    with np.errstate(all="ignore"):
        for d in directions_of(wide, xs):
            want, got = difference(loss, xs, d), dot(grads, d)
            if apart(got, want, max(abs(want), size)):
                found.append(f"moving {_what(d, wide)}: {got:.10g}, differences say {want:.10g}")
    return found


def second_order(wide: Wide) -> list[str]:
    """Where the gradient of the rule disagrees with differences of the rule."""
    xs = [np.asarray(wide.inputs[i]) for i in wide.moving]
    dys = projections(wide, wide.run(wide.inputs))
    flowing = [i for i, dy in enumerate(dys) if dy is not None]
    start = [*xs, *(dys[i] for i in flowing)]

    def gradients(values: Sequence[Any]) -> tuple[Any, ...]:
        full = list(dys)
        for i, dy in zip(flowing, values[len(xs) :], strict=True):
            full[i] = dy
        return wide.rule(values[: len(xs)], full)

    grads = gradients(start)
    if all(g is None for g in grads):
        return []
    weights = [None if g is None else wide.rng.standard_normal(g.shape) for g in grads]
    seconds = vjp(lambda *values: gradients(values), start, weights)
    size = max((float(np.abs(g).max(initial=0)) for g in seconds if g is not None), default=0.0)
    found = []
    with np.errstate(all="ignore"):
        for _ in range(2):
            d = [wide.rng.standard_normal(x.shape) for x in start]
            want = difference(lambda values: dot(gradients(values), weights), start, d)
            got = dot(seconds, d)
            if apart(got, want, max(abs(want), size)):
                found.append(f"second: {got:.10g}, differences say {want:.10g}")
    return found


def _what(directions: Sequence[Array], wide: Wide) -> str:
    i = next(i for i, d in enumerate(directions) if d.any())
    at = np.argwhere(directions[i])
    where = f"{at[0].tolist()} of " if len(at) == 1 else ""
    return f"{where}input {wide.moving[i]}"


# Backward operators that say so instead of being differentiated again.
REFUSING = {"attention_grad", "gru_grad", "lstm_grad"}
# New values of variables; nothing is differentiated through a training step.
UPDATES = {"adam", "rmsprop", "sgd"}
# A filter bank by its edges, which are fixed numbers of a front end and not learned.
FIXED = {"mel_weights"}

RULED = [op for op in all_ops() if op.grad is not None and op.grad is not NO_GRAD]
INFERENCE_ONLY = [op for op in RULED if "inference_only" in getattr(op.grad, "__qualname__", "")]
DIFFERENTIABLE = [op for op in RULED if "control" not in op.flags and op not in INFERENCE_ONLY]


def usable(op: OpSpec) -> list[Wide]:
    return [w for case in op.cases if isinstance(w := widened(op, case), Wide)]


def covering(op: OpSpec) -> list[Wide]:
    """The usable cases; of a backward operator, whose rules are long, the smallest ones.

    Together they have every choice, every rank and every absent input that all of them have.
    """
    if "training" not in op.flags:
        return usable(op)
    chosen: list[Wide] = []
    seen: set[Any] = set()
    for wide in sorted(usable(op), key=lambda w: sum(0 if x is None else x.size for x in w.inputs)):
        marks: set[Any] = {
            (a.name, wide.attrs[a.name]) for a in op.attrs if a.type in ("bool", "enum")
        }
        marks.add(tuple(-1 if x is None else x.ndim for x in wide.inputs))
        if not marks <= seen:
            chosen.append(wide)
            seen |= marks
    return chosen


def faults(
    op: OpSpec, check: Callable[[Wide], list[str]], cases: Sequence[Wide] | None = None
) -> list[str]:
    """What the check finds wrong in the operator's cases; none where the operator refuses."""
    found = []
    for wide in usable(op) if cases is None else cases:
        try:
            texts = check(wide)
        except UnsupportedError as error:
            if error.op not in REFUSING or "cannot be differentiated again" not in error.message:
                raise
            continue
        found += [f"{case_id(op, wide.case)} {wide.case.attrs}: {text}" for text in texts]
    return found


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_rule(op: OpSpec) -> None:
    """The rule says what differences of the reference say."""
    found = faults(op, first_order)
    assert not found, f"{len(found)} disagree:\n" + "\n".join(found[:20])


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_rule_of_rule(op: OpSpec) -> None:
    """The rule's own gradient says what differences of the rule say."""
    found = faults(op, second_order, covering(op))
    assert not found, f"{len(found)} disagree:\n" + "\n".join(found[:20])


# ---- the table ----


def test_every_operator_says_what_its_gradient_is() -> None:
    assert [op.name for op in all_ops() if op.grad is None] == []


def test_every_rule_is_reached() -> None:
    assert [op.name for op in DIFFERENTIABLE if not usable(op)] == []


@pytest.mark.parametrize("op", INFERENCE_ONLY, ids=lambda op: op.name)
def test_a_missing_gradient_is_refused(op: OpSpec) -> None:
    """Where results move and there is no rule, nothing is silently taken for 0."""
    cases = usable(op)

    def differentiate() -> None:
        if cases:
            first_order(cases[0])
        else:  # quantized operands have no float64 twin: ask the rule itself
            cast(Any, op.grad)(SimpleNamespace(op=op))

    with pytest.raises(UnsupportedError, match="has no gradient"):
        differentiate()


def test_no_gradient_means_no_path() -> None:
    """An operator without a gradient has no floating-point result of a floating-point input."""
    silent = [op for op in all_ops() if op.grad is NO_GRAD and op.name != "trap"]
    assert {op.name for op in silent if usable(op)} == UPDATES | FIXED


def test_choices_are_reached() -> None:
    """Whatever value of an enumeration or switch the cases hold, a usable case holds it too."""
    missed = []
    for op in DIFFERENTIABLE:
        for attr in op.attrs:
            if attr.type in ("enum", "bool"):
                held = {case_attrs(op, c)[attr.name] for c in op.cases}
                reached = {case_attrs(op, w.case)[attr.name] for w in usable(op)}
                missed += [f"{op.name}.{attr.name}: {v}" for v in held - reached]
    assert missed == []


def test_what_is_not_saved_is_named() -> None:
    ctx = GradContext(ops.silu, {}, (), {}, (), (), (True,))
    with pytest.raises(AttributeError, match=r"silu: the gradient rule reads 'x'.*`saves`"):
        _ = ctx.x


def test_saved_names_exist() -> None:
    for op in all_ops():
        known = {n.rstrip("?*") for n in (*op.inputs, *op.outputs)}
        assert set(op.saves) <= known, op.name


def test_rules_live_in_the_table_alone() -> None:
    """What runs rules takes them from OpSpec.grad; rules are made in ops/ only."""
    root = Path(inspect.getfile(exporter)).parent
    makes = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"\b(GradContext|context_of)\(", path.read_text(encoding="utf-8"))
    }
    rooms = {m for m in makes if not m.startswith("ops/")}
    assert rooms == {"frontend/tape.py", "ir/gradient.py"}
    for room in rooms:
        assert re.search(r"\bop\.grad\(", (root / room).read_text(encoding="utf-8")), room


def test_one_rule_serves_eager_tensors_and_programs() -> None:
    """Both run the very object in the table."""
    silu = next(op for op in all_ops() if op.name == "silu")
    rule = silu.grad
    uses: list[str] = []

    def counting(ctx: GradContext) -> Sequence[Any]:
        uses.append(type(ctx.dy).__name__)
        assert rule is not None
        return rule(ctx)

    object.__setattr__(silu, "grad", counting)
    try:
        x = tensor([1.0, -2.0], requires_grad=True)
        ops.silu(x).sum().backward()
        b = ProgramBuilder().function("main")
        value = b.op("silu", b.input("x", "f32", [2]))
        b.finish([b.op("reduce_sum", value, axes=(0,))], ["loss"])
        made = b.program.finish(["main"]).gradient("loss", ["x"])
    finally:
        object.__setattr__(silu, "grad", rule)
    assert len(uses) == 2
    assert x.grad is not None
    got = made.run({"x": np.array([1, -2], np.float32)})["grad/x"]
    np.testing.assert_allclose(x.grad.numpy(), got, rtol=1e-6)


# ---- this file can fail ----


def test_a_wrong_rule_is_found() -> None:
    tanh = next(op for op in all_ops() if op.name == "tanh")

    def wrong(ctx: GradContext) -> Sequence[Any]:
        return (ops.mul(ctx.dy, ops.sub(1.00001, ops.mul(ctx.y, ctx.y))),)

    assert faults(dataclasses.replace(tanh, grad=wrong), first_order)
    # Right itself, but y is taken for a constant: the second derivative is not there.
    assert tanh.grad is not None
    rule = tanh.grad

    def blind(ctx: GradContext) -> Sequence[Any]:
        y = ctx.y
        while not isinstance(y, np.ndarray):
            y = y.of
        return (ops.mul(ctx.dy, ops.sub(1.0, ops.mul(y, y))),)

    assert not faults(dataclasses.replace(tanh, grad=blind), first_order)
    assert faults(dataclasses.replace(tanh, grad=blind), second_order)
    assert not faults(dataclasses.replace(tanh, grad=rule), second_order)
