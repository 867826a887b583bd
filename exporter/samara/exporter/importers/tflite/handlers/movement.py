# SPDX-License-Identifier: Apache-2.0
"""Operators that only move elements, or make them from sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from samara.exporter.importers.common.slicing import stepped_bounds
from samara.exporter.importers.tflite.context import OperatorContext, need_static
from samara.exporter.importers.tflite.differences import TIES_AWAY
from samara.exporter.importers.tflite.registry import tflite_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, Read, as_dim, dmin, floordiv


def _numbers(ctx: OperatorContext) -> tuple[Value, tuple[Dim, ...], tuple[Dim, ...]]:
    """The first input, its shape in the file, and the axis of parts that complex numbers have behind that."""
    if not ctx.is_complex(0):
        x = ctx.value(0)
        return x, x.type.shape, ()
    x = ctx.pair(0)
    return x, x.type.shape[:-1], x.type.shape[-1:]


@tflite_op("RESHAPE")
def reshape(ctx: OperatorContext) -> Any:
    """The shape is the second input, or the option of models without one."""
    x, sizes, parts = _numbers(ctx)
    if ctx.has(1) and ctx.rank(1) == 1:
        target = list(ctx.dims(1))
    else:
        # Old converters wrote a scalar as [0].
        given = list(ctx.option("new_shape", ()))
        target = [] if given == [0] else [as_dim(d) for d in given]
    unknown = [i for i, d in enumerate(target) if d == as_dim(-1)]
    if len(unknown) > 1:
        raise ctx.wrong("more than one -1 in the target shape")
    if unknown:
        known = _product([d for d in target if d != as_dim(-1)])
        if known == as_dim(0):
            raise ctx.wrong("-1 cannot be derived beside a dim of 0")
        target[unknown[0]] = floordiv(_product(sizes), known)
    return ctx.final("reshape", x, shape=(*target, *parts))


def _product(dims: Sequence[Dim]) -> Dim:
    total = as_dim(1)
    for d in dims:
        total = total * d
    return total


@tflite_op("SQUEEZE", newest=2)
def squeeze(ctx: OperatorContext) -> Any:
    """The axes of the option, or all of size 1."""
    x, sizes, parts = _numbers(ctx)
    gone = {ctx.axis(a, len(sizes)) for a in ctx.option("squeeze_dims", ())}
    if not gone:
        gone = {i for i, d in enumerate(sizes) if d == as_dim(1)}
        _check_rank(ctx, sizes, len(sizes) - len(gone))
    shape = [d for i, d in enumerate(sizes) if i not in gone]
    return ctx.final("reshape", x, shape=(*shape, *parts))


def _check_rank(ctx: OperatorContext, sizes: Sequence[Dim], rank: int) -> None:
    """UnsupportedError where symbolic sizes were 1 when the model was made, so that the rank depends on them."""
    declared = ctx.output(0)
    if declared.has_rank and len(declared.shape) < rank and not all(d.is_static for d in sizes):
        raise ctx.unsupported(
            f"which axes of {[str(d) for d in sizes]} are squeezed depends on sizes that may vary",
            "give shapes= with sizes, or squeeze_dims in the source model",
        )


@tflite_op("EXPAND_DIMS")
def expand_dims(ctx: OperatorContext) -> Any:
    x, sizes, parts = _numbers(ctx)
    (axis,) = need_static(ctx, ctx.dims(1, "the axis"), "the axis")
    shape = list(sizes)
    shape.insert(ctx.axis(axis, len(sizes) + 1), as_dim(1))
    return ctx.final("reshape", x, shape=(*shape, *parts))


@tflite_op("TRANSPOSE", newest=9)
def transpose(ctx: OperatorContext) -> Any:
    x = ctx.value(0)
    order = need_static(ctx, ctx.dims(1, "the order of axes"), "the order of axes")
    return ctx.final("transpose", x, perm=tuple(ctx.axis(a, x.type.rank) for a in order))


@tflite_op("CONCATENATION", newest=7, differences=(TIES_AWAY.of("uint8"),))
def concatenation(ctx: OperatorContext) -> Any:
    parts = ctx.values()
    axis = ctx.axis(ctx.option("axis", 0), parts[0].type.rank)
    return ctx.activated("concat", *parts, axis=axis)


@tflite_op("PACK", newest=5)
def pack(ctx: OperatorContext) -> Any:
    """Along a new axis."""
    parts = ctx.values()
    axis = ctx.axis(ctx.option("axis", 0), parts[0].type.rank + 1)
    apart = []
    for v in parts:
        shape = list(v.type.shape)
        shape.insert(axis, as_dim(1))
        apart.append(ctx.emit("reshape", v, shape=shape))
    return ctx.final("concat", *apart, axis=axis)


@tflite_op("UNPACK", newest=6)
def unpack(ctx: OperatorContext) -> Any:
    """Into its slices along an axis, which goes away."""
    x = ctx.value(0)
    axis = ctx.axis(ctx.option("axis", 0), x.type.rank)
    count = len(ctx.operator.outputs)
    shape = [d for i, d in enumerate(x.type.shape) if i != axis]
    parts = _split(ctx, x, axis, [as_dim(1)] * count, final=False)
    names = ctx.output_names
    return [
        ctx.named(name, "reshape", part, shape=shape)
        for name, part in zip(names, parts, strict=True)
    ]


def _split(
    ctx: OperatorContext, x: Value, axis: int, sizes: Sequence[Dim], final: bool = True
) -> Sequence[Value]:
    if len(sizes) == 1:
        return [ctx.final("identity", x)] if final else [x]
    made: Sequence[Value] = (
        ctx.final("split", x, axis=axis, sizes=sizes)
        if final
        else ctx.named(
            [f"{ctx.label}.part.{i}" for i in range(len(sizes))], "split", x, axis=axis, sizes=sizes
        )
    )
    return made


@tflite_op("SPLIT", newest=5)
def split(ctx: OperatorContext) -> Any:
    """Into equal parts. Inputs: the axis, x."""
    (axis,) = need_static(ctx, ctx.dims(0, "the axis"), "the axis")
    x = ctx.value(1)
    at = ctx.axis(axis, x.type.rank)
    count = len(ctx.operator.outputs)
    size = x.type.shape[at]
    if size.is_static and size.as_int() % count:
        raise ctx.wrong(f"axis {at} of {x.type} cannot be split into {count} equal parts")
    return _split(ctx, x, at, [floordiv(size, count)] * count)


@tflite_op("SPLIT_V", newest=3)
def split_v(ctx: OperatorContext) -> Any:
    """Into parts of given sizes, of which one may be -1. Inputs: x, the sizes, the axis."""
    x = ctx.value(0)
    (axis,) = need_static(ctx, ctx.dims(2, "the axis"), "the axis")
    at = ctx.axis(axis, x.type.rank)
    sizes = list(ctx.dims(1, "the sizes"))
    open_ends = [i for i, d in enumerate(sizes) if d == as_dim(-1)]
    if len(open_ends) > 1:
        raise ctx.wrong("more than one -1 among the sizes")
    if open_ends:
        rest = x.type.shape[at]
        for i, d in enumerate(sizes):
            if i != open_ends[0]:
                rest = rest - d
        sizes[open_ends[0]] = rest
    return _split(ctx, x, at, sizes)


@tflite_op("SLICE", newest=8)
def slice_(ctx: OperatorContext) -> Any:
    """Inputs: x, begin, sizes; a size of -1 reaches to the end."""
    x = ctx.value(0)
    begin, sizes = ctx.dims(1, "begin"), ctx.dims(2, "the sizes")
    rank = x.type.rank
    if len(begin) != rank or len(sizes) != rank:
        raise ctx.wrong(f"{len(begin)} begins and {len(sizes)} sizes for rank {rank}")
    end = [_end(b, n, d) for b, n, d in zip(begin, sizes, x.type.shape, strict=True)]
    return ctx.final("slice", x, begin=begin, end=end, step=[1] * rank)


def _end(begin: Dim, count: Dim, size: Dim) -> Dim:
    """Where a slice of `count` elements ends; -1 of them reach to the end, also where that is known at run time."""
    if not isinstance(count.sole_atom(), Read):
        return size if count == as_dim(-1) else begin + count
    is_open = -dmin(count, 0)  # 1 or 0
    return (begin + count) * (1 - is_open) + size * is_open


@tflite_op("STRIDED_SLICE", newest=8)
def strided_slice(ctx: OperatorContext) -> Any:
    """Bit i of a mask is about entry i: begin and end at the border, axes that are new or go away, and the entry
    that stands for all axes without one.
    """
    x = ctx.value(0)
    rank = x.type.rank
    begin, end = list(ctx.dims(1, "begin")), list(ctx.dims(2, "end"))
    step = need_static(ctx, ctx.dims(3, "the strides"), "the strides")
    if not len(begin) == len(end) == len(step):
        raise ctx.wrong(f"{len(begin)} begins, {len(end)} ends and {len(step)} strides")
    if 0 in step:
        raise ctx.wrong("a stride of 0")
    masks = {
        name: int(ctx.option(f"{name}_mask", 0))
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    entries = len(begin)
    real = sum(1 for i in range(entries) if not (masks["new_axis"] | masks["ellipsis"]) >> i & 1)
    if real > rank:
        raise ctx.wrong(f"{real} entries for rank {rank}")
    b, e, s = [as_dim(0)] * rank, list(x.type.shape), [1] * rank
    shape: list[Dim | None] = []  # None: the size of the slice at this place
    kept: list[int] = []
    axis = 0
    for i in range(entries):
        if masks["ellipsis"] >> i & 1:
            for _ in range(rank - real):
                shape.append(None)
                kept.append(axis)
                axis += 1
        elif masks["new_axis"] >> i & 1:
            shape.append(as_dim(1))
        else:
            size = x.type.shape[axis]
            stop = begin[i] + end[i] if ctx.option("offset", False) else end[i]
            if masks["shrink_axis"] >> i & 1:
                b[axis], e[axis] = _one(ctx, size, begin[i])
            else:
                b[axis], e[axis] = stepped_bounds(size, begin[i], stop, as_dim(step[i]))
                if masks["begin"] >> i & 1:
                    b[axis] = as_dim(0) if step[i] > 0 else size - 1
                if masks["end"] >> i & 1:
                    e[axis] = size if step[i] > 0 else as_dim(-1)
                s[axis] = step[i]
                shape.append(None)
                kept.append(axis)
            axis += 1
    for rest in range(axis, rank):
        shape.append(None)
        kept.append(rest)
    if len(shape) == rank and all(d is None for d in shape):
        return ctx.final("slice", x, begin=b, end=e, step=s)
    y = ctx.emit("slice", x, begin=b, end=e, step=s)
    sizes = iter([y.type.shape[a] for a in kept])
    return ctx.final("reshape", y, shape=[next(sizes) if d is None else d for d in shape])


def _one(ctx: OperatorContext, size: Dim, begin: Dim) -> tuple[Dim, Dim]:
    """The bounds of the single element at `begin`."""
    if begin.is_static and begin.as_int() < 0:
        begin = begin + size
    if begin.is_static and size.is_static and not 0 <= begin.as_int() < size.as_int():
        raise ctx.wrong(f"index {begin} is out of range for size {size}")
    return begin, begin + 1


def _paddings(ctx: OperatorContext, x: Value) -> list[Dim]:
    """All begins, then all ends, from rows of (before, after)."""
    rows = ctx.stored(1).type.shape
    if len(rows) != 2 or rows[0] != as_dim(x.type.rank) or rows[1] != as_dim(2):
        raise ctx.wrong(f"paddings are {ctx.type(1)}, expected [{x.type.rank}, 2]")
    known = ctx.constant(1)
    if known is not None:
        flat = [as_dim(int(v)) for v in known.reshape(-1)]
    else:
        flat = list(ctx.flat_dims(1))
    return [*flat[::2], *flat[1::2]]


@tflite_op("PAD", newest=6)
def pad(ctx: OperatorContext) -> Any:
    """With zeros."""
    x = ctx.value(0)
    return ctx.final("pad", x, pads=_paddings(ctx, x))


@tflite_op("PADV2", newest=6)
def pad_v2(ctx: OperatorContext) -> Any:
    """With the value of the third input."""
    x = ctx.value(0)
    fill = ctx.emit("reshape", ctx.value(2), shape=())
    return ctx.final("pad", x, fill, pads=_paddings(ctx, x))


@tflite_op("MIRROR_PAD", newest=3)
def mirror_pad(ctx: OperatorContext) -> Any:
    """REFLECT leaves the border out, SYMMETRIC repeats it."""
    x = ctx.value(0)
    pads = _paddings(ctx, x)
    if ctx.option("mode", "REFLECT") == "REFLECT":
        return ctx.final("pad", x, pads=pads, mode="reflect")
    return _symmetric(ctx, x, need_static(ctx, pads, "paddings"))


def _symmetric(ctx: OperatorContext, x: Value, pads: Sequence[int]) -> Any:
    """Each padded axis with its reversed beginning before it and its reversed end behind it."""
    rank = x.type.rank
    for axis in range(rank):
        before, after, size = pads[axis], pads[rank + axis], x.type.shape[axis]
        if size.is_static and max(before, after) > size.as_int():
            raise ctx.wrong(f"padding of {max(before, after)} for axis {axis} of size {size}")
        parts = [x]
        if before:
            parts.insert(0, _backwards(ctx, x, axis, as_dim(before - 1), as_dim(-1)))
        if after:
            parts.append(_backwards(ctx, x, axis, size - 1, size - 1 - after))
        if len(parts) > 1:
            x = ctx.emit("concat", *parts, axis=axis)
    return ctx.final("identity", x)


def _backwards(ctx: OperatorContext, x: Value, axis: int, begin: Dim, end: Dim) -> Value:
    """The elements from `begin` down to the one behind `end` along an axis."""
    rank = x.type.rank
    begins, ends, steps = [as_dim(0)] * rank, list(x.type.shape), [1] * rank
    begins[axis], ends[axis], steps[axis] = begin, end, -1
    made: Value = ctx.emit("slice", x, begin=begins, end=ends, step=steps)
    return made


@tflite_op("TILE", newest=3)
def tile(ctx: OperatorContext) -> Any:
    return ctx.final("tile", ctx.value(0), repeats=ctx.dims(1, "the repeats"))


@tflite_op("BROADCAST_TO", newest=4)
def broadcast_to(ctx: OperatorContext) -> Any:
    return ctx.final("expand", ctx.value(0), shape=ctx.dims(1, "the shape"))


@tflite_op("FILL", newest=5)
def fill(ctx: OperatorContext) -> Any:
    """Inputs: the shape, one element."""
    value = ctx.emit("reshape", ctx.value(1), shape=())
    return ctx.final("expand", value, shape=ctx.dims(0, "the shape"))


@tflite_op("ZEROS_LIKE")
def zeros_like(ctx: OperatorContext) -> Any:
    x = ctx.value(0)
    zero = ctx.const(np.zeros((), x.type.dtype.numpy), x.type.dtype)
    return ctx.final("expand", zero, shape=x.type.shape)


@tflite_op("REVERSE_V2", newest=4)
def reverse(ctx: OperatorContext) -> Any:
    x = ctx.value(0)
    rank = x.type.rank
    given = need_static(ctx, ctx.dims(1, "the axes"), "the axes")
    turned = {ctx.axis(a, rank) for a in given}
    shape = x.type.shape
    return ctx.final(
        "slice",
        x,
        begin=[shape[a] - 1 if a in turned else as_dim(0) for a in range(rank)],
        end=[as_dim(-1) if a in turned else shape[a] for a in range(rank)],
        step=[-1 if a in turned else 1 for a in range(rank)],
    )


@tflite_op("REVERSE_SEQUENCE")
def reverse_sequence(ctx: OperatorContext) -> Any:
    """Row n of `batch_dim` has its first lengths[n] elements along `seq_dim` reversed."""
    x, lengths = ctx.value(0), ctx.value(1)
    rank = x.type.rank
    along, batch = (ctx.axis(ctx.option(n, 0), rank) for n in ("seq_dim", "batch_dim"))
    steps = x.type.shape[along]
    shape = [as_dim(1)] * rank
    shape[batch] = lengths.type.shape[0]
    if lengths.type.dtype is not DType.I64:
        lengths = ctx.emit("cast", lengths, to=DType.I64)
    count = ctx.emit("reshape", lengths, shape=shape)
    places = [as_dim(1)] * rank
    places[along] = steps
    at = ctx.emit("reshape", ctx.emit("iota", length=steps), shape=places)
    back = ctx.emit("sub", ctx.emit("sub", count, 1), at)
    index = ctx.emit("where", ctx.emit("lt", at, count), back, at)
    index = ctx.emit("expand", index, shape=x.type.shape)
    return ctx.final("gather_elements", x, index, axis=along)


def _image(ctx: OperatorContext) -> tuple[Value, int]:
    x, block = ctx.value(0), int(ctx.option("block_size", 1))
    if x.type.rank != 4 or block < 1:
        raise ctx.wrong(f"input {x.type} with blocks of {block}")
    return x, block


@tflite_op("SPACE_TO_DEPTH", newest=2)
def space_to_depth(ctx: OperatorContext) -> Any:
    x, k = _image(ctx)
    n, h, w, c = x.type.shape
    apart = ctx.emit("reshape", x, shape=(n, floordiv(h, k), k, floordiv(w, k), k, c))
    turned = ctx.emit("transpose", apart, perm=(0, 1, 3, 2, 4, 5))
    return ctx.final("reshape", turned, shape=(n, floordiv(h, k), floordiv(w, k), c * (k * k)))


@tflite_op("DEPTH_TO_SPACE", newest=2)
def depth_to_space(ctx: OperatorContext) -> Any:
    x, k = _image(ctx)
    n, h, w, c = x.type.shape
    channels = floordiv(c, k * k)
    apart = ctx.emit("reshape", x, shape=(n, h, w, k, k, channels))
    turned = ctx.emit("transpose", apart, perm=(0, 1, 3, 2, 4, 5))
    return ctx.final("reshape", turned, shape=(n, h * k, w * k, channels))


def _blocks(ctx: OperatorContext, x: Value) -> tuple[list[int], list[int], list[int]]:
    """(block sizes, begins, ends) of the spatial axes from the inputs 1 and 2."""
    blocks = need_static(ctx, ctx.dims(1, "the block"), "the block")
    rows = ctx.need_constant(2, "what is padded or cut off")
    if rows.shape != (len(blocks), 2) or len(blocks) >= x.type.rank or min(blocks) < 1:
        raise ctx.wrong(f"blocks {blocks} and {rows.tolist()} do not fit {x.type}")
    return blocks, rows[:, 0].tolist(), rows[:, 1].tolist()


@tflite_op("SPACE_TO_BATCH_ND", newest=4)
def space_to_batch(ctx: OperatorContext) -> Any:
    """Inputs: x [N, spatial…, rest…], block sizes, padding of each spatial axis."""
    x = ctx.value(0)
    blocks, before, after = _blocks(ctx, x)
    spatial, rank = len(blocks), x.type.rank
    rest = [0] * (rank - 1 - spatial)
    if any(before) or any(after):
        x = ctx.emit("pad", x, pads=[0, *before, *rest, 0, *after, *rest])
    n, *sizes = x.type.shape
    shape: list[Any] = [n]
    for size, k in zip(sizes, blocks, strict=False):
        shape += [floordiv(size, k), k]
    shape += sizes[spatial:]
    inner = [2 + 2 * i for i in range(spatial)]
    outer = [1 + 2 * i for i in range(spatial)]
    tail = range(1 + 2 * spatial, len(shape))
    apart = ctx.emit("reshape", x, shape=shape)
    turned = ctx.emit("transpose", apart, perm=(*inner, 0, *outer, *tail))
    total = n * int(np.prod(blocks))
    small = [floordiv(size, k) for size, k in zip(sizes, blocks, strict=False)]
    return ctx.final("reshape", turned, shape=(total, *small, *sizes[spatial:]))


@tflite_op("BATCH_TO_SPACE_ND", newest=4)
def batch_to_space(ctx: OperatorContext) -> Any:
    """Inputs: x [N * blocks, spatial…, rest…], block sizes, what is cut off each spatial axis."""
    x = ctx.value(0)
    blocks, before, after = _blocks(ctx, x)
    spatial = len(blocks)
    total, *sizes = x.type.shape
    n = floordiv(total, int(np.prod(blocks)))
    apart = ctx.emit("reshape", x, shape=(*blocks, n, *sizes))
    pairs = [a for i in range(spatial) for a in (spatial + 1 + i, i)]
    tail = range(2 * spatial + 1, spatial + 1 + len(sizes))
    turned = ctx.emit("transpose", apart, perm=(spatial, *pairs, *tail))
    large = [size * k for size, k in zip(sizes, blocks, strict=False)]
    shape = (n, *large, *sizes[spatial:])
    if not any(before) and not any(after):
        return ctx.final("reshape", turned, shape=shape)
    y = ctx.emit("reshape", turned, shape=shape)
    end = [d - a for d, a in zip(large, after, strict=True)]
    rest = sizes[spatial:]
    begin = [0, *before, *[0] * len(rest)]
    return ctx.final("slice", y, begin=begin, end=[n, *end, *rest], step=[1] * len(begin))


@tflite_op("SHAPE")
def shape_(ctx: OperatorContext) -> Any:
    """Reached only for what is no arithmetic of sizes."""
    x = ctx.stored(0)
    to = DType.I64 if ctx.option("out_type", "INT32") == "INT64" else DType.I32
    return ctx.final("dims", values=x.type.shape, dtype=to)


@tflite_op("RANK")
def rank_(ctx: OperatorContext) -> Any:
    return ctx.const(np.int32(ctx.rank(0)))


@tflite_op("RANGE", newest=2)
def range_(ctx: OperatorContext) -> Any:
    parts = [ctx.emit("reshape", ctx.value(i), shape=()) for i in range(3)]
    return ctx.final("range", *parts)


@tflite_op("BROADCAST_ARGS")
def broadcast_args(ctx: OperatorContext) -> Any:
    """The shape to which two shapes broadcast, where sizes are known only at run time."""
    a, b = ctx.value(0), ctx.value(1)
    rank = max(need_static(ctx, [a.type.shape[0], b.type.shape[0]], "the rank"))
    one = ctx.const(np.ones((), a.type.dtype.numpy))
    a, b = (
        v
        if v.type.shape[0] == as_dim(rank)
        else ctx.emit("pad", v, one, pads=[rank - v.type.shape[0], 0])
        for v in (a, b)
    )
    # A size of 1 gives way to the other, also to 0.
    return ctx.final("where", ctx.emit("eq", a, one), b, a)


@tflite_op("DYNAMIC_UPDATE_SLICE", newest=6)
def dynamic_update_slice(ctx: OperatorContext) -> Any:
    """Put `update` into x at `start`, which is held so that it fits."""
    x, update = ctx.value(0), ctx.value(1)
    rank = x.type.rank
    sizes = need_static(ctx, update.type.shape, "the update's shape")
    whole = need_static(ctx, x.type.shape, "the operand's shape")
    start = ctx.value(2)
    if start.type.dtype is not DType.I64:
        start = ctx.emit("cast", start, to=DType.I64)
    limit = np.array([w - s for w, s in zip(whole, sizes, strict=True)], np.int64)
    start = ctx.emit("max", ctx.emit("min", start, ctx.const(limit)), ctx.const(np.int64(0)))
    if not rank:
        return ctx.final("identity", update)
    places = np.stack(np.meshgrid(*(np.arange(s) for s in sizes), indexing="ij"), axis=-1)
    index = ctx.emit("add", ctx.const(places.astype(np.int64)), start)
    return ctx.final("scatter_nd", x, index, update)


@tflite_op("MATRIX_DIAG")
def matrix_diag(ctx: OperatorContext) -> Any:
    """x [..., n] on the diagonals of [..., n, n]; elsewhere are 0 integers, also of a quantized tensor."""
    x = ctx.plain(0)
    n = x.type.shape[-1]
    on = _diagonal(ctx, n, n)
    column = ctx.emit("reshape", x, shape=(*x.type.shape, 1))
    zero = ctx.const(np.zeros((), x.type.dtype.numpy), x.type.dtype)
    return ctx.final("where", on, column, zero)


@tflite_op("MATRIX_SET_DIAG")
def matrix_set_diag(ctx: OperatorContext) -> Any:
    """x [..., m, n] with `diagonal` [..., min(m, n)] on its diagonals."""
    x, diagonal = ctx.value(0), ctx.value(1)
    m, n = x.type.shape[-2:]
    short = diagonal.type.shape[-1]
    if m != short:  # the diagonal as a row, above the columns
        row = ctx.emit("reshape", diagonal, shape=(*diagonal.type.shape[:-1], 1, short))
        return ctx.final("where", _diagonal(ctx, m, n), row, x)
    column = ctx.emit("reshape", diagonal, shape=(*diagonal.type.shape, 1))
    return ctx.final("where", _diagonal(ctx, m, n), column, x)


def _diagonal(ctx: OperatorContext, m: Dim, n: Dim) -> Value:
    """bool [m, n], whether the indices are equal."""
    rows = ctx.emit("reshape", ctx.emit("iota", length=m), shape=(m, 1))
    on: Value = ctx.emit("eq", rows, ctx.emit("iota", length=n))
    return on


@tflite_op("DILATE")
def dilate(ctx: OperatorContext) -> Any:
    """Put `padding` between the elements of each axis: inputs x, the dilations, the padding value."""
    x = ctx.value(0)
    steps = need_static(ctx, ctx.dims(1, "the dilations"), "the dilations")
    fill_value = ctx.emit("reshape", ctx.value(2), shape=())
    if len(steps) != x.type.rank or min(steps, default=1) < 1:
        raise ctx.wrong(f"dilations {steps} do not fit {x.type}")
    return ctx.final("identity", dilated(ctx, x, steps, fill_value))


def dilated(ctx: OperatorContext, x: Value, steps: Sequence[int], fill_value: Value) -> Value:
    """x with steps[axis] - 1 elements of `fill_value` between those of each axis."""
    for axis, k in enumerate(steps):
        if k == 1:
            continue
        shape = x.type.shape
        apart = ctx.emit("reshape", x, shape=(*shape[: axis + 1], 1, *shape[axis + 1 :]))
        pads = [0] * (2 * len(shape) + 2)
        pads[len(shape) + 1 + axis + 1] = k - 1
        wide = ctx.emit("pad", apart, fill_value, pads=pads)
        joined = ctx.emit(
            "reshape", wide, shape=(*shape[:axis], shape[axis] * k, *shape[axis + 1 :])
        )
        end = list(joined.type.shape)
        end[axis] = shape[axis] * k - (k - 1)
        x = ctx.emit("slice", joined, begin=[0] * len(shape), end=end, step=[1] * len(shape))
    return x
