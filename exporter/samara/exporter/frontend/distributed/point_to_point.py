# SPDX-License-Identifier: Apache-2.0
"""send, recv, isend, irecv and batches of them, with PyTorch's names and arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.frontend.distributed import _header
from samara.exporter.frontend.distributed._buffer import Buffer
from samara.exporter.frontend.distributed._engine import Call, Steps, Work, user_line
from samara.exporter.frontend.distributed._transport import as_bytes
from samara.exporter.frontend.distributed.collectives import _is_outside, _member
from samara.exporter.frontend.distributed.errors import MismatchError
from samara.exporter.frontend.distributed.group import ProcessGroup, group_of
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]

_TAGS: Final = 32767 // 3  # MPI promises tags up to 32767; a message takes three


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to rank `dst`, which calls `recv` with the same shape, dtype and tag.

    PyTorch: `torch.distributed.send`.

    >>> def pass_on():
    ...     t = samara.ones(2) * samara.distributed.get_rank()
    ...     if samara.distributed.get_rank() == 1:
    ...         samara.distributed.send(t, 0)
    ...     else:
    ...         samara.distributed.recv(t, 1)
    ...     return t.tolist()
    >>> samara.distributed.run_threads(pass_on, 2)
    [[1.0, 1.0], [1.0, 1.0]]
    """
    work = _isend(tensor, dst, group, tag, group_dst, wake=False)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from rank `src`, by default from any; returns the sender's rank.

    Raises MismatchError if another shape or dtype was sent; -1 on ranks outside the group.
    PyTorch: `torch.distributed.recv`.
    """
    work = _irecv(tensor, src, group, tag, group_src, wake=False)
    return -1 if work is None else work.result()


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """`send` that returns at once. PyTorch: `torch.distributed.isend`."""
    return _isend(tensor, dst, group, tag, group_dst, wake=True)


def _isend(
    tensor: Tensor, dst: int | None, group: Any, tag: int, group_dst: int | None, wake: bool
) -> Work | None:
    if _is_outside(group):
        return None
    members = group_of(group)
    to = _member(members, dst, group_dst, "dst")
    buffer = Buffer(tensor)
    _check(members, to, tag)
    text = f"send({buffer.text}) to rank {members.ranks[to]} at {user_line(sys._getframe(1))}"
    inline = as_bytes(buffer.flat) if buffer.flat.nbytes <= _header.INLINE else None
    header = _header.pack(0, buffer.text, text, buffer.flat.nbytes, inline)
    transport = members.direct

    def steps(work: Work) -> Steps:
        yield transport.send(header, to, 3 * tag)
        if inline is None:
            # Data moves with the polls only, so both poll often, but not before the receiver is there.
            yield transport.receive(np.empty(1, np.uint8), to, 3 * tag + 1)
            work.joined = True
            yield transport.send(as_bytes(buffer.flat), to, 3 * tag + 2)

    call = _call(members, text, (members.ranks[to],))
    return members.engine.start((members.number, "send", to, tag), steps, call, wake)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """`recv` that returns at once. PyTorch: `torch.distributed.irecv`."""
    return _irecv(tensor, src, group, tag, group_src, wake=True)


def _irecv(
    tensor: Tensor, src: int | None, group: Any, tag: int, group_src: int | None, wake: bool
) -> Work | None:
    if _is_outside(group):
        return None
    members = group_of(group)
    anyone = src is None and group_src is None
    source = None if anyone else _member(members, src, group_src, "src")
    buffer = Buffer(tensor, out=True)
    _check(members, source, tag)
    transport = members.direct
    partners = members.ranks if source is None else (members.ranks[source],)
    who = "any rank" if source is None else f"rank {members.ranks[source]}"
    text = f"recv({buffer.text}) from {who} at {user_line(sys._getframe(1))}"

    def steps(work: Work) -> Steps:
        header = np.empty(_header.SIZE, np.uint8)
        first = transport.receive(header, source, 3 * tag)
        yield first
        size = _header.size_of(header)
        if size <= _header.INLINE:
            data = _header.data_of(header[None], size)[0]
        else:
            work.joined = True
            data = np.empty(size, np.uint8)
            ready = transport.send(np.zeros(1, np.uint8), first.source, 3 * tag + 1)
            yield transport.receive(data, first.source, 3 * tag + 2)
            yield ready
        if not _header.is_same(header, _header.pack(0, buffer.text, text, 0, None)):
            raise MismatchError(
                f"{text}\n  got what rank {members.ranks[first.source]} sent by {_header.text_of(header)}",
                fix="let both give the same shape and dtype",
            )
        as_bytes(buffer.flat)[:] = data
        buffer.store()
        return members.ranks[first.source]

    call = _call(members, text, partners)
    # A lane of its own: its header is asked for at once, so that receives match in the order of the calls. Their
    # data cannot meet, because a sender sends the next header of a tag after the data of the last one.
    return members.engine.start(object(), steps, call, wake)


def _call(members: ProcessGroup, text: str, partners: Sequence[int]) -> Call:
    own = members.ranks[members.rank()]
    return Call(text, members.number, None, (own, *partners), members.timeout)


def _check(members: ProcessGroup, partner: int | None, tag: int) -> None:
    if not 0 <= tag < _TAGS:
        raise ArgumentError(f"tag is {tag}, expected 0 to {_TAGS - 1}")
    if partner == members.rank():
        raise ArgumentError("a rank cannot send to itself or receive from itself")


class P2POp:
    """One `isend` or `irecv` of a batch: the function, its tensor, and the partner's rank.

    PyTorch: `torch.distributed.P2POp`.

    >>> op = samara.distributed.P2POp(samara.distributed.isend, samara.ones(1), 0)
    >>> op.peer
    0
    """

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ArgumentError(f"op is {op!r}, expected isend or irecv")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start all of a list of sends and receives; returns their Works in order.

    PyTorch: `torch.distributed.batch_isend_irecv`.

    >>> def swap():
    ...     other = 1 - samara.distributed.get_rank()
    ...     out, mine = samara.zeros(1), samara.ones(1) * samara.distributed.get_rank()
    ...     ops = [samara.distributed.P2POp(samara.distributed.isend, mine, other)]
    ...     ops.append(samara.distributed.P2POp(samara.distributed.irecv, out, other))
    ...     for work in samara.distributed.batch_isend_irecv(ops):
    ...         work.wait()
    ...     return out.item()
    >>> samara.distributed.run_threads(swap, 2)
    [1.0, 0.0]
    """
    works = []
    for p in p2p_op_list:
        work = p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer)
        if work is not None:
            works.append(work)
    return works
