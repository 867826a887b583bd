# SPDX-License-Identifier: Apache-2.0
"""The schemas from facts.py, against the tables that LiteRT's own package was generated from."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as generated

from samara.exporter.importers.tflite.schema import metadata_format, model_format
from samara.exporter.ir.flat_schema import Kind


@pytest.mark.parametrize(
    "name", ["BuiltinOperator", "TensorType", "Padding", "BuiltinOptions", "BuiltinOptions2"]
)
def test_enums_and_unions_have_the_published_codes(name: str) -> None:
    published = {k: v for k, v in vars(getattr(generated, name)).items() if k[0] != "_" and v}
    kind = model_format()
    if name in kind.enums:
        known = {n: v for v, n in kind.enums[name].items() if v}
    else:
        known = {t.name: v for v, t in kind.schema.unions[name].members.items()}
        # Tables of StableHLO that no CPU kernel reads are left out.
        published = {k: v for k, v in published.items() if k in known or "HLO" not in k.upper()}
    assert known == published


def test_fields_have_the_published_places() -> None:
    """A table written by us reads back through the published classes."""
    from tests.exporter.importers.tflite.models import small_tflite

    model = generated.ModelT.InitFromObj(generated.Model.GetRootAs(small_tflite(), 0))
    graph = model.subgraphs[0]
    conv, _, softmax = graph.operators
    assert graph.tensors[0].name == b"serving_default_image:0"
    assert (conv.builtinOptions.padding, conv.builtinOptions.strideH) == (0, 1)
    assert conv.builtinOptions.dilationWFactor == 1
    assert softmax.builtinOptions.beta == 1.0
    assert np.array_equal(graph.tensors[1].shape, [10, 3, 3, 1])
    assert model.signatureDefs[0].signatureKey == b"serving_default"
    assert model.version == 3


def test_defaults_of_fields() -> None:
    tables = model_format().schema.tables
    assert tables["DepthwiseConv2DOptions"].field("dilation_w_factor").default == 1
    assert tables["BidirectionalSequenceLSTMOptions"].field("time_major").default is True
    assert tables["LSTMOptions"].field("kernel_type").default == 0
    assert tables["Operator"].field("builtin_options_2").kind is Kind.UNION
    assert tables["Model"].field("operator_codes").child == "OperatorCode"


def test_codes_by_name() -> None:
    assert model_format().code("BuiltinOperator", "CONV_2D") == 3
    with pytest.raises(KeyError, match="BuiltinOperator has no 'FOO'"):
        model_format().code("BuiltinOperator", "FOO")
    assert metadata_format().code("AssociatedFileType", "TENSOR_AXIS_LABELS") == 2
