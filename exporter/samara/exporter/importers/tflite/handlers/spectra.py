# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, complex numbers behind them, and features of sound made of them.

A complex tensor [...] is a float32 tensor [..., 2] of real and imaginary parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.flexible import options_of
from samara.exporter.importers.tflite.handlers.windows import window_places
from samara.exporter.importers.tflite.registry import Handler, tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import as_dim


@tflite_op("RFFT2D")
def rfft2d(ctx: OperatorContext) -> Any:
    """Over the last two axes, cut or filled with zeros to the lengths of the second input."""
    x = ctx.value(0)
    if x.type.rank < 2:
        raise ctx.wrong(f"needs rank 2 or more, got {x.type}")
    height, width = ctx.dims(1, "the lengths")
    y = ctx.emit("reshape", x, shape=(*x.type.shape, 1))
    y = ctx.emit("dft", y, length=width, axis=-2, onesided=True)
    if height == as_dim(1) and x.type.shape[-2] == as_dim(1):
        return y
    return ctx.final("dft", y, length=height, axis=-3)


def _part(index: int) -> Handler:
    def convert(ctx: OperatorContext) -> Any:
        x = ctx.pair(0)
        rank = x.type.rank
        end = (*x.type.shape[:-1], index + 1)
        part = ctx.emit("slice", x, begin=(*[0] * (rank - 1), index), end=end, step=[1] * rank)
        return ctx.final("reshape", part, shape=x.type.shape[:-1])

    return convert


tflite_op("REAL")(_part(0))
tflite_op("IMAG")(_part(1))


@tflite_op("COMPLEX_ABS")
def complex_abs(ctx: OperatorContext) -> Any:
    return ctx.final("sqrt", _power(ctx, ctx.pair(0)))


def _power(ctx: OperatorContext, x: Value) -> Value:
    """The squares of magnitudes."""
    made: Value = ctx.emit("reduce_sum", ctx.emit("mul", x, x), axes=[x.type.rank - 1])
    return made


@tflite_op("AudioSpectrogram", custom=True)
def audio_spectrogram(ctx: OperatorContext) -> Any:
    """Magnitudes [channels, frames, bins] of windows of samples [samples, channels].

    Each window is weighted by a periodic Hann window and filled with zeros to a power of two.
    """
    options = options_of(ctx)
    size, stride = int(options.get("window_size", 0)), int(options.get("stride", 0))
    x = ctx.value(0)
    if x.type.rank != 2 or size < 2 or stride < 1:
        raise ctx.wrong(f"windows of {size} samples, {stride} apart, in {x.type}")
    length = 1 << (size - 1).bit_length()
    turned = ctx.emit("transpose", x, perm=(1, 0))
    places = window_places(ctx, x.type.shape[0], size, stride, 1)
    parts = ctx.emit("gather", turned, places, axis=1)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    weighted = ctx.emit("mul", parts, ctx.const(hann.astype(np.float32)))
    column = ctx.emit("reshape", weighted, shape=(*parts.type.shape, 1))
    y = _power(ctx, ctx.emit("dft", column, length=as_dim(length), axis=-2, onesided=True))
    return y if options.get("magnitude_squared", False) else ctx.final("sqrt", y)


@tflite_op("Mfcc", custom=True)
def mfcc(ctx: OperatorContext) -> Any:
    """Cepstral coefficients [channels, frames, count] of squared magnitudes [channels, frames, bins]; the second
    input is the sample rate.
    """
    options = options_of(ctx)
    x = ctx.value(0)
    (bins,) = need_static(ctx, [x.type.shape[-1]], "the number of bins")
    rate = float(ctx.need_constant(1, "the sample rate").reshape(-1)[0])
    bands = int(options.get("filterbank_channel_count", 40))
    count = int(options.get("dct_coefficient_count", 13))
    low = float(options.get("lower_frequency_limit", 20))
    high = float(options.get("upper_frequency_limit", 4000))
    if x.type.rank != 3 or bins < 2 or not 1 <= count <= bands or not 0 <= low < high or rate <= 0:
        raise ctx.wrong(
            f"{count} coefficients of {bands} bands from {low} to {high} Hz of {x.type}"
        )
    if int(high / (0.5 * rate / (bins - 1))) >= bins:
        raise ctx.wrong(f"the band up to {high} Hz lies above the {bins} bins of {rate} Hz")
    filters = mel_filters(bins, rate, bands, low, high).astype(np.float32)
    energy = ctx.emit("matmul", ctx.emit("sqrt", x), ctx.const(filters))
    logarithm = ctx.emit("log", ctx.emit("max", energy, ctx.const(np.float32(1e-12))))
    angles = np.pi / bands * np.outer(np.arange(bands) + 0.5, np.arange(count))
    cosines = (np.sqrt(2 / bands) * np.cos(angles)).astype(np.float32)
    return ctx.final("matmul", logarithm, ctx.const(cosines))


def mel_filters(bins: int, rate: float, bands: int, low: float, high: float) -> Any:
    """Weights [bins, bands] of triangles that are evenly spaced on the mel scale, without bin 0."""

    def mel(frequency: Any) -> Any:
        return 1127.0 * np.log1p(frequency / 700.0)

    width = 0.5 * rate / (bins - 1)
    index = np.arange(bins)
    used = (index >= int(1.5 + low / width)) & (index <= int(high / width))
    place = (mel(index * width) - mel(low)) / ((mel(high) - mel(low)) / (bands + 1))
    right = np.clip(np.ceil(place) - 1, 0, bands).astype(int)  # the triangle that rises here
    falling = right + 1 - place  # the weight in the triangle before it
    weights = np.zeros((bins, bands + 2))
    rows = index[used]
    weights[rows, right[used]] = falling[used]
    weights[rows, right[used] + 1] = 1 - falling[used]
    return weights[:, 1 : bands + 1]
