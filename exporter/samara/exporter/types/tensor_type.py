# SPDX-License-Identifier: Apache-2.0
"""The static type of a tensor: dtype, symbolic shape and quantization parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from samara.exporter.types.dim import Dim, DimLike, Substitution, as_dim
from samara.exporter.types.dim_atoms import Atom
from samara.exporter.types.dtype import DType
from samara.exporter.types.errors import QuantizationError, ShapeError
from samara.exporter.types.quant import Quant

__all__ = ["MAX_RANK", "TensorType"]

MAX_RANK = 8  # the runtime keeps shapes in arrays of this size


@dataclass(frozen=True, slots=True)
class TensorType:
    """`shape` accepts ints and dims and holds dims; `quant` is for quantized dtypes only."""

    dtype: DType
    shape: tuple[Dim, ...]
    quant: Quant | None = None
    is_static: bool = field(init=False, repr=False, compare=False)  # every dim is constant

    def __post_init__(self) -> None:
        shape = self.shape
        if len(shape) > MAX_RANK:
            raise ShapeError(
                f"rank {len(shape)}, expected at most {MAX_RANK}",
                fix="merge neighbouring dims with a reshape",
            )
        for dim in shape:
            if type(dim) is not Dim:
                shape = tuple(as_dim(d) for d in shape)
                object.__setattr__(self, "shape", shape)
                break
        static = True
        for axis, dim in enumerate(shape):
            largest: float | None = dim.value
            if largest is None:
                static = False
                largest = dim.interval(None).hi
            if largest < 0:
                raise ShapeError(f"dim {axis} is {dim}, expected at least 0")
        object.__setattr__(self, "is_static", static)
        if self.quant is not None:
            self._check_quant(self.quant)

    def _check_quant(self, quant: Quant) -> None:
        if not self.dtype.is_quantized:
            raise QuantizationError(
                f"a tensor of {self.dtype} has quantization parameters", fix="make it qs8"
            )
        if quant.axis is None:
            return
        if quant.axis >= self.rank:
            raise QuantizationError(f"quantized along axis {quant.axis} of rank {self.rank}")
        along = self.shape[quant.axis]
        known = self.is_static if quant.block is not None else along.is_static
        if not known:
            return
        sizes = tuple(dim.as_int() if dim.is_static else 1 for dim in self.shape)
        expected = quant.expected_count(sizes)
        if len(quant.scales) != expected:
            raise QuantizationError(
                f"{len(quant.scales)} scales along axis {quant.axis}, expected {expected}"
            )

    @staticmethod
    def of(dtype: DType | str, shape: Iterable[DimLike], quant: Quant | None = None) -> TensorType:
        """A TensorType from a dtype or its name and any mix of ints and dims."""
        known = DType.parse(dtype) if isinstance(dtype, str) else dtype
        return TensorType(known, tuple(as_dim(dim) for dim in shape), quant)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def static_shape(self) -> tuple[int, ...]:
        """The shape as numbers; ShapeError if a dim is symbolic."""
        if not self.is_static:
            raise ShapeError(
                f"the shape {self} is symbolic, numbers are needed here",
                fix="fix " + ", ".join(sorted(map(str, self._open_atoms()))) + " to numbers",
            )
        return tuple(dim.as_int() for dim in self.shape)

    def _open_atoms(self) -> set[Atom]:
        return {atom for dim in self.shape for atom in dim.atoms()}

    def numel(self) -> Dim:
        """The number of elements."""
        total = Dim.const(1)
        for dim in self.shape:
            total = total * dim
        return total

    def symbols(self) -> frozenset[str]:
        """The names of the symbols its shape depends on."""
        return frozenset(name for dim in self.shape for name in dim.symbols())

    def substitute(self, mapping: Substitution) -> TensorType:
        """The type with symbols (by name) or atoms of its shape replaced."""
        shape = tuple(dim.substitute(mapping) for dim in self.shape)
        return TensorType(self.dtype, shape, self.quant)

    def with_shape(self, shape: Iterable[DimLike]) -> TensorType:
        """The type with another shape and the same quantization parameters."""
        return TensorType(self.dtype, tuple(as_dim(dim) for dim in shape), self.quant)

    def with_dtype(self, dtype: DType, quant: Quant | None = None) -> TensorType:
        """The type with another dtype, and parameters if it is quantized."""
        return TensorType(dtype, self.shape, quant)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"
