# SPDX-License-Identifier: Apache-2.0
"""The row type of the op table: the declaration of one IR operator."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from samara.exporter.ops.autodiff import Rule
from samara.exporter.ops.facts import Ends, Kind, RowFacts, WeightForm
from samara.exporter.ops.formula import Formula
from samara.exporter.ops.infer_context import Guard as Guard
from samara.exporter.ops.infer_context import InferContext as InferContext
from samara.exporter.ops.infer_context import Signature as Signature
from samara.exporter.ops.numeric import in_f32
from samara.exporter.types import (
    Dim,
    DType,
    Quant,
    TensorType,
    UnsupportedError,
    as_dim,
    ceildiv,
)

AttrType = Literal[
    "int",  # one integer                        int64
    "bool",
    "f32",  # one float32
    "enum",  # one of `choices`; stored as its index
    "dtype",  # a DType; stored as its code
    "ints",  # static integers                    [int64]
    "floats",  # static float32s                  [float32]
    "string",
    "named",  # named values                     NamedValues
    "dim",  # an integer expression over dims
    "dims",  # a list of them
    "function",  # a function of the same Program, by name
]

REQUIRED: Final = object()


@dataclass(frozen=True, slots=True)
class Attr:
    """One typed attribute of an operator. `default` REQUIRED means that every node states it.

    since: the runtime version that brought the attribute, e.g. "0.7.0"; 1 if the operator has
        always had it. A node that states a newer one needs that runtime.
    """

    name: str
    type: AttrType
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()
    doc: str = ""
    since: str | int = 1


WEAK: Final = (bool, int, float)  # Python scalars take the dtype of the other operands

PRECEDING: Final[list[type[Any]]] = []
"""Operand types that take precedence, once per active reverse pass."""


def weak_dtype(dtypes: Sequence[Any]) -> Any:
    """The dtype of a Python scalar beside tensors of these dtypes: the first that is not bool."""
    return next((d for d in dtypes if d != np.bool_ and d != DType.BOOL), next(iter(dtypes), None))


OlderForm = Callable[[Mapping[str, Any]], Mapping[str, Any]]
Infer = Callable[[InferContext], tuple[TensorType, ...]]
Reference = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Permuted:
    """An operator after a permutation of its first input: permutations of the operands, and its attributes."""

    inputs: tuple[tuple[int, ...] | None, ...]  # a permutation per input, None: leave as it is
    outputs: tuple[tuple[int, ...] | None, ...]
    attrs: Mapping[str, Any]


# permute(attrs, input_types, output_types, perm) -> Permuted | None; the types are those before.
# With x' = transpose(x, perm) for input 0 and the other inputs transposed as Permuted.inputs says,
# op(x', …; Permuted.attrs) == transpose(op(x, …), Permuted.outputs). None: it cannot follow.
Permute = Callable[
    [Mapping[str, Any], Sequence[TensorType | None], Sequence[TensorType], tuple[int, ...]],
    Permuted | None,
]
# cost(attrs, input_types, output_types) -> (flops, bytes) as Dims
Cost = Callable[
    [Mapping[str, Any], Sequence[TensorType | None], Sequence[TensorType]], tuple[Dim, Dim]
]


@dataclass(frozen=True, slots=True)
class Body:
    """A function of a Program as references of control operators call it."""

    run: Callable[..., tuple[Any, ...]]
    signature: Signature

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self.run(*arrays)


@dataclass(frozen=True, slots=True)
class Case:
    """One test case: how to make the inputs and which attributes. Feeds every op suite.

    An input is a (dtype short name, shape) pair, a (dtype, shape, Quant) triple for qs8, an array,
    or None for an absent optional input. Random data is drawn from `low`..`high` (floats), from
    a small range (integers) or 0/1 (bool), seeded by operator and name. `define` names a case that
    has no name by its place. `functions` are the bodies that function attributes name.
    """

    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    low: float = -2.0
    high: float = 2.0
    functions: Mapping[str, Body] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class OpSpec(RowFacts):
    """One IR operator, declared once. RowFacts has the properties that passes query instead of its name.

    inputs: names; a trailing `?` marks an optional one, a trailing `*` (last only) any number.
    outputs: names; `*` as above.
    infer: type and shape rule; raises ShapeError. `define` puts `check_inputs` before it.
    reference: numpy arrays (None for absent inputs) and attributes by keyword -> array or tuple of
        arrays. Dim attributes arrive as ints, functions as Body (from arrays to a tuple of
        arrays), dtypes as DType. One that needs quantization parameters of inputs declares the
        keyword `q_in` (a list of Quant | None per input).
    dtypes: short dtype names allowed for input 0 (rules for the others are in `infer`).
    check: the C check class ("conv"; runtime_c/src/ops/check/check.h), maybe with its form ("norm
        grad"), or the dims of all tensors instead, as in "x [A* N N] -> y [A*]": a letter is the
        same number, or with a star the same run of dims, wherever it stands; words are attributes.
    formulas: what a pointwise operator computes in float, from which its C is generated.
    permute: layout rule, "any" if all operands and results are permuted alike (elementwise, all
        operands of one rank), None for a barrier.
    cost: flops and bytes; `define` fills in what elementwise operators cost.
    measured: has a C `measure`; some output dims are born.
    grad, saves: gradient rule (`autodiff.Rule`), and the inputs and outputs by name that it reads.
    dim_attrs, function_attrs: the attributes that hold dims, and names of functions. attr_names: all of them.
    min_inputs, max_inputs, min_outputs, max_outputs: how many a node may have; a maximum of None: any number.
    older: by runtime version, how a node's attributes are stated for runtimes before it.
    flags: "control", "training", "strided_out", "inplace", "serial_prologue",
        "reads_bits"; see runtime_c/src/ops/op.h.
    """

    name: str
    code: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    infer: Infer
    reference: Reference
    doc: str
    dtypes: tuple[str, ...]
    check: str
    attrs: tuple[Attr, ...] = ()
    formulas: tuple[Formula, ...] = ()
    permute: Permute | Literal["any"] | None = None
    cost: Cost | None = None
    measured: bool = False
    flags: frozenset[str] = frozenset()
    grad: Rule | None = None
    saves: tuple[str, ...] = ()
    since: str = "0.1.0"
    older: Mapping[str, OlderForm] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    dim_attrs: tuple[Attr, ...] = field(init=False)
    function_attrs: tuple[Attr, ...] = field(init=False)
    attr_names: frozenset[str] = field(init=False)
    min_inputs: int = field(init=False)
    max_inputs: int | None = field(init=False)
    min_outputs: int = field(init=False)
    max_outputs: int | None = field(init=False)

    def __post_init__(self) -> None:
        dims = tuple(a for a in self.attrs if a.type in ("dim", "dims"))
        functions = tuple(a for a in self.attrs if a.type == "function")
        object.__setattr__(self, "dim_attrs", dims)
        object.__setattr__(self, "function_attrs", functions)
        object.__setattr__(self, "attr_names", frozenset(a.name for a in self.attrs))
        for what, names in (("inputs", self.inputs), ("outputs", self.outputs)):
            least = sum(not n.endswith(("?", "*")) for n in names)
            most = None if names and names[-1].endswith("*") else len(names)
            object.__setattr__(self, f"min_{what}", least)
            object.__setattr__(self, f"max_{what}", most)

    @property
    def is_tabular(self) -> bool:
        """Whether a table of 256 results can replace it if all but one operand are scalars: it is elementwise and
        not random.
        """
        return self.kind is Kind.POINTWISE and "training" not in self.flags

    def may_end(self, inputs: Sequence[TensorType | None]) -> bool:
        """Whether values can make a node with these inputs end the run; true for nodes that call functions."""
        if self.kind is Kind.CONTROL or self.ends is Ends.ALWAYS:
            return True
        first = inputs[0] if inputs else None
        return self.ends is Ends.INTEGERS and first is not None and not first.dtype.is_float

    @property
    def may_move(self) -> bool:
        """Whether some of its nodes only copy elements of their inputs."""
        return self.integer is not None and self.integer.moves is not None

    @property
    def broadcasts(self) -> bool:
        """Whether operands of lower rank are extended by leading dims of 1."""
        return self.check == "broadcast"

    def as_post(self, attrs: Mapping[str, Any]) -> dict[str, Any] | None:
        """The epilogue attributes that compute this activation; None if there are none."""
        found = (p.attrs(attrs) for p in self.posts)
        return next((f for f in found if f is not None), None)

    def reads_strided(self, index: int) -> bool:
        """Whether C reads input `index` with a pixel stride of its own."""
        most = self.max_inputs
        return (most is None or index < most) and self.input_name(index) in self.strided

    def weight_form(self, index: int) -> WeightForm | None:
        """How a file stores input `index` if it is a constant; None: row-major."""
        return self.weights.get(self.input_name(index))

    def input_name(self, index: int) -> str:
        """The name of input `index`; the last name if any number may follow."""
        last = len(self.inputs) - 1
        return self.inputs[min(index, last)].rstrip("?*") if self.inputs else ""

    def attr(self, name: str) -> Attr:
        for a in self.attrs:
            if a.name == name:
                return a
        raise KeyError(f"{self.name} has no attribute {name!r}")

    def attrs_for(
        self, attrs: Mapping[str, Any], runtime: tuple[int, ...] | None
    ) -> Mapping[str, Any]:
        """A node's attributes as a runtime of that version reads them; None: the newest."""
        for version, form in self.older.items():
            if runtime is not None and is_newer(version, runtime):
                attrs = form(attrs)
        return attrs

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Attributes with defaults filled in and values normalised (lists to tuples, dims to Dim).

        Raises TypeError for an unknown attribute, a missing required one, or a wrong type.
        """
        if not self.attr_names.issuperset(given):
            unknown = sorted(set(given) - self.attr_names)[0]
            raise TypeError(
                f"{self.name} has no attribute {unknown!r}; it has {sorted(self.attr_names)}"
            )
        out: dict[str, Any] = {}
        for a in self.attrs:
            value = given.get(a.name, a.default)
            if value is REQUIRED:
                raise TypeError(f"{self.name} needs attribute {a.name!r}")
            out[a.name] = _normalise(self.name, a, value)
        return out

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """Arrays run the reference; arguments of other types decide by `__samara_op__`."""
        if PRECEDING:
            for value in inputs:
                if type(value) in PRECEDING:
                    return type(value).__samara_op__(self, inputs, attrs)
        for value in inputs:
            hook = getattr(type(value), "__samara_op__", None)
            if hook is not None:
                return hook(self, inputs, attrs)
        like = weak_dtype([v.dtype for v in inputs if isinstance(v, np.ndarray)])
        arrays = [np.asarray(v, like) if isinstance(v, WEAK) else v for v in inputs]
        return self.evaluate(arrays, self.complete(attrs))

    def evaluate(
        self,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        q_in: Sequence[Quant | None] = (),
        *,
        exact: bool = False,
    ) -> Any:
        """Run the numpy reference on arrays and complete attributes. Dims must be static. exact: in its exact form.

        Returns an array, or a tuple of arrays if the operator may have several outputs. q_in: the quantization
        parameters of the inputs, if some are qs8.
        """
        concrete = {a.name: _concrete(a, attrs[a.name]) for a in self.attrs}
        floats = any(getattr(v, "dtype", None) in (np.float32, np.float16) for v in inputs)
        reference = self.exact if exact and floats and callable(self.exact) else self.reference
        if _wants_quant(reference):
            concrete["q_in"] = list(q_in) + [None] * (len(inputs) - len(q_in))
        arrays = [None if v is None else np.asarray(v) for v in inputs]
        return reference(*arrays, **concrete)


@functools.cache
def _wants_quant(reference: Reference) -> bool:
    return "q_in" in inspect.signature(reference).parameters


def _concrete(attr: Attr, value: Any) -> Any:
    if attr.type == "dim":
        return as_dim(value).as_int()
    if attr.type == "dims":
        return tuple(as_dim(v).as_int() for v in value)
    return value


def _normalise(op: str, attr: Attr, value: Any) -> Any:
    kind = attr.type
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain(value)
    if kind == "enum":
        if value not in attr.choices:
            raise TypeError(f"{op}: {attr.name} must be one of {list(attr.choices)}, got {value!r}")
        return value
    if kind == "function" and callable(value):
        return value  # a Body, which the reference calls
    if not isinstance(value, str):
        raise TypeError(f"{op}: {attr.name} must be a string, got {value!r}")
    return value


def is_newer(version: str, runtime: tuple[int, ...]) -> bool:
    """Whether "0.7.0" is newer than (0, 6) or (0, 6, 2); (0, 7) stands for every 0.7."""
    return tuple(map(int, version.split(".")))[: len(runtime)] > runtime


NamedValue = int | float | str | tuple[int, ...] | tuple[float, ...]
NamedValues = tuple[tuple[str, NamedValue], ...]


def named_values(given: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> NamedValues:
    """Named values in order, in the form of an attribute of type "named".

    A value is an int (int64; a bool becomes one), a float (float32), a text, or a list of ints or
    of floats; a list of one counts as its element. Raises UnsupportedError for anything else.

    >>> named_values({"times": 3, "by": [0.5, 1]})
    (('times', 3), ('by', (0.5, 1.0)))
    """
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple((str(name), _named_value(name, value)) for name, value in pairs)


def _named_value(name: str, value: Any) -> NamedValue:
    if isinstance(value, str):
        return value
    values = list(value) if isinstance(value, Sequence | np.ndarray) else [value]
    numbers: tuple[int, ...] | tuple[float, ...]
    if all(isinstance(v, int | np.integer | np.bool_) for v in values):
        numbers = tuple(int(v) for v in values)
        if any(not -(2**63) <= v < 2**63 for v in numbers):
            raise UnsupportedError(f"attribute {name!r} of a custom operator does not fit int64")
    elif all(isinstance(v, int | float | np.number) for v in values):
        numbers = tuple(float(np.float32(v)) for v in values)
    else:
        raise UnsupportedError(
            f"attribute {name!r} of a custom operator is {type(value).__name__}",
            fix="attributes are ints, floats, lists of one kind of these, and texts",
        )
    return numbers[0] if len(numbers) == 1 else numbers


# Types of attributes whose values need no more than a conversion.
_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "int": operator.index,
    "bool": bool,
    "f32": lambda value: float(np.float32(value)),
    "dtype": lambda value: value if isinstance(value, DType) else DType.parse(value),
    "ints": lambda value: tuple(map(operator.index, value)),
    "floats": lambda value: tuple(np.asarray(value, np.float32).tolist()),
    "dim": as_dim,
    "dims": lambda value: tuple(map(as_dim, value)),
    "named": named_values,
}

_TABLE: dict[str, OpSpec] = {}
_frozen = False


def define(spec: OpSpec) -> OpSpec:
    """Add a row to the table. Only the family modules that `ops/__init__` imports call this."""
    if _frozen:
        raise RuntimeError(f"the op table is closed; {spec.name} must be declared in ops/")
    if spec.name in _TABLE:
        raise RuntimeError(
            f"operator {spec.name} is declared twice: another row has its name, or this process failed"
            " to import the op table before (then the first error of its output is the cause)"
        )
    if any(s.code == spec.code for s in _TABLE.values()):
        raise RuntimeError(f"operator code {spec.code} of {spec.name} is taken")
    row = dataclasses.replace(
        spec,
        infer=_checked(spec.infer),
        reference=_quiet(spec.reference),
        exact=_exact(spec.exact) if callable(spec.exact) else spec.exact,
        cost=_moved if spec.cost is None else spec.cost,
        cases=tuple(
            c if c.name else dataclasses.replace(c, name=f"{i}") for i, c in enumerate(spec.cases)
        ),
    )
    _TABLE[row.name] = row
    return row


def _checked(rule: Infer) -> Infer:
    @functools.wraps(rule)
    def infer(ctx: InferContext) -> tuple[TensorType, ...]:
        ctx.check_inputs()
        return rule(ctx)

    return infer


def _exact(reference: Reference) -> Reference:
    """The exact form; of float16 operands in float32, rounded once."""
    quiet = _quiet(reference)
    half = in_f32(quiet)

    @functools.wraps(reference)
    def run(*inputs: Any, **attrs: Any) -> Any:
        first = inputs[0] if inputs else None
        form = half if first is not None and first.dtype == np.float16 else quiet
        return form(*inputs, **attrs)

    return run


def _quiet(reference: Reference) -> Reference:
    """Wrap a reference: suppress numpy's warnings (inf and NaN are valid results) and return arrays, not scalars."""

    @functools.wraps(reference)
    def run(*inputs: Any, **attrs: Any) -> Any:
        with np.errstate(all="ignore"):
            got = reference(*inputs, **attrs)
        return tuple(map(np.asarray, got)) if isinstance(got, tuple) else np.asarray(got)

    return run


def _moved(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    """One operation per output element; everything is read and written once."""
    flops = sum((t.numel() for t in outputs), as_dim(0))
    return flops, bytes_of(inputs, outputs)


def bytes_of(*groups: Sequence[TensorType | None]) -> Dim:
    """The total bytes of the tensors."""
    total = as_dim(0)
    for types in groups:
        for t in types:
            if t is not None:
                held = t.numel()
                total = total + (ceildiv(held, 2) if t.dtype.is_packed else held * t.dtype.itemsize)
    return total


def freeze() -> None:
    """Close the table; called once, at the end of `ops/__init__`."""
    global _frozen
    for spec in _TABLE.values():
        rule = spec.integer
        for form in () if rule is None else (rule.form, rule.dynamic):
            if form and form not in _TABLE:
                raise RuntimeError(f"the integer form {form!r} of {spec.name} is no operator")
    _frozen = True


def all_ops() -> tuple[OpSpec, ...]:
    """Every operator, by code."""
    return tuple(sorted(_TABLE.values(), key=lambda s: s.code))


def get_op(name: str) -> OpSpec:
    """The operator of that name; UnsupportedError when there is none."""
    try:
        return _TABLE[name]
    except KeyError:
        raise UnsupportedError(f"there is no IR operator {name!r}", op=name) from None


def activation_of(attrs: Mapping[str, Any]) -> tuple[OpSpec, dict[str, Any]] | None:
    """The operator and attributes of the `post` of an epilogue with these attributes; None for "none"."""
    for spec in _TABLE.values():
        for post in spec.posts:
            if post.name == attrs["post"]:
                return spec, post.activation(attrs)
    return None


def op_by_code(code: int) -> OpSpec:
    """The operator with that code; UnsupportedError when there is none."""
    for spec in _TABLE.values():
        if spec.code == code:
            return spec
    raise UnsupportedError(f"there is no IR operator with code {code}", op=str(code))
