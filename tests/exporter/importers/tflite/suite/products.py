# SPDX-License-Identifier: Apache-2.0
"""Matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    Real,
    X,
    bias,
    entries,
    normal,
    product,
    uniform,
    weights,
)

_KINDS = "float32, int8, int8 per tensor, uint8, 16x8"


def fully_connected(
    rng: Any, size: Any, units: int, keep: bool = False, act: str = "NONE", has_bias: bool = True
) -> Real:
    w = normal(rng, (units, size[-1]))
    operands: list[X | None] = [X(uniform(rng, size)), weights(w)]
    operands.append(bias(normal(rng, (units,))) if has_bias else None)
    options = {"keep_num_dims": keep, "fused_activation_function": act}
    return Real("FULLY_CONNECTED", operands, options)


def _dense() -> Iterator[Entry]:
    given = [
        *product(size=[(1, 8), (3, 8), (1, 33), (5, 64)], units=[1, 5, 16], has_bias=[True, False]),
        *product(size=[(2, 3, 8), (1, 4, 1, 16)], units=[6], keep=[True, False], has_bias=[True, False]),
        *product(size=[(4, 10)], units=[7], act=["RELU", "RELU6", "RELU_N1_TO_1"]),
    ]  # fmt: skip
    yield from entries("products", "FULLY_CONNECTED", _KINDS, fully_connected, given)
    given = [
        *product(
            size=[(1, 8), (3, 32), (2, 3, 16)],
            units=[1, 6, 16],
            keep=[True],
            has_bias=[True, False],
        ),
        *product(size=[(4, 16)], units=[7], act=["RELU", "RELU6"]),
    ]
    yield from entries(
        "products", "FULLY_CONNECTED", "int8 weights, int4 weights", fully_connected, given
    )


_SHAPES = (
    ((3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((1, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (1, 3, 4, 5)),
    ((2, 3, 2, 4), (4, 5)),
    ((1, 1, 16), (1, 16, 1)),
    ((1, 2, 2, 3, 4), (3, 1, 2, 4, 2)),
)


def _turned(shape: Any) -> Any:
    return (*shape[:-2], shape[-1], shape[-2])


def batch_matmul(rng: Any, shapes: Any, adj_x: bool, adj_y: bool, constant: bool = False) -> Real:
    x, y = shapes
    operands = [
        X(uniform(rng, _turned(x) if adj_x else x)),
        X(uniform(rng, _turned(y) if adj_y else y), constant=constant),
    ]
    return Real("BATCH_MATMUL", operands, {"adj_x": adj_x, "adj_y": adj_y})


def _matmuls() -> Iterator[Entry]:
    flags = [False, True]
    given = [
        *product(shapes=_SHAPES, adj_x=flags, adj_y=flags),
        *product(shapes=_SHAPES[:5], adj_x=[False], adj_y=flags, constant=[True]),
    ]
    yield from entries("products", "BATCH_MATMUL", "float32, int8, int16", batch_matmul, given)


def cases() -> Iterator[Entry]:
    yield from _dense()
    yield from _matmuls()
