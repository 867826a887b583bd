# SPDX-License-Identifier: Apache-2.0
"""ONNX's element types: every one is imported, or refused for a reason of its own."""

from __future__ import annotations

import onnx
import pytest

from samara.exporter.importers.onnx.element_types import (
    IMPORTED_DTYPES,
    REFUSED_DTYPES,
    import_dtype,
)
from samara.exporter.types import DType, UnsupportedError


def test_every_type_is_known() -> None:
    codes = set(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED}
    assert set(IMPORTED_DTYPES) | set(REFUSED_DTYPES) == codes
    assert not set(IMPORTED_DTYPES) & set(REFUSED_DTYPES)
    assert set(IMPORTED_DTYPES.values()) == set(DType) - {DType.QS8}


def test_names_agree_with_onnx() -> None:
    for code, dtype in IMPORTED_DTYPES.items():
        assert import_dtype(code, "input") is dtype
        assert onnx.helper.tensor_dtype_to_np_dtype(code) == dtype.numpy


@pytest.mark.parametrize("code", sorted(REFUSED_DTYPES))
def test_refusals_say_why(code: int) -> None:
    with pytest.raises(UnsupportedError, match="Cast 'c': element type") as caught:
        import_dtype(code, "Cast 'c'")
    assert REFUSED_DTYPES[code] in caught.value.message
    assert caught.value.fix


def test_codes_that_nobody_knows() -> None:
    with pytest.raises(UnsupportedError, match="element type code 999"):
        import_dtype(999, "input")
