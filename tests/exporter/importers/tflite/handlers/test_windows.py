# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const

RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("stride", "dilation", "groups"), [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 1, 2)]
)
def test_conv_2d(padding: str, stride: int, dilation: int, groups: int) -> None:
    options = {
        "padding": padding, "stride_w": stride, "stride_h": stride, "dilation_w_factor": dilation,
        "dilation_h_factor": dilation, "fused_activation_function": "RELU6",
    }  # fmt: skip
    w, b = const(_floats(6, 3, 2, 4 // groups)), const(_floats(6))
    program = Case(
        "CONV_2D", [T(_floats(2, 7, 8, 4)), w, b], options=options, rtol=1e-4, atol=1e-5
    ).check()
    assert all(n.op.name != "pad" for n in program.main.nodes)
