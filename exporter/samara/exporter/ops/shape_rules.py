# SPDX-License-Identifier: Apache-2.0
"""Shape rules of several families: equal types, broadcasting, axes, windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from samara.exporter.ops.spec import Infer, InferContext
from samara.exporter.types import (
    Dim,
    DimLike,
    DType,
    Quant,
    TensorType,
    Tri,
    as_dim,
    compare,
    deq,
    floordiv,
)

FLOATS = ("f32", "f16")
SIGNED = ("f32", "f16", "i8", "i32", "i64")
INTS = ("i8", "u8", "i32", "i64")
NUMBERS = ("f32", "f16", "i32", "i64", "i8", "u8")
ALL = (*NUMBERS, "bool")
MORE = ("f64", "bf16", "i16", "u16", "u32", "u64")
PACKED = ("i4", "u4")  # two to a byte: only for operators on whole tensors
WHOLE = (*ALL, *MORE)
MOVED = (*WHOLE, "qs8")  # data movement does not depend on values
INDICES = (DType.I32, DType.I64)
# Arithmetic: every float, integer, number. (bf16 is widened by importers.)
EVERY_FLOAT = (*FLOATS, "f64")
EVERY_INT = (*INTS, "i16", "u16", "u32", "u64")
EVERY_NUMBER = (*NUMBERS, "f64", "i16", "u16", "u32", "u64")
SUMMED = ("f32", "f16", "i32", "i64", "f64", "u32", "u64")  # sums and products along an axis

Shape = tuple[Dim, ...]


def same(ctx: InferContext) -> tuple[TensorType, ...]:
    """Shape rule: the output has the type of the first input."""
    return (ctx.x,)


def same_as(dtype: DType) -> Infer:
    """The output has the shape of the first input and this dtype."""

    def infer(ctx: InferContext) -> tuple[TensorType, ...]:
        return (TensorType(dtype, ctx.x.shape),)

    return infer


def name_of(ctx: InferContext, index: int) -> str:
    """The name of input `index`."""
    names = ctx.op.inputs
    if names[-1].endswith("*") and index >= len(names) - 1:
        return f"{names[-1][:-1]}[{index - len(names) + 1}]"
    return names[index].rstrip("?")


def require_dtype(ctx: InferContext, index: int, *allowed: DType) -> None:
    """Check that input `index` has one of these dtypes."""
    got = ctx.required(index).dtype
    if got not in allowed:
        expected = " or ".join(d.public_name for d in allowed)
        raise ctx.error(
            f"{name_of(ctx, index)} is {got.public_name}, expected {expected}", "cast it first"
        )


def require_same_dtype(ctx: InferContext, *indices: int) -> None:
    """Check that these inputs, if present, have the dtype (and quantization) of the first of them."""
    first = ctx.required(indices[0])
    for i in indices[1:]:
        t = ctx.optional(i)
        if t is None:
            continue
        if t.dtype is not first.dtype:
            raise ctx.error(
                f"{name_of(ctx, indices[0])} is {first.dtype.public_name} but "
                f"{name_of(ctx, i)} is {t.dtype.public_name}",
                "cast one of them",
            )
        if t.quant != first.quant:
            raise ctx.error(
                f"{name_of(ctx, indices[0])} and {name_of(ctx, i)} are quantized differently",
                "requantize one of them",
            )


def require_rank(ctx: InferContext, index: int, *ranks: int) -> None:
    """Check that input `index` has one of these ranks."""
    got = ctx.required(index).rank
    if got not in ranks:
        expected = " or ".join(map(str, ranks))
        raise ctx.error(f"{name_of(ctx, index)} has rank {got}, expected {expected}")


def require_shape(ctx: InferContext, index: int, shape: Sequence[DimLike], what: str = "") -> None:
    """Check that input `index`, if present, has this shape."""
    t = ctx.optional(index)
    if t is None:
        return
    name = name_of(ctx, index)
    if t.rank != len(shape):
        wanted = ", ".join(map(str, shape))
        raise ctx.error(f"{name} has rank {t.rank}, expected {what or f'shape [{wanted}]'}")
    for axis, (got, want) in enumerate(zip(t.shape, shape, strict=True)):
        ctx.require_eq(got, want, f"axis {axis} of {name} must be {what or want}")


def per_tensor(ctx: InferContext, quant: Quant | None) -> Quant | None:
    """`quant`; ShapeError if it runs along an axis."""
    if quant is not None and quant.axis is not None:
        raise ctx.error(
            "a tensor quantized along an axis cannot be moved so", "quantize it per tensor"
        )
    return quant


def moved(ctx: InferContext, shape: Iterable[DimLike]) -> TensorType:
    """The first input's type with another shape, for operators that move elements around."""
    quant = per_tensor(ctx, ctx.x.quant)
    return TensorType(ctx.x.dtype, tuple(as_dim(d) for d in shape), quant)


# ---- broadcasting ----


