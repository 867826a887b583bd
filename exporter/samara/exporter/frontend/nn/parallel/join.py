# SPDX-License-Identifier: Apache-2.0
"""Join: ranks whose inputs have run out go along with the others until all have finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.exporter.frontend.distributed._engine import Steps
from samara.exporter.frontend.distributed._header import data_of
from samara.exporter.frontend.distributed._transport import Bytes, Transport
from samara.exporter.frontend.distributed.errors import DistError

if TYPE_CHECKING:
    from samara.exporter.frontend.nn.parallel.distributed import DistributedDataParallel


class Join:
    """Lets ranks make different numbers of steps with DistributedDataParallel modules.

        with Join([net]):
            for x, y in loader:
                opt.zero_grad()
                F.cross_entropy(net(x), y).backward()
                opt.step()

    A rank that leaves its loop takes part in the others' reductions with gradients of zero. At the end
    all ranks get the parameters of a rank that made the most steps. With several modules, a step
    calls each of them and then its backward, in the given order. For the plain loop only: `shards` needs equal batches.

    divide_by_initial_world_size: divide sums of gradients by all ranks, else by those still at work.
    enable: False changes nothing. throw_on_early_termination: raise DistError on all ranks as soon as
    one has run out of inputs.

    PyTorch: `torch.distributed.algorithms.Join`.

    >>> def train():
    ...     net = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    ...     with nn.parallel.Join([net]):
    ...         for _ in range(1 + samara.distributed.get_rank()):
    ...             net(samara.ones(1, 1)).sum().backward()
    >>> samara.distributed.run_threads(train, 2)
    [None, None]
    """

    def __init__(
        self,
        joinables: Sequence[DistributedDataParallel],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        *,
        divide_by_initial_world_size: bool = True,
    ) -> None:
        self._nets = list(joinables)
        self._enable = enable
        self._throw = throw_on_early_termination
        self._by_all = divide_by_initial_world_size
        self._last = 0  # a member that made the last step

    def __enter__(self) -> Join:
        if self._enable:
            for net in self._nets:
                net._join = self
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if not self._enable:
            return
        for net in self._nets:
            net._join = None
        if kind is None:
            others_at_work = True
            while others_at_work:
                followed = [self._follow(net) for net in self._nets]
                others_at_work = all(followed)
            for net in self._nets:
                net._copy_from(self._last)
                net._reducer.source = 0
                net._reducer.divisor = net.process_group.size()

    def step(self, net: DistributedDataParallel, active: bool = True) -> bool:
        """Tell the others whether this rank is still at work; returns whether any rank is."""

        def rest(_transport: Transport, _sizes: list[int], headers: Bytes) -> Steps:
            yield from ()
            return data_of(headers, 1)[:, 0].astype(bool)

        group = net.process_group
        mine = np.array([active], np.uint8)
        flags = group.start("step inside Join", rest, size=1, data=mine).result()
        if not flags.any():
            return False
        if self._throw and not flags.all():
            done = [rank for rank, at_work in zip(group.ranks, flags, strict=True) if not at_work]
            raise DistError(f"the inputs of rank {done[0]} have run out")
        self._last = int(np.flatnonzero(flags)[0])
        net._reducer.source = self._last
        net._reducer.divisor = group.size() if self._by_all else int(flags.sum())
        return True

    def _follow(self, net: DistributedDataParallel) -> bool:
        """Go along with one step of the others; returns False when there is none."""
        if not self.step(net, active=False):
            return False
        net._follow()
        return True
