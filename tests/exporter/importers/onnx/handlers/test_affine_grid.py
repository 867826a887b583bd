# SPDX-License-Identifier: Apache-2.0
"""AffineGrid against onnx.reference, with sizes known beforehand and at run time only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Case, ints, normal

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import SamaraError

CLOSE: Any = {"atol": 1e-5, "rtol": 1e-5}


@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (2, 1, 5, 2), (2, 3, 4, 5, 3)])
@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("constant", [False, True])
def test_grids(sizes: tuple[int, ...], aligned: int, constant: bool) -> None:
    k = len(sizes) - 2
    theta = normal(2, k, k + 1)
    inputs, attrs = [theta, ints(*sizes)], {"align_corners": aligned}
    constants = (1,) if constant else ()
    Case("AffineGrid", inputs, attrs, 20, constants, reference=True, **CLOSE).check_native()


def test_half_precision_and_symbols() -> None:
    """onnx.reference answers a float16 theta in float64: the float32 one tells."""
    theta = normal(2, 2, 3).astype(np.float16)
    wide = Case("AffineGrid", [theta.astype(np.float32), ints(2, 1, 3, 4)], {}, 20, (1,), symbolic=True,
                reference=True, **CLOSE)  # fmt: skip
    want = wide.check_native().run(wide.feeds())["y0"]
    case = Case("AffineGrid", [theta, ints(2, 1, 3, 4)], {}, 20, (1,), symbolic=True)
    got = case.run()["y0"]
    assert got.dtype == np.float16
    np.testing.assert_allclose(got.astype(np.float32), want, rtol=2e-3, atol=2e-3)


def test_an_axis_of_one_element() -> None:
    """Its centre is 0; aligned with the corners it lies at the first one."""
    theta = np.array([[[1, 0, 0], [0, 1, 0]]], np.float32)
    for aligned, want in ((0, 0.0), (1, -1.0)):
        case = Case("AffineGrid", [theta, ints(1, 1, 1, 2)], {"align_corners": aligned}, 20, (1,))
        grid = case.run()["y0"]
        np.testing.assert_allclose(grid[0, 0, :, 1], want)


def test_refuses() -> None:
    with pytest.raises(SamaraError, match="do not describe a grid of 2 or 3 axes"):
        import_onnx(Case("AffineGrid", [normal(2, 2, 3), ints(2, 1, 3)], {}, 20, (1,)).model())
    with pytest.raises(SamaraError, match="axis 0 of theta"):
        import_onnx(Case("AffineGrid", [normal(2, 2, 3), ints(3, 1, 3, 3)], {}, 20, (1,)).model())
