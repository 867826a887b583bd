# SPDX-License-Identifier: Apache-2.0
"""Collectives on tensors, with PyTorch's names and arguments.

All members of the group call the same function with tensors of the same shapes and dtypes, in the same order;
anything else is a MismatchError on all of them. Floats are summed in rank order, so all ranks get the same
bits. Every function waits for the result, or returns a `Work` with `async_op=True`; on ranks that are no
members of the group it does nothing and returns None.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from samara.exporter.frontend.distributed import _algorithms
from samara.exporter.frontend.distributed._buffer import Buffer
from samara.exporter.frontend.distributed._engine import Steps, Work
from samara.exporter.frontend.distributed._header import INLINE, data_of
from samara.exporter.frontend.distributed._reduction import ReduceOp, check_reducible, fold
from samara.exporter.frontend.distributed._transport import Bytes, Transport, as_bytes
from samara.exporter.frontend.distributed.errors import MismatchError
from samara.exporter.frontend.distributed.group import GroupMember, ProcessGroup, group_of
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError

__all__ = [
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
]

Array = np.ndarray[Any, Any]


def _finished(work: Work, async_op: bool) -> Work | None:
    if async_op:
        return work
    work.wait()
    return None


def _is_outside(group: Any) -> bool:
    return group is GroupMember.NON_GROUP_MEMBER


def _root(group: ProcessGroup, rank: int | None, member: int | None, name: str) -> int:
    """`_member`; the first one if neither number is given."""
    return 0 if rank is member is None else _member(group, rank, member, name)


def _member(group: ProcessGroup, rank: int | None, member: int | None, name: str) -> int:
    """A member's number, from its rank in the default group or from the number itself."""
    if (rank is None) == (member is None):
        raise ArgumentError(f"give either {name} or group_{name}")
    if rank is not None:
        if rank not in group.ranks:
            raise ArgumentError(f"{name} is rank {rank}, the group has ranks {list(group.ranks)}")
        return group.ranks.index(rank)
    assert member is not None
    if not 0 <= member < group.size():
        raise ArgumentError(f"group_{name} is {member}, the group has {group.size()} members")
    return member


