# SPDX-License-Identifier: Apache-2.0
"""Element types of tensors."""

from __future__ import annotations

import pytest

from samara.exporter.importers.tflite.element_types import IMPORTED_DTYPES, import_dtype
from samara.exporter.importers.tflite.schema import model_format
from samara.exporter.types import DType, UnsupportedError


def test_every_type_of_the_schema_is_imported_or_refused_with_a_reason() -> None:
    for name in model_format().enums["TensorType"].values():
        if name in IMPORTED_DTYPES:
            assert import_dtype(name, "x") is IMPORTED_DTYPES[name]
        else:
            with pytest.raises(UnsupportedError, match=f"x: element type {name.lower()}") as caught:
                import_dtype(name, "x")
            assert caught.value.fix


def test_the_common_ones() -> None:
    assert import_dtype("FLOAT32", "x") is DType.F32
    assert import_dtype("UINT8", "x") is DType.U8
