# SPDX-License-Identifier: Apache-2.0
"""Operations of a graph: those of its products, with two per multiply-add; others are not counted."""

from __future__ import annotations

import math

import onnx


def operations(model: onnx.ModelProto) -> int:
    """Operations of one run; shapes must be known."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    shapes = {t.name: list(t.dims) for t in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        shapes[value.name] = [d.dim_value for d in value.type.tensor_type.shape.dim]
    return sum(_node(node, shapes) for node in graph.node)


def _node(node: onnx.NodeProto, shapes: dict[str, list[int]]) -> int:
    if node.op_type == "Conv":
        _, channels, *kernel = shapes[node.input[1]]
        return 2 * math.prod(shapes[node.output[0]]) * channels * math.prod(kernel)
    if node.op_type == "ConvTranspose":
        _, out, *kernel = shapes[node.input[1]]
        return 2 * math.prod(shapes[node.input[0]]) * out * math.prod(kernel)
    if node.op_type in ("Gemm", "MatMul"):
        return 2 * math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
    if node.op_type == "LSTM":
        steps, batch, width = shapes[node.input[0]]
        gates, hidden = shapes[node.input[2]][1:]
        return 2 * steps * batch * gates * (width + hidden)
    return 0
