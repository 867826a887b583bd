# SPDX-License-Identifier: Apache-2.0
"""Where nodes come from, as their metadata say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from tests.exporter.importers.onnx.models import built, normal, refused, tensor

import samara
from samara.exporter.importers.onnx.origin import Origin, innermost, module_of, origin_of

STACK = """File "/home/me/net.py", line 31, in forward
    h = self.block(x)
  File "/home/me/block.py", line 6, in forward
    return self.norm(x)
  File "/usr/lib/python3/site-packages/torch/nn/modules/batchnorm.py", line 210, in forward
    return F.batch_norm("""


def describe(made: onnx.NodeProto, **metadata: str) -> None:
    """As torch's exporter does."""
    for key, value in metadata.items():
        made.metadata_props.add(key=f"pkg.torch.onnx.{key}", value=value)


def node(op: str, **metadata: str) -> onnx.NodeProto:
    made = onnx.helper.make_node(op, ["x"], ["y"], name="n")
    describe(made, **metadata)
    return made


def test_the_innermost_line_that_is_not_torchs() -> None:
    assert innermost(STACK) == ("/home/me/block.py", 6)
    assert innermost("") == ("", 0)


@pytest.mark.parametrize(
    ("inner", "place"),
    [
        ('File "/x/site-packages/torch/nn/functional.py", line 3, in f', ("", 0)),
        ('File "<eval_with_key>.12", line 5, in forward', ("", 0)),
        (r'File "C:\env\Lib\site-packages\torch\a.py", line 3, in f', ("", 0)),
        ('File "/x/site-packages/torchvision/ops/misc.py", line 9, in f',
         ("/x/site-packages/torchvision/ops/misc.py", 9)),
        ('File "/src/pytorch/torch/nn/modules/conv.py", line 8, in forward',
         ("/src/pytorch/torch/nn/modules/conv.py", 8)),
    ],
)  # fmt: skip
def test_frames_of_libraries_give_way(inner: str, place: tuple[str, int]) -> None:
    """To the user's wherever they stand; torch's own are never named, and no made-up files."""
    assert innermost(inner) == place
    stack = f'File "/home/me/net.py", line 31, in forward\n  {inner}'
    assert innermost(stack) == ("/home/me/net.py", 31)


@pytest.mark.parametrize(
    ("scopes", "module"),
    [
        ("['', 'layers.0', 'layers.0.bn', 'batch_norm']", "layers.0.bn"),
        ("['relu']", ""),
        ("['', 'relu']", ""),
        ("not a list", ""),
        ("3", ""),
        ("", ""),
    ],
)
def test_the_submodule(scopes: str, module: str) -> None:
    assert origin_of(node("Relu", name_scopes=scopes)).module == module


def test_the_submodule_where_there_are_no_scopes() -> None:
    made = node("Relu")
    said = ": net.Net/layers: torch.nn.Sequential/layers.0: net.Block/relu: aten.relu.default"
    made.metadata_props.add(key="namespace", value=said)
    assert origin_of(made).module == "layers.0"


def test_frames_in_the_documentation_of_a_node() -> None:
    """torch's older exporter writes them there, the innermost first."""
    made = node("Conv")
    made.doc_string = """/env/site-packages/torch/nn/modules/conv.py(548): forward
/home/me/net.py(14): forward
/home/me/train.py(3): <module>
"""
    assert origin_of(made) == Origin("/home/me/net.py", 14, "")


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("/layer1/conv/Conv", "layer1.conv"),
        ("/layer1/layer1.0/conv1/Conv_2", "layer1.0.conv1"),
        ("If_0_then_branch__Inline_0__/decoder/rnn/LSTM", "decoder.rnn"),
        ("model/dense/MatMul;model/dense/BiasAdd", "model.dense"),
        ("Conv_12", ""),
        ("", ""),
    ],
)
def test_the_name_of_a_node_is_a_path(name: str, module: str) -> None:
    made = node("Conv")
    made.name = name
    assert module_of(made, origin_of(made)) == module
    made.metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'body', 'conv']")
    assert module_of(made, origin_of(made)) == "body"


