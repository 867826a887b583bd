# SPDX-License-Identifier: Apache-2.0
"""Integer SVDF that gives TFLite's own integers, call after call."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const
from tests.exporter.importers.tflite.recurrent_models import check_calls


@pytest.mark.parametrize(("rank", "bias"), [(1, True), (2, True), (2, False)])
@pytest.mark.parametrize("zero", [0, -9])
def test_svdf(rank: int, bias: bool, zero: int) -> None:
    rng = np.random.default_rng(rank)
    units, memory, size = 5, 4, 7
    count = units * rank
    feeds = [[rng.integers(-128, 128, (2, size)).astype(np.int8)] for _ in range(6)]
    inputs = [
        T(feeds[0][0], scale=0.02, zero=zero),
        const(rng.integers(-127, 128, (count, size)).astype(np.int8), scale=0.01),
        const(rng.integers(-32767, 32768, (count, memory)).astype(np.int16), scale=2.0**-15),
        const(rng.integers(-9000, 9000, units).astype(np.int32), scale=2.0**-26) if bias else None,
        T(kind="INT16", shape=(2, count * memory), variable=True, scale=2.0**-11),
    ]
    y = T(kind="INT8", shape=(), scale=0.05, zero=zero)
    options = {"rank": rank, "fused_activation_function": "RELU"}
    check_calls(Case("SVDF", inputs, [y], options, version=3), feeds, exact=True)
