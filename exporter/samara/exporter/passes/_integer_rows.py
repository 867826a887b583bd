# SPDX-License-Identifier: Apache-2.0
"""Sums, means, softmax, norms and interpolation of dequantized tensors as integer rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from samara.exporter.ir.program import Array, Node, Value
from samara.exporter.ops.qnorm import SOFTMAX_QUANT, softmax_table
from samara.exporter.ops.qpointwise import add_multipliers
from samara.exporter.ops.qpool import LARGEST_ADDED, linear_taps
from samara.exporter.ops.resampling import linear_samples
from samara.exporter.passes._integer import Integers, Row, Target, parameters
from samara.exporter.types import Quant

__all__ = ["ROWS"]

Rule = Callable[[Integers, Node, Target, Node], Row | None]

_SMALLEST, _LARGEST = (float(v) for v in (np.finfo(np.float32).tiny, np.finfo(np.float32).max))


# ---- sums and products


def _sum(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    step = target.quant.scale
    found = _pair(ctx, node, lambda values: _on_grid(values, step))
    if found is None:
        return None
    q_a, q_b = found
    a, b, shift = add_multipliers(q_a.scale, q_b.scale, step, subtract=node.op.name == "sub")
    operands = _operands(ctx, node, found, before)
    return Row.of(
        node, "qadd", *operands, a_multiplier=a, b_multiplier=b, shift=shift, **target.attrs
    )


def _product(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    found = _pair(ctx, node, _own_grid)
    if found is None:
        return None
    return Row.of(node, "qmul", *_operands(ctx, node, found, before), **target.attrs)


def _quotient(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    """Division by a constant is a product with its inverse."""
    x, by = node.inputs
    q_x, numbers = ctx.whole(x), ctx.known(by)
    if q_x is None or x is None or numbers is None:
        return None
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1.0 / numbers.astype(np.float64)
    grid = _own_grid(inverse)
    if grid is None:
        return None
    b = ctx.constant(Target(grid).of(inverse), grid, node)
    return Row.of(node, "qmul", ctx.source(x, before), b, **target.attrs)


def _pair(
    ctx: Integers, node: Node, grid: Callable[[Array], Quant | None]
) -> tuple[Quant, Quant] | None:
    """Parameters of both operands: a constant's by `grid`."""
    quants = []
    for v in node.inputs:
        quant = ctx.whole(v)
        if quant is None:
            known = ctx.known(v)
            quant = None if known is None else grid(known)
        if quant is None:
            return None
        quants.append(quant)
    if all(ctx.known(v) is not None for v in node.inputs):
        return None
    return quants[0], quants[1]


def _operands(
    ctx: Integers, node: Node, quants: tuple[Quant, Quant], before: Node
) -> tuple[Value, Value]:
    made = []
    for v, quant in zip(node.inputs, quants, strict=True):
        assert v is not None
        known = ctx.known(v)
        if known is None or ctx.whole(v) is not None:
            made.append(ctx.source(v, before))
        else:
            made.append(ctx.constant(Target(quant).of(known), quant, node))
    return made[0], made[1]


def _own_grid(numbers: Array) -> Quant | None:
    """The finest parameters that hold a constant; equal numbers are held exactly."""
    wide = numbers.astype(np.float64)
    if not wide.size or not np.isfinite(wide).all():
        return None
    lo, hi = float(wide.min()), float(wide.max())
    if lo == hi:
        scale, zero = abs(lo) / 127, 0
    else:
        lo, hi = min(lo, 0.0), max(hi, 0.0)
        scale = (hi - lo) / 255
        zero = round(-128 - lo / max(scale, _SMALLEST))
    if not _SMALLEST <= scale <= _LARGEST:
        return Quant.per_tensor(1.0) if lo == hi == 0.0 else None
    return Quant.per_tensor(scale, min(max(zero, -128), 127))


def _on_grid(numbers: Array, step: float) -> Quant | None:
    """The same of a term of a sum in steps of `step`; None where its own are too coarse for that."""
    grid = _own_grid(numbers)
    if grid is None:
        return None
    with np.errstate(over="ignore"):
        back = (Target(grid).of(numbers).astype(np.float64) - grid.zero_point) * grid.scale
    off = float(np.abs(back - numbers).max(initial=0.0))
    return grid if off <= 0.5 * step else None


# ---- means


