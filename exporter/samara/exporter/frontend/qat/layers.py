# SPDX-License-Identifier: Apache-2.0
"""Convolutions and linear maps whose forward is the integer kernel and whose backward is float."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import creation, tensor
from samara.exporter.frontend.autograd import straight_through
from samara.exporter.frontend.nn import activations, layers, norms, statistics
from samara.exporter.frontend.nn.functional.channel_order import (
    both_ends,
    channels_first,
    channels_last,
    per_axis,
)
from samara.exporter.frontend.nn.functional.linear import outputs_first, window_pads
from samara.exporter.frontend.nn.functional.normalization import unbiased
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.qat.grid import (
    Array,
    Grid,
    clamp_steps,
    grid_of,
    in_float,
    is_traced,
    rounded_as,
    row,
    traced_on_grid,
    wants_gradient,
    within,
)
from samara.exporter.frontend.qat.quantizer import MakeObserver, Quantizer
from samara.exporter.frontend.tape import no_grad
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.ops import OpSpec
from samara.exporter.ops.quantization.arithmetic import LARGEST, farthest, multipliers, rounded
from samara.exporter.quantize.observers import channel_scales
from samara.exporter.types import DType, Quant
from samara.pybridge.errors import QuantizationError, ShapeError, UnsupportedError

# A bias takes at most this many steps of s_x * s_w, so that sums stay within int32. Many products leave less
# room for it, but never none.
_LARGEST_BIAS: Final = 2**29
_LEAST_ROOM: Final = 2**16
_TURNED: Final = {"transpose_w": True}

CLAMPS: Final[Mapping[type[Module], tuple[float, float]]] = {
    activations.ReLU: (0.0, math.inf),
    activations.ReLU6: (0.0, 6.0),
}
"""Activations that are fused into the layer before them."""


class QuantizedLayer(Module):
    """Base of the quantized layers.

    weight, bias: the parameters of the layer that it replaces. norm: a batch normalisation that is folded into the
    weights, by the batch's statistics in training, by the running ones otherwise. clamp: the limits of an
    activation that is fused into it. Weights are symmetric in -127..127 with a scale per output channel, biases
    int32.
    """

    def __init__(self, layer: Any, make: MakeObserver, label: str) -> None:
        super().__init__()
        self.label = label
        self.weight = layer.weight
        self.bias = layer.bias
        self.norm: Any = None
        self.clamp = (-math.inf, math.inf)
        self.input = Quantizer(make, f"the input of {label}")
        self.output = Quantizer(make, f"the output of {label}")
        for m in (self, self.input, self.output):
            m.training = layer.training

    def take_norm(self, norm: Module) -> None:
        """Apply this batch normalisation to the result."""
        self.norm = norm
        self.register_buffer("norm_frozen", creation.tensor(False))

    def freeze_norm(self, frozen: bool = True) -> None:
        """Normalise by the running statistics also in training, or stop doing so."""
        if self.norm is not None:
            _data(self.norm_frozen)[...] = frozen

    def take_clamp(self, lo: float, hi: float) -> None:
        """Clamp the result."""
        self.clamp = (max(self.clamp[0], lo), min(self.clamp[1], hi))

    @property
    def norm_live(self) -> bool:
        """Whether the batch's statistics are used."""
        return bool(self.norm is not None and self.norm.training and not _data(self.norm_frozen))

    # ---- defined by each kind of layer

    def product(self) -> tuple[OpSpec, OpSpec]:
        """The operator in float and on integers."""
        raise NotImplementedError

    def weights(self) -> Any:
        """The weights in the operators' layout, outputs first."""
        raise NotImplementedError

    # ---- shared

    def _apply(self, x: Any, moves: Mapping[str, Any]) -> Any:
        """The layer on a quantized input in the operators' layout, with attributes."""
        grid = grid_of(x)
        assert grid is not None
        if not is_traced(x):
            return self._eager(x, grid, moves)
        if self.weight._symbolic:
            raise UnsupportedError(
                f"{self.label}: a quantization-aware module is traced with its parameters as"
                " variables",
                fix="integers are constants of the Program: trace it without variables=True",
            )
        if self.norm_live:
            raise UnsupportedError(
                f"{self.label}: batch normalisation is traced while it trains",
                fix="call .eval() first, or freeze_batch_norm()",
            )
        return traced_on_grid(self._traced(grid, moves))

    def _folded(self, statistics: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
        """Weights and bias (or None) after batch normalisation by (mean, variance), the running
        ones where they are not given."""
        w, b, norm = self.weights(), self.bias, self.norm
        if norm is None:
            return w, b
        mean, var = (norm.running_mean, norm.running_var) if statistics is None else statistics
        gain = ops.rsqrt(ops.add(var, norm.eps))
        if norm.weight is not None:
            gain = ops.mul(gain, norm.weight)
        shift = ops.mul(ops.neg(mean) if b is None else ops.sub(b, mean), gain)
        if norm.bias is not None:
            shift = ops.add(shift, norm.bias)
        return ops.mul(w, gain.reshape((-1,) + (1,) * (w.ndim - 1))), shift

    def _normalised(self, x: Any, moves: Mapping[str, Any]) -> tuple[Any, tuple[Any, Any]]:
        """The layer and its batch normalisation in float, whose gradient is that of the integers,
        and the batch's statistics, which move the running ones."""
        norm = self.norm
        inputs = [v for v in (x, self.weights(), self.bias) if v is not None]
        y = in_float(self.product()[0], inputs, moves)
        count = y._data.size // y.shape[-1]
        if count < 2:
            raise ShapeError(
                f"{self.label}: batch normalisation in training needs more than one value per"
                " channel",
                fix="use a larger batch, or .eval()",
            )
        out, mean, var = ops.batch_norm(y, norm.weight, norm.bias, eps=norm.eps)
        with no_grad():
            mean, var = mean.detach(), var.detach()
            statistics.take(norm, mean, unbiased(y, var, count))
        return out, (mean, var)

    def _integers(self, x: Quant, w: Any, b: Any) -> tuple[Grid, Array | None]:
        """Weights and bias on their grids, for an input on the grid `x`."""
        weights = np.asarray(_data(w), np.float32)
        scales = channel_scales(weights, 0)
        bias = None if b is None else np.asarray(_data(b), np.float32)
        step = np.float32(x.scale)
        room = LARGEST - weights[0].size * farthest(x) * 128 if weights.size else LARGEST
        if room < _LEAST_ROOM:
            raise QuantizationError(
                f"{self.label} adds {weights[0].size} products, whose sum may leave int32",
                fix=f"keep it float: keep_float=[{self.label!r}]",
            )
        if bias is not None:
            most = np.float32(min(room, _LARGEST_BIAS))
            scales = np.maximum(scales, np.abs(bias) / (step * most))
        if not np.isfinite(scales).all():
            raise QuantizationError(
                f"{self.label} has weights that are not finite", fix="check the learning rate"
            )
        along = scales.reshape((-1,) + (1,) * (weights.ndim - 1))
        q = np.clip(np.rint(weights / along), -127, 127).astype(np.int8)
        grid = Grid(q, Quant.per_axis(scales, 0))
        if bias is None:
            return grid, None
        return grid, np.rint(bias / (step * scales)).astype(np.int32)

    def _tail(self, quant: Quant) -> dict[str, Any]:
        lo, hi = clamp_steps(quant, *self.clamp)
        return {"scale": quant.scale, "zero_point": quant.zero_point, "lo": lo, "hi": hi}

    def _traced(self, x: Grid, moves: Mapping[str, Any]) -> Grid:
        self.output.refuse_live()
        with no_grad():
            weight, bias = self._integers(x.quant, *self._folded())
        tail = self._tail(self.output.quant)
        out: Grid = row(self.product()[1], x, weight, bias, **moves, **tail)
        return out

    def _eager(self, x: Any, grid: Grid, moves: Mapping[str, Any]) -> Any:
        real_op, integer_op = self.product()
        surrogate = None
        if self.norm_live:
            surrogate, statistics = self._normalised(x, moves)
            with no_grad():
                w, b = self._folded(statistics)
        else:
            w, b = self._folded()
        weight, bias = self._integers(grid.quant, w, b)
        recorded = wants_gradient(x, w, b, surrogate)
        if not (recorded or self.output.live):
            tail = self._tail(self.output.quant)
            return rounded_as(None, row(integer_op, grid, weight, bias, **moves, **tail), None)
        # The sums before the clamp: the observer needs their range, gradients need to know what is clamped.
        acc = row(integer_op, grid, weight, bias, **moves, to=DType.I32)
        step = np.float32(grid.quant.scale) * weight.quant.scale_array()
        sums = acc.astype(np.float32)
        if self.output.live:
            self.output.observe(
                np.clip(sums * step, np.float32(self.clamp[0]), np.float32(self.clamp[1]))
            )
        quant = self.output.quant
        lo, hi = clamp_steps(quant, *self.clamp)
        sums *= multipliers(grid.quant, weight.quant, quant.scale)
        out = Grid(rounded(sums, quant.zero_point, lo, hi), quant)
        if not recorded:
            return rounded_as(None, out, None)
        inside = within(sums, quant)
        for limit, beyond in zip(self.clamp, (np.less_equal, np.greater_equal), strict=True):
            if not math.isinf(limit):
                inside &= ~beyond(sums, np.float32(limit / quant.scale))
        if surrogate is None:
            operands = self._stand_for(x, w, b, weight, bias, step)
            surrogate = _surrogate(real_op, operands, moves, out)
        return rounded_as(surrogate, out, inside)

    def _stand_for(
        self, x: Any, w: Any, b: Any, weight: Grid, bias: Array | None, step: Array
    ) -> list[Tensor]:
        """The operands, dequantized, with gradients to the operands."""
        along = weight.quant.scale_array().reshape((-1,) + (1,) * (weight.q.ndim - 1))
        out = [x, straight_through(wrap(weight.q.astype(np.float32) * along), w)]
        if bias is not None:
            out.append(straight_through(wrap(bias.astype(np.float32) * step), b))
        return out


def _surrogate(op: OpSpec, inputs: Sequence[Tensor], moves: Mapping[str, Any], out: Grid) -> Tensor:
    """A float product on the tape that is never computed, because its gradient reads only the operands.

    It has the shape of the result; the caller knows the data.
    """
    result = wrap(np.broadcast_to(np.float32(0), out.q.shape))
    tensor.record(op, moves, inputs, [v._data for v in inputs], (result,))
    return result


def _data(t: Any) -> Array:
    """The array of a parameter, also while it is a variable of a trace."""
    array: Array = t._data
    return array


class QuantizedLinear(QuantizedLayer):
    """`Linear` on the int8 grid."""

    def __init__(self, layer: layers.Linear, make: MakeObserver, label: str) -> None:
        super().__init__(layer, make, label)
        self.in_features, self.out_features = layer.in_features, layer.out_features

    def product(self) -> tuple[OpSpec, OpSpec]:
        return ops.matmul, ops.qmatmul

    def weights(self) -> Any:
        return self.weight

    def forward(self, input: Any) -> Any:
        x = self.input(input)
        if self.norm is not None and x.ndim != 2:
            raise ShapeError(
                f"{self.label} took over a batch normalisation of [N, C], its input has"
                f" {x.ndim} dimensions",
                fix="pass example_inputs to quantize_aware, which sees where they belong",
            )
        if x.ndim == 1:
            return self._apply(x.unsqueeze(0), _TURNED).squeeze(0)
        return self._apply(x, _TURNED)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}"


