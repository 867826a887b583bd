# SPDX-License-Identifier: Apache-2.0
"""Gradient rules, and their view of one application of an operator.

A rule is written once, with op functions: the eager tape, gradients of Programs and the numpy references use the
same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from samara.exporter.types import DType, Tri, UnsupportedError, as_dim, compare

if TYPE_CHECKING:
    from samara.exporter.ops.spec import OpSpec

Rule = Callable[["GradContext"], Sequence[Any]]


def _zero(ctx: GradContext) -> tuple[None, ...]:
    return (None,) * ctx.input_count


NO_GRAD: Final[Rule] = _zero
"""The rule of an operator whose gradient is zero everywhere (comparisons, indices)."""


def once(what: str) -> Rule:
    """The rule of a backward operator that cannot be differentiated again: it raises UnsupportedError."""

    def refuse(ctx: GradContext) -> Sequence[Any]:
        raise UnsupportedError(
            f"the gradient of {what} cannot be differentiated again",
            op=ctx.op.name,
            fix="leave create_graph off, or build the layer from simpler operators",
        )

    return refuse


def inference_only(what: str) -> Rule:
    """The rule of an operator without a gradient, although one exists mathematically: it raises UnsupportedError."""

    def refuse(ctx: GradContext) -> Sequence[Any]:
        raise UnsupportedError(
            f"{what} has no gradient: the operator is for models that only run",
            op=ctx.op.name,
            fix="detach what comes from it, or build the layer from simpler operators",
        )

    return refuse


class GradContext:
    """The argument of a gradient rule: one application of an operator.

    dys: the gradient of each output, None for zero; `dy` is the first. Saved inputs and outputs (`OpSpec.saves`)
    and attributes are fields: `ctx.x`, `ctx.axis`. A saved variadic input is a tuple, an absent optional one
    None. A rule returns one gradient (or None) per input.
    """

    __slots__ = ("attrs", "dtypes", "dys", "needed", "op", "saved", "shapes")

    def __init__(
        self,
        op: OpSpec,
        attrs: Mapping[str, Any],
        dys: Sequence[Any],
        saved: Mapping[str, Any],
        shapes: Sequence[tuple[Any, ...] | None],
        dtypes: Sequence[Any],
        needed: Sequence[bool],
    ) -> None:
        """`shapes`, `dtypes` (DTypes or numpy's) and `needed` are per input; `attrs` are complete."""
        self.op = op
        self.attrs = attrs
        self.dys = dys
        self.saved = saved
        self.shapes = shapes
        self.dtypes = dtypes
        self.needed = needed

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for names without a slot.
        if name in self.saved:
            return self.saved[name]
        try:
            return self.attrs[name]
        except KeyError:
            raise AttributeError(
                f"{self.op.name}: the gradient rule reads {name!r}, which is neither an attribute"
                " nor saved; name an input or output in `saves` of the row"
            ) from None

    @property
    def dy(self) -> Any:
        """The gradient of the first output."""
        return self.dys[0]

    @property
    def input_count(self) -> int:
        return len(self.needed)

    def index(self, name: str) -> int:
        """Position of the input of that name."""
        for i, n in enumerate(self.op.inputs):
            if n.rstrip("?*") == name:
                return i
        raise KeyError(f"{self.op.name} has no input {name!r}")

    def needs(self, which: str | int) -> bool:
        """Whether the gradient of an input (by name or position) is needed."""
        i = self.index(which) if isinstance(which, str) else which
        return i < len(self.needed) and self.needed[i]

    def shape(self, which: str | int) -> tuple[Any, ...]:
        """Dims of an input: ints, or Dims while a Program is built."""
        shape = self.shapes[self.index(which) if isinstance(which, str) else which]
        assert shape is not None
        return shape

    def dtype(self, which: str | int) -> DType:
        """Dtype of an input."""
        dtype = self.dtypes[self.index(which) if isinstance(which, str) else which]
        assert dtype is not None
        return dtype if isinstance(dtype, DType) else DType.from_numpy(dtype)


def same_dims(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two shapes are certainly equal."""
    if a == b:
        return True
    if len(a) != len(b):
        return False
    return all(
        x == y or (not (type(x) is type(y) is int) and compare(as_dim(x), as_dim(y)) is Tri.YES)
        for x, y in zip(a, b, strict=True)
    )


def shape_of(value: Any) -> tuple[Any, ...]:
    """Dims of an array, eager tensor or graph value."""
    return tuple(value.shape)


def dtype_of(value: Any) -> DType:
    """Dtype of an array, eager tensor or graph value, which calls it `ir_dtype`."""
    own = getattr(value, "ir_dtype", None)
    return own if isinstance(own, DType) else DType.from_numpy(value.dtype)


def beside(like: Any, op: OpSpec, **attrs: Any) -> Any:
    """The result of an operator without tensor inputs, as an operand beside `like`.

    Types with symbolic sizes have a method `__samara_beside__(op, attrs)`; others take an array as a constant.
    """
    hook = getattr(like, "__samara_beside__", None)
    return op(**attrs) if hook is None else hook(op, attrs)


def context_of(
    op: OpSpec,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    attrs: Mapping[str, Any],
    dys: Sequence[Any],
    needed: Sequence[bool] | None = None,
) -> GradContext:
    """The context of one application whose inputs and outputs are all known."""
    return GradContext(
        op,
        attrs,
        dys,
        saved_of(op, inputs, outputs),
        [None if v is None else () if _plain(v) else shape_of(v) for v in inputs],
        [None if v is None or _plain(v) else dtype_of(v) for v in inputs],
        [v is not None and not _plain(v) for v in inputs] if needed is None else needed,
    )


def _plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def saved_of(op: OpSpec, inputs: Sequence[Any], outputs: Sequence[Any]) -> dict[str, Any]:
    """The tensors that `op.saves` names; a variadic one as a tuple."""
    saved: dict[str, Any] = {}
    for names, values in ((op.inputs, inputs), (op.outputs, outputs)):
        for i, name in enumerate(names):
            bare = name.rstrip("?*")
            if bare not in op.saves:
                continue
            if name.endswith("*"):
                saved[bare] = tuple(values[i:])
            else:
                saved[bare] = values[i] if i < len(values) else None
    return saved
