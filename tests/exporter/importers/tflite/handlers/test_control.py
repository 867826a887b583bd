# SPDX-License-Identifier: Apache-2.0
"""IF, WHILE, CALL_ONCE and variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import (
    BUILTIN,
    Graph,
    Op,
    T,
    agree,
    built,
    const,
    interpreter,
    ran,
    step,
    witness,
)

from samara import import_tflite
from samara.exporter.types import ShapeError, UnsupportedError

X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
F = T(kind="FLOAT32", shape=(2, 3))
B = T(kind="BOOL", shape=())
HANDLE = T(kind="RESOURCE", shape=())


def _agrees(data: bytes, *calls: Any, names: Any) -> None:
    """Calls in one session give what LiteRT gives."""
    program = import_tflite(data)
    made = interpreter(data, BUILTIN)
    want = [step(made, feeds) for feeds in calls]
    for got, w in zip(ran(program, *calls), want, strict=True):
        agree(got, w)
    state: dict[str, Any] = {}
    for feeds, w in zip(calls, want, strict=True):
        answers = program.run(dict(zip(names, feeds, strict=True)), state=state)
        agree([answers[n] for n in program.main.output_names if n in answers][: len(w)], w)


def _branches(cond: T) -> bytes:
    main = Graph(
        [cond, T(X), F],
        [Op("IF", [0, 1], [2], {"then_subgraph_index": 1, "else_subgraph_index": 2})],
        [1] if cond.constant else [0, 1],
        [2],
    )
    then = Graph([T(X), F], [Op("ABS", [0], [1])], [0], [1], name="then")
    other = Graph([T(X), const(np.float32(3)), F], [Op("MUL", [0, 1], [2])], [0], [2], name="else")
    return built(main, then, other)


@pytest.mark.parametrize("truth", [True, False])
def test_if(truth: bool) -> None:
    data = _branches(T(np.array(truth), name="c"))
    feeds = [np.array(truth), X]
    program = import_tflite(data)
    agree(list(program.run({"c": feeds[0], "t1": X}).values()), witness(data, feeds, BUILTIN))
    agree(ran(program, feeds)[0], witness(data, feeds, BUILTIN))


def test_a_known_condition_takes_its_branch() -> None:
    program = import_tflite(_branches(const(np.array(True))))
    assert [n.op.name for n in program.main.nodes] == ["abs"]


def _loop(limit: int) -> bytes:
    """While i < limit: i += 1, x = x + 1."""
    main = Graph(
        [const(np.array([0], np.int32)), T(X), T(kind="INT32", shape=(1,)), F],
        [Op("WHILE", [0, 1], [2, 3], {"cond_subgraph_index": 1, "body_subgraph_index": 2})],
        [1],
        [2, 3],
    )
    i = T(np.array([0], np.int32))
    cond = Graph(
        [i, T(X), const(np.array([limit], np.int32)), T(kind="BOOL", shape=(1,))],
        [Op("LESS", [0, 2], [3])],
        [0, 1],
        [3],
        name="cond",
    )
    body = Graph(
        [
            i,
            T(X),
            const(np.array([1], np.int32)),
            const(np.float32(1)),
            T(kind="INT32", shape=(1,)),
            F,
        ],
        [Op("ADD", [0, 2], [4]), Op("ADD", [1, 3], [5])],
        [0, 1],
        [4, 5],
        name="body",
    )
    return built(main, cond, body)


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_while(limit: int) -> None:
    _agrees(_loop(limit), [X], names=["t1"])


def _counter() -> bytes:
    """v += x, from 10 on."""
    call = Op("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    handle = Op("VAR_HANDLE", [], [1], {"shared_name": "v"})
    main = Graph(
        [T(X), HANDLE, F, F],
        [
            call,
            handle,
            Op("READ_VARIABLE", [1], [2]),
            Op("ADD", [0, 2], [3]),
            Op("ASSIGN_VARIABLE", [1, 3], []),
        ],
        [0],
        [3],
    )
    init = Graph(
        [HANDLE, const(np.full((2, 3), 10, np.float32))],
        [Op("VAR_HANDLE", [], [0], {"shared_name": "v"}), Op("ASSIGN_VARIABLE", [0, 1], [])],
        [],
        [],
        name="init",
    )
    return built(main, init)


def test_variables_live_on() -> None:
    data = _counter()
    program = import_tflite(data)
    (variable,) = program.variables
    assert variable.name == "v"
    assert (variable.initial == 10).all()
    made = interpreter(data, BUILTIN)
    for got in ran(program, [X], [X * 2], [X]):
        feeds = X * 2 if np.allclose(got[0], 10 + X * 3) else X
        agree(got, step(made, [feeds]))


def test_a_branch_assigns_a_variable() -> None:
    handle = Op("VAR_HANDLE", [], [2], {"shared_name": "v"})
    main = Graph(
        [T(np.array(True), name="c"), T(X, name="x"), HANDLE, F],
        [
            Op("CALL_ONCE", [], [], {"init_subgraph_index": 3}),
            handle,
            Op("IF", [0, 1, 2], [3], {"then_subgraph_index": 1, "else_subgraph_index": 2}),
        ],
        [0, 1],
        [3],
    )
    then = Graph(
        [T(X), HANDLE, F, F],
        [Op("READ_VARIABLE", [1], [2]), Op("ADD", [0, 2], [3]), Op("ASSIGN_VARIABLE", [1, 3], [])],
        [0, 1],
        [3],
    )
    other = Graph([T(X), HANDLE, F], [Op("READ_VARIABLE", [1], [2])], [0, 1], [2])
    init = Graph(
        [HANDLE, const(np.ones((2, 3), np.float32))],
        [Op("VAR_HANDLE", [], [0], {"shared_name": "v"}), Op("ASSIGN_VARIABLE", [0, 1], [])],
        [],
        [],
    )
    program = import_tflite(built(main, then, other, init))
    yes, no = np.array(True), np.array(False)
    got = [next(iter(r)) for r in ran(program, [yes, X], [no, X], [yes, X])]
    for y, want in zip(got, (1 + X, 1 + X, 1 + 2 * X), strict=True):
        np.testing.assert_allclose(y, want, rtol=1e-6)


def test_what_is_wrong() -> None:
    with pytest.raises(ShapeError, match="there is no subgraph 7"):
        import_tflite(
            built(
                Graph(
                    [T(np.array(True)), T(X), F],
                    [Op("IF", [0, 1], [2], {"then_subgraph_index": 7})],
                    [0, 1],
                    [2],
                )
            )
        )
    with pytest.raises(UnsupportedError, match="'v' is read before"):
        import_tflite(
            built(
                Graph(
                    [HANDLE, F],
                    [
                        Op("VAR_HANDLE", [], [0], {"shared_name": "v"}),
                        Op("READ_VARIABLE", [0], [1]),
                    ],
                    [],
                    [1],
                )
            )
        )
    with pytest.raises(ShapeError, match="input 0 is no resource"):
        import_tflite(built(Graph([T(X), F], [Op("READ_VARIABLE", [0], [1])], [0], [1])))
