# SPDX-License-Identifier: Apache-2.0
"""`diagnose`: convert an ONNX model into a Program, or list everything that prevents it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from samara.exporter.importers.common.inputs import (
    ShapeSpec,
    check_names,
    check_shape,
    check_unique,
)
from samara.exporter.importers.common.operand import Poison
from samara.exporter.importers.common.problems import Diagnosis, Problem
from samara.exporter.importers.onnx import handlers as _handlers  # noqa: F401  (registers the converters)
from samara.exporter.importers.onnx.branches import convert_graph
from samara.exporter.importers.onnx.caches import StatePlan, bind_derived, plan_state
from samara.exporter.importers.onnx.context import import_dtype
from samara.exporter.importers.onnx.cut import cut_model
from samara.exporter.importers.onnx.dynamic_products import with_dynamic_products
from samara.exporter.importers.onnx.functions import inlined
from samara.exporter.importers.onnx.order import sorted_model
from samara.exporter.importers.onnx.pictures import picture_records
from samara.exporter.importers.onnx.scope import ImportState, Scope
from samara.exporter.importers.onnx.texts import check_texts
from samara.exporter.ir.answer_records import ANSWERS
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.freeze import as_constant
from samara.exporter.ir.growing import with_caches
from samara.exporter.ir.interpret import near
from samara.exporter.ir.program import QUANTIZATION, Program, Value, Variable
from samara.exporter.ir.records import RECORDS, renamed_records, with_records
from samara.exporter.ir.rename import rename as renamed
from samara.exporter.ir.verify import verify
from samara.exporter.types import (
    ArgumentError,
    DimLike,
    ModelFormatError,
    ShapeError,
    UnsupportedError,
    as_dim,
)
from samara.pybridge.files import kind_of, path_of, read_bytes
from samara.pybridge.foreign import HEAD_BYTES, refuse_foreign

OLDEST_OPSET = 1


def diagnose(
    src: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    shapes: Mapping[str, ShapeSpec] | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    layout: Mapping[str, str] | None = None,
    state: Mapping[str, str] | str | None = None,
    state_length: int | None = None,
    consts: Mapping[str, Any] | None = None,
    rename: Mapping[str, str] | None = None,
) -> Diagnosis:
    """As `import_onnx`, which has the same arguments, but with the problems of single nodes and inputs as data.

    Raises errors about the model as a whole: ModelFormatError, ShapeError, and UnsupportedError for an
    unknown opset.
    """
    model, directory = _load(src)
    if inputs is not None or outputs is not None:
        model = cut_model(model, inputs, outputs)
    model = with_dynamic_products(model)
    graph = model.graph
    if not graph.output:
        raise ModelFormatError(
            "the graph has no outputs", fix="export the model again, with its outputs"
        )
    program = ProgramBuilder()
    builder = program.function("main")
    scope = Scope(
        ImportState(_opsets(model), convert_graph, directory),
        builder,
        graph.node,
        [o.name for o in graph.output],
        initializers=graph.initializer,
    )
    given, layouts, fixed = dict(shapes or {}), dict(layout or {}), dict(consts or {})
    initialized = {t.name for t in graph.initializer}
    declared = [i for i in graph.input if i.name not in initialized]
    names = [i.name for i in declared]
    check_unique(names, "input")
    check_unique(scope.outputs, "output")
    check_names(given, names, "shapes")
    check_names(layouts, names + scope.outputs, "layout")
    plan = _state_plan(graph, state, state_length, given, declared)
    plan = replace(plan, derived=tuple(n for n in plan.derived if n not in fixed))
    held = [*plan.whole.values(), *(c.input for c in plan.caches)]
    _check_consts(fixed, [i.name for i in graph.input], {**layouts, **dict.fromkeys(held)})
    scope.state.caches = frozenset(c.input for c in plan.caches)
    given, fixed = {**given, **plan.shapes}, {**plan.consts, **fixed}
    sizes: dict[str, int] = dict(plan.sizes)
    for info in graph.input:
        if info.name in fixed:
            sizes.update(_bind_constant(scope, info, given.get(info.name), fixed[info.name]))
    for info in declared:
        if info.name not in fixed and info.name not in plan.derived:
            _bind_input(scope, info, given.get(info.name), layouts.get(info.name), sizes)
    bind_derived(scope, plan, declared)
    results = convert_graph(scope)
    if scope.problems:
        return Diagnosis(None, tuple(scope.problems))
    values = []
    for name, operand in zip(scope.outputs, results, strict=True):
        value = scope.materialise(operand, name)
        values.append(_to_layout(builder, value, layouts[name]) if name in layouts else value)
    pairs = plan.whole
    variables = _variables(builder, scope.outputs, values, pairs)
    function = replace(
        builder.finish(values, scope.outputs),
        reads={v: v for v in pairs.values()},
        writes={scope.outputs.index(o): v for o, v in pairs.items()},
    )
    program.functions[function.name] = function
    result = _finished(program, function.name, variables, _metadata(model))
    if plan.past is not None:
        result = with_caches(result, plan.caches, plan.past, plan.room)
    result = with_records(result, picture_records(model, result))
    result = renamed_records(renamed(result, rename or {}), rename or {})
    verify(result)
    return Diagnosis(result, ())


def _load(
    src: str | os.PathLike[str] | bytes | onnx.ModelProto,
) -> tuple[onnx.ModelProto, str | None]:
    """The model with sorted nodes and inlined functions, and the folder of its external data if known."""
    if isinstance(src, onnx.ModelProto):
        return _prepared(src), None
    if isinstance(src, bytes):
        return _prepared(_parse(src, "the given data")), None
    if not isinstance(src, (str, os.PathLike)):
        raise ArgumentError(
            f"an ONNX model is a path, the bytes of a file or an onnx.ModelProto, not {kind_of(src)}",
            fix=_fix_of(src),
        )
    path = path_of(src, "the model")
    data = read_bytes(path)
    if path.suffix.lower() not in (".onnx", ".pb"):
        refuse_foreign(path, data[:HEAD_BYTES], "an ONNX model")
    return _prepared(_parse(data, str(path))), str(path.parent)


def _prepared(model: onnx.ModelProto) -> onnx.ModelProto:
    check_texts(model)
    return inlined(sorted_model(model))


def _fix_of(src: object) -> str:
    if hasattr(src, "functions") and hasattr(src, "entries"):
        return "it is a Program already: samara.export writes it"
    if hasattr(src, "state_dict"):
        return "samara.from_torch converts a torch module, samara.trace one of samara.nn"
    return "give the path of an .onnx file"


def _parse(data: bytes, what: str) -> onnx.ModelProto:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        refuse_foreign(what, data[:HEAD_BYTES], "an ONNX model")
        raise ModelFormatError(
            f"{what} is not an ONNX model: {error}", fix="name an .onnx file"
        ) from None
    if not model.HasField("graph"):
        refuse_foreign(what, data[:HEAD_BYTES], "an ONNX model")
        raise ModelFormatError(
            f"{what} is not an ONNX model: it holds no graph", fix="name an .onnx file"
        )
    return model


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    if "" not in opsets and all(n.domain not in ("", "ai.onnx") for n in model.graph.node):
        opsets[""] = onnx.defs.onnx_opset_version()  # not used by any node
    if not opsets and model.ir_version < 3:
        opsets[""] = 1  # such files are older than operator versions
    if "" not in opsets:
        raise ModelFormatError(
            "the model does not say which version of ONNX's operators it uses",
            fix='add onnx.helper.make_opsetid("", version) to model.opset_import',
        )
    version = opsets[""]
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST_OPSET <= version <= newest:
        raise UnsupportedError(
            f"opset {version} is outside {OLDEST_OPSET}..{newest}",
            fix="convert the model with onnx.version_converter"
            if version < OLDEST_OPSET
            else "install a newer onnx package",
        )
    return opsets


def _state_plan(
    graph: onnx.GraphProto,
    state: Mapping[str, str] | str | None,
    room: int | None,
    given: Mapping[str, ShapeSpec],
    inputs: Sequence[onnx.ValueInfoProto],
) -> StatePlan:
    known = [
        i
        for i in inputs
        if i.type.HasField("tensor_type")
        and (i.name in given or i.type.tensor_type.HasField("shape"))
    ]
    shapes = {
        i.name: [
            d if isinstance(d, str) else as_dim(d).as_int()
            for d in _input_dims(i, given.get(i.name))
        ]
        for i in known
    }
    return plan_state(graph, state, room, shapes, inputs)


def _check_consts(given: Iterable[str], known: Sequence[str], used: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise ShapeError(
                f"there is no input {name!r} to freeze", fix=near(name, known, "inputs")
            )
        if name in used:
            raise ShapeError(
                f"input {name!r} cannot be frozen and have a layout or be state",
                fix="ask for one of them",
            )


def _bind_constant(
    scope: Scope, info: onnx.ValueInfoProto, shape: ShapeSpec | None, value: Any
) -> dict[str, int]:
    """Make an input a constant. The symbols that the value's shape determines apply to other inputs too."""
    name = info.name
    if not info.type.HasField("tensor_type"):
        raise UnsupportedError(
            f"input {name!r} cannot be frozen: it is not a tensor", fix="cut the graph behind it"
        )
    dtype = import_dtype(info.type.tensor_type.elem_type, "input")
    if shape is None and not info.type.tensor_type.HasField("shape"):
        dims: list[DimLike | str] = list(np.shape(value))
    else:
        dims = _input_dims(info, shape)
    wanted = [None if isinstance(d, str) else int(str(d)) for d in dims]
    array = as_constant(name, value, dtype, wanted)
    scope.bind(name, scope.builder.const(array, name, dtype))
    sizes: dict[str, int] = {}
    for d, n in zip(dims, array.shape, strict=True):
        if isinstance(d, str) and sizes.setdefault(d, n) != n:
            raise ShapeError(
                f"the constant for input {name!r} has shape {list(array.shape)}, but {d} must be the same"
                " everywhere",
                fix="give a constant in which equal dims have equal sizes",
            )
    return sizes


