# SPDX-License-Identifier: Apache-2.0
"""Sparse constants, made dense by DENSIFY or used as they are by FULLY_CONNECTED."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import KINDS, Array, Case, T, const
from tests.exporter.importers.tflite.suite.entries import Entry, exact_entries, normal, product

# Shape of the tensor, order of axes, the axis of each block, sizes of blocks, which axes are compressed.
_FORMS: Any = (
    ((6, 8), (0, 1), (), (), (1,)),
    ((6, 8), (1, 0), (), (), (1,)),
    ((6, 8), (0, 1), (), (), (0, 1)),
    ((6, 8), (0, 1, 2), (1,), (4,), (1,)),
    ((6, 8), (0, 1, 2, 3), (0, 1), (2, 4), (1,)),
    ((6, 8), (0, 1, 3, 2), (0, 1), (3, 2), (1,)),
    ((4, 3, 5), (2, 0, 1), (), (), (1, 2)),
    ((7,), (0,), (), (), (0,)),
)
_VECTORS = {"int32": 1, "uint16": 2, "uint8": 3}


def encoded(
    dense: Array, order: Sequence[int], blocks: Sequence[int], sizes: Sequence[int],
    compressed: Sequence[int], vector: str,
) -> T:  # fmt: skip
    """A constant with the elements of `dense` that are not zero. compressed: places in `order`."""
    rank = dense.ndim
    whole: list[int] = []
    at: dict[int, int] = {}
    for axis in range(rank):
        found = [k for k, b in enumerate(blocks) if b == axis]
        at[axis] = len(whole)
        if found:
            at[rank + found[0]] = len(whole) + 1
            whole += [dense.shape[axis] // sizes[found[0]], sizes[found[0]]]
        else:
            whole.append(dense.shape[axis])
    stored = dense.reshape(whole).transpose([at[a] for a in order])
    places: list[tuple[int, ...]] = [()]
    rows = []
    for level, size in enumerate(stored.shape):
        if level not in compressed:
            rows.append({"format": 0, "dense_size": size})
            places = [(*p, i) for p in places for i in range(size)]
            continue
        segments, indices, kept = [0], [], []
        for p in places:
            used = [i for i in range(size) if stored[(*p, i)].any()]
            indices += used
            kept += [(*p, i) for i in used]
            segments.append(len(indices))
        places = kept
        kind = _VECTORS[vector]
        rows.append(
            {
                "format": 1,
                "array_segments": (kind, {"values": np.array(segments, vector)}),
                "array_indices": (kind, {"values": np.array(indices, vector)}),
            }
        )
    values = np.array([stored[p] for p in places], dense.dtype)
    sparsity = {"traversal_order": list(order), "block_map": list(blocks), "dim_metadata": rows}
    return T(
        values, dense.shape, KINDS[dense.dtype.name], constant=True, more={"sparsity": sparsity}
    )


def _holes(rng: Any, dense: Array, form: int) -> Array:
    """Most blocks are zero, but the first."""
    dense = np.where(dense == 0, np.ones((), dense.dtype), dense)
    _, _, blocks, sizes, _ = _FORMS[form]
    coarse = list(dense.shape)
    for axis, size in zip(blocks, sizes, strict=True):
        coarse[axis] //= size
    mask = rng.random(coarse) < 0.4
    mask.flat[0] = True
    for axis, size in zip(blocks, sizes, strict=True):
        mask = np.repeat(mask, size, axis)
    return np.where(mask, dense, np.zeros((), dense.dtype)).astype(dense.dtype)


def densify(rng: Any, kind: str, form: int, vector: str) -> Case:
    shape, order, blocks, sizes, compressed = _FORMS[form]
    dense = _holes(rng, (normal(rng, shape) * 30).astype(kind), form)
    x = encoded(dense, order, blocks, sizes, compressed, vector)
    return Case("DENSIFY", [x], [T(kind=KINDS[kind], shape=dense.shape)], steps=0)


def fully_connected(rng: Any, kind: str, form: int, rows: int) -> Case:
    shape, order, blocks, sizes, compressed = _FORMS[form]
    w = encoded(_holes(rng, normal(rng, shape), form), order, blocks, sizes, compressed, "int32")
    x, bias = normal(rng, (rows, shape[1])), const(normal(rng, shape[:1]))
    return Case("FULLY_CONNECTED", [T(x), w, bias], rtol=1e-4, atol=1e-5)


def cases() -> Iterator[Entry]:
    given = product(form=range(len(_FORMS)), vector=list(_VECTORS))
    yield from exact_entries("sparse", "DENSIFY", "float32, float16, int8", densify, given)
    given = product(form=[0, 3], rows=[1, 3])
    for e in exact_entries("sparse", "FULLY_CONNECTED", "float32", fully_connected, given):
        yield Entry(e.family, e.op, "sparse weights", e.detail, e.make)
