# SPDX-License-Identifier: Apache-2.0
"""Making a batch of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.frontend.creation import stack
from samara.exporter.frontend.input_records import joined, mark
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError

__all__ = ["default_collate", "default_convert"]


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples of one structure as one value of that structure, with an additional first axis.

    Tensors, arrays and numpy scalars are stacked into tensors of their dtype; Python numbers
    become tensors of int64, float64 or bool; mappings and (named) tuples are collated by part,
    tuples to lists; texts stay in a list. Raises ShapeError if shapes or lengths differ,
    SamaraError for other types.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        if any(sample.requires_grad for sample in batch):
            return stack(list(batch))
        stacked: Tensor = mark(_stacked([sample.numpy() for sample in batch]), joined(batch))
        return stacked
    if isinstance(first, (np.ndarray, np.generic)):
        return _stacked([np.asarray(sample) for sample in batch])
    if isinstance(first, bool):
        return wrap(np.array(batch, np.bool_))
    if isinstance(first, int):
        return wrap(np.array(batch, np.int64))
    if isinstance(first, float):
        return wrap(np.array(batch, np.float64))
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        lengths = {len(sample) for sample in batch}
        if len(lengths) != 1:
            raise ShapeError(
                f"samples of a batch have {sorted(lengths)} parts, expected as many in each"
            )
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise ArgumentError(
        f"samples of type {type(first).__name__} cannot be made a batch",
        fix="return tensors, arrays, numbers, mappings or tuples, or pass a collate_fn",
    )


def default_convert(sample: Any) -> Any:
    """A sample with its arrays as tensors, for a loader without batches."""
    if isinstance(sample, (np.ndarray, np.generic)) and sample.dtype.kind in "fiub":
        return wrap(np.asarray(sample))
    if isinstance(sample, Mapping):
        return {key: default_convert(part) for key, part in sample.items()}
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*(default_convert(part) for part in sample))
    if isinstance(sample, (tuple, list)):
        return [default_convert(part) for part in sample]
    return sample


def _stacked(arrays: list[Any]) -> Tensor:
    shapes = {array.shape for array in arrays}
    if len(shapes) != 1:
        some = ", ".join(str(list(shape)) for shape in sorted(shapes)[:3])
        raise ShapeError(
            f"samples of a batch have shapes {some}, expected one shape",
            fix="bring samples to one size in the dataset, or pass a collate_fn",
        )
    return wrap(np.stack(arrays))
