# SPDX-License-Identifier: Apache-2.0
"""Elements of run-time tensors found behind the nodes that put them together."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, check_native, ints, kinds, normal, parse

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import Program
from samara.exporter.types import Read, SamaraError


def result(program: Program) -> list[str]:
    return [str(d) for d in program.main.outputs[0].type.shape]


def test_parts_of_a_concat_are_known() -> None:
    model = parse("""g (float[1, 3] x, int64[1] n) => (float[a, b, c] y) {
        tail = Constant<value_ints = [2, 3]>()  shape = Concat<axis = 0>(n, tail)
        y = Expand(x, shape) }""")
    program = check_native(model, {"x": normal(1, 3), "n": ints(4)})
    assert result(program)[1:] == ["2", "3"]


def test_the_same_element_by_two_ways_is_one_size() -> None:
    """Without that the two shapes would be compared at run time only."""
    model = parse("""g (float[1] x, int64[2] s) => (float[a, b] y) {
        p, q = Split<num_outputs = 2>(s)  one = Constant<value_ints = [1]>()  two = Constant<value_ints = [2]>()
        r = Slice(s, one, two)  t = Concat<axis = 0>(p, r)  u = Concat<axis = 0>(p, q)
        a = Expand(x, t)  b = Expand(x, u)  y = Add(a, b) }""")
    program = check_native(model, {"x": normal(1), "s": ints(2, 3)})
    read = {a for d in program.main.outputs[0].type.shape for a in d.all_atoms()}
    assert {a for a in read if isinstance(a, Read)} == {Read("s", 0), Read("s", 1)}


def test_inside_a_branch() -> None:
    model = parse("""g (float[1, 3] x, int64[1] n, bool c) => (float[a, b, d] y) {
        tail = Constant<value_ints = [2, 3]>()  shape = Concat<axis = 0>(n, tail)
        y = If(c) <then_branch = t () => (float[a, b, d] p) { p = Expand(x, shape) },
                   else_branch = e () => (float[a, b, d] q) { r = Expand(x, shape)  q = Neg(r) }> }""")
    program = check_native(
        model, *({"x": normal(1, 3), "n": ints(4), "c": np.array(c)} for c in (True, False))
    )
    bodies = [f for name, f in program.functions.items() if name != "main"]
    assert all([str(d) for d in f.outputs[0].type.shape][1:] == ["2", "3"] for f in bodies)


def squeezed(shape: Array, size: str) -> tuple[list[str], Program]:
    model = parse(f"g (float[{size}] x) => (float[a] y) {{ y = Squeeze(x) }}")
    program = check_native(model, {"x": normal(*shape)})
    return result(program), program


def test_squeeze_of_sizes_that_are_known_at_run_time() -> None:
    """One that may be 1 stays, and must then be another size."""
    names, program = squeezed(ints(4, 1, 3), "n, 1, 3")
    assert names == ["n", "3"]
    assert kinds(program) == ["reshape"]
    with pytest.raises(SamaraError, match="must not be 1 at run time"):
        program.run({"x": normal(1, 1, 3)})
    assert squeezed(ints(4, 1, 3), "4, 1, 3")[0] == ["4", "3"]


def test_a_shape_that_no_part_gives_is_read() -> None:
    model = parse(
        "g (float[n] x, int64[2] s) => (float[a, b] y) { t = Neg(s)  u = Neg(t)  y = Reshape(x, u) }"
    )
    program = import_onnx(model)
    assert program.run({"x": normal(6), "s": ints(2, 3)})["y"].shape == (2, 3)
