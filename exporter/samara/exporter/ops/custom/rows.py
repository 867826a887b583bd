# SPDX-License-Identifier: Apache-2.0
"""Custom operators: the registry, and the row of the table that calls them."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from samara.exporter.ops.autodiff import GradContext
from samara.exporter.ops.facts import Kind
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.spec import (
    Attr,
    Case,
    InferContext,
    NamedValues,
    OpSpec,
    bytes_of,
    define,
    named_values,
)
from samara.exporter.types import (
    ArgumentError,
    Dim,
    DimLike,
    DType,
    SamaraError,
    ShapeError,
    TensorType,
    UnsupportedError,
    as_dim,
)
from samara.pybridge.custom import register_kernel
from samara.pybridge.names import is_one_of

__all__ = [
    *("CustomOp", "OperandType", "UpTo", "custom", "custom_attributes", "custom_keys"),
    *("custom_values", "find_custom_op", "register_custom", "register_op"),
    "with_joined_attributes",
]

SEPARATOR: Final = "\x1f"
_NAME: Final = re.compile(r"[A-Za-z_][\w.\-]*::[A-Za-z_]\w*")
_UNBOUNDED: Final = -1  # a data-dependent size without an upper bound


# ---- arguments and results of shape rules ----


@dataclass(frozen=True, slots=True)
class UpTo:
    """A data-dependent size of at most `bound`, so that memory is planned ahead and a run allocates nothing."""

    bound: DimLike


@dataclass(frozen=True, slots=True)
class OperandType:
    """dtype and shape of an operand, as the `infer` of `register_op` takes and returns them.

    Sizes are ints, or symbolic ones with `+ - * // %`. In a result a size may also be `UpTo`, or None for a
    data-dependent size without a bound.
    """

    dtype: np.dtype[Any]
    shape: tuple[Any, ...]

    def with_shape(self, *shape: Any) -> OperandType:
        """The same dtype with other sizes."""
        return OperandType(self.dtype, shape)

    def with_dtype(self, dtype: Any) -> OperandType:
        """The same sizes with another dtype."""
        return OperandType(np.dtype(dtype), self.shape)


Infer = Callable[..., Any]


def _same_as_first(*inputs: OperandType | None, **attributes: Any) -> OperandType:
    first = inputs[0] if inputs else None
    if first is None:
        raise ShapeError(
            "it has no first input whose type its result could have", fix="give infer="
        )
    return first


def _seen(t: TensorType | None) -> OperandType | None:
    if t is None:
        return None
    sizes = tuple(d.as_int() if d.is_static else d for d in t.shape)
    return OperandType(t.dtype.numpy, sizes)


# ---- registration ----


@dataclass(frozen=True, slots=True, eq=False)
class CustomOp:
    """A registered operator; call it with arrays, tensors or traced tensors, attributes by keyword.

    Eagerly the reference runs, and a gradient comes from `samara.autograd.Function` around the
    call; in a trace it becomes a node.
    """

    name: str
    reference: Callable[..., Any]
    infer: Infer

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """The result, or a tuple of several.

        Raises ShapeError if `infer` refuses the inputs, SamaraError if the reference contradicts it.
        """
        types = [_type_of(self.name, i, v) for i, v in enumerate(inputs)]
        stated = self.node_attrs(types, attributes)
        results = custom(*inputs, **stated)
        return results[0] if len(stated["dtypes"]) == 1 else tuple(results)

    def node_attrs(
        self, types: Sequence[TensorType | None], attributes: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The attributes of a node of the row `custom` that applies the operator to such inputs."""
        full = self._completed(len(types), attributes)
        # In the form in which the file is read: float32, and a list of one as its element.
        values = named_values(full)
        try:
            said = self.infer(*(_seen(t) for t in types), **dict(values))
        except SamaraError as error:
            error.op = self.name if error.op is None else error.op
            raise
        except Exception as error:  # a function of the user's
            raise ShapeError(f"infer: {_words(error)}", op=self.name) from error
        return {"name": self.name, "attributes": values, **_stated(self.name, said)}

    def compute(self, inputs: Sequence[Array | None], attributes: Mapping[str, Any]) -> list[Array]:
        """The result of the reference; SamaraError if it raises anything."""
        try:
            got = self.reference(*inputs, **attributes)
        except SamaraError:
            raise
        except Exception as error:  # a function of the user's
            raise SamaraError(f"the reference of {self.name} failed: {_words(error)}") from error
        return [np.asarray(y) for y in (got if isinstance(got, tuple | list) else (got,))]

    def _completed(self, count: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes with the defaults of the reference's keywords. Ints become floats if the default or the
        annotation is a float, so that a kernel always finds every attribute, with one type.
        """
        try:
            signature = inspect.signature(self.reference)
        except (TypeError, ValueError):  # some callables have no signature
            return dict(given)
        try:
            signature.bind(*(None,) * count, **given)
        except TypeError as error:
            raise ShapeError(f"{error} (the reference takes {signature})", op=self.name) from None
        full = dict(given)
        for p in signature.parameters.values():
            if p.kind is p.KEYWORD_ONLY and p.default not in (p.empty, None):
                full.setdefault(p.name, p.default)
            if p.name in full and (p.annotation in (float, "float") or type(p.default) is float):
                value = full[p.name]
                full[p.name] = float(value) if isinstance(value, int | np.integer) else value
        return {name: full[name] for name in sorted(full) if full[name] is not None}


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _type_of(name: str, index: int, value: Any) -> TensorType | None:
    if value is None:
        return None
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        raise ShapeError(
            f"input {index} is {type(value).__name__}, expected an array or a tensor",
            op=name,
            fix="attributes are given by keyword",
        )
    return TensorType.of(DType.from_numpy(np.dtype(value.dtype)), value.shape)


def _stated(name: str, said: Any) -> dict[str, Any]:
    """`dtypes`, `ranks`, `shape` and `born` of a node from what `infer` returned."""
    results = said if isinstance(said, tuple | list) and not _is_pair(said) else (said,)
    dtypes: list[int] = []
    ranks: list[int] = []
    shape: list[DimLike] = []
    born: list[int] = []
    dtype: Any
    for result in results:
        if isinstance(result, OperandType):
            dtype, sizes = result.dtype, result.shape
        elif _is_pair(result):
            dtype, sizes = result
        else:
            raise ShapeError(
                f"infer returned {result!r}",
                op=name,
                fix="return an operand type, a pair (dtype, shape), or a list of these",
            )
        try:
            dtypes.append(int(_dtype(dtype)))
        except (TypeError, UnsupportedError):
            raise ShapeError(f"infer returned the dtype {dtype!r}", op=name) from None
        ranks.append(len(sizes))
        for size in sizes:
            if size is None or isinstance(size, UpTo):
                born.append(len(shape))
            if not isinstance(size, int | np.integer | Dim | UpTo | None):
                raise ShapeError(f"infer returned the size {size!r}", op=name)
            limit = _UNBOUNDED if size is None else size.bound if isinstance(size, UpTo) else size
            shape.append(limit if isinstance(limit, Dim) else as_dim(int(limit)))
    return {
        "dtypes": tuple(dtypes),
        "ranks": tuple(ranks),
        "shape": tuple(shape),
        "born_at": tuple(born),
    }  # fmt: skip


def _dtype(said: Any) -> DType:
    """The dtype of a short name, or of anything that numpy accepts as a dtype."""
    try:
        return DType.parse(said) if isinstance(said, str) else DType.from_numpy(said)
    except UnsupportedError:
        return DType.from_numpy(np.dtype(said))


def _is_pair(value: Any) -> bool:
    """Whether it is (dtype, shape)."""
    return (
        isinstance(value, tuple | list)
        and len(value) == 2
        and not isinstance(value[0], tuple | list | OperandType)
        and isinstance(value[1], tuple | list)
    )


_REGISTERED: dict[str, CustomOp] = {}


def register_op(
    name: str,
    *,
    reference: Callable[..., Any],
    library: str | os.PathLike[str] | None = None,
    symbol: str | None = None,
    infer: Infer | None = None,
) -> CustomOp:
    """Register a custom operator for this process, or replace it; returns it, to be called.

    name: "domain::name", which is also how ONNX nodes find it.
    reference: the operator in numpy: `reference(*arrays, **attributes)` -> array, or a tuple of them.
        Keyword-only parameters are its attributes; their defaults are stored with each node. Program.run,
        the checks of `export` and eager calls run it.
    library, symbol: a shared library and its exported `samara_custom_op` (default: the name after
        the "::"), which sessions of this process use. Without a library no Session can run it.
    infer: types of the results, `infer(*types, **attributes)`; types are `OperandType`, results
        are one, a pair (dtype, shape), or a list of these. Default: as the first input.

    Raises UnsupportedError for a name without a domain and BackendError for a library that cannot
    be loaded or whose symbol is not the operator.

    >>> double = samara.register_op("example::double", reference=lambda x: 2 * x)
    >>> program = samara.trace(lambda x: double(x), samara.ones(3), output_names=["y"])
    >>> program.run({"x": np.ones(3, np.float32)})["y"].tolist()
    [2.0, 2.0, 2.0]
    """
    if not _NAME.fullmatch(name if is_one_of(name, (name,)) else ""):
        raise UnsupportedError(
            f"{name!r} is not the name of a custom operator", fix='write it as "domain::name"'
        )
    if not callable(reference):
        raise ArgumentError(
            f"the reference of {name} is {type(reference).__name__}, not a function",
            fix="give a function of numpy arrays",
        )
    if symbol is not None and library is None:
        raise UnsupportedError(f"symbol {symbol!r} of no library", op=name, fix="give library= too")
    if library is not None:
        register_kernel(name, library, symbol)
    return register_custom(name, reference, infer)


def register_custom(
    name: str, reference: Callable[..., Any], infer: Infer | None = None
) -> CustomOp:
    """Register `reference(*arrays, **attributes)` as the numpy form of custom operator `name`."""
    op = CustomOp(name, reference, _same_as_first if infer is None else infer)
    _REGISTERED[name] = op
    return op


def find_custom_op(name: str) -> CustomOp | None:
    """The operator registered under a name, or None."""
    return _REGISTERED.get(name)


# ---- attributes ----


def custom_values(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The named values of a node of the row `custom`, in either form."""
    joined = custom_attributes(attrs["keys"], attrs["ints"], attrs["floats"])
    return joined | dict(attrs["attributes"])


def with_joined_attributes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node of `custom` in the form that runtimes before 0.7 read."""
    return {**attrs, **custom_keys(custom_values(attrs)), "attributes": ()}


def custom_keys(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes `keys`, `ints` and `floats` that hold these named values in files up to 0.6.

    `keys` joins three texts per value: its name, its kind (i, f or s), and how many of `ints` or
    `floats` are its own, or the text itself. UnsupportedError for values of other kinds.
    """
    words: list[str] = []
    ints: list[int] = []
    floats: list[float] = []
    for name, value in named_values(attributes):
        if isinstance(value, str):
            words += [name, "s", value]
            continue
        values = value if isinstance(value, tuple) else (value,)
        whole = all(isinstance(v, int) for v in values)
        words += [name, "i" if whole else "f", str(len(values))]
        (ints if whole else floats).extend(values)  # type: ignore[arg-type]
    if any(SEPARATOR in w for w in words):
        raise UnsupportedError(
            "an attribute of a custom operator holds the character 0x1f, which runtimes before 0.7"
            " take for a separator",
            fix="target runtime 0.7 or newer",
        )
    return {"keys": SEPARATOR.join(words), "ints": tuple(ints), "floats": tuple(floats)}


def custom_attributes(keys: str, ints: Sequence[int], floats: Sequence[float]) -> dict[str, Any]:
    """The named values again: a number, or a tuple of several. Floats are float32."""
    out: dict[str, Any] = {}
    words = keys.split(SEPARATOR) if keys else []
    i = f = 0
    for name, kind, text in zip(words[::3], words[1::3], words[2::3], strict=True):
        if kind == "s":
            out[name] = text
            continue
        n = int(text)
        values = (
            tuple(ints[i : i + n])
            if kind == "i"
            else tuple(float(np.float32(v)) for v in floats[f : f + n])
        )
        i, f = (i + n, f) if kind == "i" else (i, f + n)
        out[name] = values[0] if n == 1 else values
    return out


# ---- the row ----


def _custom_type(ctx: InferContext) -> tuple[TensorType, ...]:
    """Output types from `dtypes`, `ranks`, the concatenated `shape` and the places `born` in it."""
    ctx.require(len(ctx.dtypes) == len(ctx.ranks), "dtypes and ranks must be equally many")
    total = sum(ctx.ranks)
    ctx.require(len(ctx.shape) in (0, total), f"shape has {len(ctx.shape)} sizes, expected {total}")
    born = set(ctx.born_at) if ctx.shape else set(range(total))
    types, at = [], 0
    for i, (code, rank) in enumerate(zip(ctx.dtypes, ctx.ranks, strict=True)):
        dims = []
        for axis in range(rank):
            given = ctx.shape[at] if ctx.shape else as_dim(_UNBOUNDED)
            open_ended = given.is_static and given.as_int() < 0
            if at in born:
                given = ctx.born(i, axis, None if open_ended else given)
            dims.append(given)
            at += 1
        types.append(TensorType(DType(code), tuple(dims)))
    return tuple(types)


def _custom(
    *xs: Array | None,
    name: str,
    keys: str,
    ints: tuple[int, ...],
    floats: tuple[float, ...],
    dtypes: tuple[int, ...],
    ranks: tuple[int, ...],
    shape: tuple[int, ...],
    born_at: tuple[int, ...],
    attributes: NamedValues,
) -> tuple[Array, ...]:
    op = _REGISTERED.get(name)
    if op is None:
        raise UnsupportedError(
            f"custom operator {name} has no reference here",
            op="custom",
            fix=f'samara.register_op("{name}", reference=…)',
        )
    stated = {"keys": keys, "ints": ints, "floats": floats, "attributes": attributes}
    results = op.compute(xs, custom_values(stated))
    if len(results) != len(dtypes):
        raise SamaraError(
            f"the reference of {name} gave {len(results)} results, its node declares {len(dtypes)}"
        )
    at = 0
    for i, (y, code, rank) in enumerate(zip(results, dtypes, ranks, strict=True)):
        wanted = [None if not shape or k in born_at else shape[k] for k in range(at, at + rank)]
        at += rank
        fits = y.ndim == rank and all(w in (None, n) for w, n in zip(wanted, y.shape, strict=True))
        if y.dtype != DType(code).numpy or not fits:
            sizes = ", ".join("?" if w is None else str(w) for w in wanted)
            raise SamaraError(
                f"result {i} of the reference of {name} is {y.dtype}{list(y.shape)},"
                f" declared {DType(code).public_name}[{sizes}]",
                fix="let the reference and infer say the same",
            )
    return tuple(results)


def _of_custom(ctx: GradContext) -> tuple[Any, ...]:
    raise UnsupportedError(
        f"custom operator {ctx.attrs['name']} has no gradient",
        op="custom",
        fix="call it in the forward of a samara.autograd.Function, which has a backward",
    )


def _custom_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    return as_dim(0), bytes_of(inputs, outputs)


custom = define(
    OpSpec(
        name="custom",
        code=174,
        inputs=("xs*",),
        outputs=("ys*",),
        infer=_custom_type,
        reference=_custom,
        doc="an operator that the app registers",
        dtypes=(),
        check="control",
        attrs=(
            Attr("name", "string", doc="domain::name"),
            Attr("keys", "string", "", doc="in files up to 0.6: name, kind (i, f, s) and count or"
                 " text of each attribute, all joined by the character 0x1f"),
            Attr("ints", "ints", (), doc="with `keys`: the values of kind i, one after the other"),
            Attr("floats", "floats", (), doc="with `keys`: the values of kind f, likewise"),
            Attr("dtypes", "ints", doc="dtype code per output"),
            Attr("ranks", "ints", doc="rank per output"),
            Attr("shape", "dims", (), doc="the shapes of all outputs, one after the other; none:"
                 " all sizes depend on data"),
            Attr("born_at", "ints", (), doc="positions of data-dependent sizes in `shape`, which holds"
                 " their upper bound, or -1"),
            Attr("attributes", "named", (), doc="the operator's own attributes", since="0.7.0"),
        ),
        cost=_custom_cost,
        flags=frozenset({"control"}),
        grad=_of_custom,
        older={"0.7.0": with_joined_attributes},
        cases=(
            Case((("f32", (3,)),), {"name": "test::scale", "dtypes": (1,), "ranks": (1,),
                                    "shape": (3,), "attributes": {"by": 2.5, "times": 3}}),
            Case((("f32", (3,)),), {"name": "test::scale", "dtypes": (1,), "ranks": (1,),
                                    "shape": (3,), **custom_keys({"by": 2.5, "times": 3})}),
            Case((("f32", (4,)), ("f32", (4,))),
                 {"name": "test::pick", "dtypes": (1, 7), "ranks": (1, 0), "shape": (4,)}),
            Case((("f32", (4,)),), {"name": "test::none", "dtypes": (1,), "ranks": (1,)}),
            Case((("f32", (6,)),), {"name": "test::none", "dtypes": (1,), "ranks": (1,),
                                    "shape": (6,), "born_at": (0,)}),
        ),
        kind=Kind.CONTROL,
    )
)  # fmt: skip
