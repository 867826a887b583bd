# SPDX-License-Identifier: Apache-2.0
"""What a session's nodes need, as the bridge reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.exporter.ir import ProgramBuilder, save_program
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
