# SPDX-License-Identifier: Apache-2.0
"""int8 at the borders: a program takes and gives quantized tensors where its recipe says so."""

from __future__ import annotations

from dataclasses import replace

from samara.exporter import ops
from samara.exporter.ir import Function, Node, Program, Value
from samara.exporter.ir.program import users_of
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.types import DType, TensorType


def int8_borders(program: Program, recipe: Recipe) -> Program:
    """The program with the outermost quantize and dequantize left to the caller where the recipe asks for
    int8 inputs or outputs. Inputs and outputs that are not quantized stay float.
    """
    function = program.main
    if recipe.inputs == "int8":
        function = _inputs(function)
    if recipe.outputs == "int8":
        makers = function.producer()
        outputs = tuple(_quantized(v, makers.get(v)) for v in function.outputs)
        function = replace(function, outputs=outputs)
    return program if function is program.main else program.with_function(function)


def _inputs(function: Function) -> Function:
    """Turn inputs that only a quantize reads into quantized inputs."""
    users = users_of(function)
    now: dict[Value, Value] = {}
    gone: set[Node] = set()
    inputs = []
    for v in function.inputs:
        after = users.get(v, [])
        first = after[0] if len(after) == 1 else None
        if first is None or first.op is not ops.quantize:
            inputs.append(v)
            continue
        made = first.outputs[0]
        fresh = Value(v.name, TensorType(DType.QS8, v.type.shape, made.type.quant))
        now[made] = fresh
        gone.add(first)
        inputs.append(fresh)
    nodes = [
        replace(n, inputs=tuple(None if v is None else now.get(v, v) for v in n.inputs))
        for n in function.nodes
        if n not in gone
    ]
    outputs = tuple(now.get(v, v) for v in function.outputs)
    return replace(function, inputs=tuple(inputs), nodes=tuple(nodes), outputs=outputs)


def _quantized(v: Value, maker: Node | None) -> Value:
    if maker is None or maker.op is not ops.dequantize:
        return v
    x = maker.inputs[0]
    quant = None if x is None else x.type.quant
    # A TensorSpec holds one scale.
    return v if x is None or quant is None or not quant.is_per_tensor or x.is_constant else x
