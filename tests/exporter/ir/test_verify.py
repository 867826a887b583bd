# SPDX-License-Identifier: Apache-2.0
"""Every rule of the IR can fail, and its error names the place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import (
    Function,
    Node,
    Program,
    ProgramBuilder,
    Value,
    Variable,
    verify,
    verify_function,
)
from samara.exporter.ir.infer import calls_as_noted, signature_of
from samara.exporter.ops import Guard, get_op
from samara.exporter.types import Born, Dim, ModelFormatError, Read, TensorType, sym


def _program() -> Program:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", 3])
    y = b.op("mul", x, b.const(np.float32(2), "two"), name="double")
    z = b.op("softmax", y, name="soft")
    b.finish([z], ["out"])
    return pb.finish(["main"])


Change = Callable[[Function], Function]


def _node(f: Function, i: int, **changes: Any) -> Function:
    nodes = list(f.nodes)
    nodes[i] = replace(nodes[i], **changes)
    return replace(f, nodes=tuple(nodes))


def _typed(f: Function, i: int, *shape: Any) -> Function:
    """Change the type of node i's output in all its uses."""
    old = f.nodes[i].outputs[0]
    new = replace(old, type=TensorType.of("f32", shape))
    nodes = [
        replace(
            n,
            inputs=tuple(new if v is old else v for v in n.inputs),
            outputs=tuple(new if v is old else v for v in n.outputs),
        )
        for n in f.nodes
    ]
    return replace(f, nodes=tuple(nodes), outputs=tuple(new if v is old else v for v in f.outputs))


N = sym("n")
FAULTS: list[tuple[str, Change, str]] = [
    ("order", lambda f: replace(f, nodes=f.nodes[::-1]), "'double' is used before it is made"),
    ("lost", lambda f: replace(f, nodes=f.nodes[:1]), "'soft' is used before it is made"),
    (
        "name",
        lambda f: _node(f, 1, outputs=(replace(f.nodes[1].outputs[0], name="double"),)),
        "two tensors are called 'double'",
    ),
    ("type", lambda f: _typed(f, 0, N, 4), "rule says"),
    ("symbol", lambda f: _typed(f, 1, sym("q"), 3), "rule says"),
    ("attribute", lambda f: _node(f, 1, attrs={}), "attributes"),
    ("value", lambda f: _node(f, 1, attrs={"axis": 1.5}), "attribute 'axis'"),
    ("few", lambda f: _node(f, 0, inputs=f.nodes[0].inputs[:1]), "1 inputs, expected 2"),
    ("absent", lambda f: _node(f, 1, inputs=(None,)), "input 0 .x. is absent"),
    ("axis", lambda f: _node(f, 1, attrs={"axis": 5}), "axis 5"),
    (
        "guard",
        lambda f: replace(f, guards=(Guard("eq", sym("q"), N, "g"),)),
        "guard 'g' uses the symbol q",
    ),
    (
        "relation",
        lambda f: replace(f, guards=(Guard("ge", N, N, "g"),)),  # type: ignore[arg-type]
        "unknown relation",
    ),
    (
        "read",
        lambda f: replace(f, guards=(Guard("eq", Dim.atom(Read("no", 0)), N, "g"),)),
        "reads 'no' before it is made",
    ),
    (
        "dtype of a read",
        lambda f: replace(f, guards=(Guard("eq", Dim.atom(Read("soft", 0)), N, "g"),)),
        "mistakes the dtype",
    ),
    (
        "born",
        lambda f: replace(f, guards=(Guard("eq", Dim.atom(Born("no", 0, 0)), N, "g"),)),
        "before the node that makes it",
    ),
    (
        "born axis",
        lambda f: replace(f, guards=(Guard("eq", Dim.atom(Born("soft", 0, 2)), N, "g"),)),
        "does not exist",
    ),
    ("names", lambda f: replace(f, output_names=("a", "b")), "2 output names for 1 outputs"),
    ("variable", lambda f: replace(f, reads={"x": "v"}), "no variable 'v'"),
    ("bound input", lambda f: replace(f, reads={"q": "v"}), "bound to no input"),
    ("bound output", lambda f: replace(f, writes={3: "v"}), "bound to output 3"),
]


