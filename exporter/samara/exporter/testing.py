# SPDX-License-Identifier: Apache-2.0
"""Helpers of operator tests: inputs of the table's cases, tolerances, comparison."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter import ops
from samara.exporter.ir import Program, ProgramBuilder
from samara.exporter.ops import Body, Case, InferContext, OpSpec, all_ops, get_op
from samara.exporter.types import Born, Dim, DType, Quant, Sym, TensorType

Array = npt.NDArray[Any]

# Range of random integers in cases that do not narrow it.
_SMALL = 8
_WIDE = (-2.0, 2.0)  # the defaults of Case.low and Case.high


# ---- cases ----


def case_id(op: OpSpec, case: Case) -> str:
    """The case's name in test ids."""
    return f"{op.name}-{case.name}"


def case_types(case: Case) -> list[TensorType | None]:
    """The types of the case's inputs."""
    types: list[TensorType | None] = []
    for given in case.inputs:
        if given is None:
            types.append(None)
        elif isinstance(given, tuple):
            quant = given[2] if len(given) > 2 else None
            types.append(TensorType.of(given[0], given[1], quant))
        else:
            array = np.asarray(given)
            types.append(TensorType.of(DType.from_numpy(array.dtype), array.shape))
    return types


def case_inputs(op: OpSpec, case: Case) -> list[Array | None]:
    """The case's input arrays: the same on every machine and in every run."""
    rng = np.random.default_rng(zlib.crc32(case_id(op, case).encode()))
    arrays: list[Array | None] = []
    for given in case.inputs:
        if given is None or not isinstance(given, tuple):
            arrays.append(None if given is None else np.asarray(given))
        else:
            arrays.append(_drawn(rng, DType.parse(given[0]), tuple(given[1]), case))
    return arrays


def _drawn(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], case: Case) -> Array:
    if dtype is DType.BOOL:
        return np.asarray(rng.integers(0, 2, shape)).astype(np.bool_)
    if dtype is DType.QS8:
        return np.asarray(rng.integers(-128, 128, shape)).astype(np.int8)
    if dtype.is_float:
        # Drawn in float64 and rounded once, so that all dtypes get nearly the same values.
        return np.asarray(rng.uniform(case.low, case.high, shape)).astype(dtype.numpy)
    low, high = -_SMALL, 2 * _SMALL
    if (case.low, case.high) != _WIDE:
        low, high = int(np.ceil(case.low)), int(np.floor(case.high))
    least = -(2 ** (dtype.bits - 1)) if dtype.is_signed else 0
    low, high = max(low, least), min(high, least + 2**dtype.bits - 1)
    return np.asarray(rng.integers(low, high, shape, endpoint=True)).astype(dtype.numpy)


def case_attrs(op: OpSpec, case: Case) -> dict[str, Any]:
    """The complete attributes, functions by name."""
    return op.complete(case.attrs)


def run_case(
    op: OpSpec, case: Case, inputs: Sequence[Array | None] | None = None
) -> tuple[Array, ...]:
    """The reference's outputs for the case (or for other inputs of its types)."""
    arrays = case_inputs(op, case) if inputs is None else inputs
    attrs = case_attrs(op, case)
    for a in op.attrs:
        if a.type == "function":
            attrs[a.name] = case.functions[attrs[a.name]]
    got = op.evaluate(arrays, attrs, quant_of(case_types(case)))
    return got if isinstance(got, tuple) else (got,)


@dataclass(frozen=True, slots=True)
class Inferred:
    """The results of a shape rule."""

    types: tuple[TensorType, ...]
    context: InferContext


