# SPDX-License-Identifier: Apache-2.0
"""Small TFLite models written with our own FlatBuffer writer, and what LiteRT computes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import samara
from samara import import_tflite
from samara.exporter.export import export
from samara.exporter.importers.tflite.schema import IDENTIFIER, model_format
from samara.exporter.ir import flat
from samara.exporter.ir.program import Program
from samara.exporter.types import SamaraError

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]

KINDS = {
    "float32": "FLOAT32", "float16": "FLOAT16", "float64": "FLOAT64", "bool": "BOOL",
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
    "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
}  # fmt: skip
BUILTIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
REFERENCE = OpResolverType.BUILTIN_REF
XNNPACK = OpResolverType.AUTO


@dataclass(frozen=True)
class T:
    """A tensor of a model.

    data: of a constant, or of an input what is fed. scale, zero: quantization parameters, one or one per index
    of `axis`. kind: the schema's element type, where it is not that of the data. signature: the shape with -1
    where a size may vary. more: further fields of the schema's table.
    """

    data: Array | None = None
    shape: Sequence[int] | None = None
    kind: str = ""
    constant: bool = False
    scale: float | Sequence[float] | None = None
    zero: int | Sequence[int] = 0
    axis: int = 0
    name: str = ""
    signature: Sequence[int] | None = None
    variable: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sizes(self) -> list[int]:
        if self.shape is not None:
            return list(self.shape)
        assert self.data is not None
        return list(self.data.shape)

    @property
    def element(self) -> str:
        if self.kind:
            return self.kind
        assert self.data is not None
        return KINDS[self.data.dtype.name]


def const(data: Any, **more: Any) -> T:
    """A constant."""
    return T(np.asarray(data), constant=True, **more)


@dataclass(frozen=True)
class Op:
    """An operator over tensors by index, -1 for an absent input. options: enums by name."""

    name: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    options: Mapping[str, Any] = field(default_factory=dict)
    table: str = ""  # of the options, where it is not named after the operator
    version: int = 1
    custom: bytes = b""
    is_custom: bool = False
    intermediates: Sequence[int] = ()


@dataclass(frozen=True)
class Graph:
    """A subgraph. Inputs and outputs are indices of tensors."""

    tensors: Sequence[T]
    ops: Sequence[Op]
    inputs: Sequence[int]
    outputs: Sequence[int]
    name: str = "main"


# Operators whose table of options is not called after them.
_TABLES = {
    "CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "CONV_3D": "Conv3DOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "MAX_POOL_2D": "Pool2DOptions", "AVERAGE_POOL_2D": "Pool2DOptions", "L2_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions", "SUM": "ReducerOptions", "L2_NORMALIZATION": "L2NormOptions",
    "MAXIMUM": "MaximumMinimumOptions", "MINIMUM": "MaximumMinimumOptions", "BATCH_MATMUL": "BatchMatMulOptions",
    "LSTM": "LSTMOptions", "SVDF": "SVDFOptions", "RNN": "RNNOptions", "TOPK_V2": "TopKV2Options",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "BidirectionalSequenceLSTMOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "BIDIRECTIONAL_SEQUENCE_RNN": "BidirectionalSequenceRNNOptions",
    "SPACE_TO_BATCH_ND": "SpaceToBatchNDOptions", "BATCH_TO_SPACE_ND": "BatchToSpaceNDOptions",
    **{f"REDUCE_{n}": "ReducerOptions" for n in ("PROD", "MAX", "MIN", "ANY", "ALL")},
}  # fmt: skip


def table_of(op: str) -> str:
    """The name of an operator's table of options."""
    return _TABLES.get(op) or "".join(p.capitalize() for p in op.split("_")) + "Options"