def _bind_input(
    scope: Scope,
    info: onnx.ValueInfoProto,
    shape: ShapeSpec | None,
    layout: str | None,
    sizes: Mapping[str, int],
) -> None:
    """Make an input of the function. Problems are recorded as for nodes.

    sizes: of symbols that constants determine.
    """
    name = info.name
    try:
        if not info.type.HasField("tensor_type"):
            kind = (info.type.WhichOneof("value") or "value of no type").removesuffix("_type")
            raise UnsupportedError(
                f"it is {_article(kind)} {kind}, and graphs hold tensors only here",
                fix="cut it away with inputs=",
            )
        dtype = import_dtype(info.type.tensor_type.elem_type, "input")
        dims = [sizes.get(d, d) if isinstance(d, str) else d for d in _input_dims(info, shape)]
        if layout is None:
            scope.bind(name, scope.builder.input(name, dtype, dims))
            return
        rank = _channels_last_rank(layout, len(dims), name)
        value = scope.builder.input(name, dtype, [dims[0], *dims[2:], dims[1]])
        perm = (0, rank - 1, *range(1, rank - 1))
        scope.bind(name, scope.builder.op("transpose", value, perm=perm, name=f"{name}.nchw"))
    except UnsupportedError as error:
        scope.problems.append(Problem("input", name, error.message, error.fix or "", True))
        scope.bind(name, Poison(error.message))


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeio" else "a"


