# SPDX-License-Identifier: Apache-2.0
"""Attention operators of com.microsoft: onnxruntime's answers, in the interpreter and the C runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, ms, normal, scalar

from samara.exporter.types import UnsupportedError

B, S, D, N = 2, 3, 8, 2


def trimmed(inputs: list[Array | None]) -> list[Array | None]:
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
    return inputs


MASKS: dict[str, Any] = {
    "none": None,
    "ends": np.array([2, 3], np.int32),
    "ends and starts": np.array([3, 2, 1, 0], np.int32),
    "keys": np.array([[1, 1, 0], [0, 1, 1]], np.int32),
    "rows and keys": np.tril(np.ones((2, 3, 3), np.int32)),
}


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("symbolic", [False, True])
def test_attention(mask: str, unidirectional: int, symbolic: bool) -> None:
    inputs = trimmed(
        [normal(B, S, D), normal(D, 3 * D, seed=1), normal(3 * D, seed=2), MASKS[mask]]
    )
    attrs = {"num_heads": N, "unidirectional": unidirectional}
    if symbolic and mask == "ends and starts":
        return  # only their number tells them from ends
    ms("Attention", inputs, attrs, (1, 2), symbolic=symbolic).check_native()


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [None, np.array([[1, 1, 1, 0, 1], [1, 0, 1, 1, 1]], np.int32)])
def test_attention_with_a_past(mask: Any, unidirectional: int) -> None:
    past = normal(2, B, N, 2, D // N, seed=5)
    inputs = trimmed([normal(B, S, D), normal(D, 3 * D, seed=1), normal(3 * D, seed=2), mask, past])
    attrs = {"num_heads": N, "unidirectional": unidirectional}
    ms("Attention", inputs, attrs, (1, 2), outputs=2).check_native()


def test_attention_with_scale_bias_and_sizes() -> None:
    inputs = [normal(B, S, 6), normal(6, 20, seed=1), normal(20, seed=2), None, None]
    attrs = {"num_heads": N, "scale": 0.3, "qkv_hidden_sizes": [8, 8, 4]}
    for shape in ((B, N), (1, 1)):
        bias = normal(*shape, S, S, seed=3)
        ms("Attention", [*inputs, bias], attrs, (1, 2)).check_native()


@pytest.mark.parametrize("past", [False, True])
def test_quantized_attention(past: bool) -> None:
    rng = np.random.default_rng(1)
    # 7 bits: without VNNI, ONNX Runtime saturates products with uint8.
    weights = rng.integers(-64, 64, (D, 3 * D)).astype(np.int8)
    inputs: list[Array | None] = [
        rng.integers(0, 256, (B, S, D)).astype(np.uint8), weights, normal(3 * D, seed=2), scalar(0.01), scalar(0.01),
        None, scalar(130, np.uint8), scalar(0, np.int8),
    ]  # fmt: skip
    inputs += [normal(2, B, N, 2, D // N, seed=5)] * past
    attrs = {"num_heads": N, "unidirectional": 1}
    ms("QAttention", inputs, attrs, (1, 2, 3, 4, 6, 7), outputs=2 if past else 1).check_native()


def operands(keys: int = 5, heads_first: bool = False) -> list[Array]:
    if heads_first:
        return [normal(B, S, D), *(normal(B, N, keys, D // N, seed=s) for s in (1, 2))]
    return [normal(B, S, D), *(normal(B, keys, D, seed=s) for s in (1, 2))]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "mask",
    [None, np.array([4, 2], np.int32), np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], np.int32)],
)
def test_multi_head_attention(mask: Any, bias: bool) -> None:
    inputs = trimmed([*operands(), normal(3 * D, seed=4) if bias else None, mask])
    ms("MultiHeadAttention", inputs, {"num_heads": N}).check_native()


def test_multi_head_attention_forms() -> None:
    heads = {"num_heads": N}
    ms("MultiHeadAttention", operands(5, True), heads).check_native()
    attrs = {**heads, "unidirectional": 1, "scale": 0.2}
    ms("MultiHeadAttention", operands(S), attrs).check_native()
    added = [*operands(), None, None, normal(1, N, S, 5, seed=7)]
    ms("MultiHeadAttention", added, heads).check_native()
    past = [normal(B, N, 4, D // N, seed=s) for s in (8, 9)]
    cached = [*operands(S), None, None, None, *past]
    for more in ({}, {"unidirectional": 1}):
        ms("MultiHeadAttention", cached, {**heads, **more}, outputs=3).check_native()
    packed = normal(B, S, N, 3, D // N)
    ms("MultiHeadAttention", [packed], heads).refused(UnsupportedError, "packed")


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("places", [np.array([2]), np.array([[0, 1, 2], [5, 3, 4]])])
@pytest.mark.parametrize("heads_first", [False, True])
def test_rotary_embedding(interleaved: int, places: Any, heads_first: bool) -> None:
    x = normal(B, N, S, 6) if heads_first else normal(B, S, N * 6)
    inputs = [x, places.astype(np.int64), normal(9, 3, seed=1), normal(9, 3, seed=2)]
    ms("RotaryEmbedding", inputs, {"interleaved": interleaved}, (2, 3)).check_native()
    part = [x, places.astype(np.int64), normal(9, 2, seed=1), normal(9, 2, seed=2)]
    attrs = {"interleaved": interleaved, "rotary_embedding_dim": 4, "num_heads": N}
    ms("RotaryEmbedding", part, attrs, (2, 3)).check_native()
