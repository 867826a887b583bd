# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel: every rank computes gradients of its samples, and all step by their average."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.frontend import spans, tape
from samara.exporter.frontend.distributed.collectives import broadcast
from samara.exporter.frontend.distributed.errors import MismatchError
from samara.exporter.frontend.distributed.group import ProcessGroup, group_of
from samara.exporter.frontend.distributed.objects import all_gather_object
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parallel._buckets import cost_of
from samara.exporter.frontend.nn.parallel._reducer import Reducer
from samara.exporter.frontend.nn.parallel._shards import Shards
from samara.exporter.frontend.nn.parallel.join import Join
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import SamaraError

SHARDS: Final = 12  # divides by 1, 2, 3, 4, 6 and 12 ranks


class DistributedDataParallel(Module):
    """`module`, trained by all ranks of a process group at once.

    When it is made, rank 0's parameters and buffers are copied to all ranks. In backward the gradients
    are averaged over the ranks, bucket by bucket while it still runs, so that all optimisers make the
    same step. Each `grad` is a view of one flat array, whose content the next step replaces. Unused and
    frozen parameters need no option. The state has the keys of `module` behind "module.".

    A plain loop is PyTorch's: its results repeat for one rank count. `shards` is the loop whose
    results are equal to the bit for every rank count that divides `shards`; see there.

    bucket_cap_mb: megabytes of a bucket, by default from the measured latency and bandwidth.
    broadcast_buffers: copy rank 0's buffers to all before each forward pass in training. shards:
    micro-shards of a global batch. The other arguments of PyTorch have no effect. Raises SamaraError
    if no parameter requires gradients, MismatchError if the ranks' modules differ.

    PyTorch: `torch.nn.parallel.DistributedDataParallel`.

    >>> def train():
    ...     net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1, bias=False))
    ...     net(samara.ones(1, 2) * samara.distributed.get_rank()).sum().backward()
    ...     return net.module.weight.grad.tolist()
    >>> samara.distributed.run_threads(train, 2)
    [[[0.5, 0.5]], [[0.5, 0.5]]]
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = True,
        static_graph: bool = False,
        *,
        shards: int = SHARDS,
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.require_backward_grad_sync = True
        self.process_group = group_of(process_group)
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise SamaraError(
                "DistributedDataParallel needs a module with parameters that require gradients"
            )
        self._check_alike(named)
        if init_sync:
            self._copy_from(0)
        if bucket_cap_mb is None:
            cap = cost_of(self.process_group).bucket_bytes()
        else:
            cap = int(bucket_cap_mb * (1 << 20))
        self._reducer = Reducer(named, self.process_group, (cap // 4, cap))
        self._shard_count = shards
        self._shards: Shards | None = None
        self._join: Join | None = None

    def _check_alike(self, named: Sequence[tuple[str, Parameter]]) -> None:
        """All ranks must train the same parameters."""
        group = self.process_group
        mine = [(name, p.shape, str(p.dtype)) for name, p in named]
        found: list[Any] = [None] * group.size()
        all_gather_object(found, mine, group)
        for rank, theirs in zip(group.ranks, found, strict=True):
            if theirs != found[0]:
                pairs = zip([*theirs, None], [*found[0], None], strict=False)
                other, first = next((a, b) for a, b in pairs if a != b)
                raise MismatchError(
                    f"the modules of the ranks differ: rank {rank} has parameter {_shown(other)} where "
                    f"rank {group.ranks[0]} has {_shown(first)}"
                )

    # ---- the plain loop

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if tape.is_grad_enabled() and tape.tracing() is None:
            self._before_forward()
        with spans.span("forward"):
            return self.module(*inputs, **kwargs)

    def _before_forward(self) -> None:
        reducer = self._reducer
        if reducer.shards is not None:
            return
        reducer.restart()
        reducer.reduces = self.require_backward_grad_sync
        if not reducer.reduces:
            return
        if self._join is not None:
            self._join.step(self)
        if self.broadcast_buffers and self.training:
            self._broadcast_buffers()

    def _broadcast_buffers(self) -> None:
        _broadcast(list(self.module.buffers()), self.process_group, self._reducer.source)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within the block, gradients are only accumulated on each rank.

        The first backward pass after it averages the sums. Forward must run inside the block too.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # ---- ranks with different numbers of steps

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """`Join` of this module alone, for ranks with different numbers of batches."""
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def _follow(self) -> None:
        """Take part in a step of the others without inputs."""
        if self.broadcast_buffers and self.training:
            self._broadcast_buffers()
        self._reducer.follow()

    def _copy_from(self, member: int) -> None:
        """Copy the parameters and buffers of one rank to all."""
        tensors = [*self.module.parameters(), *self.module.buffers()]
        _broadcast(tensors, self.process_group, member)

    # ---- the loop with equal bits

    def shards(self, *batch: Any) -> Iterator[Any]:
        """Iterate over this rank's micro-shards of a global batch; afterwards `grad` is there.

            for x, y in net.shards(x_local, y_local):
                F.cross_entropy(net(x), y).backward()
            opt.step()

        batch: this rank's contiguous part of the global batch, in rank order
        (`DistributedSampler(shards=…)` deals it so): tensors [N, …], also nested in tuples, lists and
        dicts, which are cut along the first dimension into `shards / ranks` equal parts.

        Each shard is a batch of its own: dropout and other random numbers are seeded by step and shard,
        batch normalisation uses the shard's statistics, and running statistics are moved in shard
        order. The gradients of the shards are kept apart, summed in shard order and divided by their
        number, so parameters after a step have the same bits for every number of ranks that divides
        `shards`. That costs memory for one set of gradients per shard of this rank.

        Every step draws one number from samara's default generator, so a checkpoint needs its state
        (`samara.get_rng_state`), and all ranks need the same seed. Call backward once per shard.

        Raises ShapeError if the batch cannot be cut evenly or the ranks do not divide the shards,
        MismatchError if the ranks have batches of different sizes or different random numbers.

        >>> def train():
        ...     net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1, bias=False), shards=2)
        ...     for x in net.shards(samara.ones(2, 2)):
        ...         net(x).sum().backward()
        ...     return net.module.weight.grad.tolist()
        >>> samara.distributed.run_threads(train, 1)
        [[[1.0, 1.0]]]
        """
        if self._shards is None:
            self._shards = Shards(self.module, self._reducer, self._shard_count)
        return self._shards.steps(batch)


def _broadcast(tensors: Sequence[Tensor], group: ProcessGroup, source: int = 0) -> None:
    """Copy tensors from one member to all: one broadcast for each dtype."""
    by_dtype: dict[np.dtype[Any], list[Tensor]] = {}
    for tensor in tensors:
        by_dtype.setdefault(tensor._data.dtype, []).append(tensor)
    if group.size() == 1:
        return
    for members in by_dtype.values():
        whole = np.concatenate([t._data.reshape(-1) for t in members])
        broadcast(wrap(whole), group=group, group_src=source)
        at = 0
        for tensor in members:
            array = tensor._data
            array[...] = whole[at : at + array.size].reshape(array.shape)
            tensor._version[0] += 1
            at += array.size


def _shown(parameter: Any) -> str:
    if parameter is None:
        return "no more"
    name, shape, dtype = parameter
    return f"{name} ({dtype} {list(shape)})"