# What exporters write as the name of a size that they do not know; it says nothing of other axes with the same.
_NAMELESS = ("", "?", "None", "-1")


def _input_dims(info: onnx.ValueInfoProto, shape: ShapeSpec | None) -> list[DimLike | str]:
    """The dims of an input from `shapes=` or the model; unknown ones get symbols."""
    tensor = info.type.tensor_type
    if shape is not None:
        declared = len(tensor.shape.dim) if tensor.HasField("shape") else None
        return list(check_shape(info.name, shape, declared))
    if not tensor.HasField("shape"):
        raise ShapeError(
            f"input {info.name!r} declares no shape", fix=f"give shapes={{{info.name!r}: [...]}}"
        )
    # Old exporters wrote 0 for an unknown size, but a vector of axes or sizes may really be empty.
    vector = len(tensor.shape.dim) == 1 and tensor.elem_type == onnx.TensorProto.INT64
    dims: list[DimLike | str] = []
    for axis, d in enumerate(tensor.shape.dim):
        if d.HasField("dim_value") and (d.dim_value > 0 or (vector and d.dim_value == 0)):
            dims.append(d.dim_value)
        else:
            named = d.dim_param not in _NAMELESS
            dims.append(d.dim_param if named else f"{info.name}.{axis}")
    return dims


