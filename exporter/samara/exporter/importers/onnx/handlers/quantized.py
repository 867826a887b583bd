# SPDX-License-Identifier: Apache-2.0
"""Quantized operators of com.microsoft: the float operator between dequantize and quantize. The pass
fuse_quantized makes an integer operator of them. Results are within one step of onnxruntime's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.affine import dequantized, quantized
from samara.exporter.importers.onnx.handlers.layout import channels_first, channels_last
from samara.exporter.importers.onnx.handlers.normalization import softmax_of
from samara.exporter.importers.onnx.handlers.pooling import average_pool_of, global_reduce
from samara.exporter.importers.onnx.handlers.quantize import MICROSOFT
from samara.exporter.importers.onnx.registry import find_handler, onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, Quant, QuantizationError

Real = Callable[[NodeContext, Value], Value]


def _operand(n: NodeContext, index: int) -> Value:
    """The dequantized value of the inputs tensor, scale and zero point at `index` and after it."""
    return dequantized(n.inner, n.value(index), n.value(index + 1), n.optional(index + 2))


def _result(n: NodeContext, y: Value, scale: int, like: int = 0) -> Value:
    """The node's result, quantized with the scale and zero point at input `scale` and after it."""
    zero = n.optional(scale + 1)
    kind = n.type(like).dtype if zero is None else zero.type.dtype
    return quantized(n, y, n.value(scale), zero, kind)


