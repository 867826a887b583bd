# SPDX-License-Identifier: Apache-2.0
"""The float64 reference of the benchmark."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reference import convolution, sqnr_db


def _slowly(x: np.ndarray, w: np.ndarray, strides, pads, dilations, group) -> np.ndarray:  # type: ignore[no-untyped-def]
    top, left, bottom, right = pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    out, each, kh, kw = w.shape
    rows = (padded.shape[2] - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    columns = (padded.shape[3] - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.zeros((1, out, rows, columns))
    for o in range(out):
        first = o // (out // group) * each
        for r in range(rows):
            for c in range(columns):
                top, left = r * strides[0], c * strides[1]
                seen = padded[
                    0,
                    first : first + each,
                    top : top + kh * dilations[0] : dilations[0],
                    left : left + kw * dilations[1] : dilations[1],
                ]
                y[0, o, r, c] = (seen[:, :kh, :kw] * w[o]).sum()
    return y


@pytest.mark.parametrize(
    ("strides", "pads", "dilations", "group"),
    [
        ((1, 1), (0, 0, 0, 0), (1, 1), 1),
        ((2, 1), (1, 0, 2, 1), (1, 1), 2),
        ((1, 2), (2, 2, 2, 2), (2, 1), 4),
    ],
)
def test_convolution(
    rng: np.random.Generator,
    strides: tuple[int, int],
    pads: tuple[int, int, int, int],
    dilations: tuple[int, int],
    group: int,
) -> None:
    x, w = rng.standard_normal((1, 4, 9, 8)), rng.standard_normal((8, 4 // group, 3, 2))
    got = convolution(x, w, strides=strides, pads=pads, dilations=dilations, group=group)
    assert np.allclose(got, _slowly(x, w, strides, pads, dilations, group), rtol=1e-12, atol=1e-12)


def test_convolution_of_sequences(rng: np.random.Generator) -> None:
    x, w = rng.standard_normal((1, 3, 10)), rng.standard_normal((5, 3, 3))
    got = convolution(x, w, strides=(2,), pads=(2, 0), dilations=(1,))
    padded = np.pad(x[0], ((0, 0), (2, 0)))
    want = [[(padded[:, 2 * t : 2 * t + 3] * w[o]).sum() for t in range(5)] for o in range(5)]
    assert np.allclose(got[0], want)


def test_sqnr() -> None:
    want = np.array([1.0, -1.0, 1.0])
    assert sqnr_db(want, want * 1.01) == pytest.approx(40.0)
    assert sqnr_db(want, want[:2]) == float("-inf")
    assert sqnr_db(want, np.array([1.0, np.nan, 1.0])) == float("-inf")