def _channels_last_rank(layout: str, rank: int, name: str) -> int:
    expected = {"NWC": 3, "NHWC": 4, "NDHWC": 5}.get(layout.upper())
    if expected != rank:
        raise ShapeError(
            f"layout of {name!r}: {layout!r} does not fit rank {rank}", fix="NWC, NHWC or NDHWC"
        )
    return rank


def _to_layout(builder: Builder, value: Value, layout: str) -> Value:
    rank = _channels_last_rank(layout, value.type.rank, value.name)
    moved: Value = builder.op(
        "transpose", value, perm=(0, *range(2, rank), 1), name=f"{value.name}.{layout.lower()}"
    )
    return moved


def _variables(
    builder: Builder, outputs: Sequence[str], values: list[Value], pairs: Mapping[str, str]
) -> list[Variable]:
    """Variables for {output: input} pairs. Output dims are set to those of the input if they are not provably
    equal.
    """
    variables = []
    inputs = {v.name: v for v in builder.inputs}
    for output, name in pairs.items():
        kind = inputs[name].type
        if not kind.is_static:
            example = [d.as_int() if d.is_static else 1 for d in kind.shape]
            raise ShapeError(
                f"state {name!r} has shape {kind}, a variable needs a static one",
                fix=f"give shapes={{{name!r}: {example}}}, or state_length= if it gains rows in each run",
            )
        k = outputs.index(output)
        if values[k].type.dtype is not kind.dtype or values[k].type.rank != kind.rank:
            raise ShapeError(
                f"state: {output!r} is {values[k].type} but {name!r} is {kind}",
                fix="pair an output with an input of the same dtype and shape",
            )
        if values[k].type.shape != kind.shape:
            values[k] = builder.op("reshape", values[k], shape=kind.shape, name=f"{output}.state")
        variables.append(Variable(name, kind, np.zeros(kind.static_shape(), kind.dtype.numpy)))
    return variables


def _finished(
    builder: ProgramBuilder, entry: str, variables: list[Variable], meta: dict[str, str]
) -> Program:
    """The Program. Its metadata say whether the file had quantized tensors."""
    result = builder.finish([entry], variables, meta)
    values = (v for f in result.functions.values() for v in f.values())
    if any(v.type.dtype.is_quantized for v in values):
        return replace(result, metadata={**meta, QUANTIZATION: "imported"})
    return result


def _metadata(model: onnx.ModelProto) -> dict[str, str]:
    # Passes read what is stored under QUANTIZATION, so a file must not set it.
    own = (QUANTIZATION, RECORDS, ANSWERS)
    meta = {p.key: p.value for p in model.metadata_props if p.key not in own}
    if model.producer_name:
        meta.setdefault(
            "source.producer", f"{model.producer_name} {model.producer_version}".strip()
        )
    if model.graph.name:
        meta.setdefault("source.graph", model.graph.name)
    return meta
