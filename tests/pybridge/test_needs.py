# SPDX-License-Identifier: Apache-2.0
"""What a session's nodes need, as the bridge reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.ops import all_ops
from samara.pybridge import Session, UnsupportedError
from samara.pybridge.needs import NodeNeeds, backend_needs, session_needs


def test_a_row_per_node(tmp_path: Path) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op("exp", f.input("x", "f32", [4]), name="grow")], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    whole, nodes = session_needs(Session(tmp_path / "m.samara"))
    assert not whole
    f32, parts = frozenset({"float32"}), frozenset({"f32_vunary_exp"})
    assert nodes == [NodeNeeds("main", "grow", "exp", "prepared", f32, parts, elements=4)]
    # Neither does it depend on the instruction sets.
    assert session_needs(Session(tmp_path / "m.samara", isa="scalar")) == (whole, nodes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_function_needs_the_part_of_its_name(dtype: str, tmp_path: Path) -> None:
    """Kernels are counted through tables in the order of codes: none may be taken for its neighbour."""
    program = ProgramBuilder()
    f = program.function("main")
    x, results, wanted = f.input("x", dtype, [4]), [], {}
    for op in all_ops():
        plain = [one for one in op.formulas if not one.when and dtype in op.dtypes]
        if len(plain) == 1 and "training" not in op.flags:
            operands = [x] * plain[0].inputs
            results.append(f.op(op, *operands, name=op.name))
            wanted[op.name] = plain[0]
    assert {"neg", "log", "add", "prelu"} <= wanted.keys()
    f.finish(results, list(wanted))
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    _, nodes = session_needs(Session(tmp_path / "m.samara"))
    for node in nodes:
        formula = wanted[node.node]
        kind = {1: "vunary", 2: "vbinary"}[formula.inputs]
        listed = {p for p in node.parts if p.startswith((f"f32_{kind}_", f"{kind}_"))}
        own = f"f32_{kind}_{formula.name}" if dtype == "f32" else f"{kind}_{formula.name}"
        assert listed - {"f32_vbinary_broadcast"} in ({own}, set()), node
        assert listed or dtype == "f64", node


def test_parts_of_a_backend(tmp_path: Path) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op("exp", f.input("x", "f32", [4]), name="grow")], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    session = Session(tmp_path / "m.samara")
    kernels = {"cl_unary", "opencl.unary_exp_f32"}
    assert backend_needs(session, "opencl") == {"backends", "backend_opencl"} | kernels
    with pytest.raises(UnsupportedError, match="cuda"):
        backend_needs(session, "cuda")


def test_nodes_that_a_backend_joins(tmp_path: Path) -> None:
    """The text of joined nodes is written only where a model has such nodes."""
    for name, between in (("joined", "sigmoid"), ("alone", "reduce_sum")):
        program = ProgramBuilder()
        f = program.function("main")
        a = f.op("exp", f.input("x", "f32", [4]))
        b = f.op(between, a, axes=[0]) if between == "reduce_sum" else f.op(between, a)
        f.finish([f.op("neg", b)], ["y"])
        save_program(program.finish(["main"]), tmp_path / f"{name}.samara")
        needs = backend_needs(Session(tmp_path / f"{name}.samara"), "opencl")
        assert ("cl_fused" in needs) == (name == "joined")
