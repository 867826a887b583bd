# SPDX-License-Identifier: Apache-2.0
"""Operators that choose elements by index, or place them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import KINDS, Case, T, const
from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    exact_entries,
    plain_case,
    product,
    uniform,
    whole,
)
from tests.exporter.importers.tflite.suite.movement import ALL, moved


def gather(
    rng: Any, kind: str, shape: Any, count: Any, axis: int, batch: int = 0, wide: bool = False
) -> Case:
    indices = rng.integers(0, shape[axis], count).astype(np.int64 if wide else np.int32)
    return moved(rng, "GATHER", kind, [shape], [indices], {"axis": axis, "batch_dims": batch})


def fed_gather(rng: Any, kind: str, count: Any) -> Case:
    indices = rng.integers(0, 5, count).astype(np.int32)
    return plain_case("GATHER", [whole(rng, (5, 3), kind), indices], KINDS[kind], {"axis": 0})


def gather_nd(rng: Any, kind: str, shape: Any, count: Any, depth: int) -> Case:
    columns = [rng.integers(0, shape[i], count) for i in range(depth)]
    return moved(rng, "GATHER_ND", kind, [shape], [np.stack(columns, -1).astype(np.int32)])


def embedding_lookup(rng: Any, kind: str, shape: Any) -> Case:
    indices = rng.integers(0, shape[0], 4).astype(np.int32)
    if kind == "int8 weights":
        table = uniform(rng, shape)
        scale = float(np.abs(table).max() / 127)
        q = np.round(table / scale).astype(np.int8)
        return Case("EMBEDDING_LOOKUP", [T(indices), const(q, scale=scale)], rtol=1e-5)
    return plain_case("EMBEDDING_LOOKUP", [indices, (whole(rng, shape, kind),)], KINDS[kind])


def scatter_nd(rng: Any, kind: str, shape: Any, count: int, depth: int) -> Case:
    indices = np.stack([rng.integers(0, n, count) for n in shape[:depth]], -1).astype(np.int32)
    updates = whole(rng, (count, *shape[depth:]), kind)
    return plain_case("SCATTER_ND", [indices, updates, (np.array(shape, np.int32),)], KINDS[kind])


def sparse_to_dense(rng: Any, kind: str, rank: int, single: bool) -> Case:
    shape = np.array([5, 4][: max(rank, 1)], np.int32)
    places = np.array([[0, 1], [2, 3], [4, 0]], np.int32)
    indices = {0: places[1, 0], 1: places[:, 0], 2: places}[rank]
    values = whole(rng, () if single or rank == 0 else (3,), kind)
    return plain_case(
        "SPARSE_TO_DENSE", [indices, (shape,), values, np.asarray(2, kind)], KINDS[kind],
        {"validate_indices": False},
    )  # fmt: skip


def one_hot(rng: Any, kind: str, shape: Any, axis: int, wide: bool = False) -> Case:
    indices = rng.integers(-1, 6, shape).astype(np.int64 if wide else np.int32)
    on, off = (np.asarray(v, kind) for v in ((1, 0) if kind != "float32" else (2.5, -1)))
    return plain_case(
        "ONE_HOT", [indices, (np.asarray(5, np.int32),), on, off], KINDS[kind], {"axis": axis}
    )


def top_k(rng: Any, kind: str, shape: Any, k: int, ties: bool) -> Case:
    size = int(np.prod(shape))
    x = rng.permutation(size).reshape(shape) - (0 if kind.startswith("u") else size // 2)
    x = (x // 3 if ties else x).astype(kind)
    q: dict[str, Any] = {"scale": 0.5, "zero": 0} if kind in ("int8", "uint8", "int16") else {}
    outputs = [T(kind=KINDS[kind], shape=(), **q), T(kind="INT32", shape=())]
    return Case("TOPK_V2", [T(x, **q), const(np.int32(k))], outputs, steps=0)


def where(rng: Any, kind: str, shape: Any) -> Case:
    x = whole(rng, shape, kind, -1, 2)
    return plain_case("WHERE", [np.round(x) if kind == "float32" else x], "INT64")


def unique(rng: Any, kind: str, wide: bool) -> Case:
    to = "INT64" if wide else "INT32"
    x = whole(rng, (12,), kind, 0, 5)
    x = np.round(x) if kind == "float32" else x
    return plain_case("UNIQUE", [x], [KINDS[kind], to], {"idx_out_type": to})


def segment_sum(rng: Any, kind: str, shape: Any) -> Case:
    segments = (np.arange(shape[0]) // 2).astype(np.int32)
    return plain_case("SEGMENT_SUM", [whole(rng, shape, kind), (segments,)], KINDS[kind])


def unsorted(op: str) -> Any:
    def make(rng: Any, kind: str, shape: Any, constant: bool) -> Case:
        ids = rng.integers(0, 4, shape[0]).astype(np.int32)
        return plain_case(
            op,
            [whole(rng, shape, kind), (ids,) if constant else ids, (np.asarray(5, np.int32),)],
            KINDS[kind],
        )

    return make


def bucketize(rng: Any, kind: str, shape: Any) -> Case:
    x = whole(rng, shape, kind, -5, 6)
    return plain_case(
        "BUCKETIZE", [x], "INT32", {"boundaries": np.array([-3, 0, 1, 4], np.float32)}
    )


def cases() -> Iterator[Entry]:
    def some(op: str, kinds: str, make: Any, given: Any) -> Iterator[Entry]:
        return exact_entries("indexing", op, kinds, make, given)

    given: Any = [
        *product(shape=[(5, 3), (4,)], count=[(2,), (), (2, 3)], axis=[0]),
        *product(shape=[(2, 4, 3)], count=[(3,), (2, 2)], axis=[1, -1]),
        *product(shape=[(5, 3)], count=[(2,)], axis=[0], wide=[True]),
        *product(shape=[(2, 4, 3)], count=[(2, 3)], axis=[1, 2], batch=[1, -1]),
        *product(shape=[(2, 3, 4, 2)], count=[(2, 3, 2)], axis=[2, 3], batch=[2]),
    ]
    yield from some("GATHER", ALL, gather, given)
    yield from some("GATHER", "float32, int32", fed_gather, product(count=[(), (4,)]))
    given = [
        *product(shape=[(5, 3, 2)], count=[(2,), (), (2, 2)], depth=[1, 2, 3]),
        *product(shape=[(6,)], count=[(3,)], depth=[1]),
    ]
    yield from some("GATHER_ND", ALL, gather_nd, given)
    yield from some(
        "EMBEDDING_LOOKUP",
        "float32, int8 weights",
        embedding_lookup,
        product(shape=[(6, 4), (5, 2, 3)]),
    )
    given = [
        *product(shape=[(6,), (4, 3)], count=[1, 5], depth=[1]),
        *product(shape=[(4, 3, 2)], count=[4], depth=[1, 2, 3]),
    ]
    yield from some("SCATTER_ND", "float32, int8, uint8, int32, int64, bool", scatter_nd, given)
    yield from some(
        "SPARSE_TO_DENSE", "float32, int8, uint8, int32, int64", sparse_to_dense,
        product(rank=[0, 1, 2], single=[True, False]),
    )  # fmt: skip
    given = [
        *product(shape=[(4,), (2, 3), ()], axis=[-1, 0]),
        *product(shape=[(2, 3)], axis=[1], wide=[False, True]),
    ]
    yield from some("ONE_HOT", "float32, int8, uint8, int32, int64, bool", one_hot, given)
    given = product(shape=[(9,), (3, 8), (2, 2, 5)], k=[1, 3], ties=[False, True])
    yield from some("TOPK_V2", "float32, int8, uint8, int16, int32, int64", top_k, given)
    yield from some(
        "WHERE",
        "float32, int8, uint8, int32, uint32, int64, bool",
        where,
        product(shape=[(7,), (3, 4), (2, 2, 3)]),
    )
    yield from some(
        "UNIQUE", "float32, int8, uint8, int16, int32, int64", unique, product(wide=[False, True])
    )
    yield from some(
        "SEGMENT_SUM", "float32, int32", segment_sum, product(shape=[(5,), (4, 3), (6, 2, 2)])
    )
    for name in ("SUM", "PROD", "MAX", "MIN"):
        op = f"UNSORTED_SEGMENT_{name}"
        yield from some(
            op,
            "float32, int32",
            unsorted(op),
            product(shape=[(5,), (4, 3), (6, 2, 2)], constant=[True, False]),
        )
    yield from some(
        "BUCKETIZE", "float32, int32, int64, float64", bucketize, product(shape=[(6,), (2, 3), ()])
    )
