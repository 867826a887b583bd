# SPDX-License-Identifier: Apache-2.0
"""Activations of int16 tensors: tables of all 65536 results, made from the kernels' interpolated tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.exact.fixed_point import Fixed, exponent_of
from samara.exporter.importers.tflite.exact.quantized import (
    integers,
    looked_up,
    result_of,
    scale_of,
)
from samara.exporter.ir.program import Value
from samara.exporter.types import DType

Array = npt.NDArray[Any]

_ALL: Final = np.arange(-(1 << 15), 1 << 15, dtype=np.int64)
_MOST: Final = (1 << 15) - 1

# ---- sigmoid and tanh

# Entries of the kernels' table that lie one above the rounded sigmoid.
_RAISED: Final = (
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41,
    43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
)  # fmt: skip


def sigmoid_table() -> Array:
    """sigmoid(i / 24) with 16 bits of fraction for i = 0…255."""
    table = np.rint(65536 / (1 + np.exp(-np.arange(256) / 24))).astype(np.int64)
    table[list(_RAISED)] += 1
    return table


def _argument(scale: np.float32, wider: int) -> Array:
    """Every int16 input in steps of 1 / (3 * 4096). Power-of-two scales of up to `wider` bits more only shift."""
    log = float(np.log2(np.float64(scale)))
    left = 12 + round(log)
    if abs(log - round(log)) < 1e-3 and 0 <= left <= wider:
        return _ALL * (3 << left)
    multiplier, shift = float(scale) * 4096.0 * 3.0, 0
    while multiplier <= _MOST / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2, shift + 1
    half = 1 << (shift - 1) if shift else 0
    return np.asarray((_ALL * int(multiplier) + half) >> shift)


def _interpolated(x: Array, bits: int) -> Array:
    """sigmoid at |x| / 2^bits steps of its table, with `bits` bits more than the table."""
    table = sigmoid_table()
    size = np.abs(x)
    index, rest = size >> bits, size & ((1 << bits) - 1)
    low, high = table[np.minimum(index, 254)], table[np.minimum(index, 254) + 1]
    return np.asarray((low << bits) + rest * (high - low))


def logistic(ctx: OperatorContext) -> Value:
    x = _argument(scale_of(ctx.tensor(0)), 0)
    y = np.where(np.abs(x) >> 9 >= 255, _MOST << 10, _interpolated(x, 9))
    y = np.where(x >= 0, y + (1 << 9), (1 << 25) - y + (1 << 9) - 1) >> 10
    return looked_up(ctx, 0, y.astype(np.int16))


def tanh(ctx: OperatorContext) -> Value:
    """2 * sigmoid(2 x) - 1."""
    x = _argument(scale_of(ctx.tensor(0)), 1)
    y = np.where(np.abs(x) >> 8 >= 255, 0xFFFF << 8, _interpolated(x, 8))
    one, half = 1 << 23, 1 << 7
    y = np.where(x >= 0, y - one + half, -y + one + half - 1) >> 8
    return looked_up(ctx, 0, y.astype(np.int16))


# ---- softmax


def _rounded(x: Array) -> Array:
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x))


def _sampled(function: Callable[[Array], Array], low: float, high: float, scale: float) -> Array:
    """513 samples of a function, in steps of its output, moved so that middles of straight lines are closer."""
    steps = 512
    step = (high - low) / steps
    inverse = float(1 << 16) / (scale * _MOST - scale * (-(1 << 15)))
    at = low + np.arange(steps) * step
    first, middle = function(at), function(at + step / 2)
    last = function(low + (np.arange(steps) + 1) * step)
    sample = _rounded(first * inverse)
    between = _rounded((last * inverse + sample) / 2)
    moved = sample - _rounded((between - _rounded(middle * inverse)) / 2)
    whole = np.append(moved, _rounded(function(np.array([high])) * inverse))
    return np.asarray(np.clip(whole, -(1 << 15), _MOST).astype(np.int64))


def _between(table: Array) -> Array:
    """The interpolated table at every int16."""
    index, rest = 256 + (_ALL >> 7), _ALL & 0x7F
    slope = table[index + 1] - table[index]
    return np.asarray(table[index] + ((slope * rest + 64) >> 7))


def softmax(ctx: OperatorContext) -> Value:
    """exp by the distance to the largest element, and the reciprocal of the sum, by tables."""
    span = float((1 << 16) - 1)
    exp = _between(_sampled(np.exp, *_ends(10.0 / span, _MOST), 2.0 / span))
    inverse = _between(
        _sampled(lambda x: 1.0 / (1.0 + x), *_ends(1.0 / span, -(1 << 15)), 2.0 / span)
    )
    beta = np.float32(ctx.option("beta", 1.0))
    real = float(np.float32(scale_of(ctx.tensor(0)) * beta)) / (10.0 / 65535.0)
    distance = np.arange(1 << 16, dtype=np.int64)
    place = np.clip(Fixed.of(real).times(-distance) + _MOST, -(1 << 15), _MOST)
    q = integers(ctx, 0)
    last = q.type.rank - 1
    most = ctx.emit("reduce_max", q, axes=[last], keepdims=True)
    table = ctx.const(exp[place + (1 << 15)].astype(np.int16))
    parts = ctx.emit("gather", table, ctx.emit("sub", most, q), axis=0, wrap=False)
    parts = ctx.emit("cast", parts, to=DType.I64)
    total = ctx.emit("reduce_sum", parts, axes=[last], keepdims=True)
    return _normalized(ctx, parts, total, inverse)


def _ends(scale: float, zero: int) -> tuple[float, float]:
    return scale * (-(1 << 15) - zero), scale * (_MOST - zero)


def _normalized(ctx: OperatorContext, parts: Value, total: Value, inverse: Array) -> Value:
    def one(value: int) -> Value:
        return ctx.const(np.int64(value))

    power = exponent_of(ctx, total)
    up = ctx.emit("shift", total, ctx.emit("sub", one(30), power), direction="left")
    short = ctx.emit("shift", ctx.emit("add", up, one(1 << 13)), one(14), direction="right")
    place = ctx.emit("min", ctx.emit("sub", short, one(1 << 16)), one((1 << 16) - 1))
    factor = ctx.emit("gather", ctx.const(inverse.astype(np.int16)), place, axis=0, wrap=False)
    product = ctx.emit("mul", parts, ctx.emit("cast", factor, to=DType.I64))
    half = ctx.emit("shift", one(1), ctx.emit("sub", power, one(1)), direction="left")
    whole = ctx.emit("shift", ctx.emit("add", product, half), power, direction="right")
    result = result_of(ctx, "NONE")
    held = ctx.emit("min", ctx.emit("max", whole, one(0)), one(_MOST))
    made: Value = ctx.named(result.tensor.key, "cast", held, to=DType.I16)
    return made
