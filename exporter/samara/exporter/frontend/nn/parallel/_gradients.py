# SPDX-License-Identifier: Apache-2.0
"""Where gradients of parameters lie: in one flat array per dtype, cut into buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.distributed._header import INLINE
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]

_ALIGN: Final = 64  # bytes: kernels read whole vectors
_MOST: Final = 8 * INLINE  # parameters of a bucket: its header has one bit for each


@dataclass(slots=True)
class Bucket:
    """Parameters whose gradients are reduced together: a slice of the flat array of their dtype."""

    dtype: np.dtype[Any]
    start: int
    stop: int
    members: list[int] = field(default_factory=list)


class Layout:
    """Where the gradient of each parameter lies, and which bucket it belongs to."""

    def __init__(
        self, params: Sequence[Parameter], order: Sequence[int], first: int, rest: int
    ) -> None:
        """`order`: the indices of `params` in the order in which their gradients will be complete.

        first, rest: bytes of the first bucket, after which a new one begins, and of the others.
        """
        self.order = list(order)
        self.places: list[tuple[np.dtype[Any], int, int]] = [(np.dtype("f4"), 0, 0)] * len(params)
        self.sizes: dict[np.dtype[Any], int] = {}
        self.bucket_of = [0] * len(params)
        self.buckets: list[Bucket] = []
        open_buckets: dict[np.dtype[Any], Bucket] = {}
        for index in order:
            array = params[index]._data
            dtype, start = array.dtype, self.sizes.get(array.dtype, 0)
            self.places[index] = (dtype, start, start + array.size)
            step = _ALIGN // dtype.itemsize
            stop = start + -(-array.size // step) * step
            self.sizes[dtype] = stop
            bucket = open_buckets.get(dtype)
            limit = first if bucket is not None and bucket.start == 0 else rest
            if (
                bucket is None
                or (bucket.stop - bucket.start) * dtype.itemsize >= limit
                or len(bucket.members) == _MOST
            ):
                bucket = open_buckets[dtype] = Bucket(dtype, start, stop)
                self.buckets.append(bucket)
            bucket.stop = stop
            bucket.members.append(index)
        # A bucket is complete with its last gradient.
        when = {index: at for at, index in enumerate(order)}
        self.buckets.sort(key=lambda b: when[b.members[-1]])
        for number, bucket in enumerate(self.buckets):
            for index in bucket.members:
                self.bucket_of[index] = number


class Gradients:
    """The gradients of all parameters: `views` of one flat array per dtype."""

    def __init__(self, layout: Layout, params: Sequence[Parameter]) -> None:
        self.flat = {dtype: np.zeros(size, dtype) for dtype, size in layout.sizes.items()}
        self.views: list[Tensor] = []
        for param, (dtype, start, stop) in zip(params, layout.places, strict=True):
            self.views.append(wrap(self.flat[dtype][start:stop].reshape(param._data.shape)))

    def of(self, bucket: Bucket) -> Array:
        """The flat gradients of a bucket."""
        return self.flat[bucket.dtype][bucket.start : bucket.stop]

    def place(self, params: Sequence[Parameter]) -> None:
        """Let backward make the gradients here, where it can, instead of in memory of its own."""
        for param, view in zip(params, self.views, strict=True):
            param.grad_place = view._data

    def take(self, index: int, param: Parameter) -> None:
        """Make the gradient of a parameter the one here, to which the next ones are added."""
        view, gradient = self.views[index], param._grad
        if gradient is None or gradient is view:
            return
        if gradient._data is not view._data:
            np.copyto(view._data, gradient._data)
        param._grad = view
