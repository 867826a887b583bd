# SPDX-License-Identifier: Apache-2.0
"""Operands of recurrent operators, and several calls of a model with state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import (
    Array,
    Case,
    T,
    agree,
    const,
    interpreter,
    ran,
    step,
)

from samara import import_tflite
from samara.exporter.ir.program import Program

STATE = 1 / 128  # scale of an int8 output state
CELL = 2.0**-11  # scale of an int16 cell state


def floats(rng: np.random.Generator, *shape: int, scale: float = 0.5) -> Array:
    return (rng.normal(size=shape) * scale).astype(np.float32)


def state(*shape: int) -> T:
    """A float variable tensor."""
    return T(kind="FLOAT32", shape=shape, variable=True)


def integers(
    rng: np.random.Generator, *shape: int, scale: float = 0.01, unsigned: bool = False
) -> T:
    """int8 weights. unsigned: of type uint8 in the file, as old converters write the same bytes."""
    data = rng.integers(-127, 128, shape).astype(np.int8)
    return const(data.view(np.uint8) if unsigned else data, scale=scale)


def check_calls(case: Case, feeds: Sequence[Sequence[Array]], *, exact: bool = False) -> Program:
    """Call after call the results are LiteRT's, by the interpreter and by the C runtime."""
    model = case.model()
    oracle = interpreter(model, case.resolver)
    program = import_tflite(model, exact=exact)
    limits: Any = {"atol": case.atol, "rtol": case.rtol, "steps": 0 if exact else case.steps}
    kept: dict[str, Array] = {}
    names = [v.name for v in program.main.inputs if v.name not in program.main.reads]
    outputs = [n for i, n in enumerate(program.main.output_names) if i not in program.main.writes]
    compiled = ran(program, *feeds)
    for given, native in zip(feeds, compiled, strict=True):
        want = step(oracle, given)
        got = program.run(dict(zip(names, given, strict=True)), state=kept)
        agree([got[n] for n in outputs], want, **limits)
        agree(native, want, **limits)
    return program


def operators(program: Program) -> set[str]:
    """The names of all operators in a program."""
    return {n.op.name for f in program.functions.values() for n in f.nodes}


# ---- LSTM


def lstm_cell(
    rng: np.random.Generator,
    kind: str,
    sizes: tuple[int, int, int],
    *,
    coupled: bool = False,
    peephole: bool = False,
    diagonal: bool = False,
) -> list[T | None]:
    """The weights of a cell: 8 matrices, 3 peepholes, 4 biases. sizes: of the input, the cell and the output.
    kind: of the weights, float, hybrid, bytes (hybrid, of type uint8) or int8.
    """
    inputs, units, outputs = sizes

    def matrix(columns: int) -> T:
        if kind != "float":
            scale = float(rng.uniform(0.004, 0.01))
            return integers(rng, units, columns, scale=scale, unsigned=kind == "bytes")
        return const(floats(rng, units, columns))

    def peep() -> T:
        if kind == "int8":
            return const(rng.integers(-9999, 9999, units).astype(np.int16), scale=2.0**-15)
        if kind == "float":
            return const(floats(rng, units))
        return integers(rng, units, unsigned=kind == "bytes")

    def bias() -> T:
        if kind == "int8":
            return const(rng.integers(-3000, 3000, units).astype(np.int32), scale=1.0)
        return const(floats(rng, units))

    gates = range(1, 4) if coupled else range(4)

    def per_gate(make: Any, given: Sequence[int] = range(4)) -> list[T | None]:
        return [make() if k in gates and k in given else None for k in range(4)]

    recurrent = (lambda: const(floats(rng, units))) if diagonal else lambda: matrix(outputs)
    peeps = per_gate(peep, (0, 1, 3)) if peephole else [None] * 4
    return [
        *per_gate(lambda: matrix(inputs)),
        *per_gate(recurrent),
        *(peeps[k] for k in (0, 1, 3)),
        *per_gate(bias),
    ]


