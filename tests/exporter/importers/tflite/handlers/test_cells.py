# SPDX-License-Identifier: Apache-2.0
"""Weights, states and loops of recurrent operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Graph, Op, T, agree, built, const, ran, witness
from tests.exporter.importers.tflite.recurrent_models import (
    check_calls,
    floats,
    lstm_case,
    lstm_checked,
    lstm_feeds,
    operators,
    state,
)

from samara import import_tflite


@pytest.mark.parametrize("more", [{"peephole": True}, {"project": True, "peephole": True}])
def test_weights_of_type_uint8(more: dict[str, Any]) -> None:
    lstm_checked("bytes", (2, 3, 5), (5, 6, 4 if more.get("project") else 6), **more)


@pytest.mark.parametrize("kind", ["float", "hybrid", "int8"])
@pytest.mark.parametrize("clip", [0.0, 10.0])
def test_sequences_of_any_length(kind: str, clip: float) -> None:
    rng = np.random.default_rng(8)
    feeds = [feed for t in (2, 5, 1) for feed in lstm_feeds(rng, kind, (2, t, 5), 1)]
    case = lstm_case(rng, kind, feeds[0][0], (5, 6, 6), options={"cell_clip": clip})
    first = case.inputs[0]
    assert first is not None
    case = replace(case, inputs=[replace(first, signature=(2, -1, 5)), *case.inputs[1:]])
    for feed in feeds:  # LiteRT forgets its states when a size changes
        check_calls(case, [feed])


def test_a_single_step_needs_no_loop() -> None:
    for kind, more in (("float", {"options": {"cell_clip": 10.0}}), ("int8", {})):
        assert "loop" not in operators(lstm_checked(kind, (1, 1, 5), (5, 6, 6), **more))


def test_a_state_inside_of_a_loop() -> None:
    rng = np.random.default_rng(9)
    flag, count, x = (
        T(kind=k, shape=n) for k, n in (("BOOL", (1,)), ("INT32", (1,)), ("FLOAT32", (2, 5)))
    )
    cond = Graph(
        [count, x, const(np.array([3], np.int32)), flag], [Op("LESS", [0, 2], [3])], [0, 1], [3]
    )
    weights = [const(floats(rng, *n)) for n in ((5, 5), (5, 5), (5,))]
    one = const(np.array([1], np.int32))
    ops = [
        Op("ADD", [0, 2], [3]),
        Op("RNN", [1, 4, 5, 6, 7], [8], {"fused_activation_function": "TANH"}),
    ]
    body = Graph([count, x, one, count, *weights, state(2, 5), x], ops, [0, 1], [3, 8])
    loop = Op("WHILE", [1, 0], [2, 3], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    zero = const(np.array([0], np.int32))
    model = built(Graph([x, zero, count, x], [loop], [0], [2, 3]), cond, body)
    feeds = [floats(rng, 2, 5)]
    program = import_tflite(model)
    assert [v.name for v in program.variables] == ["t7.2"]
    agree(ran(program, feeds)[0], witness(model, feeds), atol=2e-6)
