# SPDX-License-Identifier: Apache-2.0
"""Deriving types again after a change of inputs."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.ir import Function, Program, ProgramBuilder, re_infer, signature_of, verify
from samara.exporter.ir.infer import Substitution, function_atoms, open_guards
from samara.exporter.ops import Guard
from samara.exporter.types import Born, Dim, Read, ShapeError, Sym, TensorType, sym


def _program() -> Program:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", "h", 4])
    k = b.input("k", "i64", [1])
    h = x.type.shape[1]
    y = b.op("reshape", x, shape=(x.type.shape[0], h * 4), name="flat")
    y = b.op("slice", y, begin=(0, 0), end=(x.type.shape[0], b.read(k, 0, bound=4)), step=(1, 1))
    b.finish([y], ["out"])
    return pb.finish(["main"])


def _again(program: Program, function: Function) -> Program:
    done = program.with_function(function)
    verify(done)
    return done


def test_symbols_become_numbers_everywhere() -> None:
    program = _program()
    signature = signature_of(program.functions)
    f = re_infer(program.main, signature, {"x": TensorType.of("f32", [2, 3, 4])})
    done = _again(program, f)
    assert f.nodes[0].outputs[0].type.static_shape() == (2, 12)
    x = np.ones((2, 3, 4), np.float32)
    assert done.run({"x": x, "k": np.array([3])})["out"].shape == (2, 3)


def test_an_input_becomes_a_constant() -> None:
    program = _program()
    f = re_infer(program.main, None, constants={"k": np.array([2])})
    done = _again(program, f)
    assert [v.name for v in f.inputs] == ["x"]
    assert f.outputs[0].type.shape[1] == 2
    assert not function_atoms(f)
    assert done.run({"x": np.ones((1, 1, 4), np.float32)})["out"].shape == (1, 2)


def test_what_cannot_be_is_refused() -> None:
    f = _program().main
    with pytest.raises(ShapeError, match="no input 'y'"):
        re_infer(f, None, {"y": TensorType.of("f32", [1])})
    with pytest.raises(ShapeError, match="cannot be"):
        re_infer(f, None, {"x": TensorType.of("f32", [2, 3, 5])})
    with pytest.raises(ShapeError, match="cannot change"):
        re_infer(f, None, {"x": TensorType.of("f32", [2, 3])})


def test_one_symbol_cannot_be_two_numbers() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", "n"])
    b.finish([b.op("neg", x)])
    f = pb.finish(["main"]).main
    with pytest.raises(ShapeError, match="cannot be both 2 and 3"):
        re_infer(f, None, {"x": TensorType.of("f32", [2, 3])})


def test_born_dims_that_become_known() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    flag = b.input("flag", "bool", [])
    x = b.input("x", "f32", ["n"])
    y = b.input("y", "f32", ["m"])
    then, orelse = b.child("then"), b.child("else")
    a, c = then.op("neg", x), orelse.op("abs", y)
    (z,) = b.if_(flag, (then, [a]), (orelse, [c]))
    b.finish([b.op("exp", z)], ["out"])
    program = pb.finish(["main"])
    (atom,) = z.type.shape[0].atoms()
    assert isinstance(atom, Born)
    types = {"x": TensorType.of("f32", [3]), "y": TensorType.of("f32", [3])}
    f = re_infer(program.main, signature_of(program.functions), types)
    _again(program, f)
    assert f.outputs[0].type.static_shape() == (3,)


def test_guards_that_are_proven_go() -> None:
    n = sym("n")
    proven = Guard("le", Dim.const(0), n, "")
    unknown = Guard("lt", n, Dim.const(7), "small")
    assert open_guards([proven, unknown, unknown]) == (unknown,)
    with pytest.raises(ShapeError, match="never"):
        open_guards([Guard("eq", n, n + 1, "never")])
    with pytest.raises(ShapeError, match="less"):
        open_guards([Guard("lt", n, n, "less")])


def test_substitutions_compose() -> None:
    table = Substitution()
    table.add(Read("a", 0), Dim.atom(Read("b", 0)) + 1)
    table.add(Read("b", 0), 4)
    assert table.dim(Dim.atom(Read("a", 0)) * 2) == 10
    n = sym("n")
    table.add(Sym("n"), n)  # itself: nothing to do
    t = TensorType.of("f32", [n, 2])
    assert table.type(t) is t
