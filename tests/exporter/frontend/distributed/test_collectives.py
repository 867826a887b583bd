# SPDX-License-Identifier: Apache-2.0
"""Every collective, on 1 to 4 ranks: the values of a fold in rank order, in equal bits on all ranks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import samara
from samara import distributed as dist
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError

# Floats: empty, one, at most 512 bytes (inside the header), more, at most 16 KB (one exchange), more.
SIZES = (0, 1, 128, 129, 4096, 4097, 30_011)
Op = dist.ReduceOp


def values(rank: int, shape: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Numbers of a rank whose sum depends on the order."""
    random = np.random.default_rng(100 + rank)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return np.asarray(
            random.standard_normal(shape) * 10.0 ** random.integers(-2, 3, shape), dtype
        )
    if dtype.kind == "b":
        return np.asarray(random.integers(0, 2, shape), dtype)
    return np.asarray(random.integers(1, 7, shape), dtype)


def tensor(rank: int, shape: Any, dtype: Any = np.float32) -> Tensor:
    return wrap(values(rank, shape, dtype))


def folded(op: Op, size: int, shape: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """The left fold in rank order."""
    ufunc = {
        Op.SUM: np.add,
        Op.AVG: np.add,
        Op.PRODUCT: np.multiply,
        Op.MIN: np.minimum,
        Op.MAX: np.maximum,
        Op.BAND: np.bitwise_and,
        Op.BOR: np.bitwise_or,
        Op.BXOR: np.bitwise_xor,
    }[op]
    parts = [values(r, shape, dtype) for r in range(size)]
    total = functools.reduce(lambda a, b: np.asarray(ufunc(a, b), a.dtype), parts)
    return total / total.dtype.type(size) if op is Op.AVG else total


def same(found: Tensor, expected: np.ndarray[Any, Any]) -> None:
    """Equal bits, dtype and shape."""
    array = found.numpy()
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    assert array.tobytes() == expected.tobytes()


def on_ranks(size: int, check: Callable[[int], Any]) -> list[Any]:
    return dist.run_threads(lambda: check(dist.get_rank()), size)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_reductions(size: int) -> None:
    floats = (Op.SUM, Op.AVG, Op.PRODUCT, Op.MIN, Op.MAX)
    integers = (Op.SUM, Op.PRODUCT, Op.MIN, Op.MAX, Op.BAND, Op.BOR, Op.BXOR)
    kinds = [(np.float32, op) for op in floats] + [(np.int64, op) for op in integers]
    cases = [(dtype, op, n) for dtype, op in kinds for n in (3, 1000)]
    cases += [(np.float32, Op.SUM, n) for n in SIZES]
    few = (np.float64, np.float16, np.int8, np.uint8, np.int32)
    cases += [(dtype, Op.SUM, n) for dtype in few for n in (5, 20_003)]
    cases += [(bool, op, 700) for op in (Op.BAND, Op.BOR, Op.BXOR, Op.MAX)]

    def check(rank: int) -> None:
        for dtype, op, n in cases:
            expected = folded(op, size, n, dtype)
            t = tensor(rank, n, dtype)
            assert dist.all_reduce(t, op) is None
            same(t, expected)
            t, root = tensor(rank, n, dtype), n % size
            dist.reduce(t, root, op)
            same(t, expected if rank == root else values(rank, n, dtype))

    on_ranks(size, check)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_copies(size: int) -> None:
    def check(rank: int) -> None:
        for n, dtype in [*((n, np.float32) for n in SIZES), (9, np.int64), (700, bool)]:
            root = (n + 1) % size
            all_values = [values(r, n, dtype) for r in range(size)]
            t = tensor(rank, n, dtype)
            dist.broadcast(t, root)
            same(t, all_values[root])
            parts = [tensor(9, n, dtype) for _ in range(size)]
            dist.all_gather(parts, tensor(rank, n, dtype))
            for part, expected in zip(parts, all_values, strict=True):
                same(part, expected)
            whole = wrap(np.zeros((size, n), dtype))
            dist.all_gather_into_tensor(whole, tensor(rank, n, dtype))
            same(whole, np.stack(all_values))
            parts = [tensor(9, n, dtype) for _ in range(size)]
            dist.gather(tensor(rank, n, dtype), parts if rank == root else None, root)
            for part, expected in zip(parts, all_values, strict=True):
                same(part, expected if rank == root else values(9, n, dtype))
            out = tensor(9, n, dtype)
            dist.scatter(out, [wrap(v) for v in all_values] if rank == root else None, root)
            same(out, all_values[rank])

    on_ranks(size, check)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_exchanges(size: int) -> None:
    def check(rank: int) -> None:
        for n in SIZES:
            given = [values(10 * rank + k, n) for k in range(size)]
            received = [values(10 * k + rank, n) for k in range(size)]
            total = functools.reduce(np.add, received)
            out = tensor(9, n)
            dist.reduce_scatter(out, [wrap(v) for v in given])
            same(out, total)
            out = tensor(9, n)
            dist.reduce_scatter_tensor(out, wrap(np.concatenate(given)), Op.AVG)
            same(out, total / np.float32(size))
            outs = [tensor(9, n) for _ in range(size)]
            dist.all_to_all(outs, [wrap(v) for v in given])
            for found, expected in zip(outs, received, strict=True):
                same(found, expected)
            whole = tensor(9, size * n)
            dist.all_to_all_single(whole, wrap(np.concatenate(given)))
            same(whole, np.concatenate(received))
        # Rank j sends j + k rows of 3 to rank k.
        rows = [wrap(values(10 * rank + k, (rank + k, 3))) for k in range(size)]
        expected = np.concatenate([values(10 * k + rank, (rank + k, 3)) for k in range(size)])
        whole = wrap(np.zeros_like(expected))
        sizes = [rank + k for k in range(size)]
        dist.all_to_all_single(whole, samara.cat(rows), sizes, sizes)
        same(whole, expected)
        dist.barrier()
        dist.monitored_barrier(timeout=timedelta(seconds=5))

    on_ranks(size, check)


def test_shapes_and_memory() -> None:
    """0-d tensors, and views, whose other values stay; the tensor's version tells autograd of the change."""

    def check(rank: int) -> None:
        scalar = wrap(np.array(rank + 1.0, np.float32))
        version = scalar._version[0]
        dist.all_reduce(scalar)
        same(scalar, np.array(6, np.float32))
        assert scalar._version[0] > version
        for rows, columns in ((4, 6), (300, 200)):
            base = wrap(np.zeros((rows, columns), np.float32))
            base.t()[1::2] = float(rank + 1)
            for view, total in ((base.t()[1::2], 6.0), (base[:, 1::2], 18.0)):
                dist.all_reduce(view)
                assert base.numpy()[:, 1::2].tolist() == [[total] * (columns // 2)] * rows
                assert not base.numpy()[:, ::2].any()
        into = wrap(np.zeros((3, 2), np.float32))
        dist.all_gather(list(into), samara.ones(2) * rank)
        assert into.tolist() == [[0, 0], [1, 1], [2, 2]]
        leaf = samara.ones(2, requires_grad=True)
        dist.all_reduce(leaf)
        assert leaf.tolist() == [3, 3]
        assert leaf.requires_grad

    on_ranks(3, check)


def test_equal_bits_for_nan_and_signed_zeros() -> None:
    """Results that are no numbers are no warnings either."""

    def check(rank: int) -> list[bytes]:
        found = []
        for n, op in ((1, Op.SUM), (9000, Op.SUM), (9000, Op.MIN), (1, Op.PRODUCT)):
            given = np.array([np.nan, -0.0, np.inf, 1e-45, 3e38], np.float32) * (1, -1, 1)[rank]
            t = wrap(np.tile(given, n).astype(np.float32))
            dist.all_reduce(t, op)
            assert np.isnan(t.numpy()).any()
            found.append(t.numpy().tobytes())
        return found

    first, *others = on_ranks(3, check)
    assert others == [first, first]


def test_several_on_their_way() -> None:
    def check(rank: int) -> None:
        tensors = [tensor(rank, n) for n in (4097, 3, 30_011, 200, 1, 4096, 8000, 5, 6)]
        works = [dist.all_reduce(t, async_op=True) for t in tensors]
        out = [tensor(9, 40) for _ in range(3)]
        gathered = dist.all_gather(out, tensor(rank, 40), async_op=True)
        assert all(isinstance(work, dist.Work) for work in works)
        for work in reversed([*works, gathered]):
            assert work is not None
            assert work.wait(timeout=5)
            assert work.is_completed()
            assert work.is_success()
            assert work.exception() is None
        for t in tensors:
            same(t, folded(Op.SUM, 3, t.shape[0]))
        for k, part in enumerate(out):
            same(part, values(k, 40))

    on_ranks(3, check)


def test_groups() -> None:
    """Collectives in overlapping groups; ranks outside do nothing. Roots are ranks or members' numbers."""

    def check(rank: int) -> None:
        pairs = [dist.new_group(pair) for pair in ((0, 2), (2, 3), (1, 3, 0))]
        for k, ranks in enumerate(((0, 2), (2, 3), (0, 1, 3))):
            group, t = pairs[k], tensor(rank, 5000)
            dist.all_reduce(t, group=group)
            if rank not in ranks:
                assert group is dist.GroupMember.NON_GROUP_MEMBER
                assert dist.all_reduce(t, group=group, async_op=True) is None
                same(t, values(rank, 5000))
                continue
            same(t, functools.reduce(np.add, [values(r, 5000) for r in ranks]))
            for given in ({"src": ranks[1]}, {"group_src": 1}):
                t = tensor(rank, 7)
                dist.broadcast(t, group=group, **given)  # type: ignore[arg-type]
                same(t, values(ranks[1], 7))
            parts = [tensor(9, 2) for _ in ranks]
            dist.gather(tensor(rank, 2), parts if rank == ranks[-1] else None, ranks[-1], group)
            if rank == ranks[-1]:
                for part, member in zip(parts, ranks, strict=True):
                    same(part, values(member, 2))
        nobody: Any = dist.GroupMember.NON_GROUP_MEMBER
        t = samara.ones(1)
        for call in (dist.reduce, dist.broadcast, dist.gather, dist.scatter):
            assert call(t, group=nobody) is None  # type: ignore[operator]
        for name in ("all_gather", "all_gather_into_tensor", "reduce_scatter", "all_to_all"):
            assert getattr(dist, name)([t], t, group=nobody) is None
        assert dist.reduce_scatter_tensor(t, t, group=nobody) is None
        assert dist.all_to_all_single(t, t, group=nobody) is None
        assert dist.barrier(nobody) is None
        assert dist.monitored_barrier(nobody) is None

    on_ranks(4, check)


def _mismatches(rank: int) -> list[tuple[Callable[[], Any], tuple[str, ...]]]:
    """Pairs of calls that do not go together, and what the message says besides the ranks."""
    one, two = samara.ones(2), samara.ones(3)
    ints = samara.tensor([1, 2])
    large, larger = samara.ones(9000), samara.ones(9001)
    return [
        (lambda: dist.all_reduce((one, two)[rank]), ("float32 [2]", "float32 [3]")),
        (lambda: dist.all_reduce((large, larger)[rank]), ("[9000]", "[9001]")),
        (lambda: dist.all_reduce((one, ints)[rank]), ("float32 [2]", "int64 [2]")),
        (lambda: dist.all_reduce(one, (Op.SUM, Op.MAX)[rank]), ("SUM", "MAX")),
        (lambda: dist.broadcast(one, rank), ("src=0", "src=1")),
        (
            lambda: dist.all_reduce(one) if rank else dist.barrier(),
            ("barrier()", "all_reduce(float32 [2], SUM)"),
        ),
        (lambda: dist.new_group([rank]), ("new_group([0])", "new_group([1])")),
        (
            lambda: dist.all_to_all([one, (one, two)[rank]], [one, one]),
            ("rank 1 sends 8 bytes to rank 1, which expects 12",),
        ),
    ]


def test_mismatches() -> None:
    """The same error on all ranks, which says who called what where; the group goes on."""

    def check(rank: int) -> list[str]:
        messages = []
        for call, parts in _mismatches(rank):
            with pytest.raises(dist.MismatchError) as caught:
                call()
            messages.append(caught.value.message)
            for part in parts:
                assert part in messages[-1]
            if len(parts) > 1:
                assert "\n  rank 0: " in messages[-1]
                assert "\n  rank 1: " in messages[-1]
                assert messages[-1].count("test_collectives.py:") == 2
            t = tensor(rank, 3)
            dist.all_reduce(t)
            same(t, folded(Op.SUM, 2, 3))
        return messages

    first, second = on_ranks(2, check)
    assert first == second


def test_ranks_that_agree_stand_in_one_line() -> None:
    def check(rank: int) -> str:
        with pytest.raises(dist.MismatchError) as caught:
            dist.all_reduce(samara.ones(5 if rank == 2 else 4))
        return caught.value.message

    (message,) = set(on_ranks(4, check))
    assert "ranks 0, 1, 3: all_reduce(float32 [4], SUM)" in message
    assert "rank 2: all_reduce(float32 [5], SUM)" in message


def test_wrong_arguments() -> None:
    """Typed errors that are raised before anything is sent."""
    one, ints, two = samara.ones(1), samara.tensor([1]), samara.ones(2)
    bad: Any = None
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: dist.all_reduce(bad), ArgumentError, "tensor is NoneType"),
        (lambda: dist.all_reduce(one, bad), ArgumentError, "op is None"),
        (lambda: dist.all_reduce(one, Op.BAND), ShapeError, "BAND takes integers"),
        (lambda: dist.all_reduce(ints, Op.AVG), ShapeError, "AVG takes floats"),
        (lambda: dist.all_reduce(one, group=bad or 3), ArgumentError, "group is 3"),
        (lambda: dist.reduce(one), ArgumentError, "give either dst or group_dst"),
        (lambda: dist.broadcast(one, 0, group_src=0), ArgumentError, "give either src"),
        (lambda: dist.broadcast(one, 1), ArgumentError, "src is rank 1"),
        (lambda: dist.broadcast(one, group_src=1), ArgumentError, "group_src is 1"),
        (lambda: dist.all_gather([], one), ShapeError, "tensor_list is 0 tensors"),
        (lambda: dist.all_gather([two], one), ShapeError, "holds a tensor of float32 [2]"),
        (lambda: dist.all_gather_into_tensor(two, one), ShapeError, "output_tensor is"),
        (lambda: dist.gather(one), ShapeError, "gather_list is None"),
        (lambda: dist.scatter(one, [ints]), ShapeError, "scatter_list holds"),
        (lambda: dist.reduce_scatter(one, [two]), ShapeError, "input_list holds"),
        (lambda: dist.reduce_scatter_tensor(one, two), ShapeError, "input is float32 [2]"),
        (lambda: dist.all_to_all([], [one]), ShapeError, "0 outputs and 1 inputs"),
        (lambda: dist.all_to_all([ints], [one]), ShapeError, "one dtype"),
        (lambda: dist.all_to_all_single(ints, one), ShapeError, "their dtypes differ"),
        (lambda: dist.all_to_all_single(two, two, [1], [2]), ShapeError, "cannot be split"),
    ]
    frozen = np.ones(1, np.float32)
    frozen.flags.writeable = False
    locked = wrap(frozen)
    for call in (
        lambda: dist.all_reduce(locked),
        lambda: dist.reduce(locked, 0),
        lambda: dist.all_gather([locked], one),
        lambda: dist.all_gather_into_tensor(locked, one),
        lambda: dist.gather(one, [locked]),
        lambda: dist.scatter(locked, [one]),
        lambda: dist.reduce_scatter(locked, [one]),
        lambda: dist.reduce_scatter_tensor(locked, one),
        lambda: dist.all_to_all([locked], [one]),
        lambda: dist.all_to_all_single(locked, one),
        lambda: dist.all_reduce(one.expand(4)),
    ):
        cases.append((call, ArgumentError, "cannot be written"))

    def check() -> None:
        for call, kind, text in cases:
            with pytest.raises(kind) as caught:
                call()
            assert text in str(caught.value)
        dist.broadcast(locked, 0)  # the root only reads
        dist.all_gather([one], locked)

    dist.run_threads(check, 1)


def test_every_pair_of_sizes_in_flight() -> None:
    """Works whose data moves in different ways may overlap in any order."""

    def check(rank: int) -> None:
        for first, second in itertools.permutations((1, 200, 5000), 2):
            a, b = tensor(rank, first), tensor(rank, second)
            works = dist.all_reduce(a, async_op=True), dist.broadcast(b, 1, async_op=True)
            for work in works:
                assert work is not None
                work.wait()
            same(a, folded(Op.SUM, 2, first))
            same(b, values(1, second))

    on_ranks(2, check)
