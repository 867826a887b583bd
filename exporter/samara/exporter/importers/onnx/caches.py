# SPDX-License-Identifier: Apache-2.0
"""Which inputs and outputs of a decoder are its state, by the caller's pairs or by their names.

A pair whose input has a static shape is a variable that is assigned whole. One whose input has an axis that grows
is a cache (ir/growing.py): it is imported with a symbol there, which all caches share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import onnx

from samara.exporter.importers.common.inputs import ShapeSpec, check_names, check_unique
from samara.exporter.importers.common.operand import Poison
from samara.exporter.importers.onnx.context import import_dtype
from samara.exporter.importers.onnx.scope import Scope
from samara.exporter.ir.growing import Cache
from samara.exporter.ir.interpret import near
from samara.exporter.ir.program import Value
from samara.exporter.types import ArgumentError, Dim, DType, ShapeError, Sym

AUTO: Final = "auto"

_MASK: Final = "attention_mask"
_POSITIONS: Final = ("position_ids", "cache_position")
_TOKENS: Final = ("input_ids", "inputs_embeds")
_WITH_CACHE: Final = "use_cache_branch"  # of decoders whose first step is another branch
# A cache has at least a batch, rows and elements.
_LEAST_RANK: Final = 3
_FLOATS: Final = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.DOUBLE,
)


@dataclass(frozen=True, slots=True)
class StatePlan:
    """whole: {output: input} of variables that are assigned whole. caches: those that grow, to `room` rows.
    shapes: of the inputs of caches. past: the symbol of their rows. sizes: of other symbols, which are 1 in
    caches. derived: inputs that follow from the number of rows. consts: inputs that having a cache decides.
    """

    whole: Mapping[str, str] = field(default_factory=dict)
    caches: tuple[Cache, ...] = ()
    shapes: Mapping[str, ShapeSpec] = field(default_factory=dict)
    past: Sym | None = None
    room: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    consts: Mapping[str, bool] = field(default_factory=dict)


def plan_state(
    graph: onnx.GraphProto,
    state: Mapping[str, str] | str | None,
    room: int | None,
    shapes: Mapping[str, ShapeSpec],
    inputs: Sequence[onnx.ValueInfoProto],
) -> StatePlan:
    """What `state` and `state_length` of import_onnx ask for.

    shapes: of the inputs, by name, with symbols as strings. Raises ShapeError for names that are not there, inputs
    without a partner and shapes that do not fit, ArgumentError for another kind of argument.
    """
    names, outputs = [i.name for i in inputs], [o.name for o in graph.output]
    if isinstance(state, str) and state != AUTO:
        raise ArgumentError(
            f"state: {state!r} is neither pairs nor 'auto'",
            fix=f"give {AUTO!r} or {{output: input}}",
        )
    if room is not None and not _is_size(room):
        raise ArgumentError(
            f"state_length: {room!r} is not a number of rows",
            fix="give the most rows of a cache, 1 or more",
        )
    found = isinstance(state, str)
    pairs = _by_name(inputs, outputs) if found else _written_out(state, names, outputs)
    growing = {o: i for o, i in pairs.items() if any(isinstance(d, str) for d in shapes.get(i, ()))}
    whole = {o: i for o, i in pairs.items() if o not in growing}
    if room is None and growing and not found:
        return StatePlan(whole=dict(pairs))  # refused where the pair is bound, with its type
    if room is None and growing:
        raise ShapeError(
            f"state: {len(growing)} caches grow, {next(iter(growing.values()))!r} among them, and have no length",
            fix="give state_length=, the most rows of a cache, for example 2048",
        )
    if room is not None and not growing:
        raise ShapeError(
            "state_length: no input of the state has an axis that grows",
            fix="leave it out, or pair caches: state='auto' finds them by name",
        )
    return _plan(graph, whole, growing, room, shapes, inputs, found)


def _is_size(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 1


def _plan(
    graph: onnx.GraphProto,
    whole: Mapping[str, str],
    growing: Mapping[str, str],
    room: int | None,
    shapes: Mapping[str, ShapeSpec],
    inputs: Sequence[onnx.ValueInfoProto],
    found: bool,
) -> StatePlan:
    if room is None:
        return StatePlan(whole=whole)
    declared = {o.name: o for o in graph.output}
    taken = {d for s in shapes.values() for d in s if isinstance(d, str)}
    symbol = "past"
    while symbol in taken:
        symbol += "_rows"
    caches, given, sizes = [], {}, {}
    for output, name in growing.items():
        shape = list(shapes[name])
        axis, batch = _axis_of_rows(name, shape, declared[output])
        if batch is not None:
            sizes[batch], shape[0] = 1, 1
        shape[axis] = symbol
        caches.append(Cache(name, output, axis))
        given[name] = shape
    kinds = {i.name: i.type.tensor_type for i in inputs}
    if found:
        tokens = (shapes[t][0] for t in _TOKENS if shapes.get(t))
        sizes.update({d: 1 for d in tokens if isinstance(d, str)})
    derived = _derived(kinds) if found else ()
    decided = {_WITH_CACHE: True} if found and _WITH_CACHE in kinds else {}
    past = Sym(symbol, 0, room)
    return StatePlan(whole, tuple(caches), given, past, room, sizes, derived, decided)


def _axis_of_rows(
    name: str, shape: ShapeSpec, output: onnx.ValueInfoProto
) -> tuple[int, str | None]:
    """The axis that grows, and the symbol of the batch if there is one, which becomes 1."""
    unknown = [a for a, d in enumerate(shape) if isinstance(d, str)]
    batch = None
    if len(unknown) > 1 and unknown[0] == 0:
        batch = str(shape[0])
        unknown = unknown[1:]
    if len(unknown) != 1:
        example = [
            d if not isinstance(d, str) or a == unknown[0] else 1 for a, d in enumerate(shape)
        ]
        raise ShapeError(
            f"state: {name!r} has shape [{', '.join(map(str, shape))}]; one axis may grow, all other sizes must"
            " be known",
            fix=f"give shapes={{{name!r}: {example}}} with its sizes",
        )
    axis = unknown[0]
    dims = output.type.tensor_type.shape.dim
    if output.type.tensor_type.HasField("shape") and len(dims) != len(shape):
        raise ShapeError(
            f"state: {output.name!r} has rank {len(dims)}, but {name!r} has rank {len(shape)}",
            fix="pair an output with the input that it is with new rows",
        )
    for a, (d, given) in enumerate(zip(dims, shape, strict=False)):
        if (
            a != axis
            and isinstance(given, int)
            and d.HasField("dim_value")
            and d.dim_value != given
        ):
            raise ShapeError(
                f"state: axis {a} of {output.name!r} is {d.dim_value}, of {name!r} {given}; only axis {axis} grows",
                fix="pair an output with the input that it is with new rows",
            )
    return axis, batch


# ---- pairs


def _written_out(
    state: Mapping[str, str] | str | None, inputs: Sequence[str], outputs: Sequence[str]
) -> dict[str, str]:
    """The caller's pairs; a `*` on both sides stands for the same text."""
    assert not isinstance(state, str)
    pairs: dict[str, str] = {}
    for output, name in dict(state or {}).items():
        pairs.update(_matching(output, name, inputs, outputs) if "*" in output else {output: name})
    check_names(pairs, outputs, "state")
    check_names(pairs.values(), inputs, "state")
    check_unique(list(pairs.values()), "state")
    return pairs


