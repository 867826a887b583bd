# SPDX-License-Identifier: Apache-2.0
"""Normalisation: gradients, float32, PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity
from tests.exporter.frontend.parity import functional as f

import samara
from samara.nn import functional as F
from samara.pybridge.errors import SamaraError, ShapeError


def trained(m: Any, x: Any, w: Any, b: Any) -> Any:
    """Batch norm in training, and the running statistics afterwards."""
    mean, var = m.zeros(3, dtype=x.dtype), m.ones(3, dtype=x.dtype)
    y = f(m).batch_norm(x, mean, var, w, b, True, 0.3, 1e-3)
    return y, mean, var


def instance(m: Any, x: Any, w: Any, b: Any) -> Any:
    """Instance norm in training, and the running statistics afterwards."""
    mean, var = m.zeros(3, dtype=x.dtype), m.ones(3, dtype=x.dtype)
    y = f(m).instance_norm(x, mean, var, w, b, True, 0.3)
    return y, mean, var


CASES: parity.Cases = {
    "batch_norm_2d": (trained, (5, 3), (3,), (3,)),
    "batch_norm_3d": (trained, (2, 3, 4), (3,), (3,)),
    "batch_norm_4d": (trained, (2, 3, 2, 3), (3,), (3,)),
    "batch_norm_5d": (trained, (2, 3, 2, 1, 2), (3,), (3,)),
    "batch_norm_plain": (lambda m, x: f(m).batch_norm(x, None, None, training=True), (4, 3, 2)),
    "batch_norm_eval": (
        lambda m, x, u, v, w, b: f(m).batch_norm(x, u, v, w, b),
        (2, 3, 2, 2), parity.Fixed((3,)), parity.Fixed(np.array([0.5, 1.0, 2.0])), (3,), (3,),
    ),
    "layer_norm": (lambda m, x, w, b: f(m).layer_norm(x, (4,), w, b), (2, 3, 4), (4,), (4,)),
    "layer_norm_2": (lambda m, x, w, b: f(m).layer_norm(x, (3, 4), w, b, 1e-3), (2, 3, 4), (3, 4), (3, 4)),
    "layer_norm_plain": (lambda m, x: f(m).layer_norm(x, (4,)), (3, 4)),
    "rms_norm": (lambda m, x, w: f(m).rms_norm(x, (4,), w, 1e-5), (2, 3, 4), (4,)),
    "rms_norm_eps": (lambda m, x: f(m).rms_norm(x, (4,)), (2, 3, 4)),
    "group_norm": (lambda m, x, w, b: f(m).group_norm(x, 2, w, b), (2, 4, 3, 2), (4,), (4,)),
    "group_norm_2d": (lambda m, x: f(m).group_norm(x, 2), (3, 6)),
    "group_norm_1d": (lambda m, x, w, b: f(m).group_norm(x, 2, w, b), (2, 4, 5), (4,), (4,)),
    "instance_norm": (instance, (2, 3, 4), (3,), (3,)),
    "instance_norm_4d": (lambda m, x: f(m).instance_norm(x), (2, 3, 4, 2)),
    "local_response_norm": (lambda m, x: f(m).local_response_norm(x, 3, 0.1, 0.75, 2.0), (2, 5, 3, 2)),
}  # fmt: skip


test_gradients, test_second_gradients, test_float32, test_exported, test_as_pytorch = parity.proofs(
    CASES, *parity.CALLS
)


def test_errors() -> None:
    with pytest.raises(ShapeError, match="more than one value"):
        F.batch_norm(samara.zeros(1, 3), None, None, training=True)
    with pytest.raises(SamaraError, match="running statistics"):
        F.batch_norm(samara.zeros(2, 3), None, None)
    with pytest.raises(ShapeError, match="groups"):
        F.group_norm(samara.zeros(2, 3, 4), 2)
    with pytest.raises(ShapeError, match="layer_norm"):
        F.layer_norm(samara.zeros(2, 3), (4,))
