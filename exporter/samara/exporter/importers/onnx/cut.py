# SPDX-License-Identifier: Apache-2.0
"""Cutting an ONNX graph at any tensor."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import onnx

from samara.exporter.importers.onnx.order import names_read
from samara.exporter.types import ShapeError


def cut_model(
    model: onnx.ModelProto, inputs: Sequence[str] | None, outputs: Sequence[str] | None
) -> onnx.ModelProto:
    """A copy of the model between the named tensors; None keeps the model's own. Nodes and inputs that are not
    needed are removed.

    Types of new inputs come from ONNX's shape inference. ShapeError for a name that no node makes, or
    whose type is unknown.
    """
    graph = model.graph
    new_outputs = [o.name for o in graph.output] if outputs is None else list(outputs)
    new_inputs = None if inputs is None else list(inputs)
    initializers = {t.name for t in graph.initializer}
    made = (
        {o for n in graph.node for o in n.output if o}
        | {i.name for i in graph.input}
        | initializers
    )
    for name in [*new_outputs, *(new_inputs or [])]:
        if name not in made:
            near = difflib.get_close_matches(name, sorted(made), n=3, cutoff=0.4)
            raise ShapeError(
                f"the graph has no tensor {name!r}",
                fix=f"near names: {', '.join(near)}" if near else None,
            )
    if not new_outputs:
        raise ShapeError("outputs= names no tensor", fix="name at least one")
    infos = {i.name: i for i in graph.input}
    for t in graph.initializer:
        infos.setdefault(t.name, onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    if new_inputs is not None or outputs is not None:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
        for i in [*inferred.graph.value_info, *inferred.graph.output]:
            infos.setdefault(i.name, i)
    stop = set(new_inputs or [])
    needed, used = _needed(graph, new_outputs, stop)
    if new_inputs is None:
        new_inputs = [i.name for i in graph.input if i.name in used and i.name not in initializers]
    loose = [i.name for i in graph.input if i.name in used - stop - initializers]
    new_inputs += [n for n in loose if n not in new_inputs]
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    for field in (cut.graph.node, cut.graph.input, cut.graph.output, cut.graph.initializer):
        del field[:]
    cut.graph.node.extend(needed)
    cut.graph.initializer.extend(
        t for t in graph.initializer if t.name in used and t.name not in stop
    )
    for name in new_inputs:
        if name not in infos or not infos[name].type.HasField("tensor_type"):
            raise ShapeError(
                f"the type of tensor {name!r} is not known",
                fix="run onnx.shape_inference on the model first",
            )
        cut.graph.input.append(infos[name])
    for name in new_outputs:
        cut.graph.output.append(onnx.ValueInfoProto(name=name))
    return cut


def _needed(
    graph: onnx.GraphProto, outputs: Sequence[str], stop: set[str]
) -> tuple[list[onnx.NodeProto], set[str]]:
    """(nodes that the outputs need, in order; names they use), searching no further than `stop`."""
    wanted = {o for o in outputs if o not in stop}
    used = set(outputs)
    keep = []
    for node in reversed(graph.node):
        if not any(o in wanted for o in node.output):
            continue
        keep.append(node)
        for name in names_read(node):
            used.add(name)
            if name not in stop:
                wanted.add(name)
    return keep[::-1], used
