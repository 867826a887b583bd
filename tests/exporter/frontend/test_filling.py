# SPDX-License-Identifier: Apache-2.0
"""Tensors from data and by filling, also as the first call of a process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import samara
from samara.exporter.frontend import creation, filling
from samara.exporter.frontend.filling import full, ints, or32, tensor
from samara.pybridge.errors import ArgumentError


@pytest.mark.parametrize(
    "first",
    [
        "samara.ones(2)",
        "samara.tensor([1.0, 1.0])",
        "samara.from_numpy(numpy.ones(2, 'f4'))",
        "samara.cat([numpy.ones(1, 'f4'), numpy.ones(1, 'f4')])",
        "samara.add([0.0, 0.0], 1.0)",
        "samara.rand(2, generator=samara.Generator(1)).mul(0).add(1)",
    ],
)
def test_any_of_them_may_be_the_first_that_a_process_calls(first: str) -> None:
    """Functions that make tensors lie in a layer below Tensor, so a call must load Tensor."""
    code = f"import numpy, samara; print({first}.tolist())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (out.stdout, out.stderr) == ("[1.0, 1.0]\n", "")


def test_they_are_the_public_ones() -> None:
    assert samara.tensor is tensor is creation.tensor
    assert samara.full is full is filling.full


def test_methods_of_tensors_are_made_of_them() -> None:
    x = samara.ones(2, dtype=samara.float64)
    assert x.new_full((2, 1), 3).numpy().tolist() == [[3], [3]]
    assert x.new_tensor([1]).dtype == samara.float64


def test_sizes_and_dtypes() -> None:
    assert ints([np.int64(2), 3]) == (2, 3)
    with pytest.raises(ArgumentError, match="sizes must be at least 0"):
        ints([2, -1])
    assert or32(None) == np.float32
    assert or32("int8") == np.int8
