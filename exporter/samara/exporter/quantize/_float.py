# SPDX-License-Identifier: Apache-2.0
"""The float program that calibration observes: optimized, in float32, its clamps still separate."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

from samara.exporter import ops
from samara.exporter.ir import (
    Function,
    Node,
    Program,
    Rewriter,
    Value,
    constant,
    infer_node,
    signature_of,
)
from samara.exporter.ir.program import reserve
from samara.exporter.ops import OpSpec, activation_of
from samara.exporter.ops.linear.epilogue import EPILOGUE
from samara.exporter.passes import PIPELINE, run_passes
from samara.exporter.quantize.scheme import is_product
from samara.exporter.types import DType, TensorType

# These passes fuse operators that have separate integer forms. They run later, on nodes that stay
# float.
_LATER: Final = frozenset({"fuse_attention", "fuse_residual", "fuse_activation", "fuse_quantized"})
FLOAT_PASSES: Final = tuple(p for p in PIPELINE if p.name not in _LATER)


def float_program(program: Program) -> Program:
    """The program after the float passes, its default entry in float32. Fusions of a program that was
    optimized before are undone.
    """
    return run_passes(widen(unfuse(program)), FLOAT_PASSES)[0]


def unfuse(program: Program) -> Program:
    """The program with residuals, clamps and activations of products as separate nodes."""
    for function in list(program.functions.values()):
        r = Rewriter(function, program)
        for node in r.nodes():
            if is_product(node.op):
                _unfuse(r, node)
        if r.changed:
            program = program.with_function(r.finish())
    return program


def _unfuse(r: Rewriter, node: Node) -> None:
    steps = _steps(node)
    if not steps:
        return
    plain = {a.name: a.default for a in EPILOGUE}
    x, w, *rest = node.inputs
    value: Value = r.op(
        node.op,
        x,
        w,
        rest[0] if rest else None,
        before=node,
        name=node.name,
        outputs=[f"{node.outputs[0].name}.{node.op.name}"],
        source=node.source,
        absorbed=node.absorbed,
        **{**node.attrs, **plain},
    )
    for op, operands, attrs in steps[:-1]:
        value = r.op(op, value, *operands, before=node, name=f"{node.name}.{op.name}", **attrs)
    op, operands, attrs = steps[-1]
    r.replace_node(node, op, value, *operands, name=f"{node.name}.{op.name}", **attrs)


def _steps(node: Node) -> list[tuple[OpSpec, tuple[Value, ...], dict[str, Any]]]:
    """The operators of a product's epilogue, with their further operands and attributes."""
    a = node.attrs
    steps: list[tuple[OpSpec, tuple[Value, ...], dict[str, Any]]] = []
    residual = node.inputs[3] if len(node.inputs) > 3 else None
    if residual is not None:
        steps.append((ops.add, (residual,), {}))
    if (a["lo"], a["hi"]) == (0.0, math.inf):
        steps.append((ops.relu, (), {}))
    elif a["lo"] != -math.inf or a["hi"] != math.inf:
        steps.append((ops.clamp, (), {"lo": a["lo"], "hi": a["hi"]}))
    after = activation_of(a)
    if after is not None:
        steps.append((after[0], (), after[1]))
    return steps


def widen(program: Program) -> Program:
    """The program with a float16 default entry computed in float32. Its inputs and outputs keep their
    types. Functions that call others, or have state in float16, are unchanged.
    """
    f = program.main
    if not any(v.type.dtype is DType.F16 for v in f.values()):
        return program
    if any("control" in n.op.flags for n in f.nodes) or f.reads or f.writes:
        return program
    return program.with_function(_Widener(program, f).run())


class _Widener:
    def __init__(self, program: Program, function: Function) -> None:
        self.function = function
        self.signature = signature_of(program.functions)
        self.names = {v.name for v in function.values()}
        self.now: dict[Value, Value] = {}
        self.nodes: list[Node] = []

    def run(self) -> Function:
        f = self.function
        for v in f.inputs:
            if v.type.dtype is DType.F16:
                self.now[v] = self._cast(v, DType.F32, f"{v.name}.f32")
        for node in f.nodes:
            self._node(node)
        outputs = []
        for v in f.outputs:
            made = self._use(v)
            if v.type.dtype is DType.F16 and made.type.dtype is DType.F32:
                made = self._cast(made, DType.F16, f"{v.name}.f16")
            outputs.append(made)
        return replace(f, nodes=tuple(self.nodes), outputs=tuple(outputs))

    def _use(self, v: Value) -> Value:
        if v not in self.now and v.constant is not None and v.type.dtype is DType.F16:
            self.now[v] = constant(v.name, v.constant.astype("float32"))
        return self.now.get(v, v)

    def _cast(self, v: Value, to: DType, name: str) -> Value:
        unique = reserve(name, self.names)
        spec = ops.cast
        made = Value(unique, TensorType(to, v.type.shape))
        self.nodes.append(Node(spec, (v,), (made,), spec.complete({"to": to}), unique))
        return made

    def _node(self, node: Node) -> None:
        inputs = [None if v is None else self._use(v) for v in node.inputs]
        attrs = {k: DType.F32 if value is DType.F16 else value for k, value in node.attrs.items()}
        unchanged = attrs == dict(node.attrs) and all(
            a is b for a, b in zip(inputs, node.inputs, strict=True)
        )
        if unchanged:
            self.nodes.append(node)
            return
        # Only dtypes are taken from the rule; shapes stay.
        types = infer_node(
            node.op,
            inputs,
            attrs,
            node=node.name,
            first_output=node.outputs[0].name,
            output_count=len(node.outputs),
            signature=self.signature,
        ).types
        outputs = []
        for v, t in zip(node.outputs, types, strict=False):
            made = v if v.type.dtype is t.dtype else Value(v.name, t.with_shape(v.type.shape))
            self.now[v] = made
            outputs.append(made)
        self.nodes.append(replace(node, inputs=tuple(inputs), outputs=tuple(outputs), attrs=attrs))
