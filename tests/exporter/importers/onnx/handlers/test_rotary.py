# SPDX-License-Identifier: Apache-2.0
"""RotaryEmbedding against onnx.reference: layouts, pairs, parts of the features, positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, kinds, normal

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError

B, H, S, D = 2, 3, 4, 8


def angles(half: int, positions: bool) -> list[Array]:
    shape = (10, half) if positions else (B, S, half)
    table = normal(*shape, seed=5)
    given = [np.cos(table), np.sin(table)]
    return [*given, np.random.default_rng(1).integers(0, 10, (B, S))] if positions else given


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("paired", [0, 1])
@pytest.mark.parametrize("turned", [0, 4])
@pytest.mark.parametrize("positions", [False, True])
def test_forms(flat: bool, paired: int, turned: int, positions: bool) -> None:
    x = normal(B, S, H * D) if flat else normal(B, H, S, D)
    attrs: dict[str, Any] = {"interleaved": paired, "rotary_embedding_dim": turned}
    attrs |= {"num_heads": H} if flat else {}
    inputs = [x, *angles((turned or D) // 2, positions)]
    case = Case("RotaryEmbedding", inputs, attrs, 23, reference=True)
    assert "transpose" not in kinds(case.check_native())


def test_symbols() -> None:
    inputs = [normal(B, H, S, D), *angles(2, True)]
    attrs = {"rotary_embedding_dim": 4}
    Case("RotaryEmbedding", inputs, attrs, 23, symbolic=True, reference=True).check_native()


def test_refuses() -> None:
    x, (cos, sin) = normal(B, H, S, D), angles(D // 2, False)
    with pytest.raises(ShapeError, match="expected 2 angles"):
        import_onnx(Case("RotaryEmbedding", [x, cos, sin], {"rotary_embedding_dim": 4}, 23).model())
    with pytest.raises(ShapeError, match="num_heads"):
        import_onnx(Case("RotaryEmbedding", [normal(B, S, H * D), cos, sin], {}, 23).model())
    with pytest.raises(ShapeError, match="pairs"):
        import_onnx(Case("RotaryEmbedding", [x, cos, sin], {"rotary_embedding_dim": 3}, 23).model())
