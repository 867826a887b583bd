# SPDX-License-Identifier: Apache-2.0
"""Reductions, cumulative sums and normalizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import KINDS, Case, T, const
from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    Real,
    X,
    entries,
    exact_entries,
    fixed,
    parameters,
    plain_case,
    product,
    steps,
    uniform,
    whole,
)

_AXES = (
    ((2, 3, 4), (1,)),
    ((2, 3, 4), (-1,)),
    ((2, 3, 4), (0, 2)),
    ((2, 3, 4), (0, 1, 2)),
    ((1, 5, 6, 3), (1, 2)),
    ((1, 5, 6, 3), (3,)),
    ((2, 2, 3, 2, 2), (1, 3)),
    ((7,), (0,)),
    ((2, 3), (1, 1)),
    ((2, 3), (-1, 0)),
)


def _given() -> list[dict[str, Any]]:
    return [{"shape": s, "axes": a, "keep": k} for s, a in _AXES for k in (False, True)]


def _reduction(op: str) -> Any:
    def make(rng: Any, shape: Any, axes: Any, keep: bool) -> Real:
        low, high = (0.5, 1.5) if op == "REDUCE_PROD" else (-3, 3)
        operands = [X(uniform(rng, shape, low, high)), fixed(axes)]
        same = op in ("REDUCE_MAX", "REDUCE_MIN")
        return Real(op, operands, {"keep_dims": keep}, quantized="same" if same else "range")

    return make


def _exact_reduction(op: str) -> Any:
    def make(rng: Any, kind: str, shape: Any, axes: Any, keep: bool) -> Case:
        high = 3 if op == "REDUCE_PROD" else 9
        x = whole(rng, shape, kind, -high, high)
        return plain_case(op, [x, (np.array(axes, np.int32),)], KINDS[kind], {"keep_dims": keep})

    return make


def _reductions() -> Iterator[Entry]:
    for op, reals, integers in (
        ("MEAN", "float32, int8, uint8, int16", "int32, int64"),
        ("SUM", "float32, int8, uint8, int16", "int32, int64"),
        ("REDUCE_PROD", "float32, int8, int16", "int32, int64"),
        ("REDUCE_MAX", "float32, int8, uint8, int16", "int32, int64"),
        ("REDUCE_MIN", "float32, int8, uint8, int16", "int32, int64"),
        ("REDUCE_ANY", "", "bool"),
        ("REDUCE_ALL", "", "bool"),
    ):
        if reals:
            yield from entries("reduction", op, reals, _reduction(op), _given())
        yield from exact_entries("reduction", op, integers, _exact_reduction(op), _given())


def position(op: str) -> Any:
    def make(rng: Any, kind: str, shape: Any, axis: int, to: str, ties: bool) -> Case:
        if kind in ("int8", "uint8", "int16"):
            p = parameters(-3, 3, kind)
            x = T(steps(uniform(rng, shape), p, kind), scale=p[0], zero=p[1])
        else:
            data = whole(rng, shape, kind, 0 if ties else -9, 3 if ties else 9)
            x = T(np.round(data) if kind == "float32" and ties else data)
        axis_tensor = const(np.asarray(axis, np.int32))
        return Case(op, [x, axis_tensor], [T(kind=to, shape=())], {"output_type": to}, steps=0)

    return make


def cumsum(rng: Any, kind: str, shape: Any, axis: int, exclusive: bool, reverse: bool) -> Case:
    options = {"exclusive": exclusive, "reverse": reverse}
    return plain_case(
        "CUMSUM", [whole(rng, shape, kind), (np.asarray(axis, np.int32),)], KINDS[kind], options
    )


def _positions() -> Iterator[Entry]:
    for op in ("ARG_MAX", "ARG_MIN"):
        given = [
            {"shape": s, "axis": a, "to": t, "ties": ties}
            for s, a in (((9,), 0), ((3, 5), -1), ((2, 3, 4), 1), ((1, 4, 4, 3), 3))
            for t in ("INT32", "INT64")
            for ties in (False, True)
        ]
        kinds = "float32, int8, uint8, int32, bool"
        yield from exact_entries("reduction", op, kinds, position(op), given)
    given = [
        {"shape": s, "axis": a, "exclusive": e, "reverse": r}
        for s, a in (((5,), 0), ((2, 3, 4), 1), ((2, 3), -1)) for e in (False, True) for r in (False, True)
    ]  # fmt: skip
    yield from exact_entries("reduction", "CUMSUM", "float32, int32, int64", cumsum, given)


# ---- normalizations


def softmax(rng: Any, shape: Any, beta: float) -> Real:
    return Real("SOFTMAX", [X(uniform(rng, shape, -5, 5))], {"beta": beta}, quantized="unit")


def log_softmax(rng: Any, shape: Any) -> Real:
    return Real("LOG_SOFTMAX", [X(uniform(rng, shape, -3, 3))], quantized="logarithm")


def l2_normalization(rng: Any, shape: Any, zeros: bool = False) -> Real:
    x = uniform(rng, shape)
    return Real("L2_NORMALIZATION", [X(x * 0 if zeros else x)], quantized="signed unit")


def lrn(rng: Any, radius: int, bias: float, alpha: float, beta: float) -> Real:
    options = {"radius": radius, "bias": bias, "alpha": alpha, "beta": beta}
    return Real("LOCAL_RESPONSE_NORMALIZATION", [X(uniform(rng, (2, 3, 2, 7)))], options)


def _normalizations() -> Iterator[Entry]:
    shapes = [(7,), (3, 10), (2, 3, 5), (1, 2, 3, 4), (1, 100)]
    kinds = "float32, float16, int8, uint8, int16"
    yield from entries(
        "reduction", "SOFTMAX", kinds, softmax, product(shape=shapes, beta=[1.0, 0.3, 2.0])
    )
    yield from entries(
        "reduction", "LOG_SOFTMAX", "float32, int8, uint8", log_softmax, product(shape=shapes)
    )
    given = [*product(shape=shapes), *product(shape=[(2, 5)], zeros=[True])]
    yield from entries(
        "reduction", "L2_NORMALIZATION", "float32, int8, uint8", l2_normalization, given
    )
    given = list(
        product(radius=[0, 1, 2, 20], bias=[1.0, 9.0], alpha=[1.0, 4.0], beta=[0.5, 1.0, 0.75])
    )
    yield from entries("reduction", "LOCAL_RESPONSE_NORMALIZATION", "float32", lrn, given)


def cases() -> Iterator[Entry]:
    yield from _reductions()
    yield from _positions()
    yield from _normalizations()
