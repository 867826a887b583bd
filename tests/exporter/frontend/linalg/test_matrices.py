# SPDX-License-Identifier: Apache-2.0
"""What linear algebra takes, and which matrix of a batch it names when one fails."""

from __future__ import annotations

import numpy as np
import pytest

import samara
from samara.exporter.frontend.linalg.matrices import LinAlgError, computed, matrices
from samara.pybridge.errors import SamaraError, ShapeError, UnsupportedError


def test_matrices_are_checked() -> None:
    assert matrices("f", np.eye(2)).shape == (2, 2)
    assert matrices("f", samara.zeros(4, 2, 3)).shape == (4, 2, 3)
    for value, kind, text in (
        (samara.zeros(3), ShapeError, "linalg.f needs matrices"),
        (samara.zeros(3, 2), ShapeError, "linalg.f needs square matrices"),
        (samara.zeros(2, 2).half(), UnsupportedError, "linalg.f of float16"),
    ):
        with pytest.raises(kind, match=text):
            matrices("f", value, square=True)


def test_the_failing_matrix_is_named() -> None:
    batch = np.stack([np.eye(2)] * 6).reshape(2, 3, 2, 2)
    assert computed("inv", "is singular", np.linalg.inv, batch).shape == batch.shape
    batch[1, 2] = 0
    with pytest.raises(LinAlgError, match=r"linalg.inv: matrix \[1, 2\] of the batch is singular"):
        computed("inv", "is singular", np.linalg.inv, batch)
    with pytest.raises(LinAlgError, match=r"matrix \[1, 2\] of the batch"):
        computed("solve", "is singular", np.linalg.solve, batch, np.ones_like(batch))
    assert issubclass(LinAlgError, SamaraError)
    assert issubclass(LinAlgError, np.linalg.LinAlgError)
    assert issubclass(LinAlgError, samara.linalg.LinAlgError)
