# SPDX-License-Identifier: Apache-2.0
"""What models need, told by preparing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import samara
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.measure.survey import Needs, needs_of, portable_parts, survey
from samara.pybridge.needs import NodeNeeds


def _needs(folder: Path, op: str, dtype: str, shape: Sequence[int | str]) -> Needs:
    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op(op, f.input("x", dtype, shape), name="y")], ["y"])
    path = folder / f"{op}-{dtype}.samara"
    save_program(program.finish(["main"]), path)
    return needs_of(path)


def _product(folder: Path, rows: int | str) -> frozenset[str]:
    program = ProgramBuilder()
    f = program.function("main")
    f.finish(
        [f.op("matmul", f.input("x", "f32", [rows, 32]), f.input("w", "f32", [32, 64]))], ["y"]
    )
    path = folder / f"product-{rows}.samara"
    save_program(program.finish(["main"]), path)
    return needs_of(path).selection.parts or frozenset()


def test_operators_types_and_parts(samara_path: Path) -> None:
    needs = needs_of(samara_path)
    assert needs.selection.ops["conv"] == frozenset({"float32"})
    assert not needs.unknown
    assert {node.state for node in needs.nodes} <= {"prepared", "view", "placed", "control"}
    assert needs.selection.parts == needs.model_parts.union(*(n.parts for n in needs.nodes))


def test_each_function_of_one_table_is_a_part(tmp_path: Path) -> None:
    exp, sin = (_needs(tmp_path, op, "f32", [8]).selection.parts for op in ("exp", "sin"))
    assert exp is not None
    assert sin is not None
    assert exp - sin == {"f32_vunary_exp"}
    assert sin - exp == {"f32_vunary_sin"}


def test_types_are_the_operators(tmp_path: Path) -> None:
    assert _needs(tmp_path, "exp", "f16", [8]).selection.ops == {"exp": frozenset({"float16"})}


def test_nodes_of_one_name_count_each(tmp_path: Path) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    y = f.op("exp", f.input("x", "f32", [8]), name="same")
    f.finish([y, f.op("exp", f.input("z", "f16", [8]), name="same")], ["y", "v"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    ops = needs_of(tmp_path / "m.samara").selection.ops
    assert ops == {"exp": frozenset({"float16", "float32"})}


def test_open_dims_need_what_any_size_could_choose(tmp_path: Path) -> None:
    one, many, any_size = (_product(tmp_path, rows) for rows in (1, 200, "n"))
    assert one != many
    assert any_size >= one | many


def test_variables_are_a_part_of_the_model(counter_path: Path) -> None:
    assert "variables" in needs_of(counter_path).model_parts


def test_a_survey_holds_all_its_models(samara_path: Path, counter_path: Path) -> None:
    both, (first, second) = survey([samara_path, counter_path])
    assert set(both.ops) == set(first.selection.ops) | set(second.selection.ops)
    assert not both.lacks(first.selection)
    assert not both.lacks(second.selection)
    assert first.selection.lacks(both)


def test_branches_that_no_run_takes(tmp_path: Path) -> None:
    """Their sizes come from the data, so that preparing waits for a run, which takes one of them."""
    program = ProgramBuilder()
    f = program.function("main")
    x, wanted = f.input("x", "f32", ["n", 8]), f.input("wanted", "bool", [])
    yes, no = f.child("yes"), f.child("no")
    y = f.if_(wanted, (yes, [yes.op("exp", x)]), (no, [no.op("sin", x)]))
    f.finish([*y], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    needs = needs_of(tmp_path / "m.samara")
    assert not needs.unknown
    assert needs.selection.parts is not None
    assert {"f32_vunary_exp", "f32_vunary_sin"} <= needs.selection.parts


def test_strict_sessions_need_what_they_choose(tmp_path: Path) -> None:
    """Not the transforms of a convolution, but what computes it without."""
    net = samara.nn.Conv2d(64, 64, 3, padding=1)
    path = tmp_path / "conv.samara"
    samara.export(samara.trace(net, (samara.zeros(1, 64, 32, 32),)), path)
    default, strict = (
        needs_of(path, accuracy=each).selection.parts or frozenset()
        for each in ("default", "strict")
    )
    assert "conv_winograd" in default
    assert "conv_winograd" not in strict
    selection, _ = survey([path], accuracy="strict")
    assert selection.parts == strict


def _node(part: str, elements: int = 0, work: int = 0, state: str = "prepared") -> NodeNeeds:
    return NodeNeeds("main", "n", "n", state, frozenset(), frozenset({part}), work, elements)


def test_portable_c_where_vectors_would_not_be_felt() -> None:
    product = _node("i8_gemm_to_i8", elements=4096, work=4_000_000)  # 20 us
    few, many = _node("q8_vbinary_add", elements=60), _node("vquant_quantize", elements=2000)
    assert portable_parts([product, few]) == {"q8_vbinary_add"}
    assert portable_parts([product, few, many]) == {"q8_vbinary_add"}
    assert portable_parts([product] * 20 + [few, many]) == {"q8_vbinary_add", "vquant_quantize"}
    # Many small ones are felt together, and without products nothing is known to be longer.
    assert not portable_parts([product] + [few] * 2)
    assert not portable_parts([few])
    # Functions run by themselves, and the bodies of loops any number of times.
    assert not portable_parts([product, few, replace(few, function="other")])
    assert not portable_parts([product, few, _node("symbolic", state="control")])


def test_kernels_of_a_backend(tmp_path: Path) -> None:
    _product(tmp_path, 8)
    path = tmp_path / "product-8.samara"
    alone, both = needs_of(path).selection.parts, needs_of(path, backend="opencl").selection.parts
    assert alone is not None
    kernels = {"cl_matmul", "opencl.matmul_plain_f32"}
    assert both == alone | {"backends", "backend_opencl"} | kernels
