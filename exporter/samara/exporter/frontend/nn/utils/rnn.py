# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.utils.rnn`: sequences of different lengths in one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from samara.exporter.frontend import creation
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import SamaraError, ShapeError

__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
]


class PackedSequence(NamedTuple):
    """Steps of several sequences without padding: step 0 of all, step 1 of those that have it, …

    Sequences are ordered from long to short; `batch_sizes` says how many have each step, the
    indices lead from the caller's order to this one and back (None: the same order).
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def lengths(self) -> np.ndarray[Any, Any]:
        """The length of each sequence, from long to short."""
        sizes = self.batch_sizes._data
        return (np.arange(sizes[0])[:, None] < sizes).sum(1)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The steps of input [T, N, …] (or [N, T, …]) that belong to sequences of `lengths`.

    Lengths must fall unless `enforce_sorted` is off. Raises ShapeError where a length is not
    between 1 and T.
    """
    x = input.transpose(0, 1) if batch_first else input
    total = np.asarray(lengths._data if isinstance(lengths, Tensor) else lengths, np.int64)
    if total.shape != (x.shape[1],) or total.min() < 1 or total.max() > x.shape[0]:
        raise ShapeError(
            f"lengths {total.tolist()} for {x.shape[1]} sequences of at most {x.shape[0]} steps"
        )
    order = None
    if not enforce_sorted:
        order = np.argsort(-total, kind="stable")
        total = total[order]
        x = x.index_select(1, wrap(order))
    elif np.any(np.diff(total) > 0):
        raise SamaraError(
            f"lengths {total.tolist()} do not fall", fix="pass enforce_sorted=False, or sort"
        )
    step, row = np.nonzero(np.arange(total[0])[:, None] < total)
    flat = x.reshape((x.shape[0] * x.shape[1], *x.shape[2:]))
    data = flat.index_select(0, wrap(step * int(x.shape[1]) + row))
    sizes = wrap((np.arange(total[0])[:, None] < total).sum(1))
    if order is None:
        return PackedSequence(data, sizes)
    return PackedSequence(data, sizes, wrap(order), wrap(np.argsort(order)))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """(steps [T, N, …], or [N, T, …], with `padding_value` after each end; lengths [N])."""
    lengths = sequence.lengths()
    steps = int(lengths[0]) if total_length is None else total_length
    if steps < lengths[0]:
        raise ShapeError(f"total_length {steps} is below the longest sequence, {lengths[0]}")
    live = np.arange(steps)[:, None] < lengths
    # Row 0 of `rows` is the padding, row i + 1 is step i.
    at = np.zeros(live.shape, np.int64)
    at[live] = np.arange(1, int(live.sum()) + 1)
    data = sequence.data
    fill = creation.full((1, *data.shape[1:]), padding_value, dtype=data.dtype)
    rows = creation.cat([fill, data])
    if sequence.unsorted_indices is not None:
        back = sequence.unsorted_indices._data
        at, lengths = at[:, back], lengths[back]
    out = rows[wrap(np.ascontiguousarray(at.T if batch_first else at))]
    return out, wrap(lengths.astype(np.int64))


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0
) -> Tensor:
    """Tensors [length, …] as one, [T, N, …] or [N, T, …], with padding after each end."""
    longest = max(int(t.shape[0]) for t in sequences)
    padded = []
    for t in sequences:
        short = longest - int(t.shape[0])
        fill = creation.full((short, *t.shape[1:]), padding_value, dtype=t.dtype)
        padded.append(creation.cat([t, fill]) if short else t)
    return creation.stack(padded, 0 if batch_first else 1)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """`pack_padded_sequence` of tensors [length, …]."""
    lengths = [int(t.shape[0]) for t in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)
