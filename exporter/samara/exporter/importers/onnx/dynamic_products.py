# SPDX-License-Identifier: Apache-2.0
"""Dynamically quantized products as one node each.

quantize_dynamic of onnxruntime writes a product as DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast,
two Mul and sometimes Add. Older versions add a convolution's bias before Cast, as whole multiples of the product
of scales; the bias itself is added here, which is less than one such multiple more. Matrix products become
DynamicQuantizeMatMul of com.microsoft, as in onnxruntime, convolutions an operator with the same inputs in a
domain of samara.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper

from samara.exporter.importers.onnx.order import names_read

MICROSOFT = "com.microsoft"
OWN = "dev.samara"
# The operator that stands for a chain with this product, and its domain.
_WHOLE = {
    "MatMulInteger": ("DynamicQuantizeMatMul", MICROSOFT),
    "ConvInteger": ("DynamicQuantizeConv", OWN),
}


def with_dynamic_products(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with such chains replaced, if it has some; otherwise the same object.

    A chain is replaced if only its last tensor is used outside of it, and the weights, their scales and the bias
    are initializers.
    """
    if not any(n.op_type in _WHOLE for n in model.graph.node):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    web = _Web.of(graph)
    replaced: dict[str, tuple[onnx.NodeProto, set[str]]] = {}
    for node in graph.node:
        chain = _chain(web, node) if any(_is(node, op) for op in _WHOLE) else None
        if chain is not None:
            replaced[chain.out] = chain.node(web), {n.output[0] for n in chain.inside}
    if not replaced:
        return model
    gone = set().union(*(inside for _, inside in replaced.values()))
    kept = []
    for node in graph.node:
        last = next((o for o in node.output if o in replaced), None)
        if last is not None:
            kept.append(replaced[last][0])
        elif gone.isdisjoint(node.output):
            kept.append(node)
    kept = _without_unused(kept, web)
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in kept]
    del graph.node[:]
    graph.node.extend(nodes)
    for domain in {n.domain for n in nodes} - {o.domain for o in copy.opset_import}:
        if domain in (MICROSOFT, OWN):
            copy.opset_import.append(helper.make_opsetid(domain, 1))
    return copy


@dataclass(frozen=True)
class _Web:
    """Who makes and who reads the tensors of a graph."""

    makers: Mapping[str, onnx.NodeProto]
    readers: Mapping[str, list[onnx.NodeProto]]
    constants: Mapping[str, onnx.TensorProto]
    outputs: frozenset[str]

    @staticmethod
    def of(graph: onnx.GraphProto) -> _Web:
        readers: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in names_read(node):
                readers.setdefault(name, []).append(node)
        return _Web(
            {o: n for n in graph.node for o in n.output},
            readers,
            {t.name: t for t in graph.initializer},
            frozenset(o.name for o in graph.output),
        )

    def only_reader(self, name: str, op: str) -> onnx.NodeProto | None:
        """The node that reads the tensor, if it is the only one, and of this type."""
        readers = self.readers.get(name, [])
        alone = len(readers) == 1 and name not in self.outputs
        node = readers[0] if alone else None
        return node if node is not None and _is(node, op) else None


@dataclass(frozen=True)
class _Chain:
    """A product: its operands, the bias if there is one, the last tensor, and the nodes that it replaces."""

    x: str
    w: str
    scale: str
    zero: str
    bias: str
    out: str
    inside: list[onnx.NodeProto]

    def node(self, web: _Web) -> onnx.NodeProto:
        inputs = [self.x, self.w, self.scale, self.zero, self.bias]
        while not inputs[-1]:
            inputs.pop()
        name = web.makers[self.out].name or self.out
        op, domain = _WHOLE[self.inside[0].op_type]
        made = helper.make_node(op, inputs, [self.out], name=name, domain=domain)
        made.attribute.extend(self.inside[0].attribute)
        return made


# Inputs and outputs of the operators of a chain. Nodes with other numbers are left for the converters to refuse.
_ARITY = {
    "DynamicQuantizeLinear": (1, 3),
    "Cast": (1, 1),
    "Floor": (1, 1),
    "Div": (2, 1),
    "Mul": (2, 1),
    "Add": (2, 1),
    "Reshape": (2, 1),
}
# Operators beside a chain, which go with it if nothing else reads them.
_SIDE = ("Mul", "Reshape", "DynamicQuantizeLinear", "Cast", "Floor", "Div")


def _is(node: onnx.NodeProto, op: str) -> bool:
    counts = (len(node.input), len(node.output))
    return bool(
        node.op_type == op and node.domain in ("", "ai.onnx") and _ARITY.get(op, counts) == counts
    )


