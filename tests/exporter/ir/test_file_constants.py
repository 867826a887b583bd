# SPDX-License-Identifier: Apache-2.0
"""Constants of a file: data, panels, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.ir.file_constants import Constants
from samara.exporter.ir.panels import pack_conv, pack_matmul
from samara.exporter.ir.schema import Layout
from samara.exporter.ops import WeightForm
from samara.exporter.types import DType, ModelFormatError

START = 64  # of the only segment


def constants(
    data: bytes, dims: tuple[int, ...], dtype: DType = DType.F32, **row: Any
) -> Constants:
    """One constant, alone in its segment."""
    plain = {"layout": Layout.PLAIN, "groups": 1, "panel_stride": 0, "segment": 0, "offset": 0}
    rows = [{"name": "w", "dtype": int(dtype), "dims": dims, "size": len(data), **plain, **row}]
    return Constants(bytes(START) + data, rows, [("weights", START, len(data))])


def refused(message: str, data: bytes, dims: tuple[int, ...], **row: Any) -> None:
    demand = row.pop("demand", (WeightForm.CONV, 1))
    with pytest.raises(ModelFormatError, match=message):
        constants(data, dims, **row).array(0, demand)


def test_plain_data(rng: np.random.Generator) -> None:
    want = rng.standard_normal((3, 4)).astype(np.float32)
    held = constants(want.tobytes(), (3, 4))
    np.testing.assert_array_equal(held.array(0), want)
    assert held.array(0) is held.array(0)
    assert not held.array(0).flags.writeable


def test_panels_are_read_as_their_use_demands(rng: np.random.Generator) -> None:
    w = rng.standard_normal((20, 3, 3, 5)).astype(np.float32)
    packed = pack_conv(w, 1)
    row: dict[str, Any] = {
        "layout": packed.layout,
        "groups": packed.groups,
        "panel_stride": packed.panel_stride,
    }
    held = constants(packed.data, w.shape, **row)
    np.testing.assert_array_equal(held.array(0, (WeightForm.CONV, 1)), w)
    refused("has 1 groups, its use has 2", packed.data, w.shape, **row, demand=(WeightForm.CONV, 2))
    refused(
        "panels, which its uses cannot",
        packed.data,
        w.shape,
        **row,
        demand=(WeightForm.MATMUL, False),
    )
    refused(
        "panel stride", packed.data, w.shape, **{**row, "panel_stride": packed.panel_stride + 64}
    )
    refused("too few for its panels", packed.data[:-64], w.shape, **row)

    m = rng.standard_normal((7, 18)).astype(np.float32)
    packed = pack_matmul(m, False)
    row = {"layout": packed.layout, "groups": packed.groups, "panel_stride": packed.panel_stride}
    held = constants(packed.data, m.shape, **row)
    np.testing.assert_array_equal(held.array(0, (WeightForm.MATMUL, False)), m)


def test_rows_that_cannot_be_are_refused() -> None:
    refused("shape \\[2, -1\\]", bytes(8), (2, -1))
    refused("elements", bytes(8), (1 << 21, 1 << 21))
    refused("unknown layout 9", bytes(8), (2,), layout=9)
    refused("unknown dtype 77", bytes(8), (2,), dtype=77)
    refused("segment 1, which is absent", bytes(8), (2,), segment=1)
    refused("beyond the end of its segment", bytes(8), (2,), offset=4)
    refused("has 8 bytes, it needs 12", bytes(8), (3,))
    refused("bytes other than 0 and 1", bytes([0, 2]), (2,), dtype=DType.BOOL)
    with pytest.raises(ModelFormatError, match="there is no constant 1"):
        constants(bytes(8), (2,)).array(1)
