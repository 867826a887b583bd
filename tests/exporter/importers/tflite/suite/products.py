# SPDX-License-Identifier: Apache-2.0
"""Matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import Case, T, const
from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    Real,
    X,
    bias,
    build,
    entries,
    exact_entries,
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


def hybrid_matmul(rng: Any, kind: str, shapes: Any, adj_y: bool, asymmetric: bool) -> Case:
    """Float x by a constant int8 y with one scale; LiteRT quantizes x while it runs."""
    x, y = uniform(rng, shapes[0]), normal(rng, _turned(shapes[1]) if adj_y else shapes[1])
    scale = float(np.abs(y).max() / 127)
    q = np.round(y / scale).astype(np.int8)
    options = {"adj_y": adj_y, "asymmetric_quantize_inputs": asymmetric}
    return Case(
        "BATCH_MATMUL", [T(x), const(q, scale=scale)], options=options, atol=0.25, rtol=0.05
    )


def asymmetric_dense(rng: Any, kind: str, size: Any, units: int) -> Case:
    """Activations that are quantized with a zero point while LiteRT runs."""
    case = build(fully_connected(rng, size, units), "int8 weights")
    # A step of x is 6 / 255, and a sum takes up to 32 products.
    options = {**case.options, "asymmetric_quantize_inputs": True}
    return replace(case, options=options, atol=0.1)


def _hybrids() -> Iterator[Entry]:
    given = product(shapes=_SHAPES[:5], adj_y=[False, True], asymmetric=[False, True])
    yield from exact_entries("products", "BATCH_MATMUL", "int8 weights", hybrid_matmul, given)
    given = product(size=[(1, 8), (3, 32)], units=[1, 6])
    for e in exact_entries("products", "FULLY_CONNECTED", "int8 weights", asymmetric_dense, given):
        yield replace(e, detail=f"{e.detail} asymmetric")
    given = product(size=[(1, 8), (3, 32)], units=[2, 6], act=["NONE", "RELU"])
    yield from entries("products", "FULLY_CONNECTED", "int8 by int4", fully_connected, given)


def cases() -> Iterator[Entry]:
    yield from _dense()
    yield from _matmuls()
    yield from _hybrids()
