# SPDX-License-Identifier: Apache-2.0
"""Reduces gradients over the ranks while backward still runs, one bucket at a time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from samara.exporter.frontend import engine
from samara.exporter.frontend.distributed._algorithms import all_reduce
from samara.exporter.frontend.distributed._engine import Steps, Work, user_line
from samara.exporter.frontend.distributed._header import data_of
from samara.exporter.frontend.distributed._reduction import ReduceOp
from samara.exporter.frontend.distributed._transport import Bytes, Transport
from samara.exporter.frontend.distributed.group import ProcessGroup
from samara.exporter.frontend.distributed.objects import broadcast_object_list
from samara.exporter.frontend.nn.parallel._gradients import Bucket, Gradients, Layout
from samara.exporter.frontend.nn.parameter import Parameter
from samara.pybridge.errors import SamaraError

Reduce = Callable[[Transport, Bucket, np.ndarray[Any, Any]], Steps]
"""Steps that reduce the gradients of a bucket over the ranks in place, in the reducer's `gradients`."""

Take = Callable[[int, Parameter], None]
"""Called with a parameter's number when its gradient is complete."""


class Reducer:
    """The gradients of a module's parameters on one rank.

    A backward pass moves gradients to `gradients`, or to wherever `take` puts them. Where the pass ends
    a step (`reduces`), each bucket whose gradients are complete is reduced at once, in the same order on
    all ranks.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, Parameter]],
        group: ProcessGroup,
        sizes: tuple[int, int],
    ) -> None:
        """sizes: bytes of the first bucket and of the others."""
        self.names = [name for name, _ in named]
        self.params = [param for _, param in named]
        self.group = group
        self.sizes = sizes
        self.reduces = True
        self.shards: str | None = None  # text of the errors if the gradients are those of shards
        self.ordered = False  # whether the layout follows the order of use
        self.used = [False] * len(self.params)  # since the last reduction, on this rank
        self.used_anywhere = [False] * len(self.params)
        self.passes = 0  # backward passes since `passes` was set to 0
        self._seen: list[int] = []  # in the order of this pass
        self._works: list[Work] = []
        self.source = 0  # the member whose order of use all follow
        self._pending: list[int] | None = None  # by bucket; None: no pass that reduces is running
        self.reduce: Reduce = self.average
        self.divisor = group.size()
        self.take: Take | None = None
        self.arrange(range(len(self.params) - 1, -1, -1))
        for index, param in enumerate(self.params):
            param.register_post_accumulate_grad_hook(self._hook_of(index))

    def arrange(self, order: Sequence[int]) -> None:
        """Lay out the gradients in this order of completion."""
        self.layout = Layout(self.params, order, *self.sizes)
        self.gradients = Gradients(self.layout, self.params)
        self.gradients.place(self.params)
        for index, param in enumerate(self.params):
            self.gradients.take(index, param)

    def average(self, transport: Transport, _bucket: Bucket, flat: np.ndarray[Any, Any]) -> Steps:
        """Steps that add the gradients of the ranks, in rank order, and divide by `divisor`."""
        if transport.size > 1 and self.divisor == transport.size:
            yield from all_reduce(transport, flat, ReduceOp.AVG)  # each rank divides its own part
            return
        if transport.size > 1:
            yield from all_reduce(transport, flat, ReduceOp.SUM)
        if self.divisor != 1:
            np.divide(flat, flat.dtype.type(self.divisor), out=flat)

    # ---- a backward pass

    def _hook_of(self, index: int) -> Callable[[Any], None]:
        def hook(param: Any) -> None:
            if self._pending is None:
                self._begin()
            (self.take or self.gradients.take)(index, param)
            self.used[index] = True
            self._seen.append(index)
            if self.reduces and self._pending is not None:
                number = self.layout.bucket_of[index]
                self._pending[number] -= 1
                self._launch_complete()

        return hook

    def _begin(self) -> None:
        if self.shards is not None and self._works:
            raise SamaraError(
                "backward was called again in the last of the shards, whose gradients are on their way",
                fix="call backward once per shard, on the sum of the losses",
            )
        self._seen = []
        self._pending = [len(bucket.members) for bucket in self.layout.buckets]
        engine.at_end(self._end)

    def _launch_complete(self) -> None:
        """Start the buckets whose gradients are complete; never one before those in front of it."""
        assert self._pending is not None
        while len(self._works) < len(self._pending) and self._pending[len(self._works)] == 0:
            self.launch()

    def _end(self) -> None:
        """The pass is over: what is still missing has no gradient in it."""
        self._pending = None
        self.passes += 1
        if self.reduces and self.shards is None:
            self.finish()

    def launch(self) -> None:
        """Start reducing the next bucket."""
        bucket = self.layout.buckets[len(self._works)]
        used: Any = np.array([self.used[index] for index in bucket.members])
        self._clear_unused(bucket, used)
        names = [self.names[index] for index in bucket.members]
        shown = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        bits = np.packbits(used)
        flat = self.gradients.of(bucket)

        def rest(transport: Transport, _sizes: list[int], headers: Bytes) -> Steps:
            found: Any = np.unpackbits(data_of(headers, bits.size), axis=1)[:, : len(names)].any(0)
            for index, is_used in zip(bucket.members, found, strict=True):
                self.used_anywhere[index] = bool(is_used)
            yield from self.reduce(transport, bucket, flat)

        what = (
            f"reduction of the gradients of {shown} ({bucket.dtype}, {bucket.stop - bucket.start})"
        )
        same = f"{what} {self.shards} {names}"
        line = user_line(sys._getframe())
        moved = (bucket.stop - bucket.start) * bucket.dtype.itemsize
        self._works.append(
            self.group.start(what, rest, size=bits.size, data=bits, same=same, at=line, moved=moved)
        )

    def _clear_unused(self, bucket: Bucket, used: Any) -> None:
        """Unused parameters have zeros as their part, or what earlier passes have left in `grad`."""
        if self.take is not None:
            return
        for index, is_used in zip(bucket.members, used, strict=True):
            if not is_used and self.params[index]._grad is None:
                self.gradients.views[index]._data.fill(0)
            elif not is_used:
                self.gradients.take(index, self.params[index])

    def finish(self) -> None:
        """Reduce the remaining buckets, wait for all, and set the gradients."""
        while len(self._works) < len(self.layout.buckets):
            self.launch()
        works, self._works = self._works, []
        for work in works:
            work.wait()
        for index, param in enumerate(self.params):
            if self.used_anywhere[index]:
                param._grad = self.gradients.views[index]
                param._grad._version[0] += 1
        self.used = [False] * len(self.params)
        if not self.ordered:
            self.ordered = True
            self._follow_order_of_use()

    def follow(self) -> None:
        """Take part in a reduction of the others, with zeros, and leave the gradients as they are."""
        before = [param._grad for param in self.params]
        for param in self.params:
            param._grad = None
        self.restart()
        self._seen = []
        self.used = [False] * len(self.params)
        self.finish()
        for param, gradient in zip(self.params, before, strict=True):
            param._grad = gradient

    def _follow_order_of_use(self) -> None:
        """Lay out the gradients in the order in which `source` completed them."""
        told = [self._order_of_use()]
        broadcast_object_list(told, group=self.group, group_src=self.source)
        if told[0] != self.layout.order:
            self.arrange(told[0])

    def restart(self) -> None:
        """Forget a pass that raised."""
        self._pending = None
        self._works = []

    def _order_of_use(self) -> list[int]:
        """All parameters, in the order in which the last pass completed their gradients."""
        missing = set(range(len(self.params))) - set(self._seen)
        return [*self._seen, *sorted(missing, reverse=True)]
