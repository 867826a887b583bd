# SPDX-License-Identifier: Apache-2.0
"""Dynamically quantized products as one node each.

quantize_dynamic of onnxruntime writes a product as DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast,
two Mul and sometimes Add. Matrix products become DynamicQuantizeMatMul of com.microsoft, as in onnxruntime,
convolutions an operator with the same inputs in a domain of samara.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx
from onnx import helper, numpy_helper

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


def _is(node: onnx.NodeProto, op: str) -> bool:
    return bool(node.op_type == op and node.domain in ("", "ai.onnx"))


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


def _chain(web: _Web, product: onnx.NodeProto) -> _Chain | None:
    a, w, a_zero, w_zero = [*product.input, "", ""][:4]
    quantize = web.makers.get(a)
    if quantize is None or not _is(quantize, "DynamicQuantizeLinear") or w not in web.constants:
        return None
    if a_zero != quantize.output[2] or (w_zero and w_zero not in web.constants):
        return None
    cast = web.only_reader(product.output[0], "Cast")
    scaled = None if cast is None else web.only_reader(cast.output[0], "Mul")
    if cast is None or scaled is None or list(scaled.input).count(cast.output[0]) != 1:
        return None
    if helper.get_node_attr_value(cast, "to") != onnx.TensorProto.FLOAT:
        return None
    (factor,) = [n for n in scaled.input if n != cast.output[0]]
    scales = web.makers.get(factor)
    if scales is None or not _is(scales, "Mul") or quantize.output[1] not in scales.input:
        return None
    rest = [n for n in scales.input if n != quantize.output[1]]
    if len(rest) != 1 or rest[0] not in web.constants:
        return None
    columns = [] if product.op_type == "ConvInteger" else [list(web.constants[w].dims[-1:])]
    if list(web.constants[rest[0]].dims) not in ([], [1], *columns):
        return None
    inside, out, bias = [product, cast, scaled], scaled.output[0], ""
    added = web.only_reader(out, "Add")
    if added is not None and list(added.input).count(out) == 1:
        (other,) = [n for n in added.input if n != out]
        found = _bias(web, product, other)
        if found:
            inside, out, bias = [*inside, added], added.output[0], found
    return _Chain(quantize.input[0], w, rest[0], w_zero, bias, out, inside)


def _bias(web: _Web, product: onnx.NodeProto, name: str) -> str:
    """The initializer with a number per output that is added; empty if it is another tensor."""
    w = web.constants[product.input[1]].dims
    if len(w) < 2:
        return ""
    reshape = web.makers.get(name)
    if reshape is not None and _is(reshape, "Reshape") and product.op_type == "ConvInteger":
        shape = web.constants.get(reshape.input[1])
        wanted = [1, -1, *[1] * (len(w) - 2)]
        if shape is None or list(numpy_helper.to_array(shape)) not in (
            wanted,
            [1, w[0], *wanted[2:]],
        ):
            return ""
        name = reshape.input[0]
    count = w[0] if product.op_type == "ConvInteger" else w[-1]
    tensor = web.constants.get(name)
    return name if tensor is not None and list(tensor.dims) == [count] else ""


def _without_unused(nodes: list[onnx.NodeProto], web: _Web) -> list[onnx.NodeProto]:
    """Without the scales and quantized tensors that nothing reads any more."""
    kept: list[onnx.NodeProto] = []
    read: set[str] = set(web.outputs)
    for node in reversed(nodes):
        idle = any(_is(node, op) for op in ("Mul", "Reshape", "DynamicQuantizeLinear"))
        if not idle or any(o in read for o in node.output):
            kept.append(node)
            read |= names_read(node)
    return kept[::-1]