def _pool(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    x = node.inputs[0]
    quant = ctx.whole(x)
    if x is None or quant is None:
        return None
    # Equal scales of input and output, which quantizers choose, make ties of many means.
    attrs = {
        **node.attrs,
        "dequantized": ctx.imported and quant.scale <= LARGEST_ADDED,
        **target.attrs,
    }
    return Row.of(node, "qavg_pool", ctx.source(x, before), **attrs)


def _mean(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    x = node.inputs[0]
    if x is None or ctx.whole(x) is None:
        return None
    return Row.of(node, "qmean", ctx.source(x, before), **{**node.attrs, **target.attrs})


# ---- interpolation


def _resize(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    x, attrs = node.inputs[0], node.attrs
    if x is None or ctx.whole(x) is None or attrs["mode"] != "linear":
        return None
    if attrs["antialias"] or attrs["exclude_outside"] or attrs["coordinate"].startswith("tf_crop"):
        return None
    sizes = list(zip(x.type.shape[1:-1], attrs["sizes"], strict=True))
    if len(sizes) > 2 or not all(d.is_static and out.is_static for d, out in sizes):
        return None
    if any(d.as_int() == 0 for d, _ in sizes) or not all(s.is_static for s in attrs["scales"]):
        return None
    taps = []
    for i, (d, out) in enumerate(sizes):
        scale = attrs["scales"][i].as_int()
        samples = linear_samples(d.as_int(), out.as_int(), scale, attrs["coordinate"])
        taps.append(ctx.r.const(linear_taps(*samples), f"{node.name}.taps_{i}"))
    return Row.of(node, "qresize", ctx.source(x, before), *taps, **target.attrs)


# ---- softmax and norms


def _softmax(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    """Its results are steps of 1/256: parameters that are much finer need the real one."""
    x = node.inputs[0]
    quant = ctx.whole(x)
    if x is None or quant is None or target.quant.scale < 0.75 * SOFTMAX_QUANT.scale:
        return None
    table = ctx.r.const(softmax_table(quant.scale), f"{node.name}.exponentials")
    row = Row.of(node, "qsoftmax", ctx.source(x, before), table, **node.attrs)
    if target == Target(SOFTMAX_QUANT):
        return row
    if not target.is_whole:
        return None
    return Row("requantize", (ctx.place(row, before),), parameters(target.quant))


def _norm(ctx: Integers, node: Node, target: Target, before: Node) -> Row | None:
    x, scale, bias = (*node.inputs, None, None)[:3]
    quant = ctx.whole(x)
    if x is None or quant is None:
        return None
    axis = node.attrs["axis"] % x.type.rank
    tail = x.type.shape[axis:]
    if not all(d.is_static for d in tail):
        return None
    shape = tuple(d.as_int() for d in tail)
    # In steps of the output; the root of a mean is taken of a sum.
    step = np.float64(target.quant.scale)
    factor = np.float64(1.0) if node.op.name == "layer_norm" else math.sqrt(math.prod(shape))
    scales, offsets = _numbers(ctx, scale, shape, 1.0), _numbers(ctx, bias, shape, 0.0)
    if scales is None or offsets is None:
        return None
    eps = float(np.float32(node.attrs["eps"])) / quant.scale**2
    with np.errstate(over="ignore"):
        rows = [(scales * (factor / step)).astype(np.float32)]
        if bias is not None:
            rows.append((offsets / step).astype(np.float32))
    if not (all(np.isfinite(v).all() for v in rows) and _SMALLEST <= eps < 1e38):
        return None
    constants = [ctx.r.const(v, f"{node.name}.{n}") for v, n in zip(rows, ("scale", "bias"),
                                                                     strict=False)]  # fmt: skip
    return Row.of(
        node,
        f"q{node.op.name}",
        ctx.source(x, before),
        *constants,
        axis=node.attrs["axis"],
        eps=eps,
        **target.attrs,
    )


def _numbers(
    ctx: Integers, value: Value | None, shape: tuple[int, ...], default: float
) -> Array | None:
    """A constant operand in float64; the default where there is none, None where it is computed."""
    if value is None:
        return np.full(shape, default)
    known = ctx.known(value)
    return None if known is None else known.astype(np.float64)


ROWS: Mapping[str, Rule] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "div": _quotient,
    "avg_pool": _pool,
    "reduce_mean": _mean,
    "resize": _resize,
    "softmax": _softmax,
    "layer_norm": _norm,
    "rms_norm": _norm,
}
