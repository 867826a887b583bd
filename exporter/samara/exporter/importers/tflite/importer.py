# SPDX-License-Identifier: Apache-2.0
"""`diagnose`: convert a TFLite model into a Program, or list everything that prevents it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from samara.exporter.importers.common.inputs import (
    ShapeSpec,
    check_names,
    check_shape,
    check_unique,
)
from samara.exporter.importers.common.operand import Poison
from samara.exporter.importers.common.problems import Diagnosis, Problem
from samara.exporter.importers.tflite import exact as _exact  # noqa: F401  (registers exact converters)
from samara.exporter.importers.tflite import handlers as _handlers  # noqa: F401  (registers the converters)
from samara.exporter.importers.tflite import tensors
from samara.exporter.importers.tflite.element_types import import_dtype
from samara.exporter.importers.tflite.graph import Graph, ImportState
from samara.exporter.importers.tflite.metadata import with_metadata
from samara.exporter.importers.tflite.model import Model, Signature, Tensor, read_model
from samara.exporter.importers.tflite.state import State, Variables
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.program import QUANTIZATION, Function, Value
from samara.exporter.ir.verify import verify
from samara.exporter.types import ArgumentError, DType, Quant, UnsupportedError
from samara.pybridge.files import kind_of, path_of, read_bytes
from samara.pybridge.foreign import HEAD_BYTES, refuse_foreign


def diagnose(
    src: str | os.PathLike[str] | bytes,
    *,
    signature: str | None = None,
    shapes: Mapping[str, ShapeSpec] | None = None,
    exact: bool = False,
) -> Diagnosis:
    """As `import_tflite`, which has the same arguments, but with the problems of single operators and inputs as
    data.

    Raises errors about the model as a whole: ModelFormatError, ShapeError.
    """
    data, what = _load(src)
    model = read_model(data, what)
    wanted = _entries(model, signature)
    shared = ImportState(model, exact)
    variables = Variables()
    program = ProgramBuilder()
    given = dict(shapes or {})
    known = [n for s in wanted for n in s.inputs]
    check_names(given, list(dict.fromkeys(known)), "shapes")
    for entry in wanted:
        _convert(program, shared, variables, entry, given)
    if shared.problems:
        return Diagnosis(None, tuple(shared.problems))
    result = program.finish([s.key for s in wanted], variables.all())
    result = with_metadata(result, model, data, wanted[0])
    if any(v.type.dtype.is_quantized for f in result.functions.values() for v in f.values()):
        result = replace(result, metadata={**result.metadata, QUANTIZATION: "imported"})
    verify(result)
    return Diagnosis(result, ())


def entry_of(src: str | os.PathLike[str] | bytes) -> Signature:
    """The default function of a model: the indices of its inputs and outputs by their names in the Program."""
    return _entries(read_model(*_load(src)), None)[0]


def _load(src: str | os.PathLike[str] | bytes) -> tuple[bytes, str]:
    """The bytes of the model, and what errors call it."""
    if isinstance(src, bytes):
        return src, "the given data"
    if not isinstance(src, (str, os.PathLike)):
        raise ArgumentError(
            f"a TFLite model is a path or the bytes of a file, not {kind_of(src)}",
            fix="give the path of a .tflite file",
        )
    path = path_of(src, "the model")
    data = read_bytes(path)
    if data[4:8] != b"TFL3":
        refuse_foreign(path, data[:HEAD_BYTES], "a TFLite model")
    return data, str(path)


def _entries(model: Model, wanted: str | None) -> list[Signature]:
    """The functions to make: one per signature, or one named main for a model without any."""
    named = [_ordered(model, s) for s in model.signatures]
    check_unique([s.key for s in named], "signature")
    if wanted is not None:
        chosen = [s for s in named if s.key == wanted]
        if not chosen:
            keys = [s.key for s in named]
            raise ArgumentError(
                f"the model has no signature {wanted!r}",
                fix=f"it has {', '.join(keys)}" if keys else "it has none: leave signature out",
            )
        return chosen
    if named:
        return named
    main = model.subgraphs[0]
    return [
        Signature(
            "main",
            0,
            {main.tensors[i].key: i for i in main.inputs},
            {main.tensors[i].key: i for i in main.outputs},
        )
    ]


def _ordered(model: Model, signature: Signature) -> Signature:
    """The signature with inputs and outputs in the subgraph's order; it only gives names."""
    graph = model.subgraphs[signature.subgraph]

    def ordered(names: Mapping[str, int], indices: Sequence[int]) -> dict[str, int]:
        by_index = {i: n for n, i in names.items()}
        found = {by_index.get(i, graph.tensors[i].key): i for i in indices}
        return {**found, **{n: i for n, i in names.items() if n not in found}}

    return Signature(
        signature.key or "main",
        signature.subgraph,
        ordered(signature.inputs, graph.inputs),
        ordered(signature.outputs, graph.outputs),
    )


