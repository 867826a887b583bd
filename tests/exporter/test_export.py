# SPDX-License-Identifier: Apache-2.0
"""`export`: options, report, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, normal, program

import samara
from samara.exporter.export import export, is_growing, merge, with_bounds, with_layout
from samara.exporter.ir import (
    Builder,
    Program,
    ProgramBuilder,
    Value,
    Variable,
    open_program,
    read_file,
)
from samara.exporter.types import TensorType
from samara.pybridge.memory_use import CountedModel


def small() -> Program:
    return program(lambda b: b.op("relu", conv(b, b.input("x", "f32", ["n", 4, 4, 2]), 3)))


def test_the_report_says_what_happened(tmp_path: Path) -> None:
    report = export(small(), tmp_path / "m.samara")
    assert (report.nodes_before, report.nodes_after) == (2, 1)
    assert report.operators == {"conv": 1}
    assert report.size_bytes == (tmp_path / "m.samara").stat().st_size
    assert report.growing == ()
    assert "2 nodes became 1" in str(report)
    x = normal(2, 4, 4, 2)
    want = small().run({"x": x})["out0"]
    np.testing.assert_allclose(
        open_program(tmp_path / "m.samara").run({"x": x})["out0"], want, atol=1e-5
    )


def test_unoptimized_keeps_every_node(tmp_path: Path) -> None:
    assert export(small(), tmp_path / "m.samara", optimize=False).nodes_after == 2


def test_golden_labels_and_layout(tmp_path: Path) -> None:
    p = program(lambda b: b.op("relu", b.input("x", "f32", [1, 2, 4, 5])))
    np.savez(tmp_path / "g.npz", x=normal(1, 4, 5, 2))
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    path = tmp_path / "m.samara"
    export(
        p,
        path,
        layout={"x": "NHWC", "out0": "nhwc"},
        golden=tmp_path / "g.npz",
        labels=tmp_path / "labels.txt",
    )
    model = samara.Model(path)
    assert model.function(None).inputs[0].shape == (1, 4, 5, 2)
    assert model.function(None).outputs[0].shape == (1, 4, 5, 2)
    assert json.loads(model.metadata["labels"]) == ["cat", "dog"]
    assert len(read_file(path).golden) == 1
    model.selftest()


def test_layout_that_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(samara.ShapeError, match="no input or output 'y'"):
        with_layout(small(), "y", "NHWC")
    with pytest.raises(samara.ShapeError, match="does not fit"):
        with_layout(small(), "x", "NWC")


def _range() -> Program:
    def build(b: Builder) -> Value:
        n = b.op("add", b.input("n", "i64", []), 0)
        zero, one = b.const(np.int64(0)), b.const(np.int64(1))
        value: Value = b.op("range", zero, b.op("mul", n, n), one)
        return value

    return program(build)


def test_bounds_end_growing(tmp_path: Path) -> None:
    p = _range()
    assert is_growing(p, "main")
    name = p.main.outputs[0].name
    bounded = with_bounds(p, {name: 100})
    assert not is_growing(bounded, "main")
    assert export(p, tmp_path / "m.samara", check=False).growing == ("main",)
    assert export(p, tmp_path / "b.samara", check=False, bounds={name: 100}).growing == ()
    assert samara.Model(tmp_path / "m.samara").function(None).growing
    assert not samara.Model(tmp_path / "b.samara").function(None).growing
    session = samara.Session(tmp_path / "b.samara")
    assert session.run({"n": np.int64(9)})[session.outputs[0].name].size == 81
    with pytest.raises(samara.LimitError):
        session.run({"n": np.int64(11)})


def test_a_bound_of_an_input_dim_plans_ahead(tmp_path: Path) -> None:
    p = program(lambda b: b.op("exp", b.op("sin", b.input("x", "f32", ["n", 4]))))
    report = export(p, tmp_path / "m.samara", bounds={"n": 50})
    assert report.program.main.inputs[0].type.shape[0].bounds() == (0, 50)
    assert report.program.main.nodes[0].outputs[0].type.shape[0].bounds() == (0, 50)
    assert report.memory[0].arena == 832  # 50 x 4 float32, in place
    session = samara.Session(tmp_path / "m.samara", threads=1)
    assert session.arena_bytes == 832 + 832
    session.resize({"x": (7, 4)})
    assert session.arena_bytes == 832 + 832
    with pytest.raises(samara.ShapeError):
        with_bounds(p, {"m": 3})


def test_the_report_has_the_memory_contract(tmp_path: Path) -> None:
    p = program(lambda b: b.op("exp", b.input("x", "f32", [4])))
    report = export(p, tmp_path / "m.samara")
    assert report.memory
    assert report.unmeasured == {}
    assert read_file(tmp_path / "m.samara").memory == report.memory
    assert report.to_json()["memory"][0]["arena"] == report.memory[0].arena


def test_what_cannot_be_measured_here_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise samara.UnsupportedError("no such operator")

    monkeypatch.setattr(CountedModel, "session", refuse)
    p = program(lambda b: b.op("exp", b.input("x", "f32", [4])))
    report = export(p, tmp_path / "m.samara")
    assert report.memory == ()
    assert report.unmeasured == {"main": "no such operator"}
    assert "memory of 'main' could not be measured here: no such operator" in str(report)


def test_an_unknown_bound_is_named() -> None:
    with pytest.raises(samara.ShapeError, match="no symbolic dim 'm'") as error:
        with_bounds(small(), {"m": 3})
    assert "n" in str(error.value.fix)


def test_several_programs_become_functions(tmp_path: Path) -> None:
    both = {"double": program(lambda b: b.op("mul", b.input("x", "f32", [3]), 2.0)),
            "negate": program(lambda b: b.op("neg", b.input("x", "f32", [3])))}  # fmt: skip
    export(both, tmp_path / "m.samara")
    model = samara.Model(tmp_path / "m.samara")
    assert list(model.functions) == ["double", "negate"]
    x = normal(3)
    for name, want in (("double", 2 * x), ("negate", -x)):
        np.testing.assert_array_equal(samara.Session(model, function=name)(x), want)


def _with_state(initial: float) -> Program:
    from dataclasses import replace

    maker = ProgramBuilder()
    b = maker.function("main")
    f = b.finish([b.op("add", b.input("s", "f32", [1]), 1.0)], ["next"])
    maker.functions["main"] = replace(f, reads={"s": "s"}, writes={0: "s"})
    variable = Variable("s", TensorType.of("f32", [1]), np.full(1, initial, np.float32))
    return maker.finish(["main"], [variable])


def test_variables_of_equal_name_are_one() -> None:
    assert len(merge({"a": _with_state(0), "b": _with_state(0)}).variables) == 1
    with pytest.raises(samara.ShapeError, match="variable 's' differs"):
        merge({"a": _with_state(0), "b": _with_state(1)})


def test_target_runtime(tmp_path: Path) -> None:
    export(small(), tmp_path / "m.samara", target_runtime="0.1")
    with pytest.raises(samara.UnsupportedError, match=r"runtime 0\.0 cannot run this program"):
        export(small(), tmp_path / "n.samara", target_runtime="0.0")
    with pytest.raises(samara.UnsupportedError, match="not a version"):
        export(small(), tmp_path / "n.samara", target_runtime="new")
    assert not (tmp_path / "n.samara").exists()


def test_target_runtime_knows_dtypes(tmp_path: Path) -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    b.finish([b.op("reshape", b.input("x", "bf16", (2, 3)), shape=(3, 2))], ["y"])
    program = pb.finish(["main"])
    with pytest.raises(samara.UnsupportedError, match=r"bfloat16 needs 0\.3\.0"):
        export(program, tmp_path / "m.samara", target_runtime="0.2.0")
    export(program, tmp_path / "m.samara", target_runtime="0.3.0")
    assert read_file(tmp_path / "m.samara").min_runtime == (0, 3, 0)
    export(small(), tmp_path / "m.samara")
    assert read_file(tmp_path / "m.samara").min_runtime == (0, 1, 0)


def test_layouts_of_another_machine_are_not_made_here(tmp_path: Path) -> None:
    with pytest.raises(samara.UnsupportedError, match="this machine does not run"):
        export(small(), tmp_path / "m.samara", prepack=["scalar", "tenstorrent"])
    assert not list(tmp_path.iterdir())


def test_a_failed_export_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    path.write_bytes(b"before")
    with pytest.raises(samara.SamaraError):
        export(small(), path, disable=["no such pass"])
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["m.samara"]
