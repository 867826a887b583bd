# SPDX-License-Identifier: Apache-2.0
"""Arrays held against a model's tensors: what is taken as it is, what is converted, what is refused and how."""

import ml_dtypes
import numpy as np
import pytest

from samara.pybridge.errors import ShapeError
from samara.pybridge.feeds_and_results import (
    as_input,
    as_output,
    check_shape,
    explain_inputs,
    explain_outputs,
    fixed_shape,
    unpacked,
)
from samara.pybridge.model import TensorSpec

F32, I8 = np.dtype(np.float32), np.dtype(np.int8)


def _spec(*shape: int | str, dtype: str = "float32") -> TensorSpec:
    return TensorSpec("x", dtype, shape)


def test_lists_and_numbers_are_converted_where_nothing_is_lost() -> None:
    array = as_input(_spec(2), [1, 2.5], F32)
    assert array.dtype == F32
    np.testing.assert_array_equal(array, [1, 2.5])
    assert as_input(_spec(), 3, I8).dtype == I8
    with pytest.raises(ShapeError, match="that int8 cannot represent"):
        as_input(_spec(2, dtype="int8"), [1, 300], I8)


def test_arrays_of_another_dtype_are_refused() -> None:
    with pytest.raises(ShapeError, match="is float64, the model takes float32") as caught:
        as_input(_spec(2), np.zeros(2), F32)
    assert "np.float32" in (caught.value.fix or "")
    with pytest.raises(ShapeError) as caught:
        as_input(_spec(2, dtype="bfloat16"), np.zeros(2), np.dtype(ml_dtypes.bfloat16))
    assert "ml_dtypes.bfloat16" in (caught.value.fix or "")


def test_strided_arrays_are_copied_and_contiguous_ones_are_not() -> None:
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    turned = as_input(_spec(4, 3), whole.T, F32)
    assert turned.flags.c_contiguous
    np.testing.assert_array_equal(turned, whole.T)
    assert np.shares_memory(as_input(_spec(3, 4), whole, F32), whole)


@pytest.mark.parametrize(
    ("shape", "fix"),
    [((3, 4, 5), "batch axis"), ((1, 4, 5, 3), "transpose"), ((1, 3, 4, 6), None)],
)
def test_a_wrong_shape_says_what_may_be_meant(shape: tuple[int, ...], fix: str | None) -> None:
    with pytest.raises(ShapeError, match=r"the model takes \[1, 3, 4, 5\]") as caught:
        check_shape(_spec(1, 3, 4, 5), shape)
    assert caught.value.fix is None if fix is None else fix in (caught.value.fix or "")


def test_symbolic_dims_take_any_size() -> None:
    check_shape(_spec("n", 3), (7, 3))
    with pytest.raises(ShapeError):
        check_shape(_spec("n", 3), (7, 4))
    assert fixed_shape(_spec("n", 3)) is None
    assert fixed_shape(_spec(2, 3)) == (2, 3)
    assert fixed_shape(_spec()) == ()


def test_outputs_are_written_in_place_or_refused() -> None:
    good = np.empty((2, 3), np.float32)
    assert as_output(_spec(2, "n"), good, F32, (2, 3)) is good
    read_only = good.copy()
    read_only.flags.writeable = False
    for wrong, words in [
        ([[0.0]], "is list"),
        (good.astype(np.float64), "is float64"),
        (good.T, r"is float32 \[3, 2\]"),
        (np.empty((3, 2), np.float32).T, "not contiguous"),
        (read_only, "writable"),
    ]:
        with pytest.raises(ShapeError, match=words):
            as_output(_spec(2, "n"), wrong, F32, (2, 3))
    with pytest.raises(ShapeError, match="depends on data"):
        as_output(_spec(2, "n"), good, F32, None)


def test_names_are_explained() -> None:
    explain_inputs({"a": 0, "b": 0}, ["a", "b"])
    explain_outputs({}, ["a"])
    with pytest.raises(ShapeError, match="'b' is missing"):
        explain_inputs({"a": 0}, ["a", "b"])
    with pytest.raises(ShapeError, match="no input 'imgae'") as caught:
        explain_inputs({"imgae": 0}, ["image"])
    assert "did you mean 'image'" in (caught.value.fix or "")
    with pytest.raises(ShapeError, match="no output 'q'") as caught:
        explain_outputs({"q": 0}, ["scores"])
    assert caught.value.fix == "it gives scores"


def test_packed_bytes_become_a_value_per_item() -> None:
    data = np.array([0x21, 0xF3], np.uint8)
    np.testing.assert_array_equal(unpacked(data, "int4", (3,)).astype(int), [1, 2, 3])