def _inline(flat: Array) -> Bytes | None:
    return as_bytes(flat) if flat.nbytes <= INLINE else None


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all ranks, in rank order, and put the result in all of them.

    Raises ShapeError for a dtype that `op` does not take. PyTorch: `torch.distributed.all_reduce`.

    >>> def total():
    ...     t = samara.tensor([1.0, 2.0]) * (samara.distributed.get_rank() + 1)
    ...     samara.distributed.all_reduce(t)
    ...     return t.tolist()
    >>> samara.distributed.run_threads(total, 2)
    [[3.0, 6.0], [3.0, 6.0]]
    """
    if _is_outside(group):
        return None
    buffer = Buffer(tensor, out=True)
    check_reducible(op, buffer.flat.dtype)
    flat = buffer.flat

    def rest(transport: Transport, _sizes: list[int], headers: Bytes) -> Steps:
        if flat.nbytes <= INLINE:
            parts = np.ascontiguousarray(data_of(headers, flat.nbytes)).view(flat.dtype)
            fold(op, list(parts), flat)
        else:
            yield from _algorithms.all_reduce(transport, flat, op)
        buffer.store()

    what, data = f"all_reduce({buffer.text}, {op.name})", _inline(flat)
    work = group_of(group).start(what, rest, size=flat.nbytes, data=data, wake=async_op)
    return _finished(work, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """As `all_reduce`, but only rank `dst` gets the result; the other tensors stay as they are.

    PyTorch: `torch.distributed.reduce`.

    >>> def total():
    ...     t = samara.ones(2)
    ...     samara.distributed.reduce(t, 0)
    ...     return t.tolist()
    >>> samara.distributed.run_threads(total, 2)
    [[2.0, 2.0], [1.0, 1.0]]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    root = _member(members, dst, group_dst, "dst")
    buffer = Buffer(tensor, out=root == members.rank())
    check_reducible(op, buffer.flat.dtype)
    flat = buffer.flat if root == members.rank() else buffer.flat.copy()

    def rest(transport: Transport, _sizes: list[int], _headers: Bytes) -> Steps:
        yield from _algorithms.reduce(transport, flat, op, root)
        if transport.rank == root:
            buffer.store()

    what = f"reduce({buffer.text}, dst={members.ranks[root]}, {op.name})"
    return _finished(members.start(what, rest, size=flat.nbytes, wake=async_op), async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of rank `src` to all. PyTorch: `torch.distributed.broadcast`.

    >>> def told():
    ...     t = samara.ones(2) * samara.distributed.get_rank()
    ...     samara.distributed.broadcast(t, 1)
    ...     return t.tolist()
    >>> samara.distributed.run_threads(told, 2)
    [[1.0, 1.0], [1.0, 1.0]]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    root = _member(members, src, group_src, "src")
    buffer = Buffer(tensor, out=root != members.rank())

    def rest(transport: Transport, _sizes: list[int], headers: Bytes) -> Steps:
        if buffer.flat.nbytes > INLINE:
            yield transport.broadcast(as_bytes(buffer.flat), root)
        elif transport.rank != root:
            as_bytes(buffer.flat)[:] = data_of(headers, buffer.flat.nbytes)[root]
        if transport.rank != root:
            buffer.store()

    what = f"broadcast({buffer.text}, src={members.ranks[root]})"
    size, data = buffer.flat.nbytes, _inline(buffer.flat)
    work = members.start(what, rest, size=size, data=data, wake=async_op)
    return _finished(work, async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the tensor of every rank to `tensor_list[rank]` of all. All have one shape and dtype.

    PyTorch: `torch.distributed.all_gather`.

    >>> def ranks():
    ...     parts = [samara.zeros(1), samara.zeros(1)]
    ...     samara.distributed.all_gather(parts, samara.ones(1) * samara.distributed.get_rank())
    ...     return [t.item() for t in parts]
    >>> samara.distributed.run_threads(ranks, 2)
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    part = Buffer(tensor)
    outs = _list_of(tensor_list, members.size(), part, "tensor_list", out=True)
    return _finished(_all_gather(members, "all_gather", part, outs, async_op), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """As `all_gather`, into one tensor: [ranks x N, …] or [ranks, N, …] for inputs of [N, …].

    PyTorch: `torch.distributed.all_gather_into_tensor`.

    >>> def ranks():
    ...     out = samara.zeros(2)
    ...     mine = samara.ones(1) * samara.distributed.get_rank()
    ...     samara.distributed.all_gather_into_tensor(out, mine)
    ...     return out.tolist()
    >>> samara.distributed.run_threads(ranks, 2)
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    part = Buffer(input_tensor, "input_tensor")
    out = Buffer(output_tensor, "output_tensor", out=True)
    _check_whole(out, part, members.size(), "output_tensor", "input_tensor")
    work = _all_gather(members, "all_gather_into_tensor", part, out, async_op)
    return _finished(work, async_op)


def _all_gather(members: ProcessGroup, name: str, part: Buffer, out: Any, wake: bool) -> Work:
    count, flat = members.size(), part.flat

    def rest(transport: Transport, _sizes: list[int], headers: Bytes) -> Steps:
        whole = out.flat if isinstance(out, Buffer) else np.empty(count * flat.size, flat.dtype)
        if flat.nbytes <= INLINE:
            as_bytes(whole).reshape(count, -1)[...] = data_of(headers, flat.nbytes)
        else:
            yield transport.allgather(as_bytes(flat), as_bytes(whole), [flat.nbytes] * count)
        _store(out, whole)

    what = f"{name}({part.text})"
    return members.start(what, rest, size=flat.nbytes, data=_inline(flat), wake=wake)


def _store(out: Buffer | Sequence[Buffer], whole: Array) -> None:
    """Put the parts of all ranks in their tensors."""
    if isinstance(out, Buffer):
        out.store()
        return
    for buffer, part in zip(out, _algorithms.parts_of(whole, len(out)), strict=True):
        buffer.flat[:] = part
        buffer.store()


def _list_of(tensors: Any, count: int, like: Buffer, name: str, out: bool = False) -> list[Buffer]:
    if tensors is None or len(tensors) != count:
        have = "None" if tensors is None else f"{len(tensors)} tensors"
        raise ShapeError(f"{name} is {have}, expected one tensor for each of the {count} ranks")
    buffers = [Buffer(t, name, out) for t in tensors]
    for buffer in buffers:
        if buffer.text != like.text:
            raise ShapeError(f"{name} holds a tensor of {buffer.text}, expected {like.text}")
    return buffers


def _check_whole(whole: Buffer, part: Buffer, count: int, name: str, part_name: str) -> None:
    if whole.flat.dtype != part.flat.dtype or whole.flat.size != count * part.flat.size:
        raise ShapeError(
            f"{name} is {whole.text}, expected {count} times the values of {part_name}, {part.text}"
        )


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copy the tensor of every rank to `gather_list[rank]` of rank `dst` (default 0).

    Only rank `dst` gives gather_list. PyTorch: `torch.distributed.gather`.

    >>> def ranks():
    ...     rank = samara.distributed.get_rank()
    ...     parts = None if rank else [samara.zeros(1), samara.zeros(1)]
    ...     samara.distributed.gather(samara.ones(1) * rank, parts)
    ...     return parts and [t.item() for t in parts]
    >>> samara.distributed.run_threads(ranks, 2)
    [[0.0, 1.0], None]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    root = _root(members, dst, group_dst, "dst")
    part = Buffer(tensor)
    at_root = members.rank() == root
    outs = _list_of(gather_list, members.size(), part, "gather_list", out=True) if at_root else []
    sizes = [part.flat.nbytes] * members.size()

    def rest(transport: Transport, _sizes: list[int], _headers: Bytes) -> Steps:
        whole = np.empty(part.flat.size * len(outs), part.flat.dtype)
        yield from _algorithms.collect(transport, part.flat, whole, sizes, root)
        if outs:
            _store(outs, whole)

    what = f"gather({part.text}, dst={members.ranks[root]})"
    return _finished(members.start(what, rest, size=part.flat.nbytes, wake=async_op), async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy `scatter_list[rank]` of rank `src` (default 0) to the tensor of every rank.

    Only rank `src` gives scatter_list. PyTorch: `torch.distributed.scatter`.

    >>> def mine():
    ...     t = samara.zeros(1)
    ...     parts = None if samara.distributed.get_rank() else [samara.ones(1), samara.ones(1) * 2]
    ...     samara.distributed.scatter(t, parts)
    ...     return t.item()
    >>> samara.distributed.run_threads(mine, 2)
    [1.0, 2.0]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    root = _root(members, src, group_src, "src")
    part = Buffer(tensor, out=True)
    at_root = members.rank() == root
    ins = _list_of(scatter_list, members.size(), part, "scatter_list") if at_root else []
    whole = np.concatenate([b.flat for b in ins]) if ins else np.empty(0, part.flat.dtype)
    sizes = [part.flat.nbytes] * members.size()

    def rest(transport: Transport, _sizes: list[int], _headers: Bytes) -> Steps:
        yield from _algorithms.distribute(transport, whole, sizes, part.flat, root)
        part.store()

    what = f"scatter({part.text}, src={members.ranks[root]})"
    return _finished(members.start(what, rest, size=part.flat.nbytes, wake=async_op), async_op)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Combine `input_list[rank]` of all ranks, in rank order, into `output` of that rank.

    PyTorch: `torch.distributed.reduce_scatter`.

    >>> def mine():
    ...     out = samara.zeros(1)
    ...     samara.distributed.reduce_scatter(out, [samara.ones(1), samara.ones(1) * 2])
    ...     return out.item()
    >>> samara.distributed.run_threads(mine, 2)
    [2.0, 4.0]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    out = Buffer(output, "output", out=True)
    ins = _list_of(input_list, members.size(), out, "input_list")
    sent = np.concatenate([b.flat for b in ins])
    work = _reduce_scatter(members, "reduce_scatter", out, sent, op, async_op)
    return _finished(work, async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """As `reduce_scatter`, of one tensor with the parts for all ranks one after the other.

    PyTorch: `torch.distributed.reduce_scatter_tensor`.

    >>> def mine():
    ...     out = samara.zeros(1)
    ...     samara.distributed.reduce_scatter_tensor(out, samara.tensor([1.0, 2.0]))
    ...     return out.item()
    >>> samara.distributed.run_threads(mine, 2)
    [2.0, 4.0]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    out, whole = Buffer(output, "output", out=True), Buffer(input, "input")
    _check_whole(whole, out, members.size(), "input", "output")
    work = _reduce_scatter(members, "reduce_scatter_tensor", out, whole.flat, op, async_op)
    return _finished(work, async_op)


def _reduce_scatter(
    members: ProcessGroup, name: str, out: Buffer, sent: Array, op: ReduceOp, wake: bool
) -> Work:
    check_reducible(op, out.flat.dtype)

    def rest(transport: Transport, _sizes: list[int], _headers: Bytes) -> Steps:
        yield from _algorithms.reduce_scatter(transport, sent, out.flat, op)
        out.store()

    what = f"{name}({out.text}, {op.name})"
    return members.start(what, rest, size=out.flat.nbytes, wake=wake)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Copy `input_tensor_list[k]` of rank j to `output_tensor_list[j]` of rank k.

    The shapes may differ between pairs of ranks; every output has the size of what it gets, else
    MismatchError on all ranks. PyTorch: `torch.distributed.all_to_all`.

    >>> def swapped():
    ...     out = [samara.zeros(1), samara.zeros(1)]
    ...     rank = samara.distributed.get_rank()
    ...     samara.distributed.all_to_all(out, [samara.ones(1) * rank, samara.ones(1) * rank])
    ...     return [t.item() for t in out]
    >>> samara.distributed.run_threads(swapped, 2)
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    count = members.size()
    if len(output_tensor_list) != count or len(input_tensor_list) != count:
        raise ShapeError(
            f"{len(output_tensor_list)} outputs and {len(input_tensor_list)} inputs were given, "
            f"expected one for each of the {count} ranks"
        )
    outs = [Buffer(t, "output_tensor_list", out=True) for t in output_tensor_list]
    ins = [Buffer(t, "input_tensor_list") for t in input_tensor_list]
    sent = np.concatenate([b.flat for b in ins])
    received = np.concatenate([b.flat for b in outs])
    if sent.dtype != received.dtype or len({b.flat.dtype for b in (*ins, *outs)}) > 1:
        raise ShapeError("all_to_all takes tensors of one dtype")

    def store() -> None:
        at = 0
        for buffer in outs:
            buffer.flat[:] = received[at : at + buffer.flat.size]
            at += buffer.flat.size
            buffer.store()

    work = _all_to_all(
        members,
        f"all_to_all({sent.dtype})",
        (sent, [b.flat.nbytes for b in ins]),
        (received, [b.flat.nbytes for b in outs]),
        store,
        async_op,
    )
    return _finished(work, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """As `all_to_all`, of tensors that are cut along their first dimension, by default evenly.

    PyTorch: `torch.distributed.all_to_all_single`.

    >>> def swapped():
    ...     out = samara.zeros(2)
    ...     samara.distributed.all_to_all_single(out, samara.ones(2) * samara.distributed.get_rank())
    ...     return out.tolist()
    >>> samara.distributed.run_threads(swapped, 2)
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if _is_outside(group):
        return None
    members = group_of(group)
    out, sent = Buffer(output, "output", out=True), Buffer(input, "input")
    if out.flat.dtype != sent.flat.dtype:
        raise ShapeError(f"output is {out.text}, input {sent.text}: their dtypes differ")
    work = _all_to_all(
        members,
        f"all_to_all_single({sent.flat.dtype})",
        (sent.flat, _split(sent, input_split_sizes, members.size(), "input")),
        (out.flat, _split(out, output_split_sizes, members.size(), "output")),
        out.store,
        async_op,
    )
    return _finished(work, async_op)


def _split(buffer: Buffer, sizes: Sequence[int] | None, count: int, name: str) -> list[int]:
    """Bytes of the parts for each rank."""
    rows = buffer.shape[0] if buffer.shape else 0
    if sizes is None:
        sizes = [rows // count] * count
    if len(sizes) != count or sum(sizes) != rows or min(sizes) < 0:
        raise ShapeError(
            f"{name} of shape {buffer.shape} cannot be split as {list(sizes)} among {count} ranks"
        )
    row = buffer.flat.nbytes // rows if rows else 0
    return [size * row for size in sizes]


def _all_to_all(
    members: ProcessGroup,
    what: str,
    sent: tuple[Array, list[int]],
    received: tuple[Array, list[int]],
    store: Any,
    wake: bool,
) -> Work:
    count = members.size()

    def rest(transport: Transport, _sizes: list[int], _headers: Bytes) -> Steps:
        # Every rank learns what all send and expect, so a mismatch is the same error everywhere.
        mine = np.array([sent[1], received[1]], np.int64)
        sizes = np.empty((count, 2, count), np.int64)
        yield transport.allgather(as_bytes(mine), as_bytes(sizes), [mine.nbytes] * count)
        _check_sizes(members, what, sizes)
        yield transport.alltoall(as_bytes(sent[0]), sent[1], as_bytes(received[0]), received[1])
        store()

    return members.start(what, rest, wake=wake)


def _check_sizes(members: ProcessGroup, what: str, sizes: Array) -> None:
    for j in range(members.size()):
        for k in range(members.size()):
            if sizes[j, 0, k] != sizes[k, 1, j]:
                raise MismatchError(
                    f"{what}: rank {members.ranks[j]} sends {sizes[j, 0, k]} bytes to rank "
                    f"{members.ranks[k]}, which expects {sizes[k, 1, j]}"
                )


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all ranks have called it. device_ids has no effect.

    PyTorch: `torch.distributed.barrier`.

    >>> samara.distributed.run_threads(samara.distributed.barrier, 2)
    [None, None]
    """
    return None if _is_outside(group) else _finished(_barrier(group, async_op), async_op)


def monitored_barrier(
    group: Any = None,
    timeout: float | timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """`barrier` with a timeout of its own. Its error names all missing ranks, as every timeout does.

    PyTorch: `torch.distributed.monitored_barrier`.

    >>> samara.distributed.run_threads(samara.distributed.monitored_barrier, 2)
    [None, None]
    """
    if not _is_outside(group):
        _barrier(group, False).wait(timeout)


def _barrier(group: Any, wake: bool) -> Work:
    def rest(_transport: Transport, _sizes: list[int], _headers: Bytes) -> Steps:
        yield from ()

    return group_of(group).start("barrier()", rest, wake=wake)
