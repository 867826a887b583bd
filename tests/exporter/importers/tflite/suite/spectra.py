# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, complex numbers behind them, and features of sound made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import Case, Graph, Op, T, built, const
from tests.exporter.importers.tflite.suite.detection import flexible
from tests.exporter.importers.tflite.suite.entries import Entry, exact_entries, normal, product


@dataclass(frozen=True)
class Transformed(Case):
    """A Fourier transform before the operator, between them one that changes the shape: its name, or nothing."""

    lengths: tuple[int, int] = (1, 1)
    between: str = ""

    def model(self) -> bytes:
        (x,) = self.feeds()
        height, width = self.lengths
        shape = [*x.shape[:-2], height, width // 2 + 1]
        tensors = [
            T(x), const(np.array(self.lengths, np.int32)), T(kind="COMPLEX64", shape=shape),
            *self.outputs,
        ]  # fmt: skip
        ops = [Op("RFFT2D", [0, 1], [2], {})]
        last = 2
        if self.between:
            last = 4
            more = {
                "SQUEEZE": [d for d in shape if d != 1],
                "EXPAND_DIMS": [1, *shape],
                "RESHAPE": [int(np.prod(shape))],
            }
            tensors.append(T(kind="COMPLEX64", shape=more[self.between]))
            given = [2]
            if self.between != "SQUEEZE":
                tensors.append(
                    const(
                        np.int32(0) if self.between == "EXPAND_DIMS" else np.array([-1], np.int32)
                    )
                )
                given.append(5)
            ops.append(Op(self.between, given, [4]))
        ops.append(Op(self.op, [last], [3]))
        return built(Graph(tensors, ops, [0], [3]))


def transformed(op: str) -> Any:
    def make(rng: Any, kind: str, shape: Any, lengths: Any, between: str = "") -> Case:
        size = float(np.sqrt(np.prod(lengths)))
        return Transformed(
            op,
            [T(normal(rng, shape))],
            atol=1e-5 * size,
            rtol=1e-4,
            lengths=lengths,
            between=between,
        )

    return make


def spectrogram(
    rng: Any, kind: str, samples: int, channels: int, window: int, stride: int, squared: bool
) -> Case:
    options = {"window_size": window, "stride": stride, "magnitude_squared": squared}
    x = normal(rng, (samples, channels))
    return Case(
        "AudioSpectrogram", [T(x)], is_custom=True, custom=flexible(options), rtol=1e-4, atol=1e-3
    )


def mfcc(rng: Any, kind: str, bins: int, rate: int, bands: int, count: int) -> Case:
    options = {
        "upper_frequency_limit": 4000, "lower_frequency_limit": 20, "filterbank_channel_count": bands,
        "dct_coefficient_count": count,
    }  # fmt: skip
    x = np.square(normal(rng, (2, 3, bins)))
    return Case(
        "Mfcc", [T(x), const(np.array([rate], np.int32))], is_custom=True, custom=flexible(options),
        rtol=1e-3, atol=1e-3,
    )  # fmt: skip


def cases() -> Iterator[Entry]:
    sizes = [
        ((8, 8), (8, 8)), ((2, 4, 16), (4, 16)), ((1, 64), (1, 64)), ((3, 1, 100), (1, 128)),
        ((4, 8), (2, 4)), ((6, 10), (8, 16)),
    ]  # fmt: skip
    given = [{"shape": s, "lengths": n} for s, n in sizes]
    for op in ("COMPLEX_ABS", "REAL", "IMAG"):
        yield from exact_entries("spectra", op, "float32", transformed(op), given)
    more = [
        {"shape": (3, 1, 16), "lengths": (1, 16), "between": b}
        for b in ("SQUEEZE", "EXPAND_DIMS", "RESHAPE")
    ]
    for e in exact_entries(
        "spectra", "COMPLEX_ABS", "float32", transformed("COMPLEX_ABS"), [*given, *more]
    ):
        yield Entry("spectra", "RFFT2D", e.kind, e.detail, e.make)
    yield from exact_entries(
        "spectra", "AudioSpectrogram", "float32", spectrogram,
        product(samples=[400, 50], channels=[1, 2], window=[64, 100], stride=[32, 100], squared=[False, True]),
    )  # fmt: skip
    yield from exact_entries(
        "spectra", "Mfcc", "float32", mfcc,
        [{"bins": b, "rate": r, "bands": n, "count": c} for b, r, n, c in
         ((257, 16000, 40, 13), (513, 22050, 40, 20), (257, 16000, 20, 20), (129, 8000, 10, 10))],
    )  # fmt: skip