def _matching(
    output: str, name: str, inputs: Sequence[str], outputs: Sequence[str]
) -> Iterator[tuple[str, str]]:
    if output.count("*") != 1 or name.count("*") != 1:
        raise ShapeError(
            f"state: {output!r} and {name!r} do not have one * each",
            fix="write it like {'present.*': 'past_key_values.*'}",
        )
    before, after = name.split("*")
    parts = [
        i[len(before) : len(i) - len(after)]
        for i in inputs
        if re.fullmatch(f"{re.escape(before)}.*{re.escape(after)}", i, re.DOTALL)
    ]
    if not parts:
        raise ShapeError(f"state: no input is like {name!r}", fix=near(name, inputs, "inputs"))
    for part in parts:
        partner = output.replace("*", part)
        if partner not in outputs:
            raise ShapeError(
                f"state: input {name.replace('*', part)!r} has no output {partner!r}",
                fix=near(partner, outputs, "outputs"),
            )
        yield partner, name.replace("*", part)


def _by_name(inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[str]) -> dict[str, str]:
    """The pairs whose names exporters give to caches."""
    pairs: dict[str, str] = {}
    alone = []
    for info in inputs:
        if not _is_cache(info):
            continue
        partner = next((p for p in _partners(info.name) if p in outputs and p not in pairs), None)
        if partner is None:
            alone.append(info.name)
        else:
            pairs[partner] = info.name
    if alone:
        listed = ", ".join(map(repr, alone[:6])) + (" …" if len(alone) > 6 else "")
        raise ShapeError(
            f"state='auto': no output is known as the partner of {listed}",
            fix="give the pairs that are state, {'present.*': 'past.*'}; the outputs are "
            + ", ".join(outputs),
        )
    if not pairs:
        raise ShapeError(
            "state='auto': no input is named like a cache (past_key_values.0.key, past_0, key_cache_in …)",
            fix="give the pairs, {output: input}; the inputs are "
            + ", ".join(i.name for i in inputs),
        )
    return pairs


