# SPDX-License-Identifier: Apache-2.0
"""Where nodes come from, as their metadata say."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

import samara
from samara.exporter.importers.onnx.origin import Origin, innermost, origin_of

STACK = """File "/home/me/net.py", line 31, in forward
    h = self.block(x)
  File "/home/me/block.py", line 6, in forward
    return self.norm(x)
  File "/usr/lib/python3/site-packages/torch/nn/modules/batchnorm.py", line 210, in forward
    return F.batch_norm("""


def node(op: str, **metadata: str) -> onnx.NodeProto:
    made = onnx.helper.make_node(op, ["x"], ["y"], name="n")
    for key, value in metadata.items():
        made.metadata_props.add(key=f"pkg.torch.onnx.{key}", value=value)
    return made


def test_the_innermost_line_that_is_not_torchs() -> None:
    assert innermost(STACK) == ("/home/me/block.py", 6)
    assert innermost('File "/x/site-packages/torch/a.py", line 3, in f') == (
        "/x/site-packages/torch/a.py",
        3,
    )
    assert innermost("") == ("", 0)


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
    with pytest.raises(samara.UnsupportedError) as e:
        samara.import_onnx(model(node("RandomUniformLike", **said)))
    assert "n (/home/me/block.py:6 in block)" in str(e.value)
