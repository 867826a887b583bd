# SPDX-License-Identifier: Apache-2.0
"""Gradients of micro-shards: kept apart, and added in shard order, whatever rank computed them.

Floating-point addition is not associative, so the sum depends on how the addends are grouped. Here the
grouping is always ((g0 + g1) + g2) + …: the ranks form a chain, and each adds its own shards, in order, to
what the ranks before it have added. Buckets follow each other through the chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from samara.exporter.frontend import random
from samara.exporter.frontend.distributed._engine import Steps
from samara.exporter.frontend.distributed._header import data_of
from samara.exporter.frontend.distributed._transport import Bytes, Transport, as_bytes
from samara.exporter.frontend.distributed.errors import MismatchError
from samara.exporter.frontend.distributed.objects import all_gather_object
from samara.exporter.frontend.nn import statistics
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parallel._gradients import Bucket
from samara.exporter.frontend.nn.parallel._reducer import Reducer
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ShapeError

Array = np.ndarray[Any, Any]

_SEEDS: Final = 1 << 62
_PIECE: Final = 256 << 10  # bytes of a piece on its way down the chain
_DOWN: Final = 3  # tag of partial sums on their way to the last rank
_ROUND: Final = 4  # and of the results on their way to the others
_ALIKE: Final = (
    ("shards of one size", 0, "give every rank the same number of samples"),
    (
        "the same random numbers",
        1,
        "call samara.manual_seed with one seed on all ranks, and draw no numbers on some ranks only",
    ),
)


def counts_that_divide(shards: int) -> list[int]:
    """The rank counts that the shards can be dealt to evenly."""
    return [count for count in range(1, shards + 1) if shards % count == 0]


class Shards:
    """The micro-shards of this rank, step by step."""

    def __init__(self, module: Module, reducer: Reducer, count: int) -> None:
        """count: shards of the global batch, over all ranks."""
        group = reducer.group
        if count < 1 or count % group.size():
            raise ShapeError(
                f"{count} shards cannot be dealt evenly to {group.size()} ranks",
                fix=f"start {', '.join(map(str, counts_that_divide(count)))} ranks, "
                "or give another number of shards",
            )
        self.count = count
        self.own = count // group.size()
        self._module = module
        self._reducer = reducer
        self._parts: list[dict[int, Array]] = []  # gradients of each shard, by parameter
        self._summed: set[int] = set()  # parameters with a sum of shards, on the first rank
        self._once = True  # whether every shard so far had one backward pass

    def steps(self, batch: tuple[Any, ...]) -> Iterator[Any]:
        """The shards of a local batch, each in its own scope. At the end the gradients are reduced."""
        size = self._shard_size(batch)
        number = int(random.generator_of(None).integers(0, _SEEDS, ()))
        self._check_alike(size, number)
        reducer = self._reducer
        before = self._begin()
        records: list[list[statistics.Record]] = []
        first = self._reducer.group.rank() * self.own
        try:  # a caller that leaves the loop early closes this generator
            for k in range(self.own):
                records.append([])
                self._begin_shard(k)
                generator = random.derived(number, first + k)
                with random.scoped(generator), statistics.recorded(records[-1]):
                    part = tuple(_slice(value, k * size, (k + 1) * size) for value in batch)
                    yield part[0] if len(part) == 1 else part
                self._end_shard(k)
            reducer.finish()
        finally:
            self._restore(before)
        self._share_statistics(records)

    # ---- the batch

    def _shard_size(self, batch: tuple[Any, ...]) -> int:
        """Samples of a shard, from the first dimension of the tensors."""
        lengths = {int(t.shape[0]) if t.ndim else 0 for t in _tensors(batch)}
        if len(lengths) != 1:
            raise ShapeError(
                f"shards() got tensors of {sorted(lengths)} samples, expected one or more tensors "
                "with the same first dimension"
            )
        length = lengths.pop()
        if length == 0 or length % self.own:
            raise ShapeError(
                f"a local batch of {length} samples cannot be cut into {self.own} equal shards",
                fix=f"use a multiple of {self.own} samples per rank "
                f"({self.count} shards, {self._reducer.group.size()} ranks)",
            )
        return length // self.own

    def _check_alike(self, size: int, number: int) -> None:
        """All ranks must have shards of one size and draw the same random numbers."""
        group = self._reducer.group
        mine = np.array([size, number], np.int64)

        def rest(_transport: Transport, _sizes: list[int], headers: Bytes) -> Steps:
            yield from ()
            found = np.ascontiguousarray(data_of(headers, mine.nbytes)).view(np.int64)
            for what, column, fix in _ALIKE:
                values = found[:, column].tolist()
                if len(set(values)) > 1:
                    listed = ", ".join(
                        f"rank {r}: {v}" for r, v in zip(group.ranks, values, strict=True)
                    )
                    raise MismatchError(
                        f"shards() needs {what} on all ranks, got {listed}", fix=fix
                    )

        group.start("shards()", rest, size=mine.nbytes, data=as_bytes(mine)).wait()

    # ---- gradients

    def _begin(self) -> list[Tensor | None]:
        """Put the gradients that are there aside; they are added to the result."""
        reducer = self._reducer
        reducer.restart()
        reducer.shards = f"{self.count} shards"
        reducer.reduce = self._reduce
        reducer.take = self._take
        for param in reducer.params:
            param.grad_place = None  # each shard's gradient has memory of its own
        self._parts = []
        self._summed.clear()
        self._once = True
        return [None if p._grad is None else p._grad.clone() for p in reducer.params]

    def _begin_shard(self, k: int) -> None:
        reducer = self._reducer
        for param in reducer.params:
            param._grad = None
        self._parts.append({})
        reducer.passes = 0
        # Buckets of the last shard leave during backward, if one pass per shard can be expected.
        reducer.reduces = k == self.own - 1 and k > 0 and self._once

    def _take(self, index: int, param: Parameter) -> None:
        """Keep a gradient where backward has made it; a second pass adds to it in place."""
        assert param._grad is not None
        self._parts[-1][index] = param._grad._data

    def _end_shard(self, k: int) -> None:
        self._once = self._once and self._reducer.passes == 1
        if self._reducer.group.rank() == 0 and k < self.own - 1:
            self._add(self._parts.pop(), range(len(self._reducer.params)))

    def _add(self, part: Mapping[int, Array], members: Iterable[int]) -> None:
        """Add a shard's gradients of some parameters to the sums. A missing one counts as zeros."""
        for index in members:
            gradient, out = part.get(index), self._reducer.gradients.views[index]._data
            if gradient is None:
                continue
            # Sums begin with +0, so that they never are -0, whose sign would depend on the ranks.
            np.add(out if index in self._summed else 0.0, gradient, out=out)
            self._summed.add(index)

    def _add_cut(
        self, part: Mapping[int, Array], bucket: Bucket, out: Array, start: int, stop: int
    ) -> None:
        """Add what lies between two places of a bucket."""
        for index in bucket.members:
            gradient = part.get(index)
            _, begin, end = self._reducer.layout.places[index]
            first, last = max(begin - bucket.start, start), min(end - bucket.start, stop)
            if gradient is not None and first < last:
                offset = begin - bucket.start
                own = gradient.reshape(-1)[first - offset : last - offset]
                np.add(out[first:last], own, out=out[first:last])

    def _reduce(self, transport: Transport, bucket: Bucket, out: Array) -> Steps:
        """Pass partial sums down the chain of ranks, and the result from the last one round to all.

        In pieces: while a rank adds its shards to one piece, those before it work on the next.
        """
        rank, last = transport.rank, transport.size - 1
        if rank == 0:
            self._begin_sums(bucket)
        pieces = _pieces_of(out)
        sent, passed_on = [], []
        for piece, start, stop in pieces:
            if rank > 0:
                yield transport.receive(as_bytes(piece), rank - 1, _DOWN)
                for part in self._parts:
                    self._add_cut(part, bucket, out, start, stop)
            if rank < last:
                sent.append(transport.send(as_bytes(piece), rank + 1, _DOWN))
            else:
                np.divide(piece, out.dtype.type(self.count), out=piece)
                if last > 0:
                    passed_on.append(transport.send(as_bytes(piece), 0, _ROUND))
        for request, (piece, _, _) in zip(sent, pieces, strict=False):
            yield request  # the piece's memory is free again
            yield transport.receive(as_bytes(piece), (rank - 1) % (last + 1), _ROUND)
            if rank + 1 < last:
                passed_on.append(transport.send(as_bytes(piece), rank + 1, _ROUND))
        for request in passed_on:
            yield request

    def _begin_sums(self, bucket: Bucket) -> None:
        """On the first rank: sum what is not yet summed; parameters that no shard used have zeros."""
        for part in self._parts:
            self._add(part, bucket.members)
        for index in bucket.members:
            if index not in self._summed:
                self._reducer.gradients.views[index]._data.fill(0)

    def _restore(self, before: list[Tensor | None]) -> None:
        """Leave the shards: gradients are those of the step, or what was there if it was left early."""
        reducer = self._reducer
        reducer.shards = None
        reducer.reduces = True
        reducer.reduce = reducer.average
        reducer.take = None
        reducer.gradients.place(reducer.params)
        self._parts = []
        for param, view, old in zip(reducer.params, reducer.gradients.views, before, strict=True):
            if param._grad is not view:
                param._grad = old
            elif old is not None:
                np.add(old._data, view._data, out=view._data)

    def _share_statistics(self, records: list[list[statistics.Record]]) -> None:
        """Move running statistics by the batches of all shards, in shard order."""
        names = {id(module): name for name, module in self._module.named_modules()}
        if not any(_is_counted(module) for module in self._module.modules()):
            return
        mine = [[(names[id(m)], mean, var) for m, mean, var in shard] for shard in records]
        found: list[Any] = [None] * self._reducer.group.size()
        all_gather_object(found, mine, self._reducer.group)
        modules = dict(self._module.named_modules())
        for shards in found:
            for shard in shards:
                statistics.apply((modules[name], mean, var) for name, mean, var in shard)


def _pieces_of(flat: Array) -> list[tuple[Array, int, int]]:
    """A flat array in pieces, with the place where each begins and ends."""
    step = _PIECE // flat.itemsize
    places = [(start, min(start + step, flat.size)) for start in range(0, flat.size, step)]
    return [(flat[start:stop], start, stop) for start, stop in places]


def _is_counted(module: Module) -> bool:
    return getattr(module, "running_mean", None) is not None and module.training


def _slice(value: Any, start: int, stop: int) -> Any:
    """Some samples of a batch; values that are no tensors stay whole."""
    if isinstance(value, Tensor):
        return value[start:stop]
    if isinstance(value, dict):
        return {key: _slice(part, start, stop) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_slice(part, start, stop) for part in value])
    return value


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)
