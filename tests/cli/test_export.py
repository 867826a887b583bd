# SPDX-License-Identifier: Apache-2.0
"""`samara export`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from typer.testing import Result

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import open_program, read_file
from samara.pybridge import Model, Session

Samara = Callable[..., Result]


def test_writes_a_file_that_runs(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.samara"
    result = samara("export", onnx_path, "-o", out)
    assert result.exit_code == 0, result.output
    assert f"{out}: {out.stat().st_size:,} bytes" in result.stdout
    assert "checked on sample inputs" in result.stdout
    assert "transpose left (border)" in result.stdout
    assert f"next: samara inspect {out}" in result.stderr
    assert Session(out).run({"image": np.zeros((2, 3, 8, 8), np.float32)})["score"].shape == (2, 4)


def test_default_name_is_here(
    samara: Samara, onnx_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert samara("export", onnx_path, "--no-check").exit_code == 0
    assert (tmp_path / "small.samara").is_file()


def test_shape_layout_cut_golden_and_labels(
    samara: Samara, onnx_path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m.samara"
    np.savez(tmp_path / "in.npz", image=np.ones((2, 8, 8, 3), np.float32))
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\n")
    result = samara(
        "export", onnx_path, "-o", out, "--shape", "image=2x3x8x8", "--layout", "image=NHWC", "--outputs", "score",
        "--golden", tmp_path / "in.npz", "--labels", tmp_path / "labels.txt", "--target-runtime", "0.1", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["transposes"] == []
    assert facts["path"] == str(out)
    model = Model(out)
    assert model.function(None).inputs[0].shape == (2, 8, 8, 3)
    assert json.loads(model.metadata["labels"]) == ["a", "b", "c", "d"]
    model.selftest()


def test_cut_at_tensors_and_no_optimize(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.samara"
    options = ("--inputs", "relu", "--outputs", "mean,flat", "--no-optimize")
    result = samara("export", onnx_path, "-o", out, *options)
    assert result.exit_code == 0, result.output
    main = open_program(out).main
    assert [v.name for v in main.inputs] == ["relu"]
    assert list(main.output_names) == ["mean", "flat"]


def test_disabled_pass(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.samara"
    plain = json.loads(samara("export", onnx_path, "-o", out, "--json").stdout)
    name = "fuse_activation"
    less = json.loads(
        samara("export", onnx_path, "-o", out, "--json", "--disable", name, "--bisect").stdout
    )
    assert name in {p["name"] for p in plain["passes"]}
    assert name not in {p["name"] for p in less["passes"]}
    assert less["nodes_after"] > plain["nodes_after"]
    result = samara("export", onnx_path, "-o", out, "--disable", "nonsense")
    assert result.exit_code == 1
    assert "no pass 'nonsense'" in result.stderr


def test_a_wrong_pass_is_left_off_or_an_error(
    samara: Samara, onnx_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from samara.exporter.passes import fuse_activation

    right = fuse_activation._epilogue
    monkeypatch.setattr(
        fuse_activation, "_epilogue", lambda *of: {"lo": 0.5} if right(*of) else None
    )
    out = tmp_path / "m.samara"
    result = samara("export", onnx_path, "-o", out, "--bisect")
    assert result.exit_code == 0, result.output
    assert "left off: pass 'fuse_activation' changed the answer: output 'score'" in result.stdout
    assert "it depends on an earlier pass" in result.stdout  # on the layout
    made = Session(out).run({"image": np.ones((1, 3, 8, 8), np.float32)})["score"]
    want = import_onnx(onnx_path).run({"image": np.ones((1, 3, 8, 8), np.float32)})["score"]
    np.testing.assert_allclose(made, want, rtol=1e-5)
    passes = json.loads(samara("export", onnx_path, "-o", out, "--json").stdout)["passes"]
    assert [p["name"] for p in passes if p["failed"]] == ["fuse_activation"]
    out.unlink()
    result = samara("export", onnx_path, "-o", out, "--strict-check")
    assert result.exit_code == 1
    assert "pass 'fuse_activation' changed the answer" in result.stderr
    assert not out.exists()
    assert samara("export", onnx_path, "--strict-check", "--no-check").exit_code == 2


def _save(path: Path, graph: str, opset: int = 17) -> None:
    head = f'<ir_version: 8, opset_import: ["" : {opset}, "my" : 1]>\n'
    onnx.save(onnx.parser.parse_model(head + graph), path)


def test_golden_inputs_serve_the_check(samara: Samara, tmp_path: Path) -> None:
    """Random places lie outside of what is looked up; the golden ones do not."""
    _save(
        tmp_path / "m.onnx",
        """lookup (int64[2] at) => (float[2] z)
        <float[3] table = {-1, 0, 1}, int64 step = {9}> {
        place = Mul(at, step)  found = Gather(table, place)
        y = Relu(found)  z = Transpose<perm = [0]>(y) }""",
    )
    np.savez(tmp_path / "in.npz", at=np.zeros(2, np.int64))
    out = tmp_path / "m.samara"
    alone = json.loads(samara("export", tmp_path / "m.onnx", "-o", out, "--json").stdout)
    assert "does not run on the samples" in alone["unchecked"]
    golden = ("--golden", tmp_path / "in.npz")
    given = json.loads(samara("export", tmp_path / "m.onnx", "-o", out, "--json", *golden).stdout)
    assert not given["unchecked"]
    assert any(p["difference"] is not None for p in given["passes"])


def test_state_lives_in_the_session(samara: Samara, tmp_path: Path) -> None:
    _save(
        tmp_path / "s.onnx",
        """stream (float[3] x, float[3] state) => (float[3] y, float[3] stateN) {
        stateN = Add(x, state)  y = Neg(stateN) }""",
    )
    out = tmp_path / "s.samara"
    result = samara("export", tmp_path / "s.onnx", "-o", out, "--state", "stateN=state")
    assert result.exit_code == 0, result.output
    session = Session(out)
    one = np.ones(3, np.float32)
    assert session(one).tolist() == [-1, -1, -1]
    assert session(one).tolist() == [-2, -2, -2]


_CACHE = """decoder (float[batch, 2, past, 3] past_0, float[batch, 2, n, 3] x)
=> (float[batch, 2, total, 3] present_0, float[batch, 2, 3] sum) <int64[1] axis = {2}> {
present_0 = Concat<axis = 2>(past_0, x)  sum = ReduceSum<keepdims = 0>(present_0, axis) }"""


@pytest.mark.parametrize("state", ["auto", "present_0=past_0", "present_*=past_*"])
def test_caches_live_in_the_session(samara: Samara, tmp_path: Path, state: str) -> None:
    _save(tmp_path / "d.onnx", _CACHE)
    out = tmp_path / "d.samara"
    options = ("--state", state, "--state-length", 3)
    result = samara("export", tmp_path / "d.onnx", "-o", out, *options)
    assert result.exit_code == 0, result.output
    assert "attention reads 0 of 1 in place; rows in use of 1 are copied" in result.stdout
    session = Session(out)
    one = np.ones((1, 2, 1, 3), np.float32)
    assert [session(one)[0, 0, 0] for _ in range(3)] == [1, 2, 3]
    session.state["past_length"] = np.array(1)
    assert session(one)[0, 0, 0] == 2
    facts = json.loads(samara("export", tmp_path / "d.onnx", "-o", out, *options, "--json").stdout)
    assert (facts["caches"], facts["in_place"]) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--state", "auto"], 1, "give --state-length"),
        (["--state", "auto", "--state-length", "0"], 2, "--state-length"),
        (["--state", "auto", "--state", "present_0=past_0"], 2, "auto finds all pairs"),
        (
            ["--state-length", "3"],
            1,
            "--state-length: no input of the state has an axis that grows",
        ),
        (["--state", "sum=past_0", "--state-length", "3"], 1, "'sum' has rank 3"),
    ],
)
def test_caches_that_cannot_be(
    samara: Samara, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    _save(tmp_path / "d.onnx", _CACHE)
    result = samara("export", tmp_path / "d.onnx", "-o", tmp_path / "d.samara", *arguments)
    assert result.exit_code == code, result.output
    assert message in " ".join(result.stderr.split())


def test_bound_and_a_second_export(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.samara"
    options = ("--bound", "batch<=4", "--layout", "image=NHWC")
    result = samara("export", samara_path, "-o", out, *options)
    assert result.exit_code == 0, result.output
    assert read_file(out).program.main.inputs[0].type.rank == 4
    session = Session(out)
    assert session.inputs[0].shape[3] == 3
    assert session.run({"image": np.zeros((4, 8, 8, 3), np.float32)})["score"].shape == (4, 4)
    result = samara("export", samara_path, "-o", out, "--bound", "rows<=4")
    assert result.exit_code == 1
    assert "batch" in result.stderr
    assert samara("export", samara_path, "-o", out, "--shape", "image=1x3x8x8").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--state", "nope=image"], "no 'nope'"),
        (["--prepack", "pdp11"], "does not have it"),
        (["--target-runtime", "new"], "is not a version"),
        (["--labels", "/nowhere/labels.txt"], "labels"),
        (["--shape", "picture=1x3x8x8"], "picture"),
    ],
)
def test_what_cannot_be(
    samara: Samara, onnx_path: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    out = tmp_path / "m.samara"
    result = samara("export", onnx_path, "-o", out, *arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert not out.exists()


def test_all_problems_come_at_once(samara: Samara, tmp_path: Path) -> None:
    _save(
        tmp_path / "bad.onnx",
        """bad (float[3] x) => (float[3] first, float[3] second) {
        first = my.Wrong(x)  second = my.Worse(x) }""",
    )
    result = samara("export", tmp_path / "bad.onnx", "-o", tmp_path / "m.samara")
    assert result.exit_code == 1
    assert "first" in result.stderr
    assert "second" in result.stderr


def _rated(path: Path) -> None:
    _save(
        path,
        """g (float[n, 4] x, int64 sr, float[2] k) => (float[n, m] y) <int64 high = {16000}> {
            wide = Equal(sr, high)
            h = If(wide) <then_branch = a () => (float[n, 4] p) { p = Neg(x) },
                          else_branch = b () => (float[n] q) {
                              axis = Constant<value_ints = [1]>()  q = ReduceSum<keepdims = 0>(x, axis) }>
            t = Transpose(h)  y = MatMul(k, t) }""",
        21,
    )


def test_const_freezes_inputs_and_rename_names_them(samara: Samara, tmp_path: Path) -> None:
    model, out = tmp_path / "m.onnx", tmp_path / "m.samara"
    _rated(model)
    np.save(tmp_path / "k=2.npy", np.ones(4, np.float32))
    given = ("--const", "sr=16000", "--shape", "x=4x4", "--rename", "x=image", "--rename", "y=x")
    result = samara("export", model, "-o", out, "--const", "k=1,2", *given)
    assert result.exit_code == 1, result.output  # 2 against 4, now that the branch is settled
    onnx_model = onnx.load(model)
    onnx_model.graph.input[2].type.tensor_type.shape.dim[0].dim_value = 4
    onnx.save(onnx_model, model)
    for value in ("k=1,1.0,1e0,1", "k=1", f"k=@{tmp_path / 'k=2.npy'}"):
        result = samara("export", model, "-o", out, "--const", value, *given)
        assert result.exit_code == 0, result.output
        session = Session(out)
        assert [s.name for s in session.inputs] == ["image"]
        assert [s.name for s in session.outputs] == ["x"]
        assert session.run({"image": np.ones((4, 4), np.float32)})["x"].tolist() == [-4] * 4
    again = samara("export", out, "-o", tmp_path / "n.samara", "--const", "image=1")
    assert again.exit_code == 0, again.output
    assert Session(tmp_path / "n.samara").run({})["x"].tolist() == [-4] * 4


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--const", "sr"], 2, "NAME=VALUE"),
        (["--const", "sr=fast"], 2, "not a number"),
        (["--const", "sr=1", "--const", "sr=2"], 2, "given twice"),
        (["--const", "sr=@/nowhere.npy"], 2, "No such file"),
        (["--const", "rs=1"], 1, "did you mean 'sr'"),
        (["--const", "sr=1.5"], 1, "int64 does not hold"),
        (["--rename", "z=w"], 1, "no input or output 'z'"),
        (["--rename", "x=k"], 1, "'k' would be the name of the inputs 'x' and 'k'"),
        (["--rename", "x=a", "--rename", "x=b"], 2, "given twice"),
    ],
)
def test_consts_and_names_that_cannot_be(
    samara: Samara, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    _rated(tmp_path / "m.onnx")
    result = samara("export", tmp_path / "m.onnx", "-o", tmp_path / "m.samara", *arguments)
    assert result.exit_code == code, result.output
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_the_tokenizer_is_part_of_the_file(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    words = {"model": {"type": "WordLevel", "vocab": {"?": 0, "maple": 1}, "unk_token": "?"}}
    listed, out = tmp_path / "tokenizer.json", tmp_path / "m.samara"
    listed.write_text(json.dumps(words))
    assert samara("export", onnx_path, "-o", out, "--tokenizer", listed).exit_code == 0
    tokenizer = Model(out).tokenizer
    assert tokenizer is not None
    assert tokenizer.encode("maple") == [1]
    shown = samara("inspect", out).stdout
    assert "tokenizer: WordLevel, 2 ids, 4" in shown
    absent = samara("export", onnx_path, "-o", out, "--tokenizer", tmp_path / "none.json")
    assert absent.exit_code == 1
    assert "give the path of a tokenizer.json" in absent.stderr
