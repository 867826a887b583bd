# SPDX-License-Identifier: Apache-2.0
"""Names that are no UTF-8 text are found wherever they stand in a model."""

from __future__ import annotations

import onnx
import pytest
from tests.exporter.importers.onnx.models import parse

from samara import import_onnx
from samara.exporter.importers.onnx.texts import check_texts
from samara.exporter.types import ModelFormatError

MODEL = parse("""g (float[symbol, 3] input_x) => (float[symbol, 3] output_y) <float[1] weight = {1}> {
    output_y = Elu<alpha = 2.0>(input_x) }""")
MODEL.graph.input[0].type.tensor_type.shape.dim[1].denotation = "features"
MODEL.graph.node[0].attribute[0].doc_string = "slope"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("symbol", "model.graph.input[0].type.tensor_type.shape.dim[0].dim_param"),
        ("features", "model.graph.input[0].type.tensor_type.shape.dim[1].denotation"),
        ("slope", "model.graph.node[0].attribute[0].doc_string"),
        ("input_x", "model.graph.node[0].input"),
        ("Elu", "model.graph.node[0].op_type"),
        ("alpha", "model.graph.node[0].attribute[0].name"),
        ("weight", "model.graph.initializer[0].name"),
    ],
)
def test_bytes_that_are_no_text(text: str, where: str) -> None:
    bad = b"\xff" * len(text)
    damaged = MODEL.SerializeToString().replace(text.encode(), bad)
    with pytest.raises(ModelFormatError) as caught:
        import_onnx(damaged)
    assert caught.value.message == f"{where} is no UTF-8 text: {bad!r}"
    with pytest.raises(ModelFormatError):
        import_onnx(onnx.ModelProto.FromString(damaged))


def test_text_passes() -> None:
    check_texts(MODEL)
