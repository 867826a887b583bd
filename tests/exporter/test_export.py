# SPDX-License-Identifier: Apache-2.0
"""`export`: options, report, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.exporter.passes.programs import conv, normal, program
from tests.pages import EVIL, read

import samara
from samara.exporter.export import export
from samara.exporter.ir import (
    Program,
    ProgramBuilder,
    open_program,
    read_file,
)
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


def test_a_notebook_shows_the_report(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    report = export(small(), path)
    texts = read(report._repr_html_())
    assert texts[0] == f"Exported to {path}"
    assert texts[texts.index("nodes") + 1] == "2 → 1"
    assert "conv" in texts
    changed = [r.name for r in report.passes.rows if r.changed]
    assert changed
    assert set(changed) <= set(texts)
    evil = replace(report, path=EVIL, growing=(EVIL,), records={EVIL: EVIL}, operators={EVIL: 1})
    assert f"Exported to {EVIL}" in read(evil._repr_html_())


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


def test_several_programs_become_functions(tmp_path: Path) -> None:
    both = {"double": program(lambda b: b.op("mul", b.input("x", "f32", [3]), 2.0)),
            "negate": program(lambda b: b.op("neg", b.input("x", "f32", [3])))}  # fmt: skip
    export(both, tmp_path / "m.samara")
    model = samara.Model(tmp_path / "m.samara")
    assert list(model.functions) == ["double", "negate"]
    x = normal(3)
    for name, want in (("double", 2 * x), ("negate", -x)):
        np.testing.assert_array_equal(samara.Session(model, function=name)(x), want)


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
    with pytest.raises(samara.UnsupportedError, match="this machine does not have it"):
        export(small(), tmp_path / "m.samara", prepack=["scalar", "tenstorrent"])
    assert not list(tmp_path.iterdir())


def test_a_failed_export_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    path.write_bytes(b"before")
    with pytest.raises(samara.SamaraError):
        export(small(), path, disable=["no such pass"])
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["m.samara"]


_WORDS = {"model": {"type": "WordLevel", "vocab": {"?": 0, "maple": 1}, "unk_token": "?"}}


def test_the_tokenizer_becomes_part_of_the_file(tmp_path: Path) -> None:
    tokenizer = samara.Tokenizer.from_json(_WORDS)
    listed = tmp_path / "tokenizer.json"
    listed.write_text(json.dumps(_WORDS))
    for given in (tokenizer, listed, str(listed)):
        path = tmp_path / "m.samara"
        export(small(), path, tokenizer=given)
        found = samara.Model(path).tokenizer
        assert found is not None
        assert found.table == tokenizer.table
        assert [name for name, *_ in read_file(path).segments] == ["weights", "tokenizer"]
        assert read_file(path).min_runtime == (
            0,
            1,
            0,
        )  # runtimes skip segments that they do not know
    # What is opened and written again keeps it.
    again = tmp_path / "again.samara"
    export(open_program(path), again, golden={"x": normal(1, 4, 4, 2)}, prepack=["scalar"])
    kept = samara.Model(again, verify=True)
    assert kept.tokenizer is not None
    assert kept.tokenizer.table == tokenizer.table
    kept.selftest()
    quantized = samara.quantize(open_program(again), scheme="int8-weights")
    export(quantized, again)
    assert open_program(again).tokenizer == tokenizer.table


def test_what_is_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(samara.FileError, match=r"none\.json"):
        export(small(), tmp_path / "m.samara", tokenizer=tmp_path / "none.json")
    with pytest.raises(samara.ArgumentError, match="tokenizer is a dict"):
        export(small(), tmp_path / "m.samara", tokenizer=_WORDS)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