class _Writer:
    def __init__(self) -> None:
        self.format = model_format()
        self.buffers: list[dict[str, Any]] = [{}]
        self.codes: list[dict[str, Any]] = []

    def buffer(self, data: bytes) -> int:
        self.buffers.append({"data": np.frombuffer(data, np.uint8)})
        return len(self.buffers) - 1

    def tensor(self, t: T, index: int) -> dict[str, Any]:
        row: dict[str, Any] = {
            "shape": t.sizes,
            "type": self.format.code("TensorType", t.element),
            "name": t.name or f"t{index}",
            "is_variable": t.variable,
            "has_rank": True,
            **t.more,
        }
        if t.signature is not None:
            row["shape_signature"] = list(t.signature)
        if t.constant and t.data is not None:
            row["buffer"] = self.buffer(np.ascontiguousarray(t.data).tobytes())
        if t.scale is not None:
            scales = np.atleast_1d(np.asarray(t.scale, np.float32))
            zeros = np.broadcast_to(np.asarray(t.zero, np.int64), scales.shape)
            row["quantization"] = {
                "scale": scales,
                "zero_point": zeros,
                "quantized_dimension": t.axis,
            }
        return row

    def operator(self, op: Op) -> dict[str, Any]:
        number = self.format.code("BuiltinOperator", "CUSTOM" if op.is_custom else op.name)
        code: dict[str, Any] = {
            "deprecated_builtin_code": min(number, 127),
            "builtin_code": number,
            "version": op.version,
        }
        if op.is_custom:
            code["custom_code"] = op.name
        if code not in self.codes:
            self.codes.append(code)
        row: dict[str, Any] = {
            "opcode_index": self.codes.index(code),
            "inputs": list(op.inputs),
            "outputs": list(op.outputs),
        }
        if op.intermediates:
            row["intermediates"] = list(op.intermediates)
        if op.is_custom:
            row["custom_options"] = np.frombuffer(op.custom, np.uint8)
            return row
        table = op.table or table_of(op.name)
        for name, union in (
            ("builtin_options", "BuiltinOptions"),
            ("builtin_options_2", "BuiltinOptions2"),
        ):
            for number, member in self.format.schema.unions[union].members.items():
                if member.name == table:
                    row[name] = (number, self._options(table, op.options))
        assert not op.options or len(row) > 3, f"there is no table {table}"
        return row

    def _options(self, table: str, given: Mapping[str, Any]) -> dict[str, Any]:
        row = dict(given)
        for f in self.format.schema.tables[table].fields:
            if f.fbs_type and isinstance(row.get(f.name), str):
                row[f.name] = self.format.code(f.fbs_type, row[f.name])
        return row


def built(
    *graphs: Graph,
    signatures: Sequence[tuple[str, int, Mapping[str, int], Mapping[str, int]]] = (),
    metadata: Mapping[str, bytes] | None = None,
    description: str = "tested",
) -> bytes:
    """The bytes of a model of these subgraphs. signatures: (key, subgraph, inputs, outputs)."""
    w = _Writer()
    subgraphs = [
        {
            "tensors": [w.tensor(t, i) for i, t in enumerate(g.tensors)],
            "operators": [w.operator(op) for op in g.ops],
            "inputs": list(g.inputs),
            "outputs": list(g.outputs),
            "name": g.name,
        }
        for g in graphs
    ]
    row = {
        "version": 3,
        "description": description,
        "subgraphs": subgraphs,
        "operator_codes": w.codes,
        "signature_defs": [
            {
                "signature_key": key,
                "subgraph_index": index,
                "inputs": [{"name": n, "tensor_index": i} for n, i in inputs.items()],
                "outputs": [{"name": n, "tensor_index": i} for n, i in outputs.items()],
            }
            for key, index, inputs, outputs in signatures
        ],
        "metadata": [{"name": n, "buffer": w.buffer(data)} for n, data in (metadata or {}).items()],
    }
    row["buffers"] = w.buffers
    return flat.encode(w.format.schema, "Model", row, IDENTIFIER)


@dataclass(frozen=True)
class Case:
    """One operator over tensors; None is an absent input. Inputs are t0, t1, …, outputs follow them.

    outputs: tensors whose shapes LiteRT finds itself, so `shape` may be left out. steps: largest allowed error
    of integer results; atol, rtol: of others.
    """

    op: str
    inputs: Sequence[T | None]
    outputs: Sequence[T] = (T(kind="FLOAT32", shape=()),)
    options: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    atol: float = 1e-6
    rtol: float = 1e-5
    steps: int = 1
    custom: bytes = b""
    is_custom: bool = False
    resolver: Any = REFERENCE
    intermediates: Sequence[T] = ()

    def model(self) -> bytes:
        tensors: list[T] = []
        places = []
        for t in self.inputs:
            places.append(-1 if t is None else len(tensors))
            if t is not None:
                tensors.append(t)
        fed = [i for i, t in enumerate(tensors) if not t.constant and not t.variable]
        made = list(range(len(tensors), len(tensors) + len(self.outputs)))
        tensors += self.outputs
        inner = list(range(len(tensors), len(tensors) + len(self.intermediates)))
        tensors += self.intermediates
        op = Op(
            self.op, places, made, self.options, version=self.version,
            custom=self.custom, is_custom=self.is_custom, intermediates=inner,
        )  # fmt: skip
        return built(Graph(tensors, [op], fed, made))

    def feeds(self) -> list[Array]:
        return [
            np.asarray(t.data)
            for t in self.inputs
            if t is not None and not t.constant and not t.variable
        ]

    def check(self, *, exact: bool = False, native: bool = True) -> Program:
        """Import the operator; its results are LiteRT's, by the interpreter and by the C runtime."""
        model, feeds = self.model(), self.feeds()
        want = witness(model, feeds, self.resolver)
        program = import_tflite(model, exact=exact)
        limits: Any = {"atol": self.atol, "rtol": self.rtol, "steps": 0 if exact else self.steps}
        agree(list(program.run(_named(program, feeds)).values()), want, **limits)
        if native:
            (got,) = ran(program, feeds)
            agree(got, want, **limits)
        return program

    def refused(self, error: type[SamaraError], match: str) -> SamaraError:
        """The import raises this error. Returns it."""
        with pytest.raises(error, match=match) as caught:
            import_tflite(self.model())
        return caught.value