@pytest.mark.parametrize(("change", "text"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_faults_are_found(change: Change, text: str) -> None:
    program = _program()
    verify(program)
    with pytest.raises(ModelFormatError, match=text) as caught:
        verify(program.with_function(change(program.main)))
    assert "in function 'main'" in caught.value.message


def test_the_node_is_named() -> None:
    program = _program()
    with pytest.raises(ModelFormatError) as caught:
        verify(program.with_function(_node(program.main, 1, attrs={"axis": 5})))
    assert (caught.value.op, caught.value.node) == ("softmax", "soft")


def test_entries_exist() -> None:
    program = _program()
    with pytest.raises(ModelFormatError, match="no entry function"):
        verify(replace(program, entries=()))
    with pytest.raises(ModelFormatError, match="entry 'x' is no function"):
        verify(replace(program, entries=("x",)))
    with pytest.raises(ModelFormatError, match="filed under 'other'"):
        verify(replace(program, functions={"main": program.main, "other": program.main}))


def test_constants_hold_what_their_type_says() -> None:
    x = Value("x", TensorType.of("f32", [2]))
    bad = Value("c", TensorType.of("f32", [2]), np.zeros(3, np.float32))
    y = Value("y", TensorType.of("f32", [2]))
    node = Node(get_op("add"), (x, bad), (y,), {}, "n")
    program = Program({"f": Function("f", (x,), (y,), (node,))}, ("f",))
    with pytest.raises(ModelFormatError, match=r"constant 'c' holds shape \[3\]"):
        verify(program)


def test_inputs_of_entries_are_plain() -> None:
    x = Value("x", TensorType.of("f32", [N, N * 2]))
    program = Program({"f": Function("f", (x,), (x,), ())}, ("f",))
    with pytest.raises(ModelFormatError, match=r"has the dim 2\*n"):
        verify(program)
    body = replace(program, entries=("g",), functions={**program.functions})
    y = Value("y", TensorType.of("f32", [1]))
    body = replace(body, functions={**body.functions, "g": Function("g", (y,), (y,), ())})
    verify(body)


def test_variables_fit_their_bindings() -> None:
    program = _program()
    x = program.main.inputs[0]
    variable = Variable("v", TensorType.of("f32", [2, 4]), np.zeros((2, 4), np.float32))
    bound = replace(
        program.with_function(replace(program.main, reads={x.name: "v"})), variables=(variable,)
    )
    with pytest.raises(ModelFormatError, match=r"variable 'v' is f32\[2, 4\]"):
        verify(bound)
    with pytest.raises(ModelFormatError, match="two variables"):
        verify(replace(bound, variables=(variable, variable)))


def _calls(depth: int, last: str) -> Program:
    x_type = TensorType.of("f32", [1])
    functions = {}
    for i in range(depth + 1):
        x, y = Value("x", x_type), Value("y", x_type)
        callee = f"f{i + 1}" if i < depth else last
        if callee:
            node = Node(get_op("call"), (x,), (y,), {"body": callee}, "c")
        else:
            node = Node(get_op("neg"), (x,), (y,), {}, "c")
        functions[f"f{i}"] = Function(f"f{i}", (x,), (y,), (node,))
    return Program(functions, ("f0",))


def test_the_call_graph() -> None:
    verify(_calls(32, ""))
    with pytest.raises(ModelFormatError, match="deeper than 32"):
        verify(_calls(33, ""))
    with pytest.raises(ModelFormatError, match="calls itself"):
        verify(_calls(3, "f1"))
    with pytest.raises(ModelFormatError, match="there is no function 'gone'"):
        verify(_calls(1, "gone"))


def test_one_function_alone() -> None:
    program = _program()
    verify_function(program, program.main)


def test_calls_are_checked_against_the_functions_of_today() -> None:
    """A node that was right in one program is not so in another whose function gives another type. Functions of
    the same types are known.
    """
    pb = ProgramBuilder()
    inner = pb.function("inner")
    a = inner.input("a", "f32", [3])
    inner.finish([inner.op("relu", a)], ["out"])
    b = pb.function("main")
    (y,) = b.op("call", b.input("x", "f32", [3]), body="inner")
    b.finish([y], ["y"])
    program = pb.finish(["main"])
    assert not calls_as_noted(program.main.nodes[0], signature_of(program.functions))
    verify(program)
    assert calls_as_noted(program.main.nodes[0], signature_of(program.functions))
    other = ProgramBuilder().function("inner")
    changed = other.finish(
        [other.op("reshape", other.input("a", "f32", [3]), shape=(1, 3))], ["out"]
    )
    another = program.with_function(changed)
    assert not calls_as_noted(program.main.nodes[0], signature_of(another.functions))
    with pytest.raises(ModelFormatError, match="call"):
        verify(another)
