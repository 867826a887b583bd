# SPDX-License-Identifier: Apache-2.0
"""`import_tflite` as users call it: a path, bytes, and the error with all problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Graph, Op, T, built, small_tflite, witness

from samara import import_tflite
from samara.exporter.types import UnsupportedError


def test_path_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(small_tflite())
    image = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 8, 8, 1)
    want = witness(small_tflite(), [image])[0]
    for source in (path, str(path), small_tflite()):
        got = import_tflite(source).run({"image": image})["probability"]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_the_error_has_all_problems() -> None:
    tensors = [T(np.zeros(2, np.float32)), *[T(kind="FLOAT32", shape=(2,))] * 2]
    ops = [Op("One", [0], [1], is_custom=True), Op("Two", [0], [2], is_custom=True)]
    with pytest.raises(UnsupportedError, match="2 problems found") as caught:
        import_tflite(built(Graph(tensors, ops, [0], [1, 2])))
    assert "'One'" in str(caught.value)
    assert "'Two'" in str(caught.value)
