# SPDX-License-Identifier: Apache-2.0
"""Operators that only move elements, or make them from sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import KINDS, Case, T, const
from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    exact_entries,
    parameters,
    plain_case,
    product,
    steps,
    uniform,
    whole,
)

_BYTES = ("int8", "uint8", "int16")
ALL = "float32, float16, int8, uint8, int16, int32, int64, bool"
_OTHERS = "float64, uint16, uint32, uint64"
ANY = f"{ALL}, {_OTHERS}"


def moved(
    rng: Any,
    op: str,
    kind: str,
    shapes: Sequence[Any],
    others: Sequence[Any] = (),
    options: dict[str, Any] | None = None,
    *,
    results: int = 1,
    first: Sequence[Any] = (),
) -> Case:
    """An operator that gives elements of its operands as they are. first, others: constants before and after them.

    int8, uint8 and int16 are quantized, with one pair of parameters for all.
    """
    before, after = ([const(c) for c in group] for group in (first, others))
    if kind in _BYTES:
        s, z = parameters(-3, 4, kind)
        inputs = [T(steps(uniform(rng, shape), (s, z), kind), scale=s, zero=z) for shape in shapes]
        out = T(kind=KINDS[kind], shape=(), scale=s, zero=z)
    else:
        inputs = [T(whole(rng, shape, kind)) for shape in shapes]
        out = T(kind=KINDS[kind], shape=())
    tensors: list[T | None] = [*before, *inputs, *after]
    return Case(op, tensors, [out] * results, options or {}, steps=0)


def _i(*values: Any) -> Any:
    return np.array(values, np.int32)


def reshape(rng: Any, kind: str, shape: Any, to: Any, how: str) -> Case:
    if how == "option":
        return moved(rng, "RESHAPE", kind, [shape], [], {"new_shape": list(to)})
    return moved(rng, "RESHAPE", kind, [shape], [np.array(to, np.int32)], {"new_shape": list(to)})


def squeeze(rng: Any, kind: str, shape: Any, axes: Any) -> Case:
    return moved(rng, "SQUEEZE", kind, [shape], [], {"squeeze_dims": list(axes)})


def expand_dims(rng: Any, kind: str, shape: Any, axis: int) -> Case:
    return moved(rng, "EXPAND_DIMS", kind, [shape], [_i(axis)])


def transpose(rng: Any, kind: str, shape: Any, order: Any) -> Case:
    return moved(rng, "TRANSPOSE", kind, [shape], [np.array(order, np.int32)])


def _shapes_ops() -> Iterator[Entry]:
    def some(op: str, make: Any, given: Any, kinds: str = ANY) -> Iterator[Entry]:
        return exact_entries("movement", op, kinds, make, given)

    shapes: Any = [
        ((2, 3, 4), (6, 4)),
        ((2, 3, 4), (-1, 2)),
        ((4,), (2, 1, 2)),
        ((1, 1), ()),
        ((0, 3), (3, 0)),
    ]
    yield from some(
        "RESHAPE",
        reshape,
        [{"shape": a, "to": b, "how": h} for a, b in shapes for h in ("input", "option")],
    )
    shapes = [((1, 3, 1, 2), ()), ((1, 3, 1, 2), (0,)), ((1, 3, 1, 2), (2, -4)), ((1, 1), ())]
    yield from some("SQUEEZE", squeeze, [{"shape": a, "axes": b} for a, b in shapes])
    yield from some("EXPAND_DIMS", expand_dims, product(shape=[(2, 3), (4,)], axis=[0, 1, -1, -2]))
    orders: Any = [
        ((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4, 5), (0, 2, 1, 3)), ((2, 3, 4, 5), (0, 3, 1, 2)),
        ((2, 3, 2, 2, 3), (4, 0, 2, 1, 3)), ((2, 1, 2, 3, 1, 2), (5, 3, 1, 0, 2, 4)), ((2, 3, 4), (0, -1, 1)),
    ]  # fmt: skip
    yield from some("TRANSPOSE", transpose, [{"shape": a, "order": b} for a, b in orders])


# ---- joining and cutting


def concatenation(rng: Any, kind: str, shapes: Any, axis: int, act: str = "NONE") -> Case:
    return moved(
        rng, "CONCATENATION", kind, shapes, [], {"axis": axis, "fused_activation_function": act}
    )


def mixed_concatenation(rng: Any, kind: str, axis: int) -> Case:
    """Operands and result have parameters of their own."""
    ranges = ((-3, 3), (-1, 2), (0, 5))
    inputs = []
    for low, high in ranges:
        s, z = parameters(low, high, kind)
        inputs.append(T(steps(uniform(rng, (2, 3, 4), low, high), (s, z), kind), scale=s, zero=z))
    s, z = parameters(-3, 5, kind)
    return Case(
        "CONCATENATION", inputs, [T(kind=KINDS[kind], shape=(), scale=s, zero=z)], {"axis": axis}
    )


def pack(rng: Any, kind: str, count: int, shape: Any, axis: int) -> Case:
    return moved(rng, "PACK", kind, [shape] * count, [], {"axis": axis, "values_count": count})


def unpack(rng: Any, kind: str, shape: Any, axis: int) -> Case:
    count = shape[axis]
    return moved(rng, "UNPACK", kind, [shape], [], {"axis": axis, "num": count}, results=count)


def split(rng: Any, kind: str, shape: Any, axis: int, count: int) -> Case:
    return moved(
        rng,
        "SPLIT",
        kind,
        [shape],
        [],
        {"num_splits": count},
        results=count,
        first=[np.array(axis, np.int32)],
    )


def split_v(rng: Any, kind: str, sizes: Any, axis: int) -> Case:
    given: Any = [np.array(sizes, np.int32), np.array(axis, np.int32)]
    count = len(sizes)
    return moved(rng, "SPLIT_V", kind, [(4, 6, 6)], given, {"num_splits": count}, results=count)


def slice_(rng: Any, kind: str, shape: Any, begin: Any, size: Any) -> Case:
    return moved(rng, "SLICE", kind, [shape], [np.array(begin, np.int32), np.array(size, np.int32)])


# shape, begin, end, strides, masks
_STRIDED: Sequence[tuple[Any, Any, Any, Any, dict[str, int]]] = (
    ((6,), (1,), (5,), (2,), {}),
    ((6,), (-4,), (-1,), (1,), {}),
    ((6,), (4,), (0,), (-1,), {}),
    ((6,), (4,), (0,), (-2,), {"end_mask": 1}),
    ((6,), (2,), (4,), (1,), {"begin_mask": 1}),
    ((6,), (2,), (3,), (1,), {"shrink_axis_mask": 1}),
    ((6,), (-1,), (0,), (1,), {"shrink_axis_mask": 1}),
    ((6,), (1,), (99,), (1,), {}),
    ((6,), (-99,), (3,), (1,), {}),
    ((4, 5), (1, 1), (3, 5), (1, 2), {}),
    ((4, 5), (1,), (3,), (1,), {}),
    ((4, 5), (0, 4), (4, 0), (1, -1), {"begin_mask": 3, "end_mask": 1}),
    ((4, 5), (0, 2), (0, 3), (1, 1), {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}),
    ((2, 4, 5), (0, 1), (0, 3), (1, 1), {"ellipsis_mask": 1}),
    ((2, 4, 5), (1, 0, 1), (2, 0, 4), (1, 1, 1), {"ellipsis_mask": 2}),
    ((2, 4, 5), (0, 0, 1), (0, 0, 2), (1, 1, 1), {"ellipsis_mask": 1, "shrink_axis_mask": 4}),
    ((4, 5), (0, 0, 1), (0, 3, 4), (1, 1, 1), {"new_axis_mask": 1}),
    ((4, 5), (1, 0, 1), (3, 0, 4), (1, 1, 1), {"new_axis_mask": 2}),
    ((4, 5), (1, 0, 0), (2, 0, 0), (1, 1, 1), {"shrink_axis_mask": 1, "new_axis_mask": 2, "ellipsis_mask": 4}),
    ((1, 8, 8, 3), (0, 1, 1, 0), (1, 7, 7, 3), (1, 2, 2, 1), {"begin_mask": 9, "end_mask": 9}),
    ((2, 3, 2, 2, 3), (0, 1, 0, 0, 1), (2, 3, 2, 2, 3), (1, 1, 1, 1, 1), {}),
    ((6,), (1,), (3,), (1,), {"offset": True}),
    ((4, 5), (3, 3), (3, 1), (1, 1), {}),
)  # fmt: skip


def strided_slice(rng: Any, kind: str, row: int) -> Case:
    shape, begin, end, step, masks = _STRIDED[row]
    given: Any = [np.array(v, np.int32) for v in (begin, end, step)]
    return moved(rng, "STRIDED_SLICE", kind, [shape], given, dict(masks))


def _parts_ops() -> Iterator[Entry]:
    def some(op: str, make: Any, given: Any, kinds: str = ANY) -> Iterator[Entry]:
        return exact_entries("movement", op, kinds, make, given)

    numbers = "float32, int8, uint8, int16, int32, int64"
    three = [(2, 3, 4), (2, 1, 4), (2, 2, 4)]
    given: Any = [
        *product(shapes=[three], axis=[1, -2]), *product(shapes=[[(3,), (2,)]], axis=[0]),
        *product(shapes=[[(1, 2, 2, 3), (1, 2, 2, 5)]], axis=[3]), *product(shapes=[[(2, 3)]], axis=[0]),
        *product(shapes=[[(2, 2)] * 5], axis=[0, 1]),
    ]  # fmt: skip
    yield from some("CONCATENATION", concatenation, given, f"{ALL}, uint32")
    yield from some("CONCATENATION", mixed_concatenation, product(axis=[0, 2, -1]), "uint8")
    yield from some(
        "PACK",
        pack,
        product(count=[1, 3], shape=[(2, 3), (4,), ()], axis=[0, -1]),
        f"{numbers}, uint32",
    )
    yield from some(
        "UNPACK",
        unpack,
        product(shape=[(2, 3), (4,), (3, 1, 2)], axis=[0, -1]),
        "float32, float16, int8, uint8, int16, int32, bool",
    )
    yield from some(
        "SPLIT", split, product(shape=[(4, 6, 2)], axis=[0, 1, -1], count=[1, 2]), numbers
    )
    yield from some("SPLIT", split, product(shape=[(6,)], axis=[0], count=[3]), numbers)
    yield from some(
        "SPLIT_V", split_v, product(sizes=[(1, 3, 2), (2, -1), (6,), (5, 1)], axis=[1, -1]), numbers
    )
    cuts: Any = [
        ((6,), (1,), (3,)), ((6,), (2,), (-1,)), ((4, 5), (1, 0), (2, 5)), ((2, 3, 4), (0, 1, 1), (-1, 2, -1)),
        ((1, 4, 4, 3), (0, 1, 1, 0), (1, 2, 2, 3)), ((2, 2, 3, 2, 2), (0, 1, 1, 0, 1), (2, 1, 2, 2, 1)),
    ]  # fmt: skip
    yield from some("SLICE", slice_, [{"shape": a, "begin": b, "size": c} for a, b, c in cuts])
    yield from some("STRIDED_SLICE", strided_slice, product(row=range(len(_STRIDED))))


# ---- padding and repeating


def pad(rng: Any, kind: str, pads: Any) -> Case:
    rows: Any = np.array(pads, np.int32)
    return moved(rng, "PAD", kind, [tuple(range(2, 2 + len(pads)))], [rows])


def pad_v2(rng: Any, kind: str, pads: Any) -> Case:
    case = moved(rng, "PADV2", kind, [tuple(range(2, 2 + len(pads)))], [np.array(pads, np.int32)])
    like = case.inputs[0]
    assert like is not None
    value = const(
        np.asarray(like.data).reshape(-1)[:1].reshape(()), scale=like.scale, zero=like.zero
    )
    return Case("PADV2", [*case.inputs, value], case.outputs, steps=0)


def mirror_pad(rng: Any, kind: str, pads: Any, mode: str) -> Case:
    shape = tuple(range(3, 3 + len(pads)))
    return moved(rng, "MIRROR_PAD", kind, [shape], [np.array(pads, np.int32)], {"mode": mode})


def tile(rng: Any, kind: str, shape: Any, repeats: Any) -> Case:
    return moved(rng, "TILE", kind, [shape], [np.array(repeats, np.int32)])


def broadcast_to(rng: Any, kind: str, shape: Any, to: Any) -> Case:
    case = moved(rng, "BROADCAST_TO", kind, [shape], [np.array(to, np.int32)])
    return replace(case, version=2)


def fill(rng: Any, kind: str, shape: Any, wide: bool) -> Case:
    sizes = np.array(shape, np.int64 if wide else np.int32)
    return moved(rng, "FILL", kind, [()], first=[sizes])


def zeros_like(rng: Any, kind: str, shape: Any) -> Case:
    return moved(rng, "ZEROS_LIKE", kind, [shape])


def reverse(rng: Any, kind: str, shape: Any, axes: Any) -> Case:
    return moved(rng, "REVERSE_V2", kind, [shape], [np.array(axes, np.int32)])


def reverse_sequence(rng: Any, kind: str, seq: int, batch: int, wide: bool) -> Case:
    shape = (3, 4, 5)
    lengths = rng.integers(0, shape[seq] + 1, shape[batch]).astype(np.int64 if wide else np.int32)
    return moved(
        rng, "REVERSE_SEQUENCE", kind, [shape], [lengths], {"seq_dim": seq, "batch_dim": batch}
    )


def _repeat_ops() -> Iterator[Entry]:
    def some(op: str, make: Any, given: Any, kinds: str = ANY) -> Iterator[Entry]:
        return exact_entries("movement", op, kinds, make, given)

    rows: Any = [
        ((1, 2),),
        ((0, 1), (2, 0)),
        ((0, 0), (1, 1), (2, 1), (0, 0)),
        ((1, 0), (0, 1), (0, 0), (1, 1), (0, 2)),
    ]
    numbers = "float32, uint8, int16, int32, int64"
    yield from some("PAD", pad, product(pads=rows), ALL)
    yield from some("PADV2", pad_v2, product(pads=rows), ALL)
    rows = [((1, 2),), ((1, 1), (2, 0)), ((0, 0), (2, 2), (2, 1), (0, 0)), ((0, 0), (1, 3), (2, 4))]
    yield from some(
        "MIRROR_PAD", mirror_pad, product(pads=rows, mode=["REFLECT", "SYMMETRIC"]), ALL
    )
    shapes: Any = [((2, 3), (2, 1)), ((3,), (4,)), ((1, 2, 1, 2), (2, 1, 3, 2)), ((2, 2), (0, 2))]
    yield from some("TILE", tile, [{"shape": a, "repeats": b} for a, b in shapes])
    shapes = [
        ((3,), (2, 3)),
        ((2, 1, 3), (2, 4, 3)),
        ((), (2, 2)),
        ((1, 1), (2, 3, 4)),
        ((2, 3), (2, 3)),
    ]
    yield from some("BROADCAST_TO", broadcast_to, [{"shape": a, "to": b} for a, b in shapes])
    yield from some("FILL", fill, product(shape=[(2, 3), (4,), (0, 2), ()], wide=[False, True]))
    yield from some("ZEROS_LIKE", zeros_like, product(shape=[(2, 3), ()]), "float32, int32, int64")
    given: Any = [
        {"shape": a, "axes": b}
        for a, b in (((5,), (0,)), ((2, 3, 4), (1,)), ((2, 3, 4), (0, 1)), ((2, 3), (-1,)))
    ]
    yield from some("REVERSE_V2", reverse, given, ALL)
    given = [
        {"seq": s, "batch": b, "wide": w}
        for s, b in ((1, 0), (0, 1), (2, 0), (0, 2))
        for w in (False, True)
    ]
    yield from some("REVERSE_SEQUENCE", reverse_sequence, given, numbers)


# ---- blocks


def blocks(op: str) -> Any:
    def make(rng: Any, kind: str, block: int) -> Case:
        shape = (2, 2 * block, 3 * block, 2) if op == "SPACE_TO_DEPTH" else (2, 2, 3, 2 * block**2)
        return moved(rng, op, kind, [shape], [], {"block_size": block})

    return make


def space_to_batch(rng: Any, kind: str, shape: Any, block: Any, pads: Any) -> Case:
    given: Any = [np.array(block, np.int32), np.array(pads, np.int32)]
    return moved(rng, "SPACE_TO_BATCH_ND", kind, [shape], given)


def batch_to_space(rng: Any, kind: str, shape: Any, block: Any, crops: Any) -> Case:
    given: Any = [np.array(block, np.int32), np.array(crops, np.int32)]
    return moved(rng, "BATCH_TO_SPACE_ND", kind, [shape], given)


def dilate(rng: Any, kind: str, shape: Any, by: Any) -> Case:
    case = moved(rng, "DILATE", kind, [shape], [np.array(by, np.int32)])
    like = case.inputs[0]
    assert like is not None
    value = const(
        np.asarray(like.data).reshape(-1)[0].reshape(()), scale=like.scale, zero=like.zero
    )
    return Case("DILATE", [*case.inputs, value], case.outputs, steps=0)


def diagonal(rng: Any, kind: str, shape: Any) -> Case:
    return moved(rng, "MATRIX_DIAG", kind, [shape])


def set_diagonal(rng: Any, kind: str, shape: Any) -> Case:
    short = (*shape[:-2], min(shape[-2:]))
    return moved(rng, "MATRIX_SET_DIAG", kind, [shape, short])


def update_slice(rng: Any, kind: str, shape: Any, update: Any, start: Any) -> Case:
    return moved(rng, "DYNAMIC_UPDATE_SLICE", kind, [shape, update], [np.array(start, np.int32)])


def _block_ops() -> Iterator[Entry]:
    def some(op: str, make: Any, given: Any, kinds: str = ANY) -> Iterator[Entry]:
        return exact_entries("movement", op, kinds, make, given)

    numbers = "float32, int8, uint8, int32, int64"
    for op in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"):
        yield from some(op, blocks(op), product(block=[1, 2, 3]), numbers)
    rows: Any = [
        ((1, 4, 6, 2), (2, 3), ((0, 0), (0, 0))), ((2, 3, 4, 1), (2, 2), ((1, 0), (2, 0))),
        ((1, 4, 3), (2,), ((1, 1),)),
    ]  # fmt: skip
    yield from some(
        "SPACE_TO_BATCH_ND",
        space_to_batch,
        [{"shape": a, "block": b, "pads": c} for a, b, c in rows],
    )
    rows = [
        ((6, 2, 3, 2), (2, 3), ((0, 0), (0, 0))), ((8, 2, 3, 1), (2, 2), ((1, 0), (2, 1))),
        ((4, 3, 2), (2,), ((1, 1),)),
    ]  # fmt: skip
    yield from some(
        "BATCH_TO_SPACE_ND",
        batch_to_space,
        [{"shape": a, "block": b, "crops": c} for a, b, c in rows],
    )
    given: Any = [
        {"shape": a, "by": b} for a, b in (((3,), (2,)), ((2, 3), (1, 3)), ((2, 2, 3), (2, 2, 1)))
    ]
    yield from some("DILATE", dilate, given)
    diagonals = "float32, int8, uint8, int16, int32, int64"
    yield from some("MATRIX_DIAG", diagonal, product(shape=[(3,), (2, 4)]), diagonals)
    yield from some(
        "MATRIX_SET_DIAG", set_diagonal, product(shape=[(3, 3), (2, 3, 4), (2, 4, 3)]), diagonals
    )
    rows = [
        ((5,), (2,), (1,)),
        ((4, 4), (2, 3), (1, 3)),
        ((4, 4), (2, 2), (-1, 9)),
        ((2, 3, 4), (1, 3, 2), (1, 0, 2)),
    ]
    yield from some(
        "DYNAMIC_UPDATE_SLICE", update_slice, [{"shape": a, "update": b, "start": c} for a, b, c in rows],
    )  # fmt: skip


# ---- sizes


def sizes(rng: Any, kind: str, shape: Any, wide: bool = False) -> Case:
    to = "INT64" if wide else "INT32"
    return plain_case("SHAPE", [whole(rng, shape, kind)], to, {"out_type": to})


def rank(rng: Any, kind: str, shape: Any) -> Case:
    return plain_case("RANK", [whole(rng, shape, kind)], "INT32")


def range_(rng: Any, kind: str, start: float, limit: float, delta: float) -> Case:
    given: Any = [np.asarray(v, kind) for v in (start, limit, delta)]
    return plain_case("RANGE", given, KINDS[kind])


def broadcast_args(rng: Any, kind: str, a: Any, b: Any) -> Case:
    return plain_case("BROADCAST_ARGS", [np.array(a, kind), np.array(b, kind)], KINDS[kind])


def _size_ops() -> Iterator[Entry]:
    def some(op: str, make: Any, given: Any, kinds: str = ANY) -> Iterator[Entry]:
        return exact_entries("movement", op, kinds, make, given)

    yield from some(
        "SHAPE",
        sizes,
        product(shape=[(2, 3), (0, 4, 1)], wide=[False, True]),
    )
    yield from some("RANK", rank, product(shape=[(2, 3), (), (0, 4, 1)]))
    rows: Any = [(0, 5, 1), (2, 11, 3), (9, 1, -2)]
    given: Any = [{"start": a, "limit": b, "delta": c} for a, b, c in rows]
    yield from some("RANGE", range_, given, "float32, int32, int64")
    yield from some("RANGE", range_, [{"start": 0.5, "limit": 2.2, "delta": 0.25}], "float32")
    rows = [((2, 3), (3,)), ((1,), (4, 5)), ((2, 1, 3), (4, 1)), ((3,), (3,))]
    yield from some(
        "BROADCAST_ARGS", broadcast_args, [{"a": a, "b": b} for a, b in rows], "int32, int64"
    )


def cases() -> Iterator[Entry]:
    yield from _shapes_ops()
    yield from _parts_ops()
    yield from _repeat_ops()
    yield from _block_ops()
    yield from _size_ops()
