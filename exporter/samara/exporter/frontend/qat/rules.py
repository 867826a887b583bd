# SPDX-License-Identifier: Apache-2.0
"""What operators do with tensors on the grid: the integer form of each, where it has one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import eager
from samara.exporter.frontend.qat.grid import (
    RULES,
    Array,
    Grid,
    Rule,
    again_of,
    clamp_steps,
    grid_of,
    in_float,
    is_traced,
    on_grid,
    rounded_as,
    row,
    traced_on_grid,
    tracer_at_work,
    wants_gradient,
    within,
)
from samara.exporter.frontend.qat.quantizer import Quantizer, snapped
from samara.exporter.frontend.tape import complete
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ops import OpSpec, get_op
from samara.exporter.ops._quantized import rounded
from samara.exporter.ops._spec import WEAK
from samara.exporter.ops.qpointwise import add_multipliers, lookup_table
from samara.exporter.ops.qpool import linear_taps
from samara.exporter.ops.resampling import linear_samples
from samara.exporter.types import DType, Quant, as_dim

Attrs = Mapping[str, Any]
Integer = Callable[[Quant], Any]  # the integers of a result for its parameters

__all__: list[str] = []


def _grids(inputs: Sequence[Any]) -> list[Grid] | None:
    """The grids of all inputs; None where one is off the grid."""
    found = [grid_of(v) for v in inputs]
    return None if None in found else found  # type: ignore[return-value]


def _finish(op: OpSpec, inputs: Sequence[Any], attrs: Attrs, grid: Grid) -> Any:
    """The result of an operator whose integers are `grid`."""
    if is_traced(grid.q):
        return traced_on_grid(grid)
    if not wants_gradient(*inputs):
        return rounded_as(None, grid, None)
    real = in_float(op, inputs, attrs)
    return rounded_as(real, grid, within(real._data / np.float32(grid.quant.scale), grid.quant))


def _placed(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs, integer: Integer) -> Any:
    """The result of an operator whose range an observer of its own learns."""
    return _placed_at(run.site(op.name), op, inputs, attrs, integer)


def _placed_at(
    site: Quantizer, op: OpSpec, inputs: Sequence[Any], attrs: Attrs, integer: Integer
) -> Any:
    if any(is_traced(v) for v in inputs):
        site.refuse_live()
        return traced_on_grid(integer(site.quant))
    recorded = wants_gradient(*inputs)
    real = in_float(op, inputs, attrs) if recorded or site.live else None
    if real is not None and site.live:
        site.observe(real._data)
    grid = integer(site.quant)
    if not recorded or real is None:
        return rounded_as(None, grid, None)
    return rounded_as(real, grid, within(real._data / np.float32(grid.quant.scale), grid.quant))


def _clampable(
    run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs, integer: Callable[..., Grid]
) -> Any:
    """As `_placed`, by a row that clamps; `integer` takes the row's last attributes.

    A clamp that follows is taken into another such row, of its own parameters. This one is left
    over in a trace, and falls away, unless something else reads it.
    """
    out = _placed(run, op, inputs, attrs, lambda quant: integer(**_tail(quant)))

    def again(quant: Quant, lo: float, hi: float) -> Grid:
        steps = dict(zip(("lo", "hi"), clamp_steps(quant, lo, hi), strict=True))
        return integer(**_tail(quant), **steps)

    out._again = again
    return out


def _tail(quant: Quant) -> dict[str, Any]:
    return {"scale": quant.scale, "zero_point": quant.zero_point}


# ---- values that move, or are chosen among


def _moved(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """The integers move as the floats do, and keep their parameters."""
    grid = grid_of(inputs[0])
    if grid is None or any(grid_of(v) is not None for v in inputs[1:]):
        return None
    if is_traced(grid.q):
        made = tracer_at_work().apply(op, (grid.q, *inputs[1:]), attrs)
        parts = made if isinstance(made, tuple) else (made,)
        out = tuple(traced_on_grid(Grid(t, grid.quant)) for t in parts)
        return out if isinstance(made, tuple) else out[0]
    others = [v._data if isinstance(v, Tensor) else v for v in inputs[1:]]
    moved = eager.run(op, [grid.q, *others], attrs)
    return _beside(in_float(op, inputs, attrs), moved, grid.quant)


def _beside(real: Any, integers: Any, quant: Quant) -> Any:
    """Floats and the integers that they are, together."""
    if isinstance(real, tuple):
        return tuple(_beside(r, q, quant) for r, q in zip(real, integers, strict=True))
    return on_grid(real, Grid(integers, quant))


def _pad(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """The added number is rounded to the grid; zeros are its zero point."""
    grid = grid_of(inputs[0])
    value = inputs[1] if len(inputs) > 1 else None
    if isinstance(value, Tensor):
        value = None if value._data is None else value._data.item()
        if value is None:
            return None
    if grid is None:
        return None
    fill = None
    if value is not None and value != 0:
        number = np.asarray(value, np.float32) / np.float32(grid.quant.scale)
        fill = Grid(rounded(number, grid.quant.zero_point, -128, 127), grid.quant)
    padded = row(op, grid, fill, **attrs)
    if is_traced(padded.q):
        return traced_on_grid(padded)
    real = in_float(op, inputs, attrs) if wants_gradient(*inputs) else None
    return rounded_as(real, Grid(padded.q, grid.quant), None)


def _extreme(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """The largest or smallest integer, which the row takes among plain ones."""
    grid = grid_of(inputs[0])
    if grid is None:
        return None
    if not is_traced(grid.q):
        return _beside(in_float(op, inputs, attrs), op.evaluate([grid.q], complete(op, attrs)),
                       grid.quant)  # fmt: skip
    best = row(op, row(ops.reinterpret, grid, to=DType.I8), **attrs)
    same = {"scales": grid.quant.scales, "zero_points": grid.quant.zero_points, "axis": -1}
    return traced_on_grid(row(ops.reinterpret, best, to=DType.QS8, **same))


def _resize(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    full = complete(op, attrs)
    if full["mode"] == "nearest":
        return _moved(run, op, inputs, attrs)
    grid, plain = grid_of(inputs[0]), not (full["antialias"] or full["exclude_outside"])
    sizes = list(zip(inputs[0].shape[1:-1], full["sizes"], strict=True))
    known = all(isinstance(n, int) and as_dim(out).is_static for n, out in sizes)
    if grid is None or not known or not plain or full["mode"] != "linear" or len(sizes) > 2:
        return None
    if full["coordinate"].startswith("tf_crop"):
        return None
    taps = [
        linear_taps(
            *linear_samples(n, as_dim(out).as_int(), as_dim(bits).as_int(), full["coordinate"])
        )
        for (n, out), bits in zip(sizes, full["scales"], strict=True)
    ]
    return _clampable(run, op, inputs, attrs, partial(row, ops.qresize, grid, *taps))


def _joined(first: int) -> Rule:
    """Of parts, from the input `first` on, that may lie on grids of their own: those of one grid
    are put together, others come to a common one before."""

    def rule(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
        grids, rest = _grids(inputs[first:]), inputs[:first]
        if grids is None or any(grid_of(v) is not None for v in rest):
            return None

        def integer(quant: Quant) -> Grid:
            pair = {"scales": quant.scales, "zero_points": quant.zero_points, "axis": -1}
            parts = [(g if g.quant == quant else row(ops.requantize, g, **pair)).q for g in grids]
            if is_traced(parts[0]):
                return Grid(tracer_at_work().apply(op, [*rest, *parts], attrs), quant)
            arrays = [v._data if isinstance(v, Tensor) else v for v in rest]
            return Grid(eager.run(op, [*arrays, *parts], attrs), quant)

        # Ranges may become equal by chance: the observers of later calls are counted on from here.
        site = run.site(op.name)
        if all(g.quant == grids[0].quant for g in grids):
            return _finish(op, inputs, attrs, integer(grids[0].quant))
        return _placed_at(site, op, inputs, attrs, integer)

    return rule


# ---- functions of one value


def _tabled(x: Quant, y: Quant, function: Callable[[Array], Array]) -> Array:
    return lookup_table(function, x, y.scale, y.zero_point)


def _looked_up(grid: Grid, table: Array, quant: Quant) -> Grid:
    made: Grid = row(ops.qlookup, grid, table, **_tail(quant))
    return made


def _of_one(op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Callable[[Array], Array]:
    """The operator as a function of the only tensor among its inputs."""
    full = complete(op, attrs)

    def function(real: Array) -> Array:
        given = [real if isinstance(v, Tensor) else np.asarray(v, np.float32) for v in inputs]
        return np.asarray(op.evaluate(given, full))

    return function


def _table(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    tensors = [v for v in inputs if not isinstance(v, WEAK)]
    grid = grid_of(tensors[0])
    if grid is None or len(tensors) > 1:
        return None
    function = _of_one(op, inputs, attrs)

    def integer(quant: Quant) -> Grid:
        return _looked_up(grid, _tabled(grid.quant, quant, function), quant)

    return _placed(run, op, inputs, attrs, integer)


def _clamp(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """Part of the row before where that can clamp. Else the grid stays; where all of it is within
    the limits, nothing is to be done.
    """
    grid = grid_of(inputs[0])
    if grid is None or len(inputs) > 1:
        return None
    again = again_of(inputs[0])
    if again is not None:
        full = complete(op, attrs)
        lo, hi = (0.0, math.inf) if op is ops.relu else (full["lo"], full["hi"])
        return _placed(run, op, inputs, attrs, lambda quant: again(quant, lo, hi))
    table = _tabled(grid.quant, grid.quant, _of_one(op, inputs, attrs))
    if np.array_equal(table, np.arange(-128, 128, dtype=np.int8)):
        return inputs[0]
    return _finish(op, inputs, attrs, _looked_up(grid, table, grid.quant))


# ---- arithmetic


def _arithmetic(integer: Callable[..., Grid]) -> Rule:
    """Of two tensors on the grid; of one and a number it is a function of one value."""

    def rule(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
        if any(isinstance(v, WEAK) for v in inputs):
            return _table(run, op, inputs, attrs)
        grids = _grids(inputs)
        return (
            None if grids is None else _clampable(run, op, inputs, attrs, partial(integer, *grids))
        )

    return rule


def _sum(subtract: bool, a: Grid, b: Grid, *, scale: float, **tail: Any) -> Grid:
    names = ("a_multiplier", "b_multiplier", "shift")
    numbers = add_multipliers(a.quant.scale, b.quant.scale, scale, subtract=subtract)
    more = dict(zip(names, numbers, strict=True))
    made: Grid = row(ops.qadd, a, b, **more, scale=scale, **tail)
    return made


def _matmul(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    grids = _grids(inputs)
    if grids is None or len(inputs) != 2:
        return None
    full = complete(op, attrs)
    turns = {name: full[name] for name in ("transpose_x", "transpose_w")}
    return _clampable(run, op, inputs, attrs, partial(row, ops.qmatmul, *grids, **turns))


def _mean(op_of_integers: OpSpec) -> Rule:
    def rule(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
        grid = grid_of(inputs[0])
        if grid is None:
            return None
        full = complete(op, attrs)
        known = {a.name for a in op_of_integers.attrs}
        same = {name: value for name, value in full.items() if name in known}
        return _clampable(run, op, inputs, attrs, partial(row, op_of_integers, grid, **same))

    return rule


# ---- norms, dropout


def _norm(op_of_integers: OpSpec) -> Rule:
    def rule(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
        grid = grid_of(inputs[0])
        full = complete(op, attrs)
        rank = inputs[0].ndim
        extra = [v for v in inputs[1:] if v is not None]
        if grid is None or full["axis"] % rank != rank - 1 or not all(map(_is_eager, extra)):
            return None
        size = int(inputs[0].shape[-1])
        weights = [None if v is None else np.asarray(v._data, np.float32) for v in inputs[1:]]
        gain = np.ones(size, np.float32) if not weights or weights[0] is None else weights[0]
        bias = weights[1] if len(weights) > 1 else None
        eps = float(full["eps"]) / grid.quant.scale**2
        # The row takes the root of a sum, where rms_norm means a mean.
        factor = np.float32(1 if op is ops.layer_norm else np.sqrt(size))

        def integer(*, scale: float, **tail: Any) -> Grid:
            step = np.float32(scale)
            both = [gain * factor / step] if bias is None else [gain / step, bias / step]
            more = {"axis": rank - 1, "eps": eps, "scale": scale, **tail}
            made: Grid = row(op_of_integers, grid, *both, **more)
            return made

        return _clampable(run, op, inputs, attrs, integer)

    return rule


def _is_eager(value: Any) -> bool:
    return isinstance(value, Tensor) and value._data is not None


def _dropout(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """In training only; what is scaled up comes back to its own grid."""
    grid = grid_of(inputs[0])
    if grid is None or is_traced(inputs[0]):
        return None
    return snapped(in_float(op, inputs, attrs), grid.quant)


_MOVING: Final = (
    *("identity", "reshape", "transpose", "slice", "split", "expand", "tile", "max_pool"),
    *("gather", "gather_elements", "gather_nd"),
)
# Pointwise functions without a pole or an explosion, whose 256 results are worth having in int8.
_TABLES: Final = (
    *("neg", "abs", "sign", "ceil", "floor", "round", "sqrt", "sin", "cos", "atan", "asinh"),
    *("tanh", "erf", "sigmoid", "leaky_relu", "elu", "softplus", "gelu", "hard_sigmoid"),
    *("hard_swish", "silu"),
)

RULES.update({get_op(name): _moved for name in _MOVING})
RULES.update({get_op(name): _table for name in _TABLES})
RULES.update(
    {
        ops.relu: _clamp,
        ops.clamp: _clamp,
        ops.pad: _pad,
        ops.resize: _resize,
        ops.concat: _joined(0),
        ops.where: _joined(1),
        ops.reduce_max: _extreme,
        ops.reduce_min: _extreme,
        ops.add: _arithmetic(partial(_sum, False)),
        ops.sub: _arithmetic(partial(_sum, True)),
        ops.mul: _arithmetic(partial(row, ops.qmul)),
        ops.div: _table,
        ops.matmul: _matmul,
        ops.avg_pool: _mean(ops.qavg_pool),
        ops.reduce_mean: _mean(ops.qmean),
        ops.layer_norm: _norm(ops.qlayer_norm),
        ops.rms_norm: _norm(ops.qrms_norm),
        ops.dropout: _dropout,
    }
)