class QuantizedConv(QuantizedLayer):
    """`Conv1d`, `Conv2d` or `Conv3d` on the int8 grid."""

    def __init__(self, layer: Any, make: MakeObserver, label: str) -> None:
        super().__init__(layer, make, label)
        self.spatial = layer.spatial
        self.transposed = layer.transposed
        self.kernel_size, self.stride = layer.kernel_size, layer.stride
        self.padding, self.padding_mode = layer.padding, layer.padding_mode
        self.dilation, self.output_padding = layer.dilation, layer.output_padding
        self.groups = layer.groups

    def product(self) -> tuple[OpSpec, OpSpec]:
        return ops.conv, ops.qconv

    def moves(self, pads: tuple[int, ...]) -> dict[str, Any]:
        """How the window moves."""
        return {
            "strides": self.stride,
            "dilations": self.dilation,
            "pads": pads,
            "groups": self.groups,
        }

    def weights(self) -> Any:
        return channels_last(self.weight)

    def forward(self, input: Any) -> Any:
        x = self.input(input)
        single = x.ndim == self.spatial + 1
        if single:
            x = x.unsqueeze(0)
        x, padding = layers._Conv._padded(self, x)  # type: ignore[arg-type]
        pads = window_pads(padding, self.kernel_size, self.stride, self.dilation)
        y = channels_first(self._apply(channels_last(x), self.moves(pads)))
        return y.squeeze(0) if single else y

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, groups={self.groups}"


