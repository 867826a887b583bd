# SPDX-License-Identifier: Apache-2.0
"""Parts of a program that a pass changed."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program

from samara.exporter.ir import Builder, Program, Rewriter, Value
from samara.exporter.passes import PIPELINE, Pass, run_passes
from samara.exporter.passes import _work as work_module
from samara.exporter.passes._parts import changed_parts, cut_out, smaller
from samara.exporter.types import SamaraError

LAYERS = 100


def _chain(b: Builder) -> Value:
    x = b.input("x", "f32", ["n", 64])
    for i in range(LAYERS):
        x = b.op("matmul", x, b.const(normal(64, 64, seed=i)), name=f"product{i}")
        x = b.op("relu", x, name=f"relu{i}")
    return x


def _scaled(name: str, factor: float) -> Pass:
    """A pass that multiplies the input of a node by a factor: wrong unless it is 1."""

    def run(before: Program) -> Program:
        r = Rewriter(before.main, before)
        (node,) = [n for n in r.nodes() if n.name == name]
        r.replace_node(
            node,
            node.op,
            r.op("mul", node.inputs[0], r.const(np.float32(factor))),
            *node.inputs[1:],
        )
        return before.with_function(r.finish())

    return Pass("scaled", "multiply an input", run)


def test_parts_are_the_nodes_that_differ() -> None:
    net = program(_chain)
    assert changed_parts(net, net, "main") == []
    other = _scaled("product3", 1.0).run(net)
    tensors = {n.name: n.outputs[0].name for n in net.main.nodes}
    ((output, inputs),) = changed_parts(net, other, "main")
    assert (output, inputs) == (tensors["product3"], [tensors["relu2"]])
    pair = cut_out(net, other, "main", output, inputs)
    assert pair is not None
    assert [[n.op.name for n in p.main.nodes] for p in pair] == [["matmul"], ["mul", "matmul"]]


def test_a_constant_that_changed_is_a_change() -> None:
    net = program(_chain)
    node = net.main.nodes[4]
    weights = node.inputs[1]
    assert weights is not None
    assert weights.constant is not None
    nodes = list(net.main.nodes)
    for constant, count in ((weights.constant.copy(), 0), (weights.constant + 1, 1)):
        value = Value(weights.name, weights.type, constant)
        nodes[4] = replace(node, inputs=(node.inputs[0], value))
        other = net.with_function(replace(net.main, nodes=tuple(nodes)))
        assert len(changed_parts(net, other, "main")) == count


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that does not allow one run of the chain, but its parts."""
    monkeypatch.setattr(work_module, "LEAST", 150 * work_module._CALL)
    monkeypatch.setattr(work_module, "_NODE", 0.0)
    monkeypatch.setattr(work_module, "PER_NODE", 0.0)
    monkeypatch.setattr(work_module, "PER_BYTE", 0.0)


@pytest.mark.usefixtures("tiny")
def test_a_net_too_large_for_a_run_is_checked_by_parts() -> None:
    net = program(_chain)
    with pytest.raises(SamaraError, match=r"pass 'scaled' changed the answer: tensor '.*' differs"):
        run_passes(net, [_scaled("product5", 1.01)], check="strict")
    _, report = run_passes(net, [_scaled("product5", 1.0)], check=True)
    (row,) = report.rows
    assert (row.changed, row.scope, row.failed) == (True, "1 of 1 parts", "")
    assert "parts of scaled (1 of 1); largest change 0 of" in report.checked


@pytest.mark.usefixtures("tiny")
def test_the_passes_of_export_are_right_by_parts() -> None:
    _, report = run_passes(program(_chain), PIPELINE, check=True)
    (row,) = [r for r in report.rows if r.changed]
    assert row.name == "fuse_activation"
    assert row.difference is not None
    done, total = (int(n) for n in row.scope.removesuffix(" parts").split(" of "))
    assert 1 <= done < total == LAYERS
    assert all(a.nodes_after == b.nodes_before for a, b in pairwise(report.rows))


def test_nothing_is_said_to_be_checked_if_no_part_was(
    tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_module, "LEAST", work_module._CALL)
    _, report = run_passes(program(_chain), [_scaled("product5", 1.01)], check=True)
    (row,) = report.rows
    assert (row.difference, row.scope) == (None, "0 of 1 parts")
    assert report.checked == "checked on sample inputs: parts of scaled (0 of 1)"


def _picture(side: int, flatten: bool) -> Program:
    def build(b: Builder) -> Value:
        x: Value = b.input("x", "f32", [1, side, side, 3])
        x = b.op(
            "conv",
            x,
            b.const(normal(4, 3, 3, 3)),
            pads=[1, 1, 1, 1],
            strides=[2, 2],
            dilations=[1, 1],
        )
        x = b.op("relu", x)
        if flatten:
            x = b.op("reshape", x, shape=[1, side * side])
        return x

    return program(build)


def test_a_picture_becomes_smaller_unless_the_net_was_made_for_its_size() -> None:
    net = _picture(200, flatten=False)
    pair = smaller(net, net)
    assert pair is not None
    assert [str(v.type) for v in pair[0].main.inputs] == ["f32[1, 24, 24, 3]"]
    assert [str(v.type) for v in pair[0].main.outputs] == ["f32[1, 12, 12, 4]"]
    fixed = _picture(200, flatten=True)
    assert smaller(fixed, fixed) is None
    assert smaller(net, fixed) is None


@pytest.mark.usefixtures("tiny")
def test_a_large_net_is_checked_on_smaller_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    net = _picture(1024, flatten=False)
    monkeypatch.setattr(work_module, "LEAST", 2e-3)
    node = net.main.nodes[-1].name
    _, report = run_passes(net, [_scaled(node, 1.0)], check=True)
    assert report.checked == (
        "checked on sample inputs: 1 on smaller inputs than the program's; largest change 0 of the tolerance"
    )
    with pytest.raises(SamaraError, match="pass 'scaled' changed the answer: tensor"):
        run_passes(net, [_scaled(node, 1.1)], check="strict")
