# SPDX-License-Identifier: Apache-2.0
"""The table of converters."""

from __future__ import annotations

import onnx
import pytest

from samara.exporter.importers.onnx import registry, supported_operators
from samara.exporter.importers.onnx.registry import find_handler, onnx_op


def test_both_spellings_of_the_domain() -> None:
    assert find_handler("ai.onnx", "Relu") is find_handler("", "Relu") is not None
    assert find_handler("com.microsoft", "Relu") is None
    assert find_handler("", "Nothing") is None


def test_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_HANDLERS", {})

    @onnx_op("A", "B", domain="here")
    def handler(n: object) -> None:
        return None

    assert find_handler("here", "A") is find_handler("here", "B") is handler
    assert supported_operators() == (("here", "A"), ("here", "B"))


# Models name these in ONNX's own domain, which does not have them: ONNX removed all but the last
# before its release 1.5; ONNX Runtime puts the last one there.
ELSEWHERE = {"Affine", "Crop", "GivenTensorFill", "ImageScaler", "ParametricSoftplus", "Scale",
             "ScaledTanh", "SimplifiedLayerNormalization"}  # fmt: skip


def test_every_name_is_an_operator_of_onnx() -> None:
    known = {s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""}
    unknown = {name for domain, name in supported_operators() if domain == "" and name not in known}
    assert unknown == ELSEWHERE
