# SPDX-License-Identifier: Apache-2.0
"""Traced tensors and the tracer: nodes, values, source lines, refusals."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend.graph import GraphTensor, Tracer, placed, symbolic, user_frame
from samara.exporter.frontend.tape import tracing
from samara.exporter.types import Dim, sym


@pytest.fixture
def tracer() -> Any:
    with Tracer("main", {}) as made:
        yield made


def test_a_tracer_is_current_inside_its_block() -> None:
    assert tracing() is None
    with Tracer("outer", {}) as outer:
        assert tracing() is outer
        with Tracer("inner", {}) as inner:
            assert tracing() is inner
        assert tracing() is outer
    assert tracing() is None


def test_operators_become_nodes_with_their_place(tracer: Tracer) -> None:
    x = tracer.input("x", np.ones((2, 3), np.float32), {0: "n"})
    batch: Any = x.shape[0]
    assert isinstance(batch, Dim)
    assert x.shape[1] == 3
    assert x.dtype == np.float32
    assert (x.ndim, x.is_leaf, x.requires_grad) == (2, False, False)
    y = x + 1.0
    line = user_frame()[1] - 1
    assert isinstance(y, GraphTensor)
    (node,) = tracer.root.nodes
    assert node.source is not None
    assert (node.op.name, node.source.file, node.source.line) == ("add", __file__, line)


def test_constants_and_variables() -> None:
    weight, bias = samara.ones(2), samara.zeros(2)
    with Tracer("main", {id(weight): weight}) as tracer:
        tracer.names = {id(weight): "weight"}
        assert tracer.lift(weight) is tracer.lift(weight)
        assert not tracer.lift(weight).is_constant
        assert tracer.lift(bias).is_constant
        assert [v.name for v in tracer.root.inputs] == ["weight"]
        assert weight.shape == (2,)
        known = tracer.known(bias)
        assert isinstance(known, GraphTensor)
        assert known.item is not None
    assert weight._data is not None


def test_a_constant_that_changes_is_another_constant(tracer: Tracer) -> None:
    table = samara.from_numpy(np.zeros(2, np.float32))
    first = tracer.lift(table)
    table._data[:] = 5
    table._version[0] += 1
    assert tracer.lift(table) is not first


def test_guards_show_the_line(tracer: Tracer) -> None:
    x = tracer.input("x", np.ones((2,), np.float32), {0: "n"})
    y = tracer.input("y", np.ones((2,), np.float32), {0: "m"})
    x.mul(y)
    line = user_frame()[1] - 1
    (guard,) = tracer.root.guards
    assert guard.message.startswith(f"{__file__}:{line}: ")


def test_errors_show_the_line(tracer: Tracer) -> None:
    x = tracer.input("x", np.ones((2, 3), np.float32), {})
    with pytest.raises(samara.ShapeError, match=__file__):
        x.matmul(x)


def test_frozen_values_warn(tracer: Tracer) -> None:
    x = tracer.input("x", np.array([3.0, 4.0], np.float32), {})
    with pytest.warns(samara.FrozenBranchWarning, match="a branch was decided"):
        assert x.sum() > 0
    with pytest.warns(samara.FrozenBranchWarning, match="a number was read"):
        assert x[1].item() == 4.0
    with pytest.warns(samara.FrozenBranchWarning, match="numbers were read"):
        assert (x * 2).tolist() == [6.0, 8.0]
    with pytest.warns(samara.FrozenBranchWarning, match="an index was read"):
        assert [5, 6, 7, 8][x[0].long()] == 8


def test_constants_are_read_without_a_warning(tracer: Tracer) -> None:
    assert tracer.known(samara.tensor(3)).item() == 3
    assert bool(tracer.known(samara.tensor(0.0))) is False


def test_what_traced_tensors_refuse(tracer: Tracer) -> None:
    x = tracer.input("x", np.ones(2, np.float32), {})
    with pytest.raises(samara.UnsupportedError, match="leave the Program"):
        x.numpy()
    with pytest.raises(samara.UnsupportedError, match="leave the Program"):
        np.asarray(x)
    with pytest.raises(samara.UnsupportedError, match="requires_grad"):
        x.requires_grad = True
    assert copy.deepcopy(x) is x
    assert "x" in repr(x)


def test_tensors_of_another_trace(tracer: Tracer) -> None:
    x = tracer.input("x", np.ones(2, np.float32), {})
    with Tracer("other", {}) as other, pytest.raises(samara.ScriptError, match="another trace"):
        other.lift(x)


def test_a_traced_tensor_after_the_trace() -> None:
    with Tracer("main", {}) as tracer:
        x = tracer.input("x", np.ones(2, np.float32), {})
    with pytest.raises(samara.ScriptError, match="has ended"):
        x.add(x)


def test_places_are_added_once() -> None:
    try:
        samara.ones(2).reshape(3)
    except samara.ShapeError as error:
        first = placed(error)
        assert str(first).startswith(f"{__file__}:")
        assert placed(first) is first
        assert isinstance(first, samara.ShapeError)
    else:
        pytest.fail("a wrong reshape passed")


def test_symbolic_sizes() -> None:
    assert symbolic([2, sym("n")])
    assert not symbolic([2, Dim.const(3)])