def _named(program: Program, feeds: Sequence[Array]) -> dict[str, Array]:
    names = [v.name for v in program.main.inputs if v.name not in program.main.reads]
    return dict(zip(names, feeds, strict=True))


def interpreter(model: bytes, resolver: Any = REFERENCE) -> Any:
    """LiteRT's interpreter with its tensors allocated."""
    made = Interpreter(model_content=model, experimental_op_resolver_type=resolver, num_threads=1)
    made.allocate_tensors()
    return made


def step(made: Any, feeds: Sequence[Array]) -> list[Array]:
    """One call of an interpreter, whose state lives on."""
    for detail, array in zip(made.get_input_details(), feeds, strict=True):
        if tuple(detail["shape"]) != array.shape:
            made.resize_tensor_input(detail["index"], array.shape)
            made.allocate_tensors()
    for detail, array in zip(made.get_input_details(), feeds, strict=True):
        made.set_tensor(detail["index"], array)
    made.invoke()
    return [made.get_tensor(d["index"]) for d in made.get_output_details()]


def witness(model: bytes, feeds: Sequence[Array], resolver: Any = REFERENCE) -> list[Array]:
    """What LiteRT computes, with the kernels of `resolver`."""
    return step(interpreter(model, resolver), feeds)


def ran(program: Program, *feeds: Sequence[Array]) -> list[list[Array]]:
    """What the C runtime computes, call by call in one session."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.samara"
        export(program, path, check=False)
        session = samara.Session(samara.Model(path.read_bytes()))
    return [list(session.run(_named(program, f)).values()) for f in feeds]


def agree(
    got: Sequence[Array],
    want: Sequence[Array],
    *,
    atol: float = 1e-6,
    rtol: float = 1e-5,
    steps: int = 0,
) -> None:
    """AssertionError unless all results agree in dtype, shape and values."""
    assert len(got) == len(want)
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        assert (g.dtype, g.shape) == (w.dtype, w.shape), i
        if w.dtype.kind == "f":
            np.testing.assert_allclose(
                g.astype(np.float64), w.astype(np.float64), rtol=rtol, atol=atol, err_msg=str(i)
            )
        elif steps and w.size and w.dtype.kind in "iu":
            assert np.abs(g.astype(np.int64) - w.astype(np.int64)).max() <= steps, i
        else:
            np.testing.assert_array_equal(g, w, err_msg=str(i))


def small_tflite() -> bytes:
    """A net of one convolution: image float32 [1, 8, 8, 1] to probability float32 [1, 10], under a signature."""
    rng = np.random.default_rng(0)
    tensors = [
        T(kind="FLOAT32", shape=(1, 8, 8, 1), name="serving_default_image:0"),
        const(rng.normal(size=(10, 3, 3, 1)).astype(np.float32), name="net/conv/Conv2D"),
        const(np.zeros(10, np.float32), name="net/conv/bias"),
        T(kind="FLOAT32", shape=(1, 8, 8, 10), name="net/conv/Relu;net/conv/BiasAdd"),
        const(np.array([1, 2], np.int32), name="net/pool/axes"),
        T(kind="FLOAT32", shape=(1, 10), name="net/pool/Mean"),
        T(kind="FLOAT32", shape=(1, 10), name="StatefulPartitionedCall:0"),
    ]
    conv = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU"}
    ops = [
        Op("CONV_2D", [0, 1, 2], [3], {**conv, "dilation_w_factor": 1, "dilation_h_factor": 1}),
        Op("MEAN", [3, 4], [5]),
        Op("SOFTMAX", [5], [6], {"beta": 1.0}),
    ]
    return built(
        Graph(tensors, ops, [0], [6]),
        signatures=[("serving_default", 0, {"image": 0}, {"probability": 6})],
    )
