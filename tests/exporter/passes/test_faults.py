# SPDX-License-Identifier: Apache-2.0
"""A wrong rule in any pass is found and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, in_steps, normal, program, real
from tests.exporter.passes.test_read_caches import decoder

from samara.exporter.ir import Array, Builder, Node, Program, Rewriter, Value
from samara.exporter.ops import get_op
from samara.exporter.passes import (
    EXPORT,
    REGISTRY,
    _activations,
    deduplicate,
    fold_constants,
    fuse_activation,
    fuse_affine,
    fuse_attention,
    fuse_pad,
    fuse_quantized,
    fuse_residual,
    fuse_transpose,
    join_columns,
    layout,
    read_caches,
    reorder,
    resize_planes,
    run_passes,
    simplify,
    simplify_shapes,
)
from samara.exporter.passes._integer_lookup import lookup
from samara.exporter.types import Quant, SamaraError

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Fault:
    """A wrong rule for one pass, and a program whose answer it changes."""

    build: Callable[[Builder], Any] | Callable[[], Program]
    plant: Plant
    whole: bool = False  # `build` makes a Program

    def program(self) -> Program:
        made: Any = self.build
        return made() if self.whole else program(made)


def _replace(module: Any, name: str, wrong: Any) -> Plant:
    return lambda monkeypatch: monkeypatch.setattr(module, name, wrong)


def _over_caches() -> Program:
    """Attention over caches whose rows see later ones, too."""
    return decoder(lambda *_: None)


def _add_one(b: Builder) -> Value:
    value: Value = b.op("exp", b.op("add", b.input("x", "f32", [2, 3]), 1.0))
    return value


def _constants(b: Builder) -> Value:
    c = b.op("exp", b.const(normal(3)))
    value: Value = b.op("add", b.input("x", "f32", [2, 3]), c)
    return value


def _two_relus(b: Builder) -> Value:
    x, y = b.input("x", "f32", [4]), b.input("y", "f32", [4])
    value: Value = b.op("concat", b.op("relu", x), b.op("relu", y), axis=0)
    return value


def _chain(b: Builder) -> Value:
    value: Value = b.op("exp", b.op("sin", b.input("x", "f32", [4])))
    return value


def _shape_of(b: Builder) -> Value:
    b.input("x", "f32", ["n", 3])
    value: Value = b.op("cast", b.op("dims", values=[5, 7]), to="f32")
    return value


def _around(b: Builder) -> Value:
    x = b.input("x", "f32", [3, 3, 3])
    y = b.op("relu", b.op("transpose", x, perm=(1, 2, 0)))
    value: Value = b.op("transpose", y, perm=(0, 2, 1))
    return value


def _swish(b: Builder) -> Value:
    x = b.input("x", "f32", [8])
    value: Value = b.op("mul", x, b.op("hard_sigmoid", x, alpha=0.3, beta=0.4))
    return value


def _padded(b: Builder) -> Value:
    x = b.op(
        "pad", b.input("x", "f32", [1, 4, 4, 2]), b.const(np.float32(3.0)), pads=(0, 1, 1, 0) * 2
    )
    return conv(b, x, 3, 3)


def _scaled(b: Builder) -> Value:
    y = conv(b, b.input("x", "f32", [1, 4, 4, 2]), 3)
    value: Value = b.op("mul", y, b.const(normal(3)))
    return value


def _skip(b: Builder) -> Value:
    x, y = b.input("x", "f32", [1, 4, 4, 2]), b.input("y", "f32", [1, 4, 4, 2])
    value: Value = b.op("add", conv(b, x, 2), y)
    return value


def _activated(b: Builder) -> Value:
    value: Value = b.op("relu", conv(b, b.input("x", "f32", [1, 4, 4, 2]), 3))
    return value


def _product(b: Builder) -> Value:
    x, y = b.input("x", "f32", [3, 3, 3]), b.input("y", "f32", [3, 3, 3])
    value: Value = b.op("matmul", x, b.op("transpose", y, perm=(1, 0, 2)))
    return value


def _attended(b: Builder) -> Value:
    q, k, v = (b.input(name, "f32", [2, 5, 4]) for name in "qkv")
    scores = b.op("div", b.op("matmul", q, k, transpose_w=True), 2.0)
    value: Value = b.op("matmul", b.op("softmax", scores), v)
    return value


def _resized(b: Builder) -> Value:
    x = b.op("transpose", b.input("x", "f32", [2, 3, 3, 3]), perm=(0, 2, 3, 1))
    y = b.op("resize", x, sizes=(6, 6), scales=(0, 0), mode="nearest", coordinate="asymmetric")
    value: Value = b.op("transpose", y, perm=(0, 2, 1, 3))
    return value


def _any_transpose(node: Node | None, perm: tuple[int, ...]) -> Node | None:
    return node if node is not None and node.op.name == "transpose" else None


def _inverted_factor(node: Node) -> tuple[Value, float] | None:
    x = node.inputs[0]
    assert x is not None
    return (x, 2.0) if node.op.name == "div" else None


def _in_steps(b: Builder) -> Value:
    quant = Quant.per_tensor(0.05, 3)
    y = b.op("relu", real(b, "x", [4, 50], quant))
    return in_steps(b, b.op("concat", y, y, axis=0), quant)


def _wide(b: Builder) -> Value:
    x = b.op("exp", b.input("x", "f32", [1, 4, 4, 2]))
    wide = [conv(b, x, 32, seed=i) for i in range(3)]
    narrow = [conv(b, w, 2, seed=9) for w in wide]
    value: Value = b.op("cumsum", b.op("add", b.op("add", narrow[0], narrow[1]), narrow[2]), axis=1)
    return value


def _upwards(b: Builder) -> Value:
    x = b.input("x", "f32", [1, 3, 4, 5])
    attrs: dict[str, Any] = {
        "strides": (2, 2),
        "dilations": (1, 1),
        "pads": (0,) * 4,
        "output_padding": (0, 0),
    }
    value: Value = b.op("conv_transpose", x, b.const(normal(2, 2, 2, 5)), **attrs)
    return value


def _negated(ctx: Any, value: Value, target: Any, before: Node) -> Any:
    row = lookup(ctx, value, target, before)
    if row is None:
        return None
    table = row.inputs[1]
    assert table is not None
    assert table.constant is not None
    return replace(row, inputs=(row.inputs[0], ctx.r.const(~table.constant)))


def _drop_live(rewriter: Any) -> list[Any]:
    """Treat a live node as dead and replace it by its input."""
    return [n for n in rewriter.nodes() if n.op.name == "sin"]


def _plant_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Rewriter.remove

    def remove(self: Any, node: Any) -> None:
        self.replace_value(node.outputs[0], node.inputs[0])
        original(self, node)

    monkeypatch.setattr(Rewriter, "dead", _drop_live)
    monkeypatch.setattr(Rewriter, "remove", remove)


def _plant_residual(monkeypatch: pytest.MonkeyPatch) -> None:
    original = fuse_residual._absorb
    monkeypatch.setattr(
        fuse_residual, "_absorb", lambda r, node, data, other: original(r, node, data, r.inputs[0])
    )


def _fold_to_zeros(node: Node) -> tuple[Array, ...] | None:
    first = node.inputs[0]
    if first is None or not first.is_constant:
        return None
    return tuple(np.zeros(v.type.static_shape(), np.float32) for v in node.outputs)


FAULTS = {
    "simplify_shapes": Fault(
        _shape_of,
        _replace(simplify_shapes, "np", SimpleNamespace(array=lambda d, t: np.array(d, t) + 1)),
    ),
    "fold_constants": Fault(
        _constants,
        _replace(fold_constants, "fold_node", _fold_to_zeros),
    ),
    "simplify": Fault(
        _add_one, lambda m: m.setitem(simplify._RULES, get_op("add"), simplify._neutral(1.0, 1.0))
    ),
    "deduplicate": Fault(_two_relus, _replace(deduplicate, "_operand", lambda value: None)),
    "layout": Fault(_around, _replace(layout, "compose", lambda first, then: tuple(then[p] for p in first))),
    "fuse_patterns": Fault(_swish, _replace(_activations, "_like", lambda found, wanted: True)),
    "fuse_pad": Fault(_padded, _replace(fuse_pad, "_zero_spatial", lambda pad: True)),
    "fuse_quantized": Fault(_in_steps, _replace(fuse_quantized, "lookup", _negated)),
    "fuse_affine": Fault(_scaled, _replace(fuse_affine, "_along_channels", lambda node, w, factor: w)),
    "fuse_residual": Fault(_skip, _plant_residual),
    "fuse_activation": Fault(_activated, _replace(fuse_activation, "_epilogue", lambda node, linear: {"lo": 0.5})),
    "fuse_transpose": Fault(_product, _replace(fuse_transpose, "_swaps_last_two", lambda n: n.op.name == "transpose")),
    "fuse_attention": Fault(_attended, _replace(fuse_attention, "_factor", _inverted_factor)),
    "read_caches": Fault(_over_caches, _replace(read_caches, "_window", lambda *_: 0), whole=True),
    "resize_planes": Fault(_resized, _replace(resize_planes, "_transpose", _any_transpose)),
    "join_columns": Fault(
        _upwards, _replace(join_columns, "np", SimpleNamespace(moveaxis=lambda a, source, to: a[..., ::-1, :]))
    ),
    "eliminate_dead": Fault(_chain, _plant_dead),
    "reorder": Fault(_wide, _replace(reorder, "_needs", lambda f, effects: [0] * len(f.nodes))),
}  # fmt: skip


@pytest.mark.parametrize("name", [p.name for p in REGISTRY])
def test_a_planted_fault_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert name in FAULTS, f"pass {name} has no planted fault"
    before = FAULTS[name].program()
    run_passes(before, EXPORT, check="strict", bisect=True)
    FAULTS[name].plant(monkeypatch)
    with pytest.raises(SamaraError, match=f"pass '{name}' (changed the answer|broke the program)"):
        run_passes(before, EXPORT, check="strict", bisect=True)


def test_every_pass_of_the_pipeline_is_registered() -> None:
    assert {p.name for p in EXPORT} == {p.name for p in REGISTRY}
    assert len({p.name for p in REGISTRY}) == len(REGISTRY)