def _is_cache(info: onnx.ValueInfoProto) -> bool:
    kind = info.type.tensor_type
    named = "past" in info.name.lower() or "cache" in info.name.lower()
    return named and kind.elem_type in _FLOATS and len(kind.shape.dim) >= _LEAST_RANK


def _partners(name: str) -> Iterator[str]:
    """Names of outputs that may be this input with new rows, the likeliest first."""
    for past in ("past_key_values", "past_kv", "past"):
        if past in name:
            for present in (past.replace("past", "present"), "present", "new"):
                yield name.replace(past, present, 1)
            break
    for end, other in (("_in", "_out"), (".in", ".out"), ("in_", "out_"), ("_in_", "_out_")):
        if name.endswith(end) or name.startswith(end) or (end == "_in_" and end in name):
            yield name.replace(end, other)
    for made in ("{}_out", "{}.out", "out_{}", "new_{}", "updated_{}", "{}_new", "{}_updated"):
        yield made.format(name)


# ---- inputs that follow from the rows


def _derived(kinds: Mapping[str, onnx.TypeProto.Tensor]) -> tuple[str, ...]:
    """Inputs that say what the number of rows says: a mask of nothing hidden, positions that go on."""
    if not any(t in kinds for t in _TOKENS):
        return ()
    whole = (onnx.TensorProto.INT64, onnx.TensorProto.INT32)
    found = []
    for name, kind in kinds.items():
        rank = len(kind.shape.dim)
        mask = name == _MASK and rank == 2 and kind.elem_type in (*whole, onnx.TensorProto.BOOL)
        if mask or (name in _POSITIONS and rank in (1, 2) and kind.elem_type in whole):
            found.append(name)
    return tuple(found)


def bind_derived(scope: Scope, plan: StatePlan, inputs: Sequence[onnx.ValueInfoProto]) -> None:
    """Make the derived inputs of the rows so far and the new ones: the mask is 1 for both, a position is the number
    of rows before it.
    """
    if not plan.derived or plan.past is None:
        return
    tokens = next(t for t in _TOKENS if t in {i.name for i in inputs})
    value = scope.lookup(tokens)
    if isinstance(value, Poison):
        return
    assert isinstance(value, Value)
    batch, step = value.type.shape[:2]
    past = Dim.atom(plan.past)
    for info in inputs:
        if info.name not in plan.derived:
            continue
        name = info.name
        dtype = import_dtype(info.type.tensor_type.elem_type, "input")
        flat = len(info.type.tensor_type.shape.dim) == 1
        if name == _MASK:
            one = scope.builder.const(dtype.numpy.type(1), f"{name}.one", dtype)
            made = scope.builder.op("expand", one, shape=(batch, past + step), name=name)
        else:
            made = scope.builder.op("iota", length=step, start=past, name=f"{name}.flat")
            if dtype is not DType.I64:
                made = scope.builder.op("cast", made, to=dtype, name=f"{name}.cast")
            if not flat:
                made = scope.builder.op("reshape", made, shape=(1, step), name=f"{name}.row")
                made = scope.builder.op("expand", made, shape=(batch, step), name=name)
        scope.bind(name, made)
