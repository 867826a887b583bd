# SPDX-License-Identifier: Apache-2.0
"""Matrix products: what the suite of cases does not say."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import Case, T, const

from samara.exporter.types import ShapeError

RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def test_a_symbolic_batch() -> None:
    x = T(_floats(3, 8), signature=[-1, 8])
    program = Case("FULLY_CONNECTED", [x, const(_floats(5, 8)), const(_floats(5))]).check()
    assert not program.main.inputs[0].type.is_static
    assert [n.op.name for n in program.main.nodes] == ["matmul"]


def test_a_symbolic_batch_that_is_joined() -> None:
    x = T(_floats(2, 3, 8), signature=[-1, 3, 8])
    program = Case("FULLY_CONNECTED", [x, const(_floats(5, 8)), None]).check()
    assert [n.op.name for n in program.main.nodes] == ["reshape", "matmul"]


def test_int8_weights_stay_int8() -> None:
    w = const(RNG.integers(-127, 128, (5, 8)).astype(np.int8), scale=0.01)
    program = Case("FULLY_CONNECTED", [T(_floats(3, 8)), w, None], atol=0.1, rtol=0.1).check()
    assert [n.op.name for n in program.main.nodes] == ["matmul_dynamic"]


def test_weights_that_do_not_fit() -> None:
    Case("FULLY_CONNECTED", [T(_floats(3, 7)), const(_floats(5, 8)), None]).refused(
        ShapeError, "does not fit weights"
    )
    Case("FULLY_CONNECTED", [T(_floats(3, 8)), const(_floats(5, 2, 8)), None]).refused(
        ShapeError, "expected rank 2"
    )


def test_no_matrices() -> None:
    Case("BATCH_MATMUL", [T(_floats(4)), T(_floats(4, 3))]).refused(ShapeError, "needs matrices")
