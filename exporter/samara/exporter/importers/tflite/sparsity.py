# SPDX-License-Identifier: Apache-2.0
"""Sparse constants: traversal order, blocks, and dense or compressed axes (the table SparsityParameters)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.importers.tflite.model import Tensor
from samara.exporter.ir.flat import Row
from samara.exporter.types import DType, ModelFormatError

_CSR = 1


def densified(tensor: Tensor, dtype: DType) -> Any:
    """The data of a sparse constant as a dense array.

    Axes are stored in the order `traversal_order`, the inner axes of blocks (numbered from the rank on) with
    those of the tensor. A dense axis holds all its indices, a compressed one (CSR) those listed for each
    position of the axes before it.
    """
    assert tensor.data is not None
    assert tensor.sparsity is not None
    row = tensor.sparsity
    rank, order, blocks = len(tensor.shape), list(row["traversal_order"]), list(row["block_map"])
    axes = row["dim_metadata"]
    if sorted(order) != list(range(rank + len(blocks))) or len(axes) != len(order):
        raise _fault(tensor, "its axes do not fit its shape")
    if any(not 0 <= b < rank for b in blocks):
        raise _fault(tensor, "a block has an axis that it lacks")
    sizes = _sizes(tensor, order, blocks, axes)
    places = [np.zeros(1, np.int64)]  # one array of indices per axis, of the stored elements
    for axis, size, entry in zip(order, sizes, axes, strict=True):
        del axis
        count = len(places[0])
        if entry["format"] == _CSR:
            segments, indices = (
                _vector(entry[n], tensor) for n in ("array_segments", "array_indices")
            )
            if (
                len(segments) != count + 1
                or np.any(np.diff(segments) < 0)
                or segments[-1] > len(indices)
            ):
                raise _fault(tensor, "the segments of an axis do not fit its indices")
            lengths = np.diff(segments)
            inner = indices[segments[0] : segments[-1]]
            if inner.size and (inner.min() < 0 or inner.max() >= size):
                raise _fault(tensor, "an index is out of range")
            places = [np.repeat(p, lengths) for p in places] + [inner]
        else:
            if count * size > tensor.data.size * 8 + 1:
                raise _fault(tensor, "it has fewer elements than its axes say")
            places = [np.repeat(p, size) for p in places] + [np.tile(np.arange(size), count)]
    return _scattered(tensor, dtype, order, blocks, sizes, places[1:])


def _sizes(
    tensor: Tensor, order: Sequence[int], blocks: Sequence[int], axes: Sequence[Row]
) -> list[int]:
    """The size of each stored axis. Those of blocks are dense; an axis with blocks counts them."""
    rank = len(tensor.shape)
    block_sizes = {}
    for axis, entry in zip(order, axes, strict=True):
        if axis >= rank:
            block_sizes[axis - rank] = max(int(entry["dense_size"]), 1)
    sizes = []
    for axis in order:
        if axis >= rank:
            sizes.append(block_sizes[axis - rank])
            continue
        whole = tensor.shape[axis]
        for k, blocked in enumerate(blocks):
            if blocked == axis:
                if whole % block_sizes[k]:
                    raise _fault(tensor, "a block does not divide its axis")
                whole //= block_sizes[k]
        sizes.append(whole)
    return sizes


def _vector(union: Any, tensor: Tensor) -> Any:
    if union is None or union[1] is None:
        raise _fault(tensor, "an axis lists no indices")
    return np.asarray(union[1]["values"], np.int64)


def _scattered(
    tensor: Tensor, dtype: DType, order: Sequence[int], blocks: Sequence[int], sizes: Sequence[int], places: Any
) -> Any:  # fmt: skip
    assert tensor.data is not None
    rank = len(tensor.shape)
    if dtype in (DType.I4, DType.U4):
        raise _fault(tensor, "sparse elements of 4 bits are not supported")
    data = np.frombuffer(tensor.data.tobytes(), dtype.numpy)
    if len(data) != len(places[0] if len(places) else [0]):
        raise _fault(tensor, f"it stores {len(data)} elements, and its axes say {len(places[0])}")
    index = [np.zeros(len(data), np.int64) for _ in range(rank)]
    at = {axis: places[k] for k, axis in enumerate(order)}
    for axis in range(rank):
        index[axis] = at[axis].astype(np.int64)
        for k, blocked in enumerate(blocks):
            if blocked == axis:
                index[axis] = index[axis] * sizes[list(order).index(rank + k)] + at[rank + k]
    dense = np.zeros(tensor.shape, dtype.numpy)
    dense[tuple(index)] = data
    return dense


def _fault(tensor: Tensor, why: str) -> ModelFormatError:
    return ModelFormatError(
        f"the sparse tensor {tensor.key!r} is malformed: {why}",
        fix="the file is damaged or was cut off: fetch or convert it again",
    )