def infer_case(
    op: OpSpec,
    case: Case,
    types: Sequence[TensorType | None] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> Inferred:
    """Run the shape rule on the case (or on other types and attributes)."""
    ctx: InferContext = InferContext(
        op,
        case_types(case) if types is None else types,
        case_attrs(op, case) if attrs is None else attrs,
        node=case_id(op, case),
        born=lambda output, axis: Dim.atom(
            Born("case", output, axis, upper=ctx.bounds.get((output, axis)))
        ),
        functions=lambda name: signature_of(case.functions, name),
        scalars=lambda index: _scalar(case, index),
    )
    return Inferred(op.infer(ctx), ctx)


def signature_of(
    functions: Mapping[str, Body], name: str
) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
    """(input types, output types) of a function of a case."""
    return functions[name].signature


def _scalar(case: Case, index: int) -> Dim | None:
    given = case.inputs[index] if index < len(case.inputs) else None
    if given is None or isinstance(given, tuple):
        return None
    array = np.asarray(given)
    return Dim.const(int(array.item())) if array.ndim == 0 and array.dtype.kind in "iu" else None


# ---- tolerances ----

_MODEL_STEPS = 2  # for 8-bit outputs of whole models


def tolerance(op_name: str, dtype: DType | str) -> tuple[float, float]:
    """(abs, rel) by which a result of this operator and dtype may differ from the reference."""
    kind = DType.parse(dtype) if isinstance(dtype, str) else dtype
    return get_op(op_name).tolerance.of(kind)


def assert_close(got: Any, want: Any, op: str, dtype: DType | str | None = None) -> None:
    """AssertionError unless `got` agrees with `want` within the table's tolerance.

    dtype and shape must be equal; NaN and infinities must be at the same positions. `op` is the name of an
    operator, or "model" for the output of a whole model. Then the bounds are
    |d| <= 1e-4 + 1e-3 |want| + 2e-5 range in float32, 2e-2 of the range and the same argmax in
    float16, and 2 steps in int8 and uint8. `dtype` is the dtype of the computation if it differs from that
    of the arrays (a float16 model with float32 outputs).
    """
    a, b = np.asarray(got), np.asarray(want)
    assert a.dtype == b.dtype, f"{op}: dtype {a.dtype}, expected {b.dtype}"
    assert a.shape == b.shape, f"{op}: shape {a.shape}, expected {b.shape}"
    if not DType.from_numpy(a.dtype).is_float:
        steps = _MODEL_STEPS if op == "model" and a.dtype.itemsize == 1 else 0
        # Differences of uint64 and int64 may overflow int64, but a dtype with steps has 8 bits.
        far = np.abs(a.astype(np.int64) - b.astype(np.int64)) > steps if steps else a != b
        _assert_none(op, a, b, far)
        return
    kind = DType.from_numpy(a.dtype) if dtype is None else dtype
    with np.errstate(invalid="ignore"):  # reinterpreted bits may be a signalling NaN
        x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(y)
    _assert_none(op, a, b, ~((x == y) | (np.isnan(x) & np.isnan(y))) & ~finite)
    x, y = np.where(finite, x, 0.0), np.where(finite, y, 0.0)
    if op == "model":
        kind = DType.parse(kind) if isinstance(kind, str) else kind
        limit = _model_limit(y, kind)
        if kind is DType.F16 and y.size:
            best = int(x.argmax()), int(y.argmax())
            assert best[0] == best[1], f"{op}: argmax is {best[0]}, expected {best[1]}"
    else:
        absolute, relative = tolerance(op, kind)
        limit = absolute + relative * np.abs(y)
    _assert_none(op, a, b, ~(np.abs(x - y) <= limit))


def _model_limit(want: Array, dtype: DType) -> Array:
    span = float(want.max() - want.min()) if want.size else 0.0
    if dtype is DType.F16:
        return np.full(want.shape, 2e-2 * span)
    return np.asarray(1e-4 + 1e-3 * np.abs(want) + 2e-5 * span)


def _assert_none(op: str, got: Array, want: Array, bad: Array) -> None:
    if not bad.any():
        return
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    raise AssertionError(
        f"{op}: {int(bad.sum())} of {bad.size} elements differ; first at {list(at)}:"
        f" {got[at]!r}, expected {want[at]!r}"
    )


# ---- symbols ----


def with_symbols(
    types: Sequence[TensorType | None],
) -> tuple[list[TensorType | None], dict[str, int]]:
    """The types with every size replaced by a symbol, and the values of the symbols.

    Equal sizes share a symbol, so that sizes that must be equal still are. 1 stays 1, because it
    broadcasts.
    """
    values: dict[str, int] = {}
    out: list[TensorType | None] = []
    for t in types:
        if t is None:
            out.append(None)
            continue
        shape = []
        for n in t.static_shape():
            if n != 1:
                values[f"s{n}"] = n
            shape.append(Dim.const(1) if n == 1 else Dim.atom(Sym(f"s{n}")))
        out.append(TensorType(t.dtype, tuple(shape), t.quant))
    return out, values


def guards_hold(
    context: InferContext, values: Mapping[str, int], reader: Callable[[Any], int] | None = None
) -> list[str]:
    """The messages of the guards that these values violate."""
    broken = []
    for g in context.guards:
        a, b = g.a.evaluate(values, reader), g.b.evaluate(values, reader)
        if not {"eq": a == b, "le": a <= b, "lt": a < b}[g.relation]:
            broken.append(f"{g.message}: {g.a} {g.relation} {g.b} ({a}, {b})")
    return broken


def quant_of(types: Sequence[TensorType | None]) -> list[Quant | None]:
    """The quantization parameters of the inputs."""
    return [None if t is None else t.quant for t in types]


def exact_rows() -> tuple[OpSpec, ...]:
    """The operators that docs/reference/quantized-arithmetic.md promises the same bits everywhere: those with a form in
    which an operand is qs8 and all operands and results are integers.
    """
    return tuple(
        op
        for op in all_ops()
        if "control" not in op.flags and any(is_integer_case(op, case) for case in op.cases)
    )


def is_integer_case(op: OpSpec, case: Case) -> bool:
    """Whether the case has a qs8 operand, and all its operands and results are integers.

    Parameters of a norm may be floats, because their arithmetic is specified to the last bit.
    """
    given = [t for t in case_types(case) if t is not None]
    if not any(t.dtype is DType.QS8 for t in given):
        return False
    operands = given[:1] if op.name in ("qlayer_norm", "qrms_norm") else given
    results = infer_case(op, case).types
    return not any(t.dtype.is_float for t in (*operands, *results))


# ---- models ----


def small_onnx() -> bytes:
    """A serialized ONNX model: conv, relu, mean and dense from "image" [batch, 3, 8, 8] to "score" [batch, 4]."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(5)
    weights = {
        "conv.w": rng.standard_normal((6, 3, 3, 3)) / 5,
        "conv.b": rng.standard_normal(6) / 5,
        "dense.w": rng.standard_normal((6, 4)),
        "dense.b": rng.standard_normal(4),
    }
    nodes = [
        helper.make_node(
            "Conv", ["image", "conv.w", "conv.b"], ["conv"], "conv", pads=[1, 1, 1, 1]
        ),
        helper.make_node("Relu", ["conv"], ["relu"], "relu"),
        helper.make_node("GlobalAveragePool", ["relu"], ["mean"], "mean"),
        helper.make_node("Flatten", ["mean"], ["flat"], "flat"),
        helper.make_node("Gemm", ["flat", "dense.w", "dense.b"], ["score"], "dense"),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 8, 8])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["batch", 4])],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
    )
    opset = helper.make_opsetid("", 17)
    return bytes(helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString())


def steered_program() -> Program:
    """y: x [2, n] multiplied by weight in three loop iterations if rate is 16000, else |x|."""
    main = ProgramBuilder().function("main")
    x, rate = main.input("x", "f32", [2, "n"]), main.input("rate", "i64", [])
    fast, slow = main.child("fast"), main.child("slow")
    body = fast.child("body")
    _, go, carried = (
        body.input("i", "i64", []),
        body.input("go", "bool", []),
        body.input("acc", "f32", [2, "n"]),
    )
    grown = body.op(ops.mul, carried, 1.5, name="grown")
    (last,) = fast.loop(
        fast.const(np.array(3, np.int64)), None, [x], (body, [go, grown]), name="repeat"
    )
    done = slow.op(ops.abs_, x, name="magnitude")
    is_fast = main.op(ops.eq, rate, np.array(16000, np.int64), name="is_fast")
    (y,) = main.if_(is_fast, (fast, [last]), (slow, [done]), name="choose")
    main.finish([y], ["y"])
    return main.program.finish(["main"])