def reported(tmp_path: Path) -> str:
    """A net of two convolutions, as torch's exporter describes them, with all its reports."""
    convs = []
    for k, (module, line) in enumerate((("stem.conv", 12), ("body.0.conv", 31))):
        x, y = ("x", "h0", "h1")[k : k + 2]
        made = onnx.helper.make_node("Conv", [x, "w"], [y], f"node_conv_{k}", pads=[1, 1, 1, 1])
        stack = f"""File "/home/me/net.py", line {line}, in forward
    x = self.conv(x)
  File "/env/lib/python3.11/site-packages/torch/nn/modules/conv.py", line 548, in forward
    return self._conv_forward(input, self.weight, self.bias)
  File "<eval_with_key>.3", line 7, in forward
    conv2d = torch.ops.aten.conv2d.default(x)"""
        describe(made, stack_trace=stack, name_scopes=f"['', '{module}', 'conv2d']")
        convs.append(made)
    convs.append(onnx.helper.make_node("CumSum", ["h1", "axis"], ["y"], "/head/sum/CumSum"))
    held = [tensor(normal(2, 2, 3, 3), "w"), tensor(np.array(1, np.int64), "axis")]
    onnx.save(built(convs, {"x": normal(1, 2, 5, 5)}, ["y"], held, 18), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def test_every_report_names_the_authors_line_and_module(tmp_path: Path) -> None:
    from samara.exporter.doctor.examine import doctor
    from samara.exporter.inspect.contents import inspect
    from samara.exporter.measure.compare import compare_files
    from samara.exporter.measure.feeds import choose_feeds
    from samara.exporter.measure.node_times import node_times, nodes_text
    from samara.exporter.opening import opened

    source, file = reported(tmp_path), str(tmp_path / "m.samara")
    program = samara.import_onnx(source)
    exported = str(samara.export(program, file))
    calibration = [{"x": normal(1, 2, 5, 5, seed=k)} for k in range(2)]
    session = samara.Session(file)
    session.run(calibration[0])
    rows = [(r.source, r.module) for r in session.profile()]
    with opened(file) as given:
        times = node_times(given, session, choose_feeds(session), "", 1, None)
    first, second = "/home/me/net.py:12 in stem.conv", "/home/me/net.py:31 in body.0.conv"
    for name, text in {
        "inspect": inspect(file).text(kernels=True),
        "quantize": str(samara.quantize(program, calibration).report),
        "compare": compare_files(file, file + "@isa=scalar").text(),
        "bench --node": nodes_text(times.nodes, None, None),
    }.items():
        assert first in text, (name, text)
        assert second in text, (name, text)
        assert "in head.sum" in text, (name, text)
        assert "site-packages" not in text
        assert "eval_with_key" not in text
    found = {row for row in rows if row[0]}
    assert found == {("/home/me/net.py:12", "stem.conv"), ("/home/me/net.py:31", "body.0.conv")}
    assert ("", "head.sum") in rows
    assert "in head.sum" in exported  # a transpose that is left stands before it
    model = onnx.load(source)
    model.graph.node[1].op_type = "Strange"
    onnx.save(model, tmp_path / "odd.onnx")
    assert f"node_conv_1 ({second})" in doctor(tmp_path / "odd.onnx").text()


def test_as_text() -> None:
    assert str(Origin("a.py", 3, "layers.0")) == "a.py:3 in layers.0"
    assert str(Origin("a.py", 3)) == "a.py:3"
    assert str(origin_of(node("Relu"))) == ""


def model(made: onnx.NodeProto) -> onnx.ModelProto:
    parsed: onnx.ModelProto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    parsed.graph.node[0].CopyFrom(made)
    return parsed


def test_programs_and_problems_carry_it() -> None:
    said = {"stack_trace": STACK, "name_scopes": "['', 'block', 'norm']"}
    (relu,) = samara.import_onnx(model(node("Relu", **said))).main.nodes
    assert relu.source is not None
    assert (relu.source.file, relu.source.line) == ("/home/me/block.py", 6)
    caught = refused(model(node("RandomUniformLike", **said)), samara.UnsupportedError)
    assert "n (/home/me/block.py:6 in block)" in str(caught)