@onnx_op("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(n: NodeContext) -> Any:
    op = "add" if n.op_type == "QLinearAdd" else "mul"
    return _result(n, n.emit(op, _operand(n, 0), _operand(n, 3)), 6)


def _leaky_relu(n: NodeContext, x: Value) -> Value:
    y: Value = n.emit("leaky_relu", x, alpha=n.attr("alpha", 0.01))
    return y


def _softmax(n: NodeContext, x: Value) -> Value:
    if n.attr("opset", 13) < 13:
        by_matrix: Value = softmax_of(n, x, "softmax", per_matrix=True)
        return by_matrix
    y: Value = n.emit("softmax", x, axis=n.axis(-1, x.type.rank))
    return y


def _reduce_mean(n: NodeContext, x: Value) -> Value:
    given = n.attr("axes", list(range(x.type.rank)))
    axes = [a % x.type.rank for a in given if -x.type.rank <= a < x.type.rank]
    if len(axes) != len(given):
        raise n.wrong(f"axes {given} are out of range for rank {x.type.rank}")
    y: Value = n.emit("reduce_mean", x, axes=axes, keepdims=bool(n.attr("keepdims", 1)))
    return y


def _either_layout(convert: Real) -> Real:
    """A converter over [N, C, …] for nodes that may say `channels_last`."""

    def converted(n: NodeContext, x: Value) -> Value:
        if not n.attr("channels_last", 0):
            return convert(n, x)
        return channels_last(n, convert(n, channels_first(n, x)))

    return converted


_UNARY: dict[str, Real] = {
    "QLinearSigmoid": lambda n, x: n.emit("sigmoid", x),
    "QLinearLeakyRelu": _leaky_relu,
    "QLinearSoftmax": _softmax,
    "QLinearReduceMean": _reduce_mean,
    "QLinearAveragePool": _either_layout(average_pool_of),
    "QLinearGlobalAveragePool": _either_layout(lambda n, x: global_reduce(n, x, "reduce_mean")),
}


@onnx_op(*_UNARY, domain=MICROSOFT)
def qlinear_unary(n: NodeContext) -> Any:
    """Operators with inputs x, its scale and zero point, and scale and zero point of the result."""
    return _result(n, _UNARY[n.op_type](n.inner, _operand(n, 0)), 3)


@dataclass(frozen=True)
class _Integers:
    """Weights [D, 4 * H, I] with zero points of 0, and the scales of each direction."""

    steps: np.ndarray[Any, Any]
    quants: list[Quant]

    @property
    def shared(self) -> bool:
        return all(q == self.quants[0] for q in self.quants)


class _Weights(NodeContext):
    """DynamicQuantizeLSTM as LSTM: its weights [D, I, 4 * H] are transposed, and stay integers if the operator can
    take both so; else they are dequantized.
    """

    @property
    def opset(self) -> int:
        return self.scope.opset("")

    def value(self, index: int) -> Value:
        if index not in (1, 2):
            return super().value(index)
        stored = self.stored()
        if stored is not None and all(w.shared for w in stored):
            kept = stored[index - 1]
            return self.const(kept.steps, DType.QS8, kept.quants[0])
        scale, zero = (self._spread(2 * index + 6 + i) for i in (0, 1))
        assert scale is not None
        real = dequantized(self.inner, super().value(index), scale, zero)
        turned: Value = self.emit("transpose", real, perm=(0, 2, 1))
        return turned

    def stored(self) -> tuple[_Integers, _Integers] | None:
        """The weights of the input and of the state as integers; None where the operator has no form for them."""
        inner, outer = (self._integers(i) for i in (1, 2))
        usual = self.attr("activations") is None
        return (inner, outer) if usual and inner is not None and outer is not None else None

    def _integers(self, index: int) -> _Integers | None:
        data, scale, zero = (self.constant(i) for i in (index, 2 * index + 6, 2 * index + 7))
        if data is None or scale is None or data.ndim != 3 or not data.size:
            return None
        count, _, columns = data.shape
        if data.dtype not in (np.int8, np.uint8) or scale.dtype != np.float32:
            return None
        if scale.size not in (count, count * columns):
            return None
        if zero is not None and (zero.size != scale.size or zero.dtype != data.dtype):
            return None
        steps = data.astype(np.int32)
        if zero is not None:
            steps -= zero.astype(np.int32).reshape(count, 1, -1)
        if np.abs(steps).max() > 127:
            return None
        try:
            quants = [
                Quant(tuple(map(float, row)), (0,) * len(row), 1 if len(row) > 1 else None)
                for row in scale.reshape(count, -1)
            ]
        except QuantizationError:  # a scale of 0, for example
            return None
        return _Integers(steps.transpose(0, 2, 1).astype(np.int8), quants)

    def _spread(self, index: int) -> Value | None:
        """Parameters per direction [D] or per column [D, 4 * H], in a shape that broadcasts."""
        v = self.optional(index)
        if v is not None and v.type.rank:
            columns = v.type.shape[1] if v.type.rank == 2 else 1
            v = self.emit("reshape", v, shape=(v.type.shape[0], 1, columns))
        return v


class _Direction(_Weights):
    """One direction of a bidirectional DynamicQuantizeLSTM with integer weights, as a node of its own."""

    def __init__(self, node: NodeContext, direction: int) -> None:
        super().__init__(node.scope, node.node)
        self._direction = direction
        self._is_inner = True

    def attr(self, name: str, default: Any = None) -> Any:
        if name == "direction":
            return ("forward", "reverse")[self._direction]
        return super().attr(name, default)

    def value(self, index: int) -> Value:
        d = self._direction
        stored = self.stored()
        if index in (1, 2) and stored is not None:
            kept = stored[index - 1]
            return self.const(kept.steps[d : d + 1], DType.QS8, kept.quants[d])
        v = super().value(index)
        if index not in (3, 5, 6, 7):  # bias, states, peepholes: [D, …]
            return v
        rest = [0] * (v.type.rank - 1)
        end = [d + 1, *v.type.shape[1:]]
        half: Value = self.emit("slice", v, begin=[d, *rest], end=end, step=[1, *(1 for _ in rest)])
        return half


@onnx_op("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(n: NodeContext) -> Any:
    """With integer weights the operator rounds the rows of the input and the state to 8 bits in each step, as
    onnxruntime rounds them whole. Dequantized weights are computed with in float32.
    """
    lstm = find_handler("", "LSTM")
    assert lstm is not None
    whole = _Weights(n.scope, n.node)
    stored = whole.stored()
    # The operator has one scale for a row of the gates, whatever the direction.
    if (
        n.attr("direction") != "bidirectional"
        or stored is None
        or any(len(w.quants) != 2 for w in stored)
        or all(w.shared for w in stored)
    ):
        return lstm(whole)
    both = [lstm(_Direction(n, d)) for d in (0, 1)]
    return [
        n.emit("concat", *halves, axis=axis)
        for halves, axis in zip(zip(*both, strict=True), (1, 0, 0), strict=True)
    ]


@onnx_op("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(n: NodeContext) -> Any:
    parts = [_operand(n, i) for i in range(2, n.input_count, 3)]
    y = n.emit("concat", *parts, axis=n.axis(1, parts[0].type.rank))
    return _result(n, y, 0, like=2)


@onnx_op("QLinearWhere", domain=MICROSOFT)
def qlinear_where(n: NodeContext) -> Any:
    return _result(n, n.emit("where", n.value(0), _operand(n, 1), _operand(n, 4)), 7, like=1)
