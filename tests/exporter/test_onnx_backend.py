# SPDX-License-Identifier: Apache-2.0
"""The backend interface of ONNX: prepare, run_model, run_node, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import onnx.parser
import pytest

from samara import onnx_backend as backend
from samara.exporter.types import ShapeError, UnsupportedError

X = np.array([[1, -2], [3, -4]], np.float32)


def model(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 21]> ' + graph)


TWO = "g (float[2, 2] x, float[2, 2] w) => (float[2, 2] y, float[2, 2] z) { y = Relu(x)  z = Add(x, w) }"


def test_prepare_and_run() -> None:
    rep = backend.prepare(model(TWO))
    for feeds in ([X, X], {"x": X, "w": X}):
        y, z = rep.run(feeds)
        np.testing.assert_array_equal(y, np.maximum(X, 0))
        np.testing.assert_array_equal(z, X + X)
    by_name: Any = rep.run([X, X])
    assert by_name["z"][0, 0] == 2
    assert rep.session.inputs[1].name == "w"


def test_initializers_are_no_inputs() -> None:
    graph = "g (float[2, 2] x, float[2] w) => (float[2, 2] y) <float[2] w = {1.0, 2.0}> { y = Mul(x, w) }"
    (y,) = backend.run_model(model(graph), X)
    np.testing.assert_array_equal(y, X * np.array([1, 2], np.float32))


def test_run_node() -> None:
    (y,) = backend.run_node(oh.make_node("Gemm", ["a", "b"], ["y"], transB=1), [X, X])
    np.testing.assert_array_equal(y, X @ X.T)
    old = oh.make_node("Clip", ["a"], ["y"], min=-1.0, max=1.0)
    (y,) = backend.run_node(old, [X], opset_version=6)
    np.testing.assert_array_equal(y, np.clip(X, -1, 1))


def test_what_is_refused() -> None:
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA:0")
    with pytest.raises(UnsupportedError, match="CUDA"):
        backend.prepare(model(TWO), "CUDA")
    unknown = model("g (float[2] x) => (float[2] y) { y = Nothing(x) }")
    assert backend.is_compatible(model(TWO))
    assert not backend.is_compatible(unknown)
    with pytest.raises(UnsupportedError, match="Nothing"):
        backend.prepare(unknown)
    with pytest.raises(ShapeError, match="1 inputs given, the model has 2"):
        backend.prepare(model(TWO)).run([X])
    with pytest.raises(UnsupportedError, match="no option"):
        backend.prepare(model(TWO)).run([X, X], threads=2)
