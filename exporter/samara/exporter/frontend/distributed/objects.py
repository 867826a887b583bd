# SPDX-License-Identifier: Apache-2.0
"""Collectives on any Python objects, with PyTorch's names and arguments.

Objects travel as pickles, as between the processes of `multiprocessing`: ranks trust each other.
"""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import numpy as np

from samara.exporter.frontend.distributed import _algorithms, _header
from samara.exporter.frontend.distributed._engine import Steps
from samara.exporter.frontend.distributed._transport import Bytes, Transport, starts_of
from samara.exporter.frontend.distributed.collectives import _is_outside, _root
from samara.exporter.frontend.distributed.group import ProcessGroup, group_of
from samara.exporter.frontend.distributed.point_to_point import recv, send
from samara.exporter.frontend.tensor import wrap
from samara.pybridge.errors import ShapeError

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _packed(obj: Any) -> Bytes:
    return np.frombuffer(pickle.dumps(obj), np.uint8)


def _unpacked(data: Bytes) -> Any:
    """The object. It runs the classes' own code, so it runs in the rank's thread, not in the watcher."""
    return pickle.loads(data.data)


def _parts(whole: Bytes, sizes: list[int]) -> list[Bytes]:
    return [
        whole[start : start + size] for start, size in zip(starts_of(sizes), sizes, strict=True)
    ]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Copy the object of every rank to `object_list[rank]` of all.

    PyTorch: `torch.distributed.all_gather_object`.

    >>> def names():
    ...     found = [None, None]
    ...     samara.distributed.all_gather_object(found, f"rank {samara.distributed.get_rank()}")
    ...     return found
    >>> samara.distributed.run_threads(names, 2)
    [['rank 0', 'rank 1'], ['rank 0', 'rank 1']]
    """
    if _is_outside(group):
        return
    members = group_of(group)
    _check_length(object_list, members.size(), "object_list")
    data = _packed(obj)

    def rest(transport: Transport, sizes: list[int], headers: Bytes) -> Steps:
        if max(sizes) <= _header.INLINE:
            parts = [_header.data_of(headers, n)[k] for k, n in enumerate(sizes)]
        else:
            whole = np.empty(sum(sizes), np.uint8)
            yield transport.allgather(data, whole, sizes)
            parts = _parts(whole, sizes)
        return parts

    inline = data if data.size <= _header.INLINE else None
    work = members.start("all_gather_object()", rest, size=data.size, data=inline, wake=False)
    object_list[:] = [_unpacked(part) for part in work.result()]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Copy the object of every rank to `object_gather_list[rank]` of rank `dst` (default 0).

    PyTorch: `torch.distributed.gather_object`.

    >>> def names():
    ...     rank = samara.distributed.get_rank()
    ...     found = None if rank else [None, None]
    ...     samara.distributed.gather_object(str(rank), found)
    ...     return found
    >>> samara.distributed.run_threads(names, 2)
    [['0', '1'], None]
    """
    if _is_outside(group):
        return
    members = group_of(group)
    root = _root(members, dst, group_dst, "dst")
    at_root = members.rank() == root
    if at_root:
        _check_length(object_gather_list, members.size(), "object_gather_list")
    data = _packed(obj)

    def rest(transport: Transport, sizes: list[int], _headers: Bytes) -> Steps:
        whole = np.empty(sum(sizes) if at_root else 0, np.uint8)
        yield from _algorithms.collect(transport, data, whole, sizes, root)
        return _parts(whole, sizes) if at_root else None

    what = f"gather_object(dst={members.ranks[root]})"
    parts = members.start(what, rest, size=data.size, wake=False).result()
    if at_root and object_gather_list is not None:
        object_gather_list[:] = [_unpacked(part) for part in parts]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects of rank `src` (default 0) to the lists of all, which have the same length.

    device has no effect. PyTorch: `torch.distributed.broadcast_object_list`.

    >>> def told():
    ...     objects = [{"lr": 0.1}] if samara.distributed.get_rank() == 0 else [None]
    ...     samara.distributed.broadcast_object_list(objects)
    ...     return objects
    >>> samara.distributed.run_threads(told, 2)
    [[{'lr': 0.1}], [{'lr': 0.1}]]
    """
    if _is_outside(group):
        return
    members = group_of(group)
    root = _root(members, src, group_src, "src")
    share(object_list, members, root)


def share(
    object_list: list[Any],
    members: ProcessGroup,
    root: int,
    timeout: float | timedelta | None = None,
) -> None:
    """Copy the objects of the member `root` to the lists of all. timeout: as for `Work.wait`."""
    data = _packed(object_list) if members.rank() == root else np.empty(0, np.uint8)

    def rest(transport: Transport, sizes: list[int], headers: Bytes) -> Steps:
        size = sizes[root]
        if size <= _header.INLINE:
            whole = _header.data_of(headers, size)[root]
        else:
            whole = data.copy() if transport.rank == root else np.empty(size, np.uint8)
            yield transport.broadcast(whole, root)
        return whole

    what = f"broadcast_object_list({len(object_list)} objects, src={members.ranks[root]})"
    inline = data if data.size <= _header.INLINE else None
    work = members.start(what, rest, size=data.size, data=inline, wake=False)
    work.wait(timeout)
    object_list[:] = _unpacked(work.result())


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put `scatter_object_input_list[rank]` of rank `src` (default 0) in the output list of each rank.

    PyTorch: `torch.distributed.scatter_object_list`.

    >>> def mine():
    ...     given = ["a", "b"] if samara.distributed.get_rank() == 0 else None
    ...     got = [None]
    ...     samara.distributed.scatter_object_list(got, given)
    ...     return got
    >>> samara.distributed.run_threads(mine, 2)
    [['a'], ['b']]
    """
    if _is_outside(group):
        return
    members = group_of(group)
    root = _root(members, src, group_src, "src")
    count = members.size()
    _check_length(scatter_object_output_list, 1, "scatter_object_output_list", least=True)
    packed: list[Bytes] = []
    if members.rank() == root:
        _check_length(scatter_object_input_list, count, "scatter_object_input_list")
        packed = [_packed(obj) for obj in scatter_object_input_list or ()]

    def rest(transport: Transport, _sizes: list[int], _headers: Bytes) -> Steps:
        lengths = np.array([part.size for part in packed] or [0] * count, np.int64)
        yield transport.broadcast(lengths.view(np.uint8), root)
        part = np.empty(int(lengths[transport.rank]), np.uint8)
        whole = np.concatenate(packed) if packed else np.empty(0, np.uint8)
        yield from _algorithms.distribute(transport, whole, lengths.tolist(), part, root)
        return part

    work = members.start(f"scatter_object_list(src={members.ranks[root]})", rest, wake=False)
    scatter_object_output_list[0] = _unpacked(work.result())


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
) -> None:
    """Send objects to rank `dst`, which calls `recv_object_list`. device has no effect.

    PyTorch: `torch.distributed.send_object_list`.

    >>> def pass_on():
    ...     objects = ["from 0"] if samara.distributed.get_rank() == 0 else [None]
    ...     if samara.distributed.get_rank() == 0:
    ...         samara.distributed.send_object_list(objects, 1)
    ...     else:
    ...         samara.distributed.recv_object_list(objects, 0)
    ...     return objects
    >>> samara.distributed.run_threads(pass_on, 2)
    [['from 0'], ['from 0']]
    """
    data = _packed(object_list)
    send(wrap(np.array([data.size], np.int64)), dst, group, _OBJECTS, group_dst)
    send(wrap(data), dst, group, _OBJECTS, group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> int:
    """Receive the objects of `send_object_list` into the list; returns the sender's rank.

    PyTorch: `torch.distributed.recv_object_list`.
    """
    size = np.zeros(1, np.int64)
    sender = recv(wrap(size), src, group, _OBJECTS, group_src)
    if sender < 0:
        return sender
    data = np.empty(int(size[0]), np.uint8)
    recv(wrap(data), sender, group, _OBJECTS)
    object_list[:] = _unpacked(data)
    return sender


_OBJECTS = 10_000  # a tag that users hardly choose


def _check_length(objects: Any, count: int, name: str, least: bool = False) -> None:
    have = -1 if objects is None else len(objects)
    if have < count or (have > count and not least):
        found = "None" if objects is None else f"of length {have}"
        raise ShapeError(f"{name} is {found}, expected a list of {count}")