def projection(
    rng: np.random.Generator, kind: str, sizes: tuple[int, int, int], bias: bool
) -> list[T | None]:
    _, units, outputs = sizes
    if kind == "float":
        w = const(floats(rng, outputs, units))
    else:
        w = integers(rng, outputs, units, unsigned=kind == "bytes")
    if not bias:
        return [w, None]
    if kind == "int8":
        return [w, const(rng.integers(-2000, 2000, outputs).astype(np.int32), scale=1.0)]
    return [w, const(floats(rng, outputs))]


def norms(rng: np.random.Generator, kind: str, units: int, coupled: bool) -> list[T | None]:
    """Layer normalization coefficients of the gates."""

    def one() -> T:
        if kind == "int8":
            return const(rng.integers(8000, 30000, units).astype(np.int16), scale=2.0**-15)
        return const(floats(rng, units) + 1)

    return [None if coupled and k == 0 else one() for k in range(4)]


def lstm_states(kind: str, batch: int, sizes: tuple[int, int, int], zero: int = 0) -> list[T]:
    """The output state and the cell state."""
    _, units, outputs = sizes
    if kind != "int8":
        return [state(batch, outputs), state(batch, units)]
    return [
        T(kind="INT8", shape=(batch, outputs), variable=True, scale=STATE, zero=zero),
        T(kind="INT16", shape=(batch, units), variable=True, scale=CELL),
    ]


TANH = {"fused_activation_function": "TANH"}


def lstm_case(
    rng: np.random.Generator,
    kind: str,
    x: Array,
    sizes: tuple[int, int, int],
    *,
    op: str = "UNIDIRECTIONAL_SEQUENCE_LSTM",
    project: bool = False,
    bias: bool = False,
    norm: bool = False,
    zero: int = 0,
    options: dict[str, Any] | None = None,
    steps: int = 1,
    **cell: bool,
) -> Case:
    """An operator with 24 inputs; x: what is fed first."""
    integer = kind == "int8"
    given = {**TANH, **(options or {})}
    batch = x.shape[1 if given.get("time_major") else 0]
    first = T(x, scale=0.02, zero=-5) if integer else T(x)
    tail = projection(rng, kind, sizes, bias) if project else [None, None]
    kept = lstm_states(kind, batch, sizes, zero)
    coefficients = norms(rng, kind, sizes[1], cell.get("coupled", False)) if norm else [None] * 4
    out = (
        T(kind="INT8", shape=(), scale=STATE, zero=zero) if integer else T(kind="FLOAT32", shape=())
    )
    inner: list[T] = []
    if integer:
        sums = [T(kind="INT16", shape=(0,), scale=2.0**-12) for _ in range(4)]
        scale, point = (1 / 120, 2) if project else (STATE, zero)
        inner = [*sums, T(kind="INT8", shape=(0,), scale=scale, zero=point)]
    return Case(
        op,
        [first, *lstm_cell(rng, kind, sizes, **cell), *tail, *kept, *coefficients],
        [out],
        options=given,
        version=3 if integer else 1,
        intermediates=inner,
        atol=2e-6,
        rtol=1e-5,
        steps=steps,
    )


def lstm_feeds(
    rng: np.random.Generator, kind: str, shape: tuple[int, ...], calls: int = 3
) -> list[Any]:
    if kind == "int8":
        return [[rng.integers(-128, 128, shape).astype(np.int8)] for _ in range(calls)]
    return [[floats(rng, *shape, scale=1.0)] for _ in range(calls)]


def lstm_checked(
    kind: str, shape: tuple[int, ...], sizes: tuple[int, int, int], **more: Any
) -> Program:
    rng = np.random.default_rng(len(more) + sum(shape))
    feeds = lstm_feeds(rng, kind, shape)
    return check_calls(lstm_case(rng, kind, feeds[0][0], sizes, **more), feeds)