def _convert(
    program: ProgramBuilder,
    shared: ImportState,
    variables: Variables,
    entry: Signature,
    shapes: Mapping[str, ShapeSpec],
) -> None:
    """Convert a subgraph into a function with the names of a signature."""
    graph = shared.model.subgraphs[entry.subgraph]
    builder = program.function(entry.key)
    state = State(variables, builder)
    scope = Graph(shared, builder, replace(graph, outputs=tuple(entry.outputs.values())), state)
    for name, index in entry.inputs.items():
        _bind_input(scope, name, index, shapes.get(name))
    results = scope.convert()
    if shared.problems:
        return
    values = []
    for (name, index), operand in zip(entry.outputs.items(), results, strict=True):
        assert not isinstance(operand, Poison)
        value = scope.materialise(operand, name)
        values.append(_as_given(builder, value, graph.tensors[index]))
    written = list(state.written())
    names = [*entry.outputs, *(_free(f"{n}.next", entry.outputs) for n, _ in written)]
    function = builder.finish([*values, *(v for _, v in written)], names)
    program.functions[function.name] = _with_state(function, state, len(values))


def _as_given(builder: Builder, value: Value, tensor: Tensor) -> Value:
    """An output as the caller gets it: int8 keeps its quantization parameters, uint8 cannot."""
    return value if tensor.type == "INT8" else tensors.plain(builder, value, tensor)


def _free(name: str, taken: Mapping[str, int]) -> str:
    return _free(f"{name}.next", taken) if name in taken else name


def _with_state(function: Function, state: State, first: int) -> Function:
    return replace(
        function,
        reads={v.name: name for name, v in state.reads.items()},
        writes={first + i: name for i, (name, _) in enumerate(state.written())},
    )


def _bind_input(scope: Graph, name: str, index: int, shape: ShapeSpec | None) -> None:
    """Make an input of the function. Problems are recorded as for operators."""
    tensor = scope.tensor(index)
    try:
        dtype = import_dtype(tensor.type, "input")
        dims = _input_dims(name, tensor, shape)
        quant = tensors.quant_of(tensor)
        if dtype is DType.I8 and quant is not None:
            scope.names[tensor.key] = scope.builder.input(name, DType.QS8, dims, quant)
        else:
            value = scope.builder.input(name, dtype, dims)
            scope.names[tensor.key] = _as_stored(scope.builder, value, quant)
    except UnsupportedError as error:
        scope.problems.append(Problem("input", name, error.message, error.fix or "", True))
        scope.names[tensor.key] = Poison(error.message)


def _as_stored(builder: Builder, value: Value, quant: Quant | None) -> Value:
    """An input's bytes as the quantized tensor that they stand for."""
    if value.type.dtype is not DType.U8 or quant is None:
        return value
    made: Value = builder.op(
        "reinterpret",
        value,
        to=DType.QS8,
        name=f"{value.name}.quantized",
        **tensors.attributes_of(quant),
    )
    return made


def _input_dims(name: str, tensor: Tensor, shape: ShapeSpec | None) -> list[int | str]:
    """The dims of an input from `shapes=` or the model; sizes that may vary get symbols."""
    if shape is not None:
        return check_shape(name, shape, len(tensor.shape) if tensor.has_rank else None)
    return [f"{name}.{axis}" if n < 0 else n for axis, n in enumerate(tensor.signature)]
