# SPDX-License-Identifier: Apache-2.0
"""Random damage to ONNX models, as careless exporters and hostile files do it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

Rng = np.random.Generator
_INTS = (-(2**63), -(2**31), -7, -2, -1, 0, 1, 2, 3, 5, 1000, 2**31, 2**40, 2**63 - 1)
_TYPES = (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 16, 99)


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph and those nested in it."""
    yield graph
    for node in graph.node:
        for a in node.attribute:
            for inner in (a.g, *a.graphs):
                if inner.node or inner.output:
                    yield from graphs(inner)


def mutate(model: ModelProto, rng: Rng, count: int) -> ModelProto:
    """A copy with `count` random mutations."""
    made = ModelProto()
    made.CopyFrom(model)
    for _ in range(count):
        every = list(graphs(made.graph))
        graph = every[rng.integers(len(every))]
        _MUTATIONS[rng.integers(len(_MUTATIONS))](made, graph, rng)
    return made


def _pick(rng: Rng, items: list[str]) -> str:
    return items[rng.integers(len(items))] if items else "nothing"


def _node(graph: GraphProto, rng: Rng) -> NodeProto | None:
    return graph.node[rng.integers(len(graph.node))] if graph.node else None


def _attribute(graph: GraphProto, rng: Rng) -> AttributeProto | None:
    with_attributes = [n for n in graph.node if n.attribute]
    if not with_attributes:
        return None
    node = with_attributes[rng.integers(len(with_attributes))]
    chosen: AttributeProto = node.attribute[rng.integers(len(node.attribute))]
    return chosen


def _names(graph: GraphProto) -> list[str]:
    made = [o for n in graph.node for o in n.output]
    return made + [i.name for i in graph.input] + [t.name for t in graph.initializer]


