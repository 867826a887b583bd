# SPDX-License-Identifier: Apache-2.0
"""import_onnx as a whole: sources, shapes, layouts, state, cuts, and the one table of problems."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from tests.exporter.importers.onnx.models import (
    Case,
    agree,
    built,
    check,
    kinds,
    normal,
    parse,
    refused,
    witness,
)

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir.program import QUANTIZATION
from samara.exporter.types import ModelFormatError, ShapeError, UnsupportedError, as_dim, sym

TEXT = """g (float[n, 3] x, float[n, 3] z) => (float[n, 4] y, float[n, 3] t)
<float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
    s = Add(x, z)  y = MatMul(s, w)  t = Tanh(x) }"""
FEEDS = {"x": normal(2, 3), "z": normal(2, 3, seed=1)}
IMAGE = parse("""g (float[1, 2, 4, 5] x) => (float[1, 2, 4, 5] y) { y = Relu(x) }""")


# ---- sources


def test_every_kind_of_source(tmp_path: Path) -> None:
    model = parse(TEXT)
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    want = witness(model, FEEDS)
    for source in (model, path, str(path), path.read_bytes()):
        agree(import_onnx(source).run(FEEDS), want)


@pytest.mark.parametrize("data", [b"not a model", b"\x00" * 100, b"", b"\x08\x07"])
def test_what_is_no_model(data: bytes, tmp_path: Path) -> None:
    refused(data, ModelFormatError, "is not an ONNX model")
    (tmp_path / "m.onnx").write_bytes(data)
    refused(tmp_path / "m.onnx", ModelFormatError, r"m\.onnx is not an ONNX model")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        import_onnx(tmp_path / "absent.onnx")


def save_apart(path: Path) -> None:
    """The model with its weights in m.data beside it."""
    model = parse(TEXT)
    for t in model.graph.initializer:
        t.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(t), t.name))
    onnx.save(model, path, save_as_external_data=True, location="m.data", size_threshold=0)


def test_external_data(tmp_path: Path) -> None:
    save_apart(tmp_path / "m.onnx")
    agree(import_onnx(tmp_path / "m.onnx").run(FEEDS), witness(parse(TEXT), FEEDS))
    bare = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    for source in (bare, bare.SerializeToString()):
        refused(source, UnsupportedError, "keeps its data in another file")
    (tmp_path / "m.data").unlink()
    refused(tmp_path / "m.onnx", UnsupportedError, "cannot be read")


def test_external_data_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    save_apart(tmp_path / "inner" / "m.onnx")
    (tmp_path / "inner" / "m.data").rename(tmp_path / "m.data")
    moved = onnx.load(tmp_path / "inner" / "m.onnx", load_external_data=False)
    for entry in moved.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = "../m.data"
    (tmp_path / "inner" / "m.onnx").write_bytes(moved.SerializeToString())
    refused(tmp_path / "inner" / "m.onnx", UnsupportedError, "cannot be read")


# ---- opsets


@pytest.mark.parametrize("opset", [1, 6, 7, 9, 13, 18, onnx.defs.onnx_opset_version()])
def test_supported_opsets(opset: int) -> None:
    got = import_onnx(parse(TEXT, opset)).run(FEEDS)
    np.testing.assert_allclose(got["t"], np.tanh(FEEDS["x"]), rtol=1e-6)


@pytest.mark.parametrize(
    ("opset", "fix"), [(0, "version_converter"), (10_000, "newer onnx package")]
)
def test_unsupported_opsets(opset: int, fix: str) -> None:
    caught = refused(parse(TEXT, opset), UnsupportedError, "is outside 1")
    assert fix in str(caught)


def test_no_opset() -> None:
    model = parse(TEXT)
    del model.opset_import[:]
    refused(model, ModelFormatError, "does not say which version")


# ---- inputs


def test_an_initializer_may_be_an_input_too() -> None:
    model = parse(TEXT, 7)
    model.graph.input.append(oh.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [3, 4]))
    program = import_onnx(model)
    assert [v.name for v in program.main.inputs] == ["x", "z"]
    agree(program.run(FEEDS), witness(model, FEEDS))


def test_shapes() -> None:
    model = parse("g (float[a, b] x, float[c, d] y) => (float[e, f] z) { z = Add(x, y) }")
    fixed = import_onnx(model, shapes={"x": [2, 3], "y": (2, 3)})
    assert fixed.main.outputs[0].type.static_shape() == (2, 3)
    assert not fixed.main.guards
    equal = import_onnx(model, shapes={"x": ["n", 3], "y": ["n", 3]})
    assert equal.main.outputs[0].type.shape[0] == sym("n")
    assert not equal.main.guards
    assert import_onnx(model).main.guards  # without shapes= the sizes are compared at run time
    with pytest.raises(ShapeError):
        equal.run({"x": normal(2, 3), "y": normal(4, 3)})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"q": [1]}, "the model has no 'q'"),
        ({"x": [1, 2, 3]}, "has rank 2"),
        ({"x": "1x3"}, "not a sequence"),
        ({"x": [1, -3]}, "not a sequence"),
        ({"x": [1, 2.5]}, "not a sequence"),
        ({"x": [2, 7]}, "do not broadcast"),
    ],
)
def test_shapes_that_cannot_be(shapes: dict[str, Any], message: str) -> None:
    refused(parse(TEXT), ShapeError, message, shapes=shapes)


def test_a_shape_that_is_not_declared() -> None:
    model = parse("g (float x) => (float y) { y = Relu(x) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    refused(model, ShapeError, "declares no shape")
    (x,) = import_onnx(model, shapes={"x": [2, "n"]}).main.inputs
    assert x.type.shape == (as_dim(2), sym("n"))


def test_unknown_sizes_get_symbols() -> None:
    model = parse("g (float[n, 3, n] x) => (float[a, b, c] y) { y = Relu(x) }")
    dims = model.graph.input[0].type.tensor_type.shape.dim
    del dims[1:]
    dims.add()
    # What old exporters write: no size, and the same mark for sizes that differ.
    dims.add().dim_value = 0
    dims.add().dim_param = "?"
    dims.add().dim_param = "?"
    shape = import_onnx(model).main.inputs[0].type.shape
    assert shape == (sym("n"), *(sym(f"x.{axis}") for axis in range(1, 5)))


def test_an_empty_list_of_axes_is_empty() -> None:
    model = parse("g (float[2, 3] x, int64[0] axes) => (float[a, b] y) { y = ReduceSum(x, axes) }")
    check(model, {"x": normal(2, 3), "axes": np.zeros(0, np.int64)})


def test_a_repeated_name() -> None:
    model = parse(TEXT)
    model.graph.input.append(model.graph.input[0])
    refused(model, ShapeError, "input 'x' occurs 2 times")
    model = parse(TEXT)
    model.graph.output.append(model.graph.output[0])
    refused(model, ShapeError, "output 'y' occurs 2 times")


def test_no_outputs() -> None:
    model = parse(TEXT)
    del model.graph.output[:]
    refused(model, ModelFormatError, "no outputs")


def test_an_output_may_be_an_input_or_a_constant() -> None:
    model = parse("g (float[2] x) => (float[2] x, float[2] c) <float[2] c = {1, 2}> { }")
    got = import_onnx(model).run({"x": normal(2)})
    np.testing.assert_array_equal(got["x"], normal(2))
    np.testing.assert_array_equal(got["c"], [1, 2])


# ---- layout


@pytest.mark.parametrize(("rank", "layout"), [(3, "NWC"), (4, "NHWC"), (4, "nhwc"), (5, "NDHWC")])
def test_layout(rank: int, layout: str) -> None:
    x = normal(*[1, 2, 3, 4, 5][:rank])
    model = built([oh.make_node("Relu", ["x"], ["y"])], {"x": x}, ["y"], opset=13)
    last = np.moveaxis(x, 1, -1)
    both = import_onnx(model, layout={"x": layout, "y": layout})
    assert both.main.inputs[0].type.static_shape() == last.shape
    np.testing.assert_array_equal(both.run({"x": last})["y"], np.maximum(last, 0))
    only_in = import_onnx(model, layout={"x": layout})
    np.testing.assert_array_equal(only_in.run({"x": last})["y"], np.maximum(x, 0))


@pytest.mark.parametrize(
    ("layout", "message"),
    [({"x": "NWC"}, "does not fit rank 4"), ({"x": "HWCN"}, "NHWC"), ({"q": "NHWC"}, "no 'q'")],
)
def test_layouts_that_cannot_be(layout: dict[str, str], message: str) -> None:
    refused(IMAGE, ShapeError, message, layout=layout)


# ---- state


STREAM = """g (float[1, 2] x, float[1, 2] h, int64[1] count) => (float[1, 2] y, float[1, 2] hn, int64[1] countn)
<int64[1] one = {1}> { hn = Add(x, h)  y = Tanh(hn)  countn = Add(count, one) }"""


def test_state_lives_in_variables() -> None:
    program = import_onnx(parse(STREAM), state={"hn": "h", "countn": "count"})
    assert [v.name for v in program.variables] == ["h", "count"]
    assert program.main.reads == {"h": "h", "count": "count"}
    assert program.main.writes == {1: "h", 2: "count"}
    state: dict[str, Any] = {}
    total = np.zeros((1, 2), np.float32)
    for k in range(3):
        x = normal(1, 2, seed=k)
        total = total + x
        out = program.run({"x": x}, state=state)
        assert list(out) == ["y"]
        np.testing.assert_allclose(out["y"], np.tanh(total), rtol=1e-6)
    np.testing.assert_allclose(state["h"], total, rtol=1e-6)
    assert state["count"].tolist() == [3]


def test_state_and_carried_by_the_caller_agree() -> None:
    carried, kept = import_onnx(parse(STREAM)), import_onnx(parse(STREAM), state={"hn": "h"})
    h = np.zeros((1, 2), np.float32)
    state: dict[str, Any] = {}
    for k in range(3):
        feeds = {"x": normal(1, 2, seed=k), "count": np.zeros(1, np.int64)}
        out = carried.run({**feeds, "h": h})
        np.testing.assert_array_equal(kept.run(feeds, state=state)["y"], out["y"])
        h = out["hn"]


def test_state_whose_shape_the_output_does_not_state() -> None:
    """An output whose size follows from a symbol takes the shape of its variable."""
    text = "g (float[n, 2] x, float[1, 2] h) => (float[n, 2] y, float[a, 2] hn) { y = Add(x, h)  hn = Identity(y) }"
    program = import_onnx(parse(text), state={"hn": "h"})
    state: dict[str, Any] = {}
    program.run({"x": normal(1, 2)}, state=state)
    assert state["h"].shape == (1, 2)
    with pytest.raises(ShapeError):
        program.run({"x": normal(3, 2)}, state=state)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"nothing": "h"}, "the model has no 'nothing'"),
        ({"hn": "nothing"}, "the model has no 'nothing'"),
        ({"countn": "h"}, "'countn' is i64"),
        ({"hn": "h", "y": "h"}, "'h' occurs 2 times"),
    ],
)
def test_states_that_cannot_be(state: dict[str, str], message: str) -> None:
    refused(parse(STREAM), ShapeError, message, state=state)


def test_a_variable_needs_a_static_shape() -> None:
    text = "g (float[n, 2] h) => (float[n, 2] y) { y = Tanh(h) }"
    caught = refused(parse(text), ShapeError, "needs a static one", state={"y": "h"})
    assert "shapes={'h': [1, 2]}" in str(caught)
    import_onnx(parse(text), state={"y": "h"}, shapes={"h": [1, 2]})


# ---- problems


def test_all_problems_come_at_once() -> None:
    model = parse("""g (float[2, 3] x, complex64[2] d, string[2] s) => (float[2, 3] y, float[2, 3] z, complex64[2] e) {
        a = Relu(x)
        b = Det(a)  b2 = Det(x)  y = Add(b, b2)
        c = Concat<axis = 5>(x, x)  z = Neg(c)
        e = Add(d, d)  t = StringNormalizer(s) }""")
    caught = refused(model, UnsupportedError)
    text = str(caught)
    # StringNormalizer is unknown whatever it takes.
    for part in ("Det", "b, b2", "axis 5 is out of range", "d\n", "complex64", "string", "fix:",
                 "why:", "StringNormalizer", "6 problems"):  # fmt: skip
        assert part in text, part
    assert "Neg" not in text  # a node that depends on a failed one is not a problem of its own


def test_what_does_not_fit_is_a_shape_error() -> None:
    model = parse("g (float[2, 3] x, float[4] b) => (float[2, 3] y) { y = Add(x, b) }")
    caught = refused(model, ShapeError, "broadcast")
    assert not isinstance(caught, UnsupportedError)


def test_an_output_that_nothing_makes() -> None:
    model = parse("g (float[2] x) => (float[2] y) { z = Relu(x) }")
    refused(model, ShapeError, "'y' is used but nothing makes it")


def test_a_fault_of_a_converter_is_a_problem_with_its_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from samara.exporter.importers.onnx import registry

    def broken(_: Any) -> Any:
        raise KeyError("oops")

    monkeypatch.setitem(registry._HANDLERS, ("", "Relu"), broken)
    caught = refused(IMAGE, UnsupportedError, "KeyError: 'oops'")
    assert isinstance(caught.__cause__, KeyError)


def test_metadata() -> None:
    model = parse(TEXT)
    model.producer_name, model.producer_version = "author", "3"
    model.metadata_props.add(key="licence", value="free")
    meta = import_onnx(model).metadata
    assert meta["licence"] == "free"
    assert meta["source.producer"] == "author 3"
    assert QUANTIZATION not in meta


def test_metadata_say_whether_the_file_is_quantized() -> None:
    """For passes: what the file itself says there is not believed."""
    plain = parse(TEXT)
    plain.metadata_props.add(key=QUANTIZATION, value="aware")
    assert QUANTIZATION not in import_onnx(plain).metadata
    one, zero = np.array(0.1, np.float32), np.array(3, np.uint8)
    model = Case("QuantizeLinear", [normal(2), one, zero], constants=(1, 2)).model()
    model.metadata_props.add(key=QUANTIZATION, value="aware")
    assert import_onnx(model).metadata[QUANTIZATION] == "imported"


def test_names_and_sources_are_the_models() -> None:
    program = import_onnx(IMAGE)
    node = program.main.nodes[0]
    assert node.outputs[0].name == "y"
    assert node.source is not None
    assert "Relu" in node.source.detail
    assert kinds(Case("Relu", [normal(2)]).check()) == ["relu"]


# ---- constants and names


RATED = """g (float[n, 4] x, int64 sr, float[n, 1] gain) => (float[m, k] y) <int64 high = {16000}> {
    wide = Equal(sr, high)
    h = If(wide) <then_branch = a () => (float[n, 4] p) { p = Mul(x, gain) },
                  else_branch = b () => (float[n] q) { axis = Constant<value_ints = [1]>()
                                                       q = ReduceSum<keepdims = 0>(x, axis) }>
    y = Transpose(h) }"""


def test_consts_decide_branches() -> None:
    feeds = {"x": normal(2, 4), "gain": normal(2, 1)}
    want = witness(parse(RATED), {**feeds, "sr": np.array(16000)})
    for value in (16000, np.array(16000)):
        program = import_onnx(parse(RATED), consts={"sr": value})
        assert [v.name for v in program.main.inputs] == ["x", "gain"]
        assert list(program.functions) == ["main"]
        assert "if" not in kinds(program)
        agree(program.run(feeds), want)


def test_the_size_of_a_constant_holds_for_other_inputs() -> None:
    program = import_onnx(parse(RATED), consts={"sr": 16000, "gain": [[1.0], [2.0]]})
    assert [str(v.type) for v in program.main.inputs] == ["f32[2, 4]"]
    fixed = import_onnx(parse(RATED), consts={"sr": 1, "gain": 2}, shapes={"gain": [3, 1]})
    assert [str(v.type) for v in fixed.main.inputs] == ["f32[n, 4]"]  # shapes= are of one input


def test_an_initializer_that_is_an_input_can_be_frozen() -> None:
    model = parse(TEXT, 7)
    model.graph.input.append(oh.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [3, 4]))
    program = import_onnx(model, consts={"w": np.ones((3, 4), np.float32)})
    got = program.run(FEEDS)["y"]
    np.testing.assert_allclose(got[:, 0], (FEEDS["x"] + FEEDS["z"]).sum(1), rtol=1e-5)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"consts": {"rs": 1}}, "no input 'rs' to freeze"),
        ({"consts": {"sr": 1.5}}, "which int64 does not hold"),
        ({"consts": {"sr": np.float32(16000)}}, "has dtype float32, the input is int64[]"),
        ({"consts": {"gain": [[1.0, 2.0]]}}, "has shape [1, 2], the input is float32[?, 1]"),
        ({"consts": {"sr": 1}, "state": {"y": "sr"}}, "cannot be frozen and"),
        ({"consts": {"x": 1}, "layout": {"x": "NWC"}}, "cannot be frozen and"),
        ({"rename": {"z": "w"}, "consts": {"sr": 16000}}, "no input or output 'z' to rename"),
    ],
)
def test_consts_that_cannot_be(how: dict[str, Any], said: str) -> None:
    refused(parse(RATED), ShapeError, re.escape(said), **how)


def test_rename_comes_last() -> None:
    program = import_onnx(parse(RATED), consts={"sr": 16000}, rename={"x": "image", "y": "x"})
    assert [v.name for v in program.main.inputs] == ["image", "gain"]
    assert program.main.output_names == ("x",)
