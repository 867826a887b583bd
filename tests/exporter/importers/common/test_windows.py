# SPDX-License-Identifier: Apache-2.0
"""Padding with which a window has an output per stride."""

from __future__ import annotations

import pytest

from samara.exporter.importers.common.windows import same_padding
from samara.exporter.types import as_dim


@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_same_padding(kernel: int, stride: int, dilation: int) -> None:
    for size in range(1, 12):
        padding = same_padding(as_dim(size), kernel, stride, dilation).as_int()
        reach = (kernel - 1) * dilation + 1
        outputs = -(-size // stride)
        assert (size + padding - reach) // stride + 1 >= outputs
        assert padding == 0 or (outputs - 1) * stride + reach == size + padding
