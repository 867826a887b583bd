# SPDX-License-Identifier: Apache-2.0
"""Operators of StableHLO that LiteRT runs, and REDUCE_WINDOW."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import KINDS, Case, Graph, Op, T, built
from tests.exporter.importers.tflite.suite.detection import flexible
from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    exact_entries,
    plain_case,
    product,
    whole,
)

_ALL = "float32, int8, uint8, int16, int32, int64, float16, float64, uint32"


_ATTRIBUTES = np.frombuffer(flexible({"axis": 1}), np.uint8)


@dataclass(frozen=True)
class WithBody(Case):
    """An operator with a subgraph of one operator over two numbers, or of none."""

    body: str = ""
    kind: str = "FLOAT32"

    def model(self) -> bytes:
        inputs = [t for t in self.inputs if t is not None]
        count = len(inputs)
        op = Op(self.op, range(count), [count], self.options, version=self.version)
        main = Graph(
            [*inputs, *self.outputs],
            [op],
            [i for i in range(count) if not inputs[i].constant],
            [count],
        )
        numbers = [T(kind=self.kind, shape=()) for _ in range(3)]
        ops = [Op(self.body, [0, 1], [2])] if self.body else []
        return built(main, Graph(numbers, ops, [0, 1], [2 if ops else 1], "body"))


def _binary(op: str) -> Any:
    def make(rng: Any, kind: str, shape: Any) -> Case:
        a, b = (whole(rng, shape, kind) for _ in range(2))
        if op.endswith("SHIFT_LEFT"):
            b = whole(rng, shape, kind, 0, 7)
        return plain_case(op, [a, b], KINDS[kind])

    return make


def pad(rng: Any, kind: str, low: Any, high: Any, inner: Any) -> Case:
    shape = tuple(range(4, 4 + len(low)))
    options = {
        "edge_padding_low": list(low),
        "edge_padding_high": list(high),
        "interior_padding": list(inner),
    }
    given = [whole(rng, shape, kind), (whole(rng, (), kind),)]
    return plain_case("STABLEHLO_PAD", given, KINDS[kind], options)


def _window(
    rng: Any, kind: str, body: str, size: Any, stride: Any, gap: Any, base: Any, pads: Any
) -> Case:
    shape = tuple(range(6, 6 + len(size)))
    first = np.asarray(1 if "MUL" in body else 0, kind)
    if kind == "bool":
        first = np.asarray("AND" in body)
    options = {
        "window_dimensions": list(size), "window_strides": list(stride), "window_dilations": list(gap),
        "base_dilations": list(base), "padding": list(pads), "body_subgraph_index": 1,
    }  # fmt: skip
    tensors = [T(whole(rng, shape, kind, -2, 3)), T(first, constant=True)]
    return WithBody(
        "STABLEHLO_REDUCE_WINDOW", tensors, [T(kind=KINDS[kind], shape=())], options, rtol=1e-4, atol=1e-5,
        steps=0, body=body, kind=KINDS[kind],
    )  # fmt: skip


def plain_window(rng: Any, kind: str, function: str, size: Any, stride: Any, gap: Any) -> Case:
    shape = tuple(range(6, 6 + len(size)))
    first = np.asarray(1 if function in ("MUL", "ALL") else 0, kind)
    given = [
        whole(rng, shape, kind, -2, 3),
        (first,),
        *((np.array(v, np.int64),) for v in (size, stride, gap)),
    ]
    return plain_case("REDUCE_WINDOW", given, KINDS[kind], {"reduce_function": function})


# shape of x, of indices, window, axes left out, axes of vectors, axis of vectors, axes of windows in the result
_GATHERS: Any = (
    ((5, 6), (3, 1), (1, 6), [0], [0], 1, [1]),
    ((5, 6), (3, 2), (2, 3), [], [0, 1], 1, [1, 2]),
    ((5, 6), (3, 2), (1, 3), [0], [1, 0], 1, [1]),
    ((4, 5, 6), (2, 2, 2), (1, 1, 3), [0, 1], [0, 1], 2, [2]),
    ((4, 5, 6), (2, 3), (2, 1, 6), [1], [2, 1], 0, [0, 2]),
    ((7,), (4,), (2,), [], [0], 1, [1]),
)


def gather(rng: Any, kind: str, row: int) -> Case:
    shape, count, sizes, gone, targets, axis, places = _GATHERS[row]
    indices = rng.integers(-1, 7, count).astype(np.int32)
    options = {
        "offset_dims": places, "collapsed_slice_dims": gone, "start_index_map": targets,
        "index_vector_dim": axis, "slice_sizes": list(sizes),
    }  # fmt: skip
    batch = [n for a, n in enumerate(count) if a != axis]
    rank = len(batch) + len(places)
    window = iter([s for a, s in enumerate(sizes) if a not in gone])
    outer = iter(batch)
    result = [next(window) if a in places else next(outer) for a in range(rank)]
    tensors = [T(whole(rng, shape, kind)), T(indices)]
    return Case("STABLEHLO_GATHER", tensors, [T(kind=KINDS[kind], shape=result)], options, steps=0)


# shape of x, of indices, of updates, axes of windows, axes left out, axes of vectors, axis of vectors
_SCATTERS: Any = (
    ((5, 6), (3, 1), (3, 6), [1], [0], [0], 1),
    ((5, 6), (3, 2), (3, 2, 3), [1, 2], [], [0, 1], 1),
    ((5, 6), (3, 2), (3,), [], [0, 1], [1, 0], 1),
    ((4, 5, 6), (2, 3), (6, 3, 4), [0, 2], [1], [2, 1], 0),
    ((7,), (4, 1), (4, 1), [1], [], [0], 1),
)


def scatter(rng: Any, kind: str, row: int, body: str) -> Case:
    shape, count, updates, windows, gone, targets, axis = _SCATTERS[row]
    indices = rng.integers(-1, 6, count).astype(np.int32)
    options = {
        "update_window_dims": windows, "inserted_window_dims": gone, "scatter_dims_to_operand_dims": targets,
        "index_vector_dim": axis, "update_computation_subgraph_index": 1,
    }  # fmt: skip
    tensors = [T(whole(rng, shape, kind)), T(indices), T(whole(rng, updates, kind))]
    return WithBody(
        "STABLEHLO_SCATTER", tensors, [T(kind=KINDS[kind], shape=())], options, rtol=1e-4, atol=1e-5, steps=0,
        body=body, kind=KINDS[kind],
    )  # fmt: skip


def composite(rng: Any, kind: str) -> Case:
    tensors = [T(whole(rng, (2, 3), kind)), T(whole(rng, (2, 3), kind))]
    options = {
        "name": "my.add",
        "decomposition_subgraph_index": 1,
        "composite_attributes": _ATTRIBUTES,
    }
    return Composite(
        "STABLEHLO_COMPOSITE", tensors, [T(kind=KINDS[kind], shape=(2, 3))], options, steps=0
    )


@dataclass(frozen=True)
class Composite(Case):
    """A composite operator that multiplies two matrices elementwise."""

    def model(self) -> bytes:
        tensors = [t for t in self.inputs if t is not None]
        op = Op(self.op, [0, 1], [2], self.options, table="StableHLOCompositeOptions")
        main = Graph([*tensors, *self.outputs], [op], [0, 1], [2])
        inner = [T(kind=t.element, shape=t.sizes) for t in (*tensors, *self.outputs)]
        return built(main, Graph(inner, [Op("MUL", [0, 1], [2])], [0, 1], [2], "inner"))


@dataclass(frozen=True)
class Branches(Case):
    """The first input chooses what is done with the others."""

    def model(self) -> bytes:
        tensors = [t for t in self.inputs if t is not None]
        count = len(tensors)
        options = {"branch_subgraph_indices": [1, 2, 3]}
        op = Op(self.op, range(count), [count], options)
        fed = [i for i, t in enumerate(tensors) if not t.constant]
        main = Graph([*tensors, *self.outputs], [op], fed, [count])
        inner = [T(kind=t.element, shape=t.sizes) for t in (*tensors[1:], *self.outputs)]
        names = ("ADD", "MUL", "SUB")
        return built(main, *(Graph(inner, [Op(n, [0, 1], [2])], [0, 1], [2], n) for n in names))


def branches(rng: Any, kind: str, number: int, constant: bool) -> Case:
    index = T(np.asarray([number], np.int32), constant=constant)
    tensors = [index, T(whole(rng, (2, 3), kind)), T(whole(rng, (2, 3), kind))]
    return Branches("STABLEHLO_CASE", tensors, [T(kind=KINDS[kind], shape=(2, 3))])


def cases() -> Iterator[Entry]:
    def some(op: str, kinds: str, make: Any, given: Any) -> Iterator[Entry]:
        return exact_entries("stablehlo", op, kinds, make, given)

    shapes = [(7,), (2, 3, 4)]
    for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"):
        op = f"STABLEHLO_{name}"
        yield from some(op, _ALL, _binary(op), product(shape=shapes))
    yield from some(
        "STABLEHLO_AND",
        "int8, uint8, int16, int32, int64, bool",
        _binary("STABLEHLO_AND"),
        product(shape=shapes),
    )
    op = "STABLEHLO_SHIFT_LEFT"
    yield from some(op, "int8, int16, int32", _binary(op), product(shape=shapes))
    given: Any = [
        {"low": (1,), "high": (2,), "inner": (0,)}, {"low": (-1, 2), "high": (0, -2), "inner": (0, 0)},
        {"low": (0, 1), "high": (1, 0), "inner": (1, 2)}, {"low": (-2, 0, 1), "high": (1, 1, -1), "inner": (2, 0, 1)},
    ]  # fmt: skip
    yield from some("STABLEHLO_PAD", _ALL, pad, given)
    plain = {"gap": (1, 1), "base": (1, 1), "pads": (0, 0, 0, 0)}
    forms: Any = [
        {"size": (2, 3), "stride": (1, 1), **plain}, {"size": (3, 3), "stride": (2, 2), **plain},
        {"size": (2, 2), "stride": (1, 2), "gap": (2, 1), "base": (1, 2), "pads": (1, 0, 0, 2)},
        {"size": (2, 2), "stride": (1, 1), "gap": (1, 1), "base": (1, 1), "pads": (-1, 1, 0, -1)},
        {"size": (6, 1), "stride": (1, 1), "gap": (1, 1), "base": (1, 1), "pads": (5, 0, 0, 0)},
    ]  # fmt: skip
    for body in (
        "STABLEHLO_ADD",
        "STABLEHLO_MULTIPLY",
        "STABLEHLO_MAXIMUM",
        "STABLEHLO_MINIMUM",
        "ADD",
    ):
        given = [{"body": body, **f} for f in forms]
        yield from some("STABLEHLO_REDUCE_WINDOW", "float32, int32, int64, int8", _window, given)
    given = [{"body": b, **f} for f in forms for b in ("LOGICAL_AND", "LOGICAL_OR")]
    yield from some("STABLEHLO_REDUCE_WINDOW", "bool", _window, given)
    sizes = [((2, 3), (1, 1), (1, 1)), ((3, 3), (2, 2), (1, 1)), ((2, 2), (1, 2), (2, 3))]
    for function, kinds in (("ADD", "float32, int32, int8"), ("MUL", "float32, int32, int8"),
                            ("MAXIMUM", "float32, int32, int8"), ("MINIMUM", "float32, int32, int8"),
                            ("ALL", "bool"), ("ANY", "bool")):  # fmt: skip
        given = [{"function": function, "size": a, "stride": b, "gap": c} for a, b, c in sizes]
        yield from some("REDUCE_WINDOW", kinds, plain_window, given)
    yield from some("STABLEHLO_GATHER", _ALL, gather, product(row=range(len(_GATHERS))))
    for body in (
        "",
        "STABLEHLO_ADD",
        "STABLEHLO_MULTIPLY",
        "STABLEHLO_MAXIMUM",
        "STABLEHLO_MINIMUM",
    ):
        given = product(row=range(len(_SCATTERS)), body=[body])
        yield from some("STABLEHLO_SCATTER", "float32, int8, int32, int64, uint8", scatter, given)
    given = product(number=[0, 1, 2], constant=[False, True])
    yield from some("STABLEHLO_CASE", "float32, int32", branches, given)
    yield from some("STABLEHLO_COMPOSITE", "float32, int32", composite, [{}])
