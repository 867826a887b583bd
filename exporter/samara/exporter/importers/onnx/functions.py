# SPDX-License-Identifier: Apache-2.0
"""Functions of the model, and the bodies that ONNX schemas give for composite operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import onnx
from onnx.inliner import inline_local_functions

from samara.exporter.ir.program import Value
from samara.exporter.ops import find_custom_op
from samara.exporter.types import DType, ModelFormatError, UnsupportedError

_ELEMENT = {
    DType.F32: onnx.TensorProto.FLOAT,
    DType.F16: onnx.TensorProto.FLOAT16,
    DType.I8: onnx.TensorProto.INT8,
    DType.U8: onnx.TensorProto.UINT8,
    DType.I32: onnx.TensorProto.INT32,
    DType.I64: onnx.TensorProto.INT64,
    DType.BOOL: onnx.TensorProto.BOOL,
    DType.F64: onnx.TensorProto.DOUBLE,
    DType.BF16: onnx.TensorProto.BFLOAT16,
    DType.I16: onnx.TensorProto.INT16,
    DType.U16: onnx.TensorProto.UINT16,
    DType.U32: onnx.TensorProto.UINT32,
    DType.U64: onnx.TensorProto.UINT64,
    DType.I4: onnx.TensorProto.INT4,
    DType.U4: onnx.TensorProto.UINT4,
}

_MAX_DEPTH = 32

Body = tuple[Sequence[str], Sequence[str], Sequence[onnx.NodeProto]]


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with calls of its own functions expanded. ModelFormatError for recursive functions."""
    model = _without_registered(model)
    if not model.functions:
        return model
    _refuse_recursion(model)
    own = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    used = {
        o.version for f in model.functions for o in f.opset_import if o.domain in ("", "ai.onnx")
    }
    try:
        if used <= {own.get("")}:
            return inline_local_functions(model)
        # The converter needs the types around each call.
        typed = onnx.shape_inference.infer_shapes(model)
        return inline_local_functions(typed, convert_version=True)
    except (RuntimeError, ValueError, IndexError, onnx.shape_inference.InferenceError) as error:
        raise UnsupportedError(
            f"the model's functions cannot be expanded: {error}",
            fix="expand them with onnx.inliner.inline_local_functions first",
        ) from None


def _without_registered(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without those of its functions that are registered as custom operators. Their calls stay
    nodes, which become nodes of the operators.
    """
    own = [f for f in model.functions if find_custom_op(f"{f.domain or 'ai.onnx'}::{f.name}")]
    if not own:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for f in own:
        copy.functions.remove(f)
    return copy


def _refuse_recursion(model: onnx.ModelProto) -> None:
    functions = {(f.domain, f.name): f for f in model.functions}
    state: dict[
        tuple[str, str], bool
    ] = {}  # True while the calls of a function are visited, then False

    def visit(key: tuple[str, str], depth: int) -> None:
        if state.get(key) or depth > _MAX_DEPTH:
            raise ModelFormatError(
                f"function {key[0]}::{key[1]} calls itself, or calls nest too deep",
                fix="write the recursion as a Loop or a Scan",
            )
        if key in state:
            return
        state[key] = True
        for called in _calls(functions[key].node):
            if called in functions:
                visit(called, depth + 1)
        state[key] = False

    for key in functions:
        visit(key, 0)


def _calls(nodes: Iterable[onnx.NodeProto]) -> Iterator[tuple[str, str]]:
    """(domain, operator) of nodes and of those in their subgraphs."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node.domain, node.op_type
        for a in node.attribute:
            for graph in (a.g, *a.graphs):
                stack.extend(graph.node)


def has_body(node: onnx.NodeProto, version: int) -> bool:
    """Whether the operator's schema defines it in terms of others, at least for some inputs."""
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


def function_body(
    node: onnx.NodeProto, version: int, inputs: Sequence[Value | None]
) -> Body | None:
    """(formal inputs, results, nodes) of the operator's definition in terms of others; None if there is none.

    Attribute references are replaced by the node's attributes or the schema's defaults.
    """
    try:
        # The type stubs of onnx lack the functions of schemas.
        schema: Any = onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return None
    body = _context_free(schema, version) or _context_dependent(schema, node, version, inputs)
    if body is None:
        return None
    given = {a.name: a for a in node.attribute}
    for name, declared in schema.attributes.items():
        if name not in given and declared.default_value.type != onnx.AttributeProto.UNDEFINED:
            given[name] = declared.default_value
    nodes = []
    for i, inner in enumerate(body.node):
        copy = onnx.NodeProto()
        copy.CopyFrom(inner)
        copy.name = f"{node.name or node.output[0]}/{inner.op_type}.{i}"
        del copy.attribute[:]
        for a in inner.attribute:
            if not a.ref_attr_name:
                copy.attribute.append(a)
            elif a.ref_attr_name in given:
                actual = copy.attribute.add()
                actual.CopyFrom(given[a.ref_attr_name])
                actual.name = a.name
        nodes.append(copy)
    return list(body.input), list(body.output), nodes


def _context_free(schema: Any, version: int) -> onnx.FunctionProto | None:
    if not schema.has_function:
        return None
    usable = [v for v in schema.function_opset_versions if v <= version]
    if not usable:
        return None
    body = onnx.FunctionProto()
    body.ParseFromString(schema.get_function_with_opset_version(max(usable)))
    return body


def _context_dependent(
    schema: Any, node: onnx.NodeProto, version: int, inputs: Sequence[Value | None]
) -> onnx.FunctionProto | None:
    if not schema.has_context_dependent_function:
        return None
    usable = [v for v in schema.context_dependent_function_opset_versions if v <= version]
    if not usable:
        return None
    types = []
    for value in inputs:
        proto = onnx.TypeProto()
        if value is not None:
            proto.tensor_type.elem_type = _ELEMENT[value.type.dtype]
            for d in value.type.shape:
                dim = proto.tensor_type.shape.dim.add()
                if d.is_static:
                    dim.dim_value = d.as_int()
        types.append(proto.SerializeToString())
    text = schema.get_context_dependent_function_with_opset_version(
        max(usable), node.SerializeToString(), types
    )
    if not text:
        return None
    body = onnx.FunctionProto()
    body.ParseFromString(text)
    return body