def _chain(web: _Web, product: onnx.NodeProto) -> _Chain | None:
    a, w, a_zero, w_zero = [*product.input, "", "", "", ""][:4]
    quantize = web.makers.get(a)
    weights = web.constants.get(w)
    if quantize is None or not _is(quantize, "DynamicQuantizeLinear") or weights is None:
        return None
    if a_zero != quantize.output[2] or (w_zero and w_zero not in web.constants):
        return None
    if len(weights.dims) < 2 or len(product.output) != 1:
        return None
    inside, sums, bias, bias_scale = [product], product.output[0], "", ""
    added = web.only_reader(sums, "Add")
    if added is not None:
        addend = _other(added, sums) or ""
        bias, bias_scale = _whole_bias(web, product, addend, quantize.output[1])
        if not bias:
            return None
        inside, sums = [*inside, added], added.output[0]
    cast = web.only_reader(sums, "Cast")
    if cast is None or not _casts_to(cast, TensorProto.FLOAT):
        return None
    scaled = web.only_reader(cast.output[0], "Mul")
    factor = None if scaled is None else _other(scaled, cast.output[0])
    scales = None if factor is None else web.makers.get(factor)
    if scaled is None or scales is None or not _is(scales, "Mul"):
        return None
    scale = _other(scales, quantize.output[1])
    columns = [] if product.op_type == "ConvInteger" else [list(weights.dims[-1:])]
    if scale is None or scale not in web.constants or (bias and bias_scale != scale):
        return None
    if list(web.constants[scale].dims) not in ([], [1], *columns):
        return None
    inside, out = [*inside, cast, scaled], scaled.output[0]
    added = None if bias else web.only_reader(out, "Add")
    found = "" if added is None else _bias(web, product, _other(added, out) or "")
    if added is not None and found:
        inside, out, bias = [*inside, added], added.output[0], found
    return _Chain(quantize.input[0], w, scale, w_zero, bias, out, inside)


def _other(node: onnx.NodeProto, name: str) -> str | None:
    """The other operand of a node of two; None if `name` is not exactly one of them."""
    rest = [n for n in node.input if n != name]
    return rest[0] if len(rest) == 1 else None


def _bias(web: _Web, product: onnx.NodeProto, name: str) -> str:
    """The initializer with a number per output that is added; empty if it is another tensor.

    For a convolution it is reshaped to [1, outputs, 1…]. As a vector it would be one number per column.
    """
    dims = web.constants[product.input[1]].dims
    if product.op_type != "ConvInteger":
        return name if _is_vector(web, name, dims[-1]) else ""
    name = _before_reshape(web, product, name)
    return name if _is_vector(web, name, dims[0]) else ""


def _whole_bias(web: _Web, product: onnx.NodeProto, name: str, x_scale: str) -> tuple[str, str]:
    """The initializer that is divided by x_scale times a scale, rounded down and added to a convolution's sums, and
    this scale; both are empty if it is another tensor.
    """
    none = "", ""
    cast = web.makers.get(_before_reshape(web, product, name))
    if product.op_type != "ConvInteger" or cast is None or not _is(cast, "Cast"):
        return none
    floor = web.makers.get(cast.input[0])
    if floor is None or not _is(floor, "Floor") or not _casts_to(cast, TensorProto.INT32):
        return none
    divide = web.makers.get(floor.input[0])
    scales = None if divide is None or not _is(divide, "Div") else web.makers.get(divide.input[1])
    if divide is None or scales is None or not _is(scales, "Mul"):
        return none
    outputs = web.constants[product.input[1]].dims[0]
    scale = _other(scales, x_scale)
    return (divide.input[0], scale) if scale and _is_vector(web, divide.input[0], outputs) else none


def _casts_to(cast: onnx.NodeProto, kind: int) -> bool:
    return any(t.name == "to" and t.i == kind for t in cast.attribute)


def _before_reshape(web: _Web, product: onnx.NodeProto, name: str) -> str:
    """The tensor that is reshaped to [1, outputs, 1…] for a convolution; empty if it is reshaped otherwise."""
    dims = web.constants[product.input[1]].dims
    reshape = web.makers.get(name)
    if reshape is None or not _is(reshape, "Reshape"):
        return ""
    ones = [1] * (len(dims) - 2)
    fits = _numbers(web, reshape.input[1]) in ([1, -1, *ones], [1, dims[0], *ones])
    return reshape.input[0] if fits else ""


def _is_vector(web: _Web, name: str, count: int) -> bool:
    tensor = web.constants.get(name)
    return tensor is not None and list(tensor.dims) == [count]


def _numbers(web: _Web, name: str) -> list[int]:
    """The elements of a small vector of int64; none if it is another tensor."""
    tensor = web.constants.get(name)
    if tensor is None or tensor.data_type != TensorProto.INT64 or len(tensor.dims) != 1:
        return []
    if tensor.raw_data:
        whole = tensor.raw_data[: len(tensor.raw_data) // 8 * 8]
        return [int(n) for n in np.frombuffer(whole, "<i8")]
    return list(tensor.int64_data)


def _without_unused(nodes: list[onnx.NodeProto], web: _Web) -> list[onnx.NodeProto]:
    """Without the scales and quantized tensors that nothing reads any more."""
    kept: list[onnx.NodeProto] = []
    read: set[str] = set(web.outputs)
    for node in reversed(nodes):
        idle = any(_is(node, op) for op in _SIDE)
        if not idle or any(o in read for o in node.output):
            kept.append(node)
            read |= names_read(node)
    return kept[::-1]