def _drop_input(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    node = _node(graph, rng)
    if node is not None and node.input:
        del node.input[rng.integers(len(node.input))]


def _rewire(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    """Any tensor instead of the right one: cycles, wrong order, wrong types, missing operands."""
    node = _node(graph, rng)
    if node is not None and node.input:
        node.input[rng.integers(len(node.input))] = _pick(rng, ["", "nothing", *_names(graph)])


def _more_inputs(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    node = _node(graph, rng)
    if node is not None:
        node.input.extend(_pick(rng, _names(graph)) for _ in range(rng.integers(1, 4)))


def _outputs(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    node = _node(graph, rng)
    if node is None:
        return
    if node.output and rng.integers(2):
        node.output[rng.integers(len(node.output))] = _pick(rng, ["", *_names(graph)])
    else:
        node.output.append(_pick(rng, ["", "extra", *_names(graph)]))


def _drop_attribute(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    node = _node(graph, rng)
    if node is not None and node.attribute:
        del node.attribute[rng.integers(len(node.attribute))]


def _retype_attribute(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    a = _attribute(graph, rng)
    if a is None:
        return
    values = (3, 0.5, "text", [1, 2, 3], [0.5], ["a"], onnx.helper.make_tensor("t", 1, [2], [1, 2]))
    name = a.name
    a.CopyFrom(onnx.helper.make_attribute(name, values[rng.integers(len(values))]))


def _change_attribute(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    a = _attribute(graph, rng)
    if a is None:
        return
    value = _INTS[rng.integers(len(_INTS))]
    if a.type == AttributeProto.INT:
        a.i = value
    elif a.type == AttributeProto.INTS and a.ints and rng.integers(2):
        a.ints[rng.integers(len(a.ints))] = value
    elif a.type == AttributeProto.INTS:
        a.ints.extend([value] * rng.integers(1, 3))
    elif a.type == AttributeProto.FLOAT:
        a.f = (0.0, -1.0, float("nan"), float("inf"), 1e30)[rng.integers(5)]
    elif a.type == AttributeProto.STRING:
        a.s = (b"", b"\xff\xfe", b"SAME_UPPER", b"nonsense")[rng.integers(4)]


def _strange_attribute(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    node = _node(graph, rng)
    if node is not None:
        names = ["axis", "axes", "perm", "to", "value", "pads", "group", "body", "kernel_shape"]
        value = [1, -1, [1, 2], [], 0.5, "x"][rng.integers(6)]
        kind = AttributeProto.INTS if value == [] else None
        node.attribute.append(onnx.helper.make_attribute(_pick(rng, names), value, attr_type=kind))


def _other_operator(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    node = _node(graph, rng)
    if node is not None:
        node.op_type = _pick(rng, _operators())


@functools.cache
def _operators() -> list[str]:
    return sorted({s.name for s in onnx.defs.get_all_schemas()})


def _input_shape(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    if not graph.input:
        return
    tensor = graph.input[rng.integers(len(graph.input))].type.tensor_type
    kind = rng.integers(4)
    if kind == 0 or not tensor.shape.dim:
        tensor.shape.dim.add().dim_value = _INTS[rng.integers(len(_INTS))]
    elif kind == 1:
        del tensor.shape.dim[rng.integers(len(tensor.shape.dim))]
    elif kind == 2:
        tensor.shape.dim[rng.integers(len(tensor.shape.dim))].dim_param = "n"
    else:
        at = rng.integers(len(tensor.shape.dim))
        tensor.shape.dim[at].dim_value = _INTS[rng.integers(len(_INTS))]


def _input_type(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    if graph.input:
        info = graph.input[rng.integers(len(graph.input))]
        if rng.integers(4):
            info.type.tensor_type.elem_type = _TYPES[rng.integers(len(_TYPES))]
        else:
            info.ClearField("type")


def _tensor(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    """Initializers that do not hold what they declare, or hold another shape or type."""
    attributes = (a for n in graph.node for a in n.attribute)
    tensors = [*graph.initializer, *(a.t for a in attributes if a.HasField("t"))]
    if not tensors:
        return
    t: TensorProto = tensors[rng.integers(len(tensors))]
    kind = rng.integers(4)
    if kind == 0:
        t.dims.append(_INTS[rng.integers(len(_INTS))])
    elif kind == 1 and t.dims:
        t.dims[rng.integers(len(t.dims))] = _INTS[rng.integers(len(_INTS))]
    elif kind == 2:
        t.data_type = _TYPES[rng.integers(len(_TYPES))]
    else:
        t.raw_data = t.raw_data[: len(t.raw_data) // 2]


def _swap(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    if len(graph.node) > 1:
        i, j = (int(v) for v in rng.integers(0, len(graph.node), 2))
        first, second = NodeProto(), NodeProto()
        first.CopyFrom(graph.node[i])
        second.CopyFrom(graph.node[j])
        graph.node[i].CopyFrom(second)
        graph.node[j].CopyFrom(first)


def _duplicate(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    kind = rng.integers(3)
    if kind == 0 and graph.input:
        graph.input.append(graph.input[0])
    elif kind == 1 and graph.output:
        graph.output.append(graph.output[0])
    elif graph.node:
        graph.node.append(graph.node[rng.integers(len(graph.node))])


def _drop(_: ModelProto, graph: GraphProto, rng: Rng) -> None:
    field = (graph.node, graph.input, graph.output, graph.initializer)[rng.integers(4)]
    if field:
        del field[rng.integers(len(field))]


def _opset(model: ModelProto, _: GraphProto, rng: Rng) -> None:
    for o in model.opset_import:
        o.version = int(rng.integers(6, onnx.defs.onnx_opset_version() + 1))


Mutation = Callable[[ModelProto, GraphProto, Rng], None]
_MUTATIONS: tuple[Mutation, ...] = (
    *(_drop_input, _rewire, _rewire, _more_inputs, _outputs, _drop_attribute, _retype_attribute),
    *(_change_attribute, _change_attribute, _strange_attribute, _other_operator, _input_shape),
    *(_input_shape, _input_type, _tensor, _swap, _duplicate, _drop, _opset),
)