def join(ctx: InferContext, a: Dim, b: Dim, what: str) -> Dim:
    """The size of an axis that is `a` in one operand and `b` in another.

    Two symbolic sizes are assumed equal, with a guard, to keep later shapes simple. A size that cannot be 1 decides
    the result, and the guard lets the other one be 1.
    """
    if a == b:
        return a
    if a == 1:
        return b
    if b == 1:
        return a
    verdict = compare(a, b)
    if verdict is Tri.YES:
        return a if a.is_static else b
    a_is_one, b_is_one = compare(a, 1), compare(b, 1)
    if a_is_one is Tri.NO and (verdict is Tri.NO or b_is_one is not Tri.NO):
        keep, other = a, b
    elif b_is_one is Tri.NO:
        keep, other = b, a
    else:
        ctx.require_eq(a, b, what)
        return a
    if compare(other, 1) is Tri.NO and verdict is Tri.NO:
        raise ctx.error(f"{what} (got {a} and {b})")
    ctx.require_ge(deq(other, 1) + deq(other, keep), 1, f"{what} (got {a} and {b})")
    return keep


def broadcast(ctx: InferContext, *shapes: Sequence[Dim]) -> Shape:
    """numpy's broadcasting of these shapes."""
    if shapes and all(shape == shapes[0] for shape in shapes):
        return tuple(shapes[0])
    rank = max((len(s) for s in shapes), default=0)
    out: list[Dim] = []
    for axis in range(rank):
        size = as_dim(1)
        for shape in shapes:
            place = axis - rank + len(shape)
            if place >= 0:
                size = join(ctx, size, shape[place], f"sizes of axis {axis} do not broadcast")
        out.append(size)
    return tuple(out)


def broadcast_all(ctx: InferContext) -> tuple[TensorType, ...]:
    """Shape rule: all inputs have one dtype; the output broadcasts them."""
    require_same_dtype(ctx, *range(len(ctx.inputs)))
    shapes = [t.shape for t in ctx.inputs if t is not None]
    return (TensorType(ctx.x.dtype, broadcast(ctx, *shapes), per_tensor(ctx, ctx.x.quant)),)


def compare_all(ctx: InferContext) -> tuple[TensorType, ...]:
    """As broadcast_all, with a bool output."""
    return (TensorType(DType.BOOL, broadcast_all(ctx)[0].shape),)


def require_broadcasts_to(ctx: InferContext, shape: Sequence[Dim], to: Sequence[Dim]) -> None:
    """Check that `shape` broadcasts to exactly `to`."""
    if len(shape) > len(to):
        raise ctx.error(f"rank {len(shape)} does not broadcast to rank {len(to)}")
    for axis, (a, b) in enumerate(zip(shape, to[len(to) - len(shape) :], strict=True)):
        what = f"axis {axis} of size {a} does not broadcast to {b}"
        if a == 1 or a == b:
            continue
        if compare(a, b) is Tri.NO and compare(a, 1) is Tri.NO:
            raise ctx.error(what)
        ctx.require_ge(deq(a, 1) + deq(a, b), 1, what)


# ---- axes ----


def axis_rule(ctx: InferContext) -> tuple[TensorType, ...]:
    """The type of the first input; attribute `axis` names one of its axes."""
    ctx.require(ctx.x.rank > 0, "the input needs at least one axis")
    ctx.axis_of(ctx.axis)
    return (ctx.x,)


def normal_axes(ctx: InferContext, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes counted from the front, each once."""
    found = tuple(sorted(ctx.axis_of(a) for a in axes))
    ctx.require(len(set(found)) == len(found), f"axes {list(axes)} name one axis twice")
    return found


# ---- windows ----


def spatial_rank(ctx: InferContext) -> int:
    """The number of spatial axes of the NHWC input: 1 to 3."""
    require_rank(ctx, 0, 3, 4, 5)
    return ctx.x.rank - 2


def require_lengths(ctx: InferContext, n: int, *names: str) -> None:
    """Check that these attributes have `n` elements each."""
    for name in names:
        got = len(ctx.attrs[name])
        ctx.require(got == n, f"{name} has {got} elements, expected {n}")


def require_positive(ctx: InferContext, *names: str) -> None:
    """Check that all elements of these integer attributes are at least 1."""
    for name in names:
        value = ctx.attrs[name]
        values = value if isinstance(value, tuple) else (value,)
        ctx.require(all(v >= 1 for v in values), f"{name} is {value}, expected at least 1")


def window_size(
    ctx: InferContext,
    size: Dim,
    kernel: DimLike,
    stride: int,
    dilation: int,
    padding: DimLike,
    axis: int,
) -> Dim:
    """Output size of a sliding window over `size` elements and `padding` more."""
    extent = (as_dim(kernel) - 1) * dilation + 1
    padded = size + padding
    ctx.require_ge(padded, extent, f"the window is larger than the padded input on axis {axis}")
    return floordiv(padded - extent, stride) + 1
