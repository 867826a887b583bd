# SPDX-License-Identifier: Apache-2.0
"""The integer form of each operator, for quantized tensors in training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
from samara.exporter.ops import OpSpec, all_ops, get_op
from samara.exporter.ops.integer import Given, Integer, Plain, Real, Role
from samara.exporter.ops.pointwise.rows_int8 import lookup_table
from samara.exporter.ops.quantization.arithmetic import rounded
from samara.exporter.ops.spec import WEAK
from samara.exporter.types import Dim, DType, Quant, QuantizationError, Sym, TensorType, as_dim

Attrs = Mapping[str, Any]
Integers = Callable[[Quant], Any]  # the integers of a result for its parameters

__all__: list[str] = []


def _grids(inputs: Sequence[Any]) -> list[Grid] | None:
    """The integers of all inputs; None if one input has none."""
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


def _placed(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs, integer: Integers) -> Any:
    """The result of an operator that has an observer for its range."""
    return _placed_at(run.site(op.name), op, inputs, attrs, integer)


def _placed_at(
    site: Quantizer, op: OpSpec, inputs: Sequence[Any], attrs: Attrs, integer: Integers
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

    A clamp that follows is fused into a second such row with its own parameters. In a trace the first row is dead
    then, and is removed unless something else reads it.
    """
    out = _placed(run, op, inputs, attrs, lambda quant: integer(**_tail(quant)))

    def again(quant: Quant, lo: float, hi: float) -> Grid:
        steps = dict(zip(("lo", "hi"), clamp_steps(quant, lo, hi), strict=True))
        return integer(**_tail(quant), **steps)

    out._again = again
    return out


def _tail(quant: Quant) -> dict[str, Any]:
    return {"scale": quant.scale, "zero_point": quant.zero_point}


# ---- data movement and choice


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
        value = None if value._symbolic else value._data.item()
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


def _joined(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """Join parts. Parts with equal parameters are joined as they are, others get common parameters first."""
    assert op.integer is not None
    assert op.integer.moves is not None
    places = op.integer.moves(_given(inputs, complete(op, attrs)))
    first = len(inputs) if places is None else places[0]
    grids, rest = _grids(inputs[first:]), inputs[:first]
    if not grids or any(grid_of(v) is not None for v in rest):
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
    """Fused into the row before if that can clamp. Otherwise the parameters stay, and nothing is done if all their
    values are within the limits.
    """
    grid = grid_of(inputs[0])
    if grid is None or len(inputs) > 1:
        return None
    again = again_of(inputs[0])
    if again is not None:
        full = complete(op, attrs)
        assert op.clamps is not None
        lo, hi = op.clamps(full)
        return _placed(run, op, inputs, attrs, lambda quant: again(quant, lo, hi))
    table = _tabled(grid.quant, grid.quant, _of_one(op, inputs, attrs))
    if np.array_equal(table, np.arange(-128, 128, dtype=np.int8)):
        return inputs[0]
    return _finish(op, inputs, attrs, _looked_up(grid, table, grid.quant))


# ---- arithmetic


def _built(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """The integer form that the op table gives it; of one tensor and a number it is a function of
    one value.
    """
    if any(isinstance(v, WEAK) for v in inputs):
        return _table(run, op, inputs, attrs)
    rule, full = op.integer, complete(op, attrs)
    assert rule is not None
    given = _given(inputs, full)
    if rule.moves is not None and rule.moves(given) is not None:
        return _moved(run, op, inputs, attrs)
    grids = _grids([inputs[i] for i in rule.operands if i < len(inputs)])
    if grids is None or len(grids) < len(rule.operands) or not rule.fits(given):
        return None
    if rule.role is Role.PRODUCT and any(v is not None for v in inputs[2:]):
        return None  # a bias of int32 needs the layer's quantizer
    form = get_op(rule.form)

    def integer(*, scale: float, zero_point: int, **tail: Any) -> Grid:
        y = Quant.per_tensor(scale, zero_point)
        made = None
        if form.build is not None:
            made = form.build(given, [g.quant for g in grids], y, rule.options)
        if made is None:
            raise QuantizationError(
                f"its results have a scale of {scale:g}, for which {form.name} has no numbers",
                op=op.name,
                fix="train on data of the usual range, or leave the layer in float",
            )
        places = dict(zip(rule.operands, grids, strict=True))
        operands = [_operand(v, places) for v in made.operands]
        out: Grid = row(form, *operands, **made.attrs, scale=scale, zero_point=zero_point, **tail)
        return out

    return _clampable(run, op, inputs, attrs, integer)


def _operand(operand: int | Plain | Real | None, grids: Mapping[int, Grid]) -> Any:
    assert not isinstance(operand, Real)
    if isinstance(operand, Plain):
        return operand.array
    return None if operand is None else grids[operand]


def _given(inputs: Sequence[Any], attrs: Attrs) -> Given:
    """The operator's operands as the rules of integer forms see them: known are eager tensors off
    the grid.
    """

    def known(index: int) -> Array | None:
        v = inputs[index] if index < len(inputs) else None
        return (
            np.asarray(v._data) if v is not None and _is_eager(v) and grid_of(v) is None else None
        )

    return Given(attrs, tuple(None if v is None else _type_of(v) for v in inputs), known)


def _type_of(value: Any) -> TensorType:
    sizes = getattr(value, "shape", ())
    dims = tuple(
        as_dim(n) if isinstance(n, (int, Dim)) else Dim.atom(Sym(f"size{i}"))
        for i, n in enumerate(sizes)
    )
    return TensorType(DType.F32, dims)


# ---- norms, dropout


def _is_eager(value: Any) -> bool:
    return isinstance(value, Tensor) and not value._symbolic


def _dropout(run: Any, op: OpSpec, inputs: Sequence[Any], attrs: Attrs) -> Any:
    """In training only; the scaled values are quantized by the input's parameters."""
    grid = grid_of(inputs[0])
    if grid is None or is_traced(inputs[0]):
        return None
    return snapped(in_float(op, inputs, attrs), grid.quant)


def _rule_of(op: OpSpec) -> Rule | None:
    """The rule for the integer form that the op table gives an operator; None: it stays float. Convolutions, and
    results with given parameters, need layers of their own.
    """
    rule = op.integer
    if rule is None or rule.steep or rule.result is not None:
        return None
    if rule.role is Role.TABLE or (rule.role is Role.COMPUTED and not rule.planned):
        return _table
    if rule.role is Role.CLAMP:
        return _clamp
    if rule.role is Role.PRODUCT:
        return _built if op is ops.matmul else None
    if rule.role is Role.COMPUTED:
        return _built
    return _moving_rule(rule)


def _moving_rule(rule: Integer) -> Rule | None:
    if rule.on_bytes:
        return _extreme
    if rule.fill is not None:
        return _pad
    if rule.joins:
        return _joined
    return _moved if rule.planned else None


RULES.update({op: rule for op in all_ops() if (rule := _rule_of(op)) is not None})
RULES[ops.dropout] = _dropout
