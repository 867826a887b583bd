# SPDX-License-Identifier: Apache-2.0
"""Gradient rules: what a rule sees, and the reverse pass over a composition of operators.

A rule is written once, with op functions, so the eager tape, gradients of Programs and the numpy
references all use the same object.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from samara.exporter.types import DType, Tri, UnsupportedError, as_dim, compare

if TYPE_CHECKING:
    from samara.exporter.ops.spec import OpSpec

Rule = Callable[["GradContext"], Sequence[Any]]


def _zero(ctx: GradContext) -> tuple[None, ...]:
    return (None,) * ctx.input_count


NO_GRAD: Final[Rule] = _zero
"""The rule of an operator whose results do not move with its inputs (comparisons, indices)."""


def once(what: str) -> Rule:
    """The rule of a backward operator that cannot be differentiated again; it says so."""

    def refuse(ctx: GradContext) -> Sequence[Any]:
        raise UnsupportedError(
            f"the gradient of {what} cannot be differentiated again",
            op=ctx.op.name,
            fix="leave create_graph off, or build the layer from simpler operators",
        )

    return refuse


def inference_only(what: str) -> Rule:
    """The rule of an operator that has no gradient here although it moves with its inputs."""

    def refuse(ctx: GradContext) -> Sequence[Any]:
        raise UnsupportedError(
            f"{what} has no gradient: the operator is for models that only run",
            op=ctx.op.name,
            fix="detach what comes from it, or build the layer from simpler operators",
        )

    return refuse


class GradContext:
    """What a gradient rule sees of one application of an operator.

    `dys`: the gradient of each output, None where nothing flows back; `dy` is the first. Saved
    inputs and outputs (`OpSpec.saves`) and attributes read as fields: `ctx.x`, `ctx.axis`. A saved
    variadic input is a tuple; an absent optional one None. A rule returns one gradient (or None)
    per input.
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
        # Only names that are no slot come here.
        if name in self.saved:
            return self.saved[name]
        try:
            return self.attrs[name]
        except KeyError:
            raise AttributeError(
                f"{self.op.name}: {name!r} is no attribute and not saved"
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
        """Whether the gradient of an input (by name or position) is wanted."""
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

    def through(self, function: Callable[..., Any], *inputs: Any) -> tuple[Any, ...]:
        """Gradients of `function(*inputs)` for these inputs, its results having gradients `dys`.

        For rules of operators that are easier to differentiate as a composition of others.
        """
        return vjp(function, inputs, self.dys)


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


def unbroadcast(ctx: GradContext, dy: Any, which: str | int) -> Any:
    """`dy` summed over the axes along which the input was broadcast."""
    from samara.exporter.ops.pointwise.rows_binary import sum_to

    shape = ctx.shape(which)
    return dy if same_dims(shape_of(dy), shape) else sum_to(dy, shape=shape)


def dtype_of(value: Any) -> DType:
    """Dtype of an array, eager tensor or graph value, which calls it `ir_dtype`."""
    own = getattr(value, "ir_dtype", None)
    return own if isinstance(own, DType) else DType.from_numpy(value.dtype)


def beside(like: Any, op: OpSpec, **attrs: Any) -> Any:
    """An operator without tensor inputs, applied where `like` lives.

    A type whose sizes may be symbolic has a method `__samara_beside__(op, attrs)` for it; others
    take an array as a constant.
    """
    hook = getattr(like, "__samara_beside__", None)
    return op(**attrs) if hook is None else hook(op, attrs)


# ---- the reverse pass over a composition ----


class _Tape:
    """The steps of one `vjp`. Of nested ones the inner is younger: its `serial` is higher."""

    __slots__ = ("serial", "steps")

    def __init__(self) -> None:
        self.serial = next(_serials)
        self.steps: list[_Step] = []


_serials = itertools.count()
# One element per vjp that is at work: while there is one, operators look for recorded operands
# before they ask the others what to do.
RECORDING: Final[list[None]] = []


class Recorded:
    """A value on a small tape: `of` is an array, an eager tensor or a graph value.

    Where vjps nest, that may be a value on an outer tape.
    """

    __slots__ = ("of", "tape")

    def __init__(self, of: Any, tape: _Tape) -> None:
        self.of = of
        self.tape = tape

    @property
    def shape(self) -> tuple[Any, ...]:
        return shape_of(self.of)

    @property
    def ir_dtype(self) -> DType:
        return dtype_of(self.of)

    @staticmethod
    def __samara_op__(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        tapes = [v.tape for v in inputs if isinstance(v, Recorded)]
        tape = max(tapes, key=operator.attrgetter("serial"))
        got = op(*[_bare(v, tape) for v in inputs], **attrs)
        results = got if isinstance(got, tuple) else (got,)
        outputs = tuple(Recorded(v, tape) for v in results)
        tape.steps.append((op, tuple(inputs), outputs, op.complete(attrs)))
        return outputs if isinstance(got, tuple) else outputs[0]

    def __samara_beside__(self, op: OpSpec, attrs: Mapping[str, Any]) -> Any:
        return beside(self.of, op, **attrs)


_Step = tuple["OpSpec", tuple[Any, ...], tuple[Recorded, ...], Mapping[str, Any]]


def vjp(function: Callable[..., Any], inputs: Sequence[Any], dys: Sequence[Any]) -> tuple[Any, ...]:
    """Vector-Jacobian products of `function(*inputs)`, which is made of op functions.

    `inputs` may hold None (passed through). Returns one gradient per input, None where `function`
    does not depend on it. The work is done by op calls on the values themselves, so it is recorded
    wherever those are.
    """
    tape = _Tape()
    marked = [None if v is None else Recorded(v, tape) for v in inputs]
    RECORDING.append(None)
    try:
        got = function(*marked)
    finally:
        RECORDING.pop()
    results = got if isinstance(got, tuple) else (got,)
    grads: dict[int, Any] = {}
    for result, dy in zip(results, dys, strict=False):
        if _on(result, tape) and dy is not None:
            _accumulate(grads, result, dy)
    while tape.steps:  # emptied, because values on the tape point back at it
        _back(tape.steps.pop(), grads, tape)
    return tuple(None if v is None else grads.get(id(v)) for v in marked)


def _back(step: _Step, grads: dict[int, Any], tape: _Tape) -> None:
    op, inputs, outputs, attrs = step
    dys = [grads.get(id(v)) for v in outputs]
    if all(dy is None for dy in dys):
        return
    if op.grad is None:
        raise UnsupportedError(f"{op.name} has no gradient rule", op=op.name)
    bare = [_bare(v, tape) for v in inputs]
    needed = [_on(v, tape) for v in inputs]
    found = op.grad(context_of(op, bare, [v.of for v in outputs], attrs, dys, needed))
    for value, dy in zip(inputs, found, strict=True):
        if _on(value, tape) and dy is not None:
            _accumulate(grads, value, dy)


def _on(value: Any, tape: _Tape) -> bool:
    return isinstance(value, Recorded) and value.tape is tape


def _bare(value: Any, tape: _Tape) -> Any:
    return value.of if _on(value, tape) else value


def _accumulate(grads: dict[int, Any], value: Recorded, dy: Any) -> None:
    from samara.exporter.ops.pointwise.rows_binary import add

    known = grads.get(id(value))
    grads[id(value)] = dy if known is None else add(known, dy)


def context_of(
    op: OpSpec,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    attrs: Mapping[str, Any],
    dys: Sequence[Any],
    needed: Sequence[bool] | None = None,
) -> GradContext:
    """The context of one application whose inputs and outputs are all at hand."""
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
