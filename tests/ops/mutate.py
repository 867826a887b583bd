# SPDX-License-Identifier: Apache-2.0
"""Files that say something other than their writer meant: rows of a model, changed at random.

The changes are those that a reader cannot see from the bytes alone: dims, dtypes, operands,
attributes, expressions, quantization, and where constants lie. Each still encodes as a FlatBuffer.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from samara.exporter.ir import Program, schema
from samara.exporter.ir.file_assemble import assemble
from samara.exporter.ir.file_write import rows_of
from samara.exporter.ir.flat_schema import Kind
from samara.exporter.ops import all_ops

Row = dict[str, Any]

_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 100, 255, 1024)
_STRANGE = (
    *(-1, -2, 65536, 1 << 20, (1 << 31) - 1, 1 << 31),
    *(1 << 32, 1 << 40, (1 << 63) - 1, -(1 << 63)),
)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 1e38, float("inf"), float("-inf"), float("nan"))
_CONST = 0
_EXPR_OPS = tuple(int(e) for e in schema.ExprOp)
_DTYPES = (*range(1, 9), *range(1, 9), 0, 9, 255)  # those that the runtime knows, and others


class Mutator:
    """Makes changed files of one program, the same ones for the same seed."""

    def __init__(self, program: Program, seed: int, *, padding: float | None = math.inf) -> None:
        self._row, self._segments = rows_of(program, padding=padding)
        self._random = random.Random(seed)

    def whole(self) -> bytes:
        """The unchanged file."""
        return b"".join(assemble(self._row, self._segments))

    def mutant(self, changes: int | None = None) -> tuple[bytes, list[str]]:
        """A file with one to three changes (or as many as told), and what was done."""
        row = copy.deepcopy(self._row)
        done: list[str] = []
        wanted = self._random.choice((1, 1, 1, 2, 2, 3)) if changes is None else changes
        while len(done) < wanted:
            change = self._random.choice(_CHANGES)
            said = change(self._random, row)
            if said is not None:
                done.append(f"{change.__name__[1:]}: {said}")
        return b"".join(assemble(row, self._segments)), done


def _number(r: random.Random, near: int) -> int:
    """A size close to `near`, an ordinary one, or a strange one."""
    kind = r.randrange(8)
    if kind < 3:
        return _within(near + r.choice((-2, -1, 1, 2)), Kind.I64)
    if kind < 4:
        return _within(near * r.choice((0, 2, 3)), Kind.I64)
    if kind < 7:
        return r.choice(_SIZES)
    return r.choice(_STRANGE)


def _within(value: int, kind: Kind) -> int:
    """`value` as a field of that kind can hold it."""
    bits = 8 * kind.size
    signed = kind in (Kind.I32, Kind.I64, Kind.VEC_I32, Kind.VEC_I64)
    if kind is Kind.BOOL:
        return value & 1
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _function(r: random.Random, row: Row) -> Row:
    found: Row = r.choice(row["functions"])
    return found


def _constant_expr(r: random.Random, function: Row, near: int) -> int:
    function["exprs"].append((_CONST, 0, 0, 0, _number(r, near)))
    return len(function["exprs"]) - 1


def _size_of(function: Row, index: int) -> int:
    op, *_, k = function["exprs"][index]
    return int(k) if op == _CONST else 4


def _dim(r: random.Random, row: Row) -> str | None:
    """One dim of one value; now and then the dims of its constant follow."""
    f = _function(r, row)
    value = r.choice(f["values"])
    if not value["dims"]:
        return None
    axis = r.randrange(len(value["dims"]))
    near = _size_of(f, value["dims"][axis])
    value["dims"][axis] = _constant_expr(r, f, near)
    size = f["exprs"][-1][4]
    index = value["constant"]
    if index >= 0 and r.random() < 0.7 and axis < len(row["constants"][index]["dims"]):
        row["constants"][index]["dims"][axis] = size
    return f"{value['name']} axis {axis} is {size}, was {near}"


def _every_such_dim(r: random.Random, row: Row) -> str | None:
    """All that is said to be n is said to be m: values, attributes, constants."""
    f = _function(r, row)
    consts = [i for i, e in enumerate(f["exprs"]) if e[0] == _CONST]
    if not consts:
        return None
    i = r.choice(consts)
    op, a, b, c, old = f["exprs"][i]
    new = _number(r, old)
    f["exprs"][i] = (op, a, b, c, new)
    if r.random() < 0.6:
        for constant in row["constants"]:
            constant["dims"] = [new if n == old else n for n in constant["dims"]]
    return f"{old} is {new} everywhere"


def _rank(r: random.Random, row: Row) -> str:
    f = _function(r, row)
    value = r.choice(f["values"])
    dims = value["dims"]
    if dims and r.random() < 0.5:
        del dims[r.randrange(len(dims))]
    else:
        dims.insert(r.randint(0, len(dims)), _constant_expr(r, f, 1))
    return f"{value['name']} has rank {len(dims)}"


def _order(r: random.Random, row: Row) -> str | None:
    value = r.choice(_function(r, row)["values"])
    if len(value["dims"]) < 2:
        return None
    r.shuffle(value["dims"])
    return f"the dims of {value['name']} are shuffled"


def _dtype(r: random.Random, row: Row) -> str:
    value = r.choice(_function(r, row)["values"])
    value["dtype"] = r.choice(_DTYPES)
    if value["constant"] >= 0 and r.random() < 0.7:
        row["constants"][value["constant"]]["dtype"] = value["dtype"]
    return f"{value['name']} has dtype {value['dtype']}"


def _expression(r: random.Random, row: Row) -> str | None:
    f = _function(r, row)
    if not f["exprs"]:
        return None
    i = r.randrange(len(f["exprs"]))
    parts = list(f["exprs"][i])
    at = r.randrange(5)
    if at == 0:
        parts[0] = r.choice(_EXPR_OPS)
    elif at == 4:
        parts[4] = _number(r, parts[4])
    else:
        parts[at] = _within(_number(r, r.randrange(-1, i + 1)), Kind.I32)
    f["exprs"][i] = tuple(parts)
    return f"expression {i} is {parts}"


def _guards(r: random.Random, row: Row) -> str | None:
    """Without its guards a function must still be safe."""
    f = _function(r, row)
    if not f["guards"]:
        return None
    f["guards"] = f["guards"][: r.randrange(len(f["guards"]))]
    return f"{len(f['guards'])} guards are left"


def _operand(r: random.Random, row: Row) -> str | None:
    f = _function(r, row)
    if not f["nodes"]:
        return None
    node = r.choice(f["nodes"])
    side = r.choice(("inputs", "outputs"))
    values = node[side]
    count = len(f["values"])
    other = r.choice((r.randrange(count), r.randrange(count), r.randrange(count), -1, count))
    if side == "outputs":
        other = max(other, 0)
    kind = r.randrange(4)
    if not values or kind == 0:
        values.insert(r.randint(0, len(values)), other)
    elif kind == 1:
        del values[r.randrange(len(values))]
    elif kind == 2 and len(values) > 1:
        i, j = r.sample(range(len(values)), 2)
        values[i], values[j] = values[j], values[i]
    else:
        values[r.randrange(len(values))] = other
    return f"the {side} of {node['name']} are {values}"


def _operator(r: random.Random, row: Row) -> str | None:
    f = _function(r, row)
    if not f["nodes"]:
        return None
    node = r.choice(f["nodes"])
    op = r.choice(all_ops())
    node["op"] = op.code
    if node["attrs"] is not None:
        known = {a.name for a in op.attrs}
        kept = {k: v for k, v in node["attrs"][1].items() if k in known}
        node["attrs"] = _attributes(r, f, op.code, kept)
    else:
        node["attrs"] = _attributes(r, f, op.code, {})
    return f"{node['name']} is {op.name}"


def _attributes(
    r: random.Random, f: Row, code: int, kept: Mapping[str, Any]
) -> tuple[int, Row] | None:
    """Attributes of that operator; what must be there and is not is made up."""
    table = schema.union_table(code)
    if table is None:
        return None
    attrs = dict(kept)
    for field in table.fields:
        given = field.name in attrs
        if (field.required and not given) or (given and not _fits(attrs[field.name], field.kind)):
            attrs[field.name] = _made_up(r, field.kind)
    return (code, attrs) if attrs else None


def _fits(value: Any, kind: Kind) -> bool:
    if kind is Kind.STRING:
        return isinstance(value, str)
    if kind.is_scalar:
        return isinstance(value, int | float) and (kind is Kind.F32 or isinstance(value, int))
    return isinstance(value, list | tuple)


def _made_up(r: random.Random, kind: Kind) -> Any:
    if kind is Kind.STRING:
        return "text"
    if kind is Kind.F32:
        return 1.0
    if kind.is_scalar:
        return _within(r.randrange(3), kind)
    if kind is Kind.VEC_TABLE:
        return [_named_value(r) for _ in range(r.randrange(3))]
    return [r.randrange(3) for _ in range(r.randrange(5))]


def _named_value(r: random.Random) -> Row:
    fields = {"ints": [r.randrange(9)], "floats": [0.5], "text": "x"}
    kept = {name: value for name, value in fields.items() if r.randrange(2)}
    return {"name": r.choice("ab"), "kind": r.randrange(4), **kept}


def _attribute(r: random.Random, row: Row) -> str | None:
    f = _function(r, row)
    nodes = [n for n in f["nodes"] if schema.union_table(n["op"]) is not None]
    if not nodes:
        return None
    node = r.choice(nodes)
    table = schema.union_table(node["op"])
    assert table is not None
    code, attrs = node["attrs"] or (node["op"], {})
    attrs = dict(attrs)
    field = r.choice(table.fields)
    old = attrs.get(field.name)
    attrs[field.name] = _changed(r, f, field.kind, old)
    node["attrs"] = (code, attrs)
    return f"{node['name']}.{field.name} is {attrs[field.name]!r}, was {old!r}"


def _changed(r: random.Random, f: Row, kind: Kind, old: Any) -> Any:
    if kind is Kind.STRING:
        return r.choice(("", "x", "fuzz::any", "a\x1fi\x1f9", "\x1f" * 4))
    if kind is Kind.F32:
        return r.choice(_FLOATS)
    if kind.is_scalar:
        return _within(_number(r, 0 if old is None else int(old)), kind)
    items = list(old) if isinstance(old, list | tuple) else []
    how = r.randrange(5)
    if not items or how == 0:
        items.insert(r.randint(0, len(items)), _element(r, f, kind, 1))
    elif how == 1:
        del items[r.randrange(len(items))]
    elif how == 2:
        r.shuffle(items)
    else:
        i = r.randrange(len(items))
        items[i] = _element(r, f, kind, items[i])
    return items


def _element(r: random.Random, f: Row, kind: Kind, old: Any) -> Any:
    if kind is Kind.VEC_TABLE:
        return _named_value(r)
    if kind is Kind.VEC_F32:
        return r.choice(_FLOATS)
    if kind is Kind.VEC_U32:  # expressions
        index = int(old)
        near = _size_of(f, index) if 0 <= index < len(f["exprs"]) else 1
        return _constant_expr(r, f, near)
    return _within(_number(r, int(old)), kind)


def _storage(r: random.Random, row: Row) -> str | None:
    """Where and how a constant lies."""
    if not row["constants"]:
        return None
    constant = r.choice(row["constants"])
    name = r.choice(("layout", "groups", "panel_stride", "segment", "offset", "size", "dims"))
    if name == "dims":
        if constant["dims"]:
            axis = r.randrange(len(constant["dims"]))
            constant["dims"][axis] = _number(r, constant["dims"][axis])
    elif name == "layout":
        constant[name] = r.randrange(4)
    else:
        kind = schema.table("Constant").field(name).kind
        near = int(constant[name])
        constant[name] = _within(
            near + 16 * r.randrange(-4, 5) if r.random() < 0.5 else _number(r, near), kind
        )
    return f"{constant['name']}.{name} is {constant[name]}"


def _quant(r: random.Random, row: Row) -> str | None:
    f = _function(r, row)
    quantized = [v for v in f["values"] if v["quant"] is not None]
    if not quantized and r.random() < 0.9:
        return None
    value = r.choice(quantized or f["values"])
    old = value["quant"]
    if old is None or r.random() < 0.2:
        count = r.choice((1, 1, 2, 3))
        made = {
            "scales": [0.5] * count,
            "zero_points": [3] * count,
            "axis": r.choice((-1, 0, 1)),
            "block": 0,
        }
        value["quant"] = None if old is not None and r.random() < 0.5 else made
        return f"{value['name']} has quant {value['quant']}"
    new = {**old, "scales": list(old["scales"]), "zero_points": list(old["zero_points"])}
    kind = r.randrange(5) if new["scales"] and new["zero_points"] else 3
    if kind == 0:
        new["scales"][r.randrange(len(new["scales"]))] = r.choice(_FLOATS)
    elif kind == 1:
        new["zero_points"][r.randrange(len(new["zero_points"]))] = r.choice(
            (-129, 128, 1 << 30, -128)
        )
    elif kind == 2:
        new["axis"] = r.randrange(-2, 5)
    elif kind == 3:
        new["scales"].append(1.0)
        new["zero_points"].append(0)
    else:
        new["scales"].pop()
        new["zero_points"].pop()
    value["quant"] = new
    return f"{value['name']} has quant {new}"


def _ends(r: random.Random, row: Row) -> str:
    """Inputs and outputs of a function."""
    f = _function(r, row)
    side = r.choice(("inputs", "outputs"))
    values = f[side]
    kind = r.randrange(3)
    if not values or kind == 0:
        values.insert(r.randint(0, len(values)), r.randrange(len(f["values"]) + 1))
    elif kind == 1:
        del values[r.randrange(len(values))]
    else:
        values[r.randrange(len(values))] = r.randrange(len(f["values"]))
    if side == "outputs" and f["output_names"]:
        f["output_names"] = [f"y{i}" for i in range(len(values))]
    return f"the {side} of {f['name']} are {values}"


def _bounds(r: random.Random, row: Row) -> str | None:
    f = _function(r, row)
    if not f["symbols"]:
        return None
    symbol = r.choice(f["symbols"])
    symbol[r.choice(("lower", "upper"))] = _number(r, 4)
    return f"{symbol['name']} is {symbol['lower']} to {symbol['upper']}"


def _constness(r: random.Random, row: Row) -> str | None:
    """A value that is a constant, is another one, or is none any more."""
    value = r.choice(_function(r, row)["values"])
    if not row["constants"]:
        return None
    value["constant"] = r.randrange(-1, len(row["constants"]))
    return f"{value['name']} is constant {value['constant']}"


# Dims first and most often: they decide what kernels touch.
_CHANGES: tuple[Callable[[random.Random, Row], str | None], ...] = (
    *(_dim, _dim, _dim, _every_such_dim, _every_such_dim, _every_such_dim, _rank, _order, _dtype),
    *(_expression, _guards, _guards, _operand, _operator, _attribute, _attribute, _attribute),
    *(_storage, _quant, _ends, _bounds, _constness),
)