class QuantizedConvTranspose(QuantizedConv):
    """`ConvTranspose1d`, `ConvTranspose2d` or `ConvTranspose3d` on the int8 grid."""

    def product(self) -> tuple[OpSpec, OpSpec]:
        return ops.conv_transpose, ops.qconv_transpose

    def weights(self) -> Any:
        return outputs_first(self.weight, self.groups)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        x = self.input(input)
        single = x.ndim == self.spatial + 1
        if single:
            x = x.unsqueeze(0)
        more = layers._ConvTranspose._padding_for(self, x, output_size)  # type: ignore[arg-type]
        moves = self.moves(both_ends(per_axis(self.padding, self.spatial, "padding")))
        y = channels_first(self._apply(channels_last(x), {**moves, "output_padding": more}))
        return y.squeeze(0) if single else y


KINDS: Final[Mapping[type[Module], type[QuantizedLayer]]] = {
    layers.Linear: QuantizedLinear,
    layers.Conv1d: QuantizedConv,
    layers.Conv2d: QuantizedConv,
    layers.Conv3d: QuantizedConv,
    layers.ConvTranspose1d: QuantizedConvTranspose,
    layers.ConvTranspose2d: QuantizedConvTranspose,
    layers.ConvTranspose3d: QuantizedConvTranspose,
}
"""Layers that have a quantized form."""

BATCH_NORMS: Final = (norms.BatchNorm1d, norms.BatchNorm2d, norms.BatchNorm3d)

NORMS: Final = {
    layers.Linear: norms.BatchNorm1d,
    layers.Conv1d: norms.BatchNorm1d,
    layers.Conv2d: norms.BatchNorm2d,
    layers.Conv3d: norms.BatchNorm3d,
    layers.ConvTranspose1d: norms.BatchNorm1d,
    layers.ConvTranspose2d: norms.BatchNorm2d,
    layers.ConvTranspose3d: norms.BatchNorm3d,
}
"""The batch normalisation that can be fused into each."""
