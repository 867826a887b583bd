# SPDX-License-Identifier: Apache-2.0
"""Dims in a file: a flat array of expressions, whose operands are indices of earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from samara.exporter.ir.program import Function, Value
from samara.exporter.ir.schema import ExprOp
from samara.exporter.types import (
    Atom,
    Born,
    Dim,
    DimOp,
    DType,
    ModelFormatError,
    Op,
    Read,
    Sym,
    UnsupportedError,
    ceildiv,
    deq,
    dlt,
    dmax,
    dmin,
    floordiv,
    mod,
    scale_f32,
    select,
)
from samara.exporter.types.dim import MAX_TERMS

Expr = tuple[int, int, int, int, int]

_CODES: Final = {
    DimOp.FLOORDIV: ExprOp.FLOORDIV,
    DimOp.CEILDIV: ExprOp.CEILDIV,
    DimOp.MOD: ExprOp.MOD,
    DimOp.MIN: ExprOp.MIN,
    DimOp.MAX: ExprOp.MAX,
    DimOp.EQ: ExprOp.EQ,
    DimOp.LT: ExprOp.LT,
    DimOp.SELECT: ExprOp.SELECT,
    DimOp.SCALE_F32: ExprOp.SCALE_F32,
}
_INT64: Final = range(-(2**63), 2**63)


class ExprWriter:
    """The expressions of one function, without duplicates."""

    def __init__(self, function: Function, values: Mapping[Value, int]) -> None:
        self.rows: list[Expr] = []
        self.function = function
        self._index: dict[Expr, int] = {}
        self._dims: dict[Dim, int] = {}
        self._values: dict[object, int] = {v.name: i for v, i in values.items()}
        self._nodes: dict[object, int] = {
            n.outputs[0].name: i for i, n in enumerate(function.nodes)
        }
        self.symbols: dict[Sym, tuple[int, int]] = {}
        for i, v in enumerate(function.inputs):
            for axis, d in enumerate(v.type.shape):
                atom = d.sole_atom()
                if isinstance(atom, Sym):
                    self.symbols.setdefault(atom, (i, axis))

    def dim(self, dim: Dim) -> int:
        """The index of the expression for `dim`."""
        found = self._dims.get(dim)
        if found is None:
            found = self._const(dim.as_int()) if dim.is_static else self._polynomial(dim)
            self._dims[dim] = found
        return found

    def input_dim(self, position: int, axis: int) -> int:
        return self._add(ExprOp.INPUT_DIM, position, axis)

    def checked_inputs(self) -> list[tuple[int, int, Dim]]:
        """(input, axis, dim) of the input dims that other input dims determine."""
        found = []
        for i, v in enumerate(self.function.inputs):
            for axis, d in enumerate(v.type.shape):
                atom = d.sole_atom()
                first = isinstance(atom, Sym) and self.symbols[atom] == (i, axis)
                if not first and not d.is_static:
                    found.append((i, axis, d))
        return found

    def _add(self, op: ExprOp, a: int = 0, b: int = 0, c: int = 0, k: int = 0) -> int:
        row = (int(op), a, b, c, k)
        found = self._index.get(row)
        if found is None:
            found = self._index[row] = len(self.rows)
            self.rows.append(row)
        return found

    def _const(self, value: int) -> int:
        if value not in _INT64:
            raise UnsupportedError(f"the dim {value} does not fit int64")
        return self._add(ExprOp.CONST, k=value)

    def _polynomial(self, dim: Dim) -> int:
        # In the order of Dim.evaluate, so that both overflow for the same values.
        total: int | None = None
        for factors, coefficient in dim.terms():
            product: int | None = None if abs(coefficient) == 1 else self._const(abs(coefficient))
            for atom, power in factors:
                index = self._atom(atom)
                for _ in range(power):
                    product = index if product is None else self._add(ExprOp.MUL, product, index)
            if product is None:
                product = self._const(1)
            if total is None and coefficient > 0:
                total = product
            else:
                left = self._const(0) if total is None else total
                total = self._add(ExprOp.ADD if coefficient > 0 else ExprOp.SUB, left, product)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> int:
        if isinstance(atom, Op):
            args = [self.dim(a) for a in atom.args]
            return self._add(_CODES[atom.kind], *args)
        if isinstance(atom, Sym):
            return self.input_dim(*self.symbols[atom])
        bound: Dim | int | None = self.function.bounds.get(atom, atom.upper)
        index = -1 if bound is None else self.dim(Dim(bound))
        if isinstance(atom, Read):
            return self._add(ExprOp.READ, self._values[atom.key], atom.index, index)
        return self._add(ExprOp.BORN, self._nodes[atom.key], atom.output, atom.axis, index)


# The limit of a dim's tree, as MAX_TERMS of a product: canonical forms can be exponentially larger than the
# array that describes them, so a hostile file could exhaust memory.
_MAX_TREE: Final = 50_000


class ExprReader:
    """Dims from expressions. `dims[i]` is None for an input dim that only a guard may mention."""

    def __init__(
        self,
        rows: Sequence[Expr],
        symbols: Mapping[int, Sym],
        inputs: Sequence[Sequence[int]],
        values: Sequence[tuple[str, DType]],
        nodes: Sequence[tuple[str, int]],
    ) -> None:
        self.dims: list[Dim | None] = []
        self.bounds: dict[Atom, Dim] = {}
        self._sizes: list[int] = []
        self._symbols = symbols
        self._inputs = inputs
        self._values = values
        self._nodes = nodes
        taken = {s.name for s in symbols.values()}
        self._taken = taken
        for i, row in enumerate(rows):
            try:
                self.dims.append(self._decode(i, row))
            except (ZeroDivisionError, OverflowError) as error:
                raise ModelFormatError(f"expression {i}: {error}") from error

    def __getitem__(self, index: int) -> Dim:
        if not 0 <= index < len(self.dims):
            raise ModelFormatError(f"there is no expression {index} among {len(self.dims)}")
        dim = self.dims[index]
        if dim is None:
            raise ModelFormatError(f"expression {index} is an input dim without a name")
        return dim

    def _decode(self, i: int, row: Expr) -> Dim | None:
        op, a, b, c, k = row
        if op == ExprOp.CONST:
            return self._done(Dim.const(k), 1)
        if op == ExprOp.INPUT_DIM:
            return self._input_dim(i, a, b)
        if op == ExprOp.READ:
            return self._read(i, a, b, c)
        if op == ExprOp.BORN:
            return self._born(i, a, b, c, k)
        if op not in set(ExprOp):
            raise ModelFormatError(f"expression {i}: unknown operation {op}")
        count = 3 if op == ExprOp.SELECT else 2
        args = [self._operand(i, n) for n in (a, b, c)[:count]]
        size = 1 + sum(self._sizes[n] for n in (a, b, c)[:count])
        if size > _MAX_TREE:
            raise ModelFormatError(f"expression {i} is too complex")
        if op == ExprOp.MUL and len(args[0].terms()) * len(args[1].terms()) > MAX_TERMS:
            raise ModelFormatError(f"expression {i} is too complex")
        return self._done(_BUILD[ExprOp(op)](*args), size)

    def _done(self, dim: Dim | None, size: int) -> Dim | None:
        self._sizes.append(size)
        return dim

    def _operand(self, i: int, n: int) -> Dim:
        if not 0 <= n < i:
            raise ModelFormatError(f"expression {i} uses {n}, which is not an earlier one")
        return self[n]

    def _bound(self, i: int, n: int) -> Dim | None:
        return None if n == -1 else self._operand(i, n)

    def _input_dim(self, i: int, position: int, axis: int) -> Dim | None:
        if not 0 <= position < len(self._inputs):
            raise ModelFormatError(f"expression {i}: there is no input {position}")
        if not 0 <= axis < len(self._inputs[position]):
            raise ModelFormatError(f"expression {i}: input {position} has no axis {axis}")
        symbol = self._symbols.get(i)
        if symbol is None and self._inputs[position][axis] == i:
            # The dim has no name: any free one serves.
            name = f"dim{position}.{axis}"
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            symbol = Sym(name)
        return self._done(None if symbol is None else Dim.atom(symbol), 1)

    def _read(self, i: int, value: int, element: int, bound: int) -> Dim | None:
        if not 0 <= value < len(self._values) or element < 0:
            raise ModelFormatError(f"expression {i} reads element {element} of value {value}")
        name, dtype = self._values[value]
        limit = self._bound(i, bound)
        atom = Read(name, element, bits=dtype is DType.F32)
        if limit is not None:
            self.bounds[atom] = limit
        return self._done(Dim.atom(atom), 1)

    def _born(self, i: int, node: int, output: int, axis: int, bound: int) -> Dim | None:
        if not 0 <= node < len(self._nodes) or not 0 <= output < self._nodes[node][1] or axis < 0:
            raise ModelFormatError(f"expression {i}: node {node} bears no dim {output}, {axis}")
        limit = self._bound(i, bound)
        atom = Born(self._nodes[node][0], output, axis, upper=limit)
        if limit is not None:
            self.bounds[atom] = limit
        return self._done(Dim.atom(atom), 1)


_BUILD: Final[Mapping[ExprOp, Any]] = {
    ExprOp.ADD: lambda a, b: a + b,
    ExprOp.SUB: lambda a, b: a - b,
    ExprOp.MUL: lambda a, b: a * b,
    ExprOp.FLOORDIV: floordiv,
    ExprOp.CEILDIV: ceildiv,
    ExprOp.MOD: mod,
    ExprOp.MIN: dmin,
    ExprOp.MAX: dmax,
    ExprOp.EQ: deq,
    ExprOp.LT: dlt,
    ExprOp.SELECT: select,
    ExprOp.SCALE_F32: scale_f32,
}
